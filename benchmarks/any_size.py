"""A classifier on rows in Parquet files, in one process and on a local Dask cluster.

    python benchmarks/any_size.py [--rows 1000000 10000000] [--prototypes 500] [--folder F]
                                  [--estimator LapSVC] [--dask 1000000] [--partitions 200]

Rows of 50 columns in float32 from 20 Gaussians, two to a class, 20 labels a class, in files of one
million rows with groups of 65 536 (removed at the end, unless a folder is given). Each fit runs in
a process of its own; its memory is the peak of the whole process, interpreter and libraries
included, and its time does not include imports. Beside it, in another process: a bare pass over the
same files in plain NumPy with the products that the fit of PVMClassifier needs (similarities twice,
KᵀDK and KᵀK), and one that reads only. --estimator LapSVC fits LapSVC over the anchor graph of as
many landmarks instead.

--dask N fits N rows with one worker of one thread and 2N with two: weak scaling is the ratio of the
times. The same ratio of bare passes, in one process of one thread and in two at once, is what cores
that share memory and clock allow. Then the rows of one file in --partitions parts, whose time
beyond that of 4 parts, per part and pass, is the overhead of a partition.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import numpy as np

COLUMNS, CLUSTERS, CLASSES, LABELS = 50, 20, 10, 20
FILE_ROWS, GROUP_ROWS = 1_000_000, 65_536


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="*", default=[1_000_000])
    parser.add_argument("--prototypes", type=int, default=500)
    parser.add_argument("--folder", help="for the files, which are kept")
    parser.add_argument("--estimator", choices=["PVMClassifier", "LapSVC"], default="PVMClassifier")
    parser.add_argument("--dask", type=int, default=0, help="rows per worker")
    parser.add_argument("--partitions", type=int, default=200)
    parser.add_argument("--job", help="used by the script itself")
    options = parser.parse_args()
    if options.job:
        print(json.dumps(JOBS[options.job](options)))
        return
    with TemporaryDirectory() as temporary:
        options.folder = options.folder or temporary
        for n in options.rows:
            one_process(options, n)
        if options.dask:
            cluster(options)


def one_process(options, n):
    """Print time and memory of a fit, of bare passes and of predictions."""
    files = write(Path(options.folder), n)
    fit = run("fit", options, files)
    read, bare = run("read", options, files), run("products", options, files)
    print(
        f"{n:>10} rows, {sum(f.stat().st_size for f in files) / 1e6:.0f} MB of files: "
        f"fit {fit['seconds']:.1f} s, {fit['peak']:.2f} GB, error of predictions "
        f"{fit['error']:.2f} %\n"
        f"           bare passes: reading {read['seconds']:.1f} s; with the products "
        f"{bare['seconds']:.1f} s, the fit takes {fit['seconds'] / bare['seconds']:.2f} times "
        f"that; predicting all rows {fit['prediction']:.1f} s",
        flush=True,
    )


def cluster(options):
    """Print weak scaling and the overhead of a partition."""
    n = options.dask
    few, many = write(Path(options.folder), n), write(Path(options.folder), 2 * n)
    one = run("dask", options, few, workers=1, parts=8)
    two = run("dask", options, many, workers=2, parts=16)
    print(
        f"Dask, one worker, {n} rows: {one['seconds']:.1f} s; two workers, {2 * n} rows: "
        f"{two['seconds']:.1f} s: weak scaling {one['seconds'] / two['seconds']:.2f}; memory of "
        f"the client {one['peak']:.2f} and {two['peak']:.2f} GB, of the largest worker "
        f"{one['worker']:.2f} and {two['worker']:.2f} GB",
        flush=True,
    )
    alone, both = (at_once(options, few, times) for times in (1, 2))
    print(f"bare passes, one process and two at once: {alone:.1f} and {both:.1f} s", flush=True)
    file = write(Path(options.folder), 100_000)
    whole = run("dask", options, file, workers=2, parts=4)
    parts = run("dask", options, file, workers=2, parts=options.partitions)
    extra = parts["seconds"] - whole["seconds"]
    each = 1e3 * extra / (options.partitions - 4) / parts["passes"]
    print(
        f"100000 rows in 4 and {options.partitions} partitions: {whole['seconds']:.2f} and "
        f"{parts['seconds']:.2f} s, {each:.1f} ms per partition and pass",
        flush=True,
    )


def at_once(options, files, n):
    """Return the seconds of bare passes in n processes of one thread that run at the same time."""
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    with ThreadPoolExecutor(n) as pool, patch.dict(os.environ, one):
        found = list(pool.map(lambda _: run("products", options, files), range(n)))
    return max(job["seconds"] for job in found)


def run(job, options, files, **more):
    """Run a job in a process of its own."""
    given = {
        "files": [str(file) for file in files],
        "prototypes": options.prototypes,
        "estimator": options.estimator,
        **more,
    }
    command = [sys.executable, __file__, "--job", job]
    found = subprocess.run(
        command, input=json.dumps(given), capture_output=True, text=True, check=False
    )
    if found.returncode:
        raise SystemExit(found.stderr)
    return json.loads(found.stdout.splitlines()[-1])


# ---------------------------------------------------------------- rows


def write(folder, n):
    """Write the files of the first n rows that do not exist, and return them."""
    import pyarrow as pa
    from pyarrow import parquet

    names = [f"x{j}" for j in range(COLUMNS)]
    centres = 2.0 * np.random.default_rng(0).standard_normal((CLUSTERS, COLUMNS))
    folder.mkdir(exist_ok=True, parents=True)
    files = []
    for first in range(0, n, FILE_ROWS):
        m = min(FILE_ROWS, n - first)
        files.append(folder / f"rows-{first:011d}-{m}.parquet")
        if files[-1].exists():
            continue
        rng = np.random.default_rng([1, first])
        cluster = rng.integers(0, CLUSTERS, m)
        X = rng.standard_normal((m, COLUMNS), dtype=np.float32) + centres[cluster]
        truth = cluster % CLASSES
        label = np.full(m, -1)
        if first == 0:
            for code in range(CLASSES):
                label[np.flatnonzero(truth == code)[:LABELS]] = code
        table = pa.table([*X.astype(np.float32).T, label], names=[*names, "label"])
        np.save(files[-1].with_suffix(".npy"), truth)
        parquet.write_table(table, files[-1], row_group_size=GROUP_ROWS)
    return files


# ---------------------------------------------------------------- jobs


def estimator(name, m):
    """Return an unfitted classifier with m prototypes or landmarks."""
    from lapwing import LapSVC, PVMClassifier

    if name == "LapSVC":
        return LapSVC(n_landmarks=m, graph="anchors")
    return PVMClassifier(n_prototypes=m)


def fit(options):
    """Fit and predict in this process."""
    given = json.load(sys.stdin)
    model = estimator(given["estimator"], given["prototypes"])
    started = time.perf_counter()
    model.fit(given["files"], "label")
    seconds = time.perf_counter() - started
    peak = peak_memory()
    started, wrong, n = time.perf_counter(), 0, 0
    for file in given["files"]:
        found = model.predict(file)
        truth = np.load(Path(file).with_suffix(".npy"))
        wrong, n = wrong + int((found != truth).sum()), n + len(truth)
    prediction = time.perf_counter() - started
    return {
        "seconds": seconds,
        "peak": peak,
        "prediction": prediction,
        "error": 100.0 * wrong / n,
    }


def read(options):
    """Read the files once."""
    from pyarrow import parquet

    files, names = json.load(sys.stdin)["files"], [f"x{j}" for j in range(COLUMNS)]
    started = time.perf_counter()
    for file in files:
        for batch in parquet.ParquetFile(file).iter_batches(GROUP_ROWS, columns=names):
            np.column_stack([column.to_numpy() for column in batch.columns])
    return {"seconds": time.perf_counter() - started, "peak": peak_memory()}


def products(options):
    """Read the files twice, with the products of a fit."""
    from pyarrow import parquet

    given, names = json.load(sys.stdin), [f"x{j}" for j in range(COLUMNS)]
    rng = np.random.default_rng(0)
    U = 2.0 * rng.standard_normal((given["prototypes"], COLUMNS))
    own, m = (U**2).sum(axis=1), len(U)
    total, sums = np.zeros(m), [np.zeros((m, m)), np.zeros((m, m))]

    def similarities(X):
        distances = (X**2).sum(axis=1)[:, None] + own - 2.0 * (X @ U.T)
        return np.exp(-0.01 * np.maximum(distances, 0.0))

    def tiles():
        for file in given["files"]:
            for batch in parquet.ParquetFile(file).iter_batches(GROUP_ROWS, columns=names):
                X = np.column_stack([column.to_numpy() for column in batch.columns])
                for first in range(0, len(X), 2000):
                    yield X[first : first + 2000].astype(np.float64)

    started = time.perf_counter()
    for X in tiles():
        total += similarities(X).sum(axis=0)
    for X in tiles():
        E = similarities(X)
        degrees = E @ total
        E /= np.sqrt(E.sum(axis=1))[:, None]
        sums[0] += E.T @ E
        E *= np.sqrt(degrees)[:, None]
        sums[1] += E.T @ E
    return {"seconds": time.perf_counter() - started, "peak": peak_memory()}


def dask(options):
    """Fit on a cluster of local processes with one thread each."""
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    given = json.load(sys.stdin)
    with (
        LocalCluster(
            n_workers=given["workers"],
            threads_per_worker=1,
            dashboard_address=None,
            memory_limit=None,
        ) as made,
        Client(made) as client,
    ):
        frame = dd.read_parquet(given["files"])
        frame = frame.repartition(npartitions=given["parts"]).persist()
        frame.map_partitions(len).compute()
        estimator(given["estimator"], 10).fit(frame, "label")  # modules are loaded
        model = estimator(given["estimator"], given["prototypes"])
        started = time.perf_counter()
        model.fit(frame, "label")
        seconds = time.perf_counter() - started
        workers = client.run(peak_memory).values()
        return {"seconds": seconds, "peak": peak_memory(), "worker": max(workers), "passes": 4}


def peak_memory():
    """Peak of the resident memory of this process in GB."""
    status = Path("/proc/self/status")
    if status.exists():  # what `getrusage` returns includes the peak of the process that began this
        [line] = [line for line in status.read_text().splitlines() if line.startswith("VmHWM")]
        return int(line.split()[1]) / 1e6
    unit = 1e9 if sys.platform == "darwin" else 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


JOBS = {"fit": fit, "read": read, "products": products, "dask": dask}

if __name__ == "__main__":
    main()
