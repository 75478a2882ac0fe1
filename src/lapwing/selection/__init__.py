"""Model selection with few labels: honest folds and scores, whole grids, and the default."""

from ..arrays.archive import ModelFileError
from .default import SemiSupervisedClassifier, SemiSupervisedRegressor
from .model_file import load
from .trusted import TRUSTED_TYPES

__all__ = [
    "TRUSTED_TYPES",
    "ModelFileError",
    "SemiSupervisedClassifier",
    "SemiSupervisedRegressor",
    "load",
]
