"""A run, and how to get one: simulate it, load its recording, branch from another.

A run is its recording. One that was simulated lies in a temporary folder, which goes with the object; ``save``
keeps it. Whatever a run is asked is computed from the records once, when it is first asked.
"""

import html
import importlib
import inspect
import io
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
from lab.export.excerpt import ExportError, ExportOptions, read_excerpt
from lab.export.figure_options import figure_options
from lab.export.svg_diagram import write_svg
from lab.export.tables import table_of, tables_of
from lab.histories.operations import History as Operations
from lab.histories.results import CheckResult
from lab.properties.judge import Judge
from lab.properties.verdicts import Verdict, Violation
from lab.properties.witness import ExplanationLine, explain_violation
from lab.protocols import PROTOCOLS, TASKS, Algorithm
from lab.recording.reader import FileRecords, open_recording
from lab.recording.records import Commanded, Header, Record, Role, names_in
from lab.recording.snapshot import Snapshot
from lab.recording.timeline import Timeline
from lab.script.parse import parse
from lab.script.scope import CommandError, Scope, scope_of
from lab.table_files import ColumnType, Table, arrow_table
from lab.text import UserError
from lab.units import parse_us
from lab.worlds.campaign.schedule import draw, fault_kinds, plan_of
from lab.worlds.loading.config import RunConfig, branch_config
from lab.worlds.loading.members import members_in, protocols_of
from lab.worlds.loading.roles import Wanted, roles_of
from lab.worlds.loading.settings import Settings, parameters_of, usual_link
from lab.worlds.loading.targets import (
    absolute_target,
    load_protocol,
    recorded_protocols,
    split_targets,
    target_with,
)
from lab.worlds.simulated.execution import run_to_end

if TYPE_CHECKING:
    import pandas
    import pyarrow

Protocol = str | type[Algorithm]
"""A protocol by name (``"bully"``), as ``"FILE.py:CLASS"``, or a class that is defined in a file."""
Time = str | int
"""A time since the run began: ``"3.5s"``, or whole microseconds."""

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

        Of a run with clients, their history must hold, too.
        """
        if self.workload is not None:
            return not self.failures and self.workload.word == "holds"
        return not self.failures and any(verdict.word != "not judged" for verdict in self.verdicts)

    @property
    def failures(self) -> tuple[str, ...]:
        """The assertions that failed with the assumptions intact that they rely on; none if nothing was judged."""
        return tuple(verdict.assertion for verdict in self.verdicts if verdict.word == "fails")

    @property
    def operations(self) -> Operations:
        """The operations of the clients, with their outcomes; empty without clients."""
        return self._folds[2].history

    @cached_property
    def workload(self) -> CheckResult | None:
        """The verdict on what the clients were answered; None without clients."""
        return check_clients(self._folds[2])

    def explain(self, violation: Violation) -> list[ExplanationLine]:
        """Return the events that led to a violation (``verdict.first``), each with its record and its time."""
        return explain_violation(self._store, violation)

    @property
    def elections(self) -> tuple[SettledElection, ...]:
        """The completed elections: when the coordinator was lost, when all agreed again, and on whom."""
        return tuple(self._folds[0].settled)

    def state_at(self, time: Time) -> Snapshot:
        """Return the state of the whole cluster at a time: its nodes, the messages in flight, the faults."""
        return self._timeline.at(self._timeline.record_at(us_of(time))).snapshot()

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
        from_us, until_us = (None if each is None else us_of(each) for each in (start, end))
        figure = figure_options(title, caption, width, theme, zoom, scale, labels)
        out = io.StringIO()
        write_svg(read_excerpt(self._store, ExportOptions(from_us, until_us, tuple(nodes), figure=figure)), out)
        return out.getvalue()

    def _repr_html_(self) -> str:
        return html_of(str(self), self)

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

        Raises NotRunnableError if nothing can go on from there, UserError if the run is over by then, CommandError
        if a line of the script is wrong.
        """
        ends_us = self._timeline.at(len(self._store)).at_us
        if not 0 <= us_of(at) <= ends_us:
            raise UserError(f"at={at!r}: the run ends at {ends_us / 1e6:.3f} s")
        record = self._timeline.record_at(us_of(at))
        header, target = self.header, self._target
        end_us = us_of(at) + us_of(for_)
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


def load(path: str | Path, protocol: Protocol | None = None) -> Run:
    """Return the run of a recording; ``protocol`` is that of the run if it is your own.

    Raises NotARecordingError, also if the file cannot be opened, and TargetError for an unknown protocol.
    """
    target = None if protocol is None else target_of(protocol)
    if target is not None:
        for each in split_targets(target):
            load_protocol(each)  # its properties are judged, too
    return Run(Path(path), target)


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
    require_number("seed", seed, 0)
    cluster = ClusterArguments(protocol, nodes, t, parameters, latency, jitter, role, properties)
    found, timing, ids, values = cluster.protocol, cluster.timing, cluster.ids, cluster.parameters
    settings, end_us = cluster.settings, us_of(for_)
    roles = cluster.roles(Wanted.of_values(workload, clients, rate, services, model, settings.written), end_us)
    text = "\n".join(lines_of(script, cluster.scope(roles)))
    drawn: tuple[str, ...] = ()
    if faults:
        kinds = fault_kinds(faults, settings.written)
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


class Arguments(Settings, frozen=True, kw_only=True):
    """The settings of a run, which errors name as arguments of a function."""

    @staticmethod
    def written(name: str, value: str) -> str:
        name = {"set": "parameters", "for": "for_"}.get(name, name)
        return f"{name}={value!r}" if value else name


class ClusterArguments:
    """A cluster, as arguments of a function describe it: protocol, nodes, timing, links, parameters.

    ``members`` are the nodes with another protocol. Raises TargetError and UserError.
    """

    def __init__(
        self,
        protocol: Protocol,
        nodes: int | Sequence[int],
        t: Time = "200ms",
        parameters: dict[str, Any] | None = None,
        latency: Time | None = None,
        jitter: Time | None = None,
        role: Mapping[str, Protocol] = MappingProxyType({}),
        properties: str | Path | None = None,
    ) -> None:
        given = [f"{name}={value}" for name, value in (parameters or {}).items()]
        if isinstance(nodes, int):
            require_number("nodes", nodes, 1)
        ids_text = str(nodes) if isinstance(nodes, int) else ",".join(map(str, nodes))
        self.settings = Arguments(
            protocol=target_of(protocol, properties),
            nodes=ids_text,
            t=text_of(t),
            set_=given,
            latency=None if latency is None else text_of(latency),
            jitter=None if jitter is None else text_of(jitter),
        )
        self.protocol = load_protocol(self.settings.target)
        self.timing = self.settings.timing()
        self.ids = tuple(self.settings.node_ids())
        self.link = self.settings.link()
        self.parameters = parameters_of(self.protocol, given, self.settings.written)
        texts = [f"{nodes}={target_of(each)}" for nodes, each in role.items()]
        self.members = members_in(texts, self.protocol, self.ids, self.parameters, self.settings.written)

    @property
    def own_target(self) -> str | None:
        """The targets of the protocols that are not built in, with commas between them; None if all are."""
        targets = (self.settings.target, *(member.target for member in self.members))
        return ",".join(each for each in targets if each not in (*PROTOCOLS, *TASKS)) or None

    def scope(self, roles: tuple[Role, ...]) -> Scope:
        """Return the names in the run, which has these roles too."""
        return Scope(self.protocol, self.ids, self.parameters, names_in(roles), protocols_of(self.members))

    def roles(self, wanted: Wanted, end_us: int | None) -> tuple[Role, ...]:
        """Return the clients and services. Raises UserError for wrong ones."""
        return roles_of(wanted, self.protocol, self.ids, self.timing, end_us, self.settings.written)


def target_of(protocol: Protocol, properties: str | Path | None = None) -> str:
    """Return the target that names a protocol, and perhaps properties, with the paths of their files.

    Raises UserError for a class that is defined in no file.
    """
    if properties is not None:
        return absolute_target(target_with(target_of(protocol), str(properties)))
    if isinstance(protocol, str):
        return absolute_target(protocol)
    if protocol.__module__.startswith("lab."):
        return protocol.name
    try:
        file = inspect.getsourcefile(protocol)
    except (OSError, TypeError):
        file = None
    if file is None or not Path(file).is_file():
        name = protocol.__name__
        raise UserError(f"{name} is not defined in a file, from which nodes could load it: write it to FILE.py")
    return f"{file}:{protocol.__name__}"


def require_number(name: str, value: object, least: int) -> None:
    """Raise UserError unless an argument is a whole number, and no less."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise UserError(f"{name}={value!r}: expected a whole number from {least}")


def _simulated(config_in: Callable[[Path], RunConfig], end_us: int, target: str | None) -> Run:
    """Simulate what is configured for a folder."""
    return temporary_run(lambda path: run_to_end(config_in(path.parent), end_us, lambda _: ""), target)


def temporary_run(write: Callable[[Path], object], target: str | None) -> Run:
    """Return the run whose recording this function writes, to a file that goes when the run does."""
    folder = tempfile.TemporaryDirectory(prefix="lab-")
    path = Path(folder.name, _RECORDING)
    try:
        write(path)
        run = Run(path, target)
    except BaseException:
        folder.cleanup()
        raise
    weakref.finalize(run, folder.cleanup)
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


def us_of(time: Time) -> int:
    """Return a time in microseconds. Raises ValueError for a text that is no duration."""
    return time if isinstance(time, int) else parse_us(time)


def text_of(time: Time) -> str:
    """Return a time as the settings of a run have it."""
    return f"{time}us" if isinstance(time, int) else time


def lines_of(script: str | Sequence[str], scope: Scope) -> tuple[str, ...]:
    """Return the lines of a script. Raises CommandError for the first one that cannot be executed in this run."""
    lines = [line for line in (script.splitlines() if isinstance(script, str) else script) if line.strip()]
    for line in lines:
        try:
            parse(line, scope.protocol, scope.names).check(scope)
        except CommandError as error:
            raise CommandError(f"{line.strip()!r}: {error}") from None
    return tuple(lines)
