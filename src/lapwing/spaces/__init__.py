"""Function spaces: kernel expansions, linear functions, features, and values on new rows."""

from .affine import AffineSpace
from .basis import (
    Basis,
    cholesky_basis,
    column_basis,
    expansion_of,
    gram_basis,
    kernel_basis,
    landmark_basis,
)
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
from .predictors import (
    PREDICTOR_TYPES,
    AnchorMixture,
    EigenfunctionSeries,
    KernelExpansion,
    LinearFunction,
    NeighborAverage,
    Predictor,
    PrototypeMixture,
    RowLookup,
    WeightedSum,
    evaluate,
)
from .prototypes import (
    LowRankGraph,
    Similarities,
    localised,
    penalty_root,
    smoothness_at_points,
    tile_rows,
)
