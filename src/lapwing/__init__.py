"""Lapwing: semi-supervised kernel machines for few labels and many unlabelled rows."""

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
from .selection import (
    LabeledKFold,
    LapRLSClassifierCV,
    LapRLSRegressorCV,
    LapSVCCV,
    labeled_scorer,
)

__version__ = "0.1.0"

__all__ = [
    "S3VC",
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
    "NFIClassifier",
    "NystromLGCClassifier",
    "PVMClassifier",
    "PVMRegressor",
    "labeled_scorer",
]
