"""The command line: the table and the picture of the demo, exit codes."""

import re
import subprocess
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from sklearn.base import is_classifier

import lapwing
from lapwing.cli import demo, main

METHODS = (
    "supervised SVM",
    "LapSVC, squared hinge",
    "LapSVC, hinge",
    "LapRLSClassifier",
    "LapSVCCV",
    "LapRLSClassifierCV",
    "LapSVCPath",
    "LapESVC",
    "LapERLSClassifier",
    "S3VC, rbf kernel",
    "PVMClassifier",
    "PVMClassifier, hinge",
    "LGCClassifier",
    "NystromLGCClassifier",
    "NFIClassifier",
    "AnchorGraphClassifier",
    "EigenfunctionClassifier",
)


def accuracies(text: str) -> dict[str, tuple[float, float]]:
    """Return accuracy on unlabelled and on new rows of every method in the table."""
    found = {}
    for line in text.splitlines():
        for method in METHODS:
            if line.startswith((f"{method}  ", f"{method} (")):
                means = re.findall(r"(\d+\.\d)(?: ± +\d+\.\d)?(?=  )", line)
                found[method] = tuple(map(float, means))
    return found


@dataclass
class Demonstration:
    """A run of the demo: what it printed, where, and its scores."""

    out: str
    err: str
    folder: Path
    scores: list[Any]


@pytest.fixture(scope="module")
def demonstration(tmp_path_factory):
    """Two draws, without a picture; all methods are fitted once for all tests."""
    run = Demonstration("", "", tmp_path_factory.mktemp("demo"), [])

    def compare(draws, compare=demo.compare):
        run.scores = compare(draws)
        return run.scores

    out, err = StringIO(), StringIO()
    with (
        pytest.MonkeyPatch.context() as patch,
        chdir(run.folder),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        patch.setattr(demo, "compare", compare)
        assert main(["demo", "--draws", "2", "--no-picture"]) == 0
    run.out, run.err = out.getvalue(), err.getvalue()
    return run


@pytest.fixture
def first_draw(demonstration, monkeypatch):
    """Instead of fitting, take the scores of the first draw."""
    lists = ("unlabelled", "new", "seconds", "models")
    first = [
        replace(scores, **{name: getattr(scores, name)[:1] for name in lists})
        for scores in demonstration.scores
    ]
    monkeypatch.setattr(demo, "compare", lambda draws: first)


def test_table_has_every_method_and_unlabelled_rows_help(demonstration):
    assert demonstration.err == ""
    assert "20 labelled, 1333 unlabelled and 444 new rows" in demonstration.out
    scores = accuracies(demonstration.out)
    assert tuple(scores) == METHODS
    supervised = scores.pop("supervised SVM")
    for method, pair in scores.items():
        assert len(pair) == (1 if method in demo.TRANSDUCTIVE else 2)
        # Digits form manifolds rather than clusters with gaps: S3VC gains less.
        # The density of their pixels is not a product: eigenfunctions gain nothing.
        gain = {"S3VC, rbf kernel": 1, "EigenfunctionClassifier": -5}
        least = gain.get(method, 5)
        assert all(ours > theirs + least for ours, theirs in zip(pair, supervised, strict=False))


def test_table_has_every_classifier():
    public = (getattr(lapwing, name) for name in lapwing.__all__)
    classifiers = {thing for thing in public if hasattr(thing, "fit") and is_classifier(thing())}
    assert classifiers
    assert classifiers <= {type(estimator) for estimator in demo.methods().values()}


def test_picture_is_written(first_draw, capsys, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(demo, "plane", lambda X: X[:, [20, 36]])  # t-SNE takes seconds
    out = tmp_path / "digits.png"
    assert main(["demo", "--draws", "1", "--out", str(out)]) == 0
    assert out.read_bytes().startswith(b"\x89PNG")
    assert f"Picture: {out}" in capsys.readouterr().out


def test_no_picture_writes_nothing(demonstration):
    assert list(demonstration.folder.iterdir()) == []


def test_without_matplotlib_the_table_is_printed(first_draw, capsys, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.chdir(tmp_path)
    assert main(["demo", "--draws", "1"]) == 0
    printed = capsys.readouterr().out
    assert tuple(accuracies(printed)) == METHODS
    assert 'pip install "lapwing[plot]"' in printed
    assert list(tmp_path.iterdir()) == []


def test_draws_depend_on_the_seed_alone():
    first, again, other = (next(demo.draw_labels(1, seed)) for seed in (0, 0, 1))
    assert (first.X == again.X).all()
    assert (first.y == again.y).all()
    assert (first.X != other.X).any()
    assert first.labelled.sum() == 20
    assert len(first.y) + len(first.truth_new) == 1797


def test_map_of_the_digits_has_two_coordinates():
    X = next(demo.draw_labels(1, 0)).X[:150]
    assert demo.plane(X).shape == (150, 2)


def test_version(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"lapwing {lapwing.__version__}\n"


@pytest.mark.parametrize(
    "arguments",
    [[], ["fly"], ["demo", "--draws", "0"], ["demo", "--seed", "-1"], ["demo", "--seed", "x"]],
)
def test_invalid_arguments(arguments, capsys):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert "usage: lapwing" in capsys.readouterr().err


def test_missing_folder_is_an_error_before_anything_is_fitted(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(demo, "compare", lambda draws: pytest.fail("models were fitted"))
    for out in (tmp_path / "missing" / "a.png", tmp_path):
        assert main(["demo", "--out", str(out)]) == 1
        printed = capsys.readouterr()
        assert printed.out == ""
        assert printed.err.startswith("lapwing demo: error: --out")


def test_interrupt(capsys, monkeypatch):
    def interrupt(draws):
        raise KeyboardInterrupt

    monkeypatch.setattr(demo, "compare", interrupt)
    assert main(["demo", "--no-picture"]) == 130
    assert capsys.readouterr().err == "lapwing: interrupted\n"


def test_the_command_runs_as_a_module():
    run = subprocess.run(
        [sys.executable, "-m", "lapwing", "--help"], capture_output=True, text=True, check=True
    )
    assert "lapwing" in run.stdout
