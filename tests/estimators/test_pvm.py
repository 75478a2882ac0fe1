"""PVMClassifier and PVMRegressor against dense algebra and a convex solver; blocks; bad input."""

import importlib.util
import pickle
import tempfile
import tracemalloc
import warnings
from pathlib import Path

import clarabel
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import make_moons

from lapwing import PVMClassifier, PVMRegressor
from lapwing.estimators import pvm
from lapwing.spaces import prototypes

_spec = importlib.util.spec_from_file_location(
    "reference", Path(__file__).resolve().parents[1] / "reference.py"
)
reference = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(reference)

every_loss = pytest.mark.parametrize("loss", ["squared", "hinge"])
every_choice = pytest.mark.parametrize("normalize", [False, True])
MACHINES = [PVMClassifier(), PVMClassifier("hinge"), PVMRegressor(unlabeled=-1)]
every_machine = pytest.mark.parametrize("machine", MACHINES, ids=["squared", "hinge", "regressor"])
GAMMA = 0.5


def blobs(n=200, n_classes=2, n_labelled=20, d=3, gap=2.0, seed=0):
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % n_classes
    X = gap * np.eye(max(n_classes, d))[truth, :d] + 0.7 * rng.normal(size=(n, d))
    return X, np.where(np.arange(n) < n_labelled, truth, -1), truth


def cut(X, y, ends):
    return list(zip(np.split(X, ends), np.split(y, ends), strict=True))


def decide(machine, X):
    return machine.predict(X) if isinstance(machine, PVMRegressor) else machine.decision_function(X)


def one_vs_rest(labels, n_classes):
    if n_classes == 2:
        return np.where(labels == 1, 1.0, -1.0)[:, None]
    return np.where(labels[:, None] == np.arange(n_classes), 1.0, -1.0)


def gaussian(A, B, gamma):
    return np.exp(-gamma * ((A[:, None] - B[None]) ** 2).sum(axis=2))


def dense_terms(machine, X):
    """H and HᵀSH of a fitted machine, with n × n matrices."""
    U, V, gamma = machine.landmarks_, machine.prototypes_, machine.kernel_.gamma
    H, E = gaussian(X, V, gamma), gaussian(X, U, gamma)
    if machine.normalize_rows:
        H = H / H.sum(axis=1, keepdims=True)
    K = E @ np.linalg.solve(gaussian(U, U, gamma), E.T)
    S = np.diag(np.maximum(K.sum(axis=1), 0.0)) - K
    return H, H.T @ S @ H, K


def least_squares(A, B, C, Y):
    """The f with least fᵀAf + Σ c(y - bᵀf)², by orthogonal factors; A without negative values."""
    values, vectors = np.linalg.eigh((A + A.T) / 2)
    assert values[0] > -1e-8 * values[-1]  # or the problem has no solution
    root = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
    weight = np.sqrt(np.asarray(C, dtype=float) * np.ones(len(B)))[:, None]
    system = np.vstack([root, weight * B])
    return np.linalg.lstsq(
        system,
        np.vstack([np.zeros_like(root) @ np.zeros((len(A), Y.shape[1])), weight * Y]),
        rcond=None,
    )[0]


def watched(machine):
    """A copy of the machine that keeps the values of labels left out."""

    class Watched(type(machine)):
        def _set_fitted(self, rows, targets, *rest, **more):
            more |= {"index_": targets.index, "held_out_": rest[-1]}
            return super()._set_fitted(rows, targets, *rest, **more)

    return Watched(**machine.get_params())


# ---------------------------------------------------------------- squared loss


@every_choice
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("reg_unlabeled", [0.0, 0.3])
@pytest.mark.parametrize("n_landmarks", [None, 40])
def test_squared_loss_satisfies_its_normal_equations(
    normalize, n_classes, reg_unlabeled, n_landmarks
):
    X, y, _ = blobs(n_classes=n_classes)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(X))
    C = 50.0
    machine = PVMClassifier(n_prototypes=15, n_landmarks=n_landmarks, gamma=GAMMA, reg_labeled=C)
    machine.set_params(reg_unlabeled=reg_unlabeled, normalize_rows=normalize)
    machine.fit(X, y, sample_weight=weights)
    H, A, _ = dense_terms(machine, X)
    A = A + reg_unlabeled * H[20:].T @ H[20:]
    Y, W = one_vs_rest(y[:20], n_classes), np.diag(weights[:20])
    assert np.linalg.eigvalsh(A)[0] > -1e-9 * np.abs(A).max()
    left = (A + C * H[:20].T @ W @ H[:20]) @ machine.coef_.T
    right = C * H[:20].T @ W @ Y
    np.testing.assert_allclose(left, right, atol=1e-6 * np.abs(right).max())
    coef = least_squares(A, H[:20], C * weights[:20], Y)
    values = H @ coef
    np.testing.assert_allclose(
        decide(machine, X), values[:, 0] if n_classes == 2 else values, atol=1e-6
    )
    found = (values[:, 0] > 0) if n_classes == 2 else values.argmax(axis=1)
    np.testing.assert_array_equal(machine.transduction_, np.where(y < 0, found, y))


@pytest.mark.parametrize("strength", [1e-4, 1e-2, 1.0, 1e2, 1e4, 1e8])
@every_choice
def test_regressor_minimises_its_objective_for_weak_and_strong_labels(strength, normalize):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(300, 2))
    y = np.where(np.arange(300) < 30, np.sin(5 * X[:, 0]) + X[:, 1], np.nan)
    machine = PVMRegressor(n_prototypes=25, gamma=40.0, normalize_rows=normalize).fit(X, y)
    C = strength * machine.reg_labeled_
    machine.set_params(reg_labeled=C).fit(X, y)
    H, A, _ = dense_terms(machine, X)
    coef = least_squares(A, H[:30], C, y[:30, None])[:, 0]

    def objective(f):
        return f @ A @ f + C * ((y[:30] - H[:30] @ f) ** 2).sum()

    assert objective(machine.coef_[0]) <= objective(coef) * (1 + 1e-6)
    np.testing.assert_allclose(machine.predict(X), H @ coef, atol=1e-5)
    np.testing.assert_allclose(machine.transduction_[:30], y[:30])
    np.testing.assert_allclose(machine.transduction_[30:], machine.predict(X[30:]))


@every_choice
@pytest.mark.parametrize("reg_unlabeled", [0.0, 0.2])
def test_all_rows_as_prototypes_are_the_full_method(normalize, reg_unlabeled):
    X, y, _ = blobs(n=60, n_labelled=10)
    machine = PVMClassifier(n_prototypes=60, gamma=3.0, reg_labeled=5.0)
    machine.set_params(normalize_rows=normalize, reg_unlabeled=reg_unlabeled).fit(X, y)
    K = gaussian(X, X, 3.0)
    assert np.linalg.cond(K) < 1e6
    labelled = (y >= 0).astype(float)
    # K, divided by its sums or not, reaches every vector f: the minimum over all f.
    system = np.diag(K.sum(axis=1)) - K + np.diag(5.0 * labelled + reg_unlabeled * (1 - labelled))
    f = np.linalg.solve(system, 5.0 * labelled * np.where(y == 1, 1.0, -1.0))
    np.testing.assert_allclose(machine.decision_function(X), f, atol=1e-7)
    assert machine.prototypes_.shape == (60, 3)


@pytest.mark.parametrize("n_classes", [2, 3])
@every_choice
def test_left_out_labels_are_those_of_refits(n_classes, normalize):
    X, y, _ = blobs(n=120, n_classes=n_classes, n_labelled=12)
    machine = PVMClassifier(n_prototypes=12, gamma=GAMMA, reg_labeled=30.0)
    machine = watched(machine.set_params(normalize_rows=normalize))
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(X))
    machine.fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(machine.index_, np.arange(12))
    for i in range(12):
        without = np.where(np.arange(120) == i, -1, y)
        refit = clone(machine).fit(X, without, sample_weight=weights)
        np.testing.assert_allclose(
            machine.held_out_[i], refit.decision_function(X[i : i + 1])[0], atol=1e-6
        )


# ---------------------------------------------------------------- hinge loss


def hinge_minimum(A, H, y, C):
    """The f with least ½fᵀAf + Σ C max(1 - y hᵀf, 0), by an interior-point solver."""
    l, k = H.shape
    P = np.zeros((k + l, k + l))
    P[:k, :k] = A
    margins = np.hstack([-y[:, None] * H, -np.eye(l)])
    slacks = np.hstack([np.zeros((l, k)), -np.eye(l)])
    found = reference.quadratic_program(
        P,
        np.append(np.zeros(k), C),
        np.vstack([margins, slacks]),
        np.append(-np.ones(l), np.zeros(l)),
        [clarabel.NonnegativeConeT(2 * l)],
    )
    return found[:k]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("C", [0.2, 5.0])
@every_choice
def test_hinge_loss_equals_a_quadratic_program(n_classes, C, normalize):
    X, y, _ = blobs(n=120, n_classes=n_classes, n_labelled=24, gap=1.2)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(X))
    machine = PVMClassifier("hinge", n_prototypes=10, gamma=GAMMA, reg_labeled=C)
    machine.set_params(reg_unlabeled=0.05, normalize_rows=normalize)
    machine.fit(X, y, sample_weight=weights)
    H, A, _ = dense_terms(machine, X)
    A = A + 0.05 * H[24:].T @ H[24:]
    assert np.linalg.eigvalsh(A)[0] > 0
    Y = one_vs_rest(y[:24], n_classes)
    values = np.column_stack(
        [H @ hinge_minimum(A, H[:24], column, C * weights[:24]) for column in Y.T]
    )
    losses = np.maximum(1 - Y * values[:24], 0)
    assert (losses > 0.01).any()  # or the hinge plays no part
    assert (losses < 0.99).any()
    np.testing.assert_allclose(
        machine.decision_function(X), values[:, 0] if n_classes == 2 else values, atol=2e-6
    )


@pytest.mark.parametrize("strength", [1e-3, 1.0, 1e3])
def test_hinge_loss_with_free_constants_reaches_the_least_objective(strength):
    X, y, _ = blobs(n=120, n_labelled=24, gap=1.2)
    machine = PVMClassifier("hinge", n_prototypes=10, gamma=GAMMA).fit(X, y)
    C = strength * machine.reg_labeled_
    machine.set_params(reg_labeled=C).fit(X, y)
    H, A, _ = dense_terms(machine, X)
    Y = np.where(y[:24] == 1, 1.0, -1.0)

    def objective(f):
        return 0.5 * f @ A @ f + C * np.maximum(1 - Y * (H[:24] @ f), 0).sum()

    best = objective(hinge_minimum((A + A.T) / 2 + 1e-12 * np.eye(10), H[:24], Y, np.full(24, C)))
    assert objective(machine.coef_[0]) <= best * (1 + 1e-6)


# ---------------------------------------------------------------- weights and scales


def test_scale_is_the_sum_of_degrees_over_that_of_weights():
    X, y, _ = blobs()
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(X))
    machine = PVMClassifier(n_prototypes=15, class_weight={0: 1.0, 1: 3.0})
    machine.fit(X, y, sample_weight=weights)
    _, _, K = dense_terms(machine, X)
    total = (weights * np.where(y == 1, 3.0, 1.0))[:20].sum()
    assert machine.reg_labeled_ == pytest.approx(K.sum() / total, rel=1e-9)


@every_machine
def test_the_unit_of_weights_does_not_matter(machine):
    X, y, _ = blobs()
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(X))
    plain = clone(machine).fit(X, y, sample_weight=weights)
    scaled = clone(machine).fit(X, y, sample_weight=1e5 * weights)
    np.testing.assert_allclose(decide(scaled, X), decide(plain, X), atol=1e-7)


@every_machine
@every_choice
def test_the_unit_the_origin_and_the_order_of_rows_do_not_matter(machine, normalize):
    # Distinct rows as prototypes: k-means would depend on the order.
    X, y, _ = blobs(n=60, n_labelled=10)
    machine = clone(machine).set_params(n_prototypes=60, normalize_rows=normalize)
    plain = decide(clone(machine).fit(X, y), X)
    moved = 1e3 * X + 7e3
    np.testing.assert_allclose(decide(clone(machine).fit(moved, y), moved), plain, atol=1e-5)
    order = np.random.default_rng(0).permutation(60)
    np.testing.assert_allclose(decide(clone(machine).fit(X[order], y[order]), X), plain, atol=1e-6)


@every_machine
@every_choice
def test_all_rows_twice_change_nothing(machine, normalize):
    # The graph's term and, by "scale", that of the labels are four times as large.
    X, y, _ = blobs(n=60, n_labelled=10)
    machine = clone(machine).set_params(n_prototypes=60, normalize_rows=normalize)
    plain = clone(machine).fit(X, y)
    twice = clone(machine).fit(np.tile(X, (2, 1)), np.tile(y, 2))
    assert twice.prototypes_.shape == plain.prototypes_.shape
    assert twice.reg_labeled_ == pytest.approx(2 * plain.reg_labeled_)
    np.testing.assert_allclose(decide(twice, X), decide(plain, X), atol=1e-6)


@every_loss
def test_weights_of_classes_are_weights_of_rows(loss):
    X, y, _ = blobs(gap=1.0)
    machine = PVMClassifier(loss, n_prototypes=12, reg_labeled=0.05)
    by_class = clone(machine).set_params(class_weight={0: 1.0, 1: 2.0}).fit(X, y)
    by_row = clone(machine).fit(X, y, sample_weight=np.where(y == 1, 2.0, 1.0))
    plain = clone(machine).fit(X, y)
    np.testing.assert_allclose(decide(by_class, X), decide(by_row, X), atol=1e-8)
    assert not np.allclose(decide(by_class, X), decide(plain, X), atol=1e-3)
    balanced = clone(machine).set_params(class_weight="balanced").fit(X, y)
    np.testing.assert_allclose(decide(balanced, X), decide(plain, X), atol=1e-8)  # 10 of each


@every_machine
@pytest.mark.parametrize("reg_unlabeled", [0.0, 0.5])
def test_labels_of_weight_zero_count_as_none(machine, reg_unlabeled):
    X, y, _ = blobs()
    weights = np.where(np.arange(200) < 5, 0.0, 1.0)
    machine = clone(machine).set_params(reg_unlabeled=reg_unlabeled)
    without = clone(machine).fit(X, np.where(weights > 0, y, -1))
    weighted = clone(machine).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(decide(weighted, X), decide(without, X), atol=1e-9)
    np.testing.assert_array_equal(weighted.transduction_[:20], y[:20])


def test_more_weight_brings_prototypes_to_labelled_rows(monkeypatch):
    X, y, _ = blobs(n=600, n_labelled=8)

    def distance(machine):
        V = machine.fit(X, y).prototypes_
        return np.sqrt(((X[:8, None] - V[None]) ** 2).sum(axis=2)).min(axis=1).mean()

    for _ in range(2):
        plain = PVMClassifier(n_prototypes=10)
        default = plain.fit(X, y).prototypes_
        np.testing.assert_array_equal(
            plain.set_params(labeled_weight=1.0).fit(X, y).prototypes_, default
        )
        distances = [
            distance(PVMClassifier(n_prototypes=10, labeled_weight=w)) for w in (1, 30, 1e4)
        ]
        assert distances[0] > distances[1] > distances[2]
        assert distances[2] < 0.1
        # And once more with a sample that does not hold all labelled rows.
        monkeypatch.setattr(pvm, "kmeans_rows", lambda k: 100)


def test_separate_landmarks():
    X, y, _ = blobs()
    machine = PVMClassifier(n_prototypes=10, n_landmarks=25).fit(X, y)
    assert machine.prototypes_.shape == (10, 3)
    assert machine.landmarks_.shape == (25, 3)
    same = PVMClassifier(n_prototypes=10).fit(X, y)
    assert same.landmarks_ is same.prototypes_
    np.testing.assert_array_equal(same.prototypes_, machine.prototypes_)
    assert not np.allclose(decide(same, X), decide(machine, X), atol=1e-4)


@pytest.mark.parametrize(("n", "k"), [(5, 5), (150, 100), (1500, 150), (6000, 500)])
def test_automatic_number_of_prototypes(n, k):
    X, y, _ = blobs(n=n, n_labelled=4)
    assert PVMClassifier().fit(X, y).prototypes_.shape == (k, 3)


@every_loss
def test_two_moons(loss):
    X, truth = make_moons(1000, noise=0.06, random_state=0)
    y = np.full(1000, -1)
    for c in (0, 1):
        y[np.flatnonzero(truth == c)[:3]] = c
    machine = PVMClassifier(loss, n_prototypes=30).fit(X, y)
    assert (machine.transduction_ == truth).mean() > 0.98
    X_new, truth_new = make_moons(200, noise=0.06, random_state=7)
    assert machine.score(X_new, truth_new) > 0.97
    probability = machine.predict_proba(X_new)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0)
    np.testing.assert_array_equal(probability.argmax(axis=1), machine.predict(X_new))


# ---------------------------------------------------------------- tiles, threads, blocks


@every_machine
@pytest.mark.parametrize("reg_unlabeled", [0.0, 0.1])
def test_tiles_and_threads_do_not_matter(machine, reg_unlabeled, monkeypatch):
    X, y, _ = blobs(n=500)
    machine = clone(machine).set_params(n_prototypes=15, reg_unlabeled=reg_unlabeled)
    plain = clone(machine).fit(X, y)
    for threads, tile in (("1", 1), ("3", 7), ("8", 64), ("2", 10**6)):
        monkeypatch.setenv("LAPWING_NUM_THREADS", threads)
        monkeypatch.setattr(prototypes, "tile_rows", lambda k, tile=tile: tile)
        monkeypatch.setattr(pvm, "tile_rows", lambda k, tile=tile: tile)
        other = clone(machine).fit(X, y)
        np.testing.assert_allclose(decide(other, X), decide(plain, X), atol=1e-10)
        np.testing.assert_array_equal(other.transduction_ == y, plain.transduction_ == y)


@every_machine
@settings(max_examples=10)
@given(
    ends=st.lists(st.integers(0, 150), max_size=5),
    bare=st.booleans(),
    sample=st.sampled_from([20_000, 60]),
)
def test_any_cut_gives_the_model_of_all_rows(machine, ends, bare, sample):
    X, y, _ = blobs(n=150)
    machine = clone(machine).set_params(n_prototypes=10, reg_unlabeled=0.01)
    blocks = cut(X, y, sorted(ends))
    if bare:
        blocks = [(A, None if (b == -1).all() else b) for A, b in blocks]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pvm, "kmeans_rows", lambda k: sample)
        plain = clone(machine).fit(X, y)
        for form in (blocks, lambda: iter(blocks), iter(blocks)):
            other = clone(machine).fit_blocks(form)
            np.testing.assert_allclose(other.prototypes_, plain.prototypes_, rtol=1e-12)
            np.testing.assert_allclose(decide(other, X), decide(plain, X), atol=1e-10)
            np.testing.assert_allclose(other.transduction_, plain.transduction_, atol=1e-10)
            if hasattr(machine, "predict_proba"):
                np.testing.assert_allclose(
                    other.predict_proba(X), plain.predict_proba(X), atol=1e-6
                )


def test_a_sample_is_drawn_where_rows_are_many(monkeypatch):
    X, y, _ = blobs(n=500)
    full = PVMClassifier(n_prototypes=10).fit(X, y)
    monkeypatch.setattr(pvm, "kmeans_rows", lambda k: 8 * k)
    seen = []
    plain = pvm.kmeans_landmarks
    monkeypatch.setattr(
        pvm, "kmeans_landmarks", lambda A, *rest: seen.append(A.shape) or plain(A, *rest)
    )
    few = PVMClassifier(n_prototypes=10).fit(X, y)
    assert seen == [(80, 3)]
    assert not np.array_equal(few.prototypes_, full.prototypes_)
    again = PVMClassifier(n_prototypes=10).fit(X, y)
    np.testing.assert_array_equal(again.coef_, few.coef_)
    other = PVMClassifier(n_prototypes=10, random_state=1).fit(X, y)
    assert not np.array_equal(other.prototypes_, few.prototypes_)


def test_a_labelled_row_counts_for_so_many_rows(monkeypatch):
    X, y, _ = blobs(n=500)
    monkeypatch.setattr(pvm, "kmeans_rows", lambda k: 100)
    seen = []
    plain = pvm.kmeans_landmarks
    monkeypatch.setattr(
        pvm, "kmeans_landmarks", lambda A, *rest: seen.append((A, rest[-1])) or plain(A, *rest)
    )
    PVMClassifier(n_prototypes=10, labeled_weight=7.0).fit(X, y)
    [(rows, weights)] = seen
    labelled = (rows[:, None] == X[None, :20]).all(axis=2).any(axis=1)
    assert labelled.sum() == 20
    # A row of the sample of 100 stands for 5 rows, and a labelled one for 7.
    np.testing.assert_allclose(weights[labelled] / weights[~labelled][0], 7.0 / 5.0)
    assert np.ptp(weights[~labelled]) == 0


def test_blocks_are_read_five_times():
    X, y, _ = blobs()
    readings = []

    def blocks():
        readings.append(1)
        yield from cut(X, y, [60, 130])

    PVMClassifier(n_prototypes=10).fit_blocks(blocks)
    assert len(readings) == 5  # as its documentation says


@pytest.mark.parametrize("form", [iter, list])
def test_no_file_is_left(form, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    X, y, _ = blobs()
    PVMClassifier(n_prototypes=10).fit_blocks(form(cut(X, y, [60, 130])))
    with pytest.raises(ValueError, match="NaN"):
        PVMClassifier().fit_blocks(form([(X, y), (np.full((2, 3), np.nan), None)]))
    assert list(tmp_path.iterdir()) == []


def test_sparse_blocks_and_dense_ones():
    X, y, _ = blobs()
    X[np.abs(X) < 0.5] = 0.0
    machine = PVMClassifier(n_prototypes=10)
    plain = clone(machine).fit(X, y)
    blocks = cut(X, y, [60, 130])
    forms = [sp.csr_matrix, sp.csr_array, sp.coo_matrix, sp.csc_array]
    for form in forms:
        sparse = clone(machine).fit_blocks((form(A), b) for A, b in blocks)
        np.testing.assert_allclose(decide(sparse, X), decide(plain, X), atol=1e-9)
    for which in (0, 1, 2):
        mixed = [(sp.csr_matrix(A) if i == which else A, b) for i, (A, b) in enumerate(blocks)]
        other = clone(machine).fit_blocks(mixed)
        np.testing.assert_allclose(decide(other, X), decide(plain, X), atol=1e-9)


@pytest.mark.parametrize("form", [list, iter])
@pytest.mark.parametrize("kind", ["float64", "Float64", "object"])
def test_blocks_of_tables(form, kind):
    X, y, _ = blobs()
    plain = PVMClassifier(n_prototypes=10).fit(X, y)
    blocks = [
        (pd.DataFrame(A, columns=["a", "b", "c"]).astype(kind), pd.Series(b))
        for A, b in cut(X, y, [60, 130])
    ]
    machine = PVMClassifier(n_prototypes=10).fit_blocks(form(blocks))
    assert list(machine.feature_names_in_) == ["a", "b", "c"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        values = machine.decision_function(pd.DataFrame(X, columns=["a", "b", "c"]))
    np.testing.assert_allclose(values, plain.decision_function(X), atol=1e-9)
    swapped = [blocks[0], (blocks[1][0][["b", "a", "c"]], blocks[1][1])]
    with pytest.raises(ValueError, match=r"block 1: .*feature names"):
        PVMClassifier(n_prototypes=10).fit_blocks(swapped)


# ---------------------------------------------------------------- forms of rows, memory


@every_machine
def test_forms_of_rows(machine, tmp_path):
    rng = np.random.default_rng(0)
    truth = np.arange(300) % 2
    X = (rng.integers(0, 60, size=(300, 4)) + 100 * truth[:, None]).astype(float)
    y = np.where(np.arange(300) < 20, truth, -1)
    machine = clone(machine).set_params(n_prototypes=12)
    plain = clone(machine).fit(X, y)
    np.save(tmp_path / "rows.npy", X)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    for form, tolerance in (
        (np.asfortranarray(X), 1e-9),
        (mapped, 1e-10),
        (X.astype(np.uint8), 1e-10),
        (X.astype(np.int64), 1e-10),
        (X.tolist(), 1e-10),
        (sp.csr_matrix(X), 1e-7),
        (sp.csr_array(X), 1e-7),
        (sp.csc_matrix(X.astype(np.int32)), 1e-7),
        (X.astype(np.float16), 1e-10),
        (X.astype(np.float32), 1e-3),  # k-means computes in this precision
    ):
        other = clone(machine).fit(form, y)
        np.testing.assert_allclose(decide(other, form), decide(plain, X), atol=tolerance)
        np.testing.assert_allclose(decide(plain, form), decide(plain, X), atol=1e-7)
        np.testing.assert_allclose(decide(other, X), decide(plain, X), atol=tolerance)


def test_rows_are_not_changed():
    X, y, _ = blobs()
    X.flags.writeable = y.flags.writeable = False
    X_before = X.copy()
    for machine in MACHINES:
        clone(machine).fit(X, y).add_labels([50], [0])
    np.testing.assert_array_equal(X, X_before)


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.uint8])
def test_memory_does_not_grow_with_the_rows(kind, monkeypatch):
    monkeypatch.setattr(pvm, "kmeans_rows", lambda k: 1000)
    monkeypatch.setenv("LAPWING_NUM_THREADS", "1")  # or the peak depends on which tiles overlap
    rng = np.random.default_rng(0)
    X = rng.integers(0, 100, size=(60_000, 64)).astype(kind)
    y = np.where(np.arange(60_000) < 20, np.arange(60_000) % 2, -1)
    machine = PVMClassifier(n_prototypes=5)

    def peak(n):
        tracemalloc.start()
        try:
            clone(machine).fit(X[:n], y[:n])
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(20_000)
    few, many = peak(20_000), peak(60_000)
    # Labels, weights and classes found; a row of uint8 has 64 bytes, of float64 512.
    assert many - few < 60 * 40_000
    assert few < 10e6 + 60 * 20_000


@pytest.mark.parametrize("threads", ["1", "2", "16"])
def test_memory_stays_within_its_limit(threads, monkeypatch):
    monkeypatch.setenv("LAPWING_NUM_THREADS", threads)
    rng = np.random.default_rng(0)
    for n, d, k in ((3000, 3, 300), (4000, 300, 20)):
        X, y = rng.normal(size=(n, d)), np.where(np.arange(n) < 20, np.arange(n) % 2, -1)
        machine = PVMClassifier(n_prototypes=k, reg_unlabeled=0.1)
        tracemalloc.start()
        try:
            clone(machine).fit(X, y)
            used = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        with pytest.raises(MemoryError, match="memory_limit allows"):
            machine.set_params(memory_limit=used // 3).fit(X, y)


def test_memory_limit():
    X, y, _ = blobs()
    with pytest.raises(
        MemoryError, match=r"60 prototypes .* needs .* memory_limit allows 10 kB: .*"
    ):
        PVMClassifier(n_prototypes=60, memory_limit="10kB").fit(X, y)
    with pytest.raises(MemoryError, match="lower n_prototypes"):
        PVMClassifier(n_prototypes=60, memory_limit="10kB").fit_blocks([(X, y)])
    with pytest.raises(ValueError, match="is not a size"):
        PVMClassifier(memory_limit="much").fit(X, y)
    PVMClassifier(n_prototypes=60, memory_limit="1GB").fit(X, y)


# ---------------------------------------------------------------- awkward rows


def fewest(n, n_ones=2):
    y = np.full(n, -1)
    y[: n_ones + 1] = 1
    y[0] = 0
    return y


@every_loss
@pytest.mark.parametrize("n", [3, 4, 7, 16, 60, 119])
@pytest.mark.parametrize("reg_unlabeled", [0.0, 0.1])
def test_all_rows_equal(loss, n, reg_unlabeled):
    X, y = np.ones((n, 2)), fewest(n)
    machine = PVMClassifier(loss, reg_unlabeled=reg_unlabeled).fit(X, y)
    values = machine.decision_function(np.vstack([X, 5 * X]))
    assert np.ptp(values) < 1e-15
    assert values[0] > 0  # two labels against one
    if loss == "squared" and reg_unlabeled == 0:
        np.testing.assert_allclose(values, 1 / 3, rtol=1e-4)


@every_loss
@pytest.mark.parametrize("n", [3, 4, 7, 16, 60, 119])
@every_choice
def test_one_prototype(loss, n, normalize):
    X = np.random.default_rng(n).normal(size=(n, 2))
    machine = PVMClassifier(loss, n_prototypes=1, normalize_rows=normalize).fit(X, fewest(n))
    values = machine.decision_function(X)
    assert np.isfinite(values).all()
    if normalize:
        np.testing.assert_allclose(values, 1 / 3 if loss == "squared" else 1.0, rtol=1e-3)


@every_machine
@every_choice
@pytest.mark.parametrize(
    "trouble",
    ["duplicates", "constant column", "all equal", "scales", "tiny", "tiniest", "large", "outlier"],
)
def test_awkward_rows_stay_finite(machine, normalize, trouble):
    X, y, _ = blobs(n=60)
    if trouble == "duplicates":
        X = np.repeat(X[:6], 10, axis=0)
    elif trouble == "constant column":
        X[:, 1] = 3.0
    elif trouble == "all equal":
        X = np.full((60, 4), 0.1)
    elif trouble == "scales":
        X[:, 0] *= 1e8
        X[:, 1] *= 1e-8
    elif trouble == "tiny":
        X *= 1e-100
    elif trouble == "tiniest":
        X *= 1e-160
    elif trouble == "large":
        X *= 1e100
    else:
        X[-1] = 1e9
    machine = clone(machine).set_params(normalize_rows=normalize).fit(X, y)
    assert np.isfinite(decide(machine, X)).all()
    assert np.isfinite(machine.coef_).all()
    if hasattr(machine, "predict_proba"):
        assert np.isfinite(machine.predict_proba(X)).all()


@pytest.mark.parametrize("far", [1e4, 1e7, 1e9])
@pytest.mark.parametrize("gamma", ["local", "median", 1.0])
@every_loss
def test_one_row_far_away_does_not_spoil_the_others(far, gamma, loss):
    X, y, truth = blobs()
    machine = PVMClassifier(loss, gamma=gamma, n_prototypes=20)
    without = (machine.fit(X, y).transduction_ == truth).mean()
    X, y = np.vstack([X, np.full((1, 3), far)]), np.append(y, -1)
    assert (machine.fit(X, y).transduction_[:200] == truth).mean() > without - 0.1 > 0.75


def test_more_prototypes_than_distinct_rows():
    X, y, _ = blobs(n=60)
    X = np.repeat(X[:12], 5, axis=0)
    y = np.repeat(y[:12], 5)
    machine = PVMClassifier(n_prototypes=40, n_landmarks=30).fit(X, y)
    np.testing.assert_array_equal(machine.prototypes_, np.unique(X, axis=0))
    np.testing.assert_array_equal(machine.landmarks_, np.unique(X, axis=0))
    np.testing.assert_array_equal(machine.predict(X), y)


@every_machine
@pytest.mark.parametrize("distance", [1e2, 1e5, 1e12, 1e100])
def test_far_away_the_values_are_bounded(machine, distance):
    X, y, _ = blobs()
    machine = clone(machine).fit(X, y)
    rng = np.random.default_rng(0)
    far = rng.normal(size=(50, 3)) * distance
    values = decide(machine, far)
    assert np.isfinite(values).all()
    assert np.abs(values).max() <= np.abs(machine.coef_).max() * (1 + 1e-9)
    zero = clone(machine).set_params(normalize_rows=False).fit(X, y)
    np.testing.assert_allclose(decide(zero, far + np.sign(far) * 1e3), 0.0, atol=1e-12)
    with pytest.raises(ValueError, match="squares overflow"):
        machine.predict(X * 1e200)


@every_machine
@pytest.mark.parametrize("kernel", ["linear", "poly", "cosine"])
def test_kernels_of_positive_rows(machine, kernel):
    X, y, _ = blobs()
    X = np.abs(X) + 0.1
    for normalize in (True, False):
        fitted = clone(machine).set_params(kernel=kernel, normalize_rows=normalize).fit(X, y)
        assert np.isfinite(decide(fitted, X)).all()
    with pytest.raises(ValueError, match=r"sum to zero or less.*normalize_rows=False"):
        clone(machine).set_params(kernel=kernel).fit(X, y).predict(-X)


@every_machine
@pytest.mark.parametrize("kernel", ["linear", "poly", "cosine"])
@pytest.mark.parametrize("where", ["everywhere", "among unlabelled rows"])
@pytest.mark.parametrize("reg_unlabeled", [0.0, 0.1])
def test_kernels_of_rows_of_both_signs(machine, kernel, where, reg_unlabeled):
    X, y, _ = blobs()
    X = X - X.mean(axis=0) if where == "everywhere" else np.where((y < 0)[:, None], X - 3, X + 3)
    machine = clone(machine).set_params(kernel=kernel, reg_unlabeled=reg_unlabeled)
    with pytest.raises(ValueError, match=r"sum to zero or less.*normalize_rows=False"):
        machine.fit(X, y)
    machine.set_params(normalize_rows=False).fit(X, y)
    assert np.isfinite(decide(machine, X)).all()


def test_kernel_of_the_user():
    X, y, _ = blobs()
    plain = PVMClassifier(n_prototypes=12, gamma=GAMMA).fit(X, y)
    own = PVMClassifier(n_prototypes=12, kernel=lambda A, B: gaussian(A, B, GAMMA)).fit(X, y)
    np.testing.assert_allclose(own.decision_function(X), plain.decision_function(X), atol=1e-8)
    with pytest.raises(ValueError, match="NaN or infinite"):
        PVMClassifier(kernel=lambda A, B: np.full((len(A), len(B)), np.nan)).fit(X, y)


@every_choice
@every_loss
def test_widths_at_both_ends(normalize, loss):
    X, y, _ = blobs()
    for gamma in (1e-30, 1e-9, 1e-3, 1e3, 1e30):
        machine = PVMClassifier(loss, gamma=gamma, normalize_rows=normalize).fit(X, y)
        assert np.isfinite(machine.decision_function(X)).all()


@every_loss
@pytest.mark.parametrize("C", [1e-30, 1e-12, 1e12, 1e30])
def test_weights_of_labels_at_both_ends(loss, C):
    X, y, _ = blobs()
    machine = PVMClassifier(loss, reg_labeled=C).fit(X, y)
    assert np.isfinite(machine.decision_function(X)).all()
    assert np.isfinite(machine.predict_proba(X)).all()


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("loss", "squared_hinge"),
        ("n_prototypes", 0),
        ("n_prototypes", 2.5),
        ("n_prototypes", "many"),
        ("n_landmarks", 0),
        ("n_landmarks", "auto"),
        ("gamma", -1.0),
        ("gamma", "global"),
        ("reg_labeled", 0.0),
        ("reg_labeled", "auto"),
        ("reg_labeled", np.nan),
        ("reg_unlabeled", -1.0),
        ("reg_unlabeled", "scale"),
        ("labeled_weight", 0.0),
    ],
)
def test_bad_parameters_are_refused_by_name(name, value):
    X, y, _ = blobs()
    with pytest.raises(ValueError, match=f"^{name} must "):
        PVMClassifier(**{name: value}).fit(X, y)
    with pytest.raises(ValueError, match=f"^{name} must "):
        PVMClassifier(**{name: value}).fit_blocks([(X, y)])


def test_gamma_is_refused_with_all_that_it_may_be():
    X, y, _ = blobs()
    with pytest.raises(ValueError, match="'local'"):
        PVMClassifier(gamma="global").fit(X, y)


def test_kernels_without_rows_or_names_are_refused():
    X, y, _ = blobs()
    with pytest.raises(ValueError, match="kernel='precomputed' has no values for prototypes"):
        PVMClassifier(kernel="precomputed").fit(X @ X.T, y)
    with pytest.raises(ValueError, match="kernel 'gaussian' is unknown"):
        PVMClassifier(kernel="gaussian").fit(X, y)


@pytest.mark.parametrize("machine", MACHINES[:2], ids=["squared", "hinge"])
def test_bad_labels_are_refused(machine):
    X, y, truth = blobs()
    none = np.full(200, -1)
    for fit in (machine.fit, lambda X, y: machine.fit_blocks(cut(X, y, [50, 90]))):
        with pytest.raises(ValueError, match="no row is labelled"):
            fit(X, none)
        with pytest.raises(ValueError, match="only one class"):
            fit(X, np.where(y == 1, 1, -1))
        with pytest.raises(ValueError, match=r"exactly -1 and \+1"):
            fit(X, np.where(truth == 1, 1, -1))
    with pytest.raises(ValueError, match="no row is labelled"):
        machine.fit_blocks([(X, None), (X, None)])
    with pytest.raises(ValueError, match="X has 200 rows and y has 100"):
        machine.fit(X, y[:100])
    with pytest.raises(ValueError, match="fewer than two classes"):
        machine.fit(X, y, sample_weight=np.where(y == 1, 1.0, 0.0))
    with pytest.raises(ValueError, match="not be negative"):
        machine.fit(X, y, sample_weight=-np.ones(200))


def test_bad_targets_are_refused():
    X, y, _ = blobs()
    with pytest.raises(ValueError, match="no row has a target"):
        PVMRegressor().fit(X, np.full(200, np.nan))
    with pytest.raises(ValueError, match="no row has a target"):
        PVMRegressor().fit_blocks([(X, None)])
    with pytest.raises(ValueError, match="y contains infinity"):
        PVMRegressor().fit_blocks([(X, np.full(200, np.inf))])
    with pytest.raises(ValueError, match="y must hold numbers"):
        PVMRegressor().fit(X, np.where(y == 1, "a", "b"))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_bad_rows_are_refused(bad, form):
    X, y, _ = blobs()
    broken = X.copy()
    broken[3, 1] = bad
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        PVMClassifier().fit(form(broken), y)
    with pytest.raises(ValueError, match=r"block 1: .*(NaN|infinity)"):
        PVMClassifier().fit_blocks([(form(X), y), (form(broken), None)])
    with pytest.raises(ValueError, match=r"block 1: .*squares overflow"):
        PVMClassifier().fit_blocks([(form(X), y), (form(X * 1e200), None)])
    machine = PVMClassifier(n_prototypes=5).fit(form(X), y)
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        machine.predict(form(broken))
    with pytest.raises(ValueError, match="2 features"):
        machine.predict(form(X[:, :2]))


def test_bad_blocks_are_refused():
    X, y, _ = blobs()
    machine = PVMClassifier(n_prototypes=5)
    with pytest.raises(ValueError, match=r"block 1: X has 2 features.* expecting 3"):
        machine.fit_blocks([(X, y), (X[:, :2], None)])
    with pytest.raises(ValueError, match="block 1: X has 200 rows and y has 100"):
        machine.fit_blocks([(X, y), (X, y[:100])])
    for empty in ([], [(X[:0], None)], [(X[:0], None), (X[:1], y[:1])], iter([])):
        with pytest.raises(ValueError, match=r"[01] rows in all blocks: there is nothing to fit"):
            machine.fit_blocks(empty)
    for wrong in ([X], [[X, y]], (X, y), X, [(X, y, y)]):
        with pytest.raises(TypeError, match=r"block \d must be a tuple \(X, y\)"):
            machine.fit_blocks(wrong)
    with pytest.raises(TypeError, match="blocks must be a list"):
        machine.fit_blocks(None)


@pytest.mark.parametrize("reading", [2, 3, 4, 5])
@pytest.mark.parametrize("change", ["fewer", "more", "other order", "none"])
def test_blocks_that_change_are_refused(reading, change):
    X, y, _ = blobs()
    readings = []

    def blocks():
        readings.append(1)
        parts = cut(X, y, [60, 130])
        if len(readings) == reading:
            parts = {
                "fewer": parts[:2],
                "more": [*parts, parts[0]],
                "other order": parts[::-1],
                "none": [],
            }[change]
        return parts

    with pytest.raises(ValueError, match="must be the same at every reading"):
        PVMClassifier(n_prototypes=5).fit_blocks(blocks)


def test_a_function_that_returns_one_iterator_is_refused():
    X, y, _ = blobs()
    stream = iter(cut(X, y, [60, 130]))
    with pytest.raises(ValueError, match="block 0 was not the same"):
        PVMClassifier(n_prototypes=5).fit_blocks(lambda: stream)


# ---------------------------------------------------------------- labels


@pytest.mark.parametrize("mark", [None, np.nan, "unknown", pd.NA])
def test_words_and_marks(mark):
    X, y, _ = blobs(n_classes=3)
    words = np.array([mark if v < 0 else "xyz"[v] for v in y], dtype=object)
    machine = PVMClassifier(unlabeled="unknown", n_prototypes=12)
    numbers = PVMClassifier(n_prototypes=12).fit(X, y)
    for fitted in (clone(machine).fit(X, words), clone(machine).fit_blocks(cut(X, words, [10]))):
        np.testing.assert_array_equal(fitted.classes_, ["x", "y", "z"])
        np.testing.assert_array_equal(
            fitted.transduction_, np.array(list("xyz"))[numbers.transduction_]
        )


@pytest.mark.parametrize(
    "rest",
    [
        np.full(150, np.nan),
        [np.nan] * 150,
        [None] * 150,
        None,
        pd.Series([pd.NA] * 150),
        np.full(150, -1),
    ],
    ids=["nan", "list of nan", "list of None", "None", "NA", "-1"],
)
@pytest.mark.parametrize("first", ["words", "numbers", "long words"])
def test_other_marks_in_other_blocks_are_no_class(first, rest):
    X, _, truth = blobs()
    classes = {"words": ["a", "b"], "numbers": [0, 1], "long words": ["alpha", "be"]}[first]
    labels = np.array(classes)[truth[:50]]
    for order in (1, -1):
        blocks = [(X[:50], labels), (X[50:], rest)][::order]
        machine = PVMClassifier(n_prototypes=10).fit_blocks(blocks)
        assert machine.classes_.tolist() == classes
        assert set(machine.transduction_.tolist()) == set(classes)


def test_classes_in_different_blocks():
    X, _, truth = blobs(n_classes=3)
    blocks = [(X[truth == c], np.full((truth == c).sum(), "xyz"[c] * (c + 1))) for c in (2, 0, 1)]
    machine = PVMClassifier(n_prototypes=10).fit_blocks(blocks)
    assert machine.classes_.tolist() == ["x", "yy", "zzz"]
    assert machine.score(X, np.array(["x", "yy", "zzz"])[truth]) > 0.85
    with pytest.raises(ValueError, match="labels mix types"):
        PVMClassifier().fit_blocks([(X[:50], truth[:50]), (X[50:], np.full(150, "b"))])


def test_targets_in_blocks():
    X, y, _ = blobs()
    targets = np.where(y < 0, np.nan, 0.5 * y + 0.1)
    plain = PVMRegressor(n_prototypes=10).fit(X, targets)
    blocks = [(X[:30], targets[:30].tolist()), (X[30:90], None), (X[90:], [None] * 110)]
    other = PVMRegressor(n_prototypes=10).fit_blocks(blocks)
    np.testing.assert_allclose(other.predict(X), plain.predict(X), atol=1e-10)


# ---------------------------------------------------------------- life


@every_machine
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, np.float32])
@pytest.mark.parametrize("reg_unlabeled", [0.0, 0.1])
def test_added_labels_are_those_of_a_new_fit(machine, form, reg_unlabeled):
    X, y, truth = blobs()
    machine = clone(machine).set_params(n_prototypes=12, reg_unlabeled=reg_unlabeled)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(X))
    surprising = 1 - truth[[50, 51, 80]]  # so that they change the model
    labels = y.copy()
    labels[[50, 51, 80]] = surprising
    grown = clone(machine).fit(form(X), y, sample_weight=weights)
    before = decide(grown, form(X))
    grown.add_labels([50, 51, 80], surprising)
    new = clone(machine).fit(form(X), labels, sample_weight=weights)
    np.testing.assert_allclose(decide(grown, form(X)), decide(new, form(X)), atol=1e-9)
    np.testing.assert_allclose(grown.transduction_, new.transduction_, atol=1e-9)
    assert not np.allclose(before, decide(new, form(X)), atol=1e-6)
    assert grown.reg_labeled_ == pytest.approx(new.reg_labeled_)


def test_an_added_label_may_be_a_new_class():
    X, y, _ = blobs()
    machine = PVMClassifier(n_prototypes=12).fit(X, y).add_labels([100, 102], [2, 2])
    assert machine.classes_.tolist() == [0, 1, 2]
    assert machine.decision_function(X).shape == (200, 3)


def test_rows_are_needed_for_added_labels():
    X, y, _ = blobs()
    machine = PVMClassifier(n_prototypes=12)
    message = "the rows are not kept by fit_blocks, nor in a copy or a pickle: fit again"
    for fitted in (
        clone(machine).fit_blocks([(X, y)]),
        clone(machine).fit(X, y).fit_blocks([(X, y)]),
        pickle.loads(pickle.dumps(clone(machine).fit(X, y))),
    ):
        with pytest.raises(ValueError, match=message):
            fitted.add_labels([100], [1])
        assert np.isfinite(fitted.decision_function(X)).all()


@every_machine
def test_a_pickle_is_small_and_predicts_the_same(machine):
    X, y, _ = blobs(n=5000, d=40)
    fitted = clone(machine).set_params(n_prototypes=200).fit(X, y)
    stored = pickle.dumps(fitted)
    # Prototypes of 40 numbers, twice for the kernel, and labels: no rows, no system.
    assert len(stored) < 3 * 200 * 40 * 8 + 40 * 5000
    again = pickle.loads(stored)
    np.testing.assert_array_equal(decide(again, X), decide(fitted, X))
    np.testing.assert_array_equal(again.transduction_, fitted.transduction_)
    if hasattr(fitted, "predict_proba"):
        np.testing.assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))
    fitted.add_labels([50], [0])  # the first still has its rows


def test_clone_and_parameters():
    machine = PVMClassifier("hinge", n_prototypes=7, labeled_weight=3.0, gamma=0.2)
    copy = clone(machine)
    assert copy.get_params() == machine.get_params()
    X, y, _ = blobs()
    assert not hasattr(clone(machine.fit(X, y)), "coef_")
    assert machine.get_params() == copy.get_params()


def test_tables():
    X, y, _ = blobs()
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    machine = PVMClassifier(n_prototypes=12).fit(table, pd.Series(y))
    plain = PVMClassifier(n_prototypes=12).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(
            machine.decision_function(table), plain.decision_function(X), atol=1e-9
        )
        machine.add_labels([60], [0])
        machine.predict(table)
    with pytest.raises(ValueError, match="feature names"):
        machine.predict(table[["b", "a", "c"]])


@every_machine
def test_progress_goes_to_the_error_stream(machine, capfd):
    X, y, _ = blobs(n=500)
    quiet = clone(machine).fit(X, y)
    quiet.predict(X)
    assert capfd.readouterr() == ("", "")
    loud = clone(machine).set_params(verbose=1).fit(X, y)
    out, err = capfd.readouterr()
    assert out == ""
    name = type(machine).__name__
    for title in ("degrees", "smoothness"):
        assert f"{name}: {title} 100 %" in err
    assert err.endswith("\n")
    assert err.count("\n") == 3
    loud.predict(X)
    assert capfd.readouterr() == ("", "")
    clone(loud).fit_blocks(cut(X, y, [100, 100, 400]))
    out, err = capfd.readouterr()
    assert out == ""
    assert err.count(" 100 % ") == 3
    np.testing.assert_array_equal(decide(loud, X), decide(quiet, X))


def test_same_state_same_model_other_state_another():
    X, y, _ = blobs(n=500)
    first = PVMClassifier(n_prototypes=10, random_state=3).fit(X, y)
    again = PVMClassifier(n_prototypes=10, random_state=3).fit(X, y)
    np.testing.assert_array_equal(first.coef_, again.coef_)
    other = PVMClassifier(n_prototypes=10, random_state=4).fit(X, y)
    assert not np.array_equal(first.prototypes_, other.prototypes_)
    PVMClassifier(n_prototypes=10, random_state=np.random.RandomState(0)).fit(X, y)
    PVMClassifier(n_prototypes=10, random_state=None).fit(X, y)


def test_wide_sparse_rows_are_not_counted_as_dense():
    X = sp.random(300, 200_000, density=1e-4, format="csr", random_state=0)
    y = np.full(300, -1)
    y[:6] = [0, 1, 0, 1, 0, 1]
    PVMClassifier(n_prototypes=3, memory_limit="200MB").fit(X, y)  # dense they are 480 MB
    with pytest.raises(MemoryError, match="lower"):
        PVMClassifier(n_prototypes=3, memory_limit="10MB").fit(X, y)


def test_entries_that_are_stored_in_parts_are_added_up():
    X, y, _ = blobs()
    whole = sp.csr_matrix(X)
    parts = sp.csr_matrix(
        (
            np.repeat(whole.data, 2) * np.tile([0.25, 0.75], whole.nnz),
            np.repeat(whole.indices, 2),
            2 * whole.indptr,
        ),
        shape=X.shape,
    )
    assert parts.nnz == 2 * whole.nnz
    expected = PVMClassifier(n_prototypes=20).fit(whole, y).decision_function(whole)
    found = PVMClassifier(n_prototypes=20).fit(parts, y).decision_function(parts)
    np.testing.assert_allclose(found, expected, atol=1e-8)
