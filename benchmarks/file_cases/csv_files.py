"""CSV files with odd cells, ragged rows, damaged bytes and other encodings."""

import gzip
import json
from pathlib import Path

import numpy as np

import lapwing
from lapwing.tables import fit_encoder, read_table

from .mutations import MEMORY, check_error, expect, mutated_bytes


def make_csv(rng, n=40):
    """Return a table with every type of column, as rows of cells."""
    words = ["late", "parcel", "refund", "invoice", "screen", "update", "again", "door"]
    rows = [["id", "x", "colour", "when", "note", "flag", "label"]]
    for i in range(n):
        side = i % 2
        rows.append(
            [
                f"r{i:03d}",
                f"{rng.normal(4 * side):.3f}" if rng.random() > 0.05 else "",
                ("red", "blue", "green")[rng.integers(2) + side],
                f"2024-{rng.integers(1, 13):02d}-{rng.integers(1, 29):02d}",
                " ".join(rng.choice(words, 5)) + ("" if side else ', "so"'),
                ("yes", "no")[rng.integers(2)],
                ("left", "right")[side] if i < 10 else "",
            ]
        )
    return rows


def csv_bytes(rows, delimiter=",", end="\n", quote_all=False):
    def cell(text):
        special = quote_all or any(c in text for c in '",;\t|\r\n')
        return '"' + text.replace('"', '""') + '"' if special else text

    return end.join(delimiter.join(map(cell, row)) for row in [*rows, []]).encode()


def same_csv(rng, rows):
    """Return other bytes of the same table."""
    content = csv_bytes(
        rows, ",;\t|"[rng.integers(4)], ("\n", "\r\n")[rng.integers(2)], rng.random() < 0.5
    )
    content = b"\xef\xbb\xbf" + content if rng.random() < 0.5 else content
    return content + b"\n" * int(rng.integers(3))


ODD_CELLS = (
    *("", " ", '"', '""', "'", "\0", "\r", "\n", ",", ";", "NaN", "inf", "-inf", "1e999", "-1e308"),
    *("1_000", "0x10", "1,5", "9" * 400, "\u0663", "\ufeff", "\U0001f600", "=cmd()", "-", "NA"),
    *("2024-13-45", "0001-01-01", "9999-12-31T23:59:59+14:00", "18.09.2015", "a" * 70_000, "1e151"),
)


def mutated_cells(rng, rows):
    """Return bytes of the table with odd cells, ragged rows, or names that occur twice."""
    rows = [list(row) for row in rows]
    for _ in range(rng.integers(1, 5)):
        row = rows[rng.integers(len(rows)) if rng.random() < 0.8 else 0]
        choice, at = rng.integers(6), int(rng.integers(max(len(row), 1)))
        if choice < 3 and row:
            row[at] = ODD_CELLS[rng.integers(len(ODD_CELLS))]
        elif choice == 3 and row:
            del row[at]
        elif choice == 4:
            row.insert(at, ODD_CELLS[rng.integers(len(ODD_CELLS))])
        else:
            rows[rng.integers(len(rows))] = list(rows[rng.integers(len(rows))])
    if rng.random() < 0.1:  # a column in which one kind of cell is everywhere
        column, odd = rng.integers(7), ODD_CELLS[rng.integers(len(ODD_CELLS))]
        rows = [
            [*row[:column], odd, *row[column + 1 :]] if i else row for i, row in enumerate(rows)
        ]
    return csv_bytes(rows, quote_all=rng.random() < 0.3)


class CsvFiles:
    """Cases of CSV files: a table is read, encoded anew, and encoded as the good one was."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.rows = make_csv(np.random.default_rng(0))
        self.path = self.folder / "good.csv"
        self.path.write_bytes(csv_bytes(self.rows))
        table = read_table(self.path, as_text=["id", "label"])
        self.encoder = fit_encoder(table, target="label", id="id")
        self.good = self.encoder.transform(table)
        labels = self.encoder.target_of(table)
        self.model = lapwing.LapSVC(unlabeled=None).fit(self.good, labels)
        self.answer = self.model.decision_function(self.good)

    def write(self, rng):
        """Write a mutated file; return its path, encoding, and whether it is the same table."""
        form = rng.integers(10)
        encoding = "utf-8"
        if form == 0:
            content = same_csv(rng, self.rows)
        elif form < 5:
            content = mutated_cells(rng, self.rows)
        elif form < 9:
            content = mutated_bytes(rng, csv_bytes(self.rows))
        else:
            encoding = str(rng.choice(["utf-16", "utf-16-le", "latin-1", "cp1252", "ascii"]))
            written = str(rng.choice(["utf-16", "utf-16-le", "latin-1", "utf-8"]))
            content = csv_bytes(self.rows).decode().encode(written)
        path = self.folder / "case.csv"
        if rng.random() < 0.1:
            path, content = path.with_suffix(".csv.gz"), gzip.compress(content)
            content = mutated_bytes(rng, content) if form and rng.random() < 0.5 else content
        path.write_bytes(content)
        return path, encoding, form == 0

    def run(self, case):
        """Return what happened; an error leaves as it is."""
        path, encoding, is_same = case
        options = {"memory_limit": MEMORY, "encoding": encoding, "as_text": ["id", "label"]}
        table = read_table(path, **options)
        check_table(table)
        outcome = "read"
        try:
            own = fit_encoder(table, target="label", id="id")
            check_matrix(own.transform(table), table.n_rows, own.n_features)
            for label in own.target_of(table):
                expect(label is None or isinstance(label, (int, float, str)), "a label")
            expect(own == type(own).from_dict(json.loads(json.dumps(own.to_dict()))), "not stored")
            outcome = "encoded"
        except ValueError as error:
            check_error(error)
        X = self.encoder.transform(read_table(path, only=self.encoder.names, **options))
        check_matrix(X, table.n_rows, self.encoder.n_features)
        values = self.model.decision_function(X)
        expect(np.isfinite(values).all(), "predictions are not finite")
        if is_same:
            expect(np.array_equal(values, self.answer), "the same table, another answer")
            outcome = "the same answer"
        return outcome


def check_table(table):
    """Raise an error unless a table is as `Table` promises."""
    for column in table.columns.values():
        expect(column.shape == (table.n_rows,), "a column is too short")
        if column.dtype == object:
            expect(all(cell is None or isinstance(cell, str) for cell in column), "a cell")
            expect(not any("\0" in cell for cell in column if cell), "a NUL in a cell")
        else:
            expect(column.dtype == np.float64, "a type of column")
    lines = [int(table.where(row).removeprefix("line ")) for row in range(table.n_rows)]
    expect((np.diff(lines) > 0).all(), "lines")


def check_matrix(X, n, d):
    """Raise an error unless a matrix is finite and of the given size."""
    expect(X.shape == (n, d) and X.dtype == np.float64, "the matrix is of another size")
    expect(np.isfinite(X.data if hasattr(X, "indptr") else X).all(), "the matrix is not finite")
