"""Lapwing: semi-supervised learning from few labels and many unlabelled rows."""

from .estimators import LapRLSClassifier, LapRLSRegressor, LapSVC, LapSVCPath, LapSVR
from .graphs import KNNGraph

__version__ = "0.1.0"

__all__ = [
    "KNNGraph",
    "LapRLSClassifier",
    "LapRLSRegressor",
    "LapSVC",
    "LapSVCPath",
    "LapSVR",
]
