"""Displays read results and draw them; without matplotlib the error says what to install."""

import io
import sys

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.exceptions import NotFittedError

from lapwing import LapSVC, PVMClassifier
from lapwing.displays import (
    AccuracyDisplay,
    ConvergenceDisplay,
    TransductionDisplay,
    new_figure,
)


@pytest.fixture(scope="module")
def moons():
    X, truth = make_moons(120, noise=0.05, random_state=0)
    y = np.full(120, -1)
    y[:6] = truth[:6]
    return X, y, truth


@pytest.fixture
def ax():
    pytest.importorskip("matplotlib")
    return new_figure().subplots()


def test_convergence_without_certificate_draws_the_objective(moons, ax):
    X, y, _ = moons
    model = LapSVC(gamma=2.0, solver="pcg").fit(X, y)
    display = ConvergenceDisplay.from_estimator(model, ax=ax)
    history = model.result_.history
    (line,) = display.lines_
    np.testing.assert_array_equal(line.get_xdata(), [step["passes"] for step in history])
    np.testing.assert_array_equal(line.get_ydata(), [step["objective"] for step in history])
    assert ax.get_yscale() == "log"
    assert display.tolerance is None


def test_convergence_of_an_exact_solver_is_one_point(moons, ax):
    X, y, _ = moons
    display = ConvergenceDisplay.from_estimator(LapSVC(gamma=2.0).fit(X, y), ax=ax)
    assert len(display.passes) == 1
    display.figure_.savefig(io.BytesIO())


def test_convergence_omits_unknown_gaps(ax):
    display = ConvergenceDisplay(
        [1, 2, 3], [5.0, 4.0, 3.0], [np.inf, np.nan, 0.1], tolerance=0.2
    ).plot(ax=ax)
    np.testing.assert_array_equal(display.lines_[1].get_xdata(), [3])
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["objective", "distance to the optimum", "tol × objective"]


def test_convergence_needs_iterations(moons):
    X, y, _ = moons
    with pytest.raises(ValueError, match="no iterations to draw"):
        ConvergenceDisplay.from_estimator(PVMClassifier(n_prototypes=20).fit(X, y))


def test_convergence_needs_a_fit():
    with pytest.raises(NotFittedError):
        ConvergenceDisplay.from_estimator(LapSVC())


def test_transduction_marks_labels_and_errors(moons, ax):
    X, y, truth = moons
    model = LapSVC(gamma=2.0).fit(X, y)
    wrong_truth = truth.copy()
    wrong_truth[10:13] = 1 - model.transduction_[10:13]
    wrong_truth[13:] = model.transduction_[13:]
    display = TransductionDisplay.from_estimator(model, y != -1, truth=wrong_truth, ax=ax)
    assert display.errors.sum() == 3
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["labelled (6)", "black: wrong (3)"]


def test_transduction_names_longer_classes(ax):
    display = TransductionDisplay([[0, 0], [1, 1]], ["cat", "dog"], [1, 0], ["cat", "cat"])
    display.plot(ax=ax)
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["cat", "dog", "labelled (1)", "wrong (1)"]


def test_transduction_requires_two_coordinates():
    with pytest.raises(ValueError, match="two coordinates per row"):
        TransductionDisplay(np.zeros((3, 5)), ["a", "b", "b"], [True, True, False])


def test_accuracy_draws_a_bar_for_each_method_and_group_of_rows(ax):
    accuracy = {"unlabelled rows": [[0.7, 0.8], [0.9, 1.0]], "new rows": [[0.6, 0.6], [0.8, 0.9]]}
    AccuracyDisplay(["SVC", "LapSVC"], accuracy).plot(ax=ax)
    np.testing.assert_allclose([bar.get_width() for bar in ax.patches], [75, 95, 60, 85])
    assert [label.get_text() for label in ax.get_yticklabels()] == ["SVC", "LapSVC"]


def test_accuracy_requires_one_row_per_method():
    with pytest.raises(ValueError, match="one row for each of the 2 methods"):
        AccuracyDisplay(["SVC", "LapSVC"], {"new rows": [[0.5, 0.6]]})


def test_new_axes_are_created_by_default():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("Agg")
    display = ConvergenceDisplay([1, 2], [2.0, 1.0], [np.nan, np.nan]).plot()
    assert display.figure_ is pyplot.gcf()
    pyplot.close(display.figure_)


def test_message_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r'pip install "lapwing\[plot\]"'):
        new_figure()
    with pytest.raises(ImportError, match="lapwing"):
        ConvergenceDisplay([1], [1.0], [np.nan]).plot()
