"""Model files: a zip of one JSON page and plain arrays, written atomically and read with suspicion.

Nothing in such a file is ever run: arrays of objects are refused, and names, sizes and checksums
are compared with the page before anything is unpacked. Knows nothing of models; the caller checks
what the page contains besides the list of arrays.

A file contains ``model.json`` and ``arrays/NAME.npy`` (format 1.0 of NumPy; little-endian numbers,
booleans or strings of fixed length). The page lists name, shape, type and SHA-256 of each array
and has a SHA-256 of itself.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import re
import tempfile
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .memory import format_size, memory_budget

#: What the first field of a page must be, and the layout that can be read.
FORMAT, VERSION = "lapwing-model", 2
_PAGE = "model.json"
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,100}")
#: Kinds of data types that an array may have: booleans, integers, floats, strings.
_KINDS = "biufU"
#: Largest page in bytes, and the memory that a byte of it may take when parsed.
_LARGEST_PAGE, _UNPACKED = 64 * 1024**2, 30
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
    path = Path(path)
    contents: dict[str, bytes] = {}
    listed: dict[str, dict[str, Any]] = {}
    for name, array in arrays.items():
        array = np.asarray(array)
        if not _NAME.fullmatch(name) or array.dtype.kind not in _KINDS:
            raise TypeError(f"array {name!r} of type {array.dtype} cannot be kept in a model file")
        array = array.astype(array.dtype.newbyteorder("<"), copy=False)  # in its memory order
        stream = io.BytesIO()
        np.lib.format.write_array(stream, array, version=(1, 0), allow_pickle=False)
        contents[name] = stream.getvalue()
        listed[name] = {
            "shape": list(array.shape),
            "dtype": array.dtype.str,
            "sha256": hashlib.sha256(contents[name]).hexdigest(),
        }
    whole = {"format": FORMAT, "version": VERSION, "page": dict(page), "arrays": listed}
    whole["sha256"] = _digest(whole)
    text = json.dumps(whole, allow_nan=False, ensure_ascii=True, indent=1)
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as bag:
                _put(bag, _PAGE, text.encode())
                for name, content in contents.items():
                    _put(bag, f"arrays/{name}.npy", content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def read_archive(
    path: str | Path, memory_limit: float | str | None = None
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read a model file; nothing in it is run, and inconsistent contents are refused.

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
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    try:
        with zipfile.ZipFile(path) as bag:
            return _read(bag, memory_budget(memory_limit))
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from None
    except MemoryError as error:
        raise MemoryError(f"{path}: {error}") from None
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        KeyError,
        IndexError,
        TypeError,
        ValueError,
        NotImplementedError,
        RuntimeError,
        OverflowError,
        OSError,
    ) as error:
        reason = str(error) or type(error).__name__
        raise ModelFileError(
            f"{path} is no model file, or it is damaged ({reason}): write it again with "
            "lapwing.save or `lapwing fit`"
        ) from None


def _read(bag: zipfile.ZipFile, budget: int) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    members = {info.filename: info for info in bag.infolist()}
    if _PAGE not in members or len(members) > _MOST_ARRAYS:
        raise ModelFileError("this is no model file of Lapwing")
    size = members[_PAGE].file_size
    if budget // _UNPACKED < size <= _LARGEST_PAGE:
        raise MemoryError(f"its page of {format_size(size)} is too long for memory_limit: raise it")
    whole = json.loads(_content(bag, members[_PAGE], _LARGEST_PAGE).decode(), parse_constant=_no)
    if not isinstance(whole, dict) or whole.get("format") != FORMAT:
        raise ModelFileError("this is no model file of Lapwing")
    version = whole.get("version")
    if not isinstance(version, int) or version < 1:
        raise ModelFileError("its version is not known")
    if version != VERSION:
        age = "a newer" if version > VERSION else "an older"
        raise ModelFileError(
            f"it was written by {age} Lapwing (layout {version}, this one reads {VERSION}): "
            "install that version, or fit again"
        )
    stated = whole.pop("sha256", None)
    if stated != _digest(whole):
        raise ModelFileError("its page does not match its checksum: the file is damaged")
    page, listed = whole.get("page"), whole.get("arrays")
    if not isinstance(page, dict) or not isinstance(listed, dict):
        raise ModelFileError("its page lacks a part")
    if set(members) != {_PAGE} | {f"arrays/{name}.npy" for name in listed}:
        raise ModelFileError("it does not hold the arrays that its page lists")
    total = sum(info.file_size for info in members.values())
    if total > budget:
        raise MemoryError(
            f"the model needs {format_size(total)} and memory_limit allows {format_size(budget)}: "
            "raise memory_limit"
        )
    arrays = {
        name: _array(bag, members[f"arrays/{name}.npy"], what) for name, what in listed.items()
    }
    return page, arrays


def plain(value: Any) -> Any:
    """Return a value made of JSON types only."""
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


def _array(bag: zipfile.ZipFile, member: zipfile.ZipInfo, what: Any) -> np.ndarray:
    """Return one array after comparing it with its entry in the page."""
    dtype = np.dtype(str(what["dtype"]))
    shape = tuple(what["shape"])
    counts = all(isinstance(s, int) and s >= 0 for s in shape)
    if dtype.kind not in _KINDS or dtype.itemsize == 0 or not counts:
        raise ModelFileError(f"{member.filename} has a data type that is not allowed")
    size = dtype.itemsize
    for s in shape:
        size *= s
    content = _content(bag, member, size + 4096)
    if hashlib.sha256(content).hexdigest() != what["sha256"]:
        raise ModelFileError(f"{member.filename} does not match its checksum: the file is damaged")
    array = np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)
    if array.dtype != dtype or array.shape != shape:
        raise ModelFileError(f"{member.filename} differs from its entry in the page")
    return array


def _content(bag: zipfile.ZipFile, member: zipfile.ZipInfo, most: int) -> bytes:
    """Return the bytes of a member, never more than expected, whatever its header claims."""
    if member.file_size > most:
        raise ModelFileError(f"{member.filename} is larger than it can be")
    with bag.open(member) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise ModelFileError(f"{member.filename} is larger than it can be")
    return content


def _put(bag: zipfile.ZipFile, name: str, content: bytes) -> None:
    info = zipfile.ZipInfo(name, _DATE)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = 0o644 << 16
    bag.writestr(info, content)


def _umask() -> int:
    """Return the file mode mask of the process, which can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _digest(whole: Mapping[str, Any]) -> str:
    text = json.dumps(whole, sort_keys=True, allow_nan=False, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _no(constant: str) -> float:
    raise ModelFileError(f"its page holds {constant}")
