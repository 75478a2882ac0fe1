"""Model selection with few labels: folds, scores, and estimators that search a whole grid."""

from ..persistence import register
from .labeled_kfold import LabeledKFold
from .labeled_scorer import labeled_scorer
from .laprls_classifier_cv import LapRLSClassifierCV
from .laprls_regressor_cv import LapRLSRegressorCV
from .lapsvc_cv import LapSVCCV

register(LabeledKFold, LapRLSClassifierCV, LapRLSRegressorCV, LapSVCCV)

__all__ = ["LabeledKFold", "LapRLSClassifierCV", "LapRLSRegressorCV", "LapSVCCV", "labeled_scorer"]
