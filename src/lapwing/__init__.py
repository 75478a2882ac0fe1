"""Lapwing: semi-supervised kernel machines for few labels and many unlabelled rows."""

from .estimators import (
    S3VC,
    AnchorGraphClassifier,
    EigenfunctionClassifier,
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
    "S3VC",
    "AnchorGraphClassifier",
    "EigenfunctionClassifier",
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
