"""Moves that the explorer found, made by real nodes, and judged as any run is."""

from lab.properties import Judge, Violation
from lab.protocols import Election
from lab.recording.memory import MemoryLog
from lab.recording.records import Record
from lab.worlds.explored.performing import Performance
from lab.worlds.explored.states import Move, Timeouts
from tests.explored.toys import header_of

__all__ = ["judged", "performed"]


def performed(
    protocol: type[Election], count: int, timeouts: Timeouts, restarts: int, path: list[Move], quiet_us: int = 0
) -> list[Record]:
    """The records of the moves."""
    log = MemoryLog(header_of(protocol, count))
    performance = Performance(protocol, log.header, log, timeouts, restarts)
    for move in (*path, Move("wait", us=quiet_us)):
        performance.make(move)
    performance.end("the test ended")
    return log.records


def judged(protocol: type[Election], count: int, records: list[Record]) -> list[Violation]:
    """What the judge finds in a run of so many nodes."""
    judge = Judge(header_of(protocol, count))
    for record in records:
        judge.observe(record)
    return judge.violations
