"""Lapwing: semi-supervised learning from few labels and many unlabelled rows."""

from .arrays.device import use_device
from .auto import SemiSupervisedClassifier, SemiSupervisedRegressor
from .estimators import (
    S3VC,
    AnchorGraphClassifier,
    EigenfunctionClassifier,
    LapERLSClassifier,
    LapERLSRegressor,
    LapESVC,
    LapESVR,
    LapRLSClassifier,
    LapRLSRegressor,
    LapSVC,
    LapSVCPath,
    LapSVR,
    LGCClassifier,
    NFIClassifier,
    NystromLGCClassifier,
    PVMClassifier,
    PVMRegressor,
)
from .graphs import KNNGraph
from .labelling.notebook import label
from .model_selection import (
    LabeledKFold,
    LapRLSClassifierCV,
    LapRLSRegressorCV,
    LapSVCCV,
    labeled_scorer,
)
from .persistence import ModelFileError, load, save, trusted_types
from .version import __version__ as __version__

#: For ``skops.io.load(path, trusted=lapwing.TRUSTED_TYPES)``.
TRUSTED_TYPES: list[str] = trusted_types()

__all__ = [
    "S3VC",
    "TRUSTED_TYPES",
    "AnchorGraphClassifier",
    "EigenfunctionClassifier",
    "KNNGraph",
    "LGCClassifier",
    "LabeledKFold",
    "LapERLSClassifier",
    "LapERLSRegressor",
    "LapESVC",
    "LapESVR",
    "LapRLSClassifier",
    "LapRLSClassifierCV",
    "LapRLSRegressor",
    "LapRLSRegressorCV",
    "LapSVC",
    "LapSVCCV",
    "LapSVCPath",
    "LapSVR",
    "ModelFileError",
    "NFIClassifier",
    "NystromLGCClassifier",
    "PVMClassifier",
    "PVMRegressor",
    "SemiSupervisedClassifier",
    "SemiSupervisedRegressor",
    "label",
    "labeled_scorer",
    "load",
    "save",
    "use_device",
]
