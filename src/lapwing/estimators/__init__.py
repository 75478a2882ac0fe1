"""Estimators: thin shells that build, solve and store."""

from .laplacian import LapRLSClassifier, LapRLSRegressor, LapSVC
from .s3vc import S3VC

__all__ = ["S3VC", "LapRLSClassifier", "LapRLSRegressor", "LapSVC"]
