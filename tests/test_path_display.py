"""Pictures, animation and page of a solution path show the numbers of the model."""

import base64
import html
import io
import itertools
import json
import re
import subprocess
import sys
from importlib.resources import files

import numpy as np
import pytest
from sklearn.datasets import make_blobs, make_moons
from sklearn.exceptions import NotFittedError

from helpers import browser
from lapwing import LapSVCPath, SemiSupervisedClassifier
from lapwing.displays import PathDisplay, new_figure, path_boundary
from lapwing.displays.model_page import make_page

NASTY = "</script><b>"


@pytest.fixture(scope="module")
def moons():
    X, truth = make_moons(120, noise=0.1, random_state=0)
    y = np.full(120, -1)
    y[:10] = truth[:10]
    return X, y, truth


@pytest.fixture(scope="module")
def model(moons):
    X, y, _ = moons
    return LapSVCPath(gamma=2.0).fit(X, y)


@pytest.fixture(scope="module")
def blobs():
    """Three classes, one of which has a name that looks like markup."""
    X, truth = make_blobs(90, centers=3, cluster_std=2.0, random_state=1)
    names = np.array([NASTY, "a & b", "c"])[truth]
    y = names.astype(object)
    y[12:] = None
    return X, names, LapSVCPath(gamma=0.1).fit(X, y)


@pytest.fixture
def axes():
    pytest.importorskip("matplotlib")
    return new_figure(6.4, 7.2).subplots(3, 1)


def between(display):
    """Some λ within the picture that are not breakpoints."""
    return np.geomspace(*display.span, 9)[1:-1]


def embedded(text):
    """The data of a page."""
    return json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])


# ---------------------------------------------------------------- curves


def test_curves_show_the_numbers_of_the_model(model, moons, axes):
    X, _, truth = moons
    display = PathDisplay.from_estimator(model, X, truth, axes=axes)
    assert display.axes_[0] is axes[0]
    assert display.figure_ is axes[0].figure
    assert len(display.lines_) == len(model.labelled_)
    for row, line in enumerate(display.lines_):
        at = np.isin(line.get_xdata(), model.lambdas_)
        np.testing.assert_allclose(line.get_ydata()[at], model.coef_path_[:, 0, row])
    (accuracy,) = display.accuracy_lines_[:1]
    lambdas, values = model.accuracy_path(X, truth)
    at = np.isin(accuracy.get_xdata(), lambdas)
    np.testing.assert_allclose(accuracy.get_ydata()[at], 100 * values)
    right = model.predict(X, lam=accuracy.get_xdata()) == truth  # possibly at more values of λ
    np.testing.assert_allclose(accuracy.get_ydata(), 100 * right.mean(axis=1))
    np.testing.assert_array_equal(display.elbow_line_.get_xdata(), model.lambdas_)
    np.testing.assert_array_equal(display.elbow_line_.get_ydata(), model.elbow_path_[:, 0])
    assert display.elbow_line_.get_drawstyle() == "steps-post"  # from a breakpoint downwards
    for ax in axes:
        left, right = ax.get_xlim()
        assert ax.get_xscale() == "log"
        assert left >= model.lambdas_[0] > right  # large λ on the left
    axes[0].figure.savefig(io.BytesIO())


def test_multipliers_are_linear_between_breakpoints():
    display = PathDisplay([4.0, 1.0], [[[1.0, 1.0]], [[0.0, 0.5]]], [[2], [1]], "ab", "ab")
    np.testing.assert_allclose(display.multipliers_at([4.0, 3.0, 1.0])[:, 0, 0], [1, 2 / 3, 0])
    assert display.elbow_at([5.0, 4.0, 1.5, 1.0, 0.5])[:, 0].tolist() == [2, 2, 2, 1, 1]


def test_a_long_end_without_events_is_cut():
    lambdas, elbow = [2.0, 1.0, 0.5, 1e-6], [[2], [3], [4], [4]]
    multipliers = np.array([1.0, 1.0, 0.5, 1e-6])[:, None, None]
    high, low = PathDisplay(lambdas, multipliers, elbow, "a", "ab").span
    assert high == 2.0
    assert 0.1 < low < 0.5
    steps = {"cross-validated": ([2.0, 1.0, 0.01, 0.001], [0.5, 0.5, 0.6, 0.6])}
    assert PathDisplay(lambdas, multipliers, elbow, "a", "ab", accuracy=steps).span[1] < 0.01
    assert PathDisplay(lambdas, multipliers, elbow, "a", "ab", chosen=1e-4).span[1] < 1e-4


def test_best_interval_and_chosen_lambda_are_shown(axes):
    accuracy = {"cross-validated": ([4.0, 2.0, 1.0], [0.5, 0.9, 0.6])}
    PathDisplay(
        [4.0, 1.0],
        [[[1.0, 1.0]], [[0.0, 0.5]]],
        [[2], [1]],
        "ab",
        "ab",
        accuracy=accuracy,
        best_interval=(1.5, 3.0),
        chosen=2.0,
    ).plot(axes)
    names = [text.get_text() for text in axes[1].get_legend().get_texts()]
    assert names == ["best interval", "cross-validated", "chosen λ, 2"]
    (span,) = axes[1].patches
    assert (span.get_x(), span.get_width()) == (1.5, 1.5)
    for ax in axes:
        assert any(list(line.get_xdata()) == [2.0, 2.0] for line in ax.lines)


def test_no_interval_is_best_on_a_flat_curve(axes, tmp_path):
    """The cross-validated curve may end above the end of the path, and so may the interval."""
    args = [4.0, 1.0], [[[1.0, 1.0]], [[0.0, 0.5]]], [[2], [1]], "ab", "ab"
    flat = {"cross-validated": ([4.0, 2.0, 1.5], [0.8, 0.8, 0.8])}
    display = PathDisplay(*args, accuracy=flat, best_interval=(1.5, 4.0), chosen=2.4).plot(axes)
    assert display.best_shown is None
    assert list(axes[1].patches) == []
    display.write_html(tmp_path / "path.html")
    data = embedded((tmp_path / "path.html").read_text(encoding="utf-8"))
    assert data["best"] is None
    assert "all λ are equal" in data["accuracy_note"]
    assert PathDisplay(*args, best_interval=(0.1, 9.0)).best_shown is None
    step = {"cross-validated": ([4.0, 2.0, 1.5], [0.7, 0.8, 0.8])}
    assert PathDisplay(*args, accuracy=step, best_interval=(1.5, 2.0)).best_shown == (1.5, 2.0)
    assert PathDisplay(*args, best_interval=(0.1, 3.0), chosen=1.0).best_shown == (1.0, 3.0)


def test_several_classes_are_averaged_or_chosen(blobs, axes):
    X, names, model = blobs
    display = PathDisplay.from_estimator(model, X, names, axes=axes)
    np.testing.assert_allclose(display.elbow_line_.get_ydata(), model.elbow_path_.mean(axis=1))
    assert "mean" in axes[0].get_ylabel()
    axes = new_figure().subplots(3, 1)
    display = PathDisplay.from_estimator(model, column="a & b", axes=axes)
    column = list(model.classes_).index("a & b")
    np.testing.assert_array_equal(display.elbow_line_.get_ydata(), model.elbow_path_[:, column])
    at = np.isin(display.lines_[0].get_xdata(), model.lambdas_)
    drawn = display.lines_[0].get_ydata()[at]
    np.testing.assert_allclose(drawn, model.coef_path_[:, column, 0], atol=1e-12)
    assert "a & b" in axes[0].get_ylabel()


def test_wrong_use_is_explained(model, moons, axes):
    X, _, _ = moons
    with pytest.raises(NotFittedError):
        PathDisplay.from_estimator(LapSVCPath())
    with pytest.raises(ValueError, match="pass both X and y"):
        PathDisplay.from_estimator(model, X)
    with pytest.raises(ValueError, match="one of at least three classes"):
        PathDisplay.from_estimator(model, column=1)
    with pytest.raises(ValueError, match="pass three axes, got 2"):
        PathDisplay.from_estimator(model, axes=axes[:2])
    with pytest.raises(ValueError, match="descending"):
        PathDisplay([1.0, 2.0], np.zeros((2, 1, 2)), [[1], [1]], "ab", "ab")
    with pytest.raises(ValueError, match=r"shape \(2, n_columns, 2\)"):
        PathDisplay([2.0, 1.0], np.zeros((2, 2)), [[1], [1]], "ab", "ab")


# ---------------------------------------------------------------- boundary and animation


def test_lines_of_the_boundary_are_levels_of_f(model, axes):
    from matplotlib.contour import QuadContourSet

    display = PathDisplay.from_estimator(model, draw=False)
    lam = between(display)[3]
    ax = new_figure().subplots()
    assert display.plot_boundary(lam, ax=ax).boundary_ax_ is ax
    found = []
    for contours in ax.findobj(QuadContourSet):
        if not contours.filled:
            for level, segments in zip(contours.levels, contours.allsegs, strict=True):
                found.append(level)
                values = model.decision_function(np.vstack(segments), lam=lam)
                np.testing.assert_allclose(values, level, atol=0.02)
    assert 0.0 in found
    assert f"λ = {lam:.3g}" in ax.get_title()
    names = ax.get_legend_handles_labels()[1]
    assert {"not labelled", "labelled 0", "labelled 1"} < set(names)


@pytest.mark.parametrize(("highest", "filled"), [(-0.1, 0), (0.3, 1), (3.0, 1)])
def test_where_f_is_positive_is_filled(highest, filled):
    pytest.importorskip("matplotlib")
    from matplotlib.contour import QuadContourSet

    ax, x = new_figure().subplots(), np.linspace(-1.0, 1.0, 9)
    path_boundary._fill(ax, x, x, highest - x[:, None] ** 2 - x**2, "red")
    assert len(ax.findobj(QuadContourSet)) == filled


def test_boundary_of_several_classes(blobs, axes):
    from matplotlib.contour import QuadContourSet

    _, _, model = blobs
    ax = new_figure().subplots()
    PathDisplay.from_estimator(model, draw=False).plot_boundary(ax=ax)
    assert "boundary" in ax.get_legend_handles_labels()[1]
    lines = [c for c in ax.findobj(QuadContourSet) if not c.filled]
    ends = np.vstack([part for c in lines for segments in c.allsegs for part in segments])
    values = np.sort(model.decision_function(ends), axis=1)
    np.testing.assert_allclose(values[:, -1], values[:, -2], atol=0.05)  # two classes are equal
    ax.clear()
    PathDisplay.from_estimator(model, column="c", draw=False).plot_boundary(ax=ax)
    assert "margins, f = ±1" in ax.get_legend_handles_labels()[1]


def test_animation_has_frames(model, moons, tmp_path, axes):
    image = pytest.importorskip("PIL.Image")
    X, _, truth = moons
    display = PathDisplay.from_estimator(model, X, truth, axes=axes)
    display.animate(tmp_path / "path.gif", frames=4, dpi=40)
    with image.open(tmp_path / "path.gif") as animation:
        assert animation.n_frames == 4
        pictures = []
        for i in range(4):
            animation.seek(i)
            pictures.append(np.asarray(animation.convert("RGB"), dtype=int))
    half = pictures[0].shape[1] // 2
    for a, b in itertools.pairwise(pictures):
        assert np.abs(a[:, :half] - b[:, :half]).max() > 50  # the boundary moves
        assert np.abs(a[:, half:] - b[:, half:]).max() > 50  # so does the cursor
    assert display.axes_[0] is axes[0]


def test_animation_of_another_file_type(model, tmp_path, monkeypatch, axes):
    from matplotlib.animation import FFMpegWriter

    display = PathDisplay.from_estimator(model, draw=False)
    monkeypatch.setattr(FFMpegWriter, "isAvailable", classmethod(lambda cls: False))
    with pytest.raises(ValueError, match=r"needs the program ffmpeg.*\.gif"):
        display.animate(tmp_path / "path.mp4")
    with pytest.raises(ValueError, match=r"\.gif or \.mp4"):
        display.animate(tmp_path / "path.avi")


def test_boundary_needs_two_columns(moons, tmp_path, axes):
    X, y, truth = moons
    X = np.column_stack([X, X[:, 0] ** 2])
    model = LapSVCPath(gamma=2.0).fit(X, y)
    display = PathDisplay.from_estimator(model, X, truth, axes=axes)
    with pytest.raises(ValueError, match="training rows with two columns"):
        display.plot_boundary(ax=axes[0])
    with pytest.raises(ValueError, match="training rows with two columns"):
        display.animate(tmp_path / "path.gif")
    display.write_html(tmp_path / "path.html")
    assert "plane" not in embedded((tmp_path / "path.html").read_text(encoding="utf-8"))


# ---------------------------------------------------------------- page


def test_page_is_self_contained_and_safe(blobs, tmp_path, monkeypatch):
    X, names, model = blobs
    monkeypatch.setitem(sys.modules, "matplotlib", None)  # not needed by a page
    display = PathDisplay.from_estimator(model, X, names, draw=False)
    display.write_html(tmp_path / "path.html", title="<i>Path</i>")
    text = (tmp_path / "path.html").read_text(encoding="utf-8")
    assert not re.search(r"https?:|//[a-z]+\.[a-z]|<link|<img|src=|@import|url\(", text)
    assert NASTY not in text
    assert "<b>" not in text
    assert "<i>" not in text
    assert len(re.findall("</script>", text)) == 3  # the theme, the data and the script
    assert len(text) < 3e6
    assert not re.search("[<>&]", re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])
    data = embedded(text)
    assert data["classes"] == list(model.classes_)
    assert data["lambdas"][0] == model.lambdas_[0]
    packed = np.frombuffer(base64.b64decode(data["multipliers"]), dtype="<f4")
    multipliers = packed.reshape(len(data["lambdas"]), 3, -1)
    shown = np.isin(model.lambdas_, data["lambdas"])
    np.testing.assert_allclose(multipliers[: shown.sum()], model.coef_path_[shown], atol=1e-6)
    x, y, _ = display.surface(np.array(data["lambdas"][:1]), data["plane"]["size"])
    assert data["plane"]["x"] == [x[0], x[-1]]
    assert data["plane"]["y"] == [y[0], y[-1]]


def test_page_of_a_long_path_omits_breakpoints_and_reports_it(tmp_path):
    rng = np.random.default_rng(0)
    lambdas = np.exp(np.sort(rng.uniform(-5, 2, 20_000)))[::-1]
    multipliers = rng.uniform(size=(20_000, 3, 30))
    elbow = rng.integers(1, 30, size=(20_000, 3))
    display = PathDisplay(lambdas, multipliers, elbow, rng.permutation(list("abc" * 10)), "abc")
    display.write_html(tmp_path / "path.html")
    text = (tmp_path / "path.html").read_text(encoding="utf-8")
    kept = np.array(embedded(text)["lambdas"])
    assert len(text) < 3e6
    assert 300 < len(kept) <= 500
    assert np.isin(kept[:-1], lambdas).all()
    assert f"20000 breakpoints; the page contains {len(kept)} of them" in text
    assert np.log(kept[:-1] / kept[1:]).max() < 0.05  # without large gaps


def test_path_of_one_breakpoint(tmp_path, axes):
    display = PathDisplay([2.0], [[[1.0, 1.0]]], [[2]], "ab", "ab").plot(axes)
    display.figure_.savefig(tmp_path / "path.png")
    display.write_html(tmp_path / "path.html")
    assert embedded((tmp_path / "path.html").read_text(encoding="utf-8"))["lambdas"] == [2.0]


#: Reads the page, moves the slider and reads again.
CHECK = """
<script>
const read = () => ({
  lambda: path.lambda(),
  shown: document.getElementById("lambda").textContent,
  elbow: document.getElementById("elbow").textContent,
  accuracy: document.getElementById("accuracy-0").textContent,
  multipliers: Array.from(path.multipliers(path.lambda())),
  surface: path.surface(path.lambda()).map(f => Array.from(f)),
});
const slider = document.getElementById("slider"), report = [read()];
slider.value = POSITION;
slider.dispatchEvent(new Event("input"));
report.push(read());
document.getElementById("next").click();
report.push(read());
const pre = document.createElement("pre");
pre.id = "check";
pre.textContent = JSON.stringify({
  report, bold: document.getElementsByTagName("b").length,
  legend: document.getElementById("legend").textContent,
});
document.body.append(pre);
</script>
"""


def test_page_in_a_browser(blobs, tmp_path):
    program = browser.find_browser()
    X, names, model = blobs
    display = PathDisplay.from_estimator(model, X, names, draw=False)
    page = tmp_path / "path.html"
    display.write_html(page)
    high, low = display.span
    change = np.flatnonzero(np.diff(model.elbow_path_.sum(axis=1)))[0] + 1
    length = np.log(high / model.lambdas_[change]) / np.log(high / low)
    position = int(1000 * length)  # of the slider, just before the elbow changes
    script = CHECK.replace("POSITION", str(position))
    text = page.read_text(encoding="utf-8").replace("</body>", script + "</body>")
    page.write_text(text, encoding="utf-8")
    lam = float(f"{between(display)[2]:.6g}")
    options = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={tmp_path / 'user'}",
    ]
    dom = subprocess.run(
        [program, *options, "--dump-dom", f"{page.as_uri()}#lambda={lam}"],
        capture_output=True,
        timeout=120,
        check=True,
    ).stdout.decode("utf-8")
    found = re.search(r'<pre id="check">(.*?)</pre>', dom, re.DOTALL)
    assert found, "the script of the page did not run to its end"
    check = json.loads(html.unescape(found[1]))
    assert check["bold"] == 0
    assert NASTY in check["legend"]  # as text

    moved = high * (low / high) ** (position / 1000)
    wanted = [lam, moved, model.lambdas_[model.lambdas_ < moved][0]]
    x, y, _ = display.surface([lam], 56)
    grid = np.column_stack([axis.ravel() for axis in np.meshgrid(x, y)])
    lambdas, accuracy = display.accuracy["given rows"]
    for at, seen in zip(wanted, check["report"], strict=True):
        assert seen["lambda"] == pytest.approx(at)
        assert float(seen["shown"]) == pytest.approx(at, rel=1e-3)
        f = model.decision_function(grid, lam=at).T
        np.testing.assert_allclose(seen["surface"], f, atol=1e-5 * np.abs(f).max())
        multipliers = display.multipliers_at(at)[0].mean(axis=0)
        np.testing.assert_allclose(seen["multipliers"], multipliers, atol=1e-6)
        elbow = display.elbow_at(seen["lambda"])[0].mean()
        assert float(seen["elbow"]) == pytest.approx(elbow, rel=1e-2)
        nearest = np.abs(np.log(lambdas / at)).argmin()
        assert seen["accuracy"] == f"{100 * accuracy[nearest]:.1f} %"


# ---------------------------------------------------------------- page in a window


@pytest.fixture(scope="module")
def window(tmp_path_factory):
    with browser.Browser(tmp_path_factory.mktemp("browser")) as window:
        yield window


#: Records each tick of the axis of λ, a short vertical line, and each text below the axis.
RECORD = """<script>
window.drawn = { ticks: [], texts: [] };
const pen = CanvasRenderingContext2D.prototype, { moveTo, lineTo, fillText } = pen;
let at = null;
pen.moveTo = function (x, y) { at = [x, y]; moveTo.call(this, x, y); };
pen.lineTo = function (x, y) {
  if (at && at[0] === x && Math.abs(y - at[1] - 4) < 1e-9) drawn.ticks.push([this.canvas.id, x]);
  lineTo.call(this, x, y);
};
pen.fillText = function (text, x, y) {
  const half = this.measureText(text).width / 2, width = this.canvas.clientWidth;
  if (this.textAlign === "center") drawn.texts.push([this.canvas.id, x, text, half, width]);
  fillText.call(this, text, x, y);
};
</script>"""


def show(window, tmp_path, display):
    page = tmp_path / "path.html"
    display.write_html(page)
    text = page.read_text(encoding="utf-8").replace("</head>", RECORD + "</head>")
    page.write_text(text, encoding="utf-8")
    window.errors.clear()
    window.open(page.as_uri())


def wide_path(decades):
    """A path over some decades of λ."""
    lambdas = np.geomspace(3.0, 3.0 * 10.0**-decades, 12)
    multipliers = np.linspace(1, 0, 12)[:, None, None] * np.array([1.0, 0.8])
    elbow = np.arange(2, 14)[:, None]
    return PathDisplay(lambdas, multipliers, elbow, "ab", "ab", chosen=float(lambdas[6]))


@pytest.mark.parametrize("width", [390, 1400])
@pytest.mark.parametrize("decades", [0.05, 0.6, 2, 5, 14])
def test_every_tick_has_a_label(window, tmp_path, decades, width):
    window.resize(width, 900)
    show(window, tmp_path, wide_path(decades))
    drawn = window.read("drawn")
    assert len(drawn["ticks"]) >= 2 * 2  # two charts
    for chart in ("multipliers", "steps"):
        ticks = {x for name, x in drawn["ticks"] if name == chart}
        texts = sorted(
            {(x, half, full) for name, x, _, half, full in drawn["texts"] if name == chart}
        )
        assert {x for x, _, _ in texts} == ticks
        for (x, half, _), (right, other, _) in itertools.pairwise(texts):
            assert right - other - (x + half) > 2
        assert texts[0][0] - texts[0][1] >= 0
        assert texts[-1][0] + texts[-1][1] <= texts[-1][2]
    assert window.errors == []


def test_page_has_no_focus_and_listens_to_keys(window, tmp_path, blobs):
    X, names, model = blobs
    window.resize(390, 900)
    show(window, tmp_path, PathDisplay.from_estimator(model, X, names, draw=False))
    assert window.read("document.activeElement === document.body") is True
    assert window.read("document.querySelectorAll(':focus-visible').length") == 0
    before = window.read("path.lambda()")
    window.press("ArrowRight")
    assert window.read("path.lambda()") < before
    window.press("ArrowLeft")
    assert window.read("path.lambda()") == pytest.approx(before, rel=0.02)
    assert window.read("document.documentElement.scrollWidth") == 390
    assert window.errors == []


#: The colour of the middle of a canvas, as text.
MIDDLE = """(c => Array.from(
  c.getContext("2d").getImageData(c.width / 2 | 0, c.height / 2 | 0, 1, 1).data).join())"""


def test_cursor_and_curves_have_different_colours(window, tmp_path, blobs):
    X, names, model = blobs
    for scheme in ("light", "dark"):
        window.prefer(scheme)
        show(window, tmp_path, PathDisplay.from_estimator(model, X, names, draw=False))
        assert window.read("document.documentElement.dataset.theme") == scheme
        read = f"[...document.querySelectorAll('%s canvas')].map({MIDDLE})"
        curves = window.read(read % "#accuracy-legend")
        cursor = window.read(read % "#cursor-legend")[0]
        assert len(set(curves)) == 2
        assert cursor not in curves
        drawn = window.read(
            f"""(() => {{
              const canvas = document.getElementById("accuracy"), g = canvas.getContext("2d");
              const data = g.getImageData(0, 0, canvas.width, canvas.height).data, found = [];
              for (let i = 0; i < data.length; i += 4) {{
                found.push(data.slice(i, i + 4).join());
              }}
              return {json.dumps([cursor])}.concat({json.dumps(curves)}).map(
                shade => found.filter(one => one === shade).length);
            }})()"""
        )
        assert min(drawn) > 20  # cursor and curves are drawn in the colours of the legend
        assert window.errors == []
    window.prefer("light")


#: How often the colour of the mark of the chosen λ occurs above the charts, and left of it.
MARKS = """[...document.querySelectorAll("#curves > canvas:not([hidden])")].map(canvas => {
  const legend = document.querySelector("#cursor-legend li:last-child canvas");
  const read = (c, x, y, w, h) => c.getContext("2d").getImageData(x, y, w, h).data;
  const shade = read(legend, legend.width / 2 | 0, legend.height / 2 | 0, 1, 1).join();
  const data = read(canvas, 0, 0, canvas.width, 14), columns = [];
  for (let i = 0; i < data.length; i += 4) {
    if (data.slice(i, i + 4).join() === shade) columns.push(i / 4 % canvas.width);
  }
  return [columns.length, columns.reduce((a, b) => a + b, 0) / columns.length];
})"""


@pytest.mark.parametrize("width", [390, 1200])
def test_the_chosen_lambda_is_seen_under_the_cursor(window, tmp_path, blobs, width):
    """On load it is the current one, and later it stays where it was."""
    X, names, model = blobs
    window.resize(width, 900)
    show(window, tmp_path, PathDisplay.from_estimator(model, X, names, draw=False))
    assert window.read("path.lambda()") == pytest.approx(model.lambda_, rel=1e-5)
    marks = window.read(MARKS)
    assert len(marks) == 3
    assert min(count for count, _ in marks) > 15
    window.read("path.go(1e9)")
    assert window.read(MARKS) == marks
    assert window.errors == []


def test_pages_share_their_design(tmp_path, blobs):
    style = files("lapwing.displays").joinpath("page.css").read_text(encoding="utf-8").strip()
    X, names, model = blobs
    display = PathDisplay.from_estimator(model, X, names, draw=False)
    display.write_html(tmp_path / "path.html")
    assert style in (tmp_path / "path.html").read_text(encoding="utf-8")
    y = np.where(np.arange(len(X)) < 30, names, None)
    report = make_page(SemiSupervisedClassifier(method="graph").fit(X, y), title="Report")
    assert style in report
