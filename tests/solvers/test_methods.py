"""Declarations of the solvers: what they accept, what they announce, and what they run."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from lapwing.graphs import KNNGraph
from lapwing.kernels.gram import gram_bytes
from lapwing.losses import LOSSES, Hinge, SmoothHat, SquaredHinge, SquaredLoss
from lapwing.operators.dense import DenseOperator
from lapwing.risk import RegularizedRisk
from lapwing.solvers.driver import drive
from lapwing.solvers.elimination import dense_bytes
from lapwing.solvers.embedded_ridge import EmbeddedRidge, ridge_cg_bytes
from lapwing.solvers.manifold_cg import manifold_cg_bytes
from lapwing.solvers.methods import (
    ELIMINATE,
    ELIMINATE_FEATURES,
    ELIMINATE_SUPERVISED,
    MANIFOLD_CG,
    PCG,
    RIDGE_DIRECT,
    RIDGE_METHODS,
    RISK_METHODS,
    Sizes,
    SolverOptions,
)
from lapwing.spaces.kernel_space import KernelSpace, LinearSpace

N, D, L, C = 60, 5, 12, 2
SIZES = Sizes(n_rows=N, n_labelled=L, n_columns=C, n_features=D)


def risk(space="kernel", loss=None, manifold=0.5, sizes=SIZES):
    n, l = sizes.n_rows, sizes.n_labelled
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, sizes.n_features))
    chain = sp.diags_array([np.ones(n - 1), np.ones(n - 1)], offsets=[-1, 1], format="csr")
    if space == "kernel":
        space = KernelSpace(DenseOperator(np.exp(-0.3 * cdist(X, X, "sqeuclidean"))))
    else:
        space = LinearSpace(X)
    return RegularizedRisk(
        space=space,
        loss=SquaredHinge() if loss is None else loss,
        labelled=np.arange(l),
        targets=np.where(rng.random((l, sizes.n_columns)) < 0.5, -1.0, 1.0),
        weights=np.ones(l),
        smoothness=KNNGraph.from_affinity(chain).laplacian_,
        reg_ambient=0.1,
        reg_manifold=manifold,
        fit_intercept=True,
    )


def options(**settings):
    return SolverOptions(**{"tol": 1e-6, "rng": np.random.default_rng(0), **settings})


def test_losses_that_methods_accept():
    def accepted(method):
        return [name for name, cls in LOSSES.items() if method.accepts(cls())]

    for method in (ELIMINATE, ELIMINATE_SUPERVISED, ELIMINATE_FEATURES, MANIFOLD_CG):
        assert accepted(method) == list(LOSSES)
    assert accepted(PCG) == ["squared", "squared_hinge"]
    for method in RIDGE_METHODS.values():
        assert accepted(method) == ["squared"]
    assert not any(method.accepts(SmoothHat()) for method in RISK_METHODS.values())


@pytest.mark.parametrize("method", list(RISK_METHODS.values()), ids=list(RISK_METHODS))
def test_all_methods_run_to_the_same_solution(method):
    problem = risk("linear")
    step, result = drive(method.name, method.run(problem, options()), max_iter=500)
    expected, _ = drive("", ELIMINATE_FEATURES.run(problem, options()), max_iter=1)
    assert result.status == "converged"
    np.testing.assert_allclose(step.function.values, expected.function.values, atol=1e-2)
    assert step.objective == pytest.approx(expected.objective, rel=1e-5)


def test_supervised_elimination_needs_columns_only():
    problem = risk(manifold=0.0)
    problem.gram.to_array = None  # would fail if it were asked for
    step, _ = drive("", ELIMINATE_SUPERVISED.run(problem, options()), max_iter=1)
    assert step.converged
    assert ELIMINATE_SUPERVISED.name == ELIMINATE.name
    assert ELIMINATE_SUPERVISED.gram == "columns"


def test_features_are_needed_where_they_are_declared():
    assert [m.name for m in RISK_METHODS.values() if m.gram == "features"] == ["eliminate_features"]
    with pytest.raises(TypeError, match="needs a space with explicit features"):
        next(ELIMINATE_FEATURES.run(risk("kernel"), options()))


@pytest.mark.parametrize("method", [MANIFOLD_CG, PCG], ids=lambda method: method.name)
@pytest.mark.parametrize("space", ["kernel", "linear"])
def test_warm_starts_are_used_if_they_fit(method, space):
    problem = risk(space)
    cold, result = drive("", method.run(problem, options()), max_iter=500)
    f = cold.function
    again, warm = drive("", method.run(problem, options(start=(f.coef, f.intercept))), max_iter=500)
    # A start that is no expansion over the rows is of no use to manifold_cg.
    assert warm.n_iter < result.n_iter or (method is MANIFOLD_CG and space == "linear")
    assert again.objective == pytest.approx(cold.objective, rel=1e-5)
    unfit = np.ones((3, 1)), np.zeros(1)
    _, other = drive("", method.run(problem, options(start=unfit)), max_iter=500)
    assert other.n_iter == result.n_iter


def test_memory_is_counted_beside_the_gram_matrix():
    assert ELIMINATE.work_bytes(SIZES) + gram_bytes(N, "float64") == dense_bytes(N, L)
    assert MANIFOLD_CG.work_bytes(SIZES) == manifold_cg_bytes(N, L, C, 0)
    assert ELIMINATE_SUPERVISED.work_bytes(SIZES) < ELIMINATE.work_bytes(SIZES)
    features = [
        ELIMINATE_FEATURES.work_bytes(Sizes(N, D, L, C, is_quadratic=quadratic))
        for quadratic in (True, False)
    ]
    assert features[1] - features[0] == 8 * 7 * L**2
    # The intercept is one more column.
    assert RIDGE_METHODS["cg"].work_bytes(SIZES) == ridge_cg_bytes(N, D + 1)
    assert all(m.work_bytes(SIZES) > 0 for m in [*RISK_METHODS.values(), *RIDGE_METHODS.values()])


@pytest.mark.parametrize(
    ("method", "sizes"),
    [
        (ELIMINATE, Sizes(800, 5, 3, 1)),
        (ELIMINATE, Sizes(128, 5, 3, 1)),  # a block of columns is half of it
        (ELIMINATE, Sizes(200, 5, 100, 1)),
        (ELIMINATE_SUPERVISED, Sizes(1500, 2, 3, 1)),
        (ELIMINATE_SUPERVISED, Sizes(1500, 2, 3, 10)),
        (ELIMINATE_SUPERVISED, Sizes(400, 2, 200, 3)),
        (ELIMINATE_FEATURES, Sizes(1500, 3, 30, 10)),
        (ELIMINATE_FEATURES, Sizes(1000, 3, 300, 2)),
        (MANIFOLD_CG, Sizes(600, 60, 200, 2)),
        (MANIFOLD_CG, Sizes(1600, 20, 100, 5)),
        (PCG, Sizes(600, 5, 3, 4)),
    ],
    ids=lambda value: value.name if hasattr(value, "name") else f"{value.n_rows}",
)
def test_memory_is_what_was_announced(method, sizes, monkeypatch):
    monkeypatch.setenv("LAPWING_NUM_THREADS", "1")
    space = "linear" if method is ELIMINATE_FEATURES else "kernel"
    loss = Hinge() if method is ELIMINATE_FEATURES else None
    problem = risk(space, loss, 0.0 if method is ELIMINATE_SUPERVISED else 0.5, sizes)
    drive("", method.run(problem, options()), max_iter=1)  # what is imported late is not counted
    tracemalloc.start()
    try:
        _, result = drive("", method.run(problem, options()), max_iter=500)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    announced = method.work_bytes(replace(sizes, n_iter=result.n_iter))
    assert 0.85 * peak <= announced <= 1.2 * peak


def test_iterations_that_a_budget_allows():
    for room in (0, 1, 17):
        budget = manifold_cg_bytes(N, L, C, room)
        assert MANIFOLD_CG.affordable_iterations(SIZES, budget) == room
        assert MANIFOLD_CG.affordable_iterations(SIZES, budget - 1) == room - 1
    assert PCG.affordable_iterations(SIZES, 10**9) is None


@pytest.mark.parametrize("method", list(RIDGE_METHODS.values()), ids=list(RIDGE_METHODS))
def test_methods_of_the_embedded_ridge(method):
    rng, base = np.random.default_rng(1), risk(loss=SquaredLoss())
    basis = np.linalg.qr(rng.normal(size=(N, 4)))[0]
    problem = EmbeddedRidge(
        base.gram, 0.1, basis, np.eye(4), base.labelled, base.targets, base.weights, True
    )
    step, result = drive(method.name, method.run(problem, options()), max_iter=100)
    expected, _ = drive("", RIDGE_DIRECT.run(problem, options()), max_iter=1)
    assert result.status == "converged"
    np.testing.assert_allclose(step.function.values, expected.function.values, atol=1e-2)
