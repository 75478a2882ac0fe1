"""Linear maps: dense, tiles, sparse, low rank, powers, inverses, rows. No statistics."""

from .base import Operator
from .dense import TILE, DenseOperator, TileOperator
from .inverse import InverseOperator, block_cg
from .low_rank import LowRankOperator
from .row_cache import RowCache
from .rows import RowGramOperator, Rows
from .sparse import DiagonalOperator, PowerOperator, ShiftedOperator, SparseOperator
