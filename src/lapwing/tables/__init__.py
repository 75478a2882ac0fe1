"""From files to a matrix, targets and row names, and the same again for new files.

`read_table` reads CSV, Parquet, Arrow, ``.npz`` and svmlight within a memory limit; `open_table`
reads the former in batches. `fit_encoder` learns how the columns of a table become features. This
layer knows files and cells; it must not know how a model is fitted, nor how anything is displayed.
"""

from .encode import TableEncoder
from .fit import fit_encoder
from .parts import EncodedParts
from .read import TableReader, is_matrix_file, open_table, read_table
from .table import Table

__all__ = [
    "EncodedParts",
    "Table",
    "TableEncoder",
    "TableReader",
    "fit_encoder",
    "is_matrix_file",
    "open_table",
    "read_table",
]
