"""Model files with damaged bytes, or with other members, pages and arrays and valid checksums."""

import hashlib
import io
import json
import warnings
import zipfile
from contextlib import suppress
from pathlib import Path

import numpy as np

import lapwing
from lapwing.arrays.archive import read_archive, write_archive
from lapwing.cli import main as lapwing_command
from lapwing.cli.models import load_table_model
from lapwing.cli.suggest import suggestions
from lapwing.displays.model_page import make_page
from lapwing.tables import read_table

from .csv_files import csv_bytes, make_csv
from .mutations import MEMORY, expect, mutated_bytes

NUMBERS = (0, 1, -1, 2, 3, 10**6, 10**12, 10**18, 2**63, 10**40, 1e300, -1e300, 1e-300, 0.5)
TEXTS = ("", "nan", "=1+1", "\u00e9\u2028", "x" * 5000, "LapSVC", "__class__", "a0", "\x00")


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
        self.table, path = write_table_model(self.folder)
        stored = load_table_model(path)
        answer = stored.model.predict(stored.encoder.transform(self.table))
        self.files["table"] = path.read_bytes(), read_archive(path), answer

    def write(self, rng):
        """Write a mutated file; return its path and the predictions that it must have, or None."""
        name = "table" if rng.random() < 0.2 else str(rng.choice(sorted(self.files)))
        content, (page, arrays), answer = self.files[name]
        path, form = self.folder / "case.lapwing", rng.integers(10)
        if form < 3:
            path.write_bytes(mutated_bytes(rng, content))
            return path, answer
        if form == 3:
            path.write_bytes(mutated_members(rng, content))
            return path, answer
        page = json.loads(json.dumps(page))
        if form < 8:
            has_table = "encoder" in page["extra"] and rng.random() < 0.5
            mutate_page(rng, page["extra" if has_table else "model"])
        if form >= 7:
            arrays = mutated_arrays(rng, arrays)
        with suppress(ValueError, TypeError):  # what cannot be written is the good file
            path.write_bytes(content)
            write_archive(path, page, arrays)
        return path, None

    def run(self, case):
        """Return what happened; an error leaves as it is."""
        path, answer = case
        model, X = lapwing.load(path, memory_limit=MEMORY), self.X
        if "encoder" in model.extra_:
            stored = load_table_model(path)
            X = stored.encoder.transform(self.table)
            suggestions(stored, 3)
            make_page(model, title="", ids=stored.ids, source=stored.source)
        elif model.n_features_in_ != X.shape[1]:
            X = np.zeros((40, model.n_features_in_))
        found = model.predict(X)
        expect(found.shape == (40,), "predictions of another shape")
        expect(found.dtype.kind != "f" or np.isfinite(found).all(), "predictions are not finite")
        if hasattr(model, "predict_proba"):
            shares = model.predict_proba(X)
            expect(np.isfinite(shares).all() and (shares >= 0).all(), "probabilities")
        if answer is None:
            return "loaded"
        expect(np.array_equal(found, answer), "damaged, and another answer")
        return "the same answer"


def write_table_model(folder):
    """Return a table, and the path of a model file that `lapwing fit` wrote for it."""
    path, out = folder / "table.csv", folder / "table"
    path.write_bytes(csv_bytes(make_csv(np.random.default_rng(0))))
    command = ["fit", path, "--target", "label", "--id", "id", "--out", out, "--quiet"]
    if lapwing_command(list(map(str, command))) != 0:
        raise SystemExit("the table could not be fitted")
    return read_table(path, as_text=["id", "label"]), out


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
