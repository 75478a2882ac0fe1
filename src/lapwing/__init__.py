"""Lapwing: semi-supervised learning from few labels and many unlabelled rows."""

from .estimators import (
    LapERLSClassifier,
    LapERLSRegressor,
    LapESVC,
    LapESVR,
    LapRLSClassifier,
    LapRLSRegressor,
    LapSVC,
    LapSVCPath,
    LapSVR,
)
from .graphs import KNNGraph
from .persistence import ModelFileError, load, save, trusted_types

__version__ = "0.1.0"

#: For ``skops.io.load(path, trusted=lapwing.TRUSTED_TYPES)``.
TRUSTED_TYPES: list[str] = trusted_types()

__all__ = [
    "TRUSTED_TYPES",
    "KNNGraph",
    "LapERLSClassifier",
    "LapERLSRegressor",
    "LapESVC",
    "LapESVR",
    "LapRLSClassifier",
    "LapRLSRegressor",
    "LapSVC",
    "LapSVCPath",
    "LapSVR",
    "ModelFileError",
    "load",
    "save",
]
