"""Parts of a table that other processes read: together they are the table."""

import pickle

import numpy as np
import pytest

from lapwing.arrays.file_parts import _joined_groups
from lapwing.tables import EncodedParts, fit_encoder, read_table

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


@pytest.mark.parametrize(
    ("sizes", "groups"),
    [
        ([], [[]]),
        ([5], [[0]]),
        ([3, 3, 3], [[0, 1], [2]]),
        ([9, 1, 6, 0, 2], [[0], [1], [2, 3], [4]]),
    ],
)
def test_row_groups_are_joined_up_to_a_size(sizes, groups):
    assert _joined_groups(sizes, 6) == groups


def write(folder, n=200):
    """Write files in folders that are a column; one has no rows."""
    rng = np.random.default_rng(0)
    for year, size in ((2023, n), (2024, 0), (2025, n // 2)):
        columns = {
            "x": pa.array(rng.normal(size=size)),
            "colour": pa.array(rng.choice(["red", "blue"], size), pa.string()),
            "label": pa.array([("a", "b", None)[i % 3] for i in range(size)], pa.string()),
        }
        path = folder / f"year={year}"
        path.mkdir(parents=True)
        parquet.write_table(pa.table(columns), path / "0.parquet", row_group_size=30)
    return folder


def test_parts_are_the_table(tmp_path):
    folder = write(tmp_path / "rows")
    table = read_table(folder, as_text=["label"])
    encoder = fit_encoder(table, target="label")
    assert "year" in encoder.names
    parts = pickle.loads(pickle.dumps(EncodedParts(str(folder), "utf-8", encoder, 70)))
    assert len(parts) == 4 + 2  # of 60 rows at most
    found = [parts(number) for number in range(len(parts))]
    assert max(len(part.y) for part in found) == 60
    assert np.array_equal(np.concatenate([part.X for part in found]), encoder.transform(table))
    labels = np.concatenate([part.y for part in found])
    assert np.array_equal(labels, encoder.target_of(table))


def test_text_files_are_read_as_a_whole(tmp_path):
    for name in "ab":
        lines = ["x,label", *(f"{i},{'pq'[i % 2] if i < 9 else ''}" for i in range(40))]
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n")
    table = read_table(tmp_path, as_text=["label"])
    encoder = fit_encoder(table, target="label")
    parts = EncodedParts(str(tmp_path), "utf-8", encoder, 7)
    assert len(parts) == 2
    assert np.array_equal(np.concatenate([parts(0).X, parts(1).X]), encoder.transform(table))
