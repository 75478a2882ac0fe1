"""Plans of S3VC: the space, the storage of the Gram matrix, and the memory of L-BFGS."""

from dataclasses import replace

import numpy as np
import pytest

from lapwing.kernels.functions import make_kernel
from lapwing.plan.margin import plan_margin
from lapwing.solvers.lbfgs import LEAST_MEMORY, lbfgs_bytes
from lapwing.solvers.methods import Sizes

SIZES = Sizes(n_rows=1000, n_features=20, n_labelled=10, n_columns=6)
ROWS = np.random.default_rng(0).normal(size=(10, 3))


def plan(
    kernel="rbf",
    *,
    n_landmarks=None,
    landmarks="random",
    memory_limit="1GB",
    sizes=SIZES,
    solver="cccp",
):
    made = None if kernel is None else make_kernel(kernel, ROWS, gamma=1.0, degree=3, coef0=0.0)
    return plan_margin(
        made,
        sizes,
        stored=sizes.n_rows * sizes.n_features,
        solver=solver,
        n_landmarks=n_landmarks,
        landmarks=landmarks,
        memory_limit=memory_limit,
    )


@pytest.mark.parametrize(
    ("kernel", "options", "space", "storage"),
    [
        ("linear", {}, "linear", None),
        ("cosine", {}, "linear", None),
        ("rbf", {}, "expansion", "float64"),
        (None, {}, "expansion", "given"),
        ("rbf", {"n_landmarks": 50}, "landmarks", None),
        ("linear", {"n_landmarks": 5}, "landmarks", None),
        (None, {"n_landmarks": 50, "landmarks": "pca"}, "landmarks", "given"),
    ],
)
def test_kernel_and_landmarks_decide_the_space(kernel, options, space, storage):
    made = plan(kernel, **options)
    assert (made.space, made.storage, made.method) == (space, storage, "cccp")
    assert made.n_points == options.get("n_landmarks", 0)
    assert made.n_bytes <= made.budget == 10**9
    assert made.lbfgs_memory == 50


def test_lbfgs_remembers_what_the_memory_has_room_for():
    limits = (2.2e6, 4e6, 8e6, 2e7)
    memories = [plan(None, memory_limit=limit).lbfgs_memory for limit in limits]
    assert memories[0] == LEAST_MEMORY
    assert LEAST_MEMORY < memories[1] < memories[2] < memories[3] == 50
    assert lbfgs_bytes(1000, 2000, 6, memories[1]) <= 4e6


def test_a_gram_matrix_without_room_is_stored_in_less():
    many = Sizes(n_rows=10_000, n_features=20, n_labelled=10, n_columns=1)
    limits = ("2GB", "500MB", "300MB", "100MB")
    stored = [plan(memory_limit=limit, sizes=many).storage for limit in limits]
    assert stored == ["float64", "triangle64", "triangle32", "tiled"]


@pytest.mark.parametrize(
    ("kernel", "options"),
    [
        ("linear", {}),
        ("rbf", {}),
        (None, {}),
        ("rbf", {"n_landmarks": 50}),
        ("rbf", {"n_landmarks": 50, "landmarks": "pca"}),
    ],
)
def test_what_does_not_fit_is_refused(kernel, options):
    with pytest.raises(MemoryError, match=r"fitting 1000 rows needs .* memory_limit allows 1 kB"):
        plan(kernel, memory_limit="1kB", **options)


def test_features_of_pca_need_the_gram_matrix():
    plan(n_landmarks=50, memory_limit="4MB")
    with pytest.raises(MemoryError, match="set n_landmarks or lower it"):
        plan(n_landmarks=50, landmarks="pca", memory_limit="4MB")


@pytest.mark.parametrize(
    ("kernel", "options", "moves"),
    [
        ("linear", {}, True),
        ("rbf", {}, True),
        ("rbf", {"n_landmarks": 50}, True),
        (None, {}, False),
        (None, {"n_landmarks": 50}, True),
    ],
)
def test_steps_are_on_a_device_where_it_has_the_memory(kernel, options, moves, monkeypatch):
    assert not plan(kernel, **options).on_device
    monkeypatch.setattr("lapwing.plan.margin.active_device", lambda: "a device")
    monkeypatch.setattr("lapwing.plan.margin.device_budget", lambda: 10**9)
    assert plan(kernel, **options).on_device == moves
    assert not plan(kernel, solver="annealing", **options).on_device
    monkeypatch.setattr("lapwing.plan.margin.device_budget", lambda: 10**5)
    assert not plan(kernel, **options).on_device


@pytest.mark.parametrize(
    ("kernel", "n_landmarks", "moves"),
    [("linear", None, True), ("rbf", None, False), ("rbf", 50, True)],
)
def test_kernel_matrix_of_sparse_rows_stays_on_the_host(kernel, n_landmarks, moves, monkeypatch):
    monkeypatch.setattr("lapwing.plan.margin.active_device", lambda: "a device")
    monkeypatch.setattr("lapwing.plan.margin.device_budget", lambda: 10**9)
    sparse = replace(SIZES, is_sparse=True)
    assert plan(kernel, n_landmarks=n_landmarks, sizes=sparse).on_device == moves
