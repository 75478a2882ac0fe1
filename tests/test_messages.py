"""Warnings point to the user's line, and progress is one line."""

import subprocess
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from inspect import currentframe

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lapwing import KNNGraph, LabeledKFold, LapRLSRegressor, LapSVC, LapSVCCV
from lapwing.messages import ProgressLine, warn

# Two clusters of 20 rows, and a third one that no label reaches.
X = np.concatenate([np.linspace(start, start + 1, 20) for start in (0, 9, 99)])[:, None]
Y = np.full(60, -1)
Y[[0, 10, 19, 20, 30, 39]] = 0, 0, 0, 1, 1, 1


def line():
    """The number of the line of the caller."""
    return currentframe().f_back.f_lineno


def model(**parameters):
    return LapSVC(graph=KNNGraph(4), **parameters)


@pytest.fixture
def caught():
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        yield found


def reported(caught, text="no label reaches"):
    """Lines of this file at which such a warning was reported."""
    found = [item for item in caught if text in str(item.message)]
    assert found
    assert {item.filename for item in found} == {__file__}
    return {item.lineno for item in found}


# ---------------------------------------------------------------- where a warning is reported


def test_a_fit(caught):
    here = line() + 1
    model().fit(X, Y)
    assert reported(caught) == {here}


def test_labels_added_later(caught):
    fitted = model().fit(X, Y)
    caught.clear()
    here = line() + 1
    fitted.add_labels([3], [0])
    assert reported(caught) == {here}


def test_an_estimator_with_a_grid(caught):
    here = line() + 1
    LapSVCCV(graph=KNNGraph(4), reg_ambient=[1.0], reg_manifold=[1.0], cv=2).fit(X, Y)
    assert reported(caught) == {here}


def test_a_solver_that_does_not_converge(caught):
    y = np.where(Y < 0, np.nan, Y)
    here = line() + 1
    LapRLSRegressor(solver="pcg", max_iter=1, tol=1e-12, graph=KNNGraph(4)).fit(X, y)
    assert {item.lineno for item in caught if item.category is ConvergenceWarning} == {here}


def test_a_splitter(caught):
    here = line() + 1
    LabeledKFold(5).split(X, Y)
    assert reported(caught, "fewer labelled rows than n_splits") == {here}


def test_a_function_of_the_user_between(caught):
    def fit():
        return model().fit(X, Y), line()

    _, here = fit()
    assert reported(caught) == {here}


def test_a_pipeline(caught):
    pipeline = make_pipeline(StandardScaler(), model())
    here = line() + 1
    pipeline.fit(X, Y)
    assert reported(caught) == {here}


def test_searches_and_scores_of_scikit_learn(caught):
    search = GridSearchCV(model(), {"reg_ambient": [0.1, 1.0]}, cv=LabeledKFold(2))
    here = line() + 1
    search.fit(X, Y)
    assert reported(caught) == {here}
    caught.clear()
    here = line() + 1
    cross_val_score(model(), X, Y, cv=LabeledKFold(2))
    assert reported(caught) == {here}


def test_threads(caught):
    lines = []

    def work():
        lines.append(line() + 1)
        model().fit(X, Y)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: work(), range(2)))
    assert reported(caught) == set(lines)


def test_a_thread_without_a_frame_of_the_user(caught):
    """There is no line of the user to report; the warning is issued all the same."""
    thread = threading.Thread(target=model().fit, args=(X, Y))
    thread.start()
    thread.join()
    assert any("no label reaches" in str(item.message) for item in caught)


def test_a_script(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import numpy as np\n"
        "from lapwing import KNNGraph, LapSVC\n"
        "X = np.append(np.linspace(0, 1, 20), np.linspace(99, 100, 20))[:, None]\n"
        "y = np.full(40, -1)\n"
        "y[[0, 19]] = 0, 1\n"
        "model = LapSVC(graph=KNNGraph(4))\n"
        "model.fit(X, y)  # line 7\n"
    )
    run = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    first, second, *rest = run.stderr.splitlines()
    assert first.startswith(f"{script}:7: UserWarning: 20 rows lie in parts of the graph")
    assert second == "  model.fit(X, y)  # line 7"
    assert rest == []


def test_a_search_repeats_nothing(tmp_path):
    """Once per search, whatever scikit-learn does to the filters; another search warns again."""
    script = tmp_path / "script.py"
    script.write_text(
        "import numpy as np\n"
        "from sklearn.model_selection import GridSearchCV, cross_val_score\n"
        "from lapwing import LapSVC\n"
        "X = np.linspace(0, 1, 61)[:, None]\n"
        "y = np.where(np.arange(61) < 21, np.arange(61) % 2, -1)\n"
        "search = GridSearchCV(LapSVC(), {'reg_ambient': [0.1, 1.0]}, cv=3)\n"
        "search.fit(X, y)  # line 7\n"
        "search.fit(X, y)  # line 8\n"
        "cross_val_score(LapSVC(), X, y, cv=3)  # line 9\n"
    )
    program = [sys.executable, "-W", "default::UserWarning", script]
    run = subprocess.run(program, capture_output=True, text=True, check=True)
    found = [line for line in run.stderr.splitlines() if "cv=LabeledKFold()" in line]
    assert [line.split(":")[1] for line in found] == ["7", "8", "9"]


def test_calls_without_scikit_learn_are_not_counted(caught):
    fitted = model().fit(X, Y)
    for _ in range(2):
        caught.clear()
        fitted.score(X, Y)
        assert len(reported(caught, "not scored")) == len(caught) == 1


def test_the_category(caught):
    warn("a", ConvergenceWarning)
    warn("b")
    assert [item.category for item in caught] == [ConvergenceWarning, UserWarning]
    assert caught[1].lineno == caught[0].lineno + 1


# ---------------------------------------------------------------- progress


def test_a_progress_line_is_rewritten_and_ended_once(capsys):
    progress = ProgressLine("solver")
    progress.show("iteration 1")
    progress.show("iteration 1")  # not shown again
    progress.show("iteration 2")
    progress.close()
    progress.close()
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "\rsolver: iteration 1   \rsolver: iteration 2   \n"


def test_a_progress_line_that_was_never_shown_leaves_nothing(capsys):
    ProgressLine("solver").close()
    assert capsys.readouterr().err == ""


def test_verbose_estimators_show_progress(capsys):
    y = np.where(Y < 0, np.nan, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        LapRLSRegressor(solver="pcg", verbose=1, graph=KNNGraph(4)).fit(X, y)
        shown = capsys.readouterr()
        LapRLSRegressor(solver="pcg", graph=KNNGraph(4)).fit(X, y)
    assert shown.out == ""
    assert shown.err.startswith("\rpcg: iteration ")
    assert shown.err.endswith("\n")
    assert shown.err.count("\n") == 1
    assert capsys.readouterr().err == ""
