"""Types that a skops file of a fitted estimator may hold: harmless ones, all of them Lapwing's own.

skops reads no type that it was not told to trust; none of these runs code when it is made.
"""

from __future__ import annotations

import scipy.sparse as sp

from .. import estimators
from ..arrays.duplicates import RowIndex
from ..graphs import KNNGraph
from ..graphs.anchors import AnchorGraph
from ..graphs.eigenfunctions import EigenfunctionBasis
from ..kernels import CosineKernel, GaussianKernel, LinearKernel, PolynomialKernel, PreparedRows
from ..operators import PowerOperator, SparseOperator
from ..solvers import SolutionPath, SolverResult
from ..spaces import LowRankGraph, Similarities
from .default import SemiSupervisedClassifier, SemiSupervisedRegressor
from .families import Labels
from .machines import LapRLSClassifierCV, LapRLSRegressorCV, LapSVCCV
from .parts import KernelPart, NeighbourPart
from .race import Candidate
from .report import SelectionReport
from .scaling import RowScaling

_TYPES: tuple[type, ...] = (
    *(getattr(estimators, name) for name in estimators.__all__),
    AnchorGraph,
    Candidate,
    CosineKernel,
    EigenfunctionBasis,
    GaussianKernel,
    KNNGraph,
    KernelPart,
    Labels,
    LapRLSClassifierCV,
    LapRLSRegressorCV,
    LapSVCCV,
    LinearKernel,
    LowRankGraph,
    NeighbourPart,
    PolynomialKernel,
    PowerOperator,
    PreparedRows,
    RowIndex,
    RowScaling,
    SelectionReport,
    SemiSupervisedClassifier,
    SemiSupervisedRegressor,
    Similarities,
    SolutionPath,
    SolverResult,
    SparseOperator,
    sp.csr_array,
    sp.csr_matrix,
)

#: For ``skops.io.load(path, trusted=lapwing.TRUSTED_TYPES)``.
TRUSTED_TYPES: list[str] = sorted(f"{kind.__module__}.{kind.__qualname__}" for kind in _TYPES)
