"""Lapwing: semi-supervised learning from few labels and many unlabelled rows."""

from .estimators import S3VC, LapRLSClassifier, LapRLSRegressor, LapSVC, LapSVR
from .graphs import KNNGraph

__version__ = "0.1.0"

__all__ = [
    "S3VC",
    "KNNGraph",
    "LapRLSClassifier",
    "LapRLSRegressor",
    "LapSVC",
    "LapSVR",
]
