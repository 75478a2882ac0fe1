"""Function spaces: kernel expansions, linear functions, features, and values on new rows."""

from .affine import AffineSpace
from .embedded import (
    EmbeddedKernel,
    graph_kernel,
    graph_kernel_bytes,
    label_pull,
    reduced_precision,
    spectral_embedding,
)
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
    "EmbeddedKernel",
    "Features",
    "Function",
    "KernelSpace",
    "LinearSpace",
    "Space",
    "evaluate",
    "graph_kernel",
    "graph_kernel_bytes",
    "kmeans_landmarks",
    "label_pull",
    "landmark_features",
    "principal_features",
    "reduced_precision",
    "spectral_embedding",
    "submatrix_features",
]
