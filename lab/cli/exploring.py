"""``lab explore``: the search, told as it goes on, and a recording of the shortest violation."""

import contextlib
import sys
import time
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from lab.cli.errors import EXIT_INTERRUPTED, EXIT_NOT_AS_EXPECTED, UsageError
from lab.cli.failures import failed_steps, failure_lines
from lab.cli.files import writable_recording
from lab.cli.progress import progress_line
from lab.cli.settings import parameters_of, protocol_named
from lab.journal import Header, Link, Writer, open_recording
from lab.kernel import Timing
from lab.properties import A2, ASSERTIONS
from lab.protocols import Algorithm
from lab.text import sanitize
from lab.units import count_of
from lab.worlds.config import RunConfig, header_of
from lab.worlds.explored.explorer import INTERRUPTED, Explorer, NeverSettledError, Tally
from lab.worlds.explored.local import SendsInstantsError
from lab.worlds.explored.moves import Move, Timeouts
from lab.worlds.explored.performing import Performance

__all__ = ["Options", "run_explore"]

_TM_US = 100_000


class Options(Struct, frozen=True):
    """What is to be explored, and up to where."""

    target: str
    nodes: int
    kills: int
    restarts: int
    timeouts: Timeouts
    settled: bool
    states: int
    depth: int | None
    settings: list[str]
    out: Path | None


def run_explore(options: Options) -> int:
    """Explore, report, and record the shortest violation."""
    protocol = protocol_named(options.target)
    header = _header(options, protocol)
    _check_out(options.out)
    explorer = Explorer(
        protocol, header, options.timeouts, options.kills, options.restarts, settled=options.settled
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
        raise UsageError(
            f"{options.target} puts the time of its clock into {error}: explore knows no clock that all share; "
            "send how long ago it was"
        ) from None
    _report(options, explorer, tally, time.monotonic() - began_s)
    if explorer.violated:
        _record(options, protocol, header, explorer)
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


def _check_out(out: Path | None) -> None:
    if out is not None:
        if out.suffix != ".jsonl":
            raise UsageError(f"--out {out}: name a .jsonl file")
        writable_recording("--out", out)


def _so_far(tally: Tally, seconds: float) -> str:
    seen, rate = count_of(tally.states, "state"), tally.states / max(seconds, 1e-3)
    return f"depth {tally.depth}, {seen}, {tally.waiting:,} to go on from, {rate:,.0f} states/s"


def _report(options: Options, explorer: Explorer, tally: Tally, seconds: float) -> None:
    begin = "from all Normal" if options.settled else "from the first start"
    print(
        f"{sanitize(options.target)}, {count_of(options.nodes, 'node')}, {begin}, timeouts {options.timeouts}, "
        f"at most {count_of(options.kills, 'kill')} and {count_of(options.restarts, 'restart')}"
    )
    print(
        f"  {count_of(tally.states, 'state')}, {count_of(tally.transitions, 'transition')}, "
        f"up to {count_of(tally.depth, 'move')} deep; {count_of(explorer.locals.replays, 'replay')}; "
        f"{seconds:.1f} s, {tally.transitions / max(seconds, 1e-3):,.0f} transitions/s"
    )
    if tally.cut:
        print(f"  not exhaustive: stopped at {tally.cut}, with {count_of(tally.waiting, 'state')} to go on from")
    else:
        print("  exhaustive: nothing else can happen")
    for assertion, count in tally.violated.items():
        if count:
            moves = explorer.moves_to(assertion)
            verdict = f"violated in {count_of(count, 'state')}, the first after {count_of(moves, 'move')}"
        else:
            verdict = _unviolated(assertion, explorer, tally)
        print(f"  {assertion:7}{verdict}  ({ASSERTIONS[assertion].short})")


def _unviolated(assertion: str, explorer: Explorer, tally: Tally) -> str:
    """What can be said of an assertion that was not seen violated."""
    if assertion == A2.id and not tally.cut and not explorer.agrees:
        return "not judged: no node is left that could agree"
    if assertion == A2.id and (tally.cut or not explorer.judges_liveness):
        return "not judged; but wherever nothing can happen any more, all agree"
    return f"no violation in {count_of(tally.states, 'state')}" if tally.cut else "holds"


def _record(options: Options, protocol: type[Algorithm], header: Header, explorer: Explorer) -> None:
    assertion = explorer.violated[0]
    path = options.out or Path(f"{protocol.name}-{assertion}-{options.timeouts}.jsonl")
    writer = Writer(path, header)
    performance = Performance(protocol, header, writer, options.timeouts, options.restarts)
    for move in explorer.path_to(explorer.first_found[assertion]):
        performance.make(move)
    if assertion == A2.id:
        _wait_for_agreement(explorer, performance, header.protocol.settles_within_us)
    performance.end(f"{assertion} does not hold")
    writer.close()
    with contextlib.closing(open_recording(path)) as lines:
        for line in failure_lines(failed_steps(lines), header.protocol.file):
            print(f"lab: {sanitize(line)}", file=sys.stderr)
    print(f"recorded: {sanitize(str(path))}, the shortest violation found, of {assertion}")
    print(f"replay:   lab replay {sanitize(str(path))}")


def _wait_for_agreement(explorer: Explorer, performance: Performance, within_us: int) -> None:
    """Let time pass until A2 is seen not to hold: nothing happens, or the same again and again."""
    ends_us = performance.now_us + within_us
    around = explorer.round or [Move("wait", us=within_us + 1)]
    while performance.now_us <= ends_us:
        for move in around:
            performance.make(move)
