"""Model files are complete or refused, and nothing in them is ever run."""

import hashlib
import io
import json
import pickle
import tracemalloc
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from lapwing.arrays import archive
from lapwing.arrays.archive import VERSION, ModelFileError, read_archive, write_archive

PAGE = {"name": "π & <b>", "list": [1, 2.5, None, True], "deep": {"a": {"b": []}}}
ARRAYS = {
    "X": np.arange(12.0).reshape(3, 4),
    "flags": np.array([True, False]),
    "texts": np.array(["a", "ß"]),
    "none": np.zeros((0, 3), dtype=np.float32),
    "scalar": np.array(3),
}


@pytest.fixture
def path(tmp_path):
    write_archive(tmp_path / "a.lapwing", PAGE, ARRAYS)
    return tmp_path / "a.lapwing"


def contents(path):
    with zipfile.ZipFile(path) as bag:
        return {name: bag.read(name) for name in bag.namelist()}


def rewrite(path, changed):
    with zipfile.ZipFile(path, "w") as bag:
        for name, content in changed.items():
            bag.writestr(name, content)


def sealed(whole):
    """A page with the right checksum, whatever it contains."""
    whole = {key: value for key, value in whole.items() if key != "sha256"}
    text = json.dumps(whole, sort_keys=True, ensure_ascii=True)
    return json.dumps(whole | {"sha256": hashlib.sha256(text.encode()).hexdigest()}).encode()


def test_contents_are_read_as_they_were_written(path):
    page, found = read_archive(path)
    assert page == PAGE
    assert set(found) == set(ARRAYS)
    for name, array in ARRAYS.items():
        assert found[name].dtype == array.dtype
        assert np.array_equal(found[name], array)


def test_equal_contents_give_equal_files(path, tmp_path):
    write_archive(tmp_path / "b.lapwing", PAGE, ARRAYS)
    assert path.read_bytes() == (tmp_path / "b.lapwing").read_bytes()


@given(
    array=st.one_of(
        arrays(dtype, array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
        for dtype in ("f8", "f4", "i8", "?", "U5", ">f8")
    )
)
def test_any_plain_array_is_read_as_it_was_written(array, tmp_path_factory):
    path = tmp_path_factory.mktemp("any") / "a"
    write_archive(path, {}, {"a": array})
    found = read_archive(path)[1]["a"]
    assert found.shape == array.shape
    assert found.dtype == array.dtype.newbyteorder("<")
    assert np.array_equal(found, array, equal_nan=array.dtype.kind == "f")


def test_objects_are_not_written(tmp_path):
    with pytest.raises(TypeError, match="cannot be stored"):
        write_archive(tmp_path / "a", {}, {"a": np.array([object()])})
    with pytest.raises(ValueError, match="JSON compliant"):
        write_archive(tmp_path / "a", {"a": float("nan")}, {})
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_leaves_the_old_file(path, monkeypatch):
    before = path.read_bytes()
    monkeypatch.setattr("lapwing.arrays.archive._write_zip", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_archive(path, {}, {})
    assert path.read_bytes() == before
    assert [item.name for item in path.parent.iterdir()] == [path.name]


def test_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no file"):
        read_archive(tmp_path / "missing")


@pytest.mark.parametrize("content", [b"", b"PK", b"hello" * 100, b"PK\x05\x06" + bytes(18)])
def test_other_files_are_refused(tmp_path, content):
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(ModelFileError):
        read_archive(tmp_path / "a")


def test_truncated_files_are_refused(path):
    whole = path.read_bytes()
    for size in range(0, len(whole) - 1, 37):
        path.write_bytes(whole[:size])
        with pytest.raises(ModelFileError):
            read_archive(path)


def test_a_thousand_changed_bytes_never_crash(path):
    """Each file is refused, or the change does not matter, as that of a date."""
    whole, rng = path.read_bytes(), np.random.default_rng(0)
    refused = 0
    for _ in range(1000):
        changed = bytearray(whole)
        changed[rng.integers(len(whole))] = rng.integers(256)
        path.write_bytes(changed)
        try:
            page, found = read_archive(path)
        except ModelFileError:
            refused += 1
        else:
            assert page == PAGE
            assert all(np.array_equal(found[name], ARRAYS[name]) for name in ARRAYS)
    assert refused > 700


class Bomb:
    def __reduce__(self):
        return exec, ("raise SystemExit('run')",)


def test_a_pickle_in_an_array_is_not_run(path):
    stream = io.BytesIO()
    np.save(stream, np.array([Bomb()], dtype=object), allow_pickle=True)
    files = contents(path)
    whole = json.loads(files["model.json"])
    whole["arrays"]["X"] = {
        "shape": [1],
        "dtype": "|O",
        "sha256": hashlib.sha256(stream.getvalue()).hexdigest(),
    }
    rewrite(path, files | {"arrays/X.npy": stream.getvalue(), "model.json": sealed(whole)})
    with pytest.raises(ModelFileError, match="not allowed"):
        read_archive(path)
    whole["arrays"]["X"]["dtype"] = "<f8"
    rewrite(path, files | {"arrays/X.npy": stream.getvalue(), "model.json": sealed(whole)})
    with pytest.raises(ModelFileError):
        read_archive(path)
    rewrite(path, {"model.json": pickle.dumps(Bomb())})
    with pytest.raises(ModelFileError):
        read_archive(path)


def test_other_members_are_refused(path):
    files = contents(path)
    rewrite(path, files | {"../evil": b"x"})
    with pytest.raises(ModelFileError, match="does not contain the arrays"):
        read_archive(path)


def test_a_bomb_is_not_unpacked(path):
    files = contents(path)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as bag:
        for name, content in files.items():
            bag.writestr(name, content if name != "arrays/X.npy" else bytes(50_000_000))
    with pytest.raises(ModelFileError, match="larger than it can be"):
        read_archive(path)


def test_a_long_page_and_entries_without_size(path):
    files = contents(path)
    whole = json.loads(files["model.json"])
    rewrite(path, files | {"model.json": sealed(whole | {"page": {"a": [[]] * 10_000}})})
    with pytest.raises(MemoryError, match="its page needs"):
        read_archive(path, memory_limit="100kB")
    whole["arrays"]["texts"] |= {"dtype": "<U0", "shape": [10**11]}
    rewrite(path, files | {"model.json": sealed(whole)})
    with pytest.raises(ModelFileError, match="not allowed"):
        read_archive(path)


@pytest.mark.parametrize("shape", [[10**12], [10**6, 10**6], [0, 10**15], [-1], [3, -4]])
@pytest.mark.parametrize("is_stored", [False, True])
def test_numbers_that_are_only_claimed_are_not_allocated(path, shape, is_stored):
    """In the page alone, and in the header of the array too, under valid checksums."""
    files = contents(path)
    whole = json.loads(files["model.json"])
    if is_stored:
        stream = io.BytesIO()
        header = {"descr": "<f8", "fortran_order": False, "shape": tuple(shape)}
        np.lib.format.write_array_header_1_0(stream, header)
        files["arrays/X.npy"] = stream.getvalue() + bytes(96)
    digest = hashlib.sha256(files["arrays/X.npy"]).hexdigest()
    whole["arrays"]["X"] = {"shape": shape, "dtype": "<f8", "sha256": digest}
    rewrite(path, files | {"model.json": sealed(whole)})
    assert path.stat().st_size < 10_000
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError):
            read_archive(path)
        assert tracemalloc.get_traced_memory()[1] < 10**6
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("version", [(2, 0), (3, 0), (9, 9)])
def test_other_formats_of_arrays_are_refused(path, version):
    files = contents(path)
    whole = json.loads(files["model.json"])
    stream = io.BytesIO()
    if version == (9, 9):
        stream.write(files["arrays/X.npy"].replace(b"NUMPY\x01\x00", b"NUMPY\x09\x09"))
    else:
        np.lib.format.write_array(stream, ARRAYS["X"], version=version)
    whole["arrays"]["X"]["sha256"] = hashlib.sha256(stream.getvalue()).hexdigest()
    rewrite(path, files | {"arrays/X.npy": stream.getvalue(), "model.json": sealed(whole)})
    with pytest.raises(ModelFileError):
        read_archive(path)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_parts_that_occur_twice_are_refused(path):
    files = contents(path)
    with zipfile.ZipFile(path, "a") as bag:
        bag.writestr("arrays/X.npy", files["arrays/X.npy"])
    with pytest.raises(ModelFileError, match="two parts of the same name"):
        read_archive(path)
    twice = files["model.json"].replace(b'"name":', b'"name": "other", "name":', 1)
    assert twice != files["model.json"]
    rewrite(path, files | {"model.json": twice})
    with pytest.raises(ModelFileError, match="two parts of the same name"):
        read_archive(path)


def test_pages_nested_without_end_are_refused(path):
    files = contents(path)
    for depth in (10**3, 10**5):
        nested = b'{"format": "lapwing-model", "page": ' + b"[" * depth + b"]" * depth + b"}"
        rewrite(path, files | {"model.json": nested})
        with pytest.raises(ModelFileError):
            read_archive(path)


def test_memory_limit(path):
    with pytest.raises(MemoryError, match="memory_limit"):
        read_archive(path, memory_limit=100)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": VERSION + 1}, "newer Lapwing"),
        ({"version": VERSION - 1}, "older Lapwing"),
        ({"version": 0}, "version is not known"),
        ({"version": "1"}, "version is not known"),
        ({"format": "other"}, "no model file"),
        ({"page": None}, "lacks a part"),
        ({"arrays": []}, "lacks a part"),
    ],
)
def test_pages_that_make_no_sense(path, change, message):
    files = contents(path)
    whole = json.loads(files["model.json"]) | change
    rewrite(path, files | {"model.json": sealed(whole)})
    with pytest.raises(ModelFileError, match=message):
        read_archive(path)


def test_files_of_too_many_arrays_are_no_models(path, monkeypatch):
    monkeypatch.setattr(archive, "_MOST_ARRAYS", len(ARRAYS) + 1)
    read_archive(path)
    monkeypatch.setattr(archive, "_MOST_ARRAYS", len(ARRAYS))
    with pytest.raises(ModelFileError, match="no model file of Lapwing"):
        read_archive(path)
