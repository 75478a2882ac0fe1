"""What data mean is the same for every estimator: order, names, markers, weights, storage."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from helpers.cases import N_LABELLED, N_ROWS, each_case, outputs_of, values_of
from helpers.data import fit_quietly

both_numbers_of_classes = pytest.mark.parametrize("n_classes", [2, 3])


def classifier(case):
    return case.is_classifier


def regressor(case):
    return not case.is_classifier


def quick(case):
    return not case.slow


def renamed(y, names, marker=None):
    """Labels by name, in an array of objects."""
    return np.array([marker if label == -1 else names[label] for label in y], dtype=object)


# ---------------------------------------------------------------- order and names


@each_case()
def test_order_of_the_rows_does_not_matter(case):
    X, y, truth = case.data()
    orders = [np.random.default_rng(seed).permutation(N_ROWS) for seed in range(3)]
    order, expected = orders[0], case.fitted()
    if case.order_matters:
        # Random points may be badly placed, whatever the order: not in most orders.
        scores = [fit_quietly(case.new(), X[o], y[o]).score(X, truth) for o in orders]
        assert np.median(scores) > expected.score(X, truth) - 0.3
        return
    found = fit_quietly(case.new(), X[order], y[order])
    np.testing.assert_allclose(values_of(found, X), values_of(expected, X), atol=case.tol)
    if case.is_classifier:
        np.testing.assert_array_equal(found.transduction_, expected.transduction_[order])


@each_case(classifier, one_a_class=True)
@pytest.mark.parametrize("names", [(3, 5, 9), ("a", "bb", "ccc")], ids=["numbers", "words"])
def test_classes_may_have_any_names(case, names):
    X, y, _ = case.data()
    expected, found = case.fitted(), fit_quietly(case.new(), X, renamed(y, names))
    assert found.classes_.tolist() == list(names)
    np.testing.assert_array_equal(found.decision_function(X), expected.decision_function(X))
    np.testing.assert_array_equal(found.predict_proba(X), expected.predict_proba(X))
    np.testing.assert_array_equal(found.predict(X), np.array(names)[expected.predict(X)])
    np.testing.assert_array_equal(found.transduction_, np.array(names)[expected.transduction_])


@both_numbers_of_classes
@each_case(lambda case: case.is_classifier and not case.slow)
def test_names_in_reverse_order_swap_the_columns(case, n_classes):
    X, y, _ = case.data(n_classes)
    names = np.array(["c", "b", "a"])[-n_classes:]
    expected, found = case.fitted(n_classes), fit_quietly(case.new(), X, renamed(y, names))
    if case.names_matter:
        assert np.mean(found.predict(X) == names[expected.predict(X)]) > 0.8
        return
    values = values_of(expected, X)
    swapped = -values if n_classes == 2 else values[:, ::-1]
    np.testing.assert_allclose(values_of(found, X), swapped, atol=case.tol)


# ---------------------------------------------------------------- markers


@each_case(classifier, one_a_class=True)
@pytest.mark.parametrize(
    ("marker", "unlabeled"),
    [
        (None, -1),
        (np.nan, -1),
        (pd.NA, -1),
        (None, None),
        (pd.NA, "?"),
        ("?", "?"),
        (-99, -99),
        (7.5, 7.5),
    ],
    ids=str,
)
def test_every_marker_of_unlabelled_rows(case, marker, unlabeled):
    X, y, _ = case.data()
    names = ("0", "1", "2") if isinstance(marker, str) else (0, 1, 2)
    labels = renamed(y, names, marker)
    found = fit_quietly(case.new(unlabeled=unlabeled), X, labels)
    assert found.classes_.tolist() == list(names)
    np.testing.assert_array_equal(values_of(found, X), values_of(case.fitted(), X))


@each_case(classifier, one_a_class=True)
def test_labels_in_lists_and_columns_of_tables(case):
    X, y, _ = case.data()
    known = [None if v == -1 else int(v) for v in y]
    expected = values_of(case.fitted(), X)
    for labels in (
        known,
        y.astype(float),
        pd.Series(y),
        pd.Series(known, dtype="Int64"),
        pd.Series(known, dtype="float64"),
        pd.Series(known, dtype=object),
    ):
        np.testing.assert_array_equal(
            values_of(fit_quietly(case.new(), X, labels), X), expected, err_msg=str(type(labels))
        )


@each_case(classifier, one_a_class=True)
@pytest.mark.parametrize("form", ["list", "numpy", "pandas", "category", "string"])
def test_labels_may_be_words(case, form):
    X, y, _ = case.data(2)
    words = [None if v == -1 else ("no", "yes")[v] for v in y]
    marker = None
    if form == "numpy":
        words, marker = np.array([word or "?" for word in words]), "?"
    elif form != "list":
        words = pd.Series(words, dtype={"pandas": object}.get(form, form))
    found = fit_quietly(case.new(unlabeled=marker), X, words)
    assert found.classes_.tolist() == ["no", "yes"]
    assert set(found.predict(X)) <= {"no", "yes"}
    np.testing.assert_array_equal(values_of(found, X), values_of(case.fitted(2), X))


@each_case(classifier, one_a_class=True)
def test_minus_one_is_a_class_under_another_marker(case):
    X, y, _ = case.data(2)
    labels = np.where(y == -1, -99, np.where(y == 0, -1, 1))
    found = fit_quietly(case.new(unlabeled=-99), X, labels)
    np.testing.assert_array_equal(found.classes_, [-1, 1])
    np.testing.assert_array_equal(values_of(found, X), values_of(case.fitted(2), X))


@each_case(regressor, one_a_class=True)
def test_every_marker_of_rows_without_a_target(case):
    X, y, _ = case.data()
    expected = case.fitted().predict(X)
    objects = np.array([pd.NA if np.isnan(t) else t for t in y], dtype=object)
    for model, targets in (
        (case.new(), objects),
        (case.new(), [None if np.isnan(t) else float(t) for t in y]),
        (case.new(), pd.Series(objects, dtype="Float64")),
        (case.new(unlabeled=-99.0), np.where(np.isnan(y), -99.0, y)),
        (case.new(unlabeled=-99.0), y),
    ):
        np.testing.assert_array_equal(fit_quietly(model, X, targets).predict(X), expected)


# ---------------------------------------------------------------- weights


@each_case()
def test_labels_of_weight_zero_do_not_count(case):
    X, y, _ = case.data()
    zero = np.array([1, 5, 9])  # two labels of one class and one of another
    weights = np.ones(N_ROWS)
    weights[zero] = 0.0
    found = fit_quietly(case.new(), X, y, sample_weight=weights)
    if case.zero_weight == "unlabelled":
        hidden = y.copy()
        hidden[zero] = case.marker
        expected, rows = fit_quietly(case.new(), X, hidden), X
    elif case.zero_weight == "absent":
        keep = weights > 0
        expected, rows = fit_quietly(case.new(), X[keep], y[keep]), X[keep]
    else:
        assert np.isfinite(values_of(found, X)).all()
        return
    np.testing.assert_allclose(values_of(found, rows), values_of(expected, rows), atol=1e-9)
    np.testing.assert_array_equal(found.transduction_[zero], y[zero])  # they keep their labels


@each_case(classifier)
def test_a_class_without_weight_is_not_predicted(case):
    X, y, _ = case.data()
    found = fit_quietly(case.new(), X, y, sample_weight=(y != 0).astype(float))
    assert found.classes_.tolist() == [0, 1, 2]
    assert np.isfinite(values_of(found, X)).all()
    assert set(found.predict(X)) == {1, 2}
    np.testing.assert_array_equal(found.transduction_[:N_LABELLED], y[:N_LABELLED])


@each_case(one_a_class=True)
def test_weights_of_one_are_no_weights(case):
    X, y, _ = case.data()
    found = fit_quietly(case.new(), X, y, sample_weight=np.ones(N_ROWS))
    np.testing.assert_array_equal(values_of(found, X), values_of(case.fitted(), X))


# ---------------------------------------------------------------- storage


@each_case(lambda case: case.takes_sparse and not case.sparse)
def test_sparse_rows_equal_dense_ones(case):
    X, y, truth = case.data()
    expected, found = case.fitted(), fit_quietly(case.new(), sp.csr_matrix(X), y)
    if case.sparse_differs:
        assert found.score(sp.csr_matrix(X), truth) > expected.score(X, truth) - 0.2
    else:
        np.testing.assert_allclose(
            values_of(found, sp.csr_matrix(X)), values_of(expected, X), atol=case.tol
        )
    np.testing.assert_allclose(values_of(found, X), values_of(found, sp.csr_matrix(X)), atol=1e-8)


@each_case(lambda case: not case.takes_sparse)
def test_sparse_rows_are_refused_where_they_are_not_taken(case):
    X, y, _ = case.data()
    with pytest.raises(TypeError, match=r"X is sparse.*TruncatedSVD"):
        case.new().fit(sp.csr_matrix(X), y)


@each_case(quick)
def test_rows_in_single_precision(case):
    X, y, _ = case.data()
    narrow = X.astype(np.float32)
    wide = narrow.astype(np.float64)
    found, expected = fit_quietly(case.new(), narrow, y), fit_quietly(case.new(), wide, y)
    np.testing.assert_allclose(
        values_of(found, narrow), values_of(expected, wide), atol=max(case.tol, 1e-4)
    )
    if case.is_classifier:
        np.testing.assert_array_equal(found.predict(narrow), expected.predict(wide))


@each_case(lambda case: not case.sparse, one_a_class=True)
@pytest.mark.parametrize("form", ["strided", "list", "integers"])
def test_rows_in_any_layout(case, form):
    X, y, _ = case.data()
    if form == "integers":
        X = np.round(4 * X)
    same = {
        "strided": lambda: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
        "list": X.tolist,
        "integers": lambda: X.astype(np.int64),
    }[form]()
    found, expected = fit_quietly(case.new(), same, y), fit_quietly(case.new(), X, y)
    np.testing.assert_allclose(values_of(found, same), values_of(expected, X), atol=case.tol)


@each_case()
def test_input_is_left_as_it_is(case):
    X, y, truth = case.data()
    weights = np.linspace(0.5, 1.5, N_ROWS)
    before = X.copy(), y.copy(), weights.copy()
    model = fit_quietly(case.new(), X, y, sample_weight=weights)
    outputs_of(model, X)
    model.add_labels([40], truth[[40]])
    kept = (before[0] != X).nnz == 0 if case.sparse else np.array_equal(X, before[0])
    assert kept
    np.testing.assert_array_equal(y, before[1])
    np.testing.assert_array_equal(weights, before[2])


@each_case(lambda case: not case.sparse, one_a_class=True)
def test_names_of_columns_are_checked(case):
    X, y, truth = case.data()
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    model = fit_quietly(case.new(), table, y)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    np.testing.assert_allclose(values_of(model, table), values_of(case.fitted(), X), atol=case.tol)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(table[["b", "a", "c"]])
    with pytest.warns(UserWarning, match="feature names"):
        model.predict(X)
    grown = fit_quietly(case.new(), table, pd.Series(y)).add_labels([40], truth[[40]])
    assert grown.feature_names_in_.tolist() == ["a", "b", "c"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        grown.predict(table)


@each_case()
def test_transduction_keeps_labels_and_predicts_the_rest(case):
    X, y, _ = case.data()
    model = case.fitted()
    known = np.arange(N_ROWS) < N_LABELLED
    np.testing.assert_array_equal(model.transduction_[known], y[known])
    predicted = model.predict(X)[~known]
    if case.transduction_differs:
        assert len(predicted) == len(model.transduction_) - N_LABELLED
    elif case.is_classifier:
        np.testing.assert_array_equal(model.transduction_[~known], predicted)
    else:
        np.testing.assert_allclose(model.transduction_[~known], predicted, atol=1e-9)
