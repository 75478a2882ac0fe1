"""Factorisations of large dense matrices, on the host or on the device, in place where possible.

Right-hand sides and solutions are on the host. Must not know what the systems mean.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, lu_factor, lu_solve

from .device import is_on_device, on_host
from .device_arrays import DeviceArray, operand
from .device_torch import own_errors, torch_module

#: From right-hand sides to the solutions, both of shape (n, k).
Solve = Callable[[np.ndarray], np.ndarray]


def general_solver(A: Any) -> Solve:
    """Return what solves AX = B, by an LU factorisation; A, in Fortran order, may be overwritten.

    Cost: (2/3)n³ operations.
    """
    if not is_on_device(A):
        factor: Any = lu_factor(A, overwrite_a=True, check_finite=False)
        return partial(lu_solve, factor, check_finite=False)
    torch = torch_module()
    with own_errors():
        LU, pivots = torch.linalg.lu_factor(A.tensor)
    return partial(_solved, A, lambda rhs: torch.linalg.lu_solve(LU, pivots, rhs))


def definite_solver(A: Any) -> Solve:
    """Return the same for a symmetric positive definite matrix. Cost: n³/3 operations.

    Raises
    ------
    scipy.linalg.LinAlgError
        If the matrix is not positive definite.
    """
    if not is_on_device(A):
        factor: Any = cho_factor(A, lower=True, overwrite_a=True, check_finite=False)
        return partial(cho_solve, factor, check_finite=False)
    torch = torch_module()
    with own_errors():
        lower, info = torch.linalg.cholesky_ex(A.tensor)
        minor = int(info)  # waits for the device
    if minor:
        raise LinAlgError(f"the leading minor of order {minor} is not positive definite")
    return partial(_solved, A, lambda rhs: torch.cholesky_solve(rhs, lower))


def _solved(A: DeviceArray, solve: Callable[[Any], Any], B: np.ndarray) -> np.ndarray:
    with own_errors():
        found: np.ndarray = on_host(DeviceArray(solve(operand(B, A.tensor.device))))
    return found
