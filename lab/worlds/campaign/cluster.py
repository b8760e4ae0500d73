"""Run on the machines of a dask.distributed cluster, which must have the same program as this one.

Every chunk comes back with the identity of the program that computed it: the digest of its package, and its
version of Python. One that differs is refused by the name of its worker, before its results count. The files of a
user's own protocol and properties travel with the work.
"""

import hashlib
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

import lab
from lab.worlds.campaign.workers import C, WorkerDiedError, in_order
from lab.worlds.loading.user_module import use_shipped

T = TypeVar("T")
Files = dict[str, bytes]
"""The user's files, by their paths here."""


class Identity(Struct, frozen=True):
    """The identity of a program, which must be the same on every machine."""

    package: str
    python: str


class _Answer(Struct, frozen=True):
    worker: str
    identity: Identity
    results: list[object]


@cache
def identity() -> Identity:
    """Return the identity of the program that this process runs."""
    folder = Path(lab.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return Identity(digest.hexdigest()[:12], ".".join(map(str, sys.version_info[:3])))


def on_cluster(
    work: Callable[[C], list[T]], chunks: Iterator[C], address: str, files: Files, at_once: int
) -> Iterator[T]:
    """Yield the results in order. Raises WorkerDiedError, also for a worker with another program; OSError.

    At most ``at_once`` chunks are taken before their results are yielded.
    """
    from distributed import Client, KilledWorker  # noqa: PLC0415 - an extra

    with Client(address, timeout="5s") as client:  # type: ignore[no-untyped-call]
        most = min(at_once, 2 * max(1, sum(client.nthreads().values())))

        def submit(chunk: C) -> "_Checked":
            return _Checked(client.submit(_work_there, work, files, chunk, pure=False))

        try:
            yield from in_order(chunks, submit, most)
        except KilledWorker as error:
            address = getattr(getattr(error, "last_worker", None), "address", "")
            named = f"worker {address} of the cluster" if address else "a worker of the cluster"
            raise WorkerDiedError(f"{named} died at its work: {error}") from None


class _Checked:
    """A future whose answer must come from the same program."""

    def __init__(self, future: object) -> None:
        self._future = future

    def result(self) -> list[object]:
        answer: _Answer = self._future.result()  # type: ignore[attr-defined]
        mine, theirs = identity(), answer.identity
        if theirs != mine:
            what = [
                f"{name} is {other} there, and {own} here"
                for name, own, other in (
                    ("the digest of the package lab", mine.package, theirs.package),
                    ("Python", mine.python, theirs.python),
                )
                if own != other
            ]
            raise WorkerDiedError(
                f"worker {answer.worker} runs another program, so its results do not count: {'; '.join(what)}; "
                "install the same version on every machine"
            )
        return answer.results

    def cancel(self) -> None:
        self._future.cancel()  # type: ignore[attr-defined]


def _work_there(work: Callable[[C], list[object]], files: Files, chunk: C) -> _Answer:
    """Do the work, on a worker."""
    from distributed import get_worker  # noqa: PLC0415 - an extra

    worker = get_worker().address
    mine = identity()
    use_shipped(files, Path(tempfile.gettempdir()))
    return _Answer(worker, mine, work(chunk))
