"""Model files: every fitted estimator in one safe format, and the types they may contain.

A file is a zip of JSON and plain arrays (`arrays.archive`, `arrays.packing`). Nothing in it is
imported, called or unpickled by name: only objects of types that are registered here are created,
and their contents are checked.
"""

from ..arrays.archive import ModelFileError
from .files import load, save
from .types import register, trusted_types

__all__ = ["ModelFileError", "load", "register", "save", "trusted_types"]
