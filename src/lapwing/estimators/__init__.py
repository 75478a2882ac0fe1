"""Estimators: parameters, and a fit that reads like the flow of the data."""

from .laprls import LapRLSClassifier, LapRLSRegressor
from .lapsvc import LapSVC
from .lapsvc_path import LapSVCPath
from .lapsvr import LapSVR

__all__ = [
    "LapRLSClassifier",
    "LapRLSRegressor",
    "LapSVC",
    "LapSVCPath",
    "LapSVR",
]
