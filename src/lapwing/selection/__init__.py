"""Model selection with few labels: honest folds and scores, whole grids, and the default."""

from ..arrays.archive import ModelFileError
from .default import SemiSupervisedClassifier, SemiSupervisedRegressor
from .labeled_kfold import LabeledKFold, labeled_scorer
from .machines import LapRLSClassifierCV, LapRLSRegressorCV, LapSVCCV
from .model_file import load
from .trusted import TRUSTED_TYPES

__all__ = [
    "TRUSTED_TYPES",
    "LabeledKFold",
    "LapRLSClassifierCV",
    "LapRLSRegressorCV",
    "LapSVCCV",
    "ModelFileError",
    "SemiSupervisedClassifier",
    "SemiSupervisedRegressor",
    "labeled_scorer",
    "load",
]
