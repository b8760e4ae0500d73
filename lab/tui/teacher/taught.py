"""The exercises as a student on a server sees them: with what the teacher says, asks and shows."""

import asyncio
import contextlib
from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.screen import Screen

from lab.exercises.clusters import Clusters
from lab.exercises.exercise import Exercise
from lab.exercises.home import Home
from lab.exercises.teacher import Announcement, Asked, KeysTaken, Lecture, Notice, Tally, Teacher
from lab.text import sanitize
from lab.tui.classroom.app import ClassroomApp
from lab.tui.classroom.dialogs import ChoiceDialog
from lab.tui.classroom.listing import ListScreen
from lab.tui.run.source import FeedSource
from lab.tui.screen import RunScreen
from lab.tui.teacher.line import TeacherLine
from lab.units import count_of
from lab.worlds.host.launch import HostFailedError

__all__ = ["TaughtApp"]

_LOOK_S = 0.5
_MOST_KEPT = 5
_WHY_VIEWER = "it is your teacher's cluster; the cursor in time is yours"
_KEYS = "your teacher has the keys of this cluster, too; yours go on working"


class TaughtApp(ClassroomApp):
    """``teacher`` is the way to the teacher."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+l", "attend", "to the teacher", key_display="Ctrl+L", priority=True),
        Binding("escape", "put_away", "put away", key_display="Esc", priority=True),
    ]

    class Heard(Message):
        """The teacher says something."""

        def __init__(self, notice: Notice) -> None:
            super().__init__()
            self.notice = notice

    def __init__(
        self, home: Home, clusters: Clusters, exercises: Sequence[Exercise], teacher: Teacher, first: str
    ) -> None:
        super().__init__(home, clusters, exercises, is_served=True, first=first)
        self._teacher = teacher
        self._told: list[str] = []
        self._has_keys = False
        self._lecture: Lecture | None = None
        self._watched: FeedSource | None = None
        self._asked: Asked | None = None
        self._asking: ChoiceDialog | None = None
        self._drawn: tuple[Screen[object] | None, list[Text]] = None, []

    async def _start(self) -> None:
        await super()._start()
        self.set_interval(_LOOK_S, self._show)
        self._teacher.listen(lambda notice: self.post_message(self.Heard(notice)))

    @on(Heard)
    def hear(self, message: Heard) -> None:
        """Show it, for as long as it is for."""
        notice = message.notice
        match notice:
            case Announcement():
                self._told = [*self._told, f"your teacher: {notice.text}"][-_MOST_KEPT:]
                self.bell()
            case KeysTaken():
                self._has_keys = notice.held
            case Lecture():
                self._lecture = notice if notice.socket else None
                if notice.at_once:
                    self._attend_when_idle(notice)
            case Asked():
                self._asked = notice
                self._answer()
            case Tally():
                self._told = [*self._told, _said_of(notice)][-_MOST_KEPT:]
                self._say("the vote is closed")
        if isinstance(notice, Tally) or (isinstance(notice, Lecture) and not notice.socket):
            self._ask_no_more()
        self._show()

    # what the student does

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys are the teacher's only as long as there is something of the teacher's."""
        if action == "attend":
            return self._asked is not None or self._may_join
        return bool(self._told) if action == "put_away" else super().check_action(action, parameters)

    def action_put_away(self) -> None:
        """What was told was read."""
        self._told = []
        self._show()

    def action_attend(self) -> None:
        """Answer what is asked, or see the lecture."""
        if self._asked is not None:
            self._answer()
        elif self._lecture is not None:
            self._do(self._join(self._lecture))

    @on(TeacherLine.Clicked)
    def click_line(self) -> None:
        """The same, by a click on the line; or put it away."""
        if self.check_action("attend", ()):
            self.action_attend()
        else:
            self.action_put_away()

    # the lecture, and what is asked in it

    @property
    def _may_join(self) -> bool:
        return self._lecture is not None and not self._is_watching

    @property
    def _is_watching(self) -> bool:
        return any(source is self._watched for source, _ in self._opened)

    def _attend_when_idle(self, lecture: Lecture) -> None:
        if self._lecture is not lecture or self._is_watching:
            return
        if self._is_busy:  # a cluster starts or ends: its screen comes first
            self.set_timer(_LOOK_S, lambda: self._attend_when_idle(lecture))
        else:
            self._do(self._join(lecture))

    async def _join(self, lecture: Lecture) -> None:
        source = await FeedSource.open(lecture.socket, "viewer")
        source.is_served, source.why_viewer = True, _WHY_VIEWER
        self._watched = source
        await self._put(source, None, f"lecture: {lecture.title}", None)
        self._say("your teacher's cluster; the cursor in time is your own, q goes back")
        self._show()

    def _answer(self) -> None:
        asked = self._asked
        if asked is None or self._asking is not None:
            return

        def answered(choice: str | None) -> None:
            self._asking = None
            if choice is not None:
                self._asked = None
                self.run_worker(self._vote(asked, asked.choices.index(choice)))
            self._show()

        said = [Text(sanitize(asked.text))]
        self._asking = ChoiceDialog("your teacher asks all of you", said, asked.choices, self.theme_styles)
        self.push_screen(self._asking, answered)

    async def _vote(self, asked: Asked, choice: int) -> None:
        with contextlib.suppress(HostFailedError):  # that the server has gone is seen elsewhere
            await asyncio.to_thread(self._teacher.vote, asked.serial, choice)
            self._say(f"your answer: {asked.choices[choice]}; how all answered comes when your teacher closes it")

    def _ask_no_more(self) -> None:
        self._asked = None
        if self._asking is not None:
            self._asking.dismiss(None)

    # drawing

    def _show(self) -> None:
        """The lines, on the screen that is seen."""
        shown = next((each for each in reversed(self.screen_stack) if _has_lines(each)), None)
        if shown is None or not shown.is_attached:
            return
        lines = self._lines(shown)
        if (shown, lines) == self._drawn:
            return
        self._drawn = shown, lines
        found = shown.query(TeacherLine)
        if found:
            found.first().put_lines(lines)
        elif lines:
            line = TeacherLine("teacher")
            shown.mount(line, before="#said")
            line.put_lines(lines)
        self.screen.refresh_bindings()

    def _lines(self, shown: Screen[object]) -> list[Text]:
        theme_styles = self.theme_styles
        lines = []
        if self._has_keys and isinstance(shown, RunScreen) and shown.source is self._source:
            lines.append(Text(_KEYS, theme_styles.warning))
        if self._asked is not None:
            lines.append(
                Text(sanitize(f"your teacher asks: {self._asked.text}  (Ctrl+L answers)"), theme_styles.warning)
            )
        if self._lecture is not None and self._may_join:
            title = sanitize(self._lecture.title)
            lines.append(
                Text(
                    f"your teacher shows {title}  (Ctrl+L, or a click here, lets you see it)", theme_styles.accent
                )
            )
        lines += [Text(sanitize(text), theme_styles.warning) for text in self._told]
        if self._told:
            lines[-1].append("  (Esc puts it away)", theme_styles.accent)
        return lines


def _has_lines(screen: Screen[object]) -> bool:
    return isinstance(screen, RunScreen | ListScreen)


def _said_of(tally: Tally) -> str:
    parts = (f"{choice}: {count}" for choice, count in zip(tally.choices, tally.votes, strict=True))
    return f"{tally.text}  {count_of(sum(tally.votes), 'answer')}: {', '.join(parts)}"
