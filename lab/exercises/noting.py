"""What an attempt came to, read from its recording, and noted as its session would have done."""

import contextlib
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from lab.exercises.assessment import Assessment
from lab.exercises.exercise import Exercise
from lab.exercises.home import Home
from lab.recording.reader import open_recording
from lab.recording.records import Header

__all__ = ["note_recording", "time_of"]


def note_recording(home: Home, recording: Path, exercises: Mapping[str, Exercise]) -> None:
    """Note in its student's folder what this attempt came to. NotARecordingError, OSError.

    What is no attempt of the student's, at one of these exercises, is passed over.
    """
    with contextlib.closing(open_recording(recording)) as lines:
        of = lines.header.exercise
        if of is None or of.student != home.student or of.name not in exercises:
            return
        assessment = Assessment(exercises[of.name], lines.header)
        for record in lines.records():
            assessment.observe(record)
        stand, solved = assessment.stand, ""
        if stand.is_solved:
            decided = lines.record(max(result.record for result in stand.results))
            solved = time_of(lines.header, getattr(decided, "at_us", 0), recording).isoformat(timespec="seconds")
        home.note(exercises[of.name], of.attempt, stand.results, solved)


def time_of(header: Header, at_us: int, recording: Path) -> datetime:
    """When that was; in a simulated run, whose time is its own, when it was written to last."""
    if header.began:
        return datetime.fromisoformat(header.began) + timedelta(microseconds=at_us)
    return datetime.fromtimestamp(recording.stat().st_mtime, UTC)
