"""Labels that can be misread, labels that are added later, and scores of rows without a label."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score

import lapwing
from helpers.cases import (
    N_LABELLED,
    N_ROWS,
    assert_finite,
    assert_same_outputs,
    each_case,
    values_of,
)
from helpers.data import fit_quietly
from lapwing.model_selection import LabeledKFold, labeled_scorer


def classifier(case):
    return case.is_classifier


def fitted(case):
    """A model of this case, fitted, that may be changed."""
    return fit_quietly(case.new(), *case.data()[:2])


# ---------------------------------------------------------------- labels that can be misread


def assert_same_values(found, expected, X):
    np.testing.assert_array_equal(values_of(found, X), values_of(expected, X))


@each_case(classifier, one_a_class=True)
def test_text_of_the_marker_is_refused_with_the_way_out(case):
    X, y, _ = case.data()
    names = np.array(["b", "c", "d", "-1"])[y]
    with pytest.raises(ValueError, match=r"'-1' is a class.*unlabeled='-1'.*None"):
        case.new().fit(X, names)
    assert_same_values(fit_quietly(case.new(unlabeled="-1"), X, names), case.fitted(), X)
    some = np.where(np.arange(N_ROWS) % 4, names, None)
    labels = fit_quietly(case.new(unlabeled=None), X, some).classes_
    assert labels.tolist() == ["-1", "b", "c", "d"]


@each_case(classifier, one_a_class=True)
def test_number_of_a_text_marker_is_refused(case):
    X, y, _ = case.data()
    with pytest.raises(ValueError, match=r"-1 is a class.*unlabeled=-1"):
        case.new(unlabeled="-1").fit(X, y)


@each_case(classifier, one_a_class=True)
def test_marker_of_unsigned_numbers_is_refused_with_the_way_out(case):
    X, y, _ = case.data()
    wrapped = y.astype(np.uint8)
    for labels in (wrapped, pd.Series(wrapped)):
        with pytest.raises(ValueError, match=r"255 is a class.*unlabeled=255"):
            case.new().fit(X, labels)
    model = fit_quietly(case.new(unlabeled=255), X, wrapped)
    assert_same_values(model, case.fitted(), X)
    assert model.classes_.dtype == np.uint8


@each_case(classifier, one_a_class=True)
def test_texts_of_missing_labels_are_warned_of(case):
    X, y, _ = case.data()
    names = np.array(["b", "c", "d", "nan"])[y]
    with pytest.warns(UserWarning, match=r"'nan' counts as a class") as caught:
        case.new().fit(X, names)
    assert any(warning.filename == __file__ for warning in caught)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error", message=".*counts as a class")
        assert_same_values(case.new(unlabeled="nan").fit(X, names), case.fitted(), X)
        assert "nan" in case.new(unlabeled=None).fit(X, names).classes_


@each_case(classifier, one_a_class=True)
def test_ordinary_names_of_classes_are_accepted_as_they_are(case):
    X, y, _ = case.data()
    names = np.array(["none", "1", "Na", None], dtype=object)[y]
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*class")
        assert case.new().fit(X, names).classes_.tolist() == ["1", "Na", "none"]
        assert case.new().fit(X, y.astype(np.int8)).classes_.dtype == np.int8


# ---------------------------------------------------------------- labels that are added


@each_case(one_a_class=True)
def test_rows_are_named_in_several_forms(case):
    _, _, truth = case.data()
    model, known = fitted(case), set(range(N_LABELLED))
    for index, rows in [
        (40, [40]),
        ([21, 20], [21, 20]),
        ([-1, -10], [59, 50]),
        (pd.Index([25, 26]), [25, 26]),
        (np.isin(np.arange(N_ROWS), [30, 31]), [30, 31]),
        (np.array([35], dtype=np.uint64), [35]),
        ([], []),
    ]:
        model.add_labels(index, truth[rows] if np.ndim(index) else truth[rows[0]])
        known |= set(rows)
        assert np.flatnonzero(model._targets.labelled).tolist() == sorted(known)
        np.testing.assert_array_equal(model.transduction_[rows], truth[rows])


@each_case(one_a_class=True)
def test_a_row_that_is_named_twice_needs_one_label(case):
    X, _, truth = case.data()
    twice = [30, 31, 30 - N_ROWS]
    once = fitted(case).add_labels([30, 31], truth[[30, 31]])
    assert_same_outputs(fitted(case).add_labels(twice, truth[[30, 31, 30]]), once, X)
    with pytest.raises(ValueError, match="row 30 more than once"):
        once.add_labels(twice, truth[[30, 31, 31]])
    with pytest.raises(ValueError, match="row 30 more than once"):
        once.add_labels(twice, [truth[30], truth[31], case.marker])


@each_case(one_a_class=True)
def test_the_marker_removes_a_label(case):
    X, _, truth = case.data()
    model = fitted(case)
    model.add_labels([30], [truth[30]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # where the solver starts from, for instance
        model.add_labels([30, 45], [case.marker, None])  # row 45 never had one
    assert model._targets.labelled.sum() == N_LABELLED
    if not case.added_differs:
        atol = case.tol if case.iterates else 1e-12
        np.testing.assert_allclose(
            values_of(model, X), values_of(case.fitted(), X), rtol=0, atol=atol
        )


@each_case(classifier, one_a_class=True)
def test_a_class_that_loses_its_labels_is_gone(case):
    _, y, _ = case.data()
    third = np.flatnonzero(y == 2)
    model = fitted(case).add_labels(third, np.full(len(third), -1))
    assert model.classes_.tolist() == [0, 1]
    most = np.flatnonzero((y == 0) | (y == 2))
    with pytest.raises(ValueError, match="only 1 would still be labelled"):
        model.add_labels(most, np.full(len(most), -1))
    with pytest.raises(ValueError, match="none would still be labelled"):
        model.add_labels(np.arange(N_ROWS), np.full(N_ROWS, -1))
    assert model.classes_.tolist() == [0, 1]


@each_case(classifier, one_a_class=True)
def test_labels_of_another_type_are_refused_with_the_classes(case):
    model = fitted(case)
    for labels in (["1"], ["one"], [1, "one"]):
        with pytest.raises(ValueError, match=r"the classes are 0, 1, 2|mix types"):
            model.add_labels(range(20, 20 + len(labels)), labels)
    with pytest.raises(ValueError, match=r"[Uu]nknown label type|continuous"):
        model.add_labels([20], [0.5])
    assert_same_outputs(model, case.fitted(), case.data()[0])


@each_case(classifier, one_a_class=True)
def test_added_labels_that_can_be_misread_are_refused(case):
    X, y, _ = case.data()
    model = fit_quietly(case.new(), X, np.array(["b", "c", "d", None], dtype=object)[y])
    with pytest.raises(ValueError, match="'-1' is a class"):
        model.add_labels([20], ["-1"])
    with pytest.raises(ValueError, match="the classes are 'b', 'c', 'd'"):
        model.add_labels([20], [1])
    with pytest.warns(UserWarning, match="'nan' counts as a class"):
        model.add_labels([20], ["nan"])


@each_case(classifier, one_a_class=True)
@pytest.mark.parametrize(
    ("labels", "added", "dtype"),
    [
        (np.uint8([0, 1, 2, 9]), 3, np.uint8),
        (np.array(["a", "b", "c", "?"]), "long", "<U4"),
    ],
    ids=str,
)
def test_added_labels_keep_the_type_of_the_classes(case, labels, added, dtype):
    X, y, _ = case.data()
    marker = labels[-1].item()
    model = fit_quietly(case.new(unlabeled=marker), X, labels[y])
    assert model.classes_.dtype == labels.dtype
    model.add_labels([30, 31], [added, labels[0].item()])
    assert model.classes_.dtype == dtype
    assert model.classes_.tolist() == sorted({*labels[:-1].tolist(), added})
    assert model.transduction_[[30, 31]].tolist() == [added, labels[0].item()]


@each_case(classifier, one_a_class=True)
def test_truth_values_stay_truth_values(case):
    X, y, _ = case.data(2)
    model = fit_quietly(case.new(), X, np.array([False, True, None], dtype=object)[y])
    model.add_labels([30, 31], [True, 0])
    assert model.classes_.dtype == bool
    assert model.transduction_[[30, 31]].tolist() == [True, False]
    with pytest.raises(ValueError, match="the classes are False, True"):
        model.add_labels([30], [2])


@each_case(one_a_class=True)
def test_another_marker_does_not_remove_labels(case):
    X, y, truth = case.data()
    expected = fitted(case).add_labels([30], truth[[30]])
    model = fitted(case)
    model.set_params(unlabeled=y[1])  # which is a label of the last fit
    model.add_labels([30, 31], [truth[30], y[1]])  # and means that row 31 has none
    assert model._targets.labelled.sum() == N_LABELLED + 1
    if not case.iterates and not case.added_differs:
        assert_same_values(model, expected, X)


# ---------------------------------------------------------------- scores


def score_by_hand(case, y, found, weights):
    measure = accuracy_score if case.is_classifier else r2_score
    known = y != -1 if case.is_classifier else ~np.isnan(y)
    return measure(y[known], found[known], sample_weight=weights[known])


@each_case()
def test_rows_without_a_label_are_not_scored(case):
    X, y, truth = case.data()
    y = np.where(np.arange(N_ROWS) % 3 > 0, truth, case.marker)  # of rows that were not labelled
    model, weights = case.fitted(), np.linspace(1.0, 5.0, N_ROWS)
    expected = score_by_hand(case, y, model.predict(X), np.ones(N_ROWS))
    with pytest.warns(
        UserWarning, match="rows without a label are not scored.*LabeledKFold"
    ) as caught:
        assert model.score(X, y) == pytest.approx(expected, abs=1e-15)
    assert [warning.filename for warning in caught] == [__file__]
    weighted = score_by_hand(case, y, model.predict(X), weights)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert model.score(X, y, sample_weight=weights) == pytest.approx(weighted, abs=1e-15)
        scorer = labeled_scorer("accuracy" if case.is_classifier else "r2", unlabeled=case.marker)
        assert scorer(model, X, y) == pytest.approx(expected, abs=1e-15)
        objects = np.where(np.arange(N_ROWS) % 3 > 0, truth.astype(object), None)
        assert model.score(X, objects) == pytest.approx(expected, abs=1e-15)
    assert weighted != expected


@each_case(one_a_class=True)
def test_labelled_rows_are_scored_without_a_warning(case):
    X, _, truth = case.data()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = case.fitted().score(X, truth)
    assert found == score_by_hand(case, truth, case.fitted().predict(X), np.ones(N_ROWS))


@each_case(one_a_class=True)
def test_no_label_to_score_is_refused(case):
    X, _, _ = case.data()
    with pytest.raises(ValueError, match=r"none of the 60 rows.*LabeledKFold"):
        case.fitted().score(X, np.full(N_ROWS, case.marker))
    with pytest.raises(ValueError, match="samples"):
        case.fitted().score(X, np.zeros(N_ROWS - 1))


def inductive(case):
    return not case.is_transductive and not case.slow


@each_case(inductive, one_a_class=True)
def test_a_search_over_all_rows_scores_labelled_ones_and_names_the_splitter(case):
    X, y, _ = case.data()
    name, value = {True: ("verbose", 0), False: ("unlabeled", case.marker)}[case.has("verbose")]
    folds = KFold(3, shuffle=True, random_state=1)
    with pytest.warns(UserWarning, match="LabeledKFold") as caught:
        search = GridSearchCV(case.new(), {name: [value]}, cv=folds, refit=False).fit(X, y)
    assert sum("LabeledKFold" in str(item.message) for item in caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scorer = labeled_scorer("accuracy" if case.is_classifier else "r2", unlabeled=case.marker)
        expected = cross_val_score(case.new(), X, y, cv=folds, scoring=scorer)
    assert search.cv_results_["mean_test_score"][0] == pytest.approx(expected.mean(), abs=1e-12)


@each_case(inductive, one_a_class=True)
def test_labelled_folds_do_not_warn_of_rows_without_a_label(case):
    X, y, _ = case.data()
    cv = LabeledKFold(3, unlabeled=case.marker)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="rows without a label are not scored")
        assert np.isfinite(cross_val_score(case.new(), X, y, cv=cv, error_score="raise")).all()


# ---------------------------------------------------------------- one label per class


@each_case(one_a_class=True)
def test_one_label_per_class_is_enough(case, tmp_path):
    X, y, _ = case.data()
    known = np.arange(N_ROWS) < (3 if case.is_classifier else 1)
    model = fit_quietly(case.new(), X, np.where(known, y, case.marker))
    assert_finite(model, X)
    lapwing.save(model, tmp_path / "model")
    assert_same_outputs(lapwing.load(tmp_path / "model"), model, X)


@each_case(lambda case: case.has("cv"), one_a_class=True)
def test_labels_too_few_for_folds_are_warned_of(case):
    X, y, _ = case.data()
    reason = "(no class has two|a class has one) label" if case.is_classifier else "one row has"
    reason = f"^{reason}.*, so no label can be held out"
    known = np.arange(N_ROWS) < (3 if case.is_classifier else 1)
    with pytest.warns(UserWarning, match=reason) as caught:
        case.new().fit(X, np.where(known, y, case.marker))
    assert any(warning.filename == __file__ for warning in caught)
