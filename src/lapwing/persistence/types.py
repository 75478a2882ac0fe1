"""The types that a model file may hold: harmless ones, all of them Lapwing's own.

None of them runs code of the file when it is made. skops is told to trust the same ones.
"""

from __future__ import annotations

import scipy.sparse as sp

from .. import estimators
from ..arrays.duplicates import RowIndex
from ..estimators.margin import MarginStart
from ..estimators.nystrom_lgc import NystromSystem
from ..estimators.pvm import KeptRows, PrototypeSums
from ..estimators.run import WarmStart
from ..estimators.solution_path import ClassPaths, PathFunctions
from ..estimators.targets import Targets
from ..graphs import KNNGraph
from ..kernels import PreparedRows
from ..operators import PowerOperator, SparseOperator
from ..solvers import SolutionPath, SolverResult
from ..spaces import PREDICTOR_TYPES, LowRankGraph

#: By name, for files.
known_types: dict[str, type] = {}
#: Types that pickles of Lapwing's own types hold besides, for skops.
_PARTS = (PowerOperator, PreparedRows, RowIndex, SparseOperator, sp.csr_array, sp.csr_matrix)


def register(*types: type) -> None:
    """Allow types in model files; for packages above this one."""
    known_types.update({kind.__name__: kind for kind in types})


def trusted_types() -> list[str]:
    """Return the names of all types that a file may hold, for ``skops.io.load(trusted=...)``."""
    return sorted(
        f"{kind.__module__}.{kind.__qualname__}" for kind in {*known_types.values(), *_PARTS}
    )


register(
    ClassPaths,
    KNNGraph,
    KeptRows,
    LowRankGraph,
    MarginStart,
    NystromSystem,
    PathFunctions,
    PrototypeSums,
    SolutionPath,
    SolverResult,
    Targets,
    WarmStart,
    *PREDICTOR_TYPES,
    *(getattr(estimators, name) for name in estimators.__all__),
)
