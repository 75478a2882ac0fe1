"""Function spaces: kernel expansions, linear functions, features, and values on new rows."""

from .affine import AffineSpace
from .expansion import evaluate
from .features import (
    Features,
    kmeans_landmarks,
    landmark_features,
    principal_features,
    submatrix_features,
)
from .function import Function
from .kernel_space import KernelSpace, LinearSpace, Space

__all__ = [
    "AffineSpace",
    "Features",
    "Function",
    "KernelSpace",
    "LinearSpace",
    "Space",
    "evaluate",
    "kmeans_landmarks",
    "landmark_features",
    "principal_features",
    "submatrix_features",
]
