"""Lapwing: semi-supervised learning from few labels and many unlabelled rows."""

from .estimators import LapRLSClassifier, LapRLSRegressor, LapSVC, LapSVCPath, LapSVR
from .graphs import KNNGraph
from .model_selection import (
    LabeledKFold,
    LapRLSClassifierCV,
    LapRLSRegressorCV,
    LapSVCCV,
    labeled_scorer,
)

__version__ = "0.1.0"

__all__ = [
    "KNNGraph",
    "LabeledKFold",
    "LapRLSClassifier",
    "LapRLSClassifierCV",
    "LapRLSRegressor",
    "LapRLSRegressorCV",
    "LapSVC",
    "LapSVCCV",
    "LapSVCPath",
    "LapSVR",
    "labeled_scorer",
]
