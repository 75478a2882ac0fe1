"""Kernel functions and the storage of their Gram matrices."""

from .functions import (
    CallableKernel,
    CosineKernel,
    GaussianKernel,
    Kernel,
    LinearKernel,
    PolynomialKernel,
    PreparedRows,
    make_kernel,
    resolve_gamma,
)
from .gram import (
    choose_storage,
    dense_operator,
    gram_bytes,
    gram_matrix,
    gram_operator,
    single_precision_suffices,
)
