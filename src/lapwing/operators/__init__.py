"""Linear maps: dense, tiles, sparse, powers. No statistics."""

from .base import Operator
from .dense import TILE, DenseOperator, RowGramOperator, TileOperator
from .sparse import PowerOperator, SparseOperator

__all__ = [
    "TILE",
    "DenseOperator",
    "Operator",
    "PowerOperator",
    "RowGramOperator",
    "SparseOperator",
    "TileOperator",
]
