"""Tables become matrices in the same way every time; encoders survive JSON and bad input."""

import copy
import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from lapwing.tables import Table, TableEncoder, fit_encoder, read_table


def objects(values):
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def table_of(source="t.csv", **columns):
    arrays = {
        name: objects(values)
        if any(isinstance(value, str) for value in values)
        else np.array([np.nan if value is None else value for value in values], dtype=float)
        for name, values in columns.items()
    }
    n = len(next(iter(arrays.values())))
    return Table(source, n, arrays, place=lambda row: f"line {row + 2}")


def dense(X):
    return X.toarray() if sparse.issparse(X) else X


def again(encoder):
    return TableEncoder.from_dict(json.loads(json.dumps(encoder.to_dict())))


LABELS = ["a", None, "b", None]


def test_numbers_alone_are_not_changed():
    table = table_of(x=[1, 2, None, 9], y=[5, 6, 7, 9], label=LABELS)
    encoder = fit_encoder(table, target="label")
    assert encoder.feature_names == ["x", "x is missing", "y"]
    np.testing.assert_array_equal(
        encoder.transform(table), [[1, 0, 5], [2, 0, 6], [2, 1, 7], [9, 0, 9]]
    )
    new = table_of(x=[None], y=[None], z=[3])  # missing where it never was: the median
    np.testing.assert_array_equal(encoder.transform(new), [[2, 1, 6.5]])


def test_numbers_beside_categories_are_scaled():
    table = table_of(x=[1, 2, 3, 4], colour=["red", "blue", "NA", "red"], label=LABELS)
    encoder = fit_encoder(table, target="label")
    assert encoder.feature_names == ["x", "colour = blue", "colour = red", "colour is missing"]
    X = encoder.transform(table)
    assert X[:, 0].mean() == pytest.approx(0)
    assert X[:, 0].std() == pytest.approx(1)
    np.testing.assert_array_equal(X[:, 1:], [[0, 1, 0], [1, 0, 0], [0, 0, 1], [0, 1, 0]])
    new = table_of(x=[2.5, 2.5], colour=["green", None])
    np.testing.assert_allclose(encoder.transform(new), [[0, 0, 0, 0], [0, 0, 0, 1]])


def test_dates_and_booleans():
    table = table_of(
        day=["1970-01-01", "1970-01-03", "", "1970-01-02T12:00"],
        ok=["yes", "No", "no", "yes"],
        label=LABELS,
    )
    encoder = fit_encoder(table, target="label")
    assert encoder.feature_names == ["day", "day is missing", "ok"]
    np.testing.assert_array_equal(
        encoder.transform(table), [[0, 0, 1], [2, 0, 0], [1.5, 1, 0], [1.5, 0, 1]]
    )
    with pytest.raises(ValueError, match=r"'day' of n.csv contains 'soon' in line 2.*a date"):
        encoder.transform(table_of("n.csv", day=["soon"], ok=["no"]))
    with pytest.raises(ValueError, match=r"'ok' of n.csv contains 'maybe' in line 2"):
        encoder.transform(table_of("n.csv", day=["2000-01-01"], ok=["maybe"]))


def test_texts_are_words():
    numbers = [i % 9 for i in range(60)]
    texts = [f"the word{i % 7} and the word{i % 5} again {i}{i}" for i in range(60)]
    label = ["a", "b", *[None] * 58]
    mixed = table_of(note=texts, x=numbers, label=label)
    assert not fit_encoder(mixed, target="label").is_sparse
    table = table_of(note=texts, label=label)
    encoder = fit_encoder(table, target="label")
    X = encoder.transform(table)
    assert sparse.issparse(X)
    assert X.format == "csr"
    names = encoder.feature_names
    assert "note: word3" in names
    assert "note: 1717" not in names  # in one row only
    words = [name.startswith("note: ") for name in names]
    np.testing.assert_allclose(sparse.linalg.norm(X[:, words], axis=1), 1)
    assert encoder.transform(table_of(note=["entirely different"])).nnz == 0


def test_forced_column_types():
    words = ["u", "v", "w x", "u"]
    with pytest.raises(ValueError, match="left to learn from"):
        fit_encoder(table_of(word=words, label=LABELS), target="label", text_columns=["word"])
    words[2] = "www xxx"
    table = table_of(code=[1, 2, 10, 1], word=words, label=LABELS)
    encoder = fit_encoder(
        table, target="label", categorical_columns=["code"], text_columns=["word"]
    )
    assert encoder.feature_names == [
        "code = 1", "code = 10", "code = 2", "word: www", "word: xxx",
    ]  # fmt: skip
    assert set(encoder.as_text) == {"code", "word", "label"}


@pytest.mark.parametrize(("n", "counts"), [(19, False), (20, True)])
def test_numbers_that_count_many_rows_are_left_out(n, counts):
    table = table_of(
        index=list(range(n)), x=[i % 7 for i in range(n)], label=["a", "b", *[""] * (n - 2)]
    )
    encoder = fit_encoder(table, target="label")
    assert encoder.feature_names == (["x"] if counts else ["index", "x"])


def test_columns_left_out_are_noted():
    n = 30
    table = table_of(
        constant=[4] * n,
        same=["x"] * n,
        empty=[None] * n,
        marks=["NA"] * n,
        index=list(range(n)),
        key=[f"k{i}" for i in range(n)],
        x=[i % 7 for i in range(n)],
        label=["a", "b", *[""] * (n - 2)],
    )
    encoder = fit_encoder(table, target="label")
    assert encoder.feature_names == ["x"]
    assert len(encoder.notes) == 6
    for name in ("constant", "same", "empty", "marks", "index", "key"):
        assert any(repr(name) in note and "left out" in note for note in encoder.notes)


def test_many_categories_share_a_feature():
    values = [f"v{i % 300}" for i in range(3000)]
    table = table_of(code=values, label=["a", "b", *[""] * 2998])
    encoder = fit_encoder(table, target="label", categorical_columns=["code"])
    assert len(encoder.feature_names) == 201
    assert "200 most frequent" in encoder.notes[0]
    X = encoder.transform(table)
    assert sparse.issparse(X)
    np.testing.assert_array_equal(X.sum(axis=1), 1)
    assert encoder.transform(table_of(code=["never seen"])).indices.tolist() == [200]


def test_mixed_columns():
    cells = [str(i) for i in range(100)]
    table = table_of(x=[*cells, "n/a", "abc"], label=["a", "b", *[""] * 100])
    with pytest.raises(
        ValueError, match=r"column 'x' of t\.csv .*'abc' in line 103.*--text-columns"
    ):
        fit_encoder(table, target="label")
    fit_encoder(table, target="label", categorical_columns=["x"])
    half = table_of(x=["1", "2", "low", "high"] * 5, label=["a", "b", *[""] * 18])
    encoder = fit_encoder(half, target="label")
    assert encoder.feature_names == ["x = 1", "x = 2", "x = high", "x = low"]
    for cells in (["1,234", "2,500", "3"], ["1,5", "2.5", "3,5"], ["1,234.5", "2,5", "3"]):
        commas = table_of(x=cells * 5, label=["a", "b", *[""] * 13])
        with pytest.raises(ValueError, match="decimal marks or between thousands"):
            fit_encoder(commas, target="label")


@pytest.mark.parametrize("value", [np.inf, 1e200])
def test_numbers_too_large(value):
    table = table_of(x=[1, 2, value, 4], label=LABELS)
    with pytest.raises(ValueError, match=r"'x' of t\.csv contains .* in line 4"):
        fit_encoder(table, target="label")


def test_missing_columns():
    table = table_of(age=[1, 2, 3, 5], colour=["r", "b", "r", "b"], label=LABELS)
    with pytest.raises(ValueError, match=r"no target column 'Lable': did you mean 'label'\?"):
        fit_encoder(table, target="Lable")
    with pytest.raises(ValueError, match="no column 'nr': it has 'age', 'colour'"):
        fit_encoder(table, target="label", id="nr")
    with pytest.raises(ValueError, match="--target"):
        fit_encoder(table)
    with pytest.raises(ValueError, match="is the target"):
        fit_encoder(table, target="label", text_columns=["label"])
    encoder = fit_encoder(table, target="label")
    with pytest.raises(ValueError, match=r"n\.csv lacks 'age', which the model needs"):
        encoder.transform(table_of("n.csv", colour=["r"]))
    with pytest.raises(ValueError, match=r"'age' of n\.csv contains 'old' in line 3"):
        encoder.transform(table_of("n.csv", age=["1", "old"], colour=["r", "b"]))


# ---------------------------------------------------------------- targets and row names


@pytest.mark.parametrize(
    ("cells", "marker", "expected"),
    [
        (["a", " b ", None, ""], None, ["a", "b", None, None]),
        (["a", "b", "todo", "a"], "todo", ["a", "b", None, "a"]),
        (["1", "2.0", "", "-1"], "-1.0", [1, 2, None, None]),
        (["1", "NA", "2", ""], None, [1, None, 2, None]),
        (["1.5", "2", "3", ""], None, [1.5, 2, 3, None]),
        (["007", "008", "", ""], None, ["007", "008", None, None]),
        (["NA", "a", "", ""], None, ["NA", "a", None, None]),
    ],
)
def test_targets(cells, marker, expected):
    table = table_of(x=[1, 2, 3, 5], label=cells)
    encoder = fit_encoder(table, target="label", unlabeled=marker)
    found = encoder.target_of(table).tolist()
    assert found == expected
    assert [type(label) for label in found] == [type(label) for label in expected]
    assert again(encoder).target_of(table).tolist() == expected
    assert any("--unlabeled" in note for note in encoder.notes) == ("NA" in expected)


def test_numeric_columns_as_targets():
    table = table_of(x=[1, 2, 3, 5], label=[0, 1, None, 1])
    encoder = fit_encoder(table, target="label")
    assert encoder.target_of(table).tolist() == [0, 1, None, 1]


def test_row_names():
    table = table_of(nr=["u1", "u2", "", "u4"], x=[1, 2, 3, 5], label=LABELS)
    encoder = fit_encoder(table, target="label", id="nr")
    assert encoder.ids_of(table) == ["u1", "u2", "", "u4"]
    assert encoder.feature_names == ["x"]
    counted = fit_encoder(table, target="label")
    assert counted.ids_of(table) == ["1", "2", "3", "4"]


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
def test_matrices(make):
    table = Table("a.npz", 4, X=make(np.eye(4)), y=np.array([0, -1, 5, 2]))
    encoder = fit_encoder(table)
    assert encoder.target_of(table).tolist() == [0, None, 5, 2]
    assert encoder.unlabeled == "-1"
    assert encoder.ids_of(table) == ["1", "2", "3", "4"]
    np.testing.assert_array_equal(dense(again(encoder).transform(table)), np.eye(4))
    with pytest.raises(ValueError, match="no names"):
        fit_encoder(table, target="label")
    with pytest.raises(ValueError, match="no array y"):
        fit_encoder(Table("b.npz", 4, X=make(np.eye(4))))
    with pytest.raises(ValueError, match="has 5 columns, and the model was fitted to 4"):
        encoder.transform(Table("c.npz", 1, X=make(np.ones((1, 5)))))
    with pytest.raises(ValueError, match=r"must be \.npz or svmlight"):
        encoder.transform(table_of(x=[1, 2]))


def test_sparse_matrices_may_end_early():
    table = Table("a.svm", 4, X=sparse.csr_matrix(np.eye(4)), y=np.array([1.0, 2, 1, 2]))
    encoder = fit_encoder(table)
    X = encoder.transform(Table("b.svm", 1, X=sparse.csr_matrix(np.ones((1, 2)))))
    np.testing.assert_array_equal(X.toarray(), [[1, 1, 0, 0]])


@pytest.mark.parametrize("labels", [[-1, 1, 1], [-1, 0, 1]])
def test_minus_one_may_be_a_class(labels):
    table = Table("a.npz", 3, X=np.eye(3), y=np.array(labels))
    with pytest.raises(ValueError, match="--unlabeled -1 or --unlabeled 0"):
        fit_encoder(table)
    encoder = fit_encoder(table, unlabeled="nan")
    assert encoder.target_of(table).tolist() == labels


# ---------------------------------------------------------------- the model file

numbers = st.none() | st.integers(-5, 5) | st.floats(-1e100, 1e100)
words = st.none() | st.sampled_from(["red", "blue", "NA", "one two three", "four five six seven"])
anything = st.none() | st.text(max_size=8)


@st.composite
def tables(draw):
    n = draw(st.integers(2, 40))
    cells = draw(st.lists(st.sampled_from([numbers, words, anything]), min_size=1, max_size=4))
    columns = {
        f"c{i}": draw(st.lists(cell, min_size=n, max_size=n)) for i, cell in enumerate(cells)
    }
    label = ["a", "b", *[None] * (n - 2)]
    return table_of(**columns, label=label)


def test_decimal_commas_and_dotted_dates():
    cells = {"x": ["1,5", "-2,25e1", "3", ""], "when": ["18.09.2015", "1.1.1970 12:00", "", ""]}
    plain = {"x": ["1.5", "-22.5", "3", ""], "when": ["2015-09-18", "1970-01-01 12:00", "", ""]}
    label = ["0,5", "2", "", ""]
    encoder = fit_encoder(table_of(**cells, label=label), target="label")
    expected = fit_encoder(table_of(**plain, label=["0.5", "2", "", ""]), target="label")
    X = again(encoder).transform(table_of(**cells, label=label))
    Z = expected.transform(table_of(**plain, label=label))
    np.testing.assert_array_equal(X, Z)
    assert encoder.target_of(table_of(**cells, label=label)).tolist() == [0.5, 2, None, None]
    with pytest.raises(ValueError, match="'soon' in line 2, where the model needs a date such as"):
        encoder.transform(table_of(x=["1,5"], when=["soon"]))
    assert encoder.transform(table_of(x=["1.234,5"], when=[""]))[0, 0] == 1234.5
    with pytest.raises(ValueError, match=r"'2\.5' .* a number such as 1,5 \(--decimal \. reads it"):
        encoder.transform(table_of(x=["2.5"], when=[""]))
    plain = fit_encoder(table_of(x=["1", "2"], label=["a", "b"]), target="label")
    with pytest.raises(ValueError, match=r"'2,5' .* needs a number \(--decimal , reads it\)"):
        plain.transform(table_of(x=["2,5"]))


def test_the_decimal_mark_of_a_table():
    """It decides what no cell shows; cells that show the contrary are read as they are."""
    cells = {"x": ["950", "1.200", "12.000", ""], "y": ["2.5", "1.200", "3", "4"]}
    table = replace(table_of(**cells, label=["1.000", "2", "", ""]), decimal=",")
    encoder = again(fit_encoder(table, target="label"))
    np.testing.assert_array_equal(
        encoder.transform(table), [[950, 0, 2.5], [1200, 0, 1.2], [12000, 0, 3], [1200, 1, 4]]
    )
    assert encoder.target_of(table).tolist() == [1000, 2, None, None]
    assert encoder.decimal == {"x": ","}
    other = encoder.with_decimal(".")
    assert other.decimal == {"x": ".", "y": "."}
    np.testing.assert_array_equal(
        other.transform(table_of(x=["1,200.5"], y=["3"])), [[1200.5, 0, 3]]
    )
    points = replace(table_of(x=["1,200", "3", "2"], label=["a", "b", ""]), decimal=".")
    assert fit_encoder(points, target="label").transform(points).ravel().tolist() == [1200, 3, 2]


def test_texts_that_look_like_numbers_are_noted():
    label = ["a", "b", *[""] * 28]
    cells = {
        "share": ["3,5 %", "4 %", "1,25 %"] * 10,
        "price": [f"€ {i},50" for i in range(30)],
        "some": ["3,5", "none at all", "4,5"] * 10,
        "few": ["3,5", "low", "high"] * 10,
        "name": ["a, b", "c", "d"] * 10,
    }
    encoder = fit_encoder(table_of(**cells, label=label), target="label")
    share, price, some = encoder.notes
    assert share.startswith("column 'share' is not read as numbers, although cells such as '3,5 %'")
    assert "pass --decimal , or --decimal . for the decimal mark" in share
    assert "'price' differ, like names of rows: left out" in price
    assert "such as '€ 0,50' look like them" in price
    assert some.startswith("column 'some' is not read as numbers")
    chosen = fit_encoder(
        table_of(**cells, label=label), target="label", categorical_columns=list(cells)
    )
    assert chosen.notes == []


def test_the_columns_of_the_file_are_listed(tmp_path):
    """Also if the model uses none of them, so that none was read."""
    encoder = fit_encoder(table_of(x=["1", "2"], y=["2", "2.5"], label=["a", "b"]), target="label")
    (tmp_path / "t.csv").write_text("width,height\n1,2\n")
    table = read_table(tmp_path / "t.csv", only=encoder.names)
    with pytest.raises(ValueError, match=r"lacks 'x', 'y', .* it has 'width', 'height': rename"):
        encoder.transform(table)
    matrix = Table("t.npz", 1, X=np.zeros((1, 2)))
    with pytest.raises(ValueError, match="it has numbered columns"):
        encoder.transform(matrix)


@settings(max_examples=60)
@given(tables())
def test_any_table_gives_a_finite_matrix_that_survives_json(table):
    try:
        encoder = fit_encoder(table, target="label")
    except ValueError as error:
        message = str(error)
        assert any(
            t in message for t in ("left to learn", "numbers except", "decimal marks", "cell")
        )
        return
    X = encoder.transform(table)
    assert X.shape == (table.n_rows, len(encoder.feature_names))
    assert np.isfinite(dense(X)).all()
    copied = again(encoder)
    np.testing.assert_array_equal(dense(copied.transform(table)), dense(X))
    assert copied.feature_names == encoder.feature_names
    assert copied.target_of(table).tolist() == encoder.target_of(table).tolist()


def good():
    texts = ["one two three", "four five six", "seven eight nine"] * 5
    texts = [f"{text} {i}{i}" for i, text in enumerate(texts)]
    table = table_of(
        x=list(np.arange(15.0) % 4),
        colour=["r", "b", "g"] * 5,
        note=texts,
        label=["a", "b", *[""] * 13],
    )
    return fit_encoder(table, target="label").to_dict()


hostile = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)


def paths(value, path=()):
    yield path
    items = value.items() if isinstance(value, dict) else []
    items = enumerate(value[:2]) if isinstance(value, list) else items
    for key, inner in items:
        yield from paths(inner, (*path, key))


PATHS = list(paths(good()))


@settings(max_examples=150)
@given(st.sampled_from(PATHS), hostile)
def test_hostile_input_is_refused_or_harmless(path, value):
    stored = copy.deepcopy(good_once)
    if not path:
        stored = value
    else:
        inner = stored
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = value
    try:
        encoder = TableEncoder.from_dict(stored)
    except ValueError:
        return
    table = table_of(x=[1.0], colour=["r"], note=["one"])
    try:
        X = encoder.transform(table)
    except ValueError:
        return
    assert X.shape[0] == 1


good_once = good()


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.pop("notes"),
        lambda d: d.update(more=1),
        lambda d: d.update(version=3),
        lambda d: d.update(version=1),
        lambda d: d.update(target_reading="date"),
        lambda d: d.update(n_features=3),
        lambda d: d.update(columns=[]) or d.update(n_features=-1),
        lambda d: d["columns"].append(d["columns"][0]),
        lambda d: d["columns"][0].update(kind="__import__"),
        lambda d: d["columns"][0].update(scale=0.0),
        lambda d: d["columns"][0].update(median=float("nan")),
        lambda d: d["columns"][0].update(median=10**400),
        lambda d: d["columns"][1]["values"].append("r"),
        lambda d: d["columns"][2]["idf"].pop(),
        lambda d: d["columns"][2]["idf"].__setitem__(0, -1.0),
    ],
)
def test_damaged_encoders_are_refused(change):
    stored = good()
    change(stored)
    with pytest.raises(ValueError, match="damaged"):
        TableEncoder.from_dict(stored)


@pytest.mark.parametrize("are_numbers", [True, False])
def test_encoders_of_version_1_are_read(are_numbers):
    stored = good()
    assert stored.pop("target_reading") is None
    encoder = TableEncoder.from_dict({**stored, "version": 1, "target_is_number": are_numbers})
    expected = "number" if are_numbers else None
    assert encoder.to_dict() == {**good(), "target_reading": expected}


@pytest.mark.parametrize("labels", [[0, 1, -1, 0, -1, 1], ["0", "5", "-1", "0", "-1", "5"]])
def test_minus_one_among_classes_without_an_empty_cell_is_refused(labels):
    table = table_of(x=[1, 2, 3, 4, 5, 6], label=labels)
    with pytest.raises(ValueError, match="--unlabeled -1 if it does, or --unlabeled nan"):
        fit_encoder(table, target="label")
    marked = fit_encoder(table, target="label", unlabeled="-1").target_of(table)
    assert [label is None for label in marked] == [False, False, True, False, True, False]
    assert -1 in fit_encoder(table, target="label", unlabeled="nan").target_of(table)


@pytest.mark.parametrize("labels", [[0, 1, -1, 0, None, 1], [-2, 1, -1, -2, -1, 1], [1, 2.5, -1]])
def test_minus_one_is_a_label_where_nothing_else_can_be_meant(labels):
    table = table_of(x=list(range(len(labels))), label=labels)
    assert -1 in fit_encoder(table, target="label").target_of(table)


@pytest.mark.parametrize(
    "labels", [["A", "B", "-1", "A"], ["A", "B", "-1", None], ["A", -1, "B", "A"]]
)
def test_minus_one_beside_texts_is_refused(labels):
    table = table_of(x=[1, 2, 3, 4], label=labels)
    with pytest.raises(ValueError, match=r"other labels are texts.*--unlabeled -1 if it does"):
        fit_encoder(table, target="label")
    assert "-1" in fit_encoder(table, target="label", unlabeled="nan").target_of(table)
    assert "-1" not in fit_encoder(table, target="label", unlabeled="-1").target_of(table)


@pytest.mark.parametrize(
    ("decimal", "cells", "noted"),
    [
        (",", ["1.5", "2.25", "3"], "'.'"),
        (".", ["1,5", "2,25", "3"], "','"),
        (",", ["1,5", "2,25", "3"], None),
        (",", ["1", "2", "30"], None),
        (".", ["1.5", "2", "30"], None),
        (None, ["1,5", "2", "30"], None),
    ],
)
def test_columns_with_another_decimal_mark_than_their_file_are_noted(decimal, cells, noted):
    table = replace(table_of(x=cells, label=["a", "b", None]), decimal=decimal)
    notes = fit_encoder(table, target="label").notes
    expected = [] if noted is None else [f"column 'x' is read with the decimal mark {noted}"]
    assert [note.split(", because")[0] for note in notes] == expected


@pytest.mark.parametrize("cells", [["20.3 %", "4 %", "5.5 %"], ["€ 203.20", "€ 3.10", "€ 1.00"]])
def test_numbers_with_units_are_noted(cells):
    table = table_of(x=cells, z=[1, 2, 4], label=["a", "b", None])
    assert any("look like them" in note for note in fit_encoder(table, target="label").notes)


def test_points_that_may_stand_between_thousands_are_noted():
    cells = ["1.830", "353", "1.768", "225"]
    table = table_of(x=cells, label=["a", "b", None, None])
    [note] = fit_encoder(table, target="label").notes
    assert "'1.830' beside '353'" in note
    assert "--decimal ," in note
    for other in (["1.830", "3.530", "1.768"], ["1.83", "353", "1.768"], ["1", "2", "3"]):
        table = table_of(x=other, label=["a", "b", None])
        assert fit_encoder(table, target="label").notes == []


def test_points_between_thousands_of_a_file_are_noted(tmp_path):
    (tmp_path / "t.csv").write_text("x;z;label\n1.830;1;a\n353;2;b\n1.768;4;\n;7;\n")
    table = read_table(tmp_path / "t.csv")
    encoder = fit_encoder(table, target="label")
    assert any("'1.830' beside '353'" in note for note in encoder.notes)
    np.testing.assert_array_equal(encoder.transform(table)[:3, 0], [1.83, 353, 1.768])
    decided = read_table(tmp_path / "t.csv", decimal=",")
    encoder = fit_encoder(decided, target="label")
    assert encoder.notes == []
    np.testing.assert_array_equal(encoder.transform(decided)[:3, 0], [1830, 353, 1768])


def test_dates_with_slashes_are_noted():
    table = table_of(x=["1/15/2015", "2/1/2016", "3/4/2015"], z=[1, 2, 4], label=["a", "b", None])
    [note] = fit_encoder(table, target="label").notes
    assert "write dates as 2015-01-31" in note


def test_the_cell_that_is_no_number_is_named():
    table = table_of(x=["2.08", "(1.62)", "2.5"], z=[1, 2, 4], label=["a", "b", None])
    [note] = fit_encoder(table, target="label").notes
    assert "cells such as '(1.62)'" in note


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (
            ["22.1 %", "3 %", None],
            "targets are not read as numbers, although cells such as '22.1 %'",
        ),
        (["cat", "Unknown", "dog"], "--unlabeled 'Unknown'"),
        (["cat", "?", "dog"], "--unlabeled '?'"),
        (["cat", "dog", None], None),
    ],
)
def test_notes_about_targets(labels, words):
    table = table_of(x=[1.5, 2.5, 4.0], label=labels)
    notes = fit_encoder(table, target="label").notes
    assert [words in note for note in notes] == ([] if words is None else [True])
