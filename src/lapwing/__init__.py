"""Lapwing: semi-supervised learning from few labels and many unlabelled rows."""

from .estimators import (
    AnchorGraphClassifier,
    EigenfunctionClassifier,
    LapRLSClassifier,
    LapRLSRegressor,
    LapSVC,
    LapSVR,
    LGCClassifier,
    NFIClassifier,
    NystromLGCClassifier,
    PVMClassifier,
    PVMRegressor,
)
from .graphs import KNNGraph

__version__ = "0.1.0"

__all__ = [
    "AnchorGraphClassifier",
    "EigenfunctionClassifier",
    "KNNGraph",
    "LGCClassifier",
    "LapRLSClassifier",
    "LapRLSRegressor",
    "LapSVC",
    "LapSVR",
    "NFIClassifier",
    "NystromLGCClassifier",
    "PVMClassifier",
    "PVMRegressor",
]
