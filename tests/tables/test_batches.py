"""An encoder that is learnt from batches and applied to them is that of the whole table."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer

from lapwing.arrays import text_files
from lapwing.tables import Table, fit_encoder, open_table, read_table, summaries
from lapwing.tables import read as read_module
from lapwing.tables.summaries import NumberSummary, TextSummary, WordCounts

pa = pytest.importorskip("pyarrow")


def dense(X):
    return X.toarray() if sparse.issparse(X) else X


def lines(n=400):
    """Return a table with numbers, dates, decimal commas, categories, sentences and labels."""
    rng = np.random.default_rng(0)
    yield "id;x;price;day;ok;colour;note;code;label"
    for i in range(n):
        known = rng.random() > 0.1
        yield ";".join(
            [
                f"u{i}",
                f"{rng.normal():.3f}".replace(".", ",") if known else "NA",
                f"{rng.integers(1, 9)}.{rng.integers(100, 999)},{rng.integers(10, 99)}",
                f"2024-{rng.integers(1, 13):02d}-{rng.integers(1, 29):02d}",
                str(rng.choice(["yes", "no"])),
                str(rng.choice(["red", "blue", "green", ""])),
                " ".join(rng.choice(["one", "two", "three", "four", "five", "six"], 5))
                + f" {i // 2}",
                f"{i % 7:03d}" if i < 300 else "abc",  # texts that come late
                str(rng.choice(["1.000", "2,5", ""])),
            ]
        )


def write_lines(path, lines):
    path.write_text("\n".join(lines) + "\n")
    return path


OPTIONS = {"target": "label", "id": "id"}


@pytest.fixture
def small_batches(monkeypatch):
    monkeypatch.setattr(text_files, "_BLOCK", 4000)
    monkeypatch.setattr(read_module, "_BATCH_ROWS", 29)


def check_equal(encoder, other):
    """Raise an error unless encoders are equal up to rounding."""
    one, two = encoder.to_dict(), other.to_dict()
    columns = list(zip(one.pop("columns"), two.pop("columns"), strict=True))
    assert one == two
    for a, b in columns:
        assert a.keys() == b.keys()
        for key, value in a.items():
            if isinstance(value, float):
                assert value == pytest.approx(b[key], rel=1e-12, abs=1e-12)
            else:
                assert value == b[key]


@pytest.mark.parametrize("suffix", [".csv", ".parquet", "/"])
def test_batches_give_the_encoder_of_the_table(tmp_path, small_batches, suffix):
    path = write_lines(tmp_path / "a.csv", lines())
    as_text = ["label", "id"]
    if suffix == ".parquet":
        from pyarrow import csv, parquet

        stored = csv.read_csv(path, parse_options=csv.ParseOptions(delimiter=";"))
        path = tmp_path / "a.parquet"
        parquet.write_table(stored, path)
    elif suffix == "/":
        header, *rows = lines()
        (tmp_path / "rows").mkdir()
        for i in range(3):
            part = rows[i * 150 : (i + 1) * 150]
            write_lines(tmp_path / "rows" / f"{i}.csv", [header, *part])
        path = tmp_path / "rows"
    table = read_table(path, as_text=as_text)
    whole = fit_encoder(table, **OPTIONS)
    reader = open_table(path)
    assert len(list(reader.tables())) > 5
    encoder = fit_encoder(reader, **OPTIONS)
    check_equal(encoder, whole)
    kinds = Counter(type(column).__name__ for column in encoder.columns)
    assert kinds == {"NumberColumn": 4, "CategoryColumn": 2, "TextColumn": 1}
    batches = list(open_table(path, **encoder.reading).tables())
    X = np.vstack([dense(encoder.transform(batch)) for batch in batches])
    np.testing.assert_allclose(X, dense(whole.transform(table)), rtol=1e-9, atol=1e-9)
    labels = [label for batch in batches for label in encoder.target_of(batch)]
    assert labels == whole.target_of(table).tolist()
    assert set(labels) == {1000, 2.5, None}
    assert [name for batch in batches for name in encoder.ids_of(batch)] == whole.ids_of(table)
    counted = fit_encoder(reader, target="label", categorical_columns=["id"])
    rows = [name for batch in batches for name in counted.ids_of(batch)]
    assert rows == [str(i) for i in range(1, 401)]


def test_errors_in_late_batches_name_the_line(tmp_path, small_batches):
    rows = [f"{i % 9},{i % 5},{'ab'[i % 2]}" for i in range(400)]
    rows[390] = "0,oops,a"
    path = write_lines(tmp_path / "a.csv", ["x,z,label", *rows])
    message = r"column 'z' of a\.csv contains numbers except for 'oops' in line 392: correct"
    with pytest.raises(ValueError, match=message):
        fit_encoder(open_table(path), target="label")
    with pytest.raises(ValueError, match=message):
        fit_encoder(read_table(path), target="label")
    rows[390] = "1e200,0,a"
    write_lines(path, ["x,z,label", *rows])
    with pytest.raises(ValueError, match=r"'x' of a\.csv contains 1e\+200 in line 392, which is"):
        fit_encoder(open_table(path), target="label")
    rows[390] = "0,0,a"
    good = fit_encoder(open_table(write_lines(path, ["x,z,label", *rows])), target="label")
    rows[390] = "0,oops,a"
    write_lines(path, ["x,z,label", *rows])
    with pytest.raises(ValueError, match=r"'oops' in line 392, where the model needs a number"):
        list(map(good.transform, open_table(path, **good.reading).tables()))


def test_rows_are_counted_over_batches(tmp_path, small_batches):
    rows = [f"{i + 5},{i % 40},{i % 7},{'ab'[i % 2]}" for i in range(200)]
    path = write_lines(tmp_path / "a.csv", ["index,repeats,x,label", *rows])
    encoder = fit_encoder(open_table(path), target="label")
    assert encoder.feature_names == ["repeats", "x"]
    assert encoder.notes == ["column 'index' counts the rows: left out"]


# ---------------------------------------------------------------- summaries

cells = st.lists(st.none() | st.integers(-5, 5) | st.floats(-1e6, 1e6), min_size=1, max_size=40)


def summary_of(values, splits=()):
    summary, rng = NumberSummary(), np.random.default_rng(0)
    for part in np.split(values, sorted(splits)):
        summary.update(part, rng.random(len(part)))
    return summary


@settings(max_examples=100)
@given(cells, st.lists(st.integers(0, 40), max_size=4))
def test_sums_of_numbers(cells, splits):
    """Against numpy, whatever the batches are; with the median in place of missing cells."""
    values = np.array([np.nan if cell is None else cell for cell in cells], dtype=float)
    known = values[~np.isnan(values)]
    summary = summary_of(values, splits)
    assert (summary.n, summary.n_missing) == (len(known), len(values) - len(known))
    assert summary.counts_rows == bool((np.diff(values) == 1).all() and not np.isnan(values[0]))
    if len(known) == 0:
        return
    assert (summary.lowest, summary.highest) == (known.min(), known.max())
    assert summary.median == pytest.approx(np.median(known), rel=1e-12)
    filled = np.where(np.isnan(values), np.median(known), values)
    mean, scale = summary.scaling(summary.median)
    assert mean == pytest.approx(filled.mean(), rel=1e-9, abs=1e-6)
    assert scale == pytest.approx(filled.std() or 1.0, rel=1e-6, abs=1e-6)


@given(cells)
def test_sums_of_counted_numbers(cells):
    """Numbers in texts are added once, with their counts."""
    texts = [None if cell is None else repr(cell) for cell in cells]
    summary = TextSummary("x", "t.csv", None)
    summary.update(np.array(texts, dtype=object), str)
    assert (summary.n, summary.n_missing) == (len(texts) - texts.count(None), texts.count(None))
    known = np.array([float(text) for text in texts if text is not None])
    if len(known) == 0:
        return
    numbers = summary.numbers("number")
    assert numbers.median == pytest.approx(np.median(known), rel=1e-12)
    assert numbers.mean == pytest.approx(known.mean(), rel=1e-9, abs=1e-6)
    assert numbers.n_missing == texts.count(None)


def test_many_numbers_are_sampled(monkeypatch):
    """The sample does not depend on the batches; extremes and sums are exact."""
    monkeypatch.setattr(summaries, "_EXACT", 2000)
    monkeypatch.setattr(summaries, "_SAMPLE", 1000)
    values = np.random.default_rng(1).gamma(2.0, size=20_000)
    values[::10] = np.nan
    whole, parts = summary_of(values), summary_of(values, range(300, 20_000, 300))
    exact = np.nanmedian(values)
    assert whole.median == parts.median != exact
    share = np.nanmean(values < whole.median)
    assert abs(share - 0.5) < 4 * np.sqrt(0.25 / 900)
    assert whole.mean == pytest.approx(np.nanmean(values), rel=1e-12)
    assert sum(len(values) for values, _ in parts._sample) == 1000
    assert summary_of(values[:2000]).median == np.nanmedian(values[:2000])


def test_very_many_texts(monkeypatch):
    """Only the frequent ones are kept; words and numbers are counted exactly."""
    rng = np.random.default_rng(0)
    texts = [f"w{i % 5} x{i % 3} {i}" for i in range(3000)] + ["often seen text"] * 500
    texts = np.array(rng.permutation(texts), dtype=object)
    exact = TextSummary("x", "t.csv", None)
    exact.update(texts, str)
    monkeypatch.setattr(summaries, "_MOST_TEXTS", 400)
    monkeypatch.setattr(summaries, "_KEPT", 20)
    dropped = TextSummary("x", "t.csv", None)
    for part in np.split(texts, range(100, 3500, 100)):
        dropped.update(part, str)
    assert len(dropped.counts) <= 400
    assert dropped.counts["often seen text"] == 500
    assert dropped.n_texts == exact.n_texts == 3001
    assert dropped.mean_words == pytest.approx(exact.mean_words)
    assert dropped.n_read("number") == 0
    assert not dropped.can_be("number")
    assert dropped.words() == exact.words()
    dates = np.array([f"{1900 + i % 100}-01-{1 + i % 28:02d}" for i in range(2000)], dtype=object)
    found = TextSummary("x", "t.csv", None)
    for part in np.split(dates, 10):
        found.update(part, str)
    monkeypatch.undo()
    whole = TextSummary("x", "t.csv", None)
    whole.update(dates, str)
    assert found.can_be("date")
    assert found.numbers("date").median == whole.numbers("date").median


@given(st.lists(st.text("abc dé", max_size=12), min_size=1, max_size=30), st.integers(1, 2))
def test_words_are_those_of_scikit_learn(texts, min_texts):
    counts = WordCounts()
    counts.update(Counter(texts))
    words, weights = counts.vocabulary(min_texts, 1000)
    vectorizer = TfidfVectorizer(min_df=min_texts)
    try:
        vectorizer.fit(texts)
    except ValueError:  # no word is left
        assert words == []
        return
    assert words == vectorizer.get_feature_names_out().tolist()
    np.testing.assert_allclose(weights, vectorizer.idf_, rtol=1e-12)


def test_frequent_words_are_kept(monkeypatch):
    counts = WordCounts()
    counts.update({"aa bb": 3, "bb bb cc": 2, "dd": 1})
    assert counts.vocabulary(1, 2)[0] == ["aa", "bb"]
    assert counts.vocabulary(3, 9)[0] == ["aa", "bb"]
    monkeypatch.setattr(summaries, "_MOST_WORDS", 100)
    many = WordCounts()
    many.update({f"often w{i}": 1 for i in range(1000)})
    assert many.texts["often"] == 1000
    assert len(many.texts) <= 101


def test_batches_without_labels_or_numbers(tmp_path, small_batches):
    """A batch may lack what others have: labels, known cells, sentences."""
    rows = [f"{'' if i < 100 else i % 9},{'' if i < 200 else 'ab'[i % 2]}" for i in range(300)]
    path = write_lines(tmp_path / "a.csv", ["x,label", *rows])
    encoder = fit_encoder(open_table(path), target="label")
    check_equal(encoder, fit_encoder(read_table(path, as_text=["label"]), target="label"))
    labels = [
        label
        for batch in open_table(path, **encoder.reading).tables()
        for label in encoder.target_of(batch)
    ]
    assert labels == [None] * 200 + ["a", "b"] * 50


def test_a_table_of_a_dataset():
    table = pa.table({"x": [1.5, 2.0, None], "label": ["a", "b", None]})
    encoder = fit_encoder(open_table(table), target="label")
    found = read_table(table)
    assert isinstance(found, Table)
    np.testing.assert_array_equal(encoder.transform(found), [[1.5, 0], [2, 0], [1.75, 1]])
