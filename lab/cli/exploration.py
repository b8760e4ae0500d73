"""Carrying out ``lab explore``, and telling what came of it."""

import sys
import time
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from lab.cli.errors import EXIT_INTERRUPTED, EXIT_NOT_AS_EXPECTED, UsageError
from lab.cli.settings import parameters_of, protocol_named
from lab.journal import Header, Link, Writer
from lab.kernel import Timing
from lab.properties import A2, ASSERTIONS
from lab.protocols import Election
from lab.text import sanitize
from lab.worlds.config import RunConfig, header_of
from lab.worlds.explored.explorer import INTERRUPTED, Explorer, NeverSettledError, Tally
from lab.worlds.explored.local import SendsInstantsError
from lab.worlds.explored.moves import Move, Timeouts
from lab.worlds.explored.performing import Performance

__all__ = ["Options", "run_explore"]

_TM_US = 100_000
_TELL_EVERY_S = 0.2


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
    telling = _Telling(explorer)
    try:
        tally = explorer.run(options.states, options.depth, telling.progress)
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
    finally:
        telling.done()
    _report(options, explorer, tally, telling.seconds)
    if explorer.violated:
        _record(options, protocol, header, explorer)
    if tally.cut == INTERRUPTED:
        return EXIT_INTERRUPTED
    return EXIT_NOT_AS_EXPECTED if explorer.violated else 0


def _header(options: Options, protocol: type[Election]) -> Header:
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
    if out is not None and out.suffix != ".jsonl":
        raise UsageError(f"--out {out}: name a .jsonl file")
    if out is not None and not out.absolute().parent.is_dir():
        raise UsageError(f"--out {out}: there is no folder {out.absolute().parent}")


class _Telling:
    """Shows on a terminal how far the search is; ``seconds`` is how long it took."""

    def __init__(self, explorer: Explorer) -> None:
        self.seconds = 0.0
        self._explorer = explorer
        self._began = time.monotonic()
        self._told = self._began
        self._shows = sys.stderr.isatty()

    def progress(self) -> None:
        """Tell, if it is time to."""
        now = time.monotonic()
        if not self._shows or now - self._told < _TELL_EVERY_S:
            return
        self._told = now
        tally = self._explorer.tally
        rate = tally.states / (now - self._began)
        text = (
            f"depth {tally.depth}, {tally.states:,} states, {tally.waiting:,} to go on from, {rate:,.0f} states/s"
        )
        print(f"\r{text:<78}", end="", file=sys.stderr, flush=True)

    def done(self) -> None:
        """Take it away again."""
        self.seconds = time.monotonic() - self._began
        if self._shows:
            print("\r" + " " * 78 + "\r", end="", file=sys.stderr, flush=True)


def _report(options: Options, explorer: Explorer, tally: Tally, seconds: float) -> None:
    begin = "from all Normal" if options.settled else "from the first start"
    print(
        f"{sanitize(options.target)}, {_count(options.nodes, 'node')}, {begin}, timeouts {options.timeouts}, "
        f"at most {_count(options.kills, 'kill')} and {_count(options.restarts, 'restart')}"
    )
    print(
        f"  {_count(tally.states, 'state')}, {_count(tally.transitions, 'transition')}, "
        f"up to {_count(tally.depth, 'move')} deep; {_count(explorer.locals.replays, 'replay')}; "
        f"{seconds:.1f} s, {tally.transitions / max(seconds, 1e-3):,.0f} transitions/s"
    )
    if tally.cut:
        print(f"  not exhaustive: stopped at {tally.cut}, with {_count(tally.waiting, 'state')} to go on from")
    else:
        print("  exhaustive: nothing else can happen")
    for assertion, count in tally.violated.items():
        if count:
            moves = explorer.moves_to(assertion)
            verdict = f"violated in {_count(count, 'state')}, the first after {_count(moves, 'move')}"
        else:
            known = assertion != A2.id or (explorer.judges_liveness and not tally.cut)
            verdict = "holds" if known else "not judged; but wherever nothing can happen any more, all agree"
        print(f"  {assertion:7}{verdict}  ({ASSERTIONS[assertion].short})")


def _record(options: Options, protocol: type[Election], header: Header, explorer: Explorer) -> None:
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
    print(f"recorded: {sanitize(str(path))}, the shortest violation found, of {assertion}")
    print(f"replay:   lab replay {sanitize(str(path))}")


def _wait_for_agreement(explorer: Explorer, performance: Performance, within_us: int) -> None:
    """Let time pass until A2 is seen not to hold: nothing happens, or the same again and again."""
    ends_us = performance.now_us + within_us
    around = explorer.round or [Move("wait", us=within_us + 1)]
    while performance.now_us <= ends_us:
        for move in around:
            performance.make(move)


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" + ("" if number == 1 else "s")
