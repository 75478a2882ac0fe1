"""Estimators: thin shells that build, solve and store."""

from .anchor_graph import AnchorGraphClassifier
from .eigenfunction import EigenfunctionClassifier
from .embedded import LapERLSClassifier, LapERLSRegressor, LapESVC, LapESVR
from .laplacian import LapRLSClassifier, LapRLSRegressor, LapSVC
from .lapsvc_path import LapSVCPath
from .lapsvr import LapSVR
from .lgc import LGCClassifier
from .nfi import NFIClassifier
from .nystrom_lgc import NystromLGCClassifier
from .pvm import PVMClassifier, PVMRegressor
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
