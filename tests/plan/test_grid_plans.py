"""Plans of grids and paths: which basis, which factorisation, and what is refused."""

import pytest

from lapwing.kernels.functions import LinearKernel, PolynomialKernel
from lapwing.plan.grid import plan_basis, plan_path
from lapwing.solvers.methods import Sizes

POLY = PolynomialKernel(1.0, 1.0, 2)


@pytest.mark.parametrize(
    ("kernel", "d", "space", "storage"),
    [
        (POLY, 5, "expansion", "float64"),
        (None, 100, "expansion", "given"),
        (LinearKernel(), 5, "linear", None),
        (LinearKernel(), 101, "expansion", "float64"),
    ],
    ids=["poly", "precomputed", "few columns", "many columns"],
)
def test_basis_of_a_grid(kernel, d, space, storage):
    sizes = Sizes(100, d, 10, 1)
    plan = plan_basis(kernel, sizes, 3, n_landmarks=None, memory_limit="1GB")
    assert (plan.space, plan.storage) == (space, storage)
    fits = plan_basis(kernel, sizes, 3, n_landmarks=None, memory_limit=plan.n_bytes)
    assert fits.n_bytes == plan.n_bytes
    with pytest.raises(MemoryError, match=r"the grid of 100 rows needs .*, or raise memory_limit"):
        plan_basis(kernel, sizes, 3, n_landmarks=None, memory_limit=plan.n_bytes - 1)


def test_landmarks_of_a_grid():
    sizes = Sizes(100, 5, 10, 1)
    plan = plan_basis(POLY, sizes, 3, n_landmarks=20, memory_limit="1GB")
    assert (plan.space, plan.n_points) == ("landmarks", 20)
    more = plan_basis(POLY, sizes, 30, n_landmarks=20, memory_limit="1GB")
    assert more.n_bytes > plan.n_bytes  # a reduction for each ratio
    with pytest.raises(MemoryError, match="lower n_landmarks"):
        plan_basis(POLY, sizes, 3, n_landmarks=20, memory_limit=plan.n_bytes - 1)


@pytest.mark.parametrize(
    ("kernel", "d", "expected"),
    [
        (POLY, 5, ("eliminate", "expansion", "float64")),
        (None, 100, ("eliminate", "expansion", "given")),
        (LinearKernel(), 100, ("eliminate_features", "linear", None)),
        (LinearKernel(), 101, ("eliminate", "linear", "float64")),
    ],
    ids=["poly", "precomputed", "few columns", "many columns"],
)
def test_factorisation_of_a_path(kernel, d, expected):
    sizes = Sizes(100, d, 10, 1)
    plan = plan_path(kernel, sizes, memory_limit="1GB")
    assert (plan.method, plan.space, plan.storage) == expected
    with pytest.raises(MemoryError, match=r"the path of 100 rows needs .*kernel='linear'"):
        plan_path(kernel, sizes, memory_limit=plan.n_bytes - 1)
