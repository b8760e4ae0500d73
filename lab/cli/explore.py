"""``lab explore``: model checking, the search of all executions up to a bound."""

import time
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Struct
from msgspec.structs import replace
from typer import Option

from lab.cli.documents import Document, Json, print_json
from lab.cli.junit import JUnitCase, JUnitSuite, write_junit
from lab.cli.options import (
    CommandChecker,
    Junit,
    OwnProperties,
    Parameters,
    Target,
    base_header,
    command,
    one_of,
    whole_number,
    writable,
    writable_recording,
)
from lab.cli.progress import Progress
from lab.cli.recording_report import print_failures
from lab.cli.terminal import (
    EXIT_INTERRUPTED,
    EXIT_NOT_AS_EXPECTED,
    UsageError,
    print_wrapped,
)
from lab.kernel import CommandInput, Timing
from lab.output import print_line
from lab.properties.assertions import ASSERTIONS
from lab.protocols import Algorithm, Election
from lab.recording.cluster_state import ClusterState
from lab.recording.records import Header
from lab.recording.writer import Writer
from lab.script.commands import ProtocolCommandLine
from lab.text import sanitize
from lab.units import format_count
from lab.worlds.explored.counterexample import record_counterexample
from lab.worlds.explored.explorer import INTERRUPTED, Explorer, NeverSettledError, SearchTally
from lab.worlds.explored.local_states import SendsInstantsError
from lab.worlds.explored.search_verdicts import NOT_JUDGED, describe_verdict
from lab.worlds.explored.states import Timeouts
from lab.worlds.loading.settings import parameters_of, target_of
from lab.worlds.loading.targets import load_protocol

_TIMEOUTS: tuple[Timeouts, ...] = ("synchronous", "prompt", "ordered", "any")
_BEGINNINGS = ("normal", "start")
_TM_US = 100_000
_NO_COMMAND = "none"


class ExploreOptions(Struct, frozen=True):
    """The options of ``lab explore``."""

    protocol: Target
    nodes: Annotated[
        str, Option(metavar="NUMBER", help="Number of nodes, 1 to 7. More than 4 gives very many states.")
    ] = "3"
    kills: Annotated[
        str,
        Option(metavar="NUMBER", help="Maximum number of kills, of any node at any moment."),
    ] = "1"
    restarts: Annotated[str, Option(metavar="NUMBER", help="Maximum number of restarts of killed nodes.")] = "0"
    cuts: Annotated[
        str, Option(metavar="NUMBER", help="Maximum number of cuts; only one is in force at a time.")
    ] = "0"
    pauses: Annotated[
        str,
        Option(metavar="NUMBER", help="Maximum number of pauses, of any node at any moment; not with any."),
    ] = "0"
    timeouts: Annotated[
        str,
        Option(metavar="|".join(_TIMEOUTS), help="Timing model; lab guide checking describes them."),
    ] = "synchronous"
    from_: Annotated[
        str | None,
        Option(
            "--from",
            metavar="|".join(_BEGINNINGS),
            help="Initial state: all nodes Normal under one coordinator, or all just started. "
            r"\[default: normal for elections, else start]",
        ),
    ] = None
    do: Annotated[
        list[str],
        Option(
            metavar="COMMAND",
            help='Give a command of the protocol in the initial state: "tell 3 withdraw 350". Repeatable. With '
            "--do none, no command is given. \\[default: if commands drive the protocol, the first of them, to"
            " the highest node]",
        ),
    ] = []
    states: Annotated[
        str, Option(metavar="NUMBER", help="Stop after this many states; a million need about half a gigabyte.")
    ] = "1000000"
    depth: Annotated[
        str | None, Option(metavar="NUMBER", help="Maximum depth, in transitions.  \\[default: no bound]")
    ] = None
    set_: Parameters = []
    properties: OwnProperties = None
    out: Annotated[
        Path | None, Option(metavar="FILE", help="Record the shortest counterexample to this .jsonl file.")
    ] = None
    junit: Junit = None
    json: Json = False


@command(
    epilog="""Examples:\n
    lab explore bully\n
    lab explore bully --timeouts any --out two-coordinators.jsonl\n
    lab explore invitation --cuts 1 --timeouts prompt\n
    lab explore bully --kills 0 --pauses 1 --timeouts prompt\n
    lab explore 2pc --restarts 1 --do "tell 3 transfer 100 savings checking"\n
    lab explore my_election.py:MyElection --kills 2 --from start"""
)
def explore(options: ExploreOptions) -> int:
    """Model-check a protocol: explore all executions up to a bound.

    Every order of deliveries, timeouts, kills, restarts, cuts and pauses is explored, and the assertions are
    checked in every state. The search is breadth first, so the recorded counterexample is a shortest one. A kill
    can also interrupt a step between two messages. Links are FIFO and lose messages only during a cut. T is 300
    ms, Tm is T/3.

    A cut separates the nodes into two sides, or two nodes from each other. It can begin at any moment, and heal at
    any later moment or never. Cuts that stop no message are not explored. A cut breaks assumption 8. A4 is checked
    on each side of a cut, all other liveness properties after the cut has healed.

    A pause can begin at any moment, also between two messages of a step, and lasts 4 T at most. The paused node
    handles nothing; messages to it wait. When it resumes, it takes in those that have arrived, and then fires its
    timers late. A pause breaks assumption 9. Liveness properties are checked while no node is paused.

    \b
    Timing models:
    synchronous  messages arrive within Tm, timers fire on time: no assumption is broken
    prompt       as synchronous, but messages take no time: far fewer states
    ordered      message delays are unbounded (breaks assumption 8)
    any          as ordered, and timers can fire at any moment (breaks 8 and 9)

    The search is exhaustive if it visits all reachable states before a bound stops it, and ignores no difference
    between states; the report lists the differences that it ignored, such as ages beyond some bound. A protocol
    with unbounded counters, such as versions, may have infinitely many states. A task such as field cannot be
    explored, because its knowledge grows without bound.

    A liveness property (A2: the nodes agree, ends: every transaction ends, or one of your own) is violated by a
    state in which it does not hold and nothing more can happen. With synchronous or prompt, if no bound stopped
    the search, it is also violated by a cycle of states in which it never holds.

    Exit status: 0 nothing found, 1 a violation, or nothing was judged, 2 usage error, 130 Ctrl-C (which
    reports what was covered).
    """  # noqa: D301 - typer keeps the lines of a paragraph that begins so
    exploration = _Exploration(options)
    junit = None if options.junit is None else writable("--junit", options.junit)
    exploration.search()
    explorer = exploration.explorer
    if not options.json:
        exploration.print_report()
    path = exploration.record_counterexample() if explorer.violated else None
    document = exploration.document(path)
    write_junit(junit, [_junit_suite(document)])
    if options.json:
        print_json(document)
    elif path is not None:
        print_line(f"recorded: {path}, the shortest counterexample to {explorer.violated[0]}")
        print_line(f"replay:   lab replay {path}")
    if explorer.tally.stopped_by == INTERRUPTED:
        return EXIT_INTERRUPTED
    promised = exploration.protocol.promises
    is_unjudged = bool(promised) and all(map(explorer.why_not_judged, promised))
    return EXIT_NOT_AS_EXPECTED if explorer.violated or is_unjudged else 0


class ExploredAssertion(Struct, frozen=True):
    """An assertion: in how many states it was violated, after how many moves first; ``verdict`` is in words."""

    assertion: str
    violated: int
    moves: int | None
    broken: tuple[int | str, ...]
    verdict: str


class ExploreDocument(Document, frozen=True):
    """An exploration: the options, as resolved, the size of what was visited, and a verdict on each assertion."""

    protocol: str
    nodes: int
    begin: Literal["normal", "start"]
    do: list[str]
    timeouts: Timeouts
    kills: int
    restarts: int
    cuts: int
    pauses: int
    states: int
    transitions: int
    depth: int
    seconds: float
    exhaustive: bool
    not_distinguished: tuple[str, ...]
    stopped_at: str | None
    waiting: int
    assertions: tuple[ExploredAssertion, ...]
    recording: str | None


def _junit_suite(document: ExploreDocument) -> JUnitSuite:
    """Return a case for each assertion."""
    cases = []
    for each in document.assertions:
        recorded = () if document.recording is None else (f"recorded: {document.recording}",)
        failure = (f"{each.assertion}: {each.verdict}", *recorded) if each.violated else ()
        skipped = each.verdict if each.verdict.startswith(NOT_JUDGED) else ""
        cases.append(JUnitCase(f"explore.{document.protocol}", each.assertion, failure, skipped))
    return JUnitSuite("explore", cases, document.seconds)


class _Exploration:
    """The exploration that the options describe, and its report."""

    def __init__(self, options: ExploreOptions) -> None:
        self.target = target_of(options.protocol, options.set_, options.properties)
        self.count = whole_number("--nodes", options.nodes, 1, 7)
        self.kills = whole_number("--kills", options.kills, 0)
        self.restarts = whole_number("--restarts", options.restarts, 0)
        self.cuts = whole_number("--cuts", options.cuts, 0)
        self.pauses = whole_number("--pauses", options.pauses, 0)
        self.timeouts = one_of("--timeouts", options.timeouts, _TIMEOUTS)
        if self.pauses and self.timeouts == "any":
            raise UsageError(
                "--pauses with --timeouts any: there a node may take its time anyway; "
                "use synchronous, prompt or ordered"
            )
        self.most_states = whole_number("--states", options.states, 1)
        self.depth = None if options.depth is None else whole_number("--depth", options.depth, 1)
        beginning = None if options.from_ is None else one_of("--from", options.from_, _BEGINNINGS)
        self.protocol = load_protocol(self.target)
        self.settled = issubclass(self.protocol, Election) if beginning is None else beginning == "normal"
        self.header = self._header(options)
        self.do = options.do
        self.commands = self._initial_commands()
        self.out = options.out
        if self.out is not None:
            if self.out.suffix != ".jsonl":
                raise UsageError(f"--out {self.out}: name a .jsonl file")
            writable_recording("--out", self.out)
        self.explorer = Explorer(
            self.protocol,
            self.header,
            self.timeouts,
            self.kills,
            self.restarts,
            settled=self.settled,
            cuts=self.cuts,
            commands=_resolve_commands(self.commands, self.protocol, self.header),
            pauses=self.pauses,
        )
        self.seconds = 0.0

    def _header(self, options: ExploreOptions) -> Header:
        # with Tm = Tp all times are multiples of Tm, and a request with its answer takes less than T
        parameters = parameters_of(self.protocol, options.set_)
        header = base_header(self.protocol, self.count, Timing(_TM_US, _TM_US), parameters)
        return replace(header, run=f"{self.protocol.name} explored, timeouts {self.timeouts}")

    def _initial_commands(self) -> list[str]:
        """Return the commands given in the initial state; by default, one that keeps the protocol busy."""
        if self.do == [_NO_COMMAND]:
            return []
        return self.do or [f"tell {self.count} {command}" for command in self.protocol.workload[:1]]

    def search(self) -> None:
        """Explore, with progress."""
        began_s = time.monotonic()
        explorer = self.explorer
        try:
            with Progress(f"exploring {self.protocol.name}", "state") as progress:
                explorer.run(
                    self.most_states,
                    self.depth,
                    lambda: progress(explorer.tally.states, _progress_note(explorer.tally)),
                )
        except NeverSettledError:
            raise UsageError(
                f"{self.target} with {self.count} nodes does not become Normal under one coordinator by itself: "
                "add --from start"
            ) from None
        except SendsInstantsError as error:
            if self.protocol.upper_protocol is not None:
                raise UsageError(
                    f"the {self.protocol.name} cannot be explored, as its state grows without bound; explore the "
                    f"election below it: lab explore {' '.join(self.protocol.fixed_parameters.values())}"
                ) from None
            raise UsageError(
                f"{self.target} puts its clock time into {error}: lab explore has no global clock; send a "
                "duration instead"
            ) from None
        self.seconds = time.monotonic() - began_s

    # the report

    def print_report(self) -> None:
        """Print what was explored, and the verdicts."""
        explorer, tally = self.explorer, self.explorer.tally
        begin = "from all nodes Normal" if self.settled else "from the start"
        begin += "".join(f", {line}" for line in self.commands)
        if self.commands and not self.do:
            begin += " (the default of --do)"
        elif self.do and not self.commands:
            begin += ", no command"
        pauses = f", {format_count(self.pauses, 'pause')}" if self.pauses else ""
        print_wrapped(
            f"{sanitize(self.target)}, {format_count(self.count, 'node')}, {begin}, "
            f"timeouts {self.timeouts}, at most {format_count(self.kills, 'kill')}, "
            f"{format_count(self.restarts, 'restart')}{pauses} and "
            f"{format_count(self.cuts, 'cut')}"
        )
        print_wrapped(
            f"  {format_count(tally.states, 'state')}, {format_count(tally.transitions, 'transition')}, "
            f"depth {format_count(tally.depth, 'move')}; {format_count(self.explorer.locals.replays, 'replay')}; "
            f"{self.seconds:.1f} s, {tally.states / max(self.seconds, 1e-3):,.0f} states/s"
        )
        if tally.stopped_by:
            waiting = format_count(tally.frontier, "state")
            print_wrapped(f"  not exhaustive: stopped at {tally.stopped_by}, with {waiting} in the frontier")
        elif explorer.not_distinguished:
            left_out = "; ".join(explorer.not_distinguished)
            print_wrapped(f"  explored completely, except for differences that the search ignores: {left_out}")
        else:
            print_line("  exhaustive: the whole state space was explored")
        width = max(map(len, tally.violated)) + 1
        for assertion in tally.violated:
            verdict = describe_verdict(explorer, assertion)
            print_wrapped(f"  {assertion:{width}}{verdict}  ({ASSERTIONS[assertion].short})")

    def document(self, path: Path | None) -> ExploreDocument:
        """Return the report as a document; ``path`` is the counterexample's recording."""
        explorer, tally = self.explorer, self.explorer.tally
        return ExploreDocument(
            protocol=self.target,
            nodes=self.count,
            begin="normal" if self.settled else "start",
            do=self.commands,
            timeouts=self.timeouts,
            kills=self.kills,
            restarts=self.restarts,
            cuts=self.cuts,
            pauses=self.pauses,
            states=tally.states,
            transitions=tally.transitions,
            depth=tally.depth,
            seconds=round(self.seconds, 3),
            exhaustive=not tally.stopped_by and not explorer.not_distinguished,
            not_distinguished=tuple(explorer.not_distinguished),
            stopped_at=tally.stopped_by or None,
            waiting=tally.frontier,
            assertions=tuple(
                ExploredAssertion(
                    assertion,
                    count,
                    explorer.count_moves_to(assertion) if count else None,
                    explorer.broken.get(assertion, ()),
                    describe_verdict(self.explorer, assertion),
                )
                for assertion, count in tally.violated.items()
            ),
            recording=None if path is None else str(path),
        )

    # the counterexample

    def record_counterexample(self) -> Path:
        """Record the shortest counterexample and return the file."""
        explorer = self.explorer
        assertion = explorer.violated[0]
        path = self.out or Path(f"{self.protocol.name}-{assertion}-{self.timeouts}.jsonl")
        writer = Writer(path, self.header)
        record_counterexample(explorer, assertion, self.protocol, writer, self.timeouts, self.restarts)
        print_failures(path)
        return path


def _resolve_commands(
    lines: list[str], protocol: type[Algorithm], header: Header
) -> tuple[tuple[int, CommandInput], ...]:
    """Return each command with the node that it is for. Raises UsageError."""
    found: list[tuple[int, CommandInput]] = []
    checker = CommandChecker(protocol, header.nodes, header.protocol.parameters)
    for line in lines:
        statement = checker.check(line)
        given = statement.command
        if statement.trigger is not None or not isinstance(given, ProtocolCommandLine) or given.nodes is None:
            raise UsageError(
                f"--do {line!r}: lab explore takes only commands of the protocol, without trigger, for nodes by "
                f"number: tell {header.nodes[-1]} COMMAND; kills and cuts are explored by themselves"
            )
        command_input = CommandInput(given.command, given.words)
        found += [(node, command_input) for node in given.nodes.resolve(ClusterState.of(header))]
    return tuple(found)


def _progress_note(tally: SearchTally) -> str:
    return f"depth {tally.depth}, {tally.frontier:,} in the frontier"
