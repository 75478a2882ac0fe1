"""Function spaces: kernel expansions and linear functions, and their values on new rows."""

from .expansion import evaluate
from .function import Function
from .kernel_space import KernelSpace, LinearSpace, Space

__all__ = ["Function", "KernelSpace", "LinearSpace", "Space", "evaluate"]
