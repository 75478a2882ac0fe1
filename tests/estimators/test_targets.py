"""Whether labels are classes or quantities, and which rows have one."""

import numpy as np
import pytest

from lapwing.estimators.labels import look_like_classes, may_be_classes, plain_labels


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


def test_objects_become_numbers_or_texts():
    assert plain_labels(np.array([1, 2], dtype=object)).dtype.kind == "i"
    assert plain_labels(np.array(["a", "b"], dtype=object)).dtype.kind == "U"
    floats = np.array([1.0, 2.0])
    assert plain_labels(floats) is floats
