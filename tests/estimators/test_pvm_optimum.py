"""PVMClassifier and PVMRegressor against dense algebra and a convex solver."""

import clarabel
import numpy as np
import pytest
from sklearn.base import clone

from helpers import reference
from helpers.data import gaussian, one_vs_rest
from helpers.pvm import GAMMA, blobs, decide, dense_terms, every_choice
from lapwing import PVMClassifier, PVMRegressor


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


def watched(model):
    """A copy of the model that keeps the values of labels left out."""

    class Watched(type(model)):
        def _set_fitted(self, rows, targets, solution, **more):
            more |= {"index_": targets.index, "held_out_": solution.held_out}
            return super()._set_fitted(rows, targets, solution, **more)

    return Watched(**model.get_params())


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
    model = PVMClassifier(n_prototypes=15, n_landmarks=n_landmarks, gamma=GAMMA, reg_labeled=C)
    model.set_params(reg_unlabeled=reg_unlabeled, normalize_rows=normalize)
    model.fit(X, y, sample_weight=weights)
    H, A, _ = dense_terms(model, X)
    A = A + reg_unlabeled * H[20:].T @ H[20:]
    Y, W = one_vs_rest(y[:20], range(n_classes)), np.diag(weights[:20])
    assert np.linalg.eigvalsh(A)[0] > -1e-9 * np.abs(A).max()
    left = (A + C * H[:20].T @ W @ H[:20]) @ model.coef_.T
    right = C * H[:20].T @ W @ Y
    np.testing.assert_allclose(left, right, atol=1e-6 * np.abs(right).max())
    coef = least_squares(A, H[:20], C * weights[:20], Y)
    values = H @ coef
    np.testing.assert_allclose(
        decide(model, X), values[:, 0] if n_classes == 2 else values, atol=1e-6
    )
    found = (values[:, 0] > 0) if n_classes == 2 else values.argmax(axis=1)
    np.testing.assert_array_equal(model.transduction_, np.where(y < 0, found, y))


@pytest.mark.parametrize("shift", [0.0, 293.0])
@pytest.mark.parametrize("strength", [1e-4, 1e-2, 1.0, 1e2, 1e4, 1e8])
@every_choice
def test_regressor_minimises_its_objective_for_weak_and_strong_labels(strength, normalize, shift):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(300, 2))
    y = np.where(np.arange(300) < 30, np.sin(5 * X[:, 0]) + X[:, 1], np.nan) + shift
    model = PVMRegressor(n_prototypes=25, gamma=40.0, normalize_rows=normalize).fit(X, y)
    C = strength * model.reg_labeled_
    model.set_params(reg_labeled=C).fit(X, y)
    H, A, _ = dense_terms(model, X)
    level = y[:30].mean()
    coef = least_squares(A, H[:30], C, y[:30, None] - level)[:, 0]

    def objective(f):
        return f @ A @ f + C * ((y[:30] - level - H[:30] @ f) ** 2).sum()

    assert objective(model.coef_[0]) <= objective(coef) * (1 + 1e-6)
    assert model.intercept_ == pytest.approx([level], abs=1e-12)
    np.testing.assert_allclose(model.predict(X), level + H @ coef, atol=1e-5)
    np.testing.assert_allclose(model.transduction_[:30], y[:30])
    np.testing.assert_allclose(model.transduction_[30:], model.predict(X[30:]))


@every_choice
@pytest.mark.parametrize("reg_unlabeled", [0.0, 0.2])
def test_all_rows_as_prototypes_are_the_full_method(normalize, reg_unlabeled):
    X, y, _ = blobs(n=60, n_labelled=10)
    model = PVMClassifier(n_prototypes=60, gamma=3.0, reg_labeled=5.0)
    model.set_params(normalize_rows=normalize, reg_unlabeled=reg_unlabeled).fit(X, y)
    K = gaussian(X, X, 3.0)
    assert np.linalg.cond(K) < 1e6
    labelled = (y >= 0).astype(float)
    # K, divided by its sums or not, reaches every vector f: the minimum over all f.
    system = np.diag(K.sum(axis=1)) - K + np.diag(5.0 * labelled + reg_unlabeled * (1 - labelled))
    f = np.linalg.solve(system, 5.0 * labelled * np.where(y == 1, 1.0, -1.0))
    np.testing.assert_allclose(model.decision_function(X), f, atol=1e-7)
    assert model.prototypes_.shape == (60, 3)


@pytest.mark.parametrize("n_classes", [2, 3])
@every_choice
def test_left_out_labels_are_those_of_refits(n_classes, normalize):
    X, y, _ = blobs(n=120, n_classes=n_classes, n_labelled=12)
    model = PVMClassifier(n_prototypes=12, gamma=GAMMA, reg_labeled=30.0)
    model = watched(model.set_params(normalize_rows=normalize))
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(X))
    model.fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(model.index_, np.arange(12))
    for i in range(12):
        without = np.where(np.arange(120) == i, -1, y)
        refit = clone(model).fit(X, without, sample_weight=weights)
        np.testing.assert_allclose(
            model.held_out_[i], refit.decision_function(X[i : i + 1])[0], atol=1e-6
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
    model = PVMClassifier("hinge", n_prototypes=10, gamma=GAMMA, reg_labeled=C)
    model.set_params(reg_unlabeled=0.05, normalize_rows=normalize)
    model.fit(X, y, sample_weight=weights)
    H, A, _ = dense_terms(model, X)
    A = A + 0.05 * H[24:].T @ H[24:]
    assert np.linalg.eigvalsh(A)[0] > 0
    Y = one_vs_rest(y[:24], range(n_classes))
    values = np.column_stack(
        [H @ hinge_minimum(A, H[:24], column, C * weights[:24]) for column in Y.T]
    )
    losses = np.maximum(1 - Y * values[:24], 0)
    assert (losses > 0.01).any()  # or the hinge plays no part
    assert (losses < 0.99).any()
    np.testing.assert_allclose(
        model.decision_function(X), values[:, 0] if n_classes == 2 else values, atol=2e-6
    )


@pytest.mark.parametrize("strength", [1e-3, 1.0, 1e3])
def test_hinge_loss_with_free_constants_reaches_the_least_objective(strength):
    X, y, _ = blobs(n=120, n_labelled=24, gap=1.2)
    model = PVMClassifier("hinge", n_prototypes=10, gamma=GAMMA).fit(X, y)
    C = strength * model.reg_labeled_
    model.set_params(reg_labeled=C).fit(X, y)
    H, A, _ = dense_terms(model, X)
    Y = np.where(y[:24] == 1, 1.0, -1.0)

    def objective(f):
        return 0.5 * f @ A @ f + C * np.maximum(1 - Y * (H[:24] @ f), 0).sum()

    best = objective(hinge_minimum((A + A.T) / 2 + 1e-12 * np.eye(10), H[:24], Y, np.full(24, C)))
    assert objective(model.coef_[0]) <= best * (1 + 1e-6)
