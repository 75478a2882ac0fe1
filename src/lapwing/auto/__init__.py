"""The default: estimators that need no parameter, select for themselves and report what they did."""

from .classifier import SemiSupervisedClassifier
from .regressor import SemiSupervisedRegressor

__all__ = ["SemiSupervisedClassifier", "SemiSupervisedRegressor"]
