"""Seconds of `fit` of every estimator, for one source tree or two, and the time of the import.

    python benchmarks/fit_times.py [--before FOLDER] [--after FOLDER] [--rows 300 2000] [--rounds 3]

FOLDER holds the package (`src` of a checkout); without --after it is the installed package, and
without --before one column is printed. To compare with an earlier commit:

    git worktree add ../earlier COMMIT
    make bench NAME=fit_times ARGS="--before ../earlier/src --after src"

Each tree runs in a process of its own. For each estimator both fit once without being timed, then
take turns, one fit each, until both have done so many rounds and spent 0.1 s for each round; the
best fit counts. Where the ratio is above 1.05 this is repeated, twice at most, before it is
flagged. The data are two moons in a plane with eight columns of noise and 20 labels; regressors
learn a smooth function of the arc length. Parameters are the defaults, with random_state=0.

One thread, and CPU time, which other processes disturb less; where --threads is above 1, wall time.

The import is that of lapwing after `import sklearn`, in new processes, the best of five.
"""

import argparse
import gc
import json
import os
import subprocess
import sys
import time
import warnings

LIMIT = 1.05
IMPORT_LIMIT = 0.6
IMPORTS = 5
ROUND_SECONDS = 0.1
LABELS = 20
NOISE_COLUMNS = 8
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}
THREADS = ("OPENBLAS", "OMP", "MKL", "LAPWING")

IMPORT = """\
import sklearn, time
began = time.{clock}()
import lapwing
print(time.{clock}() - began)
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--before", metavar="FOLDER", help="tree to compare with")
    parser.add_argument("--after", metavar="FOLDER", help="tree to measure; default: installed")
    parser.add_argument("--rows", type=int, nargs="+", default=[300, 2000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="estimators; default: all")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--clock", choices=CLOCKS, help="default: cpu for one thread, else wall")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        return work(CLOCKS[options.clock])
    clock = options.clock or ("cpu" if options.threads == 1 else "wall")
    folders = {"before": options.before} if options.before else {}
    folders["after"] = options.after
    trees = {label: Tree(folder, options.threads, clock) for label, folder in folders.items()}
    try:
        for label, tree in trees.items():
            print(f"{label}: {tree.place}")
        print_imports(trees)
        names = options.only or sorted({name for tree in trees.values() for name in tree.names})
        for rows in options.rows:
            print_fits(trees, names, rows, options.rounds)
    finally:
        for tree in trees.values():
            tree.close()


# ---------------------------------------------------------------- tables


def print_imports(trees):
    """The time that `import lapwing` adds, for each tree."""
    best = dict.fromkeys(trees, float("inf"))
    for i in range(IMPORTS + 1):
        for label, tree in turns(trees, i):
            seconds = tree.import_seconds()
            if i > 0:  # the first one may compile
                best[label] = min(best[label], seconds)
    for label, seconds in best.items():
        mark = f"  <-- above {IMPORT_LIMIT} s" if seconds > IMPORT_LIMIT else ""
        print(f"import lapwing, {label}: {seconds:.3f} s beyond import sklearn{mark}")


def print_fits(trees, names, rows, rounds):
    """One line for each estimator: milliseconds of each tree, and their ratio."""
    heads = [f"{label + ' ms':>12}" for label in trees] + (["   ratio"] if len(trees) == 2 else [])
    print(f"\n{f'n = {rows}':<28}{''.join(heads)}")
    slower, total = 0, dict.fromkeys(trees, 0.0)
    for name in names:
        best = fit_seconds(trees, name, rows, rounds)
        cells = [cell(answer) for answer in best.values()]
        if all_fitted(best):
            total = {label: total[label] + best[label] for label in trees}
            if is_slower(best):
                slower += 1
            cells.append(ratio_cell(best))
        print(f"{name:<28}{''.join(cells)}", flush=True)
    cells = [cell(seconds) for seconds in total.values()]
    print(f"{'all that ran':<28}{''.join(cells)}{ratio_cell(total)}")
    if len(trees) == 2:
        print(f"{slower} of {len(names)} are slower by more than {100 * (LIMIT - 1):.0f} %")


def cell(answer):
    return f"{answer:>12}" if isinstance(answer, str) else f"{1e3 * answer:12.2f}"


def ratio_cell(best):
    if "before" not in best or best["before"] == 0:
        return ""
    mark = "  <-- slower" if is_slower(best) else ""
    return f"{best['after'] / best['before']:8.3f}{mark}"


def is_slower(best):
    return "before" in best and best["after"] > LIMIT * best["before"]


def all_fitted(best):
    return not any(isinstance(answer, str) for answer in best.values())


def fit_seconds(trees, name, rows, rounds):
    """The best time of each tree, or a word where it has none."""
    best = {label: tree.fit_seconds(name, rows) for label, tree in trees.items()}
    fitted = {label: trees[label] for label in trees if not isinstance(best[label], str)}
    best |= dict.fromkeys(fitted, float("inf"))  # that was to warm up
    for _ in range(3):
        done, spent = 0, dict.fromkeys(fitted, 0.0)
        while fitted and (done < rounds or min(spent.values()) < rounds * ROUND_SECONDS):
            for label, tree in turns(fitted, done):
                seconds = tree.fit_seconds(name, rows)
                best[label], spent[label] = min(best[label], seconds), spent[label] + seconds
            done += 1
        if not (all_fitted(best) and is_slower(best)):
            break
    return best


def turns(trees, i):
    """The trees, in the reverse order in every second round."""
    return list(trees.items())[:: 1 if i % 2 == 0 else -1]


# ---------------------------------------------------------------- one process for each tree


class Tree:
    """A source tree, and a process that fits its estimators on request."""

    def __init__(self, folder, threads, clock):
        self.clock = CLOCKS[clock]
        self.environment = dict(os.environ)
        # Without byte code on disk every import would compile the tree again.
        self.environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for library in THREADS:
            self.environment[f"{library}_NUM_THREADS"] = str(threads)
        if folder is not None:
            path = [os.path.abspath(folder), os.environ.get("PYTHONPATH", "")]
            self.environment["PYTHONPATH"] = os.pathsep.join(filter(None, path))
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--worker", "--clock", clock],
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        greeting = self._read()
        self.place, self.names = greeting["place"], greeting["names"]
        if folder is not None and not self.place.startswith(os.path.abspath(folder) + os.sep):
            self.close()
            raise SystemExit(f"{folder} holds no package lapwing; {self.place} was imported")

    def fit_seconds(self, name, rows):
        """Seconds of a fit, or a word that says why there are none."""
        self.process.stdin.write(json.dumps({"name": name, "rows": rows}) + "\n")
        self.process.stdin.flush()
        answer = self._read()
        if "error" in answer:
            print(f"{name}, n = {rows}, {self.place}: {answer['error']}", file=sys.stderr)
            return answer["word"]
        return answer["seconds"]

    def import_seconds(self):
        command = [sys.executable, "-c", IMPORT.format(clock=self.clock.__name__)]
        return float(subprocess.check_output(command, env=self.environment, text=True))

    def close(self):
        self.process.stdin.close()
        self.process.wait()

    def _read(self):
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"A process ended with status {self.process.wait()}")
        return json.loads(line)


def work(clock):
    """Answer requests, a line of JSON each, until there are no more."""
    import lapwing

    warnings.simplefilter("ignore")
    answers, sys.stdout = sys.stdout, sys.stderr  # what an estimator prints is no answer
    names = [name for name in lapwing.__all__ if is_estimator(getattr(lapwing, name))]
    reply(answers, {"place": os.path.abspath(lapwing.__file__), "names": names})
    gc.freeze()  # collecting before a fit then takes next to nothing
    data = {}
    for line in sys.stdin:
        request = json.loads(line)
        name, rows = request["name"], request["rows"]
        if name not in names:
            reply(answers, {"error": "there is no such estimator", "word": "none"})
            continue
        if rows not in data:
            data[rows] = make_data(rows)
        try:
            reply(answers, {"seconds": timed_fit(getattr(lapwing, name), data[rows], clock)})
        except Exception as error:
            reply(answers, {"error": f"{type(error).__name__}: {error}", "word": "failed"})


def reply(answers, answer):
    answers.write(json.dumps(answer) + "\n")
    answers.flush()


def is_estimator(public):
    return isinstance(public, type) and hasattr(public, "fit")


def timed_fit(estimator_class, data, clock):
    model, arguments = prepared(estimator_class, data)
    gc.collect()
    began = clock()
    model.fit(*arguments)
    return clock() - began


def prepared(estimator_class, data):
    from sklearn.base import is_classifier, is_regressor

    X, classes, target = data
    model = estimator_class()
    if "random_state" in model.get_params(deep=False):
        model.set_params(random_state=0)
    if is_classifier(model):
        return model, (X, classes)
    return model, (X, target) if is_regressor(model) else (X,)


def make_data(n):
    """Rows, classes with -1 and targets with NaN where there is no label."""
    import numpy as np

    rng = np.random.default_rng(n)
    moon = np.arange(n) % 2
    arc = np.pi * rng.random(n)
    side = 1.0 - 2.0 * moon
    plane = np.column_stack([moon + side * np.cos(arc), 0.5 * moon + side * np.sin(arc)])
    X = np.hstack([plane, np.zeros((n, NOISE_COLUMNS))])
    X += 0.1 * rng.standard_normal(X.shape)
    classes, target = np.full(n, -1), np.full(n, np.nan)
    classes[:LABELS] = moon[:LABELS]  # as many of each
    target[:LABELS] = np.sin(2.0 * arc[:LABELS]) + moon[:LABELS]
    return X, classes, target


if __name__ == "__main__":
    main()
