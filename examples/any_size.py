"""Memory that does not grow with the rows
=======================================

The same model from rows in an array and from Parquet files, for more and more rows. Left: the
memory that NumPy holds at most during the fit, the array included. Right: the time of the fit.

Run it::

    python examples/any_size.py            # writes output/any_size.png
    python examples/any_size.py --out any_size.png
"""

import argparse
import time
import tracemalloc
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from lapwing import PVMClassifier
from lapwing.displays import new_figure

SIZES = [20_000, 40_000, 80_000, 160_000]
FILE_ROWS = 10_000
COLORS = ["#0072B2", "#E69F00"]  # distinguishable for colour-blind readers


def write(folder: Path, n: int) -> None:
    """Write n rows of ten groups, with 30 labels, as files of 10 000 rows."""
    for first in range(0, n, FILE_ROWS):
        rng = np.random.default_rng([0, first])
        truth = rng.integers(0, 10, FILE_ROWS)
        X = rng.normal(size=(FILE_ROWS, 20)) + 4.0 * np.eye(10, 20)[truth]
        label = np.where(np.arange(first, first + FILE_ROWS) < 30, truth, -1)
        table = pa.table([*X.T, label], names=[*map(str, range(20)), "label"])
        parquet.write_table(table, folder / f"{first:07d}.parquet")


def from_array(folder: Path) -> PVMClassifier:
    """Read all rows into an array, and fit."""
    table = parquet.read_table(folder)
    X = np.column_stack([table.column(i).to_numpy() for i in range(20)])
    return PVMClassifier(n_prototypes=40).fit(X, table.column("label").to_numpy())


def from_files(folder: Path) -> PVMClassifier:
    """Fit to the files."""
    return PVMClassifier(n_prototypes=40).fit(folder, "label")


def main() -> None:
    parser = argparse.ArgumentParser(description="The memory of fits to arrays and files.")
    parser.add_argument("--out", type=Path, default=Path("output/any_size.png"))
    out = parser.parse_args().out

    seconds: dict[str, list[float]] = {"rows in an array": [], "rows in files": []}
    memory: dict[str, list[float]] = {name: [] for name in seconds}
    fits = dict(zip(seconds, (from_array, from_files), strict=True))
    for n in SIZES:
        with TemporaryDirectory() as folder:
            write(Path(folder), n)
            models = []
            for name, fit in fits.items():
                tracemalloc.start()
                started = time.perf_counter()
                models.append(fit(Path(folder)))
                seconds[name].append(time.perf_counter() - started)
                memory[name].append(tracemalloc.get_traced_memory()[1] / 1e6)
                tracemalloc.stop()
            difference = np.abs(models[0].coef_ - models[1].coef_).max()
            print(f"{n} rows: coefficients differ by {difference:.0e} at most")

    figure = new_figure(10.0, 4.2)
    panels = (("MB", memory), ("seconds", seconds))
    for ax, (label, results) in zip(figure.subplots(1, 2), panels, strict=True):
        for color, (name, values) in zip(COLORS, results.items(), strict=True):
            ax.plot(np.array(SIZES) / 1000, values, "o-", color=color, label=name)
        ax.set(xlabel="thousand rows", ylabel=label, ylim=(0, None))
        ax.grid(alpha=0.3)
        ax.legend()
    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out, dpi=150)
    print(f"picture: {out}")


if __name__ == "__main__":
    main()
