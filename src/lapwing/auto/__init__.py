"""The default: estimators that need no parameter and report what they selected."""

from ..persistence import register
from .arrival import LastSelection
from .classifier import SemiSupervisedClassifier
from .regressor import SemiSupervisedRegressor
from .report import SelectionReport
from .row_view import RowView, view_rows
from .rows import ScaledInput, UsedRows
from .sample import SampleResult
from .scaling import RowScaling
from .selection import Candidate
from .setup import Setup

register(
    Candidate,
    LastSelection,
    RowScaling,
    SampleResult,
    ScaledInput,
    SelectionReport,
    SemiSupervisedClassifier,
    SemiSupervisedRegressor,
    Setup,
    UsedRows,
)

__all__ = ["RowView", "SemiSupervisedClassifier", "SemiSupervisedRegressor", "view_rows"]
