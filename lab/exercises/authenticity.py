"""Decide whether a recording is an authentic run of its exercise: nothing edited, added or left out.

Four checks. (1) The header must equal the one that the exercise gives. (2) The nodes, re-executed from their
inputs, must produce the recorded steps. (3) The inputs, which a re-execution takes for granted, must be possible
in a world: a process is affected only by an allowed command; a message is lost, held or late only because of a
fault; a timer fires neither early nor much too late. (4) Keyframes and the end must hold the digests of the lines
before them, because answers and hints follow from nothing else.

The recording of a killed run has no end, and is graded as far as it goes. An answer after its last keyframe is not
protected, so the grade says that the end is missing. A recording made offline comes from the student's own
machine, where the program itself can be changed; no check of the recording helps against that. The server keeps
its students' recordings itself.
"""

from collections.abc import Callable
from pathlib import Path

from lab.exercises.attempt import attempt_config
from lab.exercises.exercise import Exercise
from lab.exercises.run_invariants import RunInvariants
from lab.recording.digest_chain import Chain
from lab.recording.reader import NotARecordingError, RecordStore
from lab.recording.records import End, Keyframe, Record
from lab.replay.reexecution import Reexecution
from lab.text import sanitize
from lab.worlds.config import header_of
from lab.worlds.targets import load_protocol

__all__ = ["authenticity_error"]


def authenticity_error(
    exercise: Exercise, store: RecordStore, progress: Callable[[int], None] = lambda done: None
) -> str:
    """Return the evidence that this is no authentic run of the exercise; empty if there is none.

    ``progress`` is called with the number of records checked, every thousand records.
    """
    if wrong := _header_error(exercise, store):
        return wrong
    try:
        run = Reexecution(store.header, load_protocol(exercise.setup.protocol), source_differs=False)
    except NotARecordingError as error:
        return str(error)
    laws, chain = RunInvariants(exercise, store.header, run.nodes), Chain(store.header)
    for number, record in enumerate(store.records()):
        if number % 1000 == 0:
            progress(number)
        if number in store.damage:
            return f"line {number + 1} cannot be read: {sanitize(store.damage[number], 100)}"
        if found := laws.observe(record) or run.check(number, record) or _chain_error(chain, record):
            return f"line {number + 1} is not authentic: {sanitize(found, 200)}"
        chain.add(store.raw(number) + b"\n", isinstance(record, Keyframe))
    return laws.finish()


def _header_error(exercise: Exercise, store: RecordStore) -> str:
    header, of = store.header, store.header.exercise
    if of is None or of.name != exercise.name:
        return f"it is not an attempt at {exercise.name}"
    config = attempt_config(exercise, of.student, of.attempt, Path())
    meant = header_of(config, load_protocol(exercise.setup.protocol))
    for name in ("world", "protocol", "nodes", "timing", "link", "seed", "parent", "scenario", "remark"):
        if getattr(header, name) != getattr(meant, name):
            if name == "protocol" and header.protocol.source != meant.protocol.source:
                return "its protocol source differs from this program's: another version, or edited"
            return f"its {name} differs from that of {exercise.name}: {sanitize(str(getattr(header, name)), 60)}"
    return ""


def _chain_error(chain: Chain, record: Record | None) -> str:
    if isinstance(record, Keyframe) != chain.is_keyframe_due:
        return "a keyframe is missing or misplaced"
    if isinstance(record, Keyframe | End) and record.digest != chain.digest:
        return "the lines before it were edited"
    return ""
