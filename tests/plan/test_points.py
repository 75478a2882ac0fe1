"""Plans of models over a few points, and over a graph: numbers of points, methods, refusals."""

import pytest

from lapwing.plan.lgc import plan_lgc
from lapwing.plan.points import plan_anchors, plan_landmark_rows, plan_prototypes
from lapwing.solvers.methods import Sizes
from lapwing.solvers.sparse_system import FactorCost


def prototypes(n=1000, d=3, labelled=10, **given):
    given = {"n_prototypes": "auto", "n_landmarks": None, "loss": "squared"} | given
    given = {"row_size": float(d), "memory_limit": "1GB"} | given
    return plan_prototypes(Sizes(n, d, labelled, 1), **given)


@pytest.mark.parametrize(
    ("n", "wanted", "labelled", "m"), [(100, 20, 5, 20), (100, 20, 30, 30), (10, 20, 5, 10)]
)
def test_labelled_rows_are_landmarks_and_rows_are_enough(n, wanted, labelled, m):
    plan = plan_landmark_rows(n, wanted, n_labelled=labelled, memory_limit="1GB")
    assert (plan.n_points, plan.space) == (m, "landmarks")
    assert 0 < plan.n_bytes <= plan.budget


def test_landmarks_that_do_not_fit_are_refused():
    with pytest.raises(MemoryError, match=r"fitting 60 landmarks needs .* lower n_landmarks, or"):
        plan_landmark_rows(100, 60, memory_limit="10kB")
    with pytest.raises(MemoryError, match=r"60 landmarks needs .*, label fewer rows, or"):
        plan_landmark_rows(100, 10, n_labelled=60, memory_limit="10kB")


def test_anchors_are_at_most_a_quarter_of_the_rows():
    assert [plan_anchors(n, 30).n_points for n in (2, 40, 1000)] == [1, 10, 30]


@pytest.mark.parametrize(("n", "k"), [(5, 5), (150, 100), (1500, 150), (6000, 500)])
def test_automatic_number_of_prototypes(n, k):
    plan = prototypes(n)
    assert plan.n_points == plan.n_graph_points == k


def test_prototypes_of_the_graph_may_be_others():
    plan = prototypes(n_prototypes=20, n_landmarks=50)
    assert (plan.n_points, plan.n_graph_points, plan.method) == (20, 50, "ridge")
    assert prototypes(n_prototypes=20, loss="hinge").method == "box_qp"
    assert prototypes(n_prototypes=20).n_bytes < plan.n_bytes


def test_memory_of_prototypes_grows_with_what_is_stored():
    base = prototypes(100_000, n_prototypes=50).n_bytes
    assert prototypes(100_000, d=300, n_prototypes=50).n_bytes > 2 * base  # the sample of k-means
    more = prototypes(100_000, labelled=5000, n_prototypes=50)
    assert more.n_bytes - base == 8 * 4990 * (3 + 4 * 50)
    hinge = prototypes(100_000, labelled=5000, n_prototypes=50, loss="hinge", memory_limit="9GB")
    assert hinge.n_bytes - more.n_bytes == 8 * 6 * 5000**2


def test_prototypes_that_do_not_fit_are_refused():
    with pytest.raises(MemoryError, match="lower n_prototypes or n_landmarks, or raise"):
        prototypes(memory_limit="10kB")
    with pytest.raises(MemoryError, match="use loss='squared'"):
        prototypes(memory_limit="10kB", loss="hinge")


@pytest.mark.parametrize(
    ("operations", "factor_bytes", "method"),
    [(1e6, 10**6, "direct"), (1e12, 10**6, "iterative"), (1e6, 10**10, "iterative")],
)
def test_labels_are_spread_by_factors_where_these_are_cheap(operations, factor_bytes, method):
    cost = FactorCost(factor_bytes, operations)
    plan = plan_lgc(cost, 1000, 3, solver="auto", memory_limit="1GB")
    assert plan.method == method
    for solver in ("direct", "iterative"):
        with pytest.raises(MemoryError, match=f"solver='{solver}' with 1000 rows needs"):
            plan_lgc(cost, 1000, 3, solver=solver, memory_limit="10kB")
