"""Distribute runs over this machine's processors, with the same results.

Seeds go out in chunks, and results come back in the order of the seeds. Workers end with the process that started
them, however that ends: a user's protocol may hang in a step.
"""

import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, TypeVar, cast

T = TypeVar("T")
C = TypeVar("C", bound=Sequence[Any])
"""A chunk of work: seeds or schedules."""

start_method = "spawn"
"""The start method of worker processes: no fork, since this process may have threads."""


class WorkerDiedError(Exception):
    """A worker process died at work; the text is for the user."""


def split_seeds(first: int, end: int, size: int) -> Iterator[range]:
    """Yield the seeds in ranges of this size."""
    for seed in range(first, end, size):
        yield range(seed, min(seed + size, end))


def in_chunks(numbers: Iterable[int], size: int) -> Iterator[tuple[int, ...]]:
    """Yield the numbers in tuples of this size; the last one may be shorter."""
    left = iter(numbers)
    while chunk := tuple(islice(left, size)):
        yield chunk


def map_chunks(
    work: Callable[[C], list[T]], chunks: Iterator[C], workers: int, at_once: int | None = None
) -> Generator[T, None, None]:
    """Yield the results in order. Close the iterator to stop. Raises WorkerDiedError.

    ``work`` must be picklable. At most ``at_once`` chunks are taken before their results are yielded.
    """
    if workers > 1:
        yield from _on_processes(work, chunks, workers, at_once or 2 * workers)
    else:
        for chunk in chunks:
            for place in range(len(chunk)):
                yield from work(cast(C, chunk[place : place + 1]))


def _on_processes(work: Callable[[C], list[T]], chunks: Iterator[C], workers: int, at_once: int) -> Iterator[T]:
    from concurrent.futures import ProcessPoolExecutor  # noqa: PLC0415 - most users need one process only
    from concurrent.futures.process import BrokenProcessPool  # noqa: PLC0415
    from multiprocessing import active_children, get_context  # noqa: PLC0415

    others = active_children()

    def submit(chunk: C) -> Any:
        with _without_main():  # this may start a worker
            return pool.submit(work, chunk)

    with ProcessPoolExecutor(workers, get_context(start_method), _begin_worker) as pool:
        try:
            yield from in_order(chunks, submit, min(2 * workers, at_once))
        except BrokenProcessPool:
            raise WorkerDiedError(
                "a worker process died (killed, or out of memory); --workers 1 shows where"
            ) from None
        except BaseException:
            for child in active_children():
                if child not in others:
                    child.terminate()  # it may hang in a step
            raise


@contextmanager
def _without_main() -> Iterator[None]:
    """Let workers that start meanwhile not execute the script of this process again: they need nothing of it.

    So a script without ``if __name__ == "__main__"`` can have workers, too.
    """
    main = vars(sys.modules["__main__"])
    hidden: dict[str, Any] = {name: main.pop(name) for name in ("__file__", "__spec__") if name in main}
    main["__spec__"] = None
    try:
        yield
    finally:
        main.update(hidden)


def _begin_worker() -> None:
    """Leave Ctrl-C to the campaign's process, and end with it, even if it is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    from multiprocessing import parent_process  # noqa: PLC0415

    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def in_order(chunks: Iterator[C], submit: Callable[[C], Any], most: int) -> Iterator[Any]:
    """Keep ``most`` chunks in progress, and yield their results in order."""
    going: deque[Any] = deque()
    try:
        for chunk in chunks:
            going.append(submit(chunk))
            if len(going) >= most:
                yield from going.popleft().result()
        while going:
            yield from going.popleft().result()
    finally:
        for future in going:
            future.cancel()


def default_workers() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
