"""Rows in other units, with another origin, in other storage, or overwritten: the same model."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import lapwing
from helpers.cases import N_ROWS, assert_finite, assert_same_outputs, each_case, values_of
from helpers.data import fit_quietly
from lapwing import KNNGraph, LapRLSClassifier, LapSVC, PVMClassifier
from lapwing.estimators.rows import given_rows

#: With 1e-312 most values are subnormal numbers, which have few digits.
FACTORS = (1e-312, 1e-300, 1e-170, 1e-100, 1e160, 1e300)
REFUSED = "Rescale X, for example with sklearn.preprocessing.StandardScaler"


def quick(case):
    return not case.slow


def any_scale(case):
    return quick(case) and not case.fixed_scale


def takes_matrices(case):
    """Whether the kernel may be precomputed."""
    name = type(case.estimator).__name__
    return quick(case) and case.has("kernel") and name.startswith(("Lap", "S3VC"))


def graph_of_rows(case):
    """Whether the graph is that of the rows as they are; the default scales them first."""
    return quick(case) and case.has("graph") and not case.has("method")


def assert_same_model(case, found, X, expected, X_expected, tol):
    """Same decisions, and values that differ by no more than ``tol`` of the largest."""
    values = values_of(expected, X_expected)
    np.testing.assert_allclose(values_of(found, X), values, rtol=0, atol=tol * np.abs(values).max())
    if case.is_classifier:
        np.testing.assert_array_equal(found.predict(X), expected.predict(X_expected))
        np.testing.assert_array_equal(found.transduction_, expected.transduction_)


# ---------------------------------------------------------------- units


@each_case(any_scale)
def test_models_do_not_depend_on_the_unit_of_the_rows(case):
    X, y, _ = case.data()
    for factor in FACTORS:
        found = fit_quietly(case.new(), factor * X, y)
        assert_same_model(case, found, factor * X, case.fitted(), X, case.tol)


@each_case(lambda case: quick(case) and case.fixed_scale)
def test_a_kernel_of_fixed_scale_refuses_rows_beyond_it(case):
    X, y, _ = case.data()
    for factor in FACTORS:
        with pytest.raises(ValueError, match=REFUSED):
            case.new().fit(factor * X, y)


@each_case(any_scale, one_a_class=True)
def test_models_of_extreme_rows_live_on(case, tmp_path):
    X, y, truth = case.data()
    X = X * 1e-200
    model = fit_quietly(case.new(), X, y)
    lapwing.save(model, tmp_path / "model")
    loaded = lapwing.load(tmp_path / "model")
    assert_same_outputs(loaded, model, X)
    labels = y.copy()
    labels[30:34] = truth[30:34]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loaded.add_labels(np.arange(30, 34), truth[30:34])
    X, _, _ = case.data()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = fit_quietly(case.new(), X, y).add_labels(np.arange(30, 34), truth[30:34])
    assert_same_model(case, loaded, 1e-200 * X, expected, X, case.tol)


@each_case(lambda case: not case.is_transductive, one_a_class=True)
def test_new_rows_of_any_size_have_finite_values_or_are_refused(case):
    X, y, _ = case.data()
    model = case.fitted()
    for factor in (1e-320, 1e-150, 1e40, 1e140):
        assert_finite(model, factor * X)
    too_large = [(model, 1e200 * X), (model, 1e300 * X)]
    if any_scale(case):
        tiny = fit_quietly(case.new(), 1e-200 * X, y)
        for size in (0.0, 1e-310, 1e-100):
            assert_finite(tiny, size * X)
        too_large.append((tiny, X))
    for fitted, rows in too_large:
        if model._scales_columns and not sp.issparse(X):  # they are far from all others
            assert_finite(fitted, rows)
        else:
            with pytest.raises(ValueError, match=REFUSED):
                fitted.predict(rows)


@each_case(quick, one_a_class=True)
@pytest.mark.parametrize("factor", [1e-30, 1e30])
def test_single_precision_does_not_overflow(case, factor):
    X, y, _ = case.data()
    X = (factor * X).astype(np.float32)
    found = fit_quietly(case.new(), X, y)
    expected = fit_quietly(case.new(), X.astype(np.float64), y)
    np.testing.assert_array_equal(values_of(found, X), values_of(expected, X.astype(np.float64)))


@each_case(graph_of_rows, one_a_class=True)
def test_graph_of_extreme_rows_is_recognised(case):
    X, y, _ = case.data()
    X = X * 1e-200
    graph = KNNGraph(5, bandwidth=1e-200).fit(X)
    assert graph.fitted_to(X)
    assert not graph.fitted_to(2.0 * X)
    assert fit_quietly(case.new(graph=graph), X, y).graph_ is graph
    with pytest.raises(ValueError, match=REFUSED):
        case.new(graph=KNNGraph(5, bandwidth=1.0)).fit(X, y)


@each_case(takes_matrices, one_a_class=True)
@pytest.mark.parametrize("factor", [1e-300, 1e300])
def test_kernel_matrices_of_extreme_values_are_refused(case, factor):
    X, y, _ = case.data()
    with pytest.raises(ValueError, match="Divide them"):
        case.new(kernel="precomputed").fit(factor * (X @ X.T), y)


# ---------------------------------------------------------------- origin


def shifted(case, shift, columns=3):
    """The rows of a case with other columns added to them, in its form."""
    X, y, _ = case.data()
    X = X.toarray() if case.sparse else X
    return case.rows(np.column_stack([X, np.zeros((N_ROWS, columns - 3))]) + shift), y


@each_case(lambda case: quick(case) and not case.origin_matters)
def test_models_do_not_depend_on_the_origin_of_the_rows(case):
    X, y, _ = case.data()
    factor = 1.0 if case.fixed_scale else 1e3
    moved, _ = shifted(case, np.array([50.0, -20.0, 7.0]))
    found = fit_quietly(case.new(), factor * moved, y)
    assert_same_model(case, found, factor * moved, case.fitted(), X, max(case.tol, 1e-4))


@each_case(lambda case: quick(case) and not (case.origin_matters or case.sparse))
def test_constant_column_far_from_zero_changes_nothing(case):
    far, y = shifted(case, np.array([0, 0, 0, 1e9]), 4)
    near, _ = shifted(case, 0.0, 4)
    found, expected = (fit_quietly(case.new(), X, y) for X in (far, near))
    assert_same_model(case, found, far, expected, near, 1e-9)
    if getattr(getattr(found, "kernel_", None), "is_linear", False):
        np.testing.assert_allclose(
            far @ found.coef_.T + found.intercept_, values_of(found, far), atol=1e-6
        )


@each_case(lambda case: quick(case) and (case.origin_matters or case.sparse))
def test_constant_column_that_hides_the_others_is_refused(case):
    far, y = shifted(case, np.array([0, 0, 0, 1e9]), 4)
    with pytest.raises(ValueError, match=REFUSED):
        case.new().fit(far, y)


@each_case(quick, one_a_class=True)
def test_spread_that_vanishes_beside_the_level_is_refused(case):
    X, y, _ = case.data()
    with pytest.raises(ValueError, match=REFUSED):
        case.new().fit(case.rows(np.round(X) + 1e16), y)


# ---------------------------------------------------------------- storage


@each_case(lambda case: quick(case) and case.takes_sparse, one_a_class=True)
def test_sparse_rows_with_long_indices(case):
    X, y, _ = case.data()
    X = sp.csr_matrix(X)
    long = X.copy()
    long.indices, long.indptr = long.indices.astype(np.int64), long.indptr.astype(np.int64)
    found, expected = fit_quietly(case.new(), long, y), fit_quietly(case.new(), X, y)
    assert_same_outputs(found, expected, X)
    np.testing.assert_array_equal(found.predict(long), expected.predict(X))
    assert long.indices.dtype == np.int64


@each_case(one_a_class=True)
@pytest.mark.parametrize("unit", ["datetime64[D]", "timedelta64[s]"])
def test_dates_are_refused(case, unit):
    _, y, _ = case.data()
    dates = np.arange(3 * N_ROWS).reshape(-1, 3).astype(unit)
    with pytest.raises(ValueError, match="dates or durations"):
        case.new().fit(dates, y)
    with pytest.raises(ValueError, match="dates or durations"):
        case.fitted().predict(dates)


# ---------------------------------------------------------------- overwritten input


def overwrite(X):
    if sp.issparse(X):
        X.data[:], X.indices[:] = 0.0, 0
    else:
        X[:] = 0.0


@each_case(quick)
def test_overwriting_the_input_after_a_fit_changes_nothing(case):
    X, y, truth = case.data()
    assert_independent(case, X, y, truth)


@each_case(lambda case: quick(case) and case.takes_sparse and not case.sparse, one_a_class=True)
def test_overwriting_sparse_input_after_a_fit_changes_nothing(case):
    X, y, truth = case.data()
    assert_independent(case, sp.csr_matrix(X), y, truth)


def assert_independent(case, X, y, truth):
    """Overwrite all that a fit was given, and compare with a fit that was given copies."""
    weights = np.linspace(1.0, 2.0, N_ROWS)
    expected = fit_quietly(case.new(), X.copy(), y.copy(), sample_weight=weights.copy())
    kept = X.copy()
    found = fit_quietly(case.new(), X, y, sample_weight=weights)
    for array in (X, y, weights):
        overwrite(array)
    assert_same_outputs(found, expected, kept)
    np.testing.assert_array_equal(found.transduction_, expected.transduction_)
    more = np.arange(30, 34), truth[30:34]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if case.forgets_rows:
            with pytest.raises(ValueError, match="rows have changed since the fit"):
                found.add_labels(*more)
            return
        assert_same_outputs(found.add_labels(*more), expected.add_labels(*more), kept)


@each_case(lambda case: quick(case) and case.has("graph"), one_a_class=True)
def test_overwriting_the_affinity_after_a_fit_changes_nothing(case):
    X, y, truth = case.data()
    for W in (KNNGraph(6).fit(X).affinity_.copy(), KNNGraph(6).fit(X).affinity_.toarray()):
        expected = fit_quietly(case.new(graph=W.copy()), X, y)
        found = fit_quietly(case.new(graph=W), X, y)
        overwrite(W)
        more = np.arange(30, 34), truth[30:34]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert_same_outputs(found.add_labels(*more), expected.add_labels(*more), X)


@each_case(takes_matrices, one_a_class=True)
def test_overwriting_the_kernel_matrix_after_a_fit_changes_nothing(case):
    X, y, truth = case.data()
    K = np.exp(-0.3 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    kept = K.copy()
    expected = fit_quietly(case.new(kernel="precomputed"), kept, y)
    found = fit_quietly(case.new(kernel="precomputed"), K, y)
    overwrite(K)
    more = np.arange(30, 34), truth[30:34]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert_same_outputs(found.add_labels(*more), expected.add_labels(*more), kept)


def test_a_table_may_be_overwritten():
    pandas = pytest.importorskip("pandas")
    X = np.random.default_rng(0).normal(size=(40, 2))
    y = np.where(np.arange(40) < 10, (X[:, 0] > 0).astype(int), -1)
    table = pandas.DataFrame(X, columns=["a", "b"], copy=False)
    model = LapSVC().fit(table, y)
    kept = table.copy()
    before = model.decision_function(kept)
    X[:] = 0.0
    np.testing.assert_array_equal(model.decision_function(kept), before)


def test_memory_map_is_not_copied(tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 3))
    np.save(tmp_path / "rows.npy", X)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    y = np.where(np.arange(60) < 10, (X[:, 0] > 0).astype(int), -1)
    for model in (PVMClassifier(n_prototypes=9), PVMClassifier(n_prototypes=9, reg_unlabeled=0.1)):
        kept = model.fit(mapped, y).to_state()["fitted"]["_kept"]
        assert np.shares_memory(kept.X, mapped)


def test_blocks_have_one_unit():
    X = np.random.default_rng(0).normal(size=(90, 3))
    y = np.where(np.arange(90) < 10, (X[:, 0] > 0).astype(int), -1)
    for factor in (1e-300, 1e300):
        blocks = [(factor * X[:30], y[:30]), (factor * X[30:], y[30:])]
        found = PVMClassifier(n_prototypes=9).fit(blocks)
        expected = PVMClassifier(n_prototypes=9).fit(X, y)
        np.testing.assert_array_equal(found.predict(factor * X), expected.predict(X))
        np.testing.assert_array_equal(found.transduction_, expected.transduction_)


def test_a_block_without_rows_does_not_hide_the_origin():
    X = np.random.default_rng(0).normal(size=(40, 3))
    y = np.where(np.arange(40) < 10, (X[:, 0] > 0).astype(int), -1)
    X += 1e9
    model = PVMClassifier(n_prototypes=3)
    model.fit([(X[:30], y[:30]), (X[:0], y[:0]), (X[30:], y[30:])])
    middle = (X.min(axis=0) + X.max(axis=0)) / 2
    np.testing.assert_allclose(model._units.origin, middle, rtol=1e-14)


def test_pictures_are_in_the_units_of_the_user():
    X = 1e-200 * np.random.default_rng(0).normal(size=(40, 2)) + np.array([0.0, 1e-190])
    y = np.where(np.arange(40) < 10, (X[:, 0] > 0).astype(int), -1)
    model = LapSVC().fit(X, y)
    assert np.abs(model.X_fit_).max() < 10.0
    np.testing.assert_allclose(given_rows(model), X, rtol=1e-10)


@each_case(quick, one_a_class=True)
def test_one_row_of_extreme_values_is_no_silent_end(case):
    """It is refused, or hides nothing, or there is a warning."""
    X, y, truth = case.data()
    dense = X.toarray() if sp.issparse(X) else X.copy()
    dense[-1] *= 1e300
    rows = sp.csr_matrix(dense) if sp.issparse(X) else dense
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model = case.new().fit(rows, y)
        except ValueError as error:
            if "double precision cannot resolve" in str(error):
                return
            raise
    usual = np.arange(len(y) - 1)
    if case.is_classifier:
        right = np.mean(np.asarray(model.transduction_)[usual] == np.asarray(truth)[usual])
    else:
        wrong = np.mean((model.transduction_[usual] - truth[usual]) ** 2)
        right = 1.0 - wrong / np.var(truth[usual])
    assert right > 0.8 or [w for w in caught if "same" in str(w.message)]


def test_only_the_widest_column_decides_on_rounding():
    """A column of rounding beside an ordinary one is no reason to refuse rows."""
    rng = np.random.default_rng(0)
    truth = np.arange(60) % 2
    X = np.column_stack([4.0 * truth + rng.normal(size=60), 1.0 + np.spacing(1.0) * truth])
    y = np.where(np.arange(60) < 12, truth, -1)
    assert np.mean(LapSVC().fit(X, y).transduction_ == truth) > 0.9
    with pytest.raises(ValueError, match="whose values differ by"):
        LapSVC().fit(X[:, 1:], y)


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_a_local_bandwidth_has_no_unit(unit):
    X = np.random.default_rng(0).normal(size=(40, 2))
    y = np.where(np.arange(40) < 10, np.arange(40) % 2, -1)
    plain, scaled = (
        LapRLSClassifier(graph=KNNGraph(5, bandwidth="local")).fit(rows, y)
        for rows in (X, unit * X)
    )
    np.testing.assert_allclose(scaled.decision_function(unit * X), plain.decision_function(X))
