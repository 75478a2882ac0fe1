"""Mutations of CSV and model files, and what must be true of what is read from them: fuzz_files."""

from .csv_files import CsvFiles
from .model_files import ModelFiles

#: The types of files by name.
FILES = {"csv": CsvFiles, "model": ModelFiles}
