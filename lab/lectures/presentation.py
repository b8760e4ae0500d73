"""The part of a lecture that is shown: its steps, the recordings of its runs, and the records at which they stop.

In a folder it is what a class sees and keeps: without the teacher's notes. ``progress.json`` beside it says how
far the lecture was given, so that it can go on there.
"""

from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from lab.durable import write_durably
from lab.exercises.exercise import AnswerKey
from lab.exercises.teacher import LecturePosition, VoteTally
from lab.lectures.lecture import LectureStep, Question
from lab.text import UserError

T = TypeVar("T", bound=Struct)

_PRESENTATION, _PROGRESS = "lecture.json", "progress.json"


_LEAST_READING_US, _PER_CHARACTER_US = 2_000_000, 40_000
THINKING_US = 5_000_000
"""The time that a film gives to think about a question."""


def reading_us(words: str) -> int:
    """Return how long a film shows a text."""
    return _LEAST_READING_US + _PER_CHARACTER_US * len(words)


class Stop(Struct, frozen=True):
    """A point at which a run stops: the number of a record, and its time."""

    record: int
    at_us: int


class PresentedRun(Struct, frozen=True):
    """The recording of a run, and the stops of its steps by their numbers.

    A stop that the run did not reach is not among them. ``protocol`` is the target from which it is loaded.
    """

    file: str
    stops: dict[int, Stop]
    protocol: str


class Presentation(Struct, frozen=True):
    """The steps of a lecture and their runs. ``digest`` is that of the lecture's text."""

    name: str
    title: str
    steps: tuple[LectureStep, ...]
    runs: tuple[PresentedRun, ...]
    digest: str = ""

    def run_of(self, step: LectureStep) -> PresentedRun:
        """Return the run that a step shows, or the first one if none has begun."""
        return self.runs[step.run or 0]

    def stop_of(self, step: LectureStep) -> Stop | None:
        """Return where this step stops; None if it shows no run."""
        return self.run_of(step).stops.get(step.number) if step.shows_run else None

    def begin_of(self, step: LectureStep) -> Stop:
        """Return where a step begins to show its run: where the step before stopped, or at its start."""
        stops = [stop for number, stop in self.run_of(step).stops.items() if number < step.number]
        return max(stops, key=lambda stop: stop.record, default=Stop(0, 0))

    def in_class(self) -> "Presentation":
        """Return what a class may see of it: no notes, and not what the answers follow from."""
        return replace(self, steps=tuple(map(_in_class, self.steps)))

    def in_folder(self, folder: Path) -> "Presentation":
        """Return it with the recordings of this folder; they have the same names."""
        runs = (replace(run, file=str(folder / Path(run.file).name)) for run in self.runs)
        return replace(self, runs=tuple(runs))


def _in_class(step: LectureStep) -> LectureStep:
    question = step.question
    asked = None if question is None else replace(question, key=AnswerKey())
    return replace(step, notes="", question=asked)


class PresentationHead(Struct, frozen=True):
    """The part of a presentation that a list of lectures needs."""

    name: str
    title: str
    digest: str


class PresentationError(UserError):
    """The folder has no lecture that this version can show; the text is for the user."""


class LectureProgress(Struct, frozen=True):
    """The progress of a lecture: the teacher's last position, and the votes that were closed, by step.

    ``is_over``: the teacher has ended it; otherwise it may go on. ``is_replaced``: it goes on in another folder,
    since its text was edited.
    """

    position: LecturePosition = LecturePosition()
    tallies: dict[int, VoteTally] = field(default_factory=dict)
    is_over: bool = False
    is_replaced: bool = False


def progress_after_edit(progress: LectureProgress, before: Presentation, after: Presentation) -> LectureProgress:
    """Return how far a lecture was given, in the steps that it has after an edit.

    A step is known by its title, or else by its number. A vote is kept if its step still asks the same question.
    """

    def place_of(place: int) -> int:
        title = before.steps[place].title
        places = [each for each, step in enumerate(after.steps) if step.title == title]
        return min(places, key=lambda each: abs(each - place), default=min(place, len(after.steps) - 1))

    place, reached = place_of(progress.position.place), place_of(progress.position.reached)
    reached = max(place, reached)
    shown = [0] * len(after.runs)
    for step in after.steps[:reached]:
        if (stop := after.stop_of(step)) is not None:
            shown[step.run or 0] = max(shown[step.run or 0], stop.record)
    tallies = {}
    for number, tally in progress.tallies.items():
        step = after.steps[place_of(number - 1)]
        if step.question is not None and _is_vote_on(tally, step.question):
            tallies[step.number] = replace(tally, step=step.number)
    record = shown[after.steps[place].run or 0]
    return LectureProgress(LecturePosition(place, record, reached=reached, shown=tuple(shown)), tallies)


def _is_vote_on(tally: VoteTally, question: Question) -> bool:
    asked = (" ".join(text.split()) for text in (question.text, *question.options))
    return tuple(asked) == (tally.text, *tally.options)


def write_presentation(presentation: Presentation, folder: Path) -> None:
    """Store what a class may see in this folder, where its recordings are. Raises OSError."""
    stored = presentation.in_class().in_folder(Path())  # the folder may be moved
    write_durably(folder / _PRESENTATION, msgspec.json.encode(stored))


def read_presentation(folder: Path) -> Presentation:
    """Read the lecture in this folder. Raises PresentationError."""
    return _read(folder, Presentation).in_folder(folder)


def read_head(folder: Path) -> PresentationHead:
    """Read the title and the digest of the lecture in this folder. Raises PresentationError."""
    return _read(folder, PresentationHead)


def _read(folder: Path, kind: type[T]) -> T:
    try:
        return msgspec.json.decode((folder / _PRESENTATION).read_bytes(), type=kind)
    except OSError as error:
        raise PresentationError(f"{folder} has no lecture: {error.strerror}") from None
    except msgspec.DecodeError as error:
        raise PresentationError(f"{folder}: the lecture is damaged, or of another version: {error}") from None


def write_progress(progress: LectureProgress, folder: Path) -> None:
    """Store how far the lecture in this folder was given. Raises OSError."""
    write_durably(folder / _PROGRESS, msgspec.json.encode(progress))


def read_progress(folder: Path) -> LectureProgress:
    """Read how far the lecture in this folder was given; nothing was shown of one without that."""
    with suppress(OSError, msgspec.DecodeError):
        return msgspec.json.decode((folder / _PROGRESS).read_bytes(), type=LectureProgress)
    return LectureProgress()
