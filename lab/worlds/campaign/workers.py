"""Runs on this machine's processors or on a cluster's, with one and the same result.

Seeds go out in chunks, and what comes of them comes back in their order, whoever was first. Workers end with
whoever asked for them, however that ends: a protocol of the user's own may never come back from a step.
"""

import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import active_children, get_context, parent_process
from typing import Any, TypeVar

__all__ = ["WorkerDiedError", "chunks_of", "default_workers", "spread"]

T = TypeVar("T")


class WorkerDiedError(Exception):
    """A worker process ended in the middle of its work; the text is for the user."""


def chunks_of(first: int, end: int, size: int) -> Iterator[range]:
    """These seeds, so many at a time."""
    for seed in range(first, end, size):
        yield range(seed, min(seed + size, end))


def spread(
    work: Callable[[range], list[T]], chunks: Iterator[range], workers: int = 1, cluster: str = ""
) -> Iterator[T]:
    """What comes of each seed, in their order. Close the iterator to stop. WorkerDiedError.

    ``work`` must be such as can be sent to another process. ``cluster`` is the address of a dask.distributed
    scheduler, for which ImportError, OSError.
    """
    if cluster:
        yield from _on_cluster(work, chunks, cluster)
    elif workers > 1:
        yield from _on_processes(work, chunks, workers)
    else:
        for seeds in chunks:
            for seed in seeds:
                yield from work(range(seed, seed + 1))


def _on_processes(work: Callable[[range], list[T]], chunks: Iterator[range], workers: int) -> Iterator[T]:
    others = active_children()
    with ProcessPoolExecutor(workers, get_context("spawn"), _begin_worker) as pool:
        try:
            yield from _in_order(chunks, lambda seeds: pool.submit(work, seeds), 2 * workers)
        except BrokenProcessPool:
            raise WorkerDiedError(
                "a worker died, killed or out of memory; --workers 1 shows what becomes of it, and where"
            ) from None
        except BaseException:
            for child in active_children():
                if child not in others:
                    child.terminate()  # it may be in a step from which it never comes back
            raise


def _begin_worker() -> None:
    """Ctrl-C is for the campaign to see; and where that is killed, nobody else would end its workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _on_cluster(work: Callable[[range], list[T]], chunks: Iterator[range], address: str) -> Iterator[T]:
    from distributed import Client, KilledWorker  # noqa: PLC0415 - an extra

    with Client(address, timeout="5s") as client:  # type: ignore[no-untyped-call]
        most = 2 * max(1, sum(client.nthreads().values()))
        try:
            yield from _in_order(chunks, lambda seeds: client.submit(work, seeds, pure=False), most)
        except KilledWorker as error:
            raise WorkerDiedError(f"the cluster's workers died: {error}") from None


def _in_order(chunks: Iterator[range], submit: Callable[[range], Any], most: int) -> Iterator[Any]:
    """Keep so many chunks going, and give what comes of them in their order."""
    going: deque[Any] = deque()
    try:
        for seeds in chunks:
            going.append(submit(seeds))
            if len(going) >= most:
                yield from going.popleft().result()
        while going:
            yield from going.popleft().result()
    finally:
        for future in going:
            future.cancel()


def default_workers() -> int:
    """As many as this process may use processors."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
