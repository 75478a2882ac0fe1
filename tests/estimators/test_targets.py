"""Whether labels are classes or quantities, and which rows have one."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest

from lapwing.estimators.labels import (
    check_new_classes,
    encode_classes,
    labelled_rows,
    listed,
    look_like_classes,
    may_be_classes,
    plain_labels,
)
from lapwing.estimators.targets import class_targets, quantity_targets, relabelled_classes


@pytest.mark.parametrize(
    ("known", "possible", "likely"),
    [
        (["a", "b", "c"], True, True),  # texts, however many
        ([True, False], True, True),
        ([1, 1, 2, 2], True, True),
        ([1.0, 1.0, 2.0, 2.0], True, True),
        ([1, 1, 2, 3, 4, 5], True, False),  # counts
        ([1, 2], True, False),
        ([0.5, 0.5, 1.5, 1.5], False, False),
    ],
    ids=str,
)
def test_classes_or_quantities(known, possible, likely):
    known = np.array(known)
    assert may_be_classes(known) is possible
    assert bool(look_like_classes(known)) is likely


def test_ten_classes_are_listed():
    assert listed(np.array(["a", "b"])) == "'a', 'b'"
    assert listed(np.arange(10)).endswith("8, 9")
    assert listed(np.arange(11)).endswith("8, 9, …")


def test_objects_become_numbers_or_texts():
    assert plain_labels(np.array([1, 2], dtype=object)).dtype.kind == "i"
    assert plain_labels(np.array(["a", "b"], dtype=object)).dtype.kind == "U"
    floats = np.array([1.0, 2.0])
    assert plain_labels(floats) is floats


# ---------------------------------------------------------------- classes that can be misread


def classes_of(y, marker=-1):
    return encode_classes(*labelled_rows(y, marker), marker)


@pytest.mark.parametrize(
    ("label", "marker"),
    [("-1", -1), ("-1.0", -1), (" -1 ", -1), ("-1", -1.0), ("0", 0), ("? ", "?"), (-1, "-1")],
)
def test_classes_that_read_as_the_marker_are_refused(label, marker):
    others = ["a", "b"] if isinstance(label, str) else [0, 1]
    with pytest.raises(ValueError, match=f"{re.escape(repr(label))} is a class here"):
        classes_of([label, *others], marker)
    assert label in classes_of([label, *others], None)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32, np.uint64])
def test_classes_that_are_the_wrapped_marker_are_refused(dtype):
    y = np.array([0, 1, -1]).astype(dtype)
    with pytest.raises(ValueError, match=f"becomes in an array of {np.dtype(dtype)}"):
        classes_of(y)
    assert len(classes_of(y, None)) == 3
    assert len(classes_of(y, int(y[-1]))) == 2
    assert len(classes_of(y, -2)) == 3  # which would be another number


@pytest.mark.parametrize("text", ["", " ", "nan", "NaN", "None", "<NA>", "NaT"])
def test_texts_of_missing_labels_are_warned_of(text):
    with pytest.warns(UserWarning, match=f"{text!r} counts as a class"):
        assert len(classes_of(["a", "b", text])) == 3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(classes_of(["a", "b", text], text)) == 2
        assert len(classes_of(["a", "b", text], None)) == 3
        assert len(classes_of(["none", "1", "Na"])) == 3


# ---------------------------------------------------------------- labels that are added


def added(labels, index, y, unlabeled=None):
    X = np.zeros((len(labels), 1))
    targets = class_targets(labels, X, None, unlabeled=None, class_weight=None)
    return relabelled_classes(targets, index, y, unlabeled=unlabeled, class_weight=None)


@pytest.mark.parametrize(
    ("labels", "new", "dtype"),
    [
        (np.uint8([0, 1]), 3, np.uint8),
        (np.uint8([0, 1]), 300, np.int64),
        (np.uint8([0, 1]), -1, np.int64),
        (np.array([0.0, 1.0]), 3, np.float64),
        (np.int16([0, 1]), 2.0, np.int16),
        (np.array(["a", "b"]), "long", "<U4"),
        (np.array([False, True]), 1, bool),
    ],
    ids=str,
)
def test_added_labels_keep_the_type_of_the_classes(labels, new, dtype):
    found = added(np.resize(labels, 6), [4], [new])
    assert found.classes.dtype == dtype
    assert found.classes.tolist() == sorted({*labels.tolist(), new})
    expected = np.resize(labels, 6).astype(object)
    expected[4] = new
    assert found.known.tolist() == expected.tolist()


def test_added_labels_are_compared_with_those_of_the_same_row():
    labels = np.array([0, 1, 0, 1])
    assert added(labels, [3, -1], [0, 0]).known.tolist() == [0, 1, 0, 0]
    with pytest.raises(ValueError, match="row 3 more than once"):
        added(labels, [3, -1], [0, 1])


@pytest.mark.parametrize("unit", [1e-6, 1.0, 300.0])
def test_quantities_enter_in_units_of_their_spread(unit):
    given, weights = unit * np.array([5.0, np.nan, 9.0, 6.0]), np.array([1.0, 1.0, 2.0, 1.0])
    options = {"X": np.zeros((4, 1)), "sample_weight": weights, "unlabeled": np.nan}
    found = quantity_targets(given, **options, centred=True)
    level = (5.0 + 2 * 9.0 + 6.0) / 4  # 7.25
    variance = (2.25**2 + 2 * 1.75**2 + 1.25**2) / 4
    assert found.level == pytest.approx(unit * level)
    assert found.scale == pytest.approx(unit * np.sqrt(variance))
    np.testing.assert_allclose(found.restored(found.values)[:, 0], unit * np.array([5.0, 9.0, 6.0]))
    found = quantity_targets(given, **options, centred=False)
    assert found.level == 0.0
    assert found.scale == pytest.approx(unit * np.sqrt((25 + 2 * 81 + 36) / 4))


@pytest.mark.parametrize(
    ("classes", "known"), [([0, 1], ["a"]), (["a", "b"], [1]), ([False, True], [2])], ids=str
)
def test_added_labels_of_another_type_are_refused(classes, known):
    with pytest.raises(ValueError, match="which is of another type"):
        check_new_classes(np.array(known), np.array(classes), -1)


@pytest.mark.parametrize("y", [[1, -1, 1], [1.0, -1.0, np.nan], [None, 1, -1], [pd.NA, -1, True]])
def test_a_class_of_ones_beside_the_marker_is_ambiguous(y):
    with pytest.raises(ValueError, match="exactly -1 and \\+1"):
        classes_of(y)
    with pytest.raises(ValueError, match="only one class"):  # the marker is nowhere
        classes_of([v for v in y if v is not pd.NA and v != -1])
    with pytest.raises(ValueError, match="only one class"):
        classes_of([{-1: 3}.get(v, v) if v is not pd.NA else v for v in y], 3)
