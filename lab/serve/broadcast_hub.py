"""The hub between teacher and sessions: it forwards the teacher's notices, and collects votes.

Control of a cluster and a lecture last as long as the teacher's connection, however it ends. How far a lecture
from a file was given is stored in its folder, so the next connection can go on there, with the vote that was open.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec.structs import replace

from lab.exercises.teacher import (
    LONGEST_TEXT,
    Announcement,
    Audience,
    LecturePosition,
    Notice,
    ServerAdminError,
    ShownLecture,
    TeacherControl,
    VoteQuestion,
    VoteTally,
    Welcome,
)
from lab.lectures.lecture import LONGEST_TITLE
from lab.lectures.presentation import LectureProgress, read_progress, write_progress
from lab.serve.data_folder import ServerLog
from lab.text import sanitize

_LONGEST_EXPLANATION = 4000
_MOST_CHOICES = 9
_Send = Callable[[Notice], None]


class BroadcastHub:
    """Connects the teacher with all sessions.

    ``lectures_at_once``: a lecture is shown to all at once, not only to those who log in later.
    ``persistent_notices`` returns what each session of a student is sent first.
    """

    def __init__(
        self,
        log: ServerLog,
        lectures_at_once: bool = False,
        persistent_notices: Callable[[str], Sequence[Notice]] = lambda student: (),
    ) -> None:
        self._log = log
        self._persistent_notices = persistent_notices
        self._lectures_at_once = lectures_at_once
        self._sessions: dict[str, list[_Send]] = {}
        self._controlled: dict[str, int] = {}
        self.lecture: ShownLecture | None = None
        self._progress = LectureProgress()
        self._following: set[str] = set()
        self._question: VoteQuestion | None = None
        self._asked_in = ""
        """The folder of the lecture in which the question was asked."""
        self._key = "", ""
        self._votes: dict[str, int] = {}
        self._serial = 0
        self._welcomes: dict[str, str] = {}

    # sessions

    def greet(self, student: str, text: str) -> None:
        """Show this in the student's next session, until it is dismissed."""
        self._welcomes[student] = text

    @contextmanager
    def subscription(self, student: str, send: _Send) -> Iterator[None]:
        """Pass notices for this student to ``send`` while this lasts, starting with those in force."""
        self._sessions.setdefault(student, []).append(send)
        for notice in self._persistent_notices(student):
            send(notice)
        if welcome := self._welcomes.pop(student, ""):
            send(Welcome(sanitize(welcome)))
        if self._controlled.get(student):
            send(TeacherControl(held=True))
        if self.lecture is not None:
            send(replace(self.lecture, at_once=True))
            if self.lecture.folder:
                for step, tally in self._progress.tallies.items():
                    if self._question is None or step != self._question.step:
                        send(tally)
                send(self._progress.position)
            if self._question is not None:
                send(self._question)
        try:
            yield
        finally:
            self._sessions[student].remove(send)
            if not self._sessions[student]:
                del self._sessions[student]
                self._following.discard(student)

    def vote(self, student: str, serial: int, choice: int) -> None:
        """Count the student's vote; the last one counts while the vote is open."""
        question = self._question
        if question is not None and question.serial == serial and 0 <= choice < len(question.options):
            self._votes[student] = choice

    def report_following(self, student: str, follows: bool) -> None:
        """Note whether this student follows the lecture."""
        (self._following.add if follows else self._following.discard)(student)

    def renew_notices(self, student: str = "") -> None:
        """Send this student, or all, their persistent notices again: they have changed."""
        for name in [student] if student else list(self._sessions):
            for notice in self._persistent_notices(name):
                self._send(name, notice)

    # the teacher

    def has_control(self, student: str) -> bool:
        """Return whether the teacher controls this student's cluster."""
        return bool(self._controlled.get(student))

    def notify(self, students: tuple[str, ...], text: str) -> list[str]:
        """Send a message to these students, or to all who are logged in; return who received it.

        Raises ServerAdminError.
        """
        message = _clean_text(text)
        named = students or tuple(self._sessions)
        missing = [name for name in named if name not in self._sessions]
        if missing:
            raise ServerAdminError(
                f"{', '.join(sanitize(name, 40) for name in missing)} is not logged in; see lab serve status"
            )
        for name in named:
            self._send(name, Announcement(message))
        self._log.write("message", f"to {', '.join(named) if students else 'all'}: {message}")
        return list(named)

    @contextmanager
    def control_of(self, student: str, recording: str) -> Iterator[None]:
        """Share control of this student's cluster while this lasts, and notify the student.

        Raises ServerAdminError.
        """
        if not recording:
            raise ServerAdminError(f"{sanitize(student, 40)} has no cluster at the moment")
        self._controlled[student] = self._controlled.get(student, 0) + 1
        self._log.write("control", f"the teacher takes control of {recording}", student=student)
        self._send(student, TeacherControl(held=True))
        try:
            yield
        finally:
            self._controlled[student] -= 1
            if not self._controlled[student]:
                self._log.write("control", "the teacher releases control", student=student)
                self._send(student, TeacherControl(held=False))

    @contextmanager
    def lecture_on(self, socket: str, title: str, folder: str = "") -> Iterator[None]:
        """Show the cluster whose feed is on this socket to all, or the lecture in this folder.

        Raises ServerAdminError.
        """
        if self.lecture is not None:
            raise ServerAdminError(f"a lecture is already in progress: {self.lecture.title}; end it with q")
        self._progress = read_progress(Path(folder)) if folder else LectureProgress()
        self.lecture = ShownLecture(socket, sanitize(title, LONGEST_TITLE), self._lectures_at_once, folder)
        self._log.write("lecture", self.lecture.title)
        self._send_all(self.lecture)
        if self._asked_in != folder:
            self._question = None
        if self._question is not None:
            self._send_all(self._question)
        try:
            yield
        finally:
            is_interrupted = bool(folder) and not self._progress.is_over
            self.lecture = None
            if not is_interrupted:
                self._question = None
            self._following.clear()
            self._log.write("lecture", "interrupted" if is_interrupted else "over")
            self._send_all(ShownLecture("", "", interrupted=is_interrupted))
            if folder:
                self.renew_notices()

    def show_position(self, position: LecturePosition) -> Audience:
        """Show the class where the teacher is in a lecture from a file; return who is there.

        Raises ServerAdminError, and OSError if it cannot be stored.
        """
        folder, before = self._lecture_folder(), self._progress.position
        if position != before:
            self._progress = replace(self._progress, position=position)
            self._send_all(position)
            if (position.place, position.shown) != (before.place, before.shown):
                write_progress(self._progress, folder)
        return Audience(len(self._sessions), len(self._following))

    def end_lecture(self) -> None:
        """Note that a lecture from a file is over, and not interrupted. Raises ServerAdminError and OSError."""
        self._progress = replace(self._progress, is_over=True)
        write_progress(self._progress, self._lecture_folder())

    def _lecture_folder(self) -> Path:
        if self.lecture is None or not self.lecture.folder:
            raise ServerAdminError("no lecture from a file is in progress; begin one: lab serve lecture FILE.md")
        return Path(self.lecture.folder)

    def ask(
        self, text: str, options: tuple[str, ...], step: int = 0, answer: str = "", explanation: str = ""
    ) -> None:
        """Ask all who are logged in, and all who log in while the vote is open.

        ``answer`` and ``explanation`` are shown when the vote is closed. Raises ServerAdminError.
        """
        if not 2 <= len(options) <= _MOST_CHOICES:
            raise ServerAdminError(
                f'write a question and 2 to {_MOST_CHOICES} choices: ask "who leads next?" | 4 | 5'
            )
        self._serial += 1
        cleaned = tuple(_clean_text(choice) for choice in options)
        self._question = VoteQuestion(self._serial, _clean_text(text), cleaned, step)
        self._asked_in = "" if self.lecture is None else self.lecture.folder
        self._key = sanitize(answer, LONGEST_TEXT), " ".join(explanation.split())[:_LONGEST_EXPLANATION]
        self._votes = {}
        self._log.write("asked", f"{self._question.text}: {' | '.join(self._question.options)}")
        self._send_all(self._question)

    def tally(self) -> VoteTally:
        """Return the votes so far. Raises ServerAdminError."""
        if self._question is None:
            raise ServerAdminError('no vote is open; in a lecture, type ask "TEXT" | CHOICE | CHOICE')
        return self._tally(self._question, is_open=True)

    def close_vote(self) -> VoteTally:
        """Close the vote, and send the tally to all.

        Raises ServerAdminError, and OSError if the tally of a lecture from a file cannot be stored.
        """
        self.tally()
        assert self._question is not None
        tally = self._tally(self._question, is_open=False)
        answer, explanation = self._key
        tally = replace(tally, answer=answer, explanation=explanation)
        self._question = None
        message = (f"{choice} {count}" for choice, count in zip(tally.options, tally.votes, strict=True))
        self._log.write("tally", f"{tally.text}: {', '.join(message)}")
        self._send_all(tally)
        if tally.step and self.lecture is not None and self.lecture.folder:
            self._progress = replace(self._progress, tallies=self._progress.tallies | {tally.step: tally})
            write_progress(self._progress, Path(self.lecture.folder))
        return tally

    def _tally(self, question: VoteQuestion, is_open: bool) -> VoteTally:
        votes = list(self._votes.values())
        counts = tuple(votes.count(place) for place in range(len(question.options)))
        return VoteTally(question.serial, question.text, question.options, counts, is_open, question.step)

    def _send_all(self, notice: Notice) -> None:
        for student in list(self._sessions):
            self._send(student, notice)

    def _send(self, student: str, notice: Notice) -> None:
        for notify in self._sessions.get(student, []):
            notify(notice)


def _clean_text(text: str) -> str:
    message = sanitize(" ".join(text.split()))
    if not message:
        raise ServerAdminError("the text is empty")
    if len(message) > LONGEST_TEXT:
        raise ServerAdminError(f"{len(message)} characters; at most {LONGEST_TEXT} fit the students' screens")
    return message
