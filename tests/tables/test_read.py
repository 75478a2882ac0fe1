"""Files become tables, and errors name the position in the file."""

import csv
import gzip
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from lapwing.arrays import file_parts, text_files, text_source
from lapwing.tables import open_table, read_table
from lapwing.tables import read as read_module
from lapwing.tables.cells import as_objects

pa = pytest.importorskip("pyarrow")

CSV = 'id,age,colour,text\n007,31,red,"good, and\nlong"\n008,,blue,bad\n009,4e1,NA,\n'


def write(path, text, encoding="utf-8"):
    path.write_bytes(text.encode(encoding))
    return path


def check_rows(table):
    assert list(table.columns) == ["id", "age", "colour", "text"]
    assert table.n_rows == 3
    np.testing.assert_array_equal(table.columns["age"], [31.0, np.nan, 40.0])
    assert table.columns["age"].dtype == np.float64
    assert table.columns["colour"].tolist() == ["red", "blue", "NA"]
    assert table.columns["text"].tolist() == ["good, and\nlong", "bad", None]


@pytest.mark.parametrize("delimiter", list(",;\t|"))
def test_delimiters_are_found(tmp_path, delimiter):
    lines = CSV.replace("good, and", "good! and").replace(",", delimiter).replace("!", ",")
    table = read_table(write(tmp_path / "a.csv", lines), as_text=["id"])
    check_rows(table)
    assert table.columns["id"].tolist() == ["007", "008", "009"]
    assert [table.where(row) for row in range(3)] == ["line 3", "line 4", "line 5"]


def test_byte_order_mark_other_line_ends_and_packed_files(tmp_path):
    check_rows(read_table(write(tmp_path / "a.csv", CSV, "utf-8-sig")))
    table = read_table(write(tmp_path / "b.csv", "a,b\r\n1,x\r\n\r\n2,y\r\n"))
    assert table.columns["b"].tolist() == ["x", "y"]
    assert table.where(1) == "line 4"
    with gzip.open(tmp_path / "c.csv.gz", "wt", encoding="utf-8") as file:
        file.write(CSV)
    check_rows(read_table(tmp_path / "c.csv.gz"))
    check_rows(read_table((tmp_path / "c.csv.gz").rename(tmp_path / "c.of.2024.csv.gz")))
    check_rows(read_table(write(tmp_path / "d.txt", CSV)))
    check_rows(read_table(write(tmp_path / "e.csv", CSV, "utf-16"), encoding="utf-16"))


GERMAN = "preis;einwohner;ort\n3,5;950;a\n1.623,50;1.200;b\n;12.000;c\n"


def test_the_decimal_mark_of_a_file(tmp_path):
    """A column that needs decimal commas decides for the columns that show nothing."""
    prices, people = [3.5, 1623.5, np.nan], [950.0, 1200.0, 12000.0]
    for name, delimiter in (("a.csv", ";"), ("a.tsv", "\t")):
        table = read_table(write(tmp_path / name, GERMAN.replace(";", delimiter)))
        assert table.decimal == ","
        np.testing.assert_array_equal(table.columns["preis"], prices)
        np.testing.assert_array_equal(table.columns["einwohner"], people)
    path = tmp_path / "a.csv"
    points = read_table(path, decimal=".")
    np.testing.assert_array_equal(points.columns["einwohner"], [950.0, 1.2, 12.0])
    assert points.columns["preis"].tolist() == ["3,5", "1.623,50", None]
    named = read_table(path, decimal={"preis": ","})
    assert named.decimal is None
    np.testing.assert_array_equal(named.columns["preis"], prices)
    np.testing.assert_array_equal(named.columns["einwohner"], [950.0, 1.2, 12.0])
    assert read_table(path, as_text=["preis"]).decimal is None
    # Another column shows a decimal point: each is read by itself.
    mixed = read_table(write(path, GERMAN.replace("12.000", "12.5")))
    assert mixed.decimal is None
    assert mixed.columns["preis"].dtype == object
    np.testing.assert_array_equal(mixed.columns["einwohner"], [950.0, 1.2, 12.5])
    # Without a decimal mark that is known, "1,200" may be one number or the other.
    path = write(path, 'x,y\n"1,200",1\n"3,000",2\n')
    assert read_table(path).columns["x"].dtype == object
    assert read_table(path, decimal=".").columns["x"].tolist() == [1200.0, 3000.0]
    assert read_table(path, decimal=",").columns["x"].tolist() == [1.2, 3.0]


def test_columns_of_folders_are_no_cells(tmp_path):
    """They have a type of their own, and say nothing about the decimal mark of the files."""
    for year in ("2024", "2025", "__HIVE_DEFAULT_PARTITION__"):
        folder = tmp_path / f"year={year}" / "region=north"
        folder.mkdir(parents=True)
        write(folder / "a.csv", GERMAN)
    table = read_table(tmp_path)
    assert table.decimal == ","
    np.testing.assert_array_equal(table.columns["einwohner"], [950.0, 1200.0, 12000.0] * 3)
    np.testing.assert_array_equal(table.columns["year"], np.repeat([2024.0, 2025.0, np.nan], 3))
    assert table.columns["region"].tolist() == ["north"] * 9
    assert read_table(tmp_path, as_text=["year"]).columns["year"][[0, 8]].tolist() == ["2024", None]


def test_codes_lose_nothing_when_texts_come_late(tmp_path, monkeypatch):
    monkeypatch.setattr(text_files, "_BLOCK", 60)
    codes = [f"{i:03d}" for i in range(50)] + ["abc"]
    lines = "\n".join(f"{code},{i}" for i, code in enumerate([*codes, "051"]))
    path = write(tmp_path / "a.csv", f"code,x\n{lines}\n")
    parts = list(open_table(path).tables())
    kinds = [part.columns["code"].dtype.kind for part in parts]
    assert kinds == sorted(kinds, key="fO".index)  # numbers, then texts to the end
    assert set(kinds) == {"f", "O"}
    table = read_table(path)
    assert table.columns["code"].tolist() == [*codes, "051"]
    np.testing.assert_array_equal(table.columns["x"], np.arange(52.0))
    assert [table.where(row) for row in (0, 30, 51)] == ["line 2", "line 32", "line 53"]


@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
def test_batches_are_the_rows_of_the_table(tmp_path, monkeypatch, name):
    """Of few rows and few cells, and with their places in the file."""
    from pyarrow import csv as arrow_csv
    from pyarrow import parquet

    monkeypatch.setattr(read_module, "_BATCH_CELLS", 28)
    stored = arrow_table().slice(0, 3).select(["id", "age", "colour", "day"])
    stored = pa.concat_tables([stored] * 10)
    if name == "a.csv":
        stored = stored.set_column(2, "colour", stored.column("colour").cast("string"))
        arrow_csv.write_csv(stored, tmp_path / name)
    else:
        parquet.write_table(stored, tmp_path / name)
    table = read_table(tmp_path / name, as_text=["id"])
    parts = list(open_table(tmp_path / name, as_text=["id"]).tables())
    assert [part.n_rows for part in parts] == [7, 7, 7, 7, 2]
    assert [part.first_row for part in parts] == [0, 7, 14, 21, 28]
    for column in table.columns:
        cells = np.concatenate([part.columns[column] for part in parts])
        assert cells.dtype == table.columns[column].dtype
        np.testing.assert_array_equal(cells, table.columns[column])
    first = 2 if name == "a.csv" else 1
    assert [part.where(0).split()[1] for part in parts] == [
        str(first + part.first_row) for part in parts
    ]
    assert table.where(29) == parts[-1].where(1)


def test_unusual_digits_are_not_numbers(tmp_path):
    table = read_table(write(tmp_path / "a.csv", "a,b\n1_000,٣\n2,4\n"))
    assert table.columns["a"].tolist() == ["1_000", "2"]
    assert table.columns["b"].tolist() == ["٣", "4"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("\n \n", "is empty"),
        ("a,b\n", "no rows"),
        ("a,b,a\n1,2,3\n", "2 columns named 'a', at positions 1, 3"),
        ("a,b\n1,2\n1,2,3\n", "line 3 of t.csv has 3 cells, the line of names has 2"),
        ('a,b\n1,2\n3,"x\n', "row that begins in line 3 .* quote that is not closed"),
        ('a,b\n1,2\n"3,x\n4,5\n', "row that begins in line 3 .* quote that is not closed"),
        ('a,"b\n1,2\n', "row that begins in line 1 .* quote that is not closed"),
        ("a,b", "no rows"),
        ("a,b\n\n\n\n", "no rows"),
    ],
)
def test_bad_files(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        read_table(write(tmp_path / "t.csv", text))


def test_other_encodings(tmp_path):
    path = write(tmp_path / "t.csv", "a,b\n1,x\n2,é\n", "latin-1")
    with pytest.raises(ValueError, match=r"line 3, byte 3, 0xe9.*--encoding latin-1"):
        read_table(path)
    assert read_table(path, encoding="latin-1").columns["b"].tolist() == ["x", "é"]
    with pytest.raises(ValueError, match="no encoding 'klingon'"):
        read_table(path, encoding="klingon")
    path = write(tmp_path / "u.csv", "a,b\n1,x\n", "utf-16")
    with pytest.raises(ValueError, match="--encoding utf-16"):
        read_table(path)


def test_marks_and_quotes_that_are_accepted(tmp_path):
    """A byte order mark in any encoding, quotes within cells, many empty lines before the rows."""
    path = write(tmp_path / "a.csv", "\ufeffa,b\n1,x\n", "utf-16-le")
    assert list(read_table(path, encoding="utf-16-le").columns) == ["a", "b"]
    text = 'a,b\n1,5" disk\n2,"x"y\n3,"say ""hi"""\n'
    table = read_table(write(tmp_path / "b.csv", text))
    assert table.columns["b"].tolist() == ['5" disk', "xy", 'say "hi"']
    table = read_table(write(tmp_path / "c.csv", "a,b\n" + "\n" * 600 + "1,2\n"))
    assert table.columns["b"].tolist() == [2.0]
    assert table.where(0) == "line 602"


def test_unknown_formats(tmp_path):
    with pytest.raises(ValueError, match=r"the format \.xlsx is not known"):
        read_table(write(tmp_path / "a.xlsx", "x"))
    with pytest.raises(ValueError, match=r"one array.*np.savez\('a.npz', X=X, y=y\)"):
        read_table(write(tmp_path / "a.npy", "x"))
    with pytest.raises(ValueError, match=r"a\.npy: the format \.npy is not known"):
        read_table(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"^there is no file .*none\.csv$"):
        read_table(tmp_path / "none.csv")


def test_columns_can_be_dropped(tmp_path):
    path = write(tmp_path / "a.csv", CSV)
    assert list(read_table(path, drop=["text", "id"]).columns) == ["age", "colour"]
    with pytest.raises(ValueError, match=r"no column 'txt': did you mean 'text'\?"):
        read_table(path, drop=["txt"])


def test_a_file_above_the_limit_is_not_read(tmp_path, monkeypatch):
    path = write(tmp_path / "big.csv", "a,b,c\n" + "1.5,2.5,3.5\n" * 1000)
    monkeypatch.setattr(file_parts, "unpacked_size", lambda _: 10**10)
    monkeypatch.setattr(read_module, "_size", lambda path: (10**10, path.name))
    monkeypatch.setattr(read_module.TableReader, "tables", None)
    with pytest.raises(
        MemoryError, match=r"10\.0 GB, about .* rows of 3 columns.*raise memory_limit"
    ):
        read_table(path, memory_limit="1GB")


def test_the_size_of_packed_files_is_known_before_they_are_read(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    long = "".join(f"{x:.15f}\n" for x in rng.random(20_000)).encode()
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"a\n" + 20_000 * b"1.5\n"))  # the size is at the end
    again = tmp_path / "b.csv.gz"  # there: the size of the last part
    again.write_bytes(gzip.compress(b"a\n" + long) + gzip.compress(b"1.5\n"))
    assert again.stat().st_size < len(long) < 2.5 * again.stat().st_size
    assert read_table(again).n_rows == 20_001
    monkeypatch.setattr(read_module.TableReader, "tables", None)
    for packed in (path, again):
        with pytest.raises(MemoryError, match="about"):
            read_table(packed, memory_limit="140kB")


def test_a_file_that_grows_while_it_is_read(tmp_path):
    with gzip.open(tmp_path / "a.csv.gz", "wt") as file:
        file.write("a,b\n" + "1,2\n" * 1000 + "1,22222222\n" * 200_000)
    with pytest.raises(MemoryError):
        read_table(tmp_path / "a.csv.gz", memory_limit="100kB")
    (tmp_path / "b.csv").write_text("a\n" + "1\n" * 600 + "".join(f"{i}x\n" for i in range(90_000)))
    with pytest.raises(MemoryError):
        read_table(tmp_path / "b.csv", memory_limit="4MB")


@pytest.mark.parametrize("length", [1, 100, 10_000])
def test_memory_of_texts_is_what_they_take(length):
    cells = [str(i) * length for i in range(9)]
    part, n_bytes = as_objects(pa.array([*cells, *cells, " "]), {})
    assert part.tolist() == [*cells, *cells, None]
    assert len({id(cell) for cell in part}) == 10  # equal texts are stored once
    taken = sum(map(sys.getsizeof, cells)) + part.nbytes
    assert taken <= n_bytes <= 1.5 * taken


def test_wide_files_and_long_cells(tmp_path):
    """Cells and lines may be longer than the limit of the csv module, which stays as it was."""
    limit = csv.field_size_limit()
    width = 3000
    names = [f"column_number_{i:040}" for i in range(width)]
    line = ",".join([f"1.25{'0' * 40}"] * width)
    assert len(line) > limit
    table = read_table(write(tmp_path / "wide.csv", f"{','.join(names)}\n{line}\n{line}\n"))
    assert (table.n_rows, list(table.columns)) == (2, names)
    assert all((column == 1.25).all() for column in table.columns.values())
    text = "word, " * 100_000
    table = read_table(write(tmp_path / "long.csv", f'a,b\n1,"{text}"\n2,x\n'))
    assert table.columns["b"].tolist() == [text, "x"]
    assert csv.field_size_limit() == limit
    with pytest.raises(ValueError, match="has 1 cells"):
        read_table(write(tmp_path / "bad.csv", "a,b\n1\n"))
    assert csv.field_size_limit() == limit


def test_names_longer_than_the_sample(tmp_path, monkeypatch):
    monkeypatch.setattr(text_files, "_SAMPLE_BYTES", 50)
    names = [f"name_{i}" for i in range(40)]
    rows = [";".join(str(i + j) for i in range(40)) for j in range(20)]
    table = read_table(write(tmp_path / "a.csv", "\n\n" + "\n".join([";".join(names), *rows])))
    assert list(table.columns) == names
    np.testing.assert_array_equal(table.columns["name_7"], np.arange(7.0, 27.0))
    assert table.where(0) == "line 4"


@pytest.mark.parametrize(
    "content",
    [
        "x" * 30_000_000,  # names without end
        "a,b\n" + "1,2\n" * 10 + "x" * 30_000_000,  # a long line
        'a,b\n"' + ("x" * 999 + "\n") * 30_000,  # a quote that is not closed
        'a,b\n"' + ("x" * 999 + '\n","') * 30_000,  # one row of many cells
        "a\n" + "1\n" * 600 + "".join(f"{i}{'x' * 10**6}\n" for i in range(60)),  # long texts
    ],
    ids=["names", "line", "quote", "row", "texts"],
)
def test_compressed_files_that_grow_without_end(tmp_path, content):
    """A packed file does not show how long its lines are: the limit applies while it is read."""
    path = tmp_path / "a.csv.gz"
    end = gzip.compress(b"\n")  # a file of two parts: the size of the last one is known
    path.write_bytes(gzip.compress(content.encode(), 1) + end)
    # In a process of its own: to trace the memory of a thread that reads ahead may end this one.
    found = subprocess.run(
        [sys.executable, "-c", _GROWTH, str(path)],
        capture_output=True,
        text=True,
        check=True,
        timeout=100,
    )
    message, grown = found.stdout.splitlines()
    assert "memory_limit" in message
    assert int(grown) < 50e6


_GROWTH = """
import resource, sys
from pathlib import Path
import pyarrow.csv
from lapwing.tables import read_table

def peak():
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # Unlike the above, it does not begin with the peak of the process that started this one.
    return int(status.read_text().split("VmHWM:")[1].split()[0])

before = peak()
try:
    read_table(sys.argv[1], memory_limit="16MB")
except MemoryError as error:
    print(str(error).replace(chr(10), " "))
print((peak() - before) * 1000)
"""


def test_sizes_of_compressed_files(tmp_path):
    """The stored size is that of the last part; a file has at least twice its packed size."""
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"1,2\n" * 10_000))
    assert text_source.unpacked_size(path) == 40_000
    path.write_bytes(path.read_bytes() + gzip.compress(b"1,2\n"))
    assert text_source.unpacked_size(path) == 2 * path.stat().st_size
    path.write_bytes(b"short")
    assert text_source.unpacked_size(path) == 5


@pytest.mark.parametrize(
    ("text", "line"),
    [("a\0,b\n1,2\n", 1), ("a,b\n1,2\n3,\0\n", 3), ('a,b\n1,"x\ny\0"\n', 3)],
)
def test_nul_characters(tmp_path, text, line):
    with pytest.raises(ValueError, match=rf"^line {line} of t\.csv contains a NUL character"):
        read_table(write(tmp_path / "t.csv", text))


def test_long_names_and_cells_are_cut_in_messages(tmp_path):
    path = write(tmp_path / "t.csv", f"{'n' * 5000},{'m' * 5000}\n1,2\n")
    with pytest.raises(ValueError, match="has no column") as caught:
        read_table(path, drop=["z"])
    assert "'nnn" in str(caught.value)
    assert len(str(caught.value)) < 300


# ---------------------------------------------------------------- matrices


def test_npz(tmp_path):
    X = np.arange(6.0).reshape(3, 2)
    np.savez(tmp_path / "a.npz", X=X, y=np.array(["u", "", "v"]))
    table = read_table(tmp_path / "a.npz")
    np.testing.assert_array_equal(table.X, X)
    assert table.y.tolist() == ["u", "", "v"]
    assert table.is_matrix
    assert table.where(0) == "row 1"
    S = sparse.random(5, 4, 0.5, format="csr", random_state=0)
    sparse.save_npz(tmp_path / "b.npz", S)
    assert (read_table(tmp_path / "b.npz").X != S).nnz == 0
    np.savez(tmp_path / "c.npz", data=S.data, indices=S.indices, indptr=S.indptr, shape=S.shape)
    assert (read_table(tmp_path / "c.npz").X != S).nnz == 0


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"X": np.array([[1, "a"]], dtype=object)}, "Python objects"),
        ({"X": np.zeros(3)}, "must be a matrix"),
        ({"Z": np.zeros((3, 2))}, "needs an array X"),
        ({"X": np.zeros((0, 2))}, "0 rows"),
        ({"X": np.zeros((3, 2)), "y": np.zeros(2)}, "array of 3 numbers or texts"),
        ({"X": np.array([[1.0, 2.0], [1.0, np.nan]])}, "column 2 of X is NaN or infinite in row 2"),
        (
            {"data": [1.0], "indices": [7], "indptr": [0, 1], "shape": [1, 2]},
            "contains no CSR matrix",
        ),
        (
            {"data": [1.0], "indices": [0], "indptr": [0, 9], "shape": [1, 2]},
            "contains no CSR matrix",
        ),
        ({"data": [1.0], "indices": [0], "indptr": [0, 1], "shape": [1]}, "contains no CSR matrix"),
        ({"data": [np.inf], "indices": [0], "indptr": [0, 0, 1], "shape": [2, 2]}, "in row 2"),
    ],
)
def test_bad_npz(tmp_path, arrays, message):
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(ValueError, match=message):
        read_table(tmp_path / "a.npz")


def test_npz_that_is_invalid_or_too_large(tmp_path):
    with pytest.raises(ValueError, match=r"not an \.npz file"):
        read_table(write(tmp_path / "a.npz", "PK nothing"))
    np.savez_compressed(tmp_path / "b.npz", X=np.zeros((1000, 1000)))
    assert (tmp_path / "b.npz").stat().st_size < 10**5
    with pytest.raises(MemoryError, match="raise memory_limit"):
        read_table(tmp_path / "b.npz", memory_limit="1MB")


@pytest.mark.parametrize("name", ["a.svm", "a.libsvm", "a.svmlight", "a.txt"])
def test_svmlight(tmp_path, name):
    S = sparse.random(6, 5, 0.6, format="csr", random_state=1)
    dump_svmlight_file(S, np.arange(6), str(tmp_path / name))
    table = read_table(tmp_path / name)
    np.testing.assert_allclose(table.X.toarray(), S.toarray())
    np.testing.assert_array_equal(table.y, np.arange(6))


def test_bad_svmlight(tmp_path):
    with pytest.raises(ValueError, match="cannot be read as svmlight"):
        read_table(write(tmp_path / "a.svm", "1 a:b\n"))
    with pytest.raises(ValueError, match="is empty"):
        read_table(write(tmp_path / "b.svm", ""))
    with pytest.raises(MemoryError):
        read_table(write(tmp_path / "c.svm", "1 1:2\n" * 1000), memory_limit="1kB")
    with pytest.raises(ValueError, match="no names"):
        read_table(write(tmp_path / "d.svm", "1 1:2\n"), drop=["a"])


# ---------------------------------------------------------------- Arrow


def arrow_table():
    return pa.table(
        {
            "id": pa.array([2**60 + 1, 2, 3]),
            "age": pa.array([31.0, None, 40.0]),
            "colour": pa.array(["red", "blue", "red"]).dictionary_encode(),
            "day": pa.array([0, 1, None], pa.date32()),
            "flag": pa.array([True, False, None]),
            "label": pa.array([1.0, float("nan"), 2.0]),
        }
    )


@pytest.mark.parametrize("name", ["a.parquet", "a.feather", "a.arrow", "stream.arrow"])
def test_arrow_formats(tmp_path, name):
    stored = arrow_table()
    from pyarrow import feather, parquet

    if name.endswith(".parquet"):
        parquet.write_table(stored, tmp_path / name)
    elif name == "stream.arrow":
        with (
            pa.OSFile(str(tmp_path / name), "wb") as sink,
            pa.ipc.new_stream(sink, stored.schema) as writer,
        ):
            writer.write_table(stored)
    else:
        feather.write_feather(stored, tmp_path / name)
    table = read_table(tmp_path / name, as_text=["id", "label"])
    assert table.columns["id"].tolist() == [str(2**60 + 1), "2", "3"]
    np.testing.assert_array_equal(table.columns["age"], [31.0, np.nan, 40.0])
    assert table.columns["colour"].tolist() == ["red", "blue", "red"]
    assert table.columns["day"].tolist() == ["1970-01-01", "1970-01-02", None]
    assert table.columns["flag"].tolist() == ["true", "false", None]
    assert table.columns["label"].tolist() == ["1", None, "2"]
    with pytest.raises(MemoryError):
        read_table(tmp_path / name, memory_limit=10)
    assert list(read_table(tmp_path / name, drop=["id", "flag"]).columns) == [
        "age", "colour", "day", "label",
    ]  # fmt: skip


def test_bad_arrow_files(tmp_path):
    from pyarrow import parquet

    with pytest.raises(ValueError, match="cannot be read"):
        read_table(write(tmp_path / "a.parquet", "no parquet at all"))
    with pytest.raises(ValueError, match="cannot be read"):
        read_table(write(tmp_path / "a.feather", "no feather at all"))
    parquet.write_table(pa.table({"a": pa.array([], pa.float64())}), tmp_path / "b.parquet")
    with pytest.raises(ValueError, match="no rows"):
        read_table(tmp_path / "b.parquet")
    parquet.write_table(pa.table({"a": [1], "b": [[1, 2]]}), tmp_path / "c.parquet")
    with pytest.raises(ValueError, match=r"column 'b' .*--drop b"):
        read_table(tmp_path / "c.parquet")
    assert list(read_table(tmp_path / "c.parquet", drop=["b"]).columns) == ["a"]
    for kind in (pa.list_(pa.float64()), pa.large_list(pa.float64()), pa.list_(pa.float64(), 2)):
        rows = pa.array([[1.0, 2.0]], kind)
        parquet.write_table(pa.table({"a": [1], "b": rows}), tmp_path / "d.parquet")
        with pytest.raises(
            ValueError, match=r"column 'b' .* a column of its own, .*\.npz.*--drop b"
        ):
            read_table(tmp_path / "d.parquet")


def test_without_pyarrow(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for name in ("a.parquet", "a.csv"):
        with pytest.raises(ImportError, match=rf'{name} needs .*pip install "lapwing\[tables\]"'):
            read_table(write(tmp_path / name, "x,y\n1,2\n"))
    np.savez(tmp_path / "a.npz", X=np.eye(2))  # matrices need nothing
    assert read_table(tmp_path / "a.npz").n_rows == 2
    assert read_table(write(tmp_path / "a.txt", "1 1:2 2:3\n")).is_matrix


# ---------------------------------------------------------------- damage


@pytest.mark.parametrize("name", ["a.csv.gz", "a.npz", "a.parquet", "a.feather", "a.svm"])
def test_damaged_files_raise_ordinary_errors(tmp_path, name):
    path = tmp_path / name
    if name == "a.csv.gz":
        path.write_bytes(gzip.compress(CSV.encode() * 50))
    elif name == "a.npz":
        np.savez_compressed(path, X=np.arange(300.0).reshape(100, 3), y=np.arange(100))
    elif name == "a.svm":
        path.write_text("1 1:2 3:4\n2 2:1\n" * 20)
    else:
        stored = arrow_table()
        from pyarrow import feather, parquet

        (parquet.write_table if name == "a.parquet" else feather.write_feather)(stored, path)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for turn in range(60):
        damaged = bytearray(whole)
        if turn % 2:
            del damaged[rng.integers(len(whole)) :]
        else:
            for index in rng.integers(len(whole), size=3):
                damaged[index] = rng.integers(256)
        path.write_bytes(damaged)
        try:
            read_table(path, memory_limit="100MB")
        except (ValueError, MemoryError, OSError):
            continue


def test_a_row_that_is_too_long_is_explained(tmp_path, monkeypatch):
    monkeypatch.setattr(read_module, "LONGEST_ROW", 1000)
    path = write(tmp_path / "a.csv", "a,b\n1,2\n3," + "x" * 2000 + "\n")
    with pytest.raises(ValueError, match=r"a\.csv has a row of more than 1,000 bytes: look for"):
        read_table(path)
