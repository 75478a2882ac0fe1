"""Function spaces: kernel expansions, linear functions, features, and values on new rows."""

from .affine import AffineSpace
from .expansion import evaluate
from .features import (
    CUTOFF,
    Features,
    Landmarks,
    inverse_root,
    landmark_features,
    nystrom_factor,
    principal_features,
    submatrix_features,
)
from .function import Function
from .graph_kernel import (
    EmbeddedKernel,
    graph_kernel,
    graph_kernel_bytes,
    label_precision,
    reduced_precision,
    spectral_embedding,
)
from .kernel_space import KernelSpace, LinearSpace, Space
from .kmeans import kmeans_landmarks, kmeans_rows
from .prototypes import (
    LowRankGraph,
    Similarities,
    localised,
    penalty_root,
    smoothness_at_points,
    tile_rows,
)

__all__ = [
    "CUTOFF",
    "AffineSpace",
    "EmbeddedKernel",
    "Features",
    "Function",
    "KernelSpace",
    "Landmarks",
    "LinearSpace",
    "LowRankGraph",
    "Similarities",
    "Space",
    "evaluate",
    "graph_kernel",
    "graph_kernel_bytes",
    "inverse_root",
    "kmeans_landmarks",
    "kmeans_rows",
    "label_precision",
    "landmark_features",
    "localised",
    "nystrom_factor",
    "penalty_root",
    "principal_features",
    "reduced_precision",
    "smoothness_at_points",
    "spectral_embedding",
    "submatrix_features",
    "tile_rows",
]
