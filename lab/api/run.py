"""A run, and how to get one: simulate it, load its recording, branch from another.

A run is its recording. One that was simulated lies in a temporary folder, which goes with the object; ``save``
keeps it. Whatever a run is asked is computed from the records once, when it is first asked.
"""

import html
import importlib
import io
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from lab.analysis.client_history import ClientHistory, check_clients
from lab.analysis.elections import ElectionLog, SettledElection
from lab.analysis.history import History
from lab.api.arguments import (
    GREATEST_SEED,
    ClusterArguments,
    Protocol,
    Time,
    faults_of,
    lines_of,
    own_target_in,
    require_number,
    target_of,
    us_of,
)
from lab.durable import replacing
from lab.export.excerpt import ExportError, ExportOptions, read_excerpt
from lab.export.figure_options import figure_options
from lab.export.svg_diagram import write_svg
from lab.export.tables import table_of, tables_of
from lab.histories.operations import History as Operations
from lab.histories.results import CheckResult
from lab.properties.judge import Judge
from lab.properties.verdicts import Verdict, Violation
from lab.properties.witness import ExplanationLine, explain_violation
from lab.recording.reader import FileRecords, open_recording
from lab.recording.records import TIME_LIMIT_REACHED, Commanded, Expected, Header, Record
from lab.recording.snapshot import Snapshot
from lab.recording.timeline import Timeline
from lab.script.scope import scope_of
from lab.table_files import ColumnType, Table, arrow_table
from lab.text import UserError
from lab.worlds.campaign.schedule import draw, plan_of
from lab.worlds.loading.config import RunConfig, branch_config
from lab.worlds.loading.settings import usual_link
from lab.worlds.loading.targets import load_protocol, recorded_protocols, split_targets, target_with
from lab.worlds.simulated.execution import DISK_IS_FULL, run_to_end

if TYPE_CHECKING:
    import pandas
    import pyarrow

_RECORDING = "run.jsonl"
_PANDAS_TYPES: dict[ColumnType, str] = {
    "integer": "Int64",
    "number": "Float64",
    "text": "string",
    "boolean": "boolean",
    "json": "string",
}


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
        return f"<Run of {header.title}, {len(header.nodes)} nodes, {end_us / 1e6:g} s: {words}>"

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
        """True if something was judged, and no assertion failed with the assumptions intact that it relies on.

        Nor may an expectation of the script be unmet, or an assertion be in ``errors``. Of a run with clients,
        their history must hold, too.
        """
        if self.failures or self.unmet or self.errors:
            return False
        if self.workload is not None:
            return self.workload.word == "holds"
        return any(verdict.word != "not judged" for verdict in self.verdicts)

    @property
    def failures(self) -> tuple[str, ...]:
        """The assertions that failed with the assumptions intact that they rely on; none if nothing was judged."""
        return tuple(verdict.assertion for verdict in self.verdicts if verdict.word == "fails")

    @cached_property
    def unmet(self) -> tuple[str, ...]:
        """The expectations of the script that were not met, and its lines that have no value, with why."""
        first = 0 if self.header.parent is None else self.header.parent.record + 1
        records = (record for record in self._store.records(first) if isinstance(record, Expected))
        return tuple(f"{record.text}: {record.why or 'not met'}" for record in records if not record.met)

    @property
    def errors(self) -> dict[str, str]:
        """Why assertions could not be judged: an error in their code, or code that is not loaded."""
        return self._folds[1].errors | self._folds[1].not_loaded

    @property
    def operations(self) -> Operations:
        """The operations of the clients, with their outcomes; empty without clients."""
        return self._folds[2].history

    @cached_property
    def workload(self) -> CheckResult | None:
        """The verdict on what the clients were answered; None without clients."""
        return check_clients(self._folds[2])

    def explain(self, violation: Violation | None) -> list[ExplanationLine]:
        """Return the events that led to a violation (``verdict.first``), each with its record and its time.

        Raises UserError for None, which ``first`` is if the assertion was not violated.
        """
        if violation is None:
            raise UserError("there is no violation to explain: the assertion was not violated in this run")
        return explain_violation(self._store, violation)

    @property
    def elections(self) -> tuple[SettledElection, ...]:
        """The completed elections: when the coordinator was lost, when all agreed again, and on whom."""
        return tuple(self._folds[0].settled)

    def state_at(self, time: Time) -> Snapshot:
        """Return the state of the whole cluster at a time: its nodes, the messages in flight, the faults.

        Raises UserError for a time after the end.
        """
        return self._timeline.at(self._timeline.record_at(self._within(time, "time"))).snapshot()

    def _within(self, time: Time, name: str) -> int:
        """Return a time of this run in microseconds."""
        at_us, end_us = us_of(time, name), self._timeline.at(len(self._store)).at_us
        if at_us > end_us:
            raise UserError(f"{name}={time!r}: the run ends at {end_us / 1e6:.3f} s")
        return at_us

    def frames(self) -> dict[str, dict[str, list[Any]]]:
        """Return the tables of the run as columns: messages, statuses, faults, elections, verdicts, steps, events.

        A protocol may bring more, such as transactions. They are those of ``lab export --table``: a column has one
        type, lists are JSON text, and one that ends in ``_us`` is a time in microseconds.
        """
        return {name: self._table(name).as_columns() for name in tables_of(self.header)}

    def to_pandas(self, table: str = "messages") -> "pandas.DataFrame":
        """Return a table as a data frame, in which unknown values are NA.

        Raises ImportError without the extra ``data``, ExportError for an unknown table.
        """
        new_frame, found = import_extra("pandas", "data").DataFrame, self._table(table)
        types = {column.name: _PANDAS_TYPES[column.type] for column in found.columns}
        frame: pandas.DataFrame = new_frame(found.as_columns(), dtype="object").astype(types)
        return frame

    def to_arrow(self, table: str = "messages") -> "pyarrow.Table":
        """Return a table of Apache Arrow, in which unknown values are null.

        Raises ImportError without the extra ``data``, ExportError for an unknown table.
        """
        import_extra("pyarrow", "data")
        return arrow_table(self._table(table))

    @property
    def commands(self) -> tuple[str, ...]:
        """The commands that were executed, each with its trigger: with the nodes and the seed, the schedule."""
        return tuple(record.text for record in self.records if isinstance(record, Commanded))

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages, each with its delivery outcome."""
        return self._rows("messages")

    @property
    def faults(self) -> list[dict[str, Any]]:
        """The faults, each with the number of nodes or messages that it touched."""
        return self._rows("faults")

    # pictures and files

    def svg(
        self,
        start: Time | None = None,
        end: Time | None = None,
        nodes: Sequence[int] = (),
        *,
        title: str = "",
        caption: str = "",
        width: str | None = None,
        theme: str = "light",
        zoom: str = "auto",
        scale: str = "log",
        labels: str = "full",
    ) -> str:
        """Return the space-time diagram, of a part of the run or of some nodes, as SVG.

        The options are those of ``lab export``. Raises ExportError; ValueError if an option is none of its values.
        """
        times = {"start": start, "end": end}
        from_us, until_us = (None if time is None else us_of(time, name) for name, time in times.items())
        figure = figure_options(title, caption, width, theme, zoom, scale, labels)
        out = io.StringIO()
        write_svg(read_excerpt(self._store, ExportOptions(from_us, until_us, tuple(nodes), figure=figure)), out)
        return out.getvalue()

    def _repr_html_(self) -> str:
        return html_of(str(self), self)

    def save(self, path: str | Path) -> None:
        """Write the recording to a file, which ``lab replay`` opens. Raises OSError."""
        store = self._store
        with replacing(Path(path)) as new, new.open("wb") as file:
            file.writelines(store.raw(number) + b"\n" for number in range(len(store)))

    # another run

    def branch(
        self, at: Time, script: str | Sequence[str] = (), seed: int | None = None, for_: Time = "10s"
    ) -> "Run":
        """Return a simulated run that goes on from a time of this one, differently, for so long.

        Raises NotRunnableError if nothing can go on from there, UserError if the run is over by then, CommandError
        if a line of the script is wrong.
        """
        at_us = self._within(at, "at")
        if seed is not None:
            require_number("seed", seed, 0, GREATEST_SEED)
        record, header, target = self._timeline.record_at(at_us), self.header, self._target
        end_us = at_us + us_of(for_, "for_")
        recorded_protocols(header, target)
        scope = scope_of(header)
        assert scope is not None  # its protocol is loaded
        lines = lines_of(script, scope)

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
    def _folds(self) -> tuple[ElectionLog, Judge, ClientHistory]:
        history = History(self.header)
        elections, judge = history.add(ElectionLog(history.cluster)), history.add(Judge(self.header))
        folds = elections, judge, history.add(ClientHistory(self.header))
        history.read(self._store.records())
        return folds

    def _table(self, table: str) -> Table:
        return table_of(read_excerpt(self._store, ExportOptions(table=table)))

    def _rows(self, table: str) -> list[dict[str, Any]]:
        found = self._table(table)
        names = [column.name for column in found.columns]
        return [dict(zip(names, row, strict=True)) for row in found.rows]


def load(path: str | Path, protocol: Protocol | None = None, properties: str | Path | None = None) -> Run:
    """Return the run of a recording; ``protocol`` is that of the run if it is your own.

    ``properties`` is the file of your own properties by which the run was judged, if they are in another file.

    Raises NotARecordingError, also if the file cannot be opened, and UserError for a protocol that is unknown, or
    not that of the run.
    """
    run = Run(Path(path))
    if protocol is None and properties is None:
        return run
    info = run.header.protocol
    targets = [info.election or info.name] if protocol is None else split_targets(target_of(protocol))
    if properties is not None:
        targets = [target_with(each, str(Path(properties).absolute())) for each in targets]
    own = ",".join(filter(None, map(own_target_in, targets))) or None
    known = {info.name, info.election, *(role.protocol.name for role in run.header.members)}
    if own is None and known.isdisjoint(load_protocol(each).name for each in targets):
        raise UserError(f"protocol={protocol!r}: the recording is one of {run.header.title}")
    recorded_protocols(run.header, own)  # their properties are judged, too
    return Run(Path(path), own)


def simulate(
    protocol: Protocol,
    nodes: int | Sequence[int] = 5,
    *,
    seed: int = 1,
    script: str | Sequence[str] = (),
    faults: str = "",
    for_: Time = "10s",
    t: Time = "200ms",
    latency: Time | None = None,
    jitter: Time | None = None,
    parameters: dict[str, Any] | None = None,
    workload: str | None = None,
    model: str | None = None,
    clients: int | None = None,
    rate: int = 5,
    services: Sequence[str] = (),
    role: Mapping[str, Protocol] = MappingProxyType({}),
    properties: str | Path | None = None,
) -> Run:
    """Simulate a run in virtual time: the same arguments give the same bytes.

    ``nodes`` is their number or their ids. ``script`` are lines of the command language (``"at 2s kill 5"``), each
    of which may follow the one before it; ``faults`` are kinds of random faults (``"kill,pause"``), drawn from the
    seed. ``t`` is the bound T for a request and its answer; a message takes ``latency`` plus or minus ``jitter``,
    by default Tm/4 and Tm/8. ``parameters`` are those of the protocol, as ``--set`` of ``lab run`` has them.
    ``clients`` call the operations of a ``workload``, each ``rate`` times a second; ``model`` is the consistency
    model by which transactions are judged, by default strict serializable; ``services`` run outside the cluster.
    ``role`` gives nodes of the cluster another protocol (``{"4,5": "ring"}``), which breaks assumption 1.
    ``properties`` is a file with properties of your own, by which the run is judged, too.

    Raises TargetError for an unknown protocol, UserError for wrong settings, CommandError for a wrong script.
    """
    require_number("seed", seed, 0, GREATEST_SEED)
    cluster = ClusterArguments(protocol, nodes, t, parameters, latency, jitter, role, properties)
    found, timing, ids, values = cluster.protocol, cluster.timing, cluster.ids, cluster.parameters
    settings, end_us = cluster.settings, us_of(for_, "for_")
    roles = cluster.roles(cluster.wanted(workload, clients, rate, services, model), end_us)
    text = "\n".join(lines_of(script, cluster.scope(roles)))
    drawn: tuple[str, ...] = ()
    if faults:
        kinds = faults_of(faults, settings)
        plan = replace(plan_of(found, (len(ids), len(ids)), kinds, timing), gaps=False)
        names = dict(zip(range(1, len(ids) + 1), ids, strict=True))
        drawn = tuple(str(fault.renamed(names)) for fault in draw(plan, seed).faults)

    def config_in(folder: Path) -> RunConfig:
        link = cluster.link or usual_link(timing, simulated=True)
        target, recording = settings.target, str(folder / _RECORDING)
        return RunConfig(
            "",
            target,
            ids,
            timing,
            values,
            link,
            seed,
            recording,
            commands=drawn,
            end_us=end_us,
            world="simulated",
            speed=None,
            script=text,
            roles=roles,
            members=cluster.members,
        )

    return _simulated(config_in, end_us, cluster.own_target)


def _simulated(config_in: Callable[[Path], RunConfig], end_us: int, target: str | None) -> Run:
    """Simulate what is configured for a folder. Raises UserError if the run does not come to its end."""

    def write(path: Path) -> None:
        why = run_to_end(config_in(path.parent), end_us, lambda _: "", is_bounded=True)
        if why == DISK_IS_FULL:
            raise UserError(f"the run was stopped: {why} at {path.parent.parent}; set TMPDIR to another place")
        if why != TIME_LIMIT_REACHED:
            raise UserError(f"the run was stopped: {why}")

    return temporary_run(write, target)


class TemporaryFolder:
    """A folder that its process removes: not a child that was forked off it, and ends before."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="lab-"))
        self._owner = os.getpid()

    def remove(self) -> None:
        """Remove the folder, with what is in it."""
        if os.getpid() == self._owner:
            shutil.rmtree(self.path, ignore_errors=True)


def temporary_run(write: Callable[[Path], object], target: str | None) -> Run:
    """Return the run whose recording this function writes, to a file that goes when the run does."""
    folder = TemporaryFolder()
    try:
        write(folder.path / _RECORDING)
        run = Run(folder.path / _RECORDING, target)
    except BaseException:
        folder.remove()
        raise
    weakref.finalize(run, folder.remove)
    return run


def import_extra(module: str, extra: str) -> Any:
    """Return the module. Raises ImportError that says how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise ImportError(
            f"this requires {module.partition('.')[0]}: pip install 'coordinator-lab[{extra}]'"
        ) from None


def html_of(text: str, run: Run | None) -> str:
    """Return the text with the diagram of the run, for a notebook; without it if the run is too long for one."""
    try:
        picture = "" if run is None else run.svg()
    except ExportError as error:
        picture = f"<p>No diagram of the whole run: {html.escape(str(error))}</p>"
    return f"<pre>{html.escape(text)}</pre>{picture}"
