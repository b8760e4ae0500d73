"""A live cluster in Python: real processes that take commands; their recording is a run once they have ended."""

import secrets
import weakref
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, Self

from lab.api.arguments import GREATEST_SEED, ClusterArguments, Protocol, Time, lines_of, require_number, us_of
from lab.api.run import Run, TemporaryFolder
from lab.recording.reader import open_recording
from lab.recording.records import Expected, decode
from lab.recording.snapshot import Snapshot
from lab.recording.timeline import Timeline
from lab.script.parse import parse
from lab.script.predicates import Suspicions
from lab.script.scope import CommandError, NodeNames
from lab.script.statements import Expectation
from lab.text import UserError
from lab.units import format_us
from lab.worlds.launch import FeedClient, HostFailedError, HostProcess
from lab.worlds.loading.config import RunConfig, new_run_name
from lab.worlds.loading.settings import usual_link
from lab.worlds.run import CommandOutcome

_MOST_NODES = 64


class LiveCluster:
    """A cluster of node processes that runs until ``end``, or the end of a ``with`` block.

    ``name`` is that of the run: ``lab attach NAME`` opens the interface on it.
    """

    def __init__(self, config: RunConfig, target: str | None, folder: TemporaryFolder | None) -> None:
        self.name = config.run
        self._target = target
        self._path = Path(config.recording)
        self._folder = folder
        self._run: Run | None = None
        self._host = HostProcess(config)
        self._abandon = weakref.finalize(self, _abandon, self._host, folder)
        try:
            self._socket = self._host.ready().socket
        except BaseException:
            self._abandon()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is None:
            self.end()
        else:
            with suppress(HostFailedError):  # the first error says more
                self.end()

    def execute(self, command: str) -> CommandOutcome:
        """Give a command (``"kill 5"``), also one that waits (``"on send Accept: kill 5"``); return its outcome.

        Raises CommandError if it is wrong or impossible, HostFailedError if the run is over.
        """
        try:
            with closing(FeedClient(self._socket, start="end")) as client:
                reply = client.command(command)
        except OSError:
            raise self._failure() from None
        if not reply.ok:
            raise CommandError(f"{command!r}: {reply.text}")
        return CommandOutcome(reply.changed, reply.text)

    def wait_until(self, predicate: str, within: Time = "10s") -> int:
        """Wait until a predicate holds (``"all.coordinator == 4"``); return that time of the run, in microseconds.

        The recording has it as an expectation. Raises TimeoutError with the values that matter, CommandError for a
        wrong predicate, HostFailedError if the run ends before.
        """
        bound = format_us(us_of(within, "within"))
        line = f"expect {predicate} within {bound}"
        try:
            with closing(FeedClient(self._socket, "viewer", "end")) as viewer:
                lines = viewer.lines()
                next(lines)  # the header: from here on, it gets every record
                self.execute(line)
                records = map(decode, lines)
                found = next(each for each in records if isinstance(each, Expected) and each.text == line)
        except (OSError, StopIteration):  # the host is gone
            raise self._failure() from None
        if not found.met:
            raise TimeoutError(f"not within {bound}: {predicate}: {self._explain(line, found)}")
        return found.at_us

    @property
    def state(self) -> Snapshot:
        """The state of the whole cluster now: its nodes, the messages in flight, the faults."""
        with closing(open_recording(self._path)) as store:
            return Timeline(store).at(len(store) - 1).snapshot()

    def end(self) -> Run:
        """End all processes, and return the run. Raises HostFailedError if the run failed."""
        if self._run is None:
            with suppress(OSError), closing(FeedClient(self._socket, start="end")) as client:  # it may be over
                client.end()
            if failure := self._host.end():
                raise HostFailedError(failure)
            self._run = Run(self._path, self._target)
            self._abandon.detach()
            self._host.close()
            if self._folder is not None:
                weakref.finalize(self._run, self._folder.remove)
        return self._run

    def _explain(self, line: str, found: Expected) -> str:
        with closing(open_recording(self._path)) as store:
            expectation = parse(line, names=NodeNames.of(store.header)).command
            assert isinstance(expectation, Expectation)
            return expectation.explain_unmet("", Timeline(store).at(len(store) - 1), Suspicions())

    def _failure(self) -> HostFailedError:
        kept = "" if self._folder is not None else f"; its recording is {self._path}"
        why = "" if self._run is not None else f"\n{self._host.stderr_text()}".rstrip()
        return HostFailedError(f"the run {self.name} is over{kept}{why}")


def _abandon(host: HostProcess, folder: TemporaryFolder | None) -> None:
    """End a run that nobody asks for any more."""
    with suppress(HostFailedError):
        host.end()
    host.close()
    if folder is not None:
        folder.remove()


def live(
    protocol: Protocol,
    nodes: int | Sequence[int] = 5,
    *,
    seed: int | None = None,
    script: str | Sequence[str] = (),
    t: Time = "200ms",
    latency: Time | None = None,
    jitter: Time | None = None,
    parameters: dict[str, Any] | None = None,
    record: str | Path | None = None,
    workload: str | None = None,
    model: str | None = None,
    clients: int | None = None,
    rate: int = 5,
    services: Sequence[str] = (),
    role: Mapping[str, Protocol] = MappingProxyType({}),
    properties: str | Path | None = None,
) -> LiveCluster:
    """Start a cluster of real processes, which takes commands; use it in a ``with`` block.

    The arguments are those of ``simulate``; a run whose end is not known has no last reads of clients, by which
    some workloads are judged; ``seed`` is that of losses and jitter, by default a random one. The recording goes
    to the file ``record`` as it grows; without one, to a temporary folder, which goes with the run.

    Raises TargetError for an unknown protocol, UserError for wrong settings, CommandError for a wrong script,
    HostFailedError if the host does not start.
    """
    arguments = ClusterArguments(protocol, nodes, t, parameters, latency, jitter, role, properties)
    if not 1 <= len(arguments.ids) <= _MOST_NODES:
        raise UserError(f"nodes={nodes!r}: a live run allows 1 to {_MOST_NODES} nodes; simulate allows more")
    if seed is not None:
        require_number("seed", seed, 0, GREATEST_SEED)
    roles = arguments.roles(arguments.wanted(workload, clients, rate, services, model), None)
    lines = lines_of(script, arguments.scope(roles))
    folder = TemporaryFolder() if record is None else None
    path = Path(record or "run.jsonl").resolve() if folder is None else folder.path / "run.jsonl"
    if path.is_file():
        path.unlink()  # another run may be open, and mapped: its file is replaced, not changed
    config = RunConfig(
        new_run_name(arguments.protocol.name),
        arguments.settings.target,
        arguments.ids,
        arguments.timing,
        arguments.parameters,
        arguments.link or usual_link(arguments.timing, simulated=False),
        secrets.randbelow(1 << 31) if seed is None else seed,
        str(path),
        script="\n".join(lines),
        roles=roles,
        members=arguments.members,
    )
    return LiveCluster(config, arguments.own_target, folder)
