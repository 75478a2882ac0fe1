"""Input that cannot be meant, or that is at the edge: a clear answer, and never a NaN."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from helpers.cases import assert_finite, each_case, outputs_of
from helpers.data import fit_quietly
from lapwing import KNNGraph

N = 40


def rows(case, d=3):
    """Rows of two classes that overlap, and labels or targets of the first ten."""
    X = np.random.default_rng(0).normal(size=(N, d)) + 2.0 * (np.arange(N) % 2)[:, None]
    y = np.where(np.arange(N) < 10, np.arange(N) % 2, -1)
    return X, y if case.is_classifier else as_targets(y)


def as_targets(y):
    return np.where(np.asarray(y) == -1, np.nan, y)


def few_labels(case, labels):
    return np.asarray(labels) if case.is_classifier else as_targets(labels)


def classifier(case):
    return case.is_classifier


def regressor(case):
    return not case.is_classifier


def quick(case):
    return not case.slow


def has(*parameters):
    return lambda case: all(case.has(name) for name in parameters)


def assert_finite_or_refused(case, X, y, words):
    """Fit and predict finite values, or refuse with an error that has one of the words."""
    fitted, message = None, ""
    try:
        fitted = fit_quietly(case.new(), X, y)
    except ValueError as error:
        message = str(error)
    if fitted is None:
        assert any(word in message for word in words)
    else:
        assert_finite(fitted, X)


# ---------------------------------------------------------------- rows


@each_case()
@pytest.mark.parametrize("bad", [np.nan, -np.inf])
def test_missing_or_infinite_values_are_refused(case, bad):
    X, y, _ = case.data()
    broken = X.copy()
    broken[3, 1] = bad
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        case.new().fit(broken, y)
    fitted = case.fitted()
    for method in outputs_of(fitted, X):
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            getattr(fitted, method)(broken)


@each_case(one_a_class=True)
@pytest.mark.parametrize("y_rows", [0, 39, 41])
def test_labels_of_the_wrong_length_are_refused(case, y_rows):
    X, y = rows(case)
    with pytest.raises(ValueError, match=rf"40.*{y_rows}"):
        case.new().fit(case.rows(X), np.resize(y, y_rows))


@each_case(one_a_class=True)
def test_labels_in_several_columns_are_refused(case):
    X, y = rows(case)
    with pytest.raises(ValueError, match="y"):
        case.new().fit(case.rows(X), np.column_stack([y, y]))


@each_case(one_a_class=True)
def test_labels_are_required(case):
    X, _ = rows(case)
    with pytest.raises(ValueError, match=r"\by\b"):
        case.new().fit(case.rows(X), None)


@each_case(one_a_class=True)
def test_rows_of_other_shapes_are_refused(case):
    X, y = rows(case)
    for wrong in (X[:, 0], X[:, :, None], np.empty((0, 3)), np.empty((N, 0)), "rows", None):
        with pytest.raises((ValueError, TypeError)):
            case.new().fit(wrong, y[: len(wrong)] if isinstance(wrong, np.ndarray) else y)


@each_case(one_a_class=True)
def test_other_columns_at_prediction_are_refused(case):
    X, y = rows(case)
    fitted = fit_quietly(case.new(), case.rows(X), y)
    for columns in (2, 4):
        with pytest.raises(ValueError, match=rf"{columns} features"):
            fitted.predict(case.rows(np.ones((5, columns))))


@each_case(lambda case: case.is_transductive, one_a_class=True)
def test_new_rows_are_refused_by_transductive_methods(case):
    X, y = rows(case)
    with pytest.raises(ValueError, match="transductive"):
        fit_quietly(case.new(), X, y).predict(X + 1.0)


@each_case(one_a_class=True)
@pytest.mark.parametrize(
    "weights",
    [np.ones(7), -np.ones(N), np.full(N, np.nan), np.full(N, np.inf), np.ones((N, 2))],
    ids=["length", "negative", "nan", "inf", "matrix"],
)
def test_bad_weights_are_refused(case, weights):
    X, y = rows(case)
    with pytest.raises(ValueError, match=r"[Ww]eight"):
        case.new().fit(case.rows(X), y, sample_weight=weights)


@each_case(one_a_class=True)
def test_weights_that_are_no_numbers_are_refused_by_name(case):
    X, y = rows(case)
    with pytest.raises((ValueError, TypeError), match="sample_weight"):
        case.new().fit(case.rows(X), y, sample_weight=["heavy"] * N)


@each_case(one_a_class=True)
def test_no_weights_at_all_are_too_few_and_not_zero(case):
    X, y = rows(case)
    with pytest.raises(ValueError, match="sample_weight must hold one finite number per row"):
        case.new().fit(case.rows(X), y, sample_weight=[])


@each_case(one_a_class=True)
def test_labels_without_a_weight_are_refused_as_such(case):
    """The number of classes or of targets is not what is wrong."""
    X, y = rows(case)
    unlabelled = y == -1 if case.is_classifier else np.isnan(y)
    for weights in (np.zeros(N), unlabelled.astype(float)):
        with pytest.raises(ValueError, match="sample_weight is zero for every labelled row"):
            case.new().fit(case.rows(X), y, sample_weight=weights)


# ---------------------------------------------------------------- labels


@each_case(classifier, one_a_class=True)
def test_no_labelled_row_is_refused(case):
    X, _ = rows(case)
    for labels in (np.full(N, -1), [None] * N, np.full(N, np.nan)):
        with pytest.raises(ValueError, match="label"):
            case.new().fit(case.rows(X), labels)


@each_case(classifier, one_a_class=True)
def test_one_class_is_refused_with_its_name(case):
    X, y = rows(case)
    with pytest.raises(ValueError, match=r"one class.*5"):
        case.new().fit(case.rows(X), np.where(y == 1, 5, -1))
    with pytest.raises(ValueError, match="two classes"):
        case.new().fit(case.rows(X), y, sample_weight=np.where(y == 1, 1.0, 0.0))


@each_case(classifier, one_a_class=True)
def test_labels_minus_one_and_one_are_refused_with_the_way_out(case):
    X, _ = rows(case)
    signs = np.where(np.arange(N) % 2, 1, -1)
    for labels in (signs, signs.astype(float)):
        with pytest.raises(ValueError, match="unlabeled="):
            case.new().fit(case.rows(X), labels)
    labels = [int(sign) if i < 10 else None for i, sign in enumerate(signs)]
    fitted = fit_quietly(case.new(unlabeled=None), case.rows(X), labels)
    np.testing.assert_array_equal(fitted.classes_, [-1, 1])
    assert (fitted.transduction_ == signs).mean() > 0.7


@each_case(classifier, one_a_class=True)
def test_numbers_that_are_no_classes_are_refused(case):
    X, _ = rows(case)
    with pytest.raises(ValueError, match=r"[Uu]nknown label type|continuous"):
        case.new().fit(case.rows(X), X[:, 0])


@each_case(classifier, one_a_class=True)
def test_mixed_types_of_labels_are_refused(case):
    X, y = rows(case)
    labels = np.array([None if v == -1 else (0, "one")[v] for v in y], dtype=object)
    with pytest.raises(ValueError, match="mix types"):
        case.new().fit(case.rows(X), labels)


@each_case(regressor, one_a_class=True)
def test_bad_targets_are_refused(case):
    X, y = rows(case)
    X = case.rows(X)
    for bad in (np.inf, -np.inf):
        with pytest.raises(ValueError, match="infinity"):
            case.new().fit(X, np.where(np.arange(N) == 2, bad, y))
    with pytest.raises(ValueError, match="numbers"):
        case.new().fit(X, np.array(["a"] * N, dtype=object))
    with pytest.raises(ValueError, match="no row has a target"):
        case.new().fit(X, np.full(N, np.nan))


# ---------------------------------------------------------------- graph


def graphs_of(case, graph):
    """The parameter: a grid takes a list of graphs."""
    return [graph] if isinstance(case.estimator.graph, list) else graph


@each_case(has("graph"))
def test_part_of_the_graph_without_label_warns_and_stays_finite(case):
    X, y = rows(case)
    far = case.rows(np.vstack([X, X + 1000.0]))
    labels = np.append(y, np.full(N, case.marker))
    model = case.new(graph=graphs_of(case, KNNGraph(12)))
    if case.no_reach_warning:
        fit_quietly(model, far, labels)
    else:
        with pytest.warns(UserWarning, match=r"40 rows .*graph.*label") as caught:
            model.fit(far, labels)
        assert any(warning.filename == __file__ for warning in caught)
    np.testing.assert_array_equal(model.label_reach_, np.repeat([True, False], N))
    assert_finite(model, far)


@each_case(has("graph"), one_a_class=True)
@pytest.mark.parametrize("normalized", [True, False])
def test_isolated_rows(case, normalized):
    X, y = rows(case)
    W = KNNGraph(5).fit(X).affinity_.tolil()
    for i in (0, 20):  # a labelled and an unlabelled row
        W[i, :] = 0
        W[:, i] = 0
    graph = KNNGraph.from_affinity(W.tocsr(), normalized=normalized)
    fitted = fit_quietly(case.new(graph=graph), case.rows(X), y)
    assert_finite(fitted, case.rows(X))
    assert not fitted.label_reach_[20]
    assert fitted.label_reach_[0]


@each_case(has("graph"))
def test_graph_without_any_edge(case):
    X, y = rows(case)
    model = case.new(graph=graphs_of(case, sp.csr_matrix((N, N))))
    fitted = fit_quietly(model, case.rows(X), y)
    assert_finite(fitted, case.rows(X))
    np.testing.assert_array_equal(fitted.label_reach_, np.arange(N) < 10)


@each_case(has("graph"), one_a_class=True)
def test_affinity_of_the_wrong_size_is_refused(case):
    X, y = rows(case)
    for W in (sp.eye(39, format="csr"), np.ones((41, 41))):
        with pytest.raises(ValueError, match=rf"{W.shape[0]} rows.*40"):
            case.new(graph=W).fit(case.rows(X), y)
    with pytest.raises(ValueError, match="square"):
        case.new(graph=np.ones((N, 39))).fit(case.rows(X), y)


@each_case(has("graph"), one_a_class=True)
@pytest.mark.parametrize("entry", [-1.0, np.nan, np.inf])
def test_affinity_with_bad_entries_is_refused(case, entry):
    X, y = rows(case)
    W = np.ones((N, N))
    W[3, 4] = W[4, 3] = entry
    with pytest.raises(ValueError, match=r"negative|NaN|finite|infinity"):
        case.new(graph=sp.csr_matrix(W)).fit(case.rows(X), y)


@each_case(has("graph"), one_a_class=True)
@pytest.mark.parametrize("graph", ["knn", 10, KNNGraph])
def test_graph_of_the_wrong_type_is_refused(case, graph):
    X, y = rows(case)
    with pytest.raises(TypeError, match="graph must be"):
        case.new(graph=graph).fit(case.rows(X), y)


# ---------------------------------------------------------------- kernel


def takes_matrices(case):
    """Whether the kernel may be precomputed."""
    return case.has("kernel") and type(case.estimator).__name__.startswith(("Lap", "S3VC"))


@each_case(takes_matrices, one_a_class=True)
def test_kernel_that_is_not_semidefinite_is_refused(case):
    X, y = rows(case)
    distances = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    for kernel, data, others in (
        ("precomputed", distances, {}),
        (lambda A, B: -(A @ B.T), X, {}),
        ("poly", X, {"coef0": -5.0, "degree": 3}),
    ):
        with pytest.raises(ValueError, match="semi-definite"):
            case.new(kernel=kernel, **others).fit(data, y)


@each_case(takes_matrices, one_a_class=True)
def test_kernel_that_is_not_symmetric_is_refused(case):
    X, y = rows(case)
    for place in ((0, 1), (0, 39), (39, 0), (20, 35)):
        skew = X @ X.T
        skew[place] += 1.0
        with pytest.raises(ValueError, match="not symmetric"):
            case.new(kernel="precomputed").fit(skew, y)
    with pytest.raises(ValueError, match="not symmetric"):
        case.new(kernel=lambda A, B: A[:, :1] + 0 * B[:, 0]).fit(X, y)


@each_case(takes_matrices, one_a_class=True)
def test_sparse_kernel_matrices_are_refused(case):
    X, y = rows(case)
    with pytest.raises(TypeError, match=r"[Ss]parse.* dense"):
        case.new(kernel="precomputed").fit(sp.csr_matrix(X @ X.T), y)


@each_case(has("kernel"), one_a_class=True)
def test_kernel_of_the_wrong_shape_is_refused(case):
    X, y = rows(case)
    with pytest.raises(ValueError, match=r"square|precomputed"):
        case.new(kernel="precomputed").fit(X @ X[:39].T, y)
    with pytest.raises(ValueError, match="shape"):
        case.new(kernel=lambda A, B: np.ones(len(A))).fit(X, y)
    with pytest.raises(ValueError, match=r"kernel .*gauss"):
        case.new(kernel="gauss").fit(X, y)


@each_case(has("kernel"), one_a_class=True)
def test_kernel_with_nan_is_refused(case):
    X, y = rows(case)
    with pytest.raises(ValueError, match=r"NaN|infinit|finite"):
        case.new(kernel=lambda A, B: np.full((len(A), len(B)), np.nan)).fit(X, y)


# ---------------------------------------------------------------- rows at the edge


@each_case(has("gamma"))
@pytest.mark.parametrize("gamma", [1e-12, 1e12])
def test_very_wide_and_very_narrow_kernels_stay_finite(case, gamma):
    X, y = rows(case)
    fitted = fit_quietly(case.new(kernel="rbf", gamma=gamma), case.rows(X), y)
    assert_finite(fitted, case.rows(X))
    if not case.is_transductive:
        assert_finite(fitted, case.rows(X + 100.0))


@each_case(quick)
@pytest.mark.parametrize("trouble", ["duplicates", "constant column", "rank one", "all equal"])
def test_degenerate_rows_stay_finite(case, trouble):
    X, y = rows(case)
    if trouble == "duplicates":
        X = np.repeat(X[:10], 4, axis=0)
    elif trouble == "constant column":
        X[:, 1] = 3.0
    elif trouble == "rank one":
        X = np.outer(np.linspace(-1, 1, N), np.ones(3))
    else:
        X = np.ones((N, 3))
    assert_finite(fit_quietly(case.new(), case.rows(X), y), case.rows(X))


@each_case(one_a_class=True)
@pytest.mark.parametrize("scales", [(1e8, 1e-8, 1.0), (1e-9, 1e-9, 1e-9), (1e6, 1e6, 1e6)], ids=str)
def test_rows_of_very_different_scale_stay_finite(case, scales):
    X, y = rows(case)
    X *= scales
    model = case.new()
    if case.has("max_iter"):
        model.set_params(max_iter=50)  # it need not converge
    assert_finite(fit_quietly(model, case.rows(X), y), case.rows(X))


@each_case(lambda case: not case.is_transductive, one_a_class=True)
def test_rows_far_away_have_finite_values(case):
    X, y = rows(case)
    fitted = fit_quietly(case.new(), case.rows(X), y)
    for distance in (1e3, 1e9, 1e100):
        assert_finite(fitted, case.rows(X + distance))


@each_case(one_a_class=True)
@pytest.mark.parametrize("size", [1e160, 1e300])
def test_rows_that_overflow_are_refused_or_stay_finite(case, size):
    X, y = rows(case)
    assert_finite_or_refused(case, case.rows(size * X), y, ("overflow", "large", "scale", "Scale"))


@each_case(lambda case: not case.sparse)
@pytest.mark.skipif(
    np.finfo(np.longdouble).max == np.finfo(np.float64).max, reason="long double is double"
)
def test_numbers_above_the_range_of_float64_are_refused_without_a_warning(case):
    X, y, _ = case.data()
    broken = X.astype(np.longdouble)
    broken[3, 1] = np.longdouble("1e4000")
    fitted = case.fitted()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match="infinity or a value too large"):
            case.new().fit(broken, y)
        for method in outputs_of(fitted, X):
            with pytest.raises(ValueError, match="infinity or a value too large"):
                getattr(fitted, method)(broken)


@each_case()
@pytest.mark.parametrize("n", [2, 3])
def test_fewest_rows_work_or_are_refused_with_advice(case, n):
    X = case.rows(np.array([[0.0], [1.0], [0.4]])[:n])
    y = few_labels(case, [0, 1, -1][:n])
    assert_finite_or_refused(case, X, y, ("label", "rows", "target", "features"))


@each_case(one_a_class=True)
def test_all_rows_labelled(case):
    X, _ = rows(case)
    y = (np.arange(N) % 2).astype(int if case.is_classifier else float)
    fitted = fit_quietly(case.new(), case.rows(X), y)
    assert_finite(fitted, case.rows(X))
    np.testing.assert_array_equal(fitted.transduction_, y)


@each_case(one_a_class=True)
def test_no_warning_in_the_plain_case(case):
    X, y, _ = case.data(2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        case.new().fit(X, y)
