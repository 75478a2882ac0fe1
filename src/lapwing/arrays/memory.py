"""Free memory, and the share of it that may be used; checked before anything is allocated."""

from __future__ import annotations

import os
import re
from pathlib import Path

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_UNITS |= {f"{unit}I": 1024**i for i, unit in enumerate("KMGT", start=1)}
#: Share of the free memory that is used by default. The rest is for X, its copies and neighbours.
_DEFAULT_SHARE = 0.6
#: Assumed if the operating system does not report the free memory.
_FALLBACK_BYTES = 4 * 10**9


def parse_size(size: float | str) -> int:
    """Return a number of bytes from an int or a text such as ``"20GB"`` or ``"512 MiB"``.

    Examples
    --------
    >>> parse_size("1.5GB"), parse_size("1KiB"), parse_size(1000)
    (1500000000, 1024, 1000)
    """
    if isinstance(size, str):
        match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([KMGT]?I?)B?\s*", size.upper())
        if match is None:
            raise ValueError(
                f"memory_limit {size!r} is not a size: give bytes or a text such as '8GB'"
            )
        amount = float(match.group(1)) * _UNITS[match.group(2)]
    else:
        amount = float(size)
    if not amount > 0:
        raise ValueError(f"memory_limit must be positive, got {size!r}")
    return int(amount)


def memory_budget(limit: float | str | None) -> int:
    """Return the bytes that may be allocated: ``limit``, or a share of the free memory."""
    return parse_size(limit) if limit is not None else int(_DEFAULT_SHARE * available_memory())


def require_memory(
    needed: float, budget: float, what: str, advice: str, *, adjustable: bool = True
) -> None:
    """Raise an error for an allocation that exceeds the budget, before it is made.

    Parameters
    ----------
    needed, budget : float
        Bytes.
    what : str
        What needs them, such as "fitting 10 rows"; the subject of the message.
    advice : str
        What to do instead; the message ends with it and "or raise memory_limit".
    adjustable : bool, default=True
        Whether there is a ``memory_limit`` to raise.

    Raises
    ------
    MemoryError
        If ``needed`` is more than ``budget``.
    """
    if needed > budget:
        allowed = f"memory_limit allows {format_size(budget)}: {advice}, or raise memory_limit"
        if not adjustable:
            allowed = f"{format_size(budget)} may be used: {advice}"
        raise MemoryError(f"{what} needs {format_size(needed)} and {allowed}")


def available_memory() -> int:
    """Return the bytes that can be allocated without swapping, container limits included."""
    candidates = [_container_room(), _system_available()]
    return min((c for c in candidates if c is not None), default=_FALLBACK_BYTES)


def format_size(n_bytes: float) -> str:
    """Return a size in the unit in which it is easy to read.

    Examples
    --------
    >>> format_size(14_400_000_000)
    '14.4 GB'
    """
    for unit in ("bytes", "kB", "MB"):
        if n_bytes < 1000:
            return f"{n_bytes:.3g} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:.1f} GB"


def _system_available() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:  # outside Linux there is no MemAvailable; half of the physical memory is a safe guess
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (AttributeError, OSError, ValueError):
        return None


def _container_room() -> int | None:
    """Return limit minus use of the control group (version 2), if there is one."""
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text().strip()
        used = Path("/sys/fs/cgroup/memory.current").read_text().strip()
        return None if limit == "max" else max(int(limit) - int(used), 0)
    except (OSError, ValueError):
        return None
