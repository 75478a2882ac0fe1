"""The report of the default: short in a terminal, safe in a notebook, in words that are true."""

import re
import warnings
from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, make_moons

import lapwing
from lapwing import SemiSupervisedClassifier, SemiSupervisedRegressor
from lapwing.auto.candidate_settings import GRAPH, MANIFOLD, SETTINGS, SUPERVISED
from lapwing.auto.folds import Folds
from lapwing.auto.report_words import explain, settings_text
from lapwing.auto.selection import Candidate, Selected

HOSTILE = "<script>alert({0})</script>\x1b[31m\u202e\n{0}" + 50 * "x"
TAGS = {
    "div",
    "style",
    "p",
    "b",
    "br",
    "span",
    "i",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
} | {
    "ul",
    "li",
    "details",
    "summary",
}


class Tags(HTMLParser):
    """Collects elements, which must be closed in order, their attributes and the text."""

    def __init__(self, text):
        super().__init__()
        self.names, self.attributes, self.text, self.open = set(), set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.names.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture(scope="module")
def many():
    """A model of 100 classes with hostile names, most of which have one label."""
    rng = np.random.default_rng(0)
    truth = np.arange(200) % 100
    X = 9 * rng.standard_normal((100, 3))[truth] + rng.standard_normal((200, 3))
    y = np.array([HOSTILE.format(k) for k in truth], dtype=object)
    y[110:] = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of scikit-learn: so many classes
        return SemiSupervisedClassifier(method="graph").fit(X, y)


@pytest.fixture(scope="module")
def moons():
    X, truth = make_moons(120, noise=0.1, random_state=0)
    return SemiSupervisedClassifier().fit(X, np.where(np.arange(120) < 20, truth, -1))


def test_repr_fits_a_terminal(many, moons, tmp_path):
    regressor = SemiSupervisedRegressor().fit(
        moons.X_fit_, np.where(np.arange(120) < 20, moons.X_fit_[:, 0], np.nan)
    )
    for model in (many, moons, regressor):
        report = model.report_
        lines = repr(report).splitlines()
        assert 3 <= len(lines) <= 6
        assert max(map(len, lines)) <= 79
        assert lines[0].startswith("SelectionReport: ")
        assert report.chosen in lines[0]
        assert max(map(len, str(report).splitlines())) <= 79
        assert len(str(report).splitlines()) < 40
        lapwing.save(model, tmp_path / "model.lapwing")
        again = lapwing.load(tmp_path / "model.lapwing").report_
        assert repr(again) == repr(report)
        assert str(again) == str(report)
        assert again._repr_html_() == report._repr_html_()
    assert "accuracy" in repr(moons.report_)
    assert "R²" in repr(regressor.report_)


def test_hostile_names_stay_text(many):
    report = many.report_
    assert any("<script>" in message for message in report.warnings)  # the names are there
    assert all(c.isprintable() or c == "\n" for c in f"{report}{report!r}")
    text = report._repr_html_()
    found = Tags(text)
    assert found.open == []
    assert found.names <= TAGS
    assert found.attributes <= {"class", "style"}
    assert r"</script>\x1b[31m\u202e\n" in "".join(found.text)
    assert "\x1b" not in text
    assert len(text) < 20_000


def test_html_shows_the_numbers(moons):
    report = moons.report_
    text = "".join(Tags(report._repr_html_()).text)
    assert f"accuracy {100 * report.score:.1f} % ± {100 * report.spread:.1f}" in text
    assert f"All {len(report.candidates)} candidates" in text
    assert report.reason in text
    for candidate in report.candidates:
        assert settings_text(candidate["settings"]) in text
    moons.add_labels([60], [moons.transduction_[60]])
    later = "labels were added later"
    assert later in str(moons.report_)
    assert later.capitalize() in moons.report_._repr_html_()
    assert later not in str(report)


def test_nothing_can_be_held_out():
    X, truth = make_moons(60, noise=0.1, random_state=0)
    y = np.full(60, -1)
    first = [np.flatnonzero(truth == c)[0] for c in (0, 1)]
    y[first] = truth[first]
    report = SemiSupervisedClassifier().fit(X, y).report_
    assert "accuracy unknown: no label could be held out" in repr(report)
    for text in (repr(report), str(report), report._repr_html_()):
        assert "nan" not in text.lower().replace("\u202f", "")
    cells = [line.split() for line in str(report).splitlines() if line.startswith("supervised ")]
    assert cells[0][1:4] == ["unknown"] * 3


def test_settings_are_words():
    texts = [settings_text(settings) for own in SETTINGS.values() for settings in own]
    for text in texts:
        assert "None" not in text
        assert "width" not in text
    for own in SETTINGS.values():
        assert len({settings_text(settings) for settings in own}) == len(own)
    assert settings_text({"width": None, "reg": 0.01}) == "linear kernel, regularisation 0.01"


def selected(supervised, other, *, shares, spread=0.05):
    """Two scored candidates, as a selection with a fold."""
    candidates = [
        Candidate(SUPERVISED, {}, score=supervised, spread=spread, weight=shares[0]),
        Candidate(MANIFOLD, {}, score=other, spread=spread, weight=shares[1]),
    ]
    folds = Folds(None, [(np.array([0]), np.array([1]))], np.arange(2))
    return Selected(folds, [], candidates)


@pytest.mark.parametrize(
    ("supervised", "other", "shares", "chosen", "words"),
    [
        (0.80, 0.90, (0.2, 0.8), MANIFOLD, "larger than the standard error (5.0 points), so"),
        (0.80, 0.90, (0.0, 1.0), MANIFOLD, "(5.0 points), and only models that use unlabelled ro"),
        (0.80, 0.90, (0.6, 0.4), SUPERVISED, "larger than the standard error (5.0 points), so"),
        (0.80, 0.83, (0.6, 0.4), SUPERVISED, "within the standard error (5.0 points), so models"),
        (0.80, 0.83, (0.4, 0.6), MANIFOLD, "within the standard error (5.0 points), so models"),
        (0.80, 0.78, (0.7, 0.3), SUPERVISED, "not better than the second, but close enough to"),
        (0.80, 0.78, (1.0, 0.0), SUPERVISED, "better than the second, and unlabelled rows are not"),
    ],
)
def test_reason_says_what_was_compared(supervised, other, shares, chosen, words):
    text = explain("auto", "accuracy", selected(supervised, other, shares=shares), chosen)
    assert words in text
    assert f"uses unlabelled rows scores {100 * other:.1f} %" in text
    assert f"the best one that does not {100 * supervised:.1f} %" in text
    assert f"The {chosen} family" in text
    assert ("supervised 60 %, manifold 40 %" in text) == (shares == (0.6, 0.4))
    share = f"models that use unlabelled rows have {100 * shares[1]:.0f} % of the prediction"
    assert (share in text) == (0.0 < shares[1] < 1.0)


@pytest.mark.parametrize("seed", range(3))
def test_the_tables_have_the_scores_of_the_explanation(seed):
    """And the shares that it names are those of the blend."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((80, 4))
    y = np.where(np.arange(80) < 16, X[:, 0] + X[:, 1] > 0, -1)  # neighbours do not help here
    report = SemiSupervisedClassifier().fit(X, y).report_
    scored = re.findall(r"(?:rows scores|does not) ([0-9.]+ %)", report.reason)
    assert len(scored) == 2
    text = str(report)
    table = text[text.index("combined  share") :]
    html = "".join(f"[{part}]" for part in Tags(report._repr_html_()).text)
    for score in scored:
        assert score in table
        assert html.count(f"[{score}]") >= 2  # of a family, and among all candidates
    assert f"blend       {100 * report.score:>8.1f} %" in table
    share = sum(one["weight"] for one in report.candidates if not one["supervised"])
    words = f"models that use unlabelled rows have {100 * share:.0f} % of the prediction"
    assert (words in report.reason) == (0.0 < share < 1.0)
    assert ("unlabelled rows are not used" in report.reason) == (share == 0.0)


def test_reason_of_a_given_method():
    text = explain(GRAPH, "accuracy", selected(0.8, 0.9, shares=(0.0, 1.0)), GRAPH)
    assert text == "Only the graph family is used, as method='graph' says."


def test_notes_do_not_contradict_the_reason():
    """Unlabelled rows are said to hurt only where no model that uses them has a share."""
    X, target = load_diabetes(return_X_y=True)
    for l in (20, 40, 80, 160):
        y = np.where(np.arange(len(target)) < l, target, np.nan)
        report = SemiSupervisedRegressor().fit(X, y).report_
        used = sum(c["weight"] for c in report.candidates if not c["supervised"]) >= 0.005
        hurt = any("hurt" in note for note in report.warnings)
        assert not (used and hurt)
        assert used != ("unlabelled rows are not used" in report.reason)


@pytest.mark.parametrize("n_targets", [1, 2, 3])
def test_few_targets_cannot_be_compared(n_targets):
    X, target = load_diabetes(return_X_y=True)
    y = np.where(np.arange(len(target)) < n_targets, target, np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = SemiSupervisedRegressor().fit(X, y).report_
    assert "fewer than 4 targets" in report.reason
    assert "class" not in report.reason
    assert np.isnan(report.score)
    assert "candidates fitted in" in repr(report)


def test_every_row_labelled_has_no_combined_score():
    X, truth = make_moons(60, noise=0.1, random_state=0)
    report = SemiSupervisedClassifier().fit(X, truth).report_
    line = next(line for line in str(report).splitlines() if line.startswith("supervised "))
    assert line.split()[-4:-2] == ["unknown", "unknown"]
    best = max(report.candidates, key=lambda candidate: candidate["score"])
    assert f"{100 * best['score']:.1f} %" in line


def test_families_that_do_not_fit_into_memory_are_named():
    X, truth = make_moons(200, noise=0.1, random_state=0)
    y = np.where(np.arange(200) < 10, truth, -1)
    small = SemiSupervisedClassifier(memory_limit="1MB").fit(X, y).report_
    assert any("manifold and margin families are not tried" in note for note in small.warnings)
    large = SemiSupervisedClassifier().fit(X, y).report_
    assert not any("not tried" in note for note in large.warnings)
    regression = SemiSupervisedRegressor(memory_limit="1MB").fit(
        X, np.where(y < 0, np.nan, X[:, 0])
    )
    assert any("the manifold family is not tried" in n for n in regression.report_.warnings)
