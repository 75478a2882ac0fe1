"""Files of a table are read in batches: formats, folders, bounded memory, errors that name them."""

import gzip
import os
import sys
from pathlib import Path

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")
from pyarrow import csv as arrow_csv  # noqa: E402
from pyarrow import dataset, feather, parquet  # noqa: E402

from lapwing.arrays import text_files  # noqa: E402
from lapwing.arrays.file_parts import TextOptions  # noqa: E402
from lapwing.arrays.files import is_table_files, open_files  # noqa: E402


def rows(n=10, first=0):
    """Return a table of numbers, one of them missing, and texts."""
    x = [None if i == 3 else i + 0.5 for i in range(first, first + n)]
    return pa.table(
        {"x": x, "n": list(range(first, first + n)), "name": [f"r{i}" for i in range(n)]}
    )


def write(table, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix in (".parquet", ".pq"):
        parquet.write_table(table, path)
    elif path.suffix == ".gz":
        plain = path.with_suffix("")
        arrow_csv.write_csv(table, plain)
        path.write_bytes(gzip.compress(plain.read_bytes()))
        plain.unlink()
    elif path.suffix in (".csv", ".txt"):
        arrow_csv.write_csv(table, path)
    elif path.suffix in (".tsv", ".tab"):
        arrow_csv.write_csv(table, path, arrow_csv.WriteOptions(delimiter="\t"))
    elif path.name == "stream.arrow":
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=4)
    else:
        feather.write_feather(table, path, chunksize=max(4, table.num_rows // 3))
    return path


def together(files, columns=None, n=65_536):
    batches = list(files.batches(columns, n))
    assert all(0 < batch.num_rows <= n for batch in batches)
    return pa.Table.from_batches(batches)


NAMES = ["a.parquet", "a.pq", "a.feather", "a.arrow", "a.ipc", "stream.arrow",
         "a.csv", "a.tsv", "a.tab", "a.txt", "a.csv.gz", "a.of.2024.csv.gz"]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_every_format_gives_the_same_rows(tmp_path, name):
    path = write(rows(), tmp_path / name)
    assert is_table_files(path)
    files = open_files(str(path))
    assert files.name == name
    assert files.columns == ("x", "n", "name")
    is_counted = not (name == "stream.arrow" or files.schema.field("n").type == pa.float64())
    assert files.n_rows == (10 if is_counted else None)
    for n in (3, 1000):
        found = together(files, n=n)
        assert found.schema == files.schema
        assert found.to_pydict() == rows().to_pydict()
    assert together(files, ["name", "x"]).to_pydict() == rows().select(["name", "x"]).to_pydict()
    with pytest.raises(ValueError, match=f"{name} has no column 'z': it has 'x', 'n', 'name'"):
        next(files.batches(["z"]))


def test_folders(tmp_path):
    """Sorted by name, columns in any order, other files ignored."""
    write(rows(4, 6), tmp_path / "b.parquet")
    write(rows(6).select(["name", "n", "x"]), tmp_path / "a.parquet")
    write(rows(2, 10), tmp_path / "more" / "a.parquet")
    for other in ("_SUCCESS", "_metadata", ".hidden.csv", "_temporary/c.parquet"):
        (tmp_path / other).parent.mkdir(exist_ok=True)
        (tmp_path / other).write_text("x")
    files = open_files(tmp_path)
    assert (files.name, files.columns, files.n_rows) == (tmp_path.name, ("name", "n", "x"), 12)
    assert together(files, ["n"]).column("n").to_pylist() == list(range(12))
    listed = open_files([tmp_path / "b.parquet", str(tmp_path / "a.parquet")])
    assert listed.name == "b.parquet and 1 more"
    assert together(listed, ["n"]).column("n").to_pylist() == [6, 7, 8, 9, 0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.feather"])
def test_columns_in_the_names_of_folders(tmp_path, name):
    write(rows(2), tmp_path / "year=2023" / "place=north%2Feast" / name)
    write(rows(3), tmp_path / "year=2024" / "place=__HIVE_DEFAULT_PARTITION__" / name)
    files = open_files(tmp_path)
    assert files.columns == ("x", "n", "name", "year", "place")
    assert files.schema.field("year").type == pa.int64()
    found = together(files, ["place", "year"])
    assert found.column("year").to_pylist() == [2023, 2023, 2024, 2024, 2024]
    assert found.column("place").to_pylist() == ["north/east"] * 2 + [None] * 3
    write(rows(2), tmp_path / "other=1" / name)
    with pytest.raises(ValueError, match=r"folders that name other columns.*such as year=2024"):
        open_files(tmp_path)


def test_types_are_widened(tmp_path):
    """Whole numbers beside fractions, columns without a value, categories of pandas."""
    tables = [
        {"a": [1, 2], "b": pa.nulls(2), "c": pa.array(["u", "v"]).dictionary_encode()},
        {"a": [1.5, None], "b": ["x", "y"], "c": ["w", None]},
    ]
    for i, columns in enumerate(tables):
        write(pa.table(columns), tmp_path / f"{i}.parquet")
    files = open_files(tmp_path)
    assert files.schema.types == [pa.float64(), pa.string(), pa.string()]
    assert together(files).to_pydict() == {
        "a": [1.0, 2.0, 1.5, None], "b": [None, None, "x", "y"], "c": ["u", "v", "w", None],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"x": [1.0]}, r"b\.parquet lacks column 'n', which a\.parquet has"),
        ({"x": [1.0], "n": [1], "z": [1]}, r"b\.parquet has column 'z', which a\.parquet lacks"),
        (
            {"x": ["u"], "n": [1]},
            r"'x' of b\.parquet contains string, and that of a\.parquet double",
        ),
    ],
)
def test_files_of_another_table(tmp_path, columns, message):
    write(pa.table({"x": [1.0], "n": [1]}), tmp_path / "a.parquet")
    write(pa.table(columns), tmp_path / "b.parquet")
    with pytest.raises(ValueError, match=message):
        open_files(tmp_path)


def test_text_files_of_another_table(tmp_path):
    (tmp_path / "a.csv").write_text("x,n\n1,2\n")
    (tmp_path / "b.csv").write_text("n,x\n\n5,6\n7,abc\n")
    files = open_files(tmp_path)
    with pytest.raises(ValueError, match=r"'x' of b\.csv contains 'abc' in line 4.*leave out the"):
        list(files.batches())
    assert together(files, ["n"]).column("n").to_pylist() == [2, 5, 7]
    (tmp_path / "b.csv").write_text("n\n5\n")
    with pytest.raises(ValueError, match=r"b\.csv lacks column 'x'"):
        open_files(tmp_path)


def test_numbers_of_text_files(tmp_path, monkeypatch):
    """Whole numbers may be followed by fractions, and empty cells by numbers."""
    monkeypatch.setattr(text_files, "_SAMPLE_LINES", 4)
    monkeypatch.setattr(text_files, "_BLOCK", 64)
    lines = ["1,,NA,2020-01-01"] * 30 + ["1.5,?,x,2020-01-02", "nan,3,-,2020-01-02"]
    (tmp_path / "a.csv").write_text("a,b,c,d\n" + "\n".join(lines) + "\n")
    files = open_files(tmp_path / "a.csv")
    assert files.schema.types == [pa.float64()] * 3 + [pa.string()]
    found = together(files, ["a", "b"])
    assert found.column("a").to_pylist() == [1.0] * 30 + [1.5, None]
    assert found.column("b").to_pylist() == [None] * 31 + [3.0]
    with pytest.raises(ValueError, match=r"'c' of a\.csv contains 'x' in line 32"):
        list(files.batches())


def test_line_ends_of_old_macs(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\r" + "1,x\r" * 2000)
    found = together(open_files(tmp_path / "a.csv"))
    assert found.to_pydict() == {"a": [1.0] * 2000, "b": ["x"] * 2000}


def test_rows_longer_than_a_block(tmp_path, monkeypatch):
    """No row is lost or read twice when the block grows."""
    monkeypatch.setattr(text_files, "_BLOCK", 50)
    texts = ["s"] * 40 + ["t" * 1000] + ["u"] * 40 + ["v" * 3000, "w"]
    lines = [f'{i},"{text}\n"' for i, text in enumerate(texts)]
    (tmp_path / "a.csv").write_text("n,text\n" + "\n".join(lines) + "\n")
    found = together(open_files(tmp_path / "a.csv"))
    assert found.column("n").to_pylist() == list(range(len(texts)))
    assert found.column("text").to_pylist() == [f"{text}\n" for text in texts]
    file = text_files.open_text_file(tmp_path / "a.csv")
    with pytest.raises(
        text_files.LongRowError, match="row of more than 900 bytes: look for a quote"
    ):
        list(file.batches(["n"], 900))


@pytest.mark.parametrize("name", ["a.parquet", "a.csv", "a.feather"])
def test_reading_may_stop_early(tmp_path, name):
    files = open_files(write(rows(200_000), tmp_path / name))
    for _ in range(5):
        batches = files.batches(["n"], 10)
        assert next(batches).column(0).to_pylist() == list(range(10))
        batches.close()


def test_other_encodings(tmp_path):
    (tmp_path / "a.csv").write_bytes("é,b\nü,1\n€,2\n".encode("cp1252"))
    with pytest.raises(ValueError, match=r"a\.csv is not text in utf-8 \(line 1, byte 1, 0xe9\)"):
        open_files(tmp_path / "a.csv")
    files = open_files(tmp_path / "a.csv", TextOptions("cp1252"))
    assert together(files).to_pydict() == {"é": ["ü", "€"], "b": [1.0, 2.0]}


def test_places_of_rows(tmp_path):
    (tmp_path / "a.csv").write_text('x,t\n\n1,"a\nb"\n2,c\n')
    (tmp_path / "b.csv").write_text("x,t\n3,d\n")

    def places(source, **options):
        located = open_files(source, **options).located(rows=1)
        return [where(row) for batch, where in located for row in range(batch.num_rows)]

    assert places(tmp_path / "a.csv") == ["line 4", "line 5"]
    assert places(tmp_path) == ["line 4 of a.csv", "line 5 of a.csv", "line 2 of b.csv"]
    assert places(write(rows(3), tmp_path / "c.parquet")) == ["row 1", "row 2", "row 3"]
    assert open_files(tmp_path / "c.parquet").n_expected == 3
    texts = open_files(tmp_path / "a.csv", TextOptions(texts=True))
    assert together(texts).column("x").to_pylist() == ["1", "2"]
    (tmp_path / "b.csv").write_text("x,t\n" + "3,d\n" * 5000)
    assert 4000 < open_files(tmp_path / "b.csv").n_expected < 6000


def test_tables_and_datasets_of_pyarrow(tmp_path):
    assert is_table_files(rows())
    assert together(open_files(rows())).to_pydict() == rows().to_pydict()
    write(rows(), tmp_path / "a.parquet")
    stored = dataset.dataset(tmp_path / "a.parquet")
    assert is_table_files(stored)
    assert open_files(stored).n_rows == 10
    filtered = open_files(stored.filter(dataset.field("n") >= 7))
    assert filtered.n_rows == 3
    for _ in range(2):
        assert together(filtered, ["name", "n"]).column("n").to_pylist() == [7, 8, 9]
    write(rows(), tmp_path / "a.csv")
    assert open_files(dataset.dataset(tmp_path / "a.csv", format="csv")).n_rows is None


@pytest.mark.parametrize(
    "source", [[[1.0, 2.0]], np.eye(2), [], "a.xlsx", ["a.csv", "b.xlsx"], "a.parquet.gz", None, 3]
)
def test_what_is_no_table(source):
    assert not is_table_files(source)


def test_what_cannot_be_opened(tmp_path):
    with pytest.raises(ValueError, match=r"contains no files: give one with \.parquet"):
        open_files(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"^there is no file .*none\.csv$"):
        open_files(tmp_path / "none.csv")
    with pytest.raises(ValueError, match="at least one file"):
        open_files([])
    (tmp_path / "a.xlsx").write_text("x")
    with pytest.raises(
        ValueError, match=r"a\.xlsx: the format \.xlsx is not known: give \.parquet"
    ):
        open_files(tmp_path)
    (tmp_path / "a.xlsx").unlink()
    write(rows(), tmp_path / "a.csv")
    write(rows(), tmp_path / "b.parquet")
    with pytest.raises(ValueError, match=r"a\.csv and b\.parquet are of different formats"):
        open_files(tmp_path)
    (tmp_path / "c.csv").write_text("a,b,a\n1,2,3\n")
    with pytest.raises(ValueError, match=r"c\.csv has 2 columns named 'a', at positions 1, 3"):
        open_files(tmp_path / "c.csv")


@pytest.mark.parametrize("name", ["a.parquet", "a.feather", "stream.arrow", "a.csv.gz"])
def test_damaged_files_are_named(tmp_path, name):
    path = write(rows(5000), tmp_path / name)
    whole = path.read_bytes()
    for end in (10, len(whole) // 2, len(whole) - 9):
        path.write_bytes(whole[:end])
        with pytest.raises(ValueError, match=f"{name} cannot be read"):
            list(open_files(path).batches())


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may read everything")
def test_files_that_must_not_be_read(tmp_path):
    for name in ("a.parquet", "a.feather", "a.csv"):
        path = write(rows(), tmp_path / name)
        path.chmod(0)
        with pytest.raises(PermissionError, match=f"{name} must not be read: change its perm"):
            open_files(path)


def test_errors_of_permission_say_what_to_do(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    path = write(rows(), tmp_path / "a.parquet")
    monkeypatch.setattr(parquet, "ParquetFile", refuse)
    with pytest.raises(PermissionError, match=r"a\.parquet must not be read: change its perm"):
        open_files(path)


def test_without_pyarrow(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r'pip install "lapwing\[tables\]"'):
        open_files(tmp_path / "a.csv")


def memory():
    """Return the bytes of this process that are in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
@pytest.mark.parametrize("name", ["a.parquet", "a.csv"])
def test_memory_does_not_grow_with_the_file(tmp_path, name):
    """One row group of 200 MB: a reader that takes column chunks as a whole needs all of it."""
    n, width, path = 1_000_000, 25, tmp_path / name
    if name == "a.parquet":
        rng = np.random.default_rng(0)
        columns = {f"x{i}": rng.random(n) for i in range(width)}
        parquet.write_table(pa.table(columns), path, row_group_size=n, use_dictionary=False)
        del columns
    else:
        line = ",".join(["0.12345678"] * width) + "\n"
        with open(path, "w") as file:
            file.write(",".join(f"x{i}" for i in range(width)) + "\n")
            for _ in range(n // 2000):
                file.write(line * 2000)
    assert path.stat().st_size > 190e6
    files = open_files(path)
    pa.default_memory_pool().release_unused()
    taken, n_read, before = [], 0, memory()
    for batch in files.batches():
        n_read += batch.num_rows
        taken.append(memory() - before)
    assert n_read == n
    batch_bytes = 65_536 * width * 8
    assert max(taken) < 8 * batch_bytes
    assert max(taken) - max(taken[: len(taken) // 3]) < 3 * batch_bytes
