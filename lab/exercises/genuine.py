"""Whether a recording is a run of its exercise, as this program makes one: nothing edited, added or left out.

Four things are looked at. Its header must be what the exercise begins with. The nodes, re-executed from their
inputs, must give the recorded steps. The inputs themselves, which a re-execution believes, must be such as a world
gives: a process is struck only by a command, and a command is one that was allowed; a message is lost, held or
late only by a fault; a timer fires not before its time, and not long after. And keyframes and end must have the
digests of the lines before them, as an answer, or that no hint was taken, follows from nothing.

A run that was killed has no end, and is graded as far as it goes; so an answer behind the last keyframe is only as
good as the student's word, and the grade says that the end is missing. And what is made offline is made on a
machine of the student's own, who could change the program itself: against that no look at a recording helps. The
server keeps its students' recordings to itself.
"""

from collections.abc import Callable
from pathlib import Path

from lab.exercises.attempt import attempt_config
from lab.exercises.exercise import Exercise
from lab.exercises.laws import Laws
from lab.recording.digest_chain import Chain
from lab.recording.reader import NotARecordingError, RecordStore
from lab.recording.records import End, Keyframe, Record
from lab.replay.reexecution import Reexecution
from lab.text import sanitize
from lab.worlds.config import header_of
from lab.worlds.targets import load_protocol

__all__ = ["why_not_genuine"]


def why_not_genuine(
    exercise: Exercise, lines: RecordStore, progress: Callable[[int], None] = lambda done: None
) -> str:
    """What shows that it is no run of this exercise; empty where nothing does.

    ``progress`` is told the number of records done, every thousand.
    """
    if wrong := _header_amiss(exercise, lines):
        return wrong
    try:
        run = Reexecution(lines.header, load_protocol(exercise.setup.protocol), source_differs=False)
    except NotARecordingError as error:
        return str(error)
    laws, chain = Laws(exercise, lines.header, run.nodes), Chain(lines.header)
    for number, record in enumerate(lines.records()):
        if number % 1000 == 0:
            progress(number)
        if number in lines.damage:
            return f"line {number + 1} cannot be read: {sanitize(lines.damage[number], 100)}"
        if found := laws.observe(record) or run.check(number, record) or _chain_amiss(chain, record):
            return f"line {number + 1} is not as it was: {sanitize(found, 200)}"
        chain.add(lines.raw(number) + b"\n", isinstance(record, Keyframe))
    return laws.finish()


def _header_amiss(exercise: Exercise, lines: RecordStore) -> str:
    header, of = lines.header, lines.header.exercise
    if of is None or of.name != exercise.name:
        return f"it is no attempt at {exercise.name}"
    config = attempt_config(exercise, of.student, of.attempt, Path())
    meant = header_of(config, load_protocol(exercise.setup.protocol))
    for name in ("world", "protocol", "nodes", "timing", "link", "seed", "parent", "scenario", "remark"):
        if getattr(header, name) != getattr(meant, name):
            if name == "protocol" and header.protocol.source != meant.protocol.source:
                return "its protocol's source is not that of this program: other version, or edited"
            return f"its {name} is not as {exercise.name} begins: {sanitize(str(getattr(header, name)), 60)}"
    return ""


def _chain_amiss(chain: Chain, record: Record | None) -> str:
    if isinstance(record, Keyframe) != chain.is_keyframe_due:
        return "keyframes are not where they would be"
    if isinstance(record, Keyframe | End) and record.digest != chain.digest:
        return "the lines before it were edited"
    return ""
