"""Model files: a zip of one JSON page and plain arrays, written atomically and read with checks.

Nothing in such a file is ever run: arrays of objects are refused, and names, sizes and checksums
are compared with the page before anything is unpacked. Knows nothing of models; the caller checks
the contents of the page.

A file contains ``model.json`` and ``arrays/NAME.npy`` (format 1.0 of NumPy; little-endian numbers,
booleans or strings of fixed length). The page lists name, shape, type and SHA-256 of each array
and has a SHA-256 of itself.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import re
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from .atomic import atomic_file
from .memory import memory_budget, require_memory
from .packing import ARRAY_KINDS

#: The first field of a page, and the version of the layout.
FORMAT, VERSION = "lapwing-model", 3
_PAGE = "model.json"
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,100}")
#: Largest page in bytes, and bytes of memory that one byte of it may take when it is parsed.
_LARGEST_PAGE, _PARSED = 64 * 1024**2, 30
_MOST_ARRAYS = 10_000
#: A fixed date in the zip, so that equal contents give equal files.
_DATE = (1980, 1, 1, 0, 0, 0)


class ModelFileError(ValueError):
    """A file is no model file, is damaged, or has a format that this version cannot read."""


def write_archive(path: str | Path, page: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    """Write a model file completely or not at all.

    Parameters
    ----------
    path : str or Path
        Where to write; an older file is replaced once the new one is complete.
    page : mapping
        Anything JSON can represent.
    arrays : mapping of str to ndarray
        Arrays of numbers, booleans or strings.
    """
    contents: dict[str, bytes] = {}
    listed: dict[str, dict[str, Any]] = {}
    for name, array in arrays.items():
        array = np.asarray(array)
        if not _NAME.fullmatch(name) or array.dtype.kind not in ARRAY_KINDS:
            raise TypeError(
                f"array {name!r} of type {array.dtype} cannot be stored in a model file"
            )
        array = array.astype(array.dtype.newbyteorder("<"), copy=False)  # in its memory order
        stream = io.BytesIO()
        np.lib.format.write_array(stream, array, version=(1, 0), allow_pickle=False)
        contents[f"arrays/{name}.npy"] = content = stream.getvalue()
        listed[name] = {
            "shape": list(array.shape),
            "dtype": array.dtype.str,
            "sha256": hashlib.sha256(content).hexdigest(),
        }
    whole = {"format": FORMAT, "version": VERSION, "page": dict(page), "arrays": listed}
    whole["sha256"] = _digest(whole)
    text = json.dumps(whole, allow_nan=False, indent=1)
    with atomic_file(path) as file:
        _write_zip(file, {_PAGE: text.encode(), **contents})


def _write_zip(file: BinaryIO, contents: Mapping[str, bytes]) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as bag:
        for name, content in contents.items():
            info = zipfile.ZipInfo(name, _DATE)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = 0o644 << 16
            bag.writestr(info, content)


def read_archive(
    path: str | Path, memory_limit: float | str | None = None
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read a model file; nothing in it is run, and contents that contradict each other are refused.

    Parameters
    ----------
    path : str or Path
        The file.
    memory_limit : int, str or None, default=None
        Memory that may be used for the arrays; None is 60 % of the free memory.

    Returns
    -------
    page : dict
        As it was written.
    arrays : dict of str to ndarray
        As they were written.

    Raises
    ------
    ModelFileError
        If the file is damaged, is no model file, or was written by a newer version.
    """
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: give a file")
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    try:
        with zipfile.ZipFile(path) as bag:
            return _read(bag, memory_budget(memory_limit))
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from None
    except MemoryError as error:
        raise MemoryError(f"{path}: {error}") from None
    except Exception as error:  # zipfile and numpy raise many types for damaged files
        reason = str(error)[:300] or type(error).__name__
        raise ModelFileError(
            f"{path} is no model file, or it is damaged ({reason}): write it again with "
            "lapwing.save or `lapwing fit`"
        ) from None


def _read(bag: zipfile.ZipFile, budget: int) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    no_model = "this is no model file of Lapwing"
    _expect(len(bag.infolist()) <= _MOST_ARRAYS, no_model)
    members = _once((info.filename, info) for info in bag.infolist())
    _expect(_PAGE in members, no_model)
    content = _content(bag, members[_PAGE], _LARGEST_PAGE)
    require_memory(_PARSED * len(content), budget, "its page", "free some memory")
    whole = json.loads(content, parse_constant=_refuse, object_pairs_hook=_once)
    _expect(isinstance(whole, dict) and whole.get("format") == FORMAT, no_model)
    version = whole.get("version")
    _expect(isinstance(version, int) and version >= 1, "its version is not known")
    _expect(
        version == VERSION,
        f"it was written by {'a newer' if version > VERSION else 'an older'} Lapwing (layout "
        f"{version}, this one reads {VERSION}): install that version, or fit again",
    )
    stated = whole.pop("sha256", None)
    _expect(stated == _digest(whole), "its page does not match its checksum: the file is damaged")
    page, listed = whole.get("page"), whole.get("arrays")
    _expect(isinstance(page, dict) and isinstance(listed, dict), "its page lacks a part")
    names = {_PAGE, *(f"arrays/{name}.npy" for name in listed)}
    _expect(set(members) == names, "it does not contain the arrays that its page lists")
    sizes = [info.file_size for info in members.values()]
    total = sum(sizes) + max(sizes)  # the bytes of an array stay until it has been read
    require_memory(total, budget, "the model", "free some memory")
    arrays = {
        name: _array(bag, members[f"arrays/{name}.npy"], entry) for name, entry in listed.items()
    }
    return page, arrays


def plain(value: Any) -> Any:
    """Return a value as JSON types; other objects become texts, unknown numbers None."""
    if isinstance(value, dict):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)


def _array(bag: zipfile.ZipFile, member: zipfile.ZipInfo, entry: Any) -> np.ndarray:
    """Return one array after comparing it with its entry in the page."""
    name, dtype, shape = member.filename, np.dtype(str(entry["dtype"])), tuple(entry["shape"])
    allowed = dtype.kind in ARRAY_KINDS and dtype.itemsize > 0
    allowed = allowed and all(isinstance(size, int) and size >= 0 for size in shape)
    _expect(allowed, f"{name} has a data type that is not allowed")
    content = _content(bag, member, math.prod(shape, start=dtype.itemsize) + 4096)
    digest = hashlib.sha256(content).hexdigest()
    _expect(digest == entry["sha256"], f"{name} does not match its checksum: the file is damaged")
    stream = io.BytesIO(content)
    _expect(np.lib.format.read_magic(stream) == (1, 0), f"{name} has a format that is not known")
    stored_shape, _, stored_dtype = np.lib.format.read_array_header_1_0(stream)
    same = stored_dtype == dtype and stored_shape == shape
    _expect(same, f"{name} differs from its entry in the page")
    size = stream.tell() + math.prod(shape, start=dtype.itemsize)  # numpy allocates what it claims
    _expect(
        size == len(content),
        f"{name} claims more numbers than it contains, or fewer: save the model again",
    )
    stream.seek(0)
    return np.lib.format.read_array(stream, allow_pickle=False)


def _content(bag: zipfile.ZipFile, member: zipfile.ZipInfo, most: int) -> bytes:
    """Return the bytes of a member, at most as many as expected, whatever its header claims."""
    message = f"{member.filename} is larger than it can be: save the model again"
    _expect(member.file_size <= most, message)
    with bag.open(member) as file:
        content = file.read(most + 1)
    _expect(len(content) <= most, message)
    return content


def _digest(whole: Mapping[str, Any]) -> str:
    text = json.dumps(whole, sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _once(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Return a dict of names that occur once each."""
    listed = list(pairs)
    made = dict(listed)
    _expect(
        len(made) == len(listed), "it contains two parts of the same name: save the model again"
    )
    return made


def _refuse(constant: str) -> float:
    raise ModelFileError(f"its page contains {constant}")


def _expect(condition: bool, message: str) -> None:
    if not condition:
        raise ModelFileError(message)
