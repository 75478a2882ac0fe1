"""Model files: every fitted estimator in one safe format, and the types that such files may hold.

A file is a zip of JSON and plain arrays (`arrays.archive`, `arrays.packing`). Nothing in it is
imported, called or unpickled by name: only the types registered here are made, and what they hold
is checked.
"""

from ..arrays.archive import ModelFileError
from .files import load, save
from .types import register, trusted_types

__all__ = ["ModelFileError", "load", "register", "save", "trusted_types"]
