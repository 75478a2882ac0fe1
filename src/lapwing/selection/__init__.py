"""Model selection with few labels: folds and scores that count labelled rows only, whole grids."""

from .labeled_kfold import LabeledKFold, labeled_scorer
from .machines import LapRLSClassifierCV, LapRLSRegressorCV, LapSVCCV

__all__ = [
    "LabeledKFold",
    "LapRLSClassifierCV",
    "LapRLSRegressorCV",
    "LapSVCCV",
    "labeled_scorer",
]
