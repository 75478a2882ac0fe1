"""Estimators: parameters, and a fit that reads like the flow of the data."""

from .laprls import LapRLSClassifier, LapRLSRegressor
from .lapsvc import LapSVC
from .lapsvr import LapSVR
from .s3vc import S3VC

__all__ = [
    "S3VC",
    "LapRLSClassifier",
    "LapRLSRegressor",
    "LapSVC",
    "LapSVR",
]
