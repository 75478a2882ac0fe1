"""From a file to a matrix, a target and names of rows, and the same again for new files.

`read_table` reads CSV, Parquet, Arrow, ``.npz`` and svmlight within a memory limit; `TableEncoder`
learns how its columns become features. This storey knows files and cells; it must not know how a
model learns, nor how anything is shown.
"""

from .encode import TableEncoder
from .read import read_table
from .table import Table

__all__ = ["Table", "TableEncoder", "read_table"]
