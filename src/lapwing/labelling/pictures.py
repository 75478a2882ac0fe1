"""Pictures of rows: image files that a column names, and arrays of numbers as PNG.

The names stand in a table that somebody else may have written, so that a name must not lead out of
the folder, and a file must not be anything but an image. Must not know tables, sessions or HTTP.
"""

from __future__ import annotations

import os
import stat
import struct
import zlib
from pathlib import Path, PureWindowsPath
from typing import Any

import numpy as np

MAX_BYTES = 50_000_000
_MIN_SIDE = 160  # pixels; smaller arrays are enlarged

# Never SVG: it may contain scripts.
MEDIA_TYPES = frozenset(
    {"image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp", "image/avif"}
)
_BITMAP_HEADERS = (12, 40, 52, 56, 64, 108, 124)  # sizes of the headers that BMP files have


def picture_of(folder: Path, name: str) -> tuple[str, bytes]:
    """Return an image file that a cell names.

    Parameters
    ----------
    folder : Path
        The file must lie in it, or in a folder in it, after all symbolic links are followed.
    name : str
        Path relative to the folder, or an absolute path without a drive.

    Returns
    -------
    tuple of str and bytes
        Media type, by the content and not by the name, and content.

    Raises
    ------
    LookupError
        If there is no such file in the folder, with the same sentence where there is one outside;
        if it is not a PNG, JPEG, GIF, WebP, BMP or AVIF image; if it has more than 50 MB.
    """
    shown = repr(name if len(name) <= 100 else name[:99] + "…")
    content = _read_inside(folder, name)
    if content is None:
        raise LookupError(
            f"there is no file {shown} in the folder of the pictures: paths in the column must be "
            "relative to that folder, and files must lie in it"
        )
    if len(content) > MAX_BYTES:
        raise LookupError(f"the file {shown} has more than 50 MB: make it smaller")
    media = media_type(content)
    if media is None:
        raise LookupError(f"the file {shown} is not a PNG, JPEG, GIF, WebP, BMP or AVIF image")
    return media, content


def _read_inside(folder: Path, name: str) -> bytes | None:
    """Return the first 50 MB and one byte of a regular file in a folder; None if there is none."""
    # Windows would log in at \\server\share, and open \\.\device, before the path is compared.
    if not name.strip() or PureWindowsPath(name).drive:
        return None
    try:
        root = folder.resolve(strict=True)
        path = (root / name).resolve(strict=True)
        # Not even opening a device or a FIFO is harmless, so that the type is checked before, too.
        if not path.is_relative_to(root) or not path.is_file():
            return None
        flags = os.O_RDONLY
        for flag in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"):
            flags |= getattr(os, flag, 0)
        with os.fdopen(os.open(path, flags), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return None
            return file.read(MAX_BYTES + 1)
    except (OSError, ValueError, RuntimeError):  # no such file, a NUL byte, a loop of links
        return None


def media_type(content: bytes) -> str | None:
    r"""Return the media type of an image by its first bytes; None if it is not one that is shown.

    Examples
    --------
    >>> from lapwing.labelling.pictures import media_type
    >>> media_type(b"GIF89a..."), media_type(b"<svg>")
    ('image/gif', None)
    """
    if content.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if content.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if content.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if content.startswith(b"RIFF") and content[8:12] == b"WEBP":
        return "image/webp"
    if content.startswith(b"BM") and int.from_bytes(content[14:18], "little") in _BITMAP_HEADERS:
        return "image/bmp"
    if content[4:8] == b"ftyp":
        brands = content[8 : min(int.from_bytes(content[:4], "big"), 256)]
        if any(brands[i : i + 4] in (b"avif", b"avis") for i in range(0, len(brands), 4) if i != 4):
            return "image/avif"
    return None


def png_of(values: Any) -> bytes:
    r"""Return an array as a PNG image, enlarged by a whole factor if it is small.

    Parameters
    ----------
    values : array-like of shape (height, width), (height, width, 3) or (height, width, 4)
        Grey, RGB or RGBA. Bytes (uint8) are taken as they are, and True is 255; other numbers are
        scaled from their range to 0 ... 255, where NaN becomes 0. An alpha channel in 0 ... 1 is
        scaled by 255.

    Returns
    -------
    bytes

    Examples
    --------
    >>> from lapwing.labelling.pictures import png_of
    >>> png_of([[0.0, 1.0], [0.5, 0.2]])[:4]
    b'\x89PNG'
    """
    array = np.asarray(values)
    is_image = array.ndim == 2 or (array.ndim == 3 and array.shape[2] in (3, 4))
    if not is_image or array.size == 0 or array.dtype.kind not in "buif":
        raise ValueError(
            f"an array of shape {array.shape} and type {array.dtype} is not an image: numbers of "
            "shape (height, width), (height, width, 3) or (height, width, 4) are"
        )
    pixels = _as_bytes(array)
    factor = -(-_MIN_SIDE // max(pixels.shape[:2]))
    pixels = pixels.repeat(factor, axis=0).repeat(factor, axis=1)
    height, width = pixels.shape[:2]
    color_type = {1: 0, 3: 2, 4: 6}[1 if pixels.ndim == 2 else pixels.shape[2]]
    lines = np.zeros((height, 1 + pixels[0].size), np.uint8)  # first byte of a line: no filter
    lines[:, 1:] = pixels.reshape(height, -1)
    header = struct.pack(">IIBBBBB", width, height, 8, color_type, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(lines.tobytes(), 6)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, data) for name, data in parts)


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def _as_bytes(array: np.ndarray) -> np.ndarray:
    if array.dtype == np.uint8:
        return array
    if array.dtype == np.bool_:
        return array.astype(np.uint8) * np.uint8(255)
    values = array.astype(np.float64)
    if values.ndim == 3 and values.shape[2] == 4:
        alpha = values[:, :, 3:]
        return np.concatenate([_scaled(values[:, :, :3]), _alpha(alpha)], axis=2)
    return _scaled(values)


def _scaled(values: np.ndarray) -> np.ndarray:
    """Return values scaled from the range of the finite ones to 0 ... 255."""
    finite = values[np.isfinite(values)]
    if not finite.size:
        return np.zeros(values.shape, np.uint8)
    # Divided by the largest first: the difference of two finite numbers need not be finite.
    largest = max(abs(finite.min()), abs(finite.max())) or 1.0
    low, high = finite.min() / largest, finite.max() / largest
    values = np.nan_to_num(np.clip(values / largest, low, high), nan=low)
    return np.rint((values - low) / ((high - low) or 1.0) * 255).astype(np.uint8)


def _alpha(values: np.ndarray) -> np.ndarray:
    values = np.clip(np.nan_to_num(values, nan=0.0), 0.0, 255.0)
    return np.rint(values * (255.0 if values.max() <= 1 else 1.0)).astype(np.uint8)
