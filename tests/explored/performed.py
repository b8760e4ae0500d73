"""Execute the moves of an explorer on real nodes, and judge the records."""

from lab.properties.judge import Judge
from lab.properties.verdicts import Violation
from lab.protocols import Election
from lab.recording.records import Record
from lab.recording.writer import MemoryLog
from lab.worlds.explored.path_execution import PathExecution
from lab.worlds.explored.states import Move, Timeouts
from tests.explored.toys import header_of

__all__ = ["judged", "performed"]


def performed(
    protocol: type[Election], count: int, timeouts: Timeouts, restarts: int, path: list[Move], quiet_us: int = 0
) -> list[Record]:
    """Return the records of the moves."""
    log = MemoryLog(header_of(protocol, count))
    execution = PathExecution(protocol, log, timeouts, restarts)
    for move in (*path, Move("wait", us=quiet_us)):
        execution.perform(move)
    execution.end("the test ended")
    return log.records


def judged(protocol: type[Election], count: int, records: list[Record]) -> list[Violation]:
    """Return the violations that the judge finds in these records."""
    judge = Judge(header_of(protocol, count))
    for record in records:
        judge.observe(record)
    return judge.violations
