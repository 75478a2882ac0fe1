"""Plans of the embedded models: decided from sizes and memory, before anything is built."""

from dataclasses import replace

import pytest

from lapwing.kernels.functions import GaussianKernel, LinearKernel
from lapwing.plan.embedded import plan_embedded_ridge, plan_tube
from lapwing.plan.manifold import DENSE_ROWS
from lapwing.solvers.methods import Sizes
from lapwing.spaces.graph_kernel import graph_kernel_bytes

SIZES = Sizes(n_rows=2000, n_features=10, n_labelled=50, n_columns=3)
FREE = {"n_eigenvectors": None, "reg_manifold": 1.0}


@pytest.mark.parametrize(
    ("choices", "limit", "expected"),
    [
        (FREE, "1GB", "dense"),
        (FREE, "100MB", "inverse"),  # four matrices of 2000 rows take 128 MB
        ({"n_eigenvectors": 20, "reg_manifold": 1.0}, "100MB", "low_rank"),
        ({"n_eigenvectors": 20, "reg_manifold": 0.0}, "100MB", None),
    ],
)
def test_how_the_graph_kernel_of_a_tube_is_held(choices, limit, expected):
    plan = plan_tube(GaussianKernel(1.0), SIZES, **choices, memory_limit=limit)
    assert plan.graph_kernel == expected
    assert plan.n_bytes <= plan.budget
    assert 0 < plan.cache_bytes <= plan.budget
    assert (plan.cache_bytes < plan.budget) == (expected in ("dense", "inverse"))


def test_largest_graph_kernel_that_is_a_matrix():
    sizes = {n: replace(SIZES, n_rows=n) for n in (DENSE_ROWS, DENSE_ROWS + 1)}
    plans = [plan_tube(GaussianKernel(1.0), s, **FREE, memory_limit="1TB") for s in sizes.values()]
    assert [plan.graph_kernel for plan in plans] == ["dense", "inverse"]
    needed = graph_kernel_bytes(2000)
    for limit, expected in ((needed, "dense"), (needed - 1, "inverse")):
        plan = plan_tube(GaussianKernel(1.0), SIZES, **FREE, memory_limit=limit)
        assert plan.graph_kernel == expected


def test_a_tube_without_room_for_a_working_set_is_refused():
    with pytest.raises(MemoryError, match=r"fitting 2000 rows needs .* allows 1 MB"):
        plan_tube(GaussianKernel(1.0), SIZES, **FREE, memory_limit="1MB")
    # Without a manifold term only the labelled rows are used.
    plan_tube(GaussianKernel(1.0), SIZES, n_eigenvectors=None, reg_manifold=0.0, memory_limit="1MB")


@pytest.mark.parametrize(
    ("kernel", "solver", "limit", "expected"),
    [
        (GaussianKernel(1.0), "auto", "1GB", ("direct", "expansion", "float64")),
        (GaussianKernel(1.0), "auto", "60MB", ("cg", "expansion", "triangle64")),
        (GaussianKernel(1.0), "cg", "1GB", ("cg", "expansion", "triangle64")),
        (LinearKernel(), "direct", "1GB", ("direct", "expansion", "float64")),
        (LinearKernel(), "cg", "1GB", ("cg", "linear", None)),
        (None, "cg", "1GB", ("cg", "expansion", "given")),
        (None, "direct", "1GB", ("direct", "expansion", "given")),
    ],
)
def test_how_embedded_least_squares_are_solved(kernel, solver, limit, expected):
    plan = plan_embedded_ridge(kernel, SIZES, n_eigenvectors=20, solver=solver, memory_limit=limit)
    assert (plan.method, plan.space, plan.storage) == expected
    assert plan.n_bytes <= plan.budget


@pytest.mark.parametrize("solver", ["auto", "direct", "cg"])
@pytest.mark.parametrize("kernel", [GaussianKernel(1.0), LinearKernel(), None])
def test_embedded_least_squares_without_room_are_refused(kernel, solver):
    with pytest.raises(MemoryError, match="memory_limit allows 1 MB"):
        plan_embedded_ridge(kernel, SIZES, n_eigenvectors=20, solver=solver, memory_limit="1MB")
