"""Damaged and hostile CSV and model files: an error of ours, or a well-defined answer.

    make bench NAME=fuzz_files ARGS="--count 10000 --seed 0"

Each case is a mutation of a good file, made from the seed and the number of the case: bytes, blocks
and cells of CSV files; bytes, members, pages and arrays of model files, with the checksums computed
again where a change must reach the checks of the contents. The address space of the process is
limited, and a case that takes long is interrupted. Prints the outcomes, and the cases of findings:

    python benchmarks/fuzz_files.py --only model --seed 0 --case 4711

repeats one. An error counts as ours if our code raised it, with a message of a few lines.
"""

import argparse
import gzip
import hashlib
import io
import json
import signal
import sys
import time
import traceback
import warnings
import zipfile
from collections import Counter
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import lapwing
from common import resident_bytes
from lapwing.arrays.archive import read_archive, write_archive
from lapwing.tables import fit_encoder, read_table

PACKAGE = str(Path(lapwing.__file__).parent)
MEMORY = "64MB"
#: Seconds after which a case counts as endless, and characters of the longest message.
SECONDS, LONGEST = 20, 2000
#: Bytes of address space that all cases together may take in addition to those at the start.
ROOM = 2 * 1024**3
NUMBERS = (0, 1, -1, 2, 3, 10**6, 10**12, 10**18, 2**63, 10**40, 1e300, -1e300, 1e-300, 0.5)
TEXTS = ("", "nan", "=1+1", "\u00e9\u2028", "x" * 5000, "LapSVC", "__class__", "a0", "\x00")


class Endless(Exception):
    """A case took too long."""


class Wrong(Exception):
    """An answer is not well defined."""


def expect(condition, what):
    if not condition:
        raise Wrong(what)


# ---------------------------------------------------------------- CSV files


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


def mutated_bytes(rng, content):
    """Return the bytes with some flipped, blocks deleted, inserted or repeated, or the end cut."""
    content = bytearray(content)
    for _ in range(rng.integers(1, 4)):
        n = len(content)
        if n == 0:
            break
        start, size = int(rng.integers(n)), int(rng.integers(1, 64))
        choice = rng.integers(6)
        if choice == 0:
            content[start] ^= 1 << int(rng.integers(8))
        elif choice == 1:
            content[start] = int(rng.choice([0, 10, 13, 34, 44, 59, 255]))
        elif choice == 2:
            del content[start : start + size]
        elif choice == 3:
            content[start:start] = content[start : start + size] * int(rng.integers(1, 20))
        elif choice == 4:
            content[start:start] = rng.integers(0, 256, size).astype(np.uint8).tobytes()
        else:
            del content[start:]
    return bytes(content)


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
    expect(len(table.lines) == table.n_rows and (np.diff(table.lines) > 0).all(), "lines")


def check_matrix(X, n, d):
    """Raise an error unless a matrix is finite and of the given size."""
    expect(X.shape == (n, d) and X.dtype == np.float64, "the matrix is of another size")
    expect(np.isfinite(X.data if hasattr(X, "indptr") else X).all(), "the matrix is not finite")


# ---------------------------------------------------------------- model files


def estimators():
    """Return one estimator of each form of fitted function, and their names."""
    return {
        "LapSVC": lapwing.LapSVC(),
        "linear": lapwing.LapSVC(kernel="linear"),
        "landmarks": lapwing.LapRLSClassifier(n_landmarks=8),
        "regressor": lapwing.LapRLSRegressor(),
        "path": lapwing.LapSVCPath(cv=None),
        "embedded": lapwing.LapESVC(),
        "margin": lapwing.S3VC(kernel="rbf"),
        "prototypes": lapwing.PVMClassifier(n_prototypes=8),
        "anchors": lapwing.AnchorGraphClassifier(n_anchors=8),
        "eigenfunctions": lapwing.EigenfunctionClassifier(),
        "lgc": lapwing.LGCClassifier(),
        "nystrom": lapwing.NystromLGCClassifier(n_landmarks=8),
        "nfi": lapwing.NFIClassifier(n_landmarks=8),
        "grid": lapwing.LapRLSClassifierCV(reg_ambient=[0.1], reg_manifold=[0.1, 1.0]),
        "default": lapwing.SemiSupervisedClassifier(),
        "default regressor": lapwing.SemiSupervisedRegressor(),
    }


class ModelFiles:
    """Cases of model files: a file is loaded, and its model predicts."""

    def __init__(self, folder):
        self.folder = Path(folder)
        rng = np.random.default_rng(0)
        self.X = rng.normal(size=(40, 3)) + 4.0 * (np.arange(40) % 2)[:, None]
        self.files = {}
        for name, estimator in estimators().items():
            marker = np.nan if "regressor" in name else -1
            y = np.where(np.arange(40) < 12, np.arange(40) % 2, marker)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = estimator.fit(self.X, y)
            path = self.folder / name
            lapwing.save(model, path, extra={"columns": ["a", "b"]})
            self.files[name] = path.read_bytes(), read_archive(path), model.predict(self.X)

    def write(self, rng):
        """Write a mutated file; return its path and the predictions that it must have, or None."""
        content, (page, arrays), answer = self.files[str(rng.choice(sorted(self.files)))]
        path, form = self.folder / "case.lapwing", rng.integers(10)
        if form < 3:
            path.write_bytes(mutated_bytes(rng, content))
            return path, answer
        if form == 3:
            path.write_bytes(mutated_members(rng, content))
            return path, answer
        page = json.loads(json.dumps(page))
        if form < 8:
            mutate_page(rng, page["model"] if rng.random() < 0.97 else page)
        if form >= 7:
            arrays = mutated_arrays(rng, arrays)
        with suppress(ValueError, TypeError):  # what cannot be written is the good file
            path.write_bytes(content)
            write_archive(path, page, arrays)
        return path, None

    def run(self, case):
        """Return what happened; an error leaves as it is."""
        path, answer = case
        model = lapwing.load(path, memory_limit=MEMORY)
        found = model.predict(self.X[:, : model.n_features_in_])
        expect(found.shape == (40,), "predictions of another shape")
        expect(found.dtype.kind != "f" or np.isfinite(found).all(), "predictions are not finite")
        if hasattr(model, "predict_proba"):
            shares = model.predict_proba(self.X)
            expect(np.isfinite(shares).all() and (shares >= 0).all(), "probabilities")
        if answer is None:
            return "loaded"
        expect(np.array_equal(found, answer), "damaged, and another answer")
        return "the same answer"


def mutated_members(rng, content):
    """Return a zip whose members are renamed, repeated, left out, enlarged or misdescribed."""
    with zipfile.ZipFile(io.BytesIO(content)) as bag:
        members = [(name, bag.read(name)) for name in bag.namelist()]
    at, choice = int(rng.integers(len(members))), rng.integers(7)
    name, data = members[at]
    whole = json.loads(members[0][1])
    listed = list(whole["arrays"].values())
    entry = listed[rng.integers(len(listed))]
    if choice == 0:
        members.append((name, data))
    elif choice == 1:
        del members[at]
    elif choice == 2:
        members[at] = "../" + name, data
    elif choice == 3:
        members[at] = name, data + bytes(3 * 10**7)
    elif choice == 4:
        entry["shape"] = [[10**12], [10**6] * 3, [-1], [0, 10**18], [2.5], [True]][rng.integers(6)]
    elif choice == 5:
        entry["dtype"] = str(rng.choice(["|O", "<U1000000", "<c16", "<M8[s]", ">f8", "<f2", "V8"]))
    else:
        whole["page"]["deep"] = json.loads("[" * 900 + "]" * 900)
    if choice > 3:
        members[0] = members[0][0], sealed(whole)
    stream = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as bag:
        warnings.simplefilter("ignore")  # names that occur twice
        for name, data in members:
            bag.writestr(name, data)
    return stream.getvalue()


def sealed(whole):
    """Return a page with a valid checksum, as JSON."""
    whole.pop("sha256", None)
    text = json.dumps(whole, sort_keys=True)
    return json.dumps(whole | {"sha256": hashlib.sha256(text.encode()).hexdigest()}).encode()


def places(node):
    """Yield all (container, key) of a page."""
    items = node.items() if isinstance(node, dict) else enumerate(node)
    for key, inner in items:
        yield node, key
        if isinstance(inner, (dict, list)):
            yield from places(inner)


def mutate_page(rng, page):
    """Change some values of a page: numbers, texts, types, references, missing parts."""
    for _ in range(rng.integers(1, 3)):
        found = list(places(page))
        if not found:
            return
        container, key = found[rng.integers(len(found))]
        other, other_key = found[rng.integers(len(found))]
        choice = rng.integers(8)
        if choice < 2:
            container[key] = NUMBERS[rng.integers(len(NUMBERS))]
        elif choice == 2:
            container[key] = TEXTS[rng.integers(len(TEXTS))]
        elif choice == 3:
            container[key] = (None, True, [], {}, {"float": "nan"}, {"float": "-inf"})[
                rng.integers(6)
            ]
        elif choice == 4:
            container[key] = json.loads(json.dumps(other[other_key]))
        elif choice == 5:
            del container[key]
        elif choice == 6 and isinstance(container, list):
            container.insert(key, container[key])
        elif isinstance(container[key], (int, float)):
            container[key] = container[key] * float(rng.choice([-1.0, 0.0, 2.0, 1e9, 1e-9]))


def mutated_arrays(rng, arrays):
    """Return the arrays with one changed: values, type, shape, length, or another one's place."""
    names = sorted(arrays)
    name = names[rng.integers(len(names))]
    array = np.array(arrays[name])
    choice, odd = rng.integers(9), NUMBERS[rng.integers(len(NUMBERS))]
    with np.errstate(all="ignore"), suppress(ValueError, OverflowError):
        if choice < 3 and array.size:
            value = (odd, np.nan, np.inf, -1)[rng.integers(4)]
            array.flat[rng.integers(array.size)] = value
        elif choice == 3:
            array = array.astype(str(rng.choice(["f4", "f8", "i8", "i4", "?", "U3", "f2", "u1"])))
        elif choice == 4:
            array = array.reshape(
                (array.ravel()[None], array.ravel(), array.T)[rng.integers(3)].shape
            )
        elif choice == 5:
            array = array[: int(rng.integers(len(array) + 1))] if array.ndim else array
        elif choice == 6:
            array = np.concatenate([array, array]) if array.ndim else array
        elif choice == 7:
            array = arrays[names[rng.integers(len(names))]]
        else:
            array = array * array.dtype.type(odd) if array.dtype.kind in "fiu" else array[..., None]
    return {**arrays, name: array}


# ---------------------------------------------------------------- the run


def check_error(error):
    """Raise an error again unless our code raised it, with a short message."""
    frames = traceback.extract_tb(error.__traceback__)
    if not frames[-1].filename.startswith(PACKAGE) or not 0 < len(str(error)) < LONGEST:
        raise error


@contextmanager
def within(seconds):
    """Interrupt what takes longer."""

    def interrupt(*_):
        raise Endless(f"more than {seconds} s")

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def try_case(files, seed):
    """Return the outcome of a case, and an error if it is a finding."""
    case = files.write(np.random.default_rng(seed))
    try:
        with within(SECONDS), warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            return files.run(case), None
    except Exception as error:
        if isinstance(error, (ValueError, MemoryError)) and not isinstance(error, UnicodeError):
            with suppress(type(error)):
                check_error(error)
                return f"refused ({type(error).__name__})", None
        return "FINDING", error


FILES = {"csv": CsvFiles, "model": ModelFiles}


def run(count, seed, only=tuple(FILES), first=0, show=print):
    """Run `count` cases of each type of file; return the number of findings.

    Parameters
    ----------
    count, seed : int
        Number of cases, and the seed from which they are made.
    only : sequence of {"csv", "model"}
        Types of files.
    first : int
        Number of the first case.
    show : callable
        Called with each line of the result.
    """
    n_findings = 0
    for number, name in enumerate(FILES):
        if name not in only:
            continue
        outcomes, started, before = Counter(), time.perf_counter(), None
        with TemporaryDirectory() as folder:
            files = FILES[name](folder)
            before = resident_bytes()
            for case in range(first, first + count):
                outcome, error = try_case(files, (seed, number, case))
                outcomes[outcome] += 1
                if error is not None:
                    where = traceback.extract_tb(error.__traceback__)[-1]
                    place = f"{Path(where.filename).name}:{where.lineno}"
                    show(
                        f"{name} case {case}: {type(error).__name__} at {place}: {str(error)[:200]}"
                    )
        seconds, growth = time.perf_counter() - started, (resident_bytes() - before) / 1e6
        counts = ", ".join(f"{n} {outcome}" for outcome, n in outcomes.most_common())
        show(f"{name}: {count} cases in {seconds:.0f} s, memory +{growth:.0f} MB: {counts}")
        n_findings += outcomes["FINDING"]
    return n_findings


def limit_memory():
    """Limit the address space of the process, where the system can."""
    import resource

    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + ROOM, size + ROOM))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1000, help="cases of each type (1000)")
    parser.add_argument("--seed", type=int, default=0, help="seed of all cases (0)")
    parser.add_argument("--only", choices=FILES, help="one type of file")
    parser.add_argument("--case", type=int, help="run only this case, with the whole error")
    arguments = parser.parse_args()
    only = [arguments.only] if arguments.only else list(FILES)
    with suppress(ImportError, OSError):
        limit_memory()
    if arguments.case is None:
        return 1 if run(arguments.count, arguments.seed, only) else 0
    for name in only:
        with TemporaryDirectory() as folder:
            seed = (arguments.seed, list(FILES).index(name), arguments.case)
            outcome, error = try_case(FILES[name](folder), seed)
            print(f"{name}: {outcome}")
            if error is not None:
                traceback.print_exception(error)
    return 0


if __name__ == "__main__":
    sys.exit(main())
