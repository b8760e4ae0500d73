"""Record the shortest counterexample of an exploration: its path is performed by real nodes in virtual time."""

from lab.properties.assertions import A4, ENDS
from lab.protocols import Algorithm
from lab.recording.writer import Writer
from lab.worlds.explored.explorer import Explorer
from lab.worlds.explored.path_execution import PathExecution
from lab.worlds.explored.states import Move, Timeouts


def record_counterexample(
    explorer: Explorer,
    assertion: str,
    protocol: type[Algorithm],
    writer: Writer,
    timeouts: Timeouts,
    restarts: int,
) -> None:
    """Write the shortest path to a violation of the assertion, and close the writer. Raises OSError."""
    state = explorer.first_found[assertion]
    execution = PathExecution(protocol, writer, timeouts, restarts, explorer.draws_before(state))
    for move in explorer.path_to(state):
        execution.perform(move)
    if assertion in explorer.liveness:
        _wait_for_agreement(explorer, assertion, execution, writer.header.protocol.settles_within_us)
    execution.end(f"{assertion} does not hold")
    writer.close()


def _wait_for_agreement(explorer: Explorer, assertion: str, execution: PathExecution, within_us: int) -> None:
    """Let time pass until the recording shows the lack of agreement: by silence, or by the cycle."""
    if assertion not in (A4.id, ENDS.id) and execution.is_cut:  # it may stay in force around a node that is down
        execution.perform(Move("strike", commands=("heal",)))
    ends_us = execution.now_us + within_us
    around = explorer.cycles.get(assertion) or [Move("wait", us=within_us + 1)]
    while execution.now_us <= ends_us:
        for move in around:
            execution.perform(move)
