"""Storage of the Gram matrix.

The choice depends on sizes and the memory budget only, and is made before anything is allocated. It
does not depend on timings: the same call stores the matrix in the same way each time.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..arrays.device import is_on_device, map_where
from ..arrays.memory import require_memory
from ..arrays.row_units import single_precision_holds
from ..arrays.threads import row_blocks
from ..operators.base import Operator
from ..operators.dense import TILE, DenseOperator, TileOperator
from .functions import Kernel, PreparedRows

#: Relative error of a kernel value that single precision arithmetic may bring in.
_SINGLE_ERROR = 1e-6
#: Side of a tile that is computed at once on a device.
_DEVICE_TILE = 4096


def gram_bytes(n: int, storage: str) -> int:
    """Return the bytes that an n × n Gram matrix takes in a storage."""
    half = n * (n + TILE) // 2
    sizes = {"float64": 8 * n * n, "triangle64": 8 * half, "triangle32": 4 * half}
    return {**sizes, "tiled": 8 * 8 * TILE * TILE}[storage]


def choose_storage(n: int, budget: int, work_bytes: int, otherwise: float = np.inf) -> str:
    """Return the storage of K for products: the most accurate one that fits.

    "triangle64" and "triangle32" store the lower triangle in double or single precision, "tiled"
    computes K anew for each product. ``work_bytes`` is the memory of the solver beside K, and
    ``otherwise`` that of a direct method which does not fit either, for the message only.

    Raises
    ------
    MemoryError
        If not even the vectors of the solver fit into the budget.
    """
    for storage in ("triangle64", "triangle32"):
        if gram_bytes(n, storage) + work_bytes <= budget:
            return storage
    needed = min(gram_bytes(n, "tiled") + work_bytes, otherwise)
    require_memory(needed, budget, f"fitting {n} rows", "fit fewer unlabelled rows")
    return "tiled"


def dense_operator(K: np.ndarray, ridge: float = 0.0) -> DenseOperator:
    """Return a given Gram matrix, with ``ridge`` added to its diagonal, as an operator."""
    K = np.asarray(K, dtype=np.float64)
    if ridge > 0:
        K = K.copy()
        K[np.diag_indices(len(K))] += ridge
    return DenseOperator(K)


def gram_operator(kernel: Kernel, rows: PreparedRows, storage: str, ridge: float = 0.0) -> Operator:
    """Return the Gram matrix of prepared rows as an operator, ``ridge`` added to its diagonal.

    Cost: one evaluation of half the matrix (all of it for "float64"); "tiled" evaluates half the
    matrix in every product instead.
    """
    if storage == "float64":
        return DenseOperator(gram_matrix(kernel, rows, ridge))
    tile = _tiles(kernel, rows, ridge)
    if storage == "tiled":
        return TileOperator(len(rows), tile)
    precision = np.float64 if storage == "triangle64" else np.float32
    return TileOperator.stored(len(rows), tile, precision)


def gram_matrix(kernel: Kernel, rows: PreparedRows, ridge: float = 0.0) -> np.ndarray:
    """Return the Gram matrix of prepared rows as an array, ``ridge`` added to its diagonal."""
    n, on_device = len(rows), is_on_device(rows.data)
    side = _DEVICE_TILE if on_device else TILE
    tile, blocks = _tiles(kernel, rows, ridge, side), row_blocks(n, side)
    K = np.empty_like(rows.data, np.float64, shape=(n, n)) if on_device else np.empty((n, n))

    def fill(pair: tuple[int, int]) -> None:
        i, j = pair
        K[blocks[i], blocks[j]] = tile(i, j)
        if j < i:
            K[blocks[j], blocks[i]] = K[blocks[i], blocks[j]].T

    map_where(K, fill, [(i, j) for i in range(len(blocks)) for j in range(i + 1)])
    return K


def _tiles(
    kernel: Kernel, rows: PreparedRows, ridge: float, side: int = TILE
) -> Callable[[int, int], np.ndarray]:
    """Return the function that computes the tile (i, j) of the Gram matrix."""
    blocks = row_blocks(len(rows), side)

    def tile(i: int, j: int) -> np.ndarray:
        values = kernel.block(rows[blocks[i]], rows[blocks[j]])
        if i == j and kernel.has_unit_diagonal:
            np.fill_diagonal(values, 1.0)
        if i == j and ridge > 0:
            values[np.diag_indices(len(values))] += ridge
        return values

    return tile


def single_precision_suffices(kernel: Kernel, rows: PreparedRows) -> bool:
    """Return whether kernel values computed in float32 keep about six digits."""
    in_range = single_precision_holds(rows.data)
    return in_range and kernel.single_precision_error(rows) < _SINGLE_ERROR
