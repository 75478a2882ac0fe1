"""Plans of manifold-regularised models and of the default: methods, storage, refusals."""

import pytest

from lapwing.kernels.functions import GaussianKernel, LinearKernel
from lapwing.plan.default import MARGIN_WORK, margin_columns, plan_default
from lapwing.plan.manifold import plan_manifold
from lapwing.solvers.lbfgs import lbfgs_bytes
from lapwing.solvers.methods import Sizes

GAUSS, LINEAR = GaussianKernel(1.0), LinearKernel()


def plan(kernel=GAUSS, n=2000, d=5, solver="auto", manifold=1.0, limit="1GB", sparse=False):
    sizes = Sizes(n, d, n_labelled=20, n_columns=1, is_sparse=sparse)
    made = plan_manifold(kernel, sizes, solver=solver, reg_manifold=manifold, memory_limit=limit)
    return made.method, made.space, made.storage


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, ("eliminate", "expansion", "float64")),
        ({"manifold": 0.0}, ("eliminate", "expansion", "tiled")),
        ({"manifold": 0.0, "n": 10**6}, ("eliminate", "expansion", "tiled")),
        ({"limit": "60MB"}, ("manifold_cg", "expansion", "triangle64")),
        ({"n": 10_001, "limit": "9GB"}, ("manifold_cg", "expansion", "triangle64")),
        ({"solver": "cg"}, ("manifold_cg", "expansion", "triangle64")),
        ({"solver": "pcg"}, ("pcg", "expansion", "float64")),
        ({"kernel": None}, ("eliminate", "expansion", "given")),
        ({"kernel": LINEAR}, ("eliminate_features", "linear", None)),
        ({"kernel": LINEAR, "solver": "pcg"}, ("pcg", "linear", None)),
        ({"kernel": LINEAR, "d": 5000}, ("eliminate", "linear", "float64")),
        ({"kernel": LINEAR, "d": 5000, "sparse": True}, ("manifold_cg", "linear", None)),
    ],
    ids=str,
)
def test_how_a_model_over_all_rows_is_solved(options, expected):
    assert plan(**options) == expected


@pytest.mark.parametrize("solver", ["newton", "dual", "direct"])
def test_direct_solvers_without_room_are_refused(solver):
    with pytest.raises(MemoryError, match=f"solver='{solver}' with 2000 rows .*use solver='auto'"):
        plan(solver=solver, limit="60MB")


def default(limit, n=10_000, labels=10, points=1000, margin=1000, self_training=1000, systems=1):
    return plan_default(
        n, 5, row_bytes=400_000, n_labels=labels, n_points=points, n_systems=systems,
        margin_rows=margin, self_training_rows=self_training, memory_limit=limit,
    )  # fmt: skip


def test_families_of_the_default_that_have_room():
    def fitting(limit, **sizes):
        made = default(limit, **sizes)
        assert made.n_bytes <= made.budget
        return made.manifold_fits, made.margin_fits, made.self_training_fits

    # 4 kB of graph per row are 40 MB, kernels of 1000 points 176 MB, of 1000 rows 8 MB, the
    # solver of the margin family 64 MB, and 1000 rows of the self-training family 26 MB.
    assert fitting("250MB") == (True, True, True)
    assert fitting("200MB") == (False, True, True)
    assert fitting("100MB") == (False, False, True)
    assert fitting("50MB") == (False, False, False)
    assert fitting("200MB", points=100) == (True, True, True)
    assert fitting("150MB", points=100, margin=1000) == (True, True, True)
    assert fitting("150MB", points=100, margin=3000) == (True, False, True)
    assert fitting("150MB", points=100, self_training=3000) == (True, True, False)
    assert fitting("200MB", n=20_000, points=100) == (True, True, True)


def test_systems_of_the_manifold_family_that_are_solved_at_once(monkeypatch):
    # Graph, kernel and basis, systems, solutions of four and two more, systems of the labels (MB).
    sizes = {"n": 1000, "points": 1000, "labels": 1000, "systems": 4}
    for threads, least in ((1, 4 + 16 + 16 + 48 + 32), (4, 4 + 16 + 40 + 48 + 32)):
        monkeypatch.setenv("LAPWING_NUM_THREADS", str(threads))
        assert default(f"{least + 2}MB", **sizes).manifold_fits
        assert not default(f"{least - 1}MB", **sizes).manifold_fits


@pytest.mark.parametrize("n_rows", [10, 1_000, 3_000])
@pytest.mark.parametrize("n_coordinates", [5, 6_000, 50_000])
def test_blocks_of_the_margin_family_keep_to_their_memory(n_rows, n_coordinates):
    columns = margin_columns(n_rows, n_coordinates)
    assert 1 <= columns <= 64
    assert lbfgs_bytes(n_rows, n_coordinates, columns) <= MARGIN_WORK
    if columns < 64:
        assert lbfgs_bytes(n_rows, n_coordinates, columns + 1) > MARGIN_WORK


def test_one_column_of_the_margin_family_is_always_solved():
    assert margin_columns(3_000, 10**7) == 1


def test_a_default_without_room_for_its_graph_is_refused():
    for sizes in ({"n": 10_000}, {"n": 100, "labels": 1000}):  # 40 MB; 32 MB of labels
        with pytest.raises(MemoryError, match="fit fewer unlabelled rows"):
            default("30MB", **sizes)
        default("45MB", **sizes)
