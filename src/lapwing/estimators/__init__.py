"""Estimators: thin shells that build, solve and store."""

from .laplacian import LapRLSClassifier, LapRLSRegressor, LapSVC

__all__ = ["LapRLSClassifier", "LapRLSRegressor", "LapSVC"]
