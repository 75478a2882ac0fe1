"""Values are unpacked as they were packed, and pages that make no sense are refused."""

import contextlib
import copy
import json
import sys
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

import lapwing
from lapwing import LapSVC, ModelFileError
from lapwing.arrays.archive import read_archive, write_archive
from lapwing.arrays.packing import _Finite, expect, pack, unpack

#: What `lapwing.load` turns into a ModelFileError.
REFUSED = (ValueError, TypeError, LookupError, AttributeError, RecursionError, ArithmeticError)


@dataclass(frozen=True)
class Point:
    """A class with one field of each annotated type."""

    MAY_BE_NAN: ClassVar[tuple[str, ...]] = ("values", "inner")

    name: str = "a"
    count: int = 0
    width: float = 1.0
    flag: bool = False
    values: np.ndarray = field(default_factory=lambda: np.zeros(2))
    maybe: np.ndarray | None = None
    pairs: tuple[tuple[int, float], ...] = ()
    texts: list[str] = field(default_factory=list)
    table: dict[str, list[int]] = field(default_factory=dict)
    inner: Any = None


@dataclass(frozen=True)
class Doubled:
    """A class with an array that follows from its field, and a check."""

    values: np.ndarray
    DERIVED: ClassVar[tuple[str, ...]] = ("twice",)

    @cached_property
    def twice(self) -> np.ndarray:
        return 2.0 * self.values

    def check_loaded(self) -> None:
        expect(self.values.ndim == 1, "values must be one-dimensional")


class Box:
    """A class that is no dataclass."""

    MAY_BE_NAN = ("value",)

    def __init__(self, value):
        self.value = value

    def to_state(self):
        return {"value": self.value}

    @classmethod
    def from_state(cls, state):
        return cls(**state)


KNOWN = {cls.__name__: cls for cls in (Point, Doubled, Box)}


def through_file(value, known=KNOWN):
    """Pack and unpack a value, by way of JSON text."""
    page, named = pack(value, known)
    return unpack(json.loads(json.dumps(page, allow_nan=False)), named, known)


def assert_same(found, expected):
    """Same types, and same bits of all numbers."""
    assert type(found) is type(expected)
    if isinstance(expected, np.ma.MaskedArray):
        assert_same(np.asarray(found.data), np.asarray(expected.data))
        assert_same(np.ma.getmaskarray(found), np.ma.getmaskarray(expected))
    elif sp.issparse(expected):
        assert found.shape == expected.shape
        for part in ("data", "indices", "indptr"):
            assert_same(getattr(found, part), getattr(expected, part))
    elif isinstance(expected, np.ndarray):
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        if expected.dtype == object:
            for one, other in zip(found.ravel(), expected.ravel(), strict=True):
                assert_same(one, other)
        else:
            assert found.tobytes() == expected.tobytes()
            assert found.flags.f_contiguous == expected.flags.f_contiguous
    elif isinstance(expected, (list, tuple)):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert_same(one, other)
    elif isinstance(expected, dict):
        assert_same(list(found.items()), list(expected.items()))
    elif isinstance(expected, float):
        assert np.float64(found).tobytes() == np.float64(expected).tobytes() or found != found
    else:
        assert found == expected


# ---------------------------------------------------------------- values

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
dense = st.one_of(
    arrays(dtype, array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
    for dtype in ("f8", "f4", "i8", "i4", "u1", "?", "U3")
)
fortran = arrays("f8", array_shapes(min_dims=2, max_dims=3, max_side=4)).map(np.asfortranarray)
matrices = arrays("f8", array_shapes(min_dims=2, max_dims=2, max_side=4))
sparse = matrices.map(sp.csr_array) | matrices.map(sp.csr_matrix)
masked = st.builds(
    lambda A, seed: np.ma.MaskedArray(A, mask=np.random.default_rng(seed).random(A.shape) < 0.5),
    arrays("f8", array_shapes(max_dims=2, max_side=4)),
    st.integers(0, 99),
)


def object_array(values):
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def containers(inner):
    keys = st.text() | st.integers() | st.booleans() | st.none()
    few = st.lists(inner, max_size=4)
    return few | few.map(tuple) | st.dictionaries(keys, inner, max_size=4) | few.map(object_array)


values = st.recursive(scalars | dense | fortran | sparse | masked, containers, max_leaves=12)


@given(value=values)
def test_values_are_unpacked_with_the_same_bits(value):
    assert_same(through_file(value), value)


@given(
    name=st.text(),
    count=st.integers(),
    width=st.floats() | st.integers(),
    flag=st.booleans(),
    numbers=arrays("f8", 3),
    pairs=st.lists(st.tuples(st.integers(), st.floats()), max_size=3).map(tuple),
    table=st.dictionaries(st.text(), st.lists(st.integers(), max_size=3), max_size=3),
    inner=values,
)
def test_dataclasses_are_unpacked(name, count, width, flag, numbers, pairs, table, inner):
    point = Point(name, count, width, flag, numbers, None, pairs, [name], table, inner)
    found = through_file(point)
    assert type(found) is Point
    for key, value in vars(point).items():
        assert_same(getattr(found, key), value)


@given(value=values)
def test_other_classes_are_created_from_their_state(value):
    assert_same(through_file(Box(value)).value, value)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_arrays_of_objects_are_finite(bad):
    """Except in the fields, and keys of dicts, that the class names."""
    array = np.array([1.0, bad])
    assert_same(through_file(array), array)  # not in an object
    assert_same(through_file(Point(values=array)).values, array)
    assert_same(through_file(Box({"value": [array]})).value, {"value": [array]})
    message = "NaN or infinite"
    for value in (Point(maybe=array), [Doubled(array)], Point(inner=Doubled(array))):
        with pytest.raises(ValueError, match=message):
            pack(value, KNOWN)
    page, stored = pack(Point(maybe=np.zeros(2)), KNOWN)
    [name] = [name for name in stored if page["state"]["maybe"] == {"array": name}]
    with pytest.raises(ValueError, match=message):
        unpack(page, stored | {name: array}, KNOWN)
    sparse = sp.csr_array(np.array([[0.0, bad]]))
    with pytest.raises(ValueError, match=message):
        pack(Point(inner=Doubled(sparse)), KNOWN)


@pytest.mark.parametrize(
    ("scalar", "expected"),
    [(np.float32(0.5), 0.5), (np.int16(3), 3), (np.bool_(True), True), (np.str_("a"), "a")],
)
def test_scalars_of_numpy_become_those_of_python(scalar, expected):
    assert_same(through_file(scalar), expected)


def test_strided_arrays_keep_their_order_of_memory():
    A = np.arange(24.0).reshape(4, 6)
    for view in (A[::2], A.T[::2], A[:, ::-1], A[::2, ::3]):
        found = through_file(view)
        assert np.array_equal(found, view)
        assert found.flags.f_contiguous == view.copy(order="K").flags.f_contiguous


def test_other_sparse_formats_become_csr():
    A = sp.random(5, 4, 0.5, format="csc", random_state=0)
    assert_same(through_file(A), A.tocsr())


def test_elements_of_an_object_array_may_be_lists_and_arrays():
    for rows in ([[1, 2], [3, 4]], [np.eye(2), np.ones((2, 2))], [(1,), "a"]):
        assert_same(through_file(object_array(rows)), object_array(rows))
    grid = object_array([1, None, "x", 2.5]).reshape(2, 2)
    assert_same(through_file(grid), grid)


# ---------------------------------------------------------------- identity


@pytest.mark.parametrize(
    "shared",
    [
        np.arange(3.0),
        sp.csr_array(np.eye(2)),
        np.ma.MaskedArray([1.0, 2.0], mask=[True, False]),
        object_array(["a", None]),
        Point(),
        Box([1]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_shared_objects_stay_shared_and_equal_ones_stay_apart(shared):
    other = copy.deepcopy(shared)
    page, named = pack({"one": shared, "more": [Box(shared), other]}, KNOWN)
    found = unpack(page, named, KNOWN)
    assert found["more"][0].value is found["one"]
    assert found["more"][1] is not found["one"]


def test_matrices_that_share_an_array_stay_different():
    A = sp.csr_matrix(np.array([[1.0, 2.0], [0.0, 3.0]]))
    B = sp.csr_array((A.data, A.indices[::-1].copy(), np.array([0, 1, 3])), shape=(2, 2))
    found = through_file([A, B])
    assert_same(found, [A, B])


def test_derived_arrays_are_stored_as_references():
    source = Doubled(np.arange(4.0))
    page, named = pack([source, source.twice, {"again": source.twice}], KNOWN)
    assert len(named) == 1
    found, twice, again = unpack(page, named, KNOWN)
    assert np.array_equal(twice, 2.0 * np.arange(4.0))
    assert twice is found.twice is again["again"]


def test_an_identity_is_not_reused_while_packing():
    """Temporary arrays of a state must not be mistaken for one another."""

    class Fresh(Box):
        def to_state(self):
            return {"value": np.full(3, self.value)}

    known = {"Fresh": Fresh}
    found = through_file([Fresh(float(k)) for k in range(50)], known)
    assert [box.value[0] for box in found] == list(range(50))


# ---------------------------------------------------------------- refused when packed


class Stranger:
    pass


@pytest.mark.parametrize(
    "value",
    [
        len,
        lambda x: x,
        Stranger(),
        Point,
        {1, 2},
        b"bytes",
        1j,
        np.complex128(1j),
        np.datetime64("2020-01-01T00:00:00.000000000"),
        np.array(["2020-01-01"], dtype="datetime64[D]"),
        np.array([1j]),
        np.array([(1, 2.0)], dtype=[("a", int), ("b", float)]),
        np.array([b"bytes"]),
        range(3),
        np.random.default_rng(0),
    ],
    ids=lambda value: type(value).__name__,
)
def test_other_types_are_not_packed(value):
    for where in (value, [value], {"key": value}, Box(value), object_array([value])):
        with pytest.raises(TypeError, match="cannot be stored"):
            pack(where, KNOWN)


def test_a_class_of_the_same_name_is_not_packed():
    namesake = type("Point", (Point,), {})
    with pytest.raises(TypeError, match="cannot be stored"):
        pack(namesake(), KNOWN)


# ---------------------------------------------------------------- refused when read


def state_of(point=None):
    page, named = pack(point or Point(), KNOWN)
    return page, named


@pytest.mark.parametrize(
    ("key", "wrong"),
    [
        ("name", 1),
        ("name", None),
        ("count", 1.5),
        ("count", True),
        ("count", "1"),
        ("width", "1.0"),
        ("width", False),
        ("flag", 1),
        ("values", 1.0),
        ("values", {"list": [1.0]}),
        ("maybe", "none"),
        ("pairs", {"list": []}),
        ("pairs", {"tuple": [1]}),
        ("pairs", {"tuple": [{"tuple": [1, 2.0, 3]}]}),
        ("pairs", {"tuple": [{"tuple": ["a", 2.0]}]}),
        ("texts", {"list": ["a", 1]}),
        ("texts", {"tuple": []}),
        ("table", {"dict": [[1, {"list": []}]]}),
        ("table", {"dict": [["a", {"list": ["b"]}]]}),
        ("table", {"list": []}),
        ("other", 1),
        ("__class__", 1),
        ("__dict__", {"dict": []}),
    ],
)
def test_fields_of_the_wrong_type_are_refused(key, wrong):
    page, named = state_of()
    page["state"][key] = wrong
    with pytest.raises(ValueError, match=f"{key} of Point is wrong"):
        unpack(page, named, KNOWN)


def test_missing_fields_have_their_defaults_or_are_refused():
    page, named = state_of()
    page["state"] = {}
    assert unpack(page, named, KNOWN).name == "a"
    with pytest.raises(TypeError):
        unpack({"type": "Doubled", "state": {}, "number": 0}, {}, KNOWN)


def test_unknown_types_are_not_created():
    page, named = state_of()
    for name in ("os.system", "object", "dict", "Stranger", "", "Point "):
        with pytest.raises(ValueError, match="not known"):
            unpack(page | {"type": name}, named, KNOWN)
    with pytest.raises(ValueError, match="not known"):
        unpack(page, named, {})


def test_contents_are_checked_by_the_object():
    page, named = pack(Doubled(np.zeros(2)), KNOWN)
    with pytest.raises(ValueError, match="one-dimensional"):
        unpack(page, {name: np.zeros((2, 2)) for name in named}, KNOWN)


def nested(depth, page=None):
    for _ in range(depth):
        page = {"list": [page]}
    return page


ARRAYS = {"a0": np.arange(3.0), "a1": np.array([0, 1, 5]), "a2": np.array([0, 2, 3])}
CSR = [{"array": "a0"}, {"array": "a1"}, {"array": "a2"}]
POINT = {"type": "Point", "state": {}, "number": 0}
HOSTILE = {
    "list without a name": [1],
    "empty": {},
    "unknown form": {"pickle": "cos"},
    "two forms": {"list": [], "tuple": []},
    "number of no object": {"number": 0},
    "missing array": {"array": "a9"},
    "array by a list": {"array": ["a0"]},
    "array by none": {"array": None},
    "unknown float": {"float": "1e400"},
    "float by a list": {"float": []},
    "reference to nothing": {"same": 3},
    "reference to a list": {"same": []},
    "reference to itself": {"type": "Box", "state": {"value": {"same": 0}}, "number": 0},
    "reference to what follows": {
        "list": [{"same": 0}, {"type": "Point", "state": {}, "number": 0}]
    },
    "derived of nothing": {"derived": "twice", "of": 0},
    "derived of a class without": {
        "list": [
            POINT,
            {"derived": "name", "of": 0},
        ]
    },
    "derived attribute of another name": {
        "list": [
            {"type": "Doubled", "state": {"values": {"array": "a0"}}, "number": 0},
            {"derived": "__class__", "of": 0},
        ]
    },
    "list of no list": {"list": 3},
    "dict of no pairs": {"dict": [[1]]},
    "dict of a dict": {"dict": {"a": 1}},
    "key that is a list": {"dict": [[{"list": []}, 1]]},
    "key that is an array": {"dict": [[{"array": "a0"}, 1]]},
    "objects of another shape": {"objects": [1, 2], "shape": [3]},
    "objects of a shape of texts": {"objects": [1, 2], "shape": ["a"]},
    "objects without shape": {"objects": [1, 2]},
    "objects by a number": {"objects": 10**12, "shape": [10**12]},
    "mask of another shape": {"masked": {"array": "a0"}, "mask": {"objects": [True], "shape": [1]}},
    "mask of numbers": {"masked": {"array": "a0"}, "mask": {"array": "a0"}},
    "mask that is no array": {"masked": {"array": "a0"}, "mask": True},
    "masked number": {"masked": 1.0, "mask": {"array": "a0"}},
    "sparse with columns too large": {"csr_array": CSR, "shape": [2, 3]},
    "sparse with another number of rows": {"csr_array": CSR, "shape": [3, 9]},
    "sparse of negative shape": {"csr_array": CSR, "shape": [-1, 9]},
    "sparse of huge shape": {"csr_array": CSR, "shape": [2, 10**40]},
    "sparse of a shape of texts": {"csr_array": CSR, "shape": ["a", "b"]},
    "sparse of one dimension": {"csr_array": CSR, "shape": [2]},
    "sparse without shape": {"csr_array": CSR},
    "sparse of two arrays": {"csr_matrix": CSR[:2], "shape": [2, 9]},
    "sparse of numbers": {"csr_matrix": [1, 2, 3], "shape": [2, 9]},
    "sparse with falling pointers": {"csr_matrix": [*CSR[:2], {"array": "a1"}], "shape": [2, 9]},
    "sparse with fractions as indices": {"csr_matrix": [CSR[0], *CSR[::2]], "shape": [2, 9]},
    "object without state": {"type": "Point", "number": 0},
    "object with a list as state": {"type": "Point", "state": [], "number": 0},
    "type by a list": {"type": ["Point"], "state": {}, "number": 0},
    "number that is a list": {"type": "Point", "state": {}, "number": []},
    "deep": nested(100_000),
}


@pytest.mark.parametrize("page", HOSTILE.values(), ids=HOSTILE)
def test_pages_that_make_no_sense_are_refused(page):
    with pytest.raises(REFUSED):
        unpack(page, ARRAYS, KNOWN)


FORMS = ["list", "tuple", "dict", "float", "array", "same", "derived", "objects", "masked", "type"]
WORDS = [*FORMS, "csr_array", "of", "shape", "mask", "state", "number", "values"]
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 9) | st.sampled_from(["a0", "a1", "twice", "nan"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=3)
    ),
    max_leaves=15,
)


@given(page=json_values)
def test_any_page_is_read_or_refused(page):
    with contextlib.suppress(*REFUSED):
        unpack(page, ARRAYS, KNOWN)


# ---------------------------------------------------------------- model files


@pytest.fixture(scope="module")
def model_file(tmp_path_factory):
    X = np.arange(30.0)[:, None]
    y = np.full(30, -1)
    y[[0, 5, 20, 29]] = 0, 0, 1, 1
    path = tmp_path_factory.mktemp("models") / "model"
    lapwing.save(LapSVC().fit(X, y), path)
    return read_archive(path)


@pytest.mark.parametrize(
    "page",
    [page for name, page in HOSTILE.items() if name != "deep"] + [1, None, {"list": []}, POINT],
)
def test_a_model_file_with_such_a_page_is_refused(page, tmp_path, model_file):
    _, named = model_file
    write_archive(tmp_path / "m", {"model": page, "extra": {}}, {**named, **ARRAYS})
    with pytest.raises(ModelFileError):
        lapwing.load(tmp_path / "m")


def test_a_model_file_that_is_nested_deeply_is_refused(tmp_path, model_file):
    page, named = copy.deepcopy(model_file)
    fitted = page["model"]["state"]["fitted"]["dict"]
    fitted.append(["deep_", nested(150)])
    write_archive(tmp_path / "m", page, named)
    lapwing.load(tmp_path / "m")  # harmless
    fitted[-1][1] = nested(1500, {"list": []})
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(10 * limit)
    try:
        write_archive(tmp_path / "m", page, named)
    finally:
        sys.setrecursionlimit(limit)
    with pytest.raises(ModelFileError):
        lapwing.load(tmp_path / "m")


@given(data=st.data())
def test_a_model_file_with_any_part_replaced_is_read_or_refused(data, tmp_path_factory, model_file):
    """Wherever a value of a page is replaced, loading ends with a model or a ModelFileError."""
    page, named = copy.deepcopy(model_file)
    spot, key = page, "model"
    while isinstance(spot[key], (dict, list)) and spot[key] and data.draw(st.booleans()):
        spot = spot[key]
        keys = sorted(spot) if isinstance(spot, dict) else range(len(spot))
        key = data.draw(st.sampled_from(keys))
    spot[key] = data.draw(json_values | st.sampled_from([10**9, 10**30, -1, "", "a3"]))
    path = tmp_path_factory.mktemp("changed") / "m"
    write_archive(path, page, named)
    try:
        model = lapwing.load(path, memory_limit="1GB")
    except (ModelFileError, MemoryError):
        return
    assert isinstance(model, LapSVC)


def test_lists_that_refer_to_each_other_are_refused():
    """References among lists would let a short page stand for a value of any size."""
    page = {"list": [], "number": 0}
    for number in range(1, 60):
        page = {"list": [page, {"same": number - 1}], "number": number}
    with pytest.raises(ValueError, match="do not fit"):
        unpack(page, {}, {})


def test_the_rule_of_an_object_ends_with_it_also_after_an_error():
    finite, nan = _Finite(), np.array([np.nan])
    with contextlib.suppress(KeyError), finite.within(Point):
        raise KeyError
    finite.check(nan)  # outside of any object
    with finite.within(Point):
        with contextlib.suppress(KeyError), finite.at("values"):
            raise KeyError
        with pytest.raises(ValueError, match="NaN"):
            finite.check(nan)
