"""The default: estimators that need no parameter and report what they selected."""

from .classifier import SemiSupervisedClassifier
from .regressor import SemiSupervisedRegressor

__all__ = ["SemiSupervisedClassifier", "SemiSupervisedRegressor"]
