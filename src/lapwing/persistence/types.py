"""The types that a model file may contain.

None of them runs code from the file when it is created. `trusted_types` names them for skops.
"""

from __future__ import annotations

import scipy.sparse as sp

from .. import estimators
from ..arrays.duplicates import RowIndex
from ..arrays.row_units import RowsInUnits, RowUnits
from ..estimators.margin import MarginStart
from ..estimators.nystrom_lgc import NystromSystem
from ..estimators.pvm import KeptRows, PrototypeSums
from ..estimators.run import WarmStart
from ..estimators.solution_path import ClassPaths, PathFunctions
from ..estimators.targets import Targets
from ..graphs import KNNGraph
from ..kernels.functions import PreparedRows
from ..operators.sparse import PowerOperator, SparseOperator
from ..solvers.driver import SolverResult
from ..solvers.path import SolutionPath
from ..spaces.predictors import PREDICTOR_TYPES

#: The types by name, for files.
known_types: dict[str, type] = {}
#: Types that occur only in pickles of the others, for skops.
_PARTS = (PowerOperator, PreparedRows, RowIndex, SparseOperator, sp.csr_array, sp.csr_matrix)


def register(*types: type) -> None:
    """Allow types in model files.

    Parameters
    ----------
    *types : type
        An estimator and the types of the objects that it stores: dataclasses, or classes with
        ``to_state`` and ``from_state`` (see `arrays.packing`).
    """
    for cls in types:
        own = known_types.get(cls.__name__, cls)
        if own is not cls and own.__module__.startswith("lapwing."):
            raise ValueError(f"Lapwing has a type {cls.__name__} of its own: choose another name")
        known_types[cls.__name__] = cls


def trusted_types() -> list[str]:
    """Return the names of all types that a file may contain, for ``skops.io.load(trusted=...)``."""
    return sorted(f"{c.__module__}.{c.__qualname__}" for c in {*known_types.values(), *_PARTS})


register(
    ClassPaths,
    KNNGraph,
    KeptRows,
    MarginStart,
    NystromSystem,
    PathFunctions,
    PrototypeSums,
    RowUnits,
    RowsInUnits,
    SolutionPath,
    SolverResult,
    Targets,
    WarmStart,
    *PREDICTOR_TYPES,
    *(getattr(estimators, name) for name in estimators.__all__),
)
