"""A cluster of Dask for the time of a command: local processes, or a scheduler that is running.

Must not know what is computed on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

#: Longest time until a scheduler answers, in seconds.
_TIMEOUT = 10


@contextmanager
def dask_cluster(workers: int | None = None, scheduler: str | None = None) -> Iterator[None]:
    """Let Dask compute on a cluster within the block.

    Parameters
    ----------
    workers : int, optional
        Number of local processes with one thread each, which end with the block.
    scheduler : str, optional
        Address of a scheduler that is running, which is left running.

    Raises
    ------
    ImportError
        If Dask is not installed.
    OSError
        If there is no scheduler at the address.
    """
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise ImportError(
            "workers and schedulers are those of Dask, which is not installed: "
            'pip install "lapwing[dask]"'
        ) from None
    if scheduler is not None:
        try:
            client = Client(scheduler, timeout=_TIMEOUT)
        except (OSError, ValueError, TimeoutError) as error:
            raise OSError(f"no scheduler of Dask answers at {scheduler}: {error}") from None
        with client:
            yield
        return
    with (
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address="127.0.0.1:0",  # any port: another cluster may have the usual one
        ) as cluster,
        Client(cluster),
    ):
        yield
