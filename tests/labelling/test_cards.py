"""What is shown of a row, from tables and from what notebooks pass."""

import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits

from lapwing.labelling.cards import Cards, cards_of, cards_of_table
from lapwing.labelling.pictures import png_of
from lapwing.tables import read_table

SCRIPT = "<script>alert(1)</script>&amp;"


def texts_of(*texts):
    return np.array(texts, dtype=object)


def table_cards(columns, *, names=None, text=None, image=None, folder=None):
    n = len(next(iter(columns.values())))
    return cards_of_table(columns, n, names=names, text=text, image=image, folder=folder)


# ---------------------------------------------------------------- tables


def test_fields_of_a_row():
    columns = {"height": np.array([1.5, 12.0, np.nan]), "leaf": texts_of("ovate", None, SCRIPT)}
    cards = table_cards(columns)
    assert cards.of(0) == {
        "row": 0,
        "name": "row 1",
        "text": None,
        "image": False,
        "fields": [["height", "1.5", True], ["leaf", "ovate", False]],
        "brief": "height 1.5, leaf ovate",
    }
    assert cards.of(1)["fields"] == [["height", "12", True], ["leaf", "", False]]
    assert cards.of(1)["brief"] == "height 12"
    # Markup is passed on as it is: the page inserts it as text.
    assert cards.of(2)["fields"] == [["height", "", True], ["leaf", SCRIPT, False]]
    json.dumps([cards.of(row) for row in range(3)], allow_nan=False)


def test_cells_are_shown_as_they_are_in_the_file(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('code,answer,n\n007,none," 1.50"\n-,NA,\nx, a ,-3\n')
    cards = table_cards(read_table(path).columns)
    shown = [[value for _, value, _ in cards.of(row)["fields"]] for row in range(3)]
    assert shown[0] == ["007", "none", "1.5"]  # "none" may be an answer
    assert shown[1] == ["-", "NA", ""]
    assert shown[2][2] == "-3"


def test_rows_have_names():
    cards = table_cards({"a": np.zeros(2)}, names=["oak 7", SCRIPT])
    assert [cards.of(row)["name"] for row in (0, 1)] == ["oak 7", SCRIPT]


def test_the_text_of_a_row():
    text = "A tall tree.\n\nIt has <b>needles</b>."
    columns = {"body": texts_of(text, None, "none"), "n": np.array([1.0, 2.0, 3.0])}
    cards = table_cards(columns, text="body")
    assert cards.of(0)["text"] == text
    assert cards.of(0)["brief"] == "A tall tree. It has <b>needles</b>."
    assert cards.of(0)["fields"] == [["n", "1", True]]  # the text is not shown twice
    assert cards.of(1)["text"] == ""
    assert cards.of(1)["brief"] == "n 2"  # a row without a text is known by its fields
    assert cards.of(2)["text"] == "none"


def test_long_cells_are_cut_off():
    columns = {"body": texts_of("x y" * 200_000), "leaf": texts_of("z" * 50_000)}
    card = table_cards(columns, text="body").of(0)
    assert len(card["text"]) == 200_000
    assert len(card["fields"][0][1]) == 20_000
    assert len(card["brief"]) <= 80
    assert card["brief"].endswith("…")


def test_at_most_200_fields():
    cards = table_cards({f"c{i}": np.zeros(1) for i in range(300)})
    assert [name for name, _, _ in cards.of(0)["fields"]] == [f"c{i}" for i in range(200)]


def test_the_brief_line_has_eight_fields():
    cards = table_cards({f"c{i}": np.array([float(i)]) for i in range(12)})
    assert cards.of(0)["brief"] == ", ".join(f"c{i} {i}" for i in range(8))


def test_pictures_are_read_from_the_folder(tmp_path):
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "a.png").write_bytes(png_of(np.eye(3)))
    (tmp_path / "secret.png").write_bytes(png_of(np.eye(3)))
    columns = {"file": texts_of("a.png", None, "../secret.png", "b.png"), "n": np.arange(4.0)}
    cards = table_cards(columns, image="file", folder=tmp_path / "pictures")
    assert cards.of(0)["image"] is True
    assert cards.of(0)["fields"] == [["n", "0", True]]
    assert cards.picture(0) == ("image/png", png_of(np.eye(3)))
    with pytest.raises(LookupError, match="its cell is empty"):
        cards.picture(1)
    for row in (2, 3):
        with pytest.raises(LookupError, match="there is no file"):
            cards.picture(row)


# ---------------------------------------------------------------- notebooks


def test_entries_of_x_are_shown_by_default():
    X = np.array([[1.0, 0.1], [2.5, -3.0]])
    assert cards_of(None, X).of(1)["fields"] == [
        ["column 1", "2.5", True],
        ["column 2", "-3", True],
    ]
    assert cards_of(None, sp.csr_matrix(X)).of(1) == cards_of(None, X).of(1)


def test_numbers_have_the_digits_of_their_type():
    X = np.array([[0.1, 2.0]], dtype=np.float32)
    assert [value for _, value, _ in cards_of(None, X).of(0)["fields"]] == ["0.1", "2"]


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
def test_many_columns_tell_nobody_what_a_row_is(form):
    cards_of(None, form(np.ones((2, 200))))
    with pytest.raises(ValueError, match=r"the 201 columns of X tell nobody .* pass show="):
        cards_of(None, form(np.ones((2, 201))))


def test_a_dataframe_of_fields():
    frame = pd.DataFrame(
        {
            "n": [1, 2**60 + 1],
            "x": [0.5, np.nan],
            "leaf": pd.Series([SCRIPT, None], dtype=object),
            "size": pd.Categorical(["tall", "low"]),
            "evergreen": [True, False],
            "seen": pd.to_datetime(["2024-05-01", None]),
            "count": pd.array([3, None], dtype="Int64"),
            7: ["a", "b"],
        }
    )
    cards = cards_of(frame, np.zeros((2, 1)))
    shown = {name: (value, number) for name, value, number in cards.of(0)["fields"]}
    assert shown["n"] == ("1", True)
    assert shown["x"] == ("0.5", True)
    assert shown["leaf"] == (SCRIPT, False)
    assert shown["size"] == ("tall", False)
    assert shown["evergreen"] == ("True", False)
    assert shown["seen"][0].startswith("2024-05-01")
    assert shown["count"][0] == "3"
    assert shown["7"] == ("a", False)
    shown = {name: value for name, value, _ in cards.of(1)["fields"]}
    assert shown["n"] == str(2**60 + 1)
    assert [shown[name] for name in ("x", "leaf", "seen", "count")] == ["", "", "", ""]
    json.dumps([cards.of(row) for row in (0, 1)], allow_nan=False)


def test_x_may_be_a_dataframe():
    frame = pd.DataFrame({"height": [1.5, 2.0], "leaf": ["ovate", "linear"]})
    assert cards_of(None, frame).of(0)["brief"] == "height 1.5, leaf ovate"


@pytest.mark.parametrize(
    "show",
    [
        ["an ash", None, "3"],
        ("an ash", "", 3),
        np.array(["an ash", "", "3"]),
        np.array(["an ash", np.nan, 3], dtype=object),
        ["an ash", pd.NA, 3],
        pd.Series(["an ash", pd.NA, "3"]),
        lambda row: ["an ash", "", "3"][row],
    ],
)
def test_texts(show):
    cards = cards_of(show, np.zeros((3, 2)))
    assert [cards.of(row)["text"] for row in range(3)] == ["an ash", "", "3"]
    assert not cards.of(0)["image"]
    json.dumps(cards.of(0))


def test_a_function_is_called_when_its_row_is_shown():
    calls = []
    cards = cards_of(lambda row: calls.append(row) or f"text {row}", np.zeros((1000, 2)))
    assert cards.of(500)["text"] == "text 500"
    assert set(calls) <= {0, 500}


@pytest.mark.parametrize("dtype", [float, np.uint8, bool])
def test_pictures(dtype):
    pictures = load_digits().images[:3].astype(dtype)
    for show in (pictures, list(pictures), pictures.tolist(), lambda row: pictures[row]):
        cards = cards_of(show, np.zeros((3, 2)))
        media, content = cards.picture(2)
        assert (media, content[:4]) == ("image/png", b"\x89PNG")
        assert cards.of(2)["image"] is True
        assert cards.picture(0) != cards.picture(2)
    coloured = np.repeat(pictures[..., None], 3, axis=3)
    assert cards_of(coloured, np.zeros((3, 2))).picture(1)[0] == "image/png"


def test_something_for_each_row():
    with pytest.raises(ValueError, match="show has 2 entries and X has 3 rows"):
        cards_of(["a", "b"], np.zeros((3, 2)))


@pytest.mark.parametrize(
    "show", [[1, 2, 3], np.zeros((3, 4)), [[1], [1, 2], [3]], np.zeros((3, 2, 2), complex)]
)
def test_what_cannot_be_shown_is_refused(show):
    with pytest.raises(TypeError, match=r"texts.*function of the number of a row"):
        cards_of(show, np.zeros((3, 2)))


def test_a_row_without_anything_to_show_has_its_name():
    card = Cards(2).of(1)
    assert (card["name"], card["brief"], card["fields"], card["text"]) == ("row 2", "", [], None)
