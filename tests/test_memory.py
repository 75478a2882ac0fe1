"""Sizes as people write them, and the budget that follows from them."""

from unittest.mock import Mock

import pytest

from lapwing.arrays import memory
from lapwing.arrays.memory import available_memory, format_size, memory_budget, parse_size


@pytest.mark.parametrize(
    ("size", "n_bytes"),
    [
        (1000, 1000),
        (1e9, 10**9),
        ("1", 1),
        ("20GB", 20 * 10**9),
        ("20 GB", 20 * 10**9),
        ("20G", 20 * 10**9),
        ("1.5gb", 1_500_000_000),
        (".5k", 500),
        ("512 MiB", 512 * 1024**2),
        ("1KiB", 1024),
        ("2TB", 2 * 10**12),
        ("1GiB", 1024**3),
        ("  7 kB ", 7000),
        ("100 B", 100),
    ],
)
def test_sizes_are_understood(size, n_bytes):
    found = parse_size(size)
    assert found == n_bytes
    assert isinstance(found, int)


@pytest.mark.parametrize("size", ["", "GB", "lots", "1 XB", "1,5GB", "-1GB", "1GB2", "1e3"])
def test_other_texts_are_refused(size):
    with pytest.raises(ValueError, match="is not a size"):
        parse_size(size)


@pytest.mark.parametrize("size", [0, -5, "0GB", float("nan")])
def test_sizes_must_be_positive(size):
    with pytest.raises(ValueError, match="must be positive"):
        parse_size(size)


@pytest.mark.parametrize(
    ("n_bytes", "text"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1000, "1 kB"),
        (1_500_000, "1.5 MB"),
        (14_400_000_000, "14.4 GB"),
        (2 * 10**12, "2000.0 GB"),
    ],
)
def test_sizes_are_written_for_people(n_bytes, text):
    assert format_size(n_bytes) == text


def test_limit_is_the_budget():
    assert memory_budget("3GB") == 3 * 10**9
    assert memory_budget(12345) == 12345


def test_without_limit_a_share_of_what_is_free(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 10**9)
    assert 0 < memory_budget(None) < 10**9


def test_available_memory_is_the_tighter_of_system_and_container(monkeypatch):
    assert available_memory() > 0
    monkeypatch.setattr(memory, "_system_available", lambda: 8 * 10**9)
    monkeypatch.setattr(memory, "_container_room", lambda: 2 * 10**9)
    assert available_memory() == 2 * 10**9
    monkeypatch.setattr(memory, "_container_room", lambda: None)
    assert available_memory() == 8 * 10**9
    monkeypatch.setattr(memory, "_system_available", lambda: None)
    assert available_memory() > 0


def test_free_memory_of_the_system_is_in_kibibytes(monkeypatch):
    text = "MemTotal: 99 kB\nMemFree: 98 kB\nMemAvailable:   3000 kB\n"
    monkeypatch.setattr(memory, "Path", lambda path: Mock(read_text=lambda: text))
    assert memory._system_available() == 3000 * 1024


def test_room_of_a_container_is_what_is_left_of_its_limit(monkeypatch):
    files = {"memory.max": "3000\n", "memory.current": "1000\n"}

    class File:
        def __init__(self, path):
            self.path = path

        def read_text(self):
            return files[self.path.rpartition("/")[2]]

    monkeypatch.setattr(memory, "Path", File)
    assert memory._container_room() == 2000
    files["memory.current"] = "3500"
    assert memory._container_room() == 0
    files["memory.max"] = "max\n"
    assert memory._container_room() is None
