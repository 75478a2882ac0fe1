"""Estimators: parameters, and a fit that reads like the flow of the data."""

from .anchor_graph import AnchorGraphClassifier
from .eigenfunction import EigenfunctionClassifier
from .laperls import LapERLSClassifier, LapERLSRegressor
from .lapesvm import LapESVC, LapESVR
from .laprls import LapRLSClassifier, LapRLSRegressor
from .lapsvc import LapSVC
from .lapsvc_path import LapSVCPath
from .lapsvr import LapSVR
from .lgc import LGCClassifier
from .nfi import NFIClassifier
from .nystrom_lgc import NystromLGCClassifier
from .pvm_classifier import PVMClassifier
from .pvm_regressor import PVMRegressor
from .s3vc import S3VC

__all__ = [
    "S3VC",
    "AnchorGraphClassifier",
    "EigenfunctionClassifier",
    "LGCClassifier",
    "LapERLSClassifier",
    "LapERLSRegressor",
    "LapESVC",
    "LapESVR",
    "LapRLSClassifier",
    "LapRLSRegressor",
    "LapSVC",
    "LapSVCPath",
    "LapSVR",
    "NFIClassifier",
    "NystromLGCClassifier",
    "PVMClassifier",
    "PVMRegressor",
]
