"""The page of a fitted model: it shows the report, is safe and small, and its script works."""

import json
import math
import re
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.datasets import load_digits, make_moons
from sklearn.exceptions import NotFittedError

import lapwing
from helpers import browser
from lapwing import KNNGraph
from lapwing.displays.model_page import make_page
from lapwing.displays.model_words import snippet, verdict
from lapwing.displays.page import plain, script_json

NASTY = "</script><b>"
HOSTILE = ("\"'><img src=x onerror=alert(1)>", "a & b", NASTY)


class FakeModel(BaseEstimator):
    """Has the attributes that the page reads; fits nothing."""

    def __init__(self, random_state=None, unlabeled=-1):
        self.random_state = random_state
        self.unlabeled = unlabeled

    def fit(self, X, y):
        return self

    def suggest(self, n):
        return np.setdiff1d(np.arange(len(self.transduction_)), self.labelled_)[::3][:n]


def fake_report(**changes):
    """A report as a fit produces it, with some entries changed."""
    candidates = [
        candidate("LapSVC", 0.912, 0.75, {"gamma": 0.5, "reg_manifold": 1.0}, seconds=2.5),
        candidate("PVMClassifier", 0.874, 0.0, {"n_prototypes": 200}, seconds=0.4),
        candidate("LapERLSClassifier", 0.9, 0.25, {"n_eigenvectors": 20}, seconds=11.0),
        candidate("SVC", 0.811, 0.0, {"C": math.inf}, seconds=0.1, supervised=True),
        candidate("S3VC", math.nan, 0.0, {}, seconds=math.nan),
    ]
    report = {
        "metric": "accuracy",
        "score": 0.917,
        "spread": 0.021,
        "supervised_score": 0.811,
        "supervised_spread": 0.034,
        "chosen": "a blend of LapSVC and LapERLSClassifier",
        "reason": "Both are within one standard error of the best.",
        "warnings": ["Two classes have fewer than 5 labels: label more of them."],
        "candidates": candidates,
        "curve": [
            {"family": family, "reg": 10.0**e, "score": top - 0.02 * (e + 2) ** 2, "spread": 0.02}
            for family, top in (("LapSVC", 0.912), ("LapERLSClassifier", 0.9))
            for e in range(-5, 2)
        ],
        "labels": 30,
        "rows": 300,
        "columns": 2,
        "confusion": [[9, 1, 0], [2, 8, 0], [0, 0, 10]],
        "settings": {"version": lapwing.__version__, "seed": 0, "n_neighbors": 10, "cv": (5, 2)},
    }
    return report | changes


def candidate(family, score, weight, settings, *, seconds, supervised=False):
    return {
        "family": family,
        "settings": settings,
        "score": score,
        "spread": 0.02,
        "seconds": seconds,
        "weight": weight,
        "supervised": supervised,
    }


def as_report(entries):
    return SimpleNamespace(to_dict=lambda: entries)


def fake_classifier(n=300, classes=("ash", "birch", "cedar"), labels=30, graph=None, **report):
    rng = np.random.default_rng(0)
    model = FakeModel()
    truth = np.arange(n) % len(classes)
    angle = 2 * np.pi * truth / len(classes)
    model.map_ = np.column_stack([np.cos(angle), np.sin(angle)]) + rng.normal(0, 0.3, (n, 2))
    model.map_kind_ = "Laplacian eigenvectors"
    model.classes_ = np.array(classes)
    model.label_distributions_ = rng.dirichlet(np.ones(len(classes)), n) + 2 * np.eye(len(classes))[
        truth
    ] * rng.uniform(size=(n, 1))
    model.label_distributions_ /= model.label_distributions_.sum(axis=1, keepdims=True)
    model.transduction_ = model.classes_[model.label_distributions_.argmax(axis=1)]
    model.supervised_transduction_ = model.classes_[
        np.where(rng.uniform(size=n) < 0.1, 0, model.label_distributions_.argmax(axis=1))
    ]
    model.labelled_ = np.arange(labels)
    model.label_reach_ = np.ones(n, dtype=bool)
    model.graph_ = graph or KNNGraph(5).fit(model.map_)
    model.report_ = as_report(fake_report(rows=n, labels=labels, **report))
    return model


def fake_regressor(n=200, labels=40):
    rng = np.random.default_rng(1)
    model = FakeModel()
    model.map_ = rng.normal(size=(n, 2))
    model.map_kind_ = "PCA"
    model.transduction_ = model.map_[:, 0] + 1.0
    model.supervised_transduction_ = model.transduction_ + rng.normal(0, 0.3, n)
    model.labelled_ = np.arange(labels)
    model.label_reach_ = np.ones(n, dtype=bool)
    model.graph_ = KNNGraph(5).fit(model.map_)
    truth = rng.normal(size=labels)
    held_out = {"truth": truth, "predicted": truth + rng.normal(0, 0.3, labels)}
    entries = fake_report(metric="R²", rows=n, labels=labels, held_out=held_out)
    del entries["confusion"]
    model.report_ = as_report(entries)
    return model


def embedded(text):
    """The data of a page."""
    return json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])


# ---------------------------------------------------------------- contents of the page


def test_page_loads_nothing_and_needs_no_plotting_library(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    text = make_page(fake_classifier(), title="Trees", source="trees.csv")
    assert not re.search(r"https?:|//[a-z]+\.[a-z]|<link|<img|src=|@import|url\(", text)
    assert "300 rows, 30 of them labelled; 2 columns, 3 classes. Source: trees.csv." in text
    assert len(re.findall("</script>", text)) == 3  # the theme, the data and the script


def test_hostile_names_stay_text():
    model = fake_classifier(classes=HOSTILE, chosen=NASTY, reason=NASTY, warnings=[NASTY])
    model.report_.to_dict()["candidates"][0]["settings"][NASTY] = NASTY
    model.map_kind_ = NASTY
    ids = [f"{NASTY}{i}" for i in range(300)]
    text = make_page(model, title=f"<i>{NASTY}", ids=ids, source=NASTY)
    assert NASTY not in text
    assert "<b>" not in text
    assert "<i>" not in text
    assert "<img" not in text
    assert len(re.findall("</script>", text)) == 3
    data = embedded(text)
    assert data["classes"] == list(HOSTILE)
    assert data["map"]["name"][7] == ids[7]


def test_data_are_those_of_the_model():
    model = fake_classifier()
    model.map_[5] = np.nan
    model.label_distributions_[6] = np.nan
    data = embedded(make_page(model, title="Trees"))
    shown = data["map"]
    rows = np.array(shown["row"])
    assert sorted(set(range(300)) - set(rows)) == [5]
    np.testing.assert_allclose(shown["x"], model.map_[rows, 0], rtol=1e-5)
    assert [data["classes"][c] for c in shown["answer"]] == list(model.transduction_[rows])
    assert shown["confidence"][list(rows).index(6)] is None
    assert data["next"]["row"] == model.suggest(20).tolist()
    assert data["next"]["name"][0] == str(model.suggest(1)[0] + 1)
    differ = model.transduction_ != model.supervised_transduction_
    differ[model.labelled_] = False
    assert data["changes"]["count"] == differ.sum()
    assert sum(n for *_, n in data["changes"]["pairs"]) == differ.sum()
    assert set(data["changes"]["listed"]["row"]) <= set(np.flatnonzero(differ))
    sure = [c for c in data["changes"]["listed"]["confidence"] if c is not None]
    assert sure == sorted(sure, reverse=True)
    assert sum(data["counts"]) == 300
    assert data["confusion"]["pairs"] == [[1, 0, 2], [0, 1, 1]]
    graph = data["graph"]
    degree = np.diff(model.graph_.affinity_.indptr)
    assert sum(graph["sizes"]) == sum(graph["histogram"]) == 300
    assert graph["degree"] == pytest.approx(degree.mean(), rel=1e-3)
    lowest = (degree >= graph["edges"][0]) & (degree < graph["edges"][1])
    assert graph["histogram"][0] == lowest.sum()


def test_unreached_rows_and_components_are_counted():
    W = sp.block_diag([np.ones((4, 4)), np.ones((3, 3)), np.ones((2, 2))], format="csr")
    model = fake_classifier(n=9, labels=2, graph=KNNGraph.from_affinity(W))
    model.label_reach_ = np.arange(9) < 4
    graph = embedded(make_page(model, title="Trees"))["graph"]
    assert graph["sizes"] == [4, 3, 2]
    assert graph["unlabelled"] == 2
    assert graph["unreached"] == 5
    assert graph["listed"]["row"] == [4, 5, 6, 7, 8]


def test_page_of_many_rows_is_small():
    n = 60_000
    W = sp.csr_array(
        (np.ones(10 * n), np.arange(10 * n) % n, np.arange(0, 10 * n + 1, 10)), shape=(n, n)
    )
    graph = SimpleNamespace(affinity_=W, component_=np.zeros(n, dtype=int), n_samples_=n)
    model = fake_classifier(n, [f"class {i}" for i in range(40)], labels=1500, graph=graph)
    model.report_.to_dict()["confusion"] = np.full((40, 40), 3)
    model.report_.to_dict()["candidates"] *= 200
    text = make_page(model, title="Many", ids=["\N{GRINNING FACE}" * 500] * n)
    assert len(text.encode()) < 3e6
    data = embedded(text)
    assert len(data["map"]["row"]) == 3000
    assert sum(data["map"]["labelled"]) == 1000
    assert data["confusion"]["matrix"] is None  # too many classes: the most frequent pairs
    assert len(data["report"]["candidates"]) == 300
    assert set(data["next"]["row"]) <= set(data["map"]["row"])


def test_regressor_has_no_classes():
    model = fake_regressor()
    data = embedded(make_page(model, title="Heights"))
    assert data["classes"] is None
    assert data["confusion"] is None
    np.testing.assert_allclose(
        data["report"]["held_out"]["truth"], model.report_.to_dict()["held_out"]["truth"], rtol=1e-5
    )
    change = np.abs(model.transduction_ - model.supervised_transduction_)
    change[model.labelled_] = 0
    assert data["changes"]["listed"]["row"] == np.argsort(-change)[:20].tolist()


def test_wrong_use_is_explained():
    with pytest.raises(NotFittedError):
        make_page(FakeModel(), title="Trees")
    with pytest.raises(ValueError, match="each of the 300 training rows, got 1 names"):
        make_page(fake_classifier(), title="Trees", ids=["one"])


def test_json_is_finite_and_no_markup():
    value = {"a": [np.float64(np.nan), -math.inf, np.int64(3)], 1: np.arange(2), "f": len}
    assert plain(value)["a"] == [None, None, 3]
    assert plain(value)["1"] == [0, 1]
    assert plain("x" * 300) == "x" * 199 + "…"
    text = script_json([NASTY, "&", "\u2028"])
    assert not re.search("[<>&\u2028]", text)
    assert json.loads(text) == [NASTY, "&", "\u2028"]


# ---------------------------------------------------------------- sentences and program


@pytest.mark.parametrize(
    ("score", "kind", "words"),
    [
        (0.95, "help", "rows help: with them the score is 14.0 points higher"),
        (0.86, "help", "probably help"),
        (0.84, "unclear", "not clear whether"),
        (0.80, "unclear", "not clear whether"),
        (0.81, "unclear", "with and without them are equal"),
        (0.60, "hurt", "rows hurt: with them the score is 21.0 points lower"),
        (math.nan, "unclear", "not measured"),
    ],
)
def test_verdict(score, kind, words):
    report = fake_report(score=score, supervised_score=0.81, spread=0.03, supervised_spread=0.03)
    found = verdict(plain(report))
    assert found["kind"] == kind
    assert words in found["text"]


def test_verdict_where_unlabelled_rows_are_not_used():
    only = [candidate("SVC", 0.8, 1.0, {}, seconds=1.0, supervised=True)]
    found = verdict(plain(fake_report(candidates=only)))
    assert found["kind"] == "unused"
    assert "only supervised models were tried" in found["text"]
    tried = [*only, candidate("LapSVC", 0.8, 0.0, {}, seconds=1.0)]
    assert "was clearly better" in verdict(plain(fake_report(candidates=tried)))["text"]
    unknown = verdict(plain(fake_report(spread=None)))
    assert unknown["kind"] == "unclear"


def test_snippet_fits_again_and_runs_nothing_else():
    model = fake_classifier()
    model.set_params(unlabeled=float("nan"))
    text = snippet(model, plain(fake_report()), "a'\nimport os\n#\u2028")
    lines = text.splitlines()
    assert lines[0].startswith(f"# lapwing {lapwing.__version__};")
    assert lines[1] == "from lapwing import SemiSupervisedClassifier"
    assert lines[3:] == [
        "model = SemiSupervisedClassifier(",
        '    unlabeled=float("nan"),',
        "    random_state=0,",
        ").fit(X, y)",
    ]
    compile(text, "snippet", "exec")
    assert "SemiSupervisedRegressor().fit(X, y)" in snippet(FakeModel(), {}, None)


# ---------------------------------------------------------------- in a browser


@pytest.fixture(scope="module")
def window(tmp_path_factory):
    with browser.Browser(tmp_path_factory.mktemp("browser")) as window:
        yield window


def show(window, tmp_path, text):
    page = tmp_path / "page.html"
    page.write_text(text, encoding="utf-8")
    window.errors.clear()
    window.open(page.as_uri())


def column(window, number):
    """The texts of a column of the candidates, from top to bottom."""
    return window.read(
        "[...document.querySelectorAll('#candidates tbody tr')].map("
        f"r => r.cells[{number}].innerText)"
    )


def colour_at(window, row):
    """The opacity of the map at a row; 0 is the background."""
    return window.read(
        f"""(() => {{
          const [x, y] = page.place(page.rows.indexOf({row}));
          const canvas = document.getElementById("canvas"), k = canvas.width / canvas.clientWidth;
          return canvas.getContext("2d").getImageData(x * k, y * k, 1, 1).data[3];
        }})()"""
    )


def hover(window, row):
    """Move the mouse to a row of the map and return its tooltip."""
    x, y = window.read(
        f"""(() => {{
          const canvas = document.getElementById("canvas");
          canvas.scrollIntoView({{block: "center", behavior: "instant"}});
          const box = canvas.getBoundingClientRect();
          const [x, y] = page.place(page.rows.indexOf({row}));
          return [box.x + canvas.clientLeft + x, box.y + canvas.clientTop + y];
        }})()"""
    )
    window.move(x, y)
    return window.text("#tip")


def lonely_row(model, number):
    """The unlabelled row of a class that is farthest from other rows on the map."""
    far = np.abs(model.map_[:, None] - model.map_[None]).max(axis=2) + 9 * np.eye(len(model.map_))
    alone = far.min(axis=1)
    alone[(model.transduction_ != model.classes_[number])] = 0
    alone[model.labelled_] = 0
    return int(alone.argmax())


def test_numbers_shown_are_those_of_the_report(window, tmp_path):
    model = fake_classifier()
    show(window, tmp_path, make_page(model, title="Trees"))
    report = model.report_.to_dict()
    assert window.text("#score-ours") == "91.7 % ± 2.1"
    assert window.text("#score-supervised") == "81.1 % ± 3.4"
    assert window.text("#verdict") == verdict(plain(report))["text"]
    assert report["warnings"][0] in window.text("#warnings")
    assert report["reason"] in window.text("#reason")
    scores = [f"{100 * s:.1f} % ± 2.0" for s in (0.912, 0.9, 0.874, 0.811)]
    assert column(window, 2) == [*scores, "–"]
    matrix = window.read(
        "[...document.querySelectorAll('#matrix tbody tr')].map("
        "r => [...r.querySelectorAll('td')].map(c => Number(c.innerText.replace('·', 0))))"
    )
    assert matrix == report["confusion"]
    note = window.text("#errors-note")
    assert "Of 30 predictions for held-out labelled rows, 27 are right" in note
    assert window.errors == []


def test_headings_sort(window, tmp_path):
    show(window, tmp_path, make_page(fake_classifier(), title="Trees"))
    window.click("#candidates th:nth-child(4) button")
    assert column(window, 3) == ["11 s", "2.5 s", "0.4 s", "0.1 s", "–"]
    assert window.read("document.querySelector('th[aria-sort]').innerText").startswith("time")
    window.press("Enter")  # the heading has the focus
    assert column(window, 3) == ["0.1 s", "0.4 s", "2.5 s", "11 s", "–"]
    window.click("#candidates th:nth-child(1) button")
    names = [name.split()[0] for name in column(window, 0)]
    assert names == sorted(names, key=str.lower)
    assert window.errors == []


def test_map_hides_classes_and_describes_rows(window, tmp_path):
    model = fake_classifier()
    model.label_reach_[:] = False
    ids = [f"tree {i}" for i in range(300)]
    show(window, tmp_path, make_page(model, title="Trees", ids=ids))
    birch, cedar = lonely_row(model, 1), lonely_row(model, 2)
    tip = hover(window, birch)
    assert tip.startswith(f"tree {birch}\nclass birch, confidence ")
    assert f"{100 * model.label_distributions_[birch].max():.0f} %" in tip
    assert "no label reaches it" in tip
    assert window.read("document.getElementById('tip').hidden") is False
    assert colour_at(window, birch) > 0
    window.click("#legend [data-class='1']")
    assert colour_at(window, birch) == 0
    assert colour_at(window, cedar) > 0
    assert window.read("page.rows.filter((_, i) => page.visible(i)).length") == int(
        (model.transduction_ != "birch").sum()
    )
    hover(window, birch)
    assert window.read("page.rows[page.chosen()]") != birch
    window.click("#legend [data-class='1']")
    assert colour_at(window, birch) > 0
    window.click("#modes button:nth-of-type(2)")
    assert window.read("document.querySelectorAll('.ramp').length") == 1
    window.click("#next-rows tbody button")  # shows a row on the map
    assert window.text("#tip").startswith(f"tree {model.suggest(1)[0]}\n")
    window.press("ArrowRight")
    assert not window.text("#tip").startswith(f"tree {model.suggest(1)[0]}\n")
    window.press("Escape")
    assert window.read("document.getElementById('tip').hidden") is True
    assert window.errors == []


def test_crowded_maps_are_spread_out(window, tmp_path):
    model = fake_classifier()
    show(window, tmp_path, make_page(model, title="Trees"))
    pressed = "document.getElementById('even').getAttribute('aria-pressed')"
    assert window.read(pressed) == "false"
    model.map_[:, 0] = np.exp(5 * model.map_[:, 0])  # most rows are in a corner
    show(window, tmp_path, make_page(model, title="Trees"))
    assert window.read(pressed) == "true"
    read_x = "page.rows.map((_, i) => page.place(i)[0])"
    positions = np.array(window.read(read_x))
    assert (np.diff(positions[np.argsort(model.map_[:, 0])]) > 0).all()  # the order is kept
    window.click("#even")
    assert np.ptp(window.read(read_x)) > np.ptp(positions) * 0.9
    window.click("#closer")
    assert np.ptp(window.read(read_x)) > np.ptp(positions) * 1.4
    assert window.errors == []


def test_changes_are_hidden_where_unlabelled_rows_are_not_used(window, tmp_path):
    only = [candidate("SVC", 0.8, 1.0, {}, seconds=1.0, supervised=True)]
    show(window, tmp_path, make_page(fake_classifier(candidates=only), title="Trees"))
    assert window.read("document.getElementById('changes').hidden") is True
    assert "unlabelled rows not used" in window.text("#scores")
    assert window.errors == []


def test_theme_and_copy(window, tmp_path):
    window.prefer("dark")
    model = fake_classifier()
    show(window, tmp_path, make_page(model, title="Trees"))
    paper = "getComputedStyle(document.body).backgroundColor"
    night = window.read(paper)
    window.click("#theme")
    assert window.read("document.documentElement.dataset.theme") == "light"
    assert window.read(paper) != night
    window.prefer("light")
    window.read(
        "void (window.kept = '', navigator.clipboard.writeText = async t => { window.kept = t; })"
    )
    window.click("#copy")
    assert window.read("new Promise(go => setTimeout(() => go(window.kept), 50))") == snippet(
        model, plain(model.report_.to_dict()), None
    )
    assert window.text("#copy") == "Copied"
    assert window.errors == []


def test_hostile_names_in_a_browser(window, tmp_path):
    model = fake_classifier(classes=HOSTILE, reason=NASTY, warnings=[NASTY], chosen=NASTY)
    model.report_.to_dict()["candidates"][0]["settings"][NASTY] = NASTY
    ids = [f"{NASTY}{i}" for i in range(300)]
    show(window, tmp_path, make_page(model, title=NASTY, ids=ids, source=NASTY))
    assert window.read("document.querySelectorAll('b, img').length") == 0
    assert window.read("document.title") == NASTY
    assert window.text("h1") == NASTY
    for place in ("#legend", "#warnings", "#reason", "#candidates", "#matrix", "#next", "#snippet"):
        assert NASTY in window.text(place), place
    row = lonely_row(model, 0)
    assert hover(window, row).startswith(f"{ids[row]}\nclass {HOSTILE[0]}")
    assert window.errors == []


def test_regressor_in_a_browser(window, tmp_path):
    show(window, tmp_path, make_page(fake_regressor(), title="Heights"))
    assert window.text("#score-ours") == "0.917 ± 0.021"
    assert window.read("document.querySelectorAll('#matrix circle').length") == 40
    assert window.read("document.querySelectorAll('#legend button').length") == 0
    window.click("#modes button:nth-of-type(2)")
    assert hover(window, 100).startswith("row ")
    assert window.errors == []


def test_page_with_little_to_show(window, tmp_path):
    model = fake_classifier(n=12, labels=12, curve=[], warnings=[], score=math.nan, confusion=None)
    model.map_ = model.graph_ = None
    show(window, tmp_path, make_page(model, title="Trees"))
    shown = window.read("[...document.querySelectorAll('section:not([hidden])')].map(s => s.id)")
    assert shown == ["score", "tried", "again"]
    assert window.errors == []


LONG = (
    "deciduous broadleaf forest with an understorey of ferns and of mosses",
    "bare_soil_after_harvest_in_autumn_of_the_year_2014",
    "GrasslandMeadowWithFewTreesAndShrubs",
    "x" * 80,
)

#: Elements whose text is cut off, by their own box or by one around them that does not scroll.
CLIPPED = """
[...document.querySelectorAll("main *, header *")].filter(e => {
  const style = getComputedStyle(e);
  if (!e.clientWidth || e.closest(".scroll, svg") || style.display === "inline") return false;
  return style.textOverflow === "ellipsis" || e.scrollWidth > e.clientWidth + 1 ||
    (style.overflowY !== "visible" && e.scrollHeight > e.clientHeight + 1);
}).map(e => e.id || e.tagName + " " + e.textContent.slice(0, 40))
"""

#: Words of at most 16 letters, and numbers with a per cent sign, that are broken over two lines.
BROKEN = """
(() => {
  const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  const range = document.createRange(), found = [];
  for (let node; (node = walker.nextNode());) {
    const around = node.parentElement;
    if (!around.offsetParent || around.closest("pre, svg, script, .tall")) continue;
    for (const match of node.data.matchAll(/[\\p{L}\\d]+(\\s%)?/gu)) {
      if (match[0].length > 16) continue;
      range.setStart(node, match.index);
      range.setEnd(node, match.index + match[0].length);
      const lines = new Set([...range.getClientRects()].map(r => Math.round(r.y)));
      if (lines.size > 1) found.push(match[0]);
    }
  }
  return found;
})()
"""


@pytest.mark.parametrize("width", [390, 1200])
def test_numbers_stay_with_their_signs(window, tmp_path, width):
    """Wherever the line ends: words of every length before the number."""
    texts = [f"{'a' * i} {'b c ' * 9}56 %, {'d' * i} 7 % of all" for i in range(1, 17)]
    model = fake_classifier(reason=" ".join(texts), warnings=texts)
    window.resize(width, 900)
    try:
        show(window, tmp_path, make_page(model, title="Land cover"))
        assert window.text("#reason").count("56\u00a0%") == 16
        assert window.read(BROKEN) == []
    finally:
        window.resize(1200, 900)


@pytest.mark.parametrize("width", [390, 800, 1400])
def test_nothing_is_cut_off(window, tmp_path, width):
    """Long names wrap between words, and what scrolls sideways says so."""
    confusion = (10 * np.eye(4, dtype=int)).tolist()
    model = fake_classifier(classes=LONG, confusion=confusion)
    window.resize(width, 900)
    try:
        show(window, tmp_path, make_page(model, title="Land cover", source="cover.csv"))
        assert window.read("document.documentElement.scrollWidth") <= width
        assert window.read(CLIPPED) == []
        assert window.read(BROKEN) == []
        for place in ("#legend", "#matrix thead", "#matrix tbody"):
            assert all(name in window.text(place) for name in LONG), place
        boxes = window.read(
            "[...document.querySelectorAll('.scroll')].filter(b => b.clientWidth).map("
            "b => [b.scrollWidth > b.clientWidth + 1, !b.nextSibling.hidden])"
        )
        assert all(more == hint for more, hint in boxes)
        assert boxes[0][0] == (width == 390)  # the matrix
        smallest = window.read(
            "Math.min(...[...document.querySelectorAll('svg text')].map(t => {"
            " const svg = t.ownerSVGElement, size = parseFloat(getComputedStyle(t).fontSize);"
            " return size * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;"
            "}))"
        )
        assert smallest > 11  # charts are drawn for their width and not shrunk
        assert window.errors == []
    finally:
        window.resize(1200, 900)


def test_many_classes_and_candidates_are_opened_by_a_button(window, tmp_path):
    model = fake_classifier(classes=[f"class {i}" for i in range(40)], n=400)
    entries = model.report_.to_dict()
    entries["candidates"] = [
        candidate("supervised", 0.8, 0.0, {"width": None}, seconds=1e-5, supervised=True)
    ] * 30
    show(window, tmp_path, make_page(model, title="Trees"))
    assert window.read("document.querySelectorAll('#legend [data-class]').length") == 20
    window.click("#legend button:last-child")
    assert window.read("document.querySelectorAll('#legend [data-class]').length") == 40
    assert len(column(window, 0)) == 10
    assert window.text("#all-candidates") == "Show all 30 candidates"
    assert column(window, 0)[0] == "supervised"  # and not "supervised (supervised)"
    assert column(window, 1)[0] == "linear kernel"
    assert column(window, 3)[0] == "< 1 ms"
    assert window.errors == []


# ---------------------------------------------------------------- with a real model


@pytest.mark.parametrize("name", ["digits", "moons"])
def test_page_of_a_fitted_classifier(name, window, tmp_path):
    if name == "digits":
        X, truth = (part[:300] for part in load_digits(return_X_y=True))
    else:
        X, truth = make_moons(300, noise=0.1, random_state=0)
    y = np.where(np.arange(300) < 40, truth, -1)
    model = lapwing.SemiSupervisedClassifier(random_state=1).fit(X, y)
    show(window, tmp_path, make_page(model, title=name))
    report = model.report_.to_dict()
    assert window.text("#score-ours").startswith(f"{100 * report['score']:.1f} %")
    assert len(column(window, 0)) == 10
    window.click("#all-candidates")
    assert len(column(window, 0)) == min(len(report["candidates"]), 300)
    assert window.read("document.getElementById('all-candidates').hidden") is True
    assert set(column(window, 0)) == {candidate["family"] for candidate in report["candidates"]}
    assert "0 s" not in column(window, 5)
    assert "linear kernel, regularisation 0.1" in column(window, 1)
    assert (
        window.text("#reason").replace("\u00a0", " ") == report["reason"]
    )  # it names the selection
    assert "random_state=1," in window.text("#snippet")
    assert window.read("page.rows.length") == 300
    assert window.errors == []


def test_page_of_a_fitted_regressor(window, tmp_path):
    X, target = make_moons(200, noise=0.1, random_state=0)
    y = np.where(np.arange(200) < 40, target + X[:, 0], np.nan)
    model = lapwing.SemiSupervisedRegressor().fit(X, y)
    show(window, tmp_path, make_page(model, title="numbers"))
    assert window.text("#score-ours").startswith(f"{model.report_.score:.3f}")
    assert window.read("document.querySelectorAll('#matrix circle').length") > 0
    assert window.errors == []
