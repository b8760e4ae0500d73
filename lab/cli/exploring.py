"""``lab explore``: the search, told as it goes on, and a recording of the shortest violation."""

import contextlib
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from lab.analysis.failures import failed_steps, failure_lines
from lab.cli.errors import EXIT_INTERRUPTED, EXIT_NOT_AS_EXPECTED, UsageError
from lab.cli.files import writable_recording
from lab.cli.progress import progress_line
from lab.cli.settings import World, check_command, parameters_of, protocol_named
from lab.cli.terminal import print_wrapped
from lab.kernel import CommandInput, Timing
from lab.properties import A2, ASSERTIONS, ENDS
from lab.protocols import Algorithm, Election
from lab.recording.cluster_state import ClusterState
from lab.recording.reader import open_recording
from lab.recording.records import Header, Link
from lab.recording.writer import Writer
from lab.script import Tell, resolve_nodes
from lab.text import sanitize
from lab.units import count_of
from lab.worlds.config import RunConfig, header_of
from lab.worlds.explored.explorer import INTERRUPTED, Explorer, NeverSettledError, Tally
from lab.worlds.explored.local import SendsInstantsError
from lab.worlds.explored.performing import Performance
from lab.worlds.explored.states import Move, Timeouts

__all__ = ["Options", "run_explore"]

_TM_US = 100_000
_NO_COMMAND = "none"


class Options(Struct, frozen=True):
    """What is to be explored, and up to where. ``settled`` None: from all Normal, if the protocol elects.

    ``do`` with nothing in it: the first command that keeps the protocol busy; none alone: no command.
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


def run_explore(options: Options) -> int:
    """Explore, report, and record the shortest violation."""
    protocol = protocol_named(options.target)
    if options.settled is None:
        options = replace(options, settled=issubclass(protocol, Election))
    header = _header(options, protocol)
    given = _given(options, protocol)
    _check_out(options.out)
    explorer = Explorer(
        protocol,
        header,
        options.timeouts,
        options.kills,
        options.restarts,
        settled=bool(options.settled),
        cuts=options.cuts,
        told=_told(given, protocol, header),
    )
    began_s = time.monotonic()
    try:
        with progress_line() as tell:
            tally = explorer.run(
                options.states, options.depth, lambda: tell(_so_far(explorer.tally, time.monotonic() - began_s))
            )
    except NeverSettledError:
        raise UsageError(
            f"{options.target} with {options.nodes} nodes does not come to be Normal under one coordinator by "
            "itself: explore it --from start"
        ) from None
    except SendsInstantsError as error:
        if protocol.carries is not None:
            raise UsageError(
                f"the {protocol.name} cannot be explored: what it knows grows for ever; explore the election "
                f"below it: lab explore {' '.join(protocol.chosen.values())}"
            ) from None
        raise UsageError(
            f"{options.target} puts the time of its clock into {error}: explore knows no clock that all share; "
            "send how long ago it was"
        ) from None
    seconds = time.monotonic() - began_s
    if not options.json:
        _report(options, given, explorer, tally, seconds)
    path = _record(options, protocol, header, explorer) if explorer.violated else None
    if options.json:
        print(_as_json(options, given, explorer, tally, seconds, path))
    elif path is not None:
        print(f"recorded: {sanitize(str(path))}, the shortest violation found, of {explorer.violated[0]}")
        print(f"replay:   lab replay {sanitize(str(path))}")
    if tally.cut == INTERRUPTED:
        return EXIT_INTERRUPTED
    return EXIT_NOT_AS_EXPECTED if explorer.violated else 0


def _header(options: Options, protocol: type[Algorithm]) -> Header:
    # with Tm = Tp every instant is a multiple of Tm, and a request with its answer takes less than T
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


def _given(options: Options, protocol: type[Algorithm]) -> list[str]:
    """The commands that are given first; where none is said, one that there is something to look at."""
    if options.do == [_NO_COMMAND]:
        return []
    return options.do or [f"tell {options.nodes} {command}" for command in protocol.kept_busy_by[:1]]


def _told(lines: list[str], protocol: type[Algorithm], header: Header) -> tuple[tuple[int, CommandInput], ...]:
    """The commands with the node that each is for."""
    found: list[tuple[int, CommandInput]] = []
    for line in lines:
        world = World(simulated=True, headless=True)
        scripted = check_command(line, protocol, header.nodes, world, header.protocol.parameters)
        command = scripted.command
        if scripted.trigger is not None or not isinstance(command, Tell) or command.nodes is None:
            raise UsageError(
                f"--do {line!r}: here only a command of the protocol's own can be given, at once, and to nodes by "
                f"their numbers: tell {header.nodes[-1]} COMMAND; kills and cuts are tried by themselves"
            )
        told = CommandInput(command.command, command.words)
        found += [(node, told) for node in resolve_nodes(command.nodes, ClusterState.of(header))]
    return tuple(found)


def _check_out(out: Path | None) -> None:
    if out is not None:
        if out.suffix != ".jsonl":
            raise UsageError(f"--out {out}: name a .jsonl file")
        writable_recording("--out", out)


def _so_far(tally: Tally, seconds: float) -> str:
    seen, rate = count_of(tally.states, "state"), tally.states / max(seconds, 1e-3)
    return f"depth {tally.depth}, {seen}, {tally.waiting:,} to go on from, {rate:,.0f} states/s"


def _report(options: Options, given: list[str], explorer: Explorer, tally: Tally, seconds: float) -> None:
    begin = "from all Normal" if options.settled else "from the first start"
    begin += "".join(f", {line}" for line in given)
    if given and not options.do:
        begin += " (the default of --do)"
    elif options.do and not given:
        begin += ", no command given"
    print_wrapped(
        f"{sanitize(options.target)}, {count_of(options.nodes, 'node')}, {begin}, timeouts {options.timeouts}, "
        f"at most {count_of(options.kills, 'kill')}, {count_of(options.restarts, 'restart')} and "
        f"{count_of(options.cuts, 'cut')}"
    )
    print_wrapped(
        f"  {count_of(tally.states, 'state')}, {count_of(tally.transitions, 'transition')}, "
        f"up to {count_of(tally.depth, 'move')} deep; {count_of(explorer.locals.replays, 'replay')}; "
        f"{seconds:.1f} s, {tally.transitions / max(seconds, 1e-3):,.0f} transitions/s"
    )
    if tally.cut:
        waiting = count_of(tally.waiting, "state")
        print_wrapped(f"  not exhaustive: stopped at {tally.cut}, with {waiting} to go on from")
    else:
        print("  exhaustive: nothing else can happen")
    for assertion in tally.violated:
        print_wrapped(f"  {assertion:7}{_verdict(assertion, explorer, tally)}  ({ASSERTIONS[assertion].short})")


def _verdict(assertion: str, explorer: Explorer, tally: Tally) -> str:
    count = tally.violated[assertion]
    if not count:
        return _unviolated(assertion, explorer, tally)
    moves = count_of(explorer.moves_to(assertion), "move")
    said = f"violated in {count_of(count, 'state')}, the first after {moves}"
    broken = explorer.broken[assertion]
    if not broken:
        return said
    return f"{said}, outside the promise: {' and '.join(map(str, broken))} broken"


def _unviolated(assertion: str, explorer: Explorer, tally: Tally) -> str:
    """What can be said of an assertion that was not seen violated."""
    lives = explorer.liveness is not None and assertion == explorer.liveness.id
    if lives and not tally.cut and not explorer.agrees:
        return "not judged: no node is left that could agree"
    if lives and (tally.cut or not explorer.judges_liveness):
        so = "with all nodes up, no transaction is open" if explorer.liveness is ENDS else "all agree"
        return f"not judged; but wherever nothing can happen any more, {so}"
    return f"no violation in {count_of(tally.states, 'state')}" if tally.cut else "holds"


def _as_json(
    options: Options, given: list[str], explorer: Explorer, tally: Tally, seconds: float, path: Path | None
) -> str:
    """The same as one JSON object."""
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
        "exhaustive": not tally.cut,
        "stopped_at": tally.cut,
        "waiting": tally.waiting,
        "assertions": [
            {
                "assertion": assertion,
                "violated": count,
                "moves": explorer.moves_to(assertion) if count else None,
                "broken": explorer.broken.get(assertion, ()),
                "verdict": _verdict(assertion, explorer, tally),
            }
            for assertion, count in tally.violated.items()
        ],
        "recording": None if path is None else str(path),
    }
    return msgspec.json.encode(result).decode()


def _record(options: Options, protocol: type[Algorithm], header: Header, explorer: Explorer) -> Path:
    assertion = explorer.violated[0]
    path = options.out or Path(f"{protocol.name}-{assertion}-{options.timeouts}.jsonl")
    writer = Writer(path, header)
    performance = Performance(protocol, header, writer, options.timeouts, options.restarts)
    for move in explorer.path_to(explorer.first_found[assertion]):
        performance.make(move)
    if explorer.liveness is not None and assertion == explorer.liveness.id:
        _wait_for_agreement(explorer, performance, header.protocol.settles_within_us)
    performance.end(f"{assertion} does not hold")
    writer.close()
    with contextlib.closing(open_recording(path)) as lines:
        for line in failure_lines(failed_steps(lines), header.protocol.file):
            print(f"lab: {sanitize(line)}", file=sys.stderr)
    return path


def _wait_for_agreement(explorer: Explorer, performance: Performance, within_us: int) -> None:
    """Let time pass until it is seen that they never agree: nothing happens, or the same again and again."""
    if explorer.liveness is A2 and performance.is_cut:  # between nodes one of which is dead for ever
        performance.make(Move("strike", commands=("heal",)))
    ends_us = performance.now_us + within_us
    around = explorer.round or [Move("wait", us=within_us + 1)]
    while performance.now_us <= ends_us:
        for move in around:
            performance.make(move)
