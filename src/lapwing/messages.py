"""Messages to the user: warnings at the user's own line, names in quotes, and progress of a fit.

Every layer may use it; it knows none of them.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable
from pathlib import Path
from types import FrameType

import joblib
import sklearn

#: Folders of code that is not the user's: this library, and those through which it may be called.
_LIBRARIES = tuple(
    f"{Path(file).parent}{os.sep}" for file in (__file__, sklearn.__file__, joblib.__file__)
)


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line of the user's code that called the library, directly or by scikit-learn.

    One call of scikit-learn may fit many models, as a search does. A message is then reported once.
    """
    frame: FrameType | None = sys._getframe(1)
    entry, level = None, 2
    while frame is not None and frame.f_code.co_filename.startswith(_LIBRARIES):
        entry, frame, level = frame, frame.f_back, level + 1
    if entry is not None and _is_repeated(entry, message, category):
        return
    warnings.warn(message, category, stacklevel=level - 1 if frame is None else level)


def _is_repeated(entry: FrameType, message: str, category: type[Warning]) -> bool:
    """Return whether a call of scikit-learn, of which this is the frame, has had the message.

    Filters of Python cannot tell: scikit-learn resets them before each fit of a search. So what was
    reported is kept with the frame, which ends with the call.
    """
    if not entry.f_code.co_filename.startswith(_LIBRARIES[1:]):
        return False
    reported = entry.f_locals.setdefault("__lapwing_reported__", set())
    is_repeated = (message, category) in reported
    reported.add((message, category))
    return is_repeated


def listing(names: Iterable[str], most: int) -> str:
    """Return the first names as text, in quotes and with commas between them."""
    names = list(names)
    return ", ".join(map(quoted, names[:most])) + (", …" if len(names) > most else "")


def quoted(text: str, most: int = 60) -> str:
    """Return a text in quotes for a message; a long one is cut.

    Examples
    --------
    >>> quoted("colour"), quoted("colour of the sky", 6)
    ("'colour'", "'colour…'")
    """
    return repr(text if len(text) <= most else text[:most] + "…")


class ProgressLine:
    """A line on the error stream that is rewritten during a fit (``verbose=1``)."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._shown = ""

    def show(self, text: str) -> None:
        """Replace the line."""
        if text != self._shown:
            self._shown = text
            sys.stderr.write(f"\r{self.name}: {text}   ")
            sys.stderr.flush()

    def close(self) -> None:
        """End the line, if there is one."""
        if self._shown:
            sys.stderr.write("\n")
            self._shown = ""
