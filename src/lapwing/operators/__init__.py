"""Linear maps: dense, tiles, sparse, rows of data, powers. No statistics."""

from .base import Operator
from .dense import TILE, DenseOperator, TileOperator
from .rows import RowGramOperator, Rows
from .sparse import PowerOperator, SparseOperator

__all__ = [
    "TILE",
    "DenseOperator",
    "Operator",
    "PowerOperator",
    "RowGramOperator",
    "Rows",
    "SparseOperator",
    "TileOperator",
]
