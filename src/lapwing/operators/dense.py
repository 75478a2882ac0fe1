"""Symmetric dense matrices: whole, or as tiles of the lower triangle.

Tiles may be stored in single precision or computed anew for each product. The code of the products
is the same, and accumulates in double precision.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from ..arrays.device import is_on_device, like, on_host
from ..arrays.threads import map_blocks, n_threads, row_blocks
from .base import Operator
from .rows import times

#: Side of a square tile: 512 × 512 doubles (2 MB) stay in cache, and one product of that size takes
#: long compared with switching threads.
TILE = 512


class DenseOperator(Operator):
    """A symmetric float64 array, which may be on a device: products are where the block is."""

    array: Any

    def __init__(self, array: Any) -> None:
        super().__init__(array.shape[0])
        self.array = array

    def to_array(self) -> Any:
        """Return the array itself."""
        return self.array

    def columns(self, index: np.ndarray) -> np.ndarray:
        """Return columns of the array."""
        return on_host(self.array[:, index])

    def diagonal_at(self, index: np.ndarray) -> np.ndarray:
        """Return entries of the diagonal."""
        return on_host(self.array[index, index])

    def submatrix(self, rows: np.ndarray, columns: np.ndarray | slice) -> np.ndarray:
        """Return entries of the array."""
        if isinstance(columns, slice):
            return on_host(self.array[rows, columns])
        return on_host(self.array[rows[:, None], columns])

    def _apply(self, V: Any) -> Any:
        product = self.array @ like(self.array, V)
        return product if is_on_device(V) else on_host(product)


class TileOperator(Operator):
    """Symmetric matrix given by the tiles of its lower triangle.

    Takes half the memory and half the memory traffic of the full matrix. Every tile is converted to
    float64 while it is in cache and used twice: for itself and for its transpose.

    Parameters
    ----------
    n : int
        Number of rows.
    tile : callable
        ``tile(i, j)``, j ≤ i, returns the entries of ``blocks[i]`` × ``blocks[j]``, stored or
        computed anew.

    Attributes
    ----------
    blocks : list of slice
        Row ranges of the tiles.
    """

    def __init__(self, n: int, tile: Callable[[int, int], np.ndarray]) -> None:
        super().__init__(n)
        self.blocks = row_blocks(n, TILE)
        self.n_additions = TILE + len(self.blocks) + n_threads() + 1
        self.tile = tile
        # Assigning rows of tiles back and forth gives each thread the same share of a triangle.
        # It depends on the number of threads only, so sums are formed in the same order each time.
        threads = min(n_threads(), len(self.blocks))
        turns = [*range(threads), *reversed(range(threads))]
        self._shares: list[list[int]] = [[] for _ in range(threads)]
        for i in reversed(range(len(self.blocks))):
            self._shares[turns[i % len(turns)]].append(i)

    @classmethod
    def stored(
        cls, n: int, tile: Callable[[int, int], np.ndarray], dtype: type = np.float32
    ) -> TileOperator:
        """Return the operator with all tiles computed once and stored."""
        pairs = [(i, j) for i in range(len(row_blocks(n, TILE))) for j in range(i + 1)]

        def keep(pair: tuple[int, int]) -> np.ndarray:
            return np.ascontiguousarray(tile(*pair), dtype=dtype)

        kept = map_blocks(keep, pairs)
        tiles = dict(zip(pairs, kept, strict=True))
        return cls(n, lambda i, j: tiles[i, j])

    def columns(self, index: np.ndarray) -> np.ndarray:
        """Return columns, read from the tiles without counting as a product."""
        index = np.asarray(index)
        columns = np.empty((self.shape[0], len(index)))
        block = index // TILE

        def fill(i: int) -> None:
            for j in range(i + 1):
                for of, side in ((j, i), (i, j)):  # the tile, and its transpose
                    wanted = np.flatnonzero(block == of)
                    if len(wanted):
                        tile = self.tile(i, j)
                        tile = tile if of == j else tile.T
                        columns[self.blocks[side], wanted] = tile[:, index[wanted] % TILE]

        map_blocks(fill, range(len(self.blocks)))
        return columns

    def diagonal_at(self, index: np.ndarray) -> np.ndarray:
        """Return entries of the diagonal, from the tiles on it."""
        values = np.empty(len(index))
        for block in np.unique(index // TILE):
            own = index // TILE == block
            values[own] = np.diag(self.tile(int(block), int(block)))[index[own] % TILE]
        return values

    def _apply(self, V: np.ndarray) -> np.ndarray:
        return reduce(np.add, map_blocks(lambda share: self._apply_share(share, V), self._shares))

    def _apply_share(self, share: list[int], V: np.ndarray) -> np.ndarray:
        product = np.zeros(V.shape)
        for i in share:
            for j in range(i + 1):
                rows, columns = self.blocks[i], self.blocks[j]
                tile = self.tile(i, j).astype(np.float64, copy=False)
                product[rows] += times(tile, V[columns])
                if j < i:
                    product[columns] += times(tile.T, V[rows])
        return product
