"""What users see while a model is fitted: warnings at their own line, progress on request.

Every layer may use it; it knows none of them.
"""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path
from types import FrameType

_PACKAGE = f"{Path(__file__).parent}{os.sep}"


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line of the user's code from which the library was called."""
    frame: FrameType | None = sys._getframe(1)
    level = 2
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level - 1 if frame is None else level)


class ProgressLine:
    """One line on the error stream that is rewritten as a fit goes on (``verbose=1``)."""

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
