"""Lapwing: semi-supervised learning from few labels and many unlabelled rows."""

from .estimators import (
    LapERLSClassifier,
    LapERLSRegressor,
    LapESVC,
    LapESVR,
    LapRLSClassifier,
    LapRLSRegressor,
    LapSVC,
    LapSVR,
)
from .graphs import KNNGraph

__version__ = "0.1.0"

__all__ = [
    "KNNGraph",
    "LapERLSClassifier",
    "LapERLSRegressor",
    "LapESVC",
    "LapESVR",
    "LapRLSClassifier",
    "LapRLSRegressor",
    "LapSVC",
    "LapSVR",
]
