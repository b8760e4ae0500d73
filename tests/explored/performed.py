"""Execute the moves of an explorer on real nodes, and judge the records."""

from pathlib import Path

from lab.kernel import Step
from lab.properties.judge import Judge
from lab.properties.verdicts import Violation
from lab.protocols import Algorithm, Election, source_of
from lab.recording.reader import open_recording
from lab.recording.records import Header, Record
from lab.recording.writer import MemoryLog, Writer
from lab.replay.reexecution import reexecute
from lab.worlds.explored.counterexample import PathExecution
from lab.worlds.explored.states import Move, Timeouts
from tests.explored.toys import header_of

__all__ = ["assert_it_re_executes", "judged", "performed"]


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


def assert_it_re_executes(records: list[Record], protocol: type[Algorithm], path: Path) -> None:
    """Write the records as a recording, and execute all of its steps again."""
    header, *others = records
    assert isinstance(header, Header)
    writer = Writer(path, header)
    for record in others:
        writer.append(record)
    writer.close()
    report = reexecute(open_recording(path), protocol, source_of(protocol)[1])
    assert report.holds
    assert report.steps == sum(isinstance(record, Step) for record in records)
