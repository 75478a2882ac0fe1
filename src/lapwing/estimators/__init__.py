"""Estimators: parameters, and a fit that reads like the flow of the data."""

from .anchor_graph import AnchorGraphClassifier
from .eigenfunction import EigenfunctionClassifier
from .laprls import LapRLSClassifier, LapRLSRegressor
from .lapsvc import LapSVC
from .lapsvr import LapSVR
from .lgc import LGCClassifier
from .nfi import NFIClassifier
from .nystrom_lgc import NystromLGCClassifier
from .pvm_classifier import PVMClassifier
from .pvm_regressor import PVMRegressor

__all__ = [
    "AnchorGraphClassifier",
    "EigenfunctionClassifier",
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
