"""``lab explore``: model checking, the search of all executions up to a bound."""

import contextlib
import sys
import time
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import typer
from msgspec import Struct
from msgspec.structs import replace

from lab.analysis.inspection import failed_steps, failure_lines
from lab.cli.options import (
    Json,
    Parameters,
    RunMode,
    Target,
    check_command,
    find_protocol,
    one_of,
    parameters_of,
    whole_number,
    writable_recording,
)
from lab.cli.program import app
from lab.cli.terminal import EXIT_INTERRUPTED, EXIT_NOT_AS_EXPECTED, UsageError, print_wrapped, progress_line
from lab.kernel import CommandInput, Timing
from lab.properties.assertions import A2, ASSERTIONS, ENDS
from lab.protocols import Algorithm, Election
from lab.recording.cluster_state import ClusterState
from lab.recording.reader import open_recording
from lab.recording.records import Header, Link
from lab.recording.writer import Writer
from lab.script.commands import ProtocolCommandLine
from lab.script.resolve import resolve_nodes
from lab.text import sanitize
from lab.units import format_count
from lab.worlds.explored.explorer import INTERRUPTED, Explorer, NeverSettledError, SearchTally
from lab.worlds.explored.local_states import SendsInstantsError
from lab.worlds.explored.path_execution import PathExecution
from lab.worlds.explored.states import Move, Timeouts
from lab.worlds.loading.config import RunConfig, header_of
from lab.worlds.loading.settings import target_of

_TIMEOUTS: tuple[Literal["synchronous", "prompt", "ordered", "any"], ...] = (
    "synchronous",
    "prompt",
    "ordered",
    "any",
)
_BEGINNINGS = ("normal", "start")


@app.command(
    epilog="""Examples:\n
    lab explore bully\n
    lab explore bully --timeouts any --out two-coordinators.jsonl\n
    lab explore invitation --cuts 1 --timeouts prompt\n
    lab explore 2pc --restarts 1 --do "tell 3 transfer 100 savings checking"\n
    lab explore my_election.py:MyElection --kills 2 --from start""",
)
def explore(
    target: Target,
    nodes: Annotated[
        str, typer.Option(metavar="NUMBER", help="Number of nodes, 1 to 7. More than 4 gives very many states.")
    ] = "3",
    kills: Annotated[
        str, typer.Option(metavar="NUMBER", help="Maximum number of kills, of any node at any moment.")
    ] = "1",
    restarts: Annotated[
        str, typer.Option(metavar="NUMBER", help="Maximum number of restarts of killed nodes.")
    ] = "0",
    cuts: Annotated[
        str,
        typer.Option(metavar="NUMBER", help="Maximum number of cuts, one at a time; each may be healed."),
    ] = "0",
    timeouts: Annotated[
        str,
        typer.Option(metavar="|".join(_TIMEOUTS), help="Timing model, as described above."),
    ] = "synchronous",
    from_: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="|".join(_BEGINNINGS),
            help="Initial state: all nodes Normal under one coordinator, or all just started. "
            r"\[default: normal for elections, else start]",
        ),
    ] = None,
    do: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COMMAND",
            help='Give a command of the protocol in the initial state: "tell 3 withdraw 350". Repeatable. none: '
            "give no command. "
            r"\[default: if commands drive the protocol, the first of them, to the highest node]",
        ),
    ] = None,
    states: Annotated[
        str,
        typer.Option(metavar="NUMBER", help="Stop after this many states; a million need about half a gigabyte."),
    ] = "1000000",
    depth: Annotated[
        str | None, typer.Option(metavar="NUMBER", help=r"Maximum depth, in moves.  \[default: no bound]")
    ] = None,
    set_: Parameters = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Record the shortest counterexample to this .jsonl file."),
    ] = None,
    json: Json = False,
) -> int:
    """Model-check a protocol: explore all executions up to a bound.

    Every order of deliveries, timeouts, kills, restarts and cuts is explored, and the assertions are checked in
    every state. The search is breadth first, so the recorded counterexample is a shortest one. A kill can also
    interrupt a step between two messages. Links are FIFO and lose messages only through a cut. T is 300 ms, Tm is
    T/3.

    A cut separates the nodes into two sides, or two nodes from each other. It can begin at any moment, and be
    healed later or never. Cuts that stop no message are not explored. A cut breaks assumption 8; A4 is checked on
    each side of a cut, A2 after it is healed.

    \b
    Timing models:
    synchronous  messages arrive within Tm, timers fire on time: no assumption is broken
    prompt       as synchronous, but messages take no time: far fewer states
    ordered      message delays are unbounded (breaks assumption 8)
    any          as ordered, and timers can fire at any moment (breaks 8 and 9)

    The states of the protocol must recur: a task such as field cannot be explored, because its knowledge grows
    without bound.

    The search is exhaustive if no new states are left before a bound is reached; a protocol with unbounded
    counters, such as versions, may never get there. The liveness properties A2 and A4 are violated by a final
    state without agreement, and, after an exhaustive search with synchronous or prompt, by an endless cycle
    without it.

    Exit status: 0 nothing found, 1 a violation, 2 usage error, 130 Ctrl-C (reports what was covered).
    """  # noqa: D301 - typer keeps the lines of a paragraph that begins so
    return run_explore(
        ExploreOptions(
            target_of(target, set_ or []),
            whole_number("--nodes", nodes, 1, 7),
            whole_number("--kills", kills, 0),
            whole_number("--restarts", restarts, 0),
            whole_number("--cuts", cuts, 0),
            one_of("--timeouts", timeouts, _TIMEOUTS),
            None if from_ is None else one_of("--from", from_, _BEGINNINGS) == "normal",
            do or [],
            whole_number("--states", states, 1),
            None if depth is None else whole_number("--depth", depth, 1),
            set_ or [],
            out,
            json,
        )
    )


_TM_US = 100_000
_NO_COMMAND = "none"


class ExploreOptions(Struct, frozen=True):
    """The options of ``lab explore``. ``settled`` is None for the default: True if the protocol elects.

    An empty ``do`` gives the first command that keeps the protocol busy; ``none`` alone gives no command.
    """

    target: str
    nodes: int
    kills: int
    restarts: int
    cuts: int
    timeouts: Timeouts
    settled: bool | None
    do: list[str]
    states: int
    depth: int | None
    settings: list[str]
    out: Path | None
    json: bool


def run_explore(options: ExploreOptions) -> int:
    """Explore, report, record the shortest counterexample, and return the exit status."""
    protocol = find_protocol(options.target)
    if options.settled is None:
        options = replace(options, settled=issubclass(protocol, Election))
    header = _header(options, protocol)
    given = _initial_commands(options, protocol)
    _check_out(options.out)
    explorer = Explorer(
        protocol,
        header,
        options.timeouts,
        options.kills,
        options.restarts,
        settled=bool(options.settled),
        cuts=options.cuts,
        commands=_resolve_commands(given, protocol, header),
    )
    began_s = time.monotonic()
    try:
        with progress_line() as progress:
            tally = explorer.run(
                options.states,
                options.depth,
                lambda: progress(_progress_text(explorer.tally, time.monotonic() - began_s)),
            )
    except NeverSettledError:
        raise UsageError(
            f"{options.target} with {options.nodes} nodes does not become Normal under one coordinator by itself: "
            "add --from start"
        ) from None
    except SendsInstantsError as error:
        if protocol.upper_protocol is not None:
            raise UsageError(
                f"the {protocol.name} cannot be explored, as its state grows without bound; explore the election "
                f"below it: lab explore {' '.join(protocol.fixed_parameters.values())}"
            ) from None
        raise UsageError(
            f"{options.target} puts its clock time into {error}: lab explore has no global clock; send a duration "
            "instead"
        ) from None
    seconds = time.monotonic() - began_s
    if not options.json:
        _report(options, given, explorer, tally, seconds)
    path = _record(options, protocol, header, explorer) if explorer.violated else None
    if options.json:
        print(_as_json(options, given, explorer, tally, seconds, path))
    elif path is not None:
        print(f"recorded: {sanitize(str(path))}, the shortest counterexample to {explorer.violated[0]}")
        print(f"replay:   lab replay {sanitize(str(path))}")
    if tally.stopped_by == INTERRUPTED:
        return EXIT_INTERRUPTED
    return EXIT_NOT_AS_EXPECTED if explorer.violated else 0


def _header(options: ExploreOptions, protocol: type[Algorithm]) -> Header:
    # with Tm = Tp all times are multiples of Tm, and a request with its answer takes less than T
    config = RunConfig(
        "",
        options.target,
        tuple(range(1, options.nodes + 1)),
        Timing(_TM_US, _TM_US),
        parameters_of(protocol, options.settings),
        Link(),
        0,
        "",
        world="simulated",
    )
    return replace(header_of(config, protocol), run=f"{protocol.name} explored, timeouts {options.timeouts}")


def _initial_commands(options: ExploreOptions, protocol: type[Algorithm]) -> list[str]:
    """Return the commands given in the initial state; by default, one that keeps the protocol busy."""
    if options.do == [_NO_COMMAND]:
        return []
    return options.do or [f"tell {options.nodes} {command}" for command in protocol.workload[:1]]


def _resolve_commands(
    lines: list[str], protocol: type[Algorithm], header: Header
) -> tuple[tuple[int, CommandInput], ...]:
    """Return each command with the node that it is for. Raises UsageError."""
    found: list[tuple[int, CommandInput]] = []
    for line in lines:
        world = RunMode(simulated=True, headless=True)
        scripted = check_command(line, protocol, header.nodes, world, header.protocol.parameters)
        command = scripted.command
        if scripted.trigger is not None or not isinstance(command, ProtocolCommandLine) or command.nodes is None:
            raise UsageError(
                f"--do {line!r}: lab explore takes only commands of the protocol, without trigger, for nodes by "
                f"number: tell {header.nodes[-1]} COMMAND; kills and cuts are explored by themselves"
            )
        command_input = CommandInput(command.command, command.words)
        found += [(node, command_input) for node in resolve_nodes(command.nodes, ClusterState.of(header))]
    return tuple(found)


def _check_out(out: Path | None) -> None:
    if out is not None:
        if out.suffix != ".jsonl":
            raise UsageError(f"--out {out}: name a .jsonl file")
        writable_recording("--out", out)


def _progress_text(tally: SearchTally, seconds: float) -> str:
    seen, rate = format_count(tally.states, "state"), tally.states / max(seconds, 1e-3)
    return f"depth {tally.depth}, {seen}, {tally.frontier:,} in the frontier, {rate:,.0f} states/s"


def _report(
    options: ExploreOptions, given: list[str], explorer: Explorer, tally: SearchTally, seconds: float
) -> None:
    begin = "from all nodes Normal" if options.settled else "from the start"
    begin += "".join(f", {line}" for line in given)
    if given and not options.do:
        begin += " (the default of --do)"
    elif options.do and not given:
        begin += ", no command"
    print_wrapped(
        f"{sanitize(options.target)}, {format_count(options.nodes, 'node')}, {begin}, "
        f"timeouts {options.timeouts}, at most {format_count(options.kills, 'kill')}, "
        f"{format_count(options.restarts, 'restart')} and "
        f"{format_count(options.cuts, 'cut')}"
    )
    print_wrapped(
        f"  {format_count(tally.states, 'state')}, {format_count(tally.transitions, 'transition')}, "
        f"depth {format_count(tally.depth, 'move')}; {format_count(explorer.locals.replays, 'replay')}; "
        f"{seconds:.1f} s, {tally.transitions / max(seconds, 1e-3):,.0f} transitions/s"
    )
    if tally.stopped_by:
        waiting = format_count(tally.frontier, "state")
        print_wrapped(f"  not exhaustive: stopped at {tally.stopped_by}, with {waiting} in the frontier")
    else:
        print("  exhaustive: the whole state space was explored")
    for assertion in tally.violated:
        print_wrapped(f"  {assertion:7}{_verdict(assertion, explorer, tally)}  ({ASSERTIONS[assertion].short})")


def _verdict(assertion: str, explorer: Explorer, tally: SearchTally) -> str:
    count = tally.violated[assertion]
    if not count:
        return _unviolated(assertion, explorer, tally)
    moves = format_count(explorer.count_moves_to(assertion), "move")
    text = f"violated in {format_count(count, 'state')}, the first after {moves}"
    broken = explorer.broken[assertion]
    if not broken:
        return text
    noun = "assumption" if len(broken) == 1 else "assumptions"
    return f"{text}, excused: {noun} {' and '.join(map(str, broken))} broken"


def _unviolated(assertion: str, explorer: Explorer, tally: SearchTally) -> str:
    """Return the verdict on an assertion without a violation."""
    lives = explorer.liveness is not None and assertion == explorer.liveness.id
    if lives and not tally.stopped_by and not explorer.agrees:
        return "not judged: no live node is left to agree"
    if lives and (tally.stopped_by or not explorer.judges_liveness):
        so = "no transaction is open with all nodes up" if explorer.liveness is ENDS else "all agree"
        return f"not judged; but in every state without further events, {so}"
    return f"no violation in {format_count(tally.states, 'state')}" if tally.stopped_by else "holds"


def _as_json(
    options: ExploreOptions,
    given: list[str],
    explorer: Explorer,
    tally: SearchTally,
    seconds: float,
    path: Path | None,
) -> str:
    """Return the report as one JSON object."""
    result: dict[str, Any] = {
        "protocol": options.target,
        "nodes": options.nodes,
        "begin": "normal" if options.settled else "start",
        "do": given,
        "timeouts": options.timeouts,
        "kills": options.kills,
        "restarts": options.restarts,
        "cuts": options.cuts,
        "states": tally.states,
        "transitions": tally.transitions,
        "depth": tally.depth,
        "seconds": round(seconds, 3),
        "exhaustive": not tally.stopped_by,
        "stopped_at": tally.stopped_by,
        "waiting": tally.frontier,
        "assertions": [
            {
                "assertion": assertion,
                "violated": count,
                "moves": explorer.count_moves_to(assertion) if count else None,
                "broken": explorer.broken.get(assertion, ()),
                "verdict": _verdict(assertion, explorer, tally),
            }
            for assertion, count in tally.violated.items()
        ],
        "recording": None if path is None else str(path),
    }
    return msgspec.json.encode(result).decode()


def _record(options: ExploreOptions, protocol: type[Algorithm], header: Header, explorer: Explorer) -> Path:
    assertion = explorer.violated[0]
    path = options.out or Path(f"{protocol.name}-{assertion}-{options.timeouts}.jsonl")
    writer = Writer(path, header)
    execution = PathExecution(protocol, writer, options.timeouts, options.restarts)
    for move in explorer.path_to(explorer.first_found[assertion]):
        execution.perform(move)
    if explorer.liveness is not None and assertion == explorer.liveness.id:
        _wait_for_agreement(explorer, execution, header.protocol.settles_within_us)
    execution.end(f"{assertion} does not hold")
    writer.close()
    with contextlib.closing(open_recording(path)) as store:
        for line in failure_lines(failed_steps(store), header.protocol.file):
            print(f"lab: {sanitize(line)}", file=sys.stderr)
    return path


def _wait_for_agreement(explorer: Explorer, execution: PathExecution, within_us: int) -> None:
    """Let time pass until the recording shows the lack of agreement: by silence, or by the cycle."""
    if explorer.liveness is A2 and execution.is_cut:  # it may remain in force around a node that stays down
        execution.perform(Move("strike", commands=("heal",)))
    ends_us = execution.now_us + within_us
    around = explorer.cycle or [Move("wait", us=within_us + 1)]
    while execution.now_us <= ends_us:
        for move in around:
            execution.perform(move)
