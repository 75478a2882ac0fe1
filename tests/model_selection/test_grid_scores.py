"""Estimators that search a grid: folds, scores, and the table of results."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import get_scorer
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    LeaveOneOut,
    ShuffleSplit,
    StratifiedKFold,
)

from helpers.grid import (
    AXES,
    CLASSIFIERS,
    FEW,
    Recorder,
    blobs,
    moons,
    row_folds,
    targets,
)
from lapwing import (
    KNNGraph,
    LapRLSClassifierCV,
    LapRLSRegressorCV,
    LapSVC,
    LapSVCCV,
)
from lapwing.model_selection import LabeledKFold

# ---------------------------------------------------------------- folds


def losses_of(model, X, y):
    return model.fit(X, y).cv_results_["mean_test_loss"]


@pytest.mark.parametrize("Estimator", [LapSVCCV, LapRLSClassifierCV])
def test_equal_folds_in_different_forms(Estimator):
    X, y, _ = moons()
    known = np.flatnonzero(y != -1)
    model = Estimator(**FEW)
    expected = losses_of(clone(model).set_params(cv=3), X, y)
    rows = row_folds(y, known)
    # Iterables contain rows of X; unlabelled ones may be in either part and are ignored.
    others = np.flatnonzero(y == -1)
    crowded = [(np.append(others, a), np.append(b, others[::2])) for a, b in rows]
    masks = [(np.isin(np.arange(60), a), np.isin(np.arange(60), b)) for a, b in rows]
    for cv in (
        np.int64(3),
        StratifiedKFold(3),
        LabeledKFold(3, shuffle=False),
        rows,
        iter(rows),
        crowded,
        [(a.tolist(), b.tolist()) for a, b in rows],
        masks,
    ):
        found = losses_of(clone(model).set_params(cv=cv), X, y)
        np.testing.assert_allclose(found, expected, rtol=1e-9, err_msg=str(cv))


def test_splitters_see_the_labelled_rows_alone():
    X, y, _ = moons()
    known = np.flatnonzero(y != -1)
    asked = []

    class Spy(StratifiedKFold):
        def split(self, X, y, groups=None):
            asked.append((X, y))
            return super().split(X, y, groups)

    LapSVCCV(**FEW, cv=Spy(3)).fit(X, y)
    np.testing.assert_array_equal(asked[0][0], X[known])
    np.testing.assert_array_equal(asked[0][1], y[known])


def test_random_splits_are_scored_split_by_split():
    X, y, _ = moons()
    known = np.flatnonzero(y != -1)
    cv = ShuffleSplit(4, test_size=3, random_state=0)
    model = LapSVCCV(**FEW, cv=cv).fit(X, y)
    rows = [(known[a], known[b]) for a, b in cv.split(known)]
    same = LapSVCCV(**FEW, cv=rows).fit(X, y)
    assert model.n_splits_ == 4
    for key in [f"split{k}_test_score" for k in range(4)] + ["mean_test_loss"]:
        np.testing.assert_allclose(model.cv_results_[key], same.cv_results_[key])
    # Rows in neither part are not used at all: labels there change nothing.
    assert all(len(a) + len(b) <= len(known) for a, b in rows)


def test_folds_of_a_regression_are_not_stratified():
    X, y = targets()
    model = LapRLSRegressorCV(**FEW)
    expected = losses_of(clone(model).set_params(cv=KFold(4)), X, y)
    np.testing.assert_allclose(losses_of(clone(model).set_params(cv=4), X, y), expected)


@pytest.mark.parametrize("part", [0, 1])
def test_fold_without_labels_is_refused(part):
    X, y, _ = moons()
    known, others = np.flatnonzero(y != -1), np.flatnonzero(y == -1)
    fold = (others, known) if part == 0 else (known, others)
    with pytest.raises(ValueError, match=r"without a labelled row.*label more rows"):
        LapSVCCV(**FEW, cv=[fold]).fit(X, y)


def test_class_with_fewer_labels_than_folds_gets_the_warning_of_scikit_learn():
    X, y, _ = moons()
    y[np.flatnonzero(y == 1)[2:]] = -1
    with pytest.warns(UserWarning, match="least populated class") as caught:
        model = LapSVCCV(**FEW).fit(X, y)
    assert len(caught) == 1
    assert model.n_splits_ == 5
    assert np.isfinite(model.cv_results_["mean_test_loss"]).all()


@pytest.mark.parametrize("name", ["squared_hinge", "hinge", "squared"])
def test_fold_that_hides_a_class_is_learnt_from_the_other_alone(name):
    """One class left: the constant, and every row of the hidden class is wrong."""
    X, y, _ = moons()
    known = np.flatnonzero(y != -1)
    fold = (known[y[known] == 0], known)
    model = clone(CLASSIFIERS[name][0]).set_params(**FEW, cv=[fold], class_weight="balanced")
    model.fit(X, y)
    np.testing.assert_allclose(model.cv_results_["mean_test_score"], 0.5)


def test_more_folds_than_labels_is_one_fold_a_label():
    X, y = targets(n_labelled=6)
    model = LapRLSRegressorCV(**FEW, cv=50).fit(X, y)
    assert model.n_splits_ == 6
    same = LapRLSRegressorCV(**FEW, cv=LeaveOneOut()).fit(X, y)
    np.testing.assert_allclose(
        model.cv_results_["mean_test_loss"], same.cv_results_["mean_test_loss"]
    )


@pytest.mark.parametrize("n_labelled", [2, 4, 8])
def test_few_labels_of_each_class_work_by_default_or_say_what_to_do(n_labelled):
    X, y, _ = moons(n_labelled=n_labelled)
    try:
        LapSVCCV(**FEW).fit(X, y)
    except ValueError as error:
        assert re.search("cv|label", str(error))  # noqa: PT017


# ---------------------------------------------------------------- the table


def test_table_is_that_of_a_grid_search_without_times():
    X, y, _ = blobs()
    rows = row_folds(y, np.flatnonzero(y != -1))
    everything = [(np.setdiff1d(np.arange(len(X)), test), test) for _, test in rows]
    search = GridSearchCV(LapSVC(gamma=0.2), AXES, cv=everything).fit(X, y)
    model = LapSVCCV(gamma=0.2, **AXES, cv=everything).fit(X, y)
    theirs = {key for key in search.cv_results_ if not key.endswith("_time")}
    assert set(model.cv_results_) == theirs | {"mean_test_loss"}
    assert model.cv_results_["params"] == search.cv_results_["params"]
    for key in theirs - {"params"}:
        assert model.cv_results_[key].shape == search.cv_results_[key].shape == (6,)
        assert type(model.cv_results_[key]) is type(search.cv_results_[key])
        assert model.cv_results_[key].dtype.kind == search.cv_results_[key].dtype.kind
    for key in ("param_reg_ambient", "param_reg_manifold"):
        np.testing.assert_array_equal(model.cv_results_[key], search.cv_results_[key])
    splits = np.array([model.cv_results_[f"split{k}_test_score"] for k in range(3)])
    np.testing.assert_allclose(model.cv_results_["mean_test_score"], splits.mean(axis=0))
    np.testing.assert_allclose(model.cv_results_["std_test_score"], splits.std(axis=0))
    assert model.n_splits_ == search.n_splits_ == 3
    frame = pd.DataFrame(model.cv_results_)
    assert len(frame) == 6


class Scores:
    """A scorer that returns given scores, fold by fold."""

    def __init__(self, *scores):
        self.scores = list(scores)

    def __call__(self, estimator, X, y):
        return self.scores.pop(0)


def test_best_cell_has_the_best_mean_and_ranks_are_shared():
    X, y, _ = moons()
    model = LapSVCCV(**FEW, cv=2, scoring=Scores(0, 1, 1, 0.5, 0.5, 1, 0, 0)).fit(X, y)
    np.testing.assert_array_equal(model.cv_results_["mean_test_score"], [0.5, 0.75, 0.75, 0.0])
    np.testing.assert_array_equal(model.cv_results_["rank_test_score"], [3, 1, 1, 4])
    np.testing.assert_array_equal(model.cv_results_["std_test_score"], [0.5, 0.25, 0.25, 0.0])
    assert model.best_index_ in (1, 2)
    assert model.best_score_ == 0.75
    assert model.best_params_ == model.cv_results_["params"][model.best_index_]


@pytest.mark.parametrize("backwards", [False, True])
def test_ties_go_to_the_least_loss_on_the_rows_held_out(backwards):
    X, y, _ = moons()
    axes = {name: FEW[name][::-1] if backwards else FEW[name] for name in AXES}
    scoring = Scores(*[0.5] * 8)
    model = LapSVCCV(gamma=2.0, **axes, cv=2, scoring=scoring).fit(X, y)
    losses = model.cv_results_["mean_test_loss"]
    assert model.best_index_ == np.argmin(losses)
    assert model.best_index_ == (3 if backwards else 0)  # neither the first nor the last
    np.testing.assert_array_equal(model.cv_results_["rank_test_score"], 1)


def test_score_comes_before_the_loss():
    X, y, _ = moons()
    plain = LapSVCCV(**FEW, cv=2, scoring=Scores(*[0.5] * 8)).fit(X, y)
    worst = int(np.argmax(plain.cv_results_["mean_test_loss"]))
    for better, expected in ((0.6, worst), (np.nextafter(0.5, 1.0), plain.best_index_)):
        scores = [better if cell == worst else 0.5 for cell in range(4) for _ in range(2)]
        model = LapSVCCV(**FEW, cv=2, scoring=Scores(*scores)).fit(X, y)
        assert model.best_index_ == expected  # rounding is no better score


def test_cells_without_a_score_are_never_chosen():
    X, y, _ = moons()
    scores = [np.nan, 0.5, 0.1, 0.1, 0.2, 0.2, np.nan, np.nan]
    model = LapSVCCV(**FEW, cv=2, scoring=Scores(*scores)).fit(X, y)
    assert model.best_index_ == 2
    assert model.best_score_ == pytest.approx(0.2)


def test_cells_without_a_score_are_ranked_last():
    X, y, _ = moons()
    scores = [np.nan, 0.5, 0.1, 0.1, 0.2, 0.2, np.nan, np.nan]
    model = LapSVCCV(**FEW, cv=2, scoring=Scores(*scores)).fit(X, y)
    np.testing.assert_array_equal(model.cv_results_["rank_test_score"], [3, 2, 1, 3])


@pytest.mark.parametrize("name", ["accuracy", "balanced_accuracy", "f1_macro", "roc_auc"])
@pytest.mark.parametrize("texts", [False, True])
def test_scores_of_classes_by_name(name, texts):
    X, y, _ = blobs(n_classes=2 if name == "roc_auc" else 4)
    if texts:
        y = np.array([f"class {c}" if c >= 0 else None for c in y], dtype=object)
    known = np.flatnonzero([v is not None for v in y] if texts else y != -1)
    graph = KNNGraph(6).fit(X)
    codes = np.unique(y[known].astype(str if texts else int), return_inverse=True)[1]
    folds = [(known[a], known[b]) for a, b in StratifiedKFold(3).split(known, codes)]
    model = LapSVCCV(gamma=0.2, **AXES, graph=graph, cv=folds, scoring=name).fit(X, y)
    scorer, expected = get_scorer(name), []
    for cell in model.cv_results_["params"]:
        for _, test in folds:
            hidden = y.astype(object)
            hidden[test] = None
            alone = LapSVC(gamma=0.2, graph=graph, **cell).fit(X, hidden)
            expected.append(scorer(alone, X[test], y[test].astype(alone.classes_.dtype)))
    splits = np.array([model.cv_results_[f"split{k}_test_score"] for k in range(3)]).T
    np.testing.assert_allclose(splits, np.reshape(expected, (6, 3)), atol=1e-6)
    assert len(np.unique(splits)) > 2
    if name == "accuracy":
        plain = clone(model).set_params(scoring=None).fit(X, y)
        np.testing.assert_allclose(
            plain.cv_results_["mean_test_score"], model.cv_results_["mean_test_score"]
        )


@pytest.mark.parametrize("name", ["r2", "neg_mean_absolute_error", "neg_mean_squared_error"])
def test_scores_of_a_regression_by_name(name):
    X, y = targets()
    known = np.flatnonzero(~np.isnan(y))
    recorder = Recorder(name)
    model = LapRLSRegressorCV(**FEW, scoring=recorder).fit(X, y)
    named = LapRLSRegressorCV(**FEW, scoring=name).fit(X, y)
    np.testing.assert_array_equal(
        named.cv_results_["mean_test_score"], model.cv_results_["mean_test_score"]
    )
    errors = [values - y[known] for values, _ in recorder.seen]
    expected = {
        "r2": lambda e: 1 - (e**2).sum() / ((y[known] - y[known].mean()) ** 2).sum(),
        "neg_mean_absolute_error": lambda e: -np.abs(e).mean(),
        "neg_mean_squared_error": lambda e: -(e**2).mean(),
    }[name]
    np.testing.assert_allclose(
        named.cv_results_["mean_test_score"], [expected(e) for e in errors], rtol=1e-12
    )
    assert named.best_index_ == np.argmax(named.cv_results_["mean_test_score"])


def test_unknown_score_is_refused():
    X, y, _ = moons()
    with pytest.raises(ValueError, match="nonsense"):
        LapSVCCV(**FEW, scoring="nonsense").fit(X, y)
