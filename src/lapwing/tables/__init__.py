"""From a file to a matrix, targets and row names, and the same again for new files.

`read_table` reads CSV, Parquet, Arrow, ``.npz`` and svmlight within a memory limit; `fit_encoder`
learns how the columns of a table become features. This layer knows files and cells; it must not
know how a model is fitted, nor how anything is displayed.
"""

from .encode import TableEncoder, fit_encoder
from .read import read_table
from .table import Table

__all__ = ["Table", "TableEncoder", "fit_encoder", "read_table"]
