"""Linear maps: dense, tiles, sparse, low rank, powers, inverses, rows. No statistics."""

from .base import Operator
from .dense import TILE, DenseOperator, TileOperator
from .inverse import InverseOperator, block_cg
from .low_rank import LowRankOperator
from .row_cache import RowCache
from .rows import RowGramOperator, Rows
from .sparse import DiagonalOperator, PowerOperator, ShiftedOperator, SparseOperator

__all__ = [
    "TILE",
    "DenseOperator",
    "DiagonalOperator",
    "InverseOperator",
    "LowRankOperator",
    "Operator",
    "PowerOperator",
    "RowCache",
    "RowGramOperator",
    "Rows",
    "ShiftedOperator",
    "SparseOperator",
    "TileOperator",
    "block_cg",
]
