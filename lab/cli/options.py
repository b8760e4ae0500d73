"""Options that several commands share: their declarations, completion, and what their texts mean.

The options of a command are the fields of a struct, each with what typer needs. A function that takes the struct
becomes a command by ``command``. Every mistake raises UserError.
"""

import functools
import inspect
import os
import re
import typing
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
import typer
from msgspec import Struct
from typer import Argument, Option

from lab.cli.junit import is_junit_report
from lab.cli.program import app
from lab.cli.terminal import EXIT_NOT_AS_EXPECTED, UsageError, fail
from lab.durable import write_durably
from lab.foreign_file import read_foreign_text
from lab.histories.anomalies import MODELS
from lab.histories.workloads import DEFAULT_MODEL
from lab.kernel import Protocol, Timing
from lab.output import print_remark, print_text
from lab.places import new_recording_path
from lab.properties.assertions import RAISES
from lab.protocols import PROTOCOLS, TASKS, Algorithm, Election
from lab.protocols.services import SERVICES
from lab.protocols.sources import summary_of
from lab.protocols.workloads import WORKLOADS
from lab.recording.reader import NotARecordingError, open_recording
from lab.recording.records import Header
from lab.recording.writer import BeingWrittenError, open_exclusive
from lab.scenario.file import read_summaries
from lab.script.commands import WorldCommand
from lab.script.parse import numbered_lines, parse, read_watch
from lab.script.scope import CommandError, Scope
from lab.script.statements import Statement
from lab.script.watches import Watch
from lab.table_files import SUFFIXES, require_parquet
from lab.text import did_you_mean
from lab.worlds.campaign.trial import RunawayError
from lab.worlds.campaign.workers import WorkerDiedError, default_workers
from lab.worlds.loading.config import simulation_header
from lab.worlds.loading.confinement import unavailable
from lab.worlds.loading.members import MemberTarget
from lab.worlds.loading.roles import Wanted, named_services
from lab.worlds.loading.settings import SettingError
from lab.worlds.loading.targets import load_protocol, recorded_protocols
from lab.worlds.loading.user_module import TargetError
from lab.worlds.run import WATCHED

# from a struct of options to a command

Function = TypeVar("Function", bound=Callable[..., int])


def command_group(name: str, text: str) -> typer.Typer:
    """Return a new group of commands; ``text`` is its help, which it prints if no command is given."""
    group = typer.Typer()
    app.add_typer(group, name=name, help=text)

    @group.callback(invoke_without_command=True)
    def print_help(context: typer.Context) -> None:
        """Print the help if there is no command."""
        if context.invoked_subcommand is None:
            print_text(context.get_help())

    return group


def command(group: typer.Typer = app, **settings: Any) -> Callable[[Function], Function]:
    """Make a function that takes a struct of options a command of the group."""

    def register(function: Function) -> Function:
        group.command(**settings)(spread_options(function))
        return function

    return register


def spread_options(function: Callable[..., int]) -> Callable[..., int]:
    """Return the function with the fields of its first argument, a struct, as its parameters.

    Only fields that the struct itself declares become parameters, in their order.
    """
    name, kind = next(iter(typing.get_type_hints(function).items()))
    defaults = {field.name: _default_of(field) for field in msgspec.structs.fields(kind)}
    parameters = {
        each: inspect.Parameter(each, inspect.Parameter.KEYWORD_ONLY, default=defaults[each], annotation=declared)
        for each, declared in inspect.get_annotations(kind, eval_str=True).items()
    }
    others = list(inspect.signature(function, eval_str=True).parameters.values())[1:]

    @functools.wraps(function)
    def call(**values: Any) -> int:
        options = kind(**{each: values.pop(each) for each in parameters})
        return function(**{name: options}, **values)

    # typer takes a command's parameters from its signature
    vars(call)["__signature__"] = inspect.Signature([*others, *parameters.values()])
    return call


def _default_of(field: msgspec.structs.FieldInfo) -> Any:
    if field.default_factory is not msgspec.NODEFAULT:
        return field.default_factory()
    return inspect.Parameter.empty if field.default is msgspec.NODEFAULT else field.default


# declarations

Target = Annotated[
    str, Argument(metavar="PROTOCOL", help="A protocol by name (bully), or your own: FILE.py:CLASS.")
]

Targets = Annotated[list[str], Argument(metavar="PROTOCOL", help="Protocols by name, or your own: FILE.py:CLASS.")]

Faults = Annotated[
    str,
    Option(
        metavar="KIND,KIND,…",
        help="Kinds of random faults: kill, pause, partition, delay, loss, duplicate, reorder, slow-disk, disk, "
        "wipe; or all. After disk or wipe, which break stable storage, most assertions are excused until the run "
        "ends.",
    ),
]

Workload = Annotated[
    str | None,
    Option(
        metavar="NAME",
        help=f"Let clients call operations of the nodes, and judge their history: {', '.join(WORKLOADS)}. See lab "
        "guide workloads.",
    ),
]
Model = Annotated[
    str | None,
    Option(
        metavar="MODEL",
        help=f"Judge the transactions of the workload by this consistency model: {', '.join(MODELS)}.  "
        f"\\[default: {DEFAULT_MODEL}]",
    ),
]
Clients = Annotated[
    str | None,
    Option(metavar="NUMBER", help=r"With --workload: how many clients.  \[default: one for each node]"),
]
Rate = Annotated[
    str | None,
    Option(metavar="NUMBER", help=r"With --workload: operations a second of each client.  \[default: 5]"),
]
Services = Annotated[
    str | None,
    Option(
        "--service",
        metavar="NAME,…",
        help=f"Run these services, which the nodes may use: {', '.join(SERVICES)}, or a program: my-kv=./my_kv.",
    ),
]

Roles = Annotated[
    list[str],
    Option(
        "--role",
        metavar="NODES=PROTOCOL",
        help="Let these nodes of the cluster execute another protocol: 4,5=ring, 4=my_bully.py, or a program: "
        '"5=./my_node". Repeatable. See lab guide roles.',
    ),
]

RequestBound = Annotated[
    str | None,
    Option(metavar="TIME", help=r"T, the bound for a request and its answer: 2·Tm + Tp.  \[default: 200ms]"),
]

Parameters = Annotated[
    list[str],
    Option(
        "--set", metavar="NAME=VALUE", help="Set a parameter of the protocol; lab list protocols NAME lists them."
    ),
]

OwnProtocol = Annotated[
    str | None, Option(metavar="FILE.py:CLASS", help="Use this class, if the protocol is your own.")
]

OwnProperties = Annotated[
    Path | None,
    Option("--properties", metavar="FILE.py", help="Judge the properties in this file too: lab guide properties."),
]

Sandbox = Annotated[
    bool,
    Option(
        "--sandbox",
        help="Execute FILE.py, which a stranger wrote, in confined processes only: lab guide sandbox.",
    ),
]

Watches = Annotated[
    list[str],
    Option(
        metavar="EXPRESSION",
        help="Show this value or predicate below the nodes, as with V or :watch. Repeatable. "
        'For example: 4.coordinator, all.status, "groups > 1". See lab guide predicates.',
    ),
]

Recording = Annotated[
    Path, Argument(metavar="FILE", help="A recording. Runs without --record are kept in lab's data folder.")
]

Record = Annotated[
    Path | None,
    Option(
        metavar="FILE",
        help="Record to this file; an earlier recording is replaced. Default: a new file in lab's data folder.",
    ),
]

Picture = Annotated[
    Path | None, Option("--out", "-o", metavar="FILE.svg", help="Also write the charts to this file.")
]

TableFile = Annotated[
    Path | None,
    Option("--table", metavar="FILE", help="Also write a table of all runs: FILE.csv, .jsonl or .parquet."),
]

HeadlessJson = Annotated[bool, Option("--json", help="With --headless: print one JSON object and nothing else.")]

Junit = Annotated[
    Path | None,
    Option(
        "--junit",
        metavar="FILE",
        help="Also write the result as JUnit XML, for CI; an earlier report is replaced.",
    ),
]

Workers = Annotated[
    str | None, Option(metavar="NUMBER", help=r"Number of worker processes.  \[default: one per processor]")
]


# completion


def complete_scenario(incomplete: str) -> list[tuple[str, str]]:
    """Return the built-in scenarios with their titles."""
    return [(each.name, each.title) for each in read_summaries() if each.name.startswith(incomplete)]


def complete_target(incomplete: str) -> list[tuple[str, str]]:
    """Return the built-in protocols, tasks and scenarios."""
    named = sorted({**PROTOCOLS, **TASKS}.items())
    found = [(name, summary_of(protocol)) for name, protocol in named if name.startswith(incomplete)]
    return found + complete_scenario(incomplete)


def announce_sandbox() -> None:
    """Print to standard error what a sandbox does not close off on this system."""
    if missing := unavailable():
        print_remark(f"sandbox: on this system, {'; '.join(missing)}. See: lab guide sandbox")


# values

W = TypeVar("W", bound=str)


def find_election(target: str) -> type[Election]:
    """Return the election protocol that ``target`` names."""
    found = load_protocol(target)
    if not issubclass(found, Election):
        raise UsageError(f"{found.name} is not an election; name one, such as bully")
    return found


def whole_number(option: str, text: str, least: int, most: int | None = None) -> int:
    """Return the integer given with this option."""
    number = int(text) if re.fullmatch(r"\d{1,18}", text.strip()) else -1
    if not least <= number <= (number if most is None else most):
        bounds = f"{least} or more" if most is None else f"from {least} to {most}"
        raise UsageError(f"{option} {text}: write a whole number, {bounds}")
    return number


def node_range(text: str, most: int) -> tuple[int, int]:
    """Return the least and the greatest number of nodes given with ``--nodes``: 5, or 3-7."""
    low, dash, high = text.partition("-")
    if not low.isdecimal() or (dash and not high.isdecimal()):
        raise UsageError(f"--nodes {text}: write a number (5) or a range (3-7)")
    least, greatest = int(low), int(high or low)
    if not 1 <= least <= greatest <= most:
        raise UsageError(f"--nodes {text}: expected 1 to {most} nodes, the lower number first: 3-7")
    return least, greatest


def base_header(
    protocol: type[Algorithm],
    count: int,
    timing: Timing,
    parameters: dict[str, Any] | None = None,
    members: tuple[MemberTarget, ...] = (),
) -> Header:
    """Return the header that simulated runs of this many nodes have in common."""
    return simulation_header(protocol, tuple(range(1, count + 1)), timing, parameters or {}, members=members)


class OutsideOptions(typing.Protocol):
    """The options of a command for clients and services."""

    @property
    def workload(self) -> str | None: ...
    @property
    def model(self) -> str | None: ...
    @property
    def clients(self) -> str | None: ...
    @property
    def rate(self) -> str | None: ...
    @property
    def service(self) -> str | None: ...


def wanted_outside(options: OutsideOptions, sandbox: bool = False) -> Wanted:
    """Return the clients and services given with their options. Raises UsageError."""
    services = named_services(options.service)
    try:
        return Wanted.of(options.workload, options.clients, options.rate, services, sandbox, model=options.model)
    except SettingError as error:
        raise UsageError(str(error)) from None


def wanted_assertion(find: str | None, promises: Sequence[str], workload: str | None, of: str) -> str:
    """Return the assertion that ``--find`` names; empty if it is not given. ``of``: whose assertions they are."""
    known = (*promises, *filter(None, [workload]), RAISES.id)
    if find is not None and find not in known:
        raise UsageError(f"--find {find}: the assertions of {of} are {', '.join(known)}")
    return find or ""


def worker_count(text: str | None) -> int:
    """Return the number of worker processes given with ``--workers``."""
    return default_workers() if text is None else whole_number("--workers", text, 1)


def one_of(option: str, text: str, words: tuple[W, ...]) -> W:
    """Return the one of ``words`` given with this option."""
    for word in words:
        if word == text:
            return word
    known = f"{', '.join(words[:-1])} or {words[-1]}" if len(words) > 1 else words[0]
    raise UsageError(f"{option} {text}: write {known}{did_you_mean(text, words)}")


@contextmanager
def exit_if_workers_fail() -> Iterator[None]:
    """Exit if a worker process dies, or a run does not end."""
    try:
        yield
    except (RunawayError, WorkerDiedError) as error:
        fail(str(error), EXIT_NOT_AS_EXPECTED)


# commands to a run, given before it begins


class CommandChecker(Struct, frozen=True):
    """Checks the lines of ``--do`` and ``--script`` against a run that is simulated or live, watched or headless.

    ``parameters`` are those that the run sets, ``others`` the names of the nodes beside the cluster,
    ``members`` the protocols of nodes in it that execute another one.
    """

    protocol: type[Protocol]
    nodes: tuple[int, ...]
    parameters: dict[str, Any] = {}
    others: dict[int, str] = {}
    simulated: bool = True
    headless: bool = True
    members: tuple[type[Protocol], ...] = ()

    def check(self, line: str, place: str = "") -> Statement:
        """Parse a line and resolve what can be resolved before the run, to find mistakes early.

        ``place`` is where the line is, if not after ``--do``.
        """
        try:
            scope = Scope(self.protocol, self.nodes, self.parameters, self.others, self.members)
            statement = parse(line, self.protocol, scope.names)
            if isinstance(statement.command, WorldCommand):
                self._check_world_command(statement, in_script=bool(place))
            statement.check(scope)
            if not place:
                statement.check_interactive()
        except CommandError as error:
            raise UsageError(f"{place or f'--do {line!r}'}: {error}") from None
        return statement

    def check_script(self, path: Path) -> str:
        """Return the text of this script, with every line checked."""
        try:
            text = read_foreign_text(path)
        except OSError as error:
            raise UsageError(f"--script {path}: {error.strerror}; name a file with one command per line") from None
        for number, line in numbered_lines(text):
            self.check(line, f"{path}:{number}")
        return text

    def _check_world_command(self, statement: Statement, in_script: bool) -> None:
        """Raise CommandError for a command that this run does not support.

        In a script, commands for watchers are accepted and ignored if nobody watches.
        """
        verb = statement.text.partition(" ")[0]
        paces = verb in WATCHED
        if paces and in_script:
            return
        if not self.simulated:
            raise CommandError(f"{verb}: requires a simulated run: add --sim")
        if paces and self.headless:
            raise CommandError(
                f"{verb}: has no effect without the interface; leave it out, or watch the run: lab run … --sim"
            )
        if verb == "step" or not (in_script or statement.trigger or verb == "freeze"):
            raise CommandError(f"{verb}: give it during the run, with : or lab ctl")


def check_watches(texts: list[str], scope: Scope | None) -> list[Watch]:
    """Return the expressions of ``--watch``, checked against a run whose protocol is known."""
    watches = []
    for text in texts:
        try:
            watches.append(read_watch(text, scope))
        except CommandError as error:
            raise UsageError(f"--watch {text!r}: {error}") from None
    return watches


def check_headless(headless: bool, for_: str | None) -> None:
    """Raise UsageError if a headless run has no end."""
    if headless and for_ is None:
        raise UsageError("--headless requires --for, such as --for 6s")


# output files, which are checked before the work begins


def recording_path(record: Path | None, run: str, parent: Path | None = None) -> Path:
    """Return the file to record to: the given one, or a new one in lab's data folder, which keeps ``parent``."""
    return new_recording_path(run, parent) if record is None else writable_recording("--record", record)


def writable_recording(option: str, path: Path) -> Path:
    """Return the absolute path of a recording to write; an existing file that is none is never replaced."""
    file = writable(option, path)
    if file.exists() and file.stat().st_size:
        try:
            open_recording(file).close()
        except NotARecordingError:
            raise UsageError(f"{option} {path} exists and is not a recording; name another file") from None
    if file.exists():
        try:
            os.close(open_exclusive(file))
        except BeingWrittenError:
            raise UsageError(f"{option} {path} is in use by another run; name another file") from None
    return file


def writable_report(path: Path | None) -> Path | None:
    """Return the absolute path of the file given with ``--junit``, if any; only such a report is replaced."""
    if path is None:
        return None
    file = writable("--junit", path)
    if file.exists() and file.stat().st_size and not is_junit_report(file):
        raise UsageError(f"--junit {path} exists and is not a JUnit report; name another file")
    return file


def check_picture(path: Path | None) -> None:
    """Raise UsageError if the charts cannot be written to this file."""
    if path is not None:
        if path.suffix != ".svg":
            raise UsageError(f"--out {path}: only SVG is supported; name a file that ends in .svg")
        writable("--out", path)


def check_table_file(path: Path | None) -> None:
    """Raise UserError if a table cannot be written to this file."""
    if path is not None:
        if path.suffix not in SUFFIXES:
            raise UsageError(f"--table {path}: name a file that ends in {', '.join(SUFFIXES)}")
        if path.suffix == ".parquet":
            require_parquet()
        writable("--table", path)


def is_same_file(one: Path, other: Path) -> bool:
    """Return whether both paths lead to the same file, which need not exist."""
    return os.path.realpath(one) == os.path.realpath(other)  # Path.resolve raises RuntimeError for a loop of links


def new_output(option: str, path: Path, force: bool) -> Path:
    """Return the absolute path of a file to write, which may only replace another with ``--force``."""
    if path.is_file() and not force:
        raise UsageError(f"{path} exists already; name another with {option}, or overwrite it with --force")
    return writable(option, path)


def writable(option: str, path: Path) -> Path:
    """Return the absolute path of the file given with this option. Raises UsageError if it cannot be written."""
    file = path.absolute()
    if not file.parent.is_dir():
        raise UsageError(f"{option} {path}: the folder {file.parent} does not exist")
    if file.is_dir():
        raise UsageError(f"{option} {path} is a folder; name a file in it")
    if file.exists() and not file.is_file():
        raise UsageError(f"{option} {path} is not a regular file; name another")
    if why := why_unwritable(file):
        raise UsageError(f"{option} {path} cannot be written ({why}); name another file")
    return file


def why_unwritable(file: Path) -> str:
    """Return why the file cannot be written; empty if it can. It is left as it is."""
    is_new = not file.exists()
    try:
        file.open("ab").close()
    except OSError as error:
        return error.strerror or str(error)
    finally:  # after Ctrl-C, too
        if is_new:
            with suppress(OSError):  # in a read-only folder, also of a file that is not there
                file.unlink(missing_ok=True)
    return ""


def write_whole(path: Path, data: bytes, is_private: bool = True) -> None:
    """Replace the contents of the file. If it ``is_private``, as grades are, only its owner may read it."""
    try:
        write_durably(path, data, is_private)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}; name another file") from None


def load_protocol_of(file: Path, target: str) -> None:
    """Load the user's protocol of this recording, so that it has what the protocol brings. Raises UsageError."""
    with closing(open_recording(file)) as store:
        try:
            recorded_protocols(store.header, target)
        except TargetError as error:
            raise UsageError(f"{file}: {error}") from None
