"""Kernel functions and the storage of their Gram matrices."""
