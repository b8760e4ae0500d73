"""Answering and taking hints: the dialogs that ask, and the commands that they give to the run."""

from typing import TYPE_CHECKING

from rich.style import Style
from rich.text import Text

from lab.exercises.assessment import Result
from lab.exercises.exercise import Task
from lab.text import sanitize
from lab.tui.classroom.attempt import AttemptLog
from lab.tui.classroom.dialogs import (
    ROOM,
    ChoiceDialog,
    LineDialog,
    TextDialog,
    Words,
    WordsDialog,
    as_line,
)
from lab.tui.classroom.markdown import lines_of, wrapped
from lab.tui.classroom.rows import hint_said, rules_of
from lab.tui.offers import takes_commands
from lab.tui.terminal.theme_styles import DIM

if TYPE_CHECKING:
    from lab.tui.screen import RunScreen

__all__ = ["Doing"]

_BOLD = Style(bold=True)


class Doing:
    """On this screen, whose run is of an exercise."""

    def __init__(self, screen: "RunScreen") -> None:
        self._screen = screen

    def answer(self, rest: str) -> None:
        """``2 the words of it``, or what asks for them: ``2``, or nothing; of other tasks, all of the text."""
        number, _, words = rest.partition(" ")
        found = self._task(number)
        if found is None:
            return
        task, result = found
        is_asked = task.way in ("question", "explain") and result.state == "open"
        if words and is_asked:
            self._give_answer(task, words.strip().strip('"'))
        elif words:
            self._screen.say(_why_no_answer(task, result), warn=True)
        elif is_asked and takes_commands(self._screen.source):
            self._ask(task)
        else:
            self._read(task, result)

    def hint(self, rest: str) -> None:
        """Ask once whether it is worth that."""
        found = self._task(rest)
        if found is None:
            return
        task, result = found
        screen = self._screen
        if result.state in ("done", "missed"):
            screen.say(f"task {task.number} is decided: no hint helps there any more", warn=True)
        elif not (said := hint_said(task, result)):
            screen.say(f"there is no{' other' if result.hints else ''} hint for task {task.number}", warn=True)
        else:

            def taken(choice: str | None) -> None:
                if choice is not None:
                    self._give(f"hint {task.number}")

            dialog = ChoiceDialog(
                f"task {task.number}: hint {result.hints + 1} of {len(task.hints)}",
                [Text(f"There is {said}.")],
                ["take it"],
                screen.theme_styles,
                "Esc leaves it",
            )
            screen.app.push_screen(dialog, taken)

    def _task(self, number: str) -> tuple[Task, Result] | None:
        """The task with this number, or the selected one, and how it stands at the end of what is there."""
        attempt = self._attempt
        tasks = {str(task.number): task for task in attempt.exercise.tasks}
        task = tasks.get(number or str(self._screen.views.exercise.selected))
        if task is None:
            self._screen.say(f"there is no task {sanitize(number, 20)}; they are {', '.join(tasks)}", warn=True)
            return None
        return task, attempt.last.results[task.number - 1]

    @property
    def _attempt(self) -> AttemptLog:
        attempt = self._screen.source.attempt
        assert attempt is not None
        return attempt

    def _ask(self, task: Task) -> None:
        screen, drafts = self._screen, self._screen.views.exercise.drafts
        title = f"task {task.number}: {task.title}"
        said = [*wrapped(Text(sanitize(task.question or task.explain), _BOLD), ROOM), Text()]
        said += wrapped(Text(rules_of(task), DIM), ROOM)

        def answered(answer: str | None) -> None:
            if answer is not None:
                self._give_answer(task, answer)

        def written(words: Words | None) -> None:
            if words is not None:
                drafts[task.number] = words.text
                if words.is_given:
                    self._give_answer(task, words.text)

        if task.way == "explain":
            screen.app.push_screen(
                WordsDialog(title, said, drafts.get(task.number, ""), screen.theme_styles), written
            )
        elif task.choices:
            screen.app.push_screen(ChoiceDialog(title, said, task.choices, screen.theme_styles), answered)
        else:
            typed = str(screen.player.number) if task.record else ""
            screen.app.push_screen(LineDialog(title, said, typed, screen.theme_styles), answered)

    def _read(self, task: Task, result: Result) -> None:
        theme_styles, said = self._screen.theme_styles, lines_of(task.text, ROOM, self._screen.theme_styles)
        if task.question or task.explain:
            said += [Text(), *wrapped(Text(sanitize(task.question or task.explain), _BOLD), ROOM)]
        for hint in task.hints[: result.hints]:
            said += [Text(), Text("hint", theme_styles.mark("mark")), *lines_of(hint.text, ROOM, theme_styles)]
        if result.state in ("done", "missed") and task.explains:
            said += [Text(), *lines_of(task.explains.strip(), ROOM, theme_styles)]
        self._screen.app.push_screen(TextDialog(f"task {task.number}: {task.title}", said, theme_styles))

    def _give_answer(self, task: Task, words: str) -> None:
        self._give(f'answer {task.number} "{as_line(words)}"')

    def _give(self, command: str) -> None:
        """What comes of it, the records tell."""

        async def given() -> None:
            reply = await self._screen.source.command(command)
            if not reply.ok:
                self._screen.say(reply.text, warn=True)

        self._screen.run_worker(given())


def _why_no_answer(task: Task, result: Result) -> str:
    if task.way not in ("question", "explain"):
        return f"task {task.number} is no question: it is done by bringing it about"
    return f"task {task.number} has been answered, and the first answer counts"
