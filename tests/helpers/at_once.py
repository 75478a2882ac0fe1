"""Fits of many estimators at once; a module of its own, because other processes import it.

Threads and processes must not change a bit: whatever a fit shares with another one (caches, random
numbers, limits of BLAS threads) shows here.
"""

import hashlib
import multiprocessing as mp
import warnings
from collections.abc import Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np

from helpers.cases import CASES, outputs_of

_BY_NAME = {case.name: case for case in CASES}


def fingerprint(name: str) -> str:
    """Fit a case and return a digest of everything that the model says about its rows."""
    case = _BY_NAME[name]
    X, y, _ = case.data()
    model = case.new().fit(X, y)
    digest = hashlib.sha256()
    for values in (*outputs_of(model, X).values(), model.transduction_):
        digest.update(np.ascontiguousarray(values).tobytes())
    return digest.hexdigest()


def fingerprints(names: Sequence[str], executor: Executor | None = None) -> list[str]:
    """Return the fingerprints, one after another or as the executor has room."""
    with warnings.catch_warnings():  # outside of the threads, which share the filters
        warnings.simplefilter("ignore")
        if executor is None:
            return [fingerprint(name) for name in names]
        with executor:
            return list(executor.map(fingerprint, names))


def differing(names: Sequence[str], expected: Sequence[str], executor: Executor) -> list[str]:
    """Return the cases that differ from the expected ones when each is fitted twice at once."""
    found = fingerprints(np.repeat(names, 2).tolist(), executor)
    pairs = zip(names, expected, found[::2], found[1::2], strict=True)
    return [name for name, once, *twice in pairs if twice != [once, once]]


def two_threads() -> Executor:
    """Two threads of this process."""
    return ThreadPoolExecutor(2)


def two_processes() -> Executor:
    """Two new processes."""
    return ProcessPoolExecutor(2, mp_context=mp.get_context("spawn"))
