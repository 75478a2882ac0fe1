"""PVMClassifier and PVMRegressor: rows at the edge and bad input."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.cluster import MiniBatchKMeans

from helpers.data import fit_quietly, gaussian
from helpers.pvm import GAMMA, MODELS, blobs, cut, decide, every_choice, every_loss, every_model
from lapwing import PVMClassifier, PVMRegressor
from lapwing.estimators import pvm

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
    model = PVMClassifier(loss, reg_unlabeled=reg_unlabeled).fit(X, y)
    values = model.decision_function(np.vstack([X, 5 * X]))
    assert np.ptp(values) < 1e-15
    assert values[0] > 0  # two labels against one
    if loss == "squared" and reg_unlabeled == 0:
        np.testing.assert_allclose(values, 1 / 3, rtol=1e-4)


@pytest.mark.parametrize("model", [PVMClassifier(), PVMClassifier("hinge"), PVMRegressor()])
def test_prototypes_that_no_label_reaches_are_warned_of(model):
    X, y, _ = blobs(n=60)
    far = np.vstack([X, X[:20] + 1e3])
    labels = np.append(y, np.full(20, -1))
    model.set_params(unlabeled=-1)
    with pytest.warns(UserWarning, match=r"2\d of 80 prototypes are hardly connected to a label"):
        model.fit(far, labels)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        clone(model).fit(X, y)
        clone(model).set_params(reg_unlabeled=0.1).fit(far, labels)


def test_targets_whose_errors_are_multiplied_are_warned_of(monkeypatch):
    """A faint connection to a group of rows carries only small differences of targets.

    Few prototypes are placed so that there is one: these are.
    """

    def centres(X, m, rng, weights):
        means = MiniBatchKMeans(m, n_init=1, batch_size=1024, random_state=int(rng.integers(2**31)))
        return means.fit(X).cluster_centers_

    monkeypatch.setattr(pvm, "kmeans_landmarks", centres)
    rng = np.random.default_rng(4)
    X = rng.uniform(-1.0, 1.0, size=(120, 3))
    y = np.where(np.arange(120) < 60, 2.0 * X[:, 0] + np.sin(2.0 * X[:, 0]), np.nan)
    with pytest.warns(UserWarning, match="1 of 99 prototypes are hardly connected"):
        model = PVMRegressor().fit(X, y)
    errors = 0.01 * np.random.default_rng(1).normal(size=120)
    noisy = fit_quietly(PVMRegressor(), X, y + errors)
    assert np.abs(noisy.predict(X) - model.predict(X)).max() > 0.1


@every_loss
@pytest.mark.parametrize("n", [3, 4, 7, 16, 60, 119])
@every_choice
def test_one_prototype(loss, n, normalize):
    X = np.random.default_rng(n).normal(size=(n, 2))
    model = PVMClassifier(loss, n_prototypes=1, normalize_rows=normalize).fit(X, fewest(n))
    values = model.decision_function(X)
    assert np.isfinite(values).all()
    if normalize:
        np.testing.assert_allclose(values, 1 / 3 if loss == "squared" else 1.0, rtol=1e-3)


@every_model
@every_choice
@pytest.mark.parametrize(
    "trouble",
    ["duplicates", "constant column", "all equal", "scales", "tiny", "tiniest", "large", "outlier"],
)
def test_awkward_rows_stay_finite(model, normalize, trouble):
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
    model = clone(model).set_params(normalize_rows=normalize).fit(X, y)
    assert np.isfinite(decide(model, X)).all()
    assert np.isfinite(model.coef_).all()
    if hasattr(model, "predict_proba"):
        assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize("far", [1e4, 1e7, 1e9])
@pytest.mark.parametrize("gamma", ["local", "median", 1.0])
@every_loss
def test_one_row_far_away_does_not_spoil_the_others(far, gamma, loss):
    X, y, truth = blobs()
    model = PVMClassifier(loss, gamma=gamma, n_prototypes=20)
    without = (model.fit(X, y).transduction_ == truth).mean()
    X, y = np.vstack([X, np.full((1, 3), far)]), np.append(y, -1)
    assert (model.fit(X, y).transduction_[:200] == truth).mean() > without - 0.1 > 0.75


def test_more_prototypes_than_distinct_rows():
    X, y, _ = blobs(n=60)
    X = np.repeat(X[:12], 5, axis=0)
    y = np.repeat(y[:12], 5)
    model = PVMClassifier(n_prototypes=40, n_landmarks=30).fit(X, y)
    np.testing.assert_array_equal(model.prototypes_, np.unique(X, axis=0))
    np.testing.assert_array_equal(model.landmarks_, np.unique(X, axis=0))
    np.testing.assert_array_equal(model.predict(X), y)


@every_model
@pytest.mark.parametrize("distance", [1e2, 1e5, 1e12, 1e100])
def test_far_away_the_values_are_bounded(model, distance):
    X, y, _ = blobs()
    model = clone(model).fit(X, y)
    rng = np.random.default_rng(0)
    far = rng.normal(size=(50, 3)) * distance
    values, level = decide(model, far), getattr(model, "intercept_", 0.0)
    assert np.isfinite(values).all()
    assert np.abs(values - level).max() <= np.abs(model.coef_).max() * (1 + 1e-9)
    limit = clone(model).set_params(normalize_rows=False).fit(X, y)
    level = y[y != -1].mean() if model.__class__ is PVMRegressor else 0.0
    np.testing.assert_allclose(decide(limit, far + np.sign(far) * 1e3), level, atol=1e-12)
    with pytest.raises(ValueError, match="squares overflow"):
        model.predict(X * 1e200)


@every_model
@pytest.mark.parametrize("kernel", ["linear", "poly", "cosine"])
def test_kernels_of_positive_rows(model, kernel):
    X, y, _ = blobs()
    X = np.abs(X) + 0.1
    for normalize in (True, False):
        fitted = clone(model).set_params(kernel=kernel, normalize_rows=normalize).fit(X, y)
        assert np.isfinite(decide(fitted, X)).all()
    with pytest.raises(ValueError, match=r"sum to zero or less.*normalize_rows=False"):
        clone(model).set_params(kernel=kernel).fit(X, y).predict(-X)


@every_model
@pytest.mark.parametrize("kernel", ["linear", "poly", "cosine"])
@pytest.mark.parametrize("where", ["everywhere", "among unlabelled rows"])
@pytest.mark.parametrize("reg_unlabeled", [0.0, 0.1])
def test_kernels_of_rows_of_both_signs(model, kernel, where, reg_unlabeled):
    X, y, _ = blobs()
    X = X - X.mean(axis=0) if where == "everywhere" else np.where((y < 0)[:, None], X - 3, X + 3)
    model = clone(model).set_params(kernel=kernel, reg_unlabeled=reg_unlabeled)
    with pytest.raises(ValueError, match=r"sum to zero or less.*normalize_rows=False"):
        model.fit(X, y)
    model.set_params(normalize_rows=False).fit(X, y)
    assert np.isfinite(decide(model, X)).all()


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
        model = PVMClassifier(loss, gamma=gamma, normalize_rows=normalize).fit(X, y)
        assert np.isfinite(model.decision_function(X)).all()


@every_loss
@pytest.mark.parametrize("C", [1e-30, 1e-12, 1e12, 1e30])
def test_weights_of_labels_at_both_ends(loss, C):
    X, y, _ = blobs()
    model = PVMClassifier(loss, reg_labeled=C).fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()
    assert np.isfinite(model.predict_proba(X)).all()


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
        PVMClassifier(**{name: value}).fit([(X, y)])


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


@pytest.mark.parametrize("model", MODELS[:2], ids=["squared", "hinge"])
def test_bad_labels_are_refused(model):
    X, y, truth = blobs()
    none = np.full(200, -1)
    for fit in (model.fit, lambda X, y: model.fit(cut(X, y, [50, 90]))):
        with pytest.raises(ValueError, match="no row is labelled"):
            fit(X, none)
        with pytest.raises(ValueError, match="only one class"):
            fit(X, np.where(y == 1, 1, -1))
        with pytest.raises(ValueError, match=r"exactly -1 and \+1|if -1 is the other class"):
            fit(X, np.where(truth == 1, 1, -1))
    with pytest.raises(ValueError, match="requires y to be passed"):
        model.fit([(X, None), (X, None)])
    with pytest.raises(ValueError, match="X has 200 rows and y has 100"):
        model.fit(X, y[:100])
    with pytest.raises(ValueError, match="fewer than two classes"):
        model.fit(X, y, sample_weight=np.where(y == 1, 1.0, 0.0))
    with pytest.raises(ValueError, match="not be negative"):
        model.fit(X, y, sample_weight=-np.ones(200))


def test_bad_targets_are_refused():
    X, y, _ = blobs()
    with pytest.raises(ValueError, match="no row has a target"):
        PVMRegressor().fit(X, np.full(200, np.nan))
    with pytest.raises(ValueError, match="no row has a target"):
        PVMRegressor().fit([(X, np.full(200, np.nan))])
    with pytest.raises(ValueError, match="y contains infinity"):
        PVMRegressor().fit([(X, np.full(200, np.inf))])
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
    with pytest.raises(ValueError, match=r"block 1, row 3, column 1: .*(NaN|infinity)"):
        PVMClassifier().fit([(form(X), y), (form(broken), None)])
    model = PVMClassifier(n_prototypes=5).fit(form(X), y)
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        model.predict(form(broken))
    with pytest.raises(ValueError, match="2 features"):
        model.predict(form(X[:, :2]))


def test_bad_blocks_are_refused():
    X, y, _ = blobs()
    model = PVMClassifier(n_prototypes=5)
    with pytest.raises(ValueError, match=r"block 1: X has 2 features.* expecting 3"):
        model.fit([(X, y), (X[:, :2], None)])
    with pytest.raises(ValueError, match="block 1: X has 200 rows and y has 100"):
        model.fit([(X, y), (X, y[:100])])
    for empty in ([(X[:0], None)], [(X[:0], None), (X[:1], y[:1])], lambda: iter([])):
        with pytest.raises(ValueError, match=r"[01] rows in all blocks: there is nothing to fit"):
            model.fit(empty)
    for wrong in ([y], [(X, y, y)], ["rows"], [None]):
        with pytest.raises(TypeError, match=r"block 0 must hold rows as an array"):
            model.fit(lambda wrong=wrong: wrong)
    for labels in ("given", None):
        with pytest.raises(TypeError, match="X is a function that returns int"):
            model.fit(lambda: 7, None if labels is None else y)
    for once in (iter([(X, y)]), (block for block in [(X, y)])):
        with pytest.raises(TypeError, match=r"can be read only once.*pass a function"):
            model.fit(once)
    with pytest.raises(ValueError, match="labels are given twice"):
        model.fit([(X, y)], y)
    with pytest.raises(ValueError, match="X has 200 rows and y has 100"):
        model.fit([X[:50], X[50:]], y[:100])
    with pytest.raises(TypeError, match="'label' cannot be the name of a column"):
        model.fit([X[:50], X[50:]], "label")
    with pytest.raises(ValueError, match="requires y to be passed"):
        model.fit([X[:50], X[50:]])


@pytest.mark.parametrize("reading", [2, 3, 4])
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

    with pytest.raises(ValueError, match="was not the same when it was read again"):
        PVMClassifier(n_prototypes=5).fit(blocks)


def test_a_function_that_returns_one_iterator_is_refused():
    X, y, _ = blobs()
    stream = iter(cut(X, y, [60, 130]))
    with pytest.raises(ValueError, match="block 0 was not the same"):
        PVMClassifier(n_prototypes=5).fit(lambda: stream)
