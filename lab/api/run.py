"""A run, and how to get one: simulate it, load its recording, branch from another.

A run is its recording. One that was simulated lies in a temporary folder, which goes with the object; ``save``
keeps it. Whatever a run is asked is computed from the records once, when it is first asked.
"""

import html
import inspect
import io
import tempfile
import weakref
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from lab.analysis.elections import ElectionLog, SettledElection
from lab.analysis.history import History
from lab.export.excerpt import ExportOptions, read_excerpt
from lab.export.svg_diagram import write_svg
from lab.export.tables import columns_of, tables_of
from lab.properties.judge import Judge
from lab.properties.verdicts import Verdict
from lab.protocols import PROTOCOLS, TASKS, Algorithm
from lab.recording.reader import FileRecords, open_recording
from lab.recording.records import Header, Link, Record
from lab.recording.snapshot import Snapshot
from lab.recording.timeline import Timeline
from lab.script.parse import parse
from lab.script.scope import CommandError, Scope
from lab.units import parse_us
from lab.worlds.campaign.schedule import draw, fault_kinds, plan_of
from lab.worlds.loading.config import RunConfig, branch_config
from lab.worlds.loading.settings import Settings, parameters_of, usual_link
from lab.worlds.loading.targets import absolute_target, load_protocol, recorded_protocol
from lab.worlds.simulated.execution import run_to_end

Protocol = str | type[Algorithm]
"""A protocol by name (``"bully"``), as ``"FILE.py:CLASS"``, or a class that is defined in a file."""
Time = str | int
"""A time since the run began: ``"3.5s"``, or whole microseconds."""

_RECORDING = "run.jsonl"


class Run:
    """A run that is over. In a notebook it shows itself as its space-time diagram, with its verdicts.

    ``header`` says what ran: protocol, nodes, timing, seed.
    """

    def __init__(self, path: Path, target: str | None = None) -> None:
        self._store: FileRecords = open_recording(path)
        self._target = target
        self.header: Header = self._store.header
        self._close = weakref.finalize(self, self._store.close)

    def __repr__(self) -> str:
        header, end_us = self.header, self.at_us
        words = ", ".join(f"{verdict.assertion} {verdict.word}" for verdict in self.verdicts)
        return f"<Run of {header.protocol.title}, {len(header.nodes)} nodes, {end_us / 1e6:g} s: {words}>"

    # what happened

    @cached_property
    def records(self) -> list[Record]:
        """The records, the header first; lines that cannot be read are left out."""
        return [record for record in self._store.records() if record is not None]

    @cached_property
    def at_us(self) -> int:
        """The time of the last record."""
        return self._timeline.at(len(self._store) - 1).at_us

    @cached_property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The verdict on each assertion that the protocol promises; ``first`` is a violation with its witness."""
        return self._folds[1].verdicts()

    @property
    def holds(self) -> bool:
        """True if something was judged, and no assertion failed with the assumptions intact that it relies on."""
        words = {verdict.word for verdict in self.verdicts}
        return "fails" not in words and words != {"not judged"} and bool(words)

    @property
    def elections(self) -> tuple[SettledElection, ...]:
        """The completed elections: when the coordinator was lost, when all agreed again, and on whom."""
        return tuple(self._folds[0].settled)

    def state_at(self, time: Time) -> Snapshot:
        """Return the state of the whole cluster at a time: its nodes, the messages in flight, the faults."""
        return self._timeline.at(self._timeline.record_at(_us(time))).snapshot()

    def frames(self) -> dict[str, dict[str, list[Any]]]:
        """Return the tables of the run as columns: messages, statuses, faults, elections, verdicts, steps, events.

        A protocol may bring more, such as transactions. They are those of ``lab export --table``: a column has one
        type, lists are JSON text, and one that ends in ``_us`` is a time in microseconds.
        ``pandas.DataFrame(run.frames()["messages"])`` is a data frame.
        """
        return {table: self._table(table) for table in tables_of(self.header)}

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages, each with its delivery outcome."""
        return self._rows("messages")

    @property
    def faults(self) -> list[dict[str, Any]]:
        """The faults, each with the number of nodes or messages that it touched."""
        return self._rows("faults")

    # pictures and files

    def svg(self, start: Time | None = None, end: Time | None = None, nodes: Sequence[int] = ()) -> str:
        """Return the space-time diagram, of a part of the run or of some nodes, as SVG. Raises ExportError."""
        from_us, until_us = (None if each is None else _us(each) for each in (start, end))
        out = io.StringIO()
        write_svg(read_excerpt(self._store, ExportOptions(from_us, until_us, tuple(nodes))), out)
        return out.getvalue()

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>{self.svg()}"

    def save(self, path: str | Path) -> None:
        """Write the recording to a file, which ``lab replay`` opens. Raises OSError."""
        store = self._store
        with Path(path).open("wb") as file:
            file.writelines(store.raw(number) + b"\n" for number in range(len(store)))

    # another run

    def branch(
        self, at: Time, script: str | Sequence[str] = (), seed: int | None = None, for_: Time = "10s"
    ) -> "Run":
        """Return a simulated run that goes on from a time of this one, differently, for so long.

        Raises NotRunnableError if nothing can go on from there, CommandError if a line of the script is wrong.
        """
        record = self._timeline.record_at(_us(at))
        header, target = self.header, self._target
        end_us = _us(at) + _us(for_)
        protocol = recorded_protocol(header.protocol, target)
        lines = _lines(script, Scope(protocol, header.nodes, header.protocol.parameters))

        def config_in(folder: Path) -> RunConfig:
            recording = str(folder / _RECORDING)
            return branch_config(
                header, self._store.path, record, "branch", recording, target or "", seed, lines, end_us
            )

        return _simulated(config_in, end_us, self._target)

    # for each question, one pass over the records

    @cached_property
    def _timeline(self) -> Timeline:
        return Timeline(self._store)

    @cached_property
    def _folds(self) -> tuple[ElectionLog, Judge]:
        history = History(self.header)
        folds = history.add(ElectionLog(history.cluster)), history.add(Judge(self.header))
        history.read(self._store.records())
        return folds

    def _table(self, table: str) -> dict[str, list[Any]]:
        return columns_of(read_excerpt(self._store, ExportOptions(table=table)))

    def _rows(self, table: str) -> list[dict[str, Any]]:
        columns = self._table(table)
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def load(path: str | Path, protocol: Protocol | None = None) -> Run:
    """Return the run of a recording; ``protocol`` is that of the run if it is your own.

    Raises NotARecordingError, also if the file cannot be opened, and TargetError for an unknown protocol.
    """
    target = None if protocol is None else target_of(protocol)
    if target is not None:
        load_protocol(target)  # its properties are judged, too
    return Run(Path(path), target)


def simulate(
    protocol: Protocol,
    nodes: int | Sequence[int] = 5,
    *,
    seed: int = 1,
    script: str | Sequence[str] = (),
    faults: str = "",
    for_: Time = "10s",
    t: str = "200ms",
    parameters: dict[str, Any] | None = None,
) -> Run:
    """Simulate a run in virtual time: the same arguments give the same bytes.

    ``nodes`` is their number or their ids. ``script`` are lines of the command language (``"at 2s kill 5"``),
    ``faults`` are kinds of random faults (``"kill,pause"``), drawn from the seed. ``t`` is the bound T for a
    request and its answer. ``parameters`` are those of the protocol, as ``--set`` of ``lab run`` has them.

    Raises TargetError for an unknown protocol, UserError for wrong settings, CommandError for a wrong script.
    """
    target = target_of(protocol)
    given = [f"{name}={value}" for name, value in (parameters or {}).items()]
    ids_text = str(nodes) if isinstance(nodes, int) else ",".join(map(str, nodes))
    settings = Arguments(protocol=target, nodes=ids_text, t=t, set_=given)
    target = settings.target
    found = load_protocol(target)
    timing, ids = settings.timing(), tuple(settings.node_ids())
    values, end_us = parameters_of(found, given, settings.written), _us(for_)
    lines = _lines(script, Scope(found, ids, values))
    if faults:
        kinds = fault_kinds(faults, settings.written)
        plan = replace(plan_of(found, (len(ids), len(ids)), kinds, timing), gaps=False)
        names = dict(zip(range(1, len(ids) + 1), ids, strict=True))
        lines += tuple(str(fault.renamed(names)) for fault in draw(plan, seed).faults)

    def config_in(folder: Path) -> RunConfig:
        link: Link = usual_link(timing, simulated=True)
        recording = str(folder / _RECORDING)
        return RunConfig(
            "", target, ids, timing, values, link, seed, recording, lines, end_us, world="simulated", speed=None
        )

    return _simulated(config_in, end_us, None if target in (*PROTOCOLS, *TASKS) else target)


class Arguments(Settings, frozen=True, kw_only=True):
    """The settings of a run, which errors name as arguments of a function."""

    @staticmethod
    def written(name: str, value: str) -> str:
        name = {"set": "parameters", "for": "for_"}.get(name, name)
        return f"{name}={value!r}" if value else name


def target_of(protocol: Protocol) -> str:
    """Return the target that names a protocol, with the path of its file."""
    if isinstance(protocol, str):
        return absolute_target(protocol)
    if protocol.__module__.startswith("lab."):
        return protocol.name
    return f"{inspect.getsourcefile(protocol)}:{protocol.__name__}"


def _simulated(config_in: Callable[[Path], RunConfig], end_us: int, target: str | None) -> Run:
    """Simulate what is configured for a folder, which goes when the run does."""
    folder = tempfile.TemporaryDirectory(prefix="lab-")
    path = Path(folder.name)
    try:
        run_to_end(config_in(path), end_us, lambda _: "")
        run = Run(path / _RECORDING, target)
    except BaseException:
        folder.cleanup()
        raise
    weakref.finalize(run, folder.cleanup)
    return run


def _us(time: Time) -> int:
    return time if isinstance(time, int) else parse_us(time)


def _lines(script: str | Sequence[str], scope: Scope) -> tuple[str, ...]:
    """Return the lines of a script. Raises CommandError for the first one that cannot be executed in this run."""
    lines = [line for line in (script.splitlines() if isinstance(script, str) else script) if line.strip()]
    for line in lines:
        try:
            parse(line, scope.protocol).check(scope)
        except CommandError as error:
            raise CommandError(f"{line.strip()!r}: {error}") from None
    return tuple(lines)
