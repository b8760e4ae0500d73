"""The shortest counterexample of an exploration: a path of moves, performed by real nodes in virtual time."""

from contextlib import closing
from pathlib import Path

from msgspec import Struct

from lab.properties.assertions import A4, ENDS
from lab.properties.declarations import Bounded
from lab.properties.history_verdict import judge_history
from lab.properties.judge import Judge
from lab.properties.registry import assertions_of
from lab.protocols import Algorithm
from lab.recording.reader import open_recording
from lab.recording.records import Header
from lab.recording.writer import Writer
from lab.worlds.explored.explorer import Explorer
from lab.worlds.explored.path_execution import PathExecution
from lab.worlds.explored.states import Move, Timeouts


class ExploredPath(Struct, frozen=True):
    """The shortest path to a violation, all that is needed to perform it again.

    ``draws`` are the random numbers that each node draws at its first start. Of a liveness property, ``waits`` is
    true: after the moves, time passes until the recording shows that it does not hold; with ``heals``, after the
    cut that may be in force; and if the nodes go around in a cycle, ``cycle`` has its moves.
    """

    timeouts: Timeouts
    restarts: int
    draws: tuple[tuple[int, tuple[float, ...]], ...]
    moves: tuple[Move, ...]
    waits: bool = False
    heals: bool = False
    cycle: tuple[Move, ...] = ()

    @property
    def commands(self) -> tuple[str, ...]:
        """The faults, in their order, as commands."""
        found: list[str] = []
        for move in self.moves:
            found += move.commands
            found += [f"restart {move.node}"] if move.what == "restart" else []
            found += [command for _, command in move.during]
        return tuple(found)


def path_to_violation(explorer: Explorer, assertion: str, timeouts: Timeouts, restarts: int) -> ExploredPath:
    """Return the shortest path to a violation of the assertion."""
    state = explorer.first_found[assertion]
    return ExploredPath(
        timeouts,
        restarts,
        tuple(explorer.draws_before(state).items()),
        tuple(explorer.path_to(state)),
        waits=assertion in explorer.liveness,
        heals=assertion not in (A4.id, ENDS.id),
        cycle=tuple(explorer.cycles.get(assertion, ())),
    )


def is_shown(recording: Path, assertion: str) -> bool:
    """Return whether a recording shows a violation of the assertion.

    It does not if a node keeps the number of a request (``handled``) and answers when its sender waits no more,
    but for the answer to another request: in the search the two have the same number.
    """
    with closing(open_recording(recording)) as store:
        judge, records = Judge(store.header), list(store.records())
    for record in records:
        judge.observe(record)
    if (history := judge_history(records)) is not None:
        judge.conclude(history)
    return any(violation.assertion == assertion for violation in judge.violations)


def record_path(path: ExploredPath, assertion: str, protocol: type[Algorithm], writer: Writer) -> None:
    """Perform a path to a violation of the assertion, and close the writer. Raises OSError."""
    execution = PathExecution(protocol, writer, path.timeouts, path.restarts, dict(path.draws))
    for move in path.moves:
        execution.perform(move)
    if path.waits:
        _wait_for_agreement(path, execution, _bound_us(assertion, writer.header))
    execution.end(f"{assertion} does not hold")
    writer.close()


def _bound_us(assertion: str, header: Header) -> int:
    """Return how long it takes until a recording shows that a liveness property does not hold."""
    info = header.protocol
    declared = next((each for each in assertions_of(info) if each.id == assertion), None)
    if not isinstance(declared, Bounded):
        return info.settles_within_us
    return declared.within_us(header.timing, info.parameters, info.settles_within_us)


def _wait_for_agreement(path: ExploredPath, execution: PathExecution, within_us: int) -> None:
    """Let time pass until the recording shows the lack of agreement: by silence, or by the cycle."""
    if path.heals and execution.is_cut:  # it may stay in force around a node that is down
        execution.perform(Move("strike", commands=("heal",)))
    ends_us = execution.now_us + within_us
    around = path.cycle or (Move("wait", us=within_us + 1),)
    while execution.now_us <= ends_us:
        for move in around:
            execution.perform(move)
