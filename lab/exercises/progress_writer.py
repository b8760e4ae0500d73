"""Derive the progress of an attempt from its recording, and store it as its session would have done."""

import contextlib
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from lab.exercises.assessment import Assessment
from lab.exercises.exercise import Exercise
from lab.exercises.student_folder import StudentFolder
from lab.recording.reader import open_recording
from lab.recording.records import Header

__all__ = ["record_progress", "record_time"]


def record_progress(folder: StudentFolder, recording: Path, exercises: Mapping[str, Exercise]) -> None:
    """Store in the student's folder what this attempt achieved. Raises NotARecordingError or OSError.

    A recording that is not this student's attempt at one of these exercises is ignored.
    """
    with contextlib.closing(open_recording(recording)) as store:
        of = store.header.exercise
        if of is None or of.student != folder.student or of.name not in exercises:
            return
        assessment = Assessment(exercises[of.name], store.header)
        for record in store.records():
            assessment.observe(record)
        status, solved = assessment.status, ""
        if status.is_solved:
            decided = store.record(max(result.record for result in status.results))
            solved = record_time(store.header, getattr(decided, "at_us", 0), recording).isoformat(
                timespec="seconds"
            )
        folder.note(exercises[of.name], of.attempt, status.results, solved)


def record_time(header: Header, at_us: int, recording: Path) -> datetime:
    """Return when that was. A simulated run has its own time, so for it return when the file was last written."""
    if header.began:
        return datetime.fromisoformat(header.began) + timedelta(microseconds=at_us)
    return datetime.fromtimestamp(recording.stat().st_mtime, UTC)
