"""Whether a recording is a run of its exercise, as this program makes one: nothing edited, added or left out.

Three things are looked at. Its header must be what the exercise begins with. The nodes, re-executed from their
inputs, must give the recorded steps. And the inputs themselves, which a re-execution believes, must be such as a
world gives: a process is struck only by a command, and a command is one that was allowed; a message is lost, held
or late only by a fault; a timer fires not before its time, and not long after.

What is made offline is made on a machine of the student's own, who could change the program itself: against that
no look at a recording helps. The server keeps its students' recordings to itself.
"""

from collections.abc import Callable
from pathlib import Path

from lab.exercises.attempt import attempt_config
from lab.exercises.exercise import Exercise
from lab.exercises.laws import Laws
from lab.journal import Lines, NotARecordingError, Reexecution
from lab.text import sanitize
from lab.worlds.config import header_of
from lab.worlds.targets import load_protocol

__all__ = ["why_not_genuine"]


def why_not_genuine(exercise: Exercise, lines: Lines, progress: Callable[[int], None] = lambda done: None) -> str:
    """What shows that it is no run of this exercise; empty where nothing does.

    ``progress`` is told the number of records done, every thousand.
    """
    if wrong := _header_amiss(exercise, lines):
        return wrong
    try:
        run = Reexecution(lines.header, load_protocol(exercise.setup.protocol), source_differs=False)
    except NotARecordingError as error:
        return str(error)
    laws = Laws(exercise, lines.header, run.nodes)
    for number, record in enumerate(lines.records()):
        if number % 1000 == 0:
            progress(number)
        if number in lines.damage:
            return f"line {number + 1} cannot be read: {sanitize(lines.damage[number], 100)}"
        if found := laws.observe(record) or run.check(number, record):
            return f"line {number + 1} is not as it was: {sanitize(found, 200)}"
    return laws.finish()


def _header_amiss(exercise: Exercise, lines: Lines) -> str:
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
