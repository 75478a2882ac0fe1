"""Estimators: parameters, and a fit that reads like the flow of the data."""

from .laperls_classifier import LapERLSClassifier
from .laperls_regressor import LapERLSRegressor
from .lapesvc import LapESVC
from .lapesvr import LapESVR
from .laprls_classifier import LapRLSClassifier
from .laprls_regressor import LapRLSRegressor
from .lapsvc import LapSVC
from .lapsvc_path import LapSVCPath
from .lapsvr import LapSVR
from .s3vc import S3VC

__all__ = [
    "S3VC",
    "LapERLSClassifier",
    "LapERLSRegressor",
    "LapESVC",
    "LapESVR",
    "LapRLSClassifier",
    "LapRLSRegressor",
    "LapSVC",
    "LapSVCPath",
    "LapSVR",
]
