"""What both types of files share: damaged bytes, and when an answer or an error is acceptable."""

import traceback
from pathlib import Path

import numpy as np

import lapwing

PACKAGE = str(Path(lapwing.__file__).parent)
#: Memory that reading a file may take, and characters of the longest message.
MEMORY, LONGEST = "64MB", 2000


class Wrong(Exception):
    """An answer is not well defined."""


def expect(condition, what):
    """Raise an error unless the condition is true."""
    if not condition:
        raise Wrong(what)


def check_error(error):
    """Raise an error again unless our code raised it, with a short message."""
    frames = traceback.extract_tb(error.__traceback__)
    if not frames[-1].filename.startswith(PACKAGE) or not 0 < len(str(error)) < LONGEST:
        raise error


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
