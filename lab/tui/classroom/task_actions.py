"""Answer tasks and take hints: show the dialogs and send the resulting commands to the run."""

from typing import TYPE_CHECKING

from rich.style import Style
from rich.text import Text

from lab.exercises.assessment import Result
from lab.exercises.exercise import Task
from lab.text import sanitize
from lab.tui.availability import takes_commands
from lab.tui.classroom.attempt_log import AttemptLog
from lab.tui.classroom.exercise_text import describe_hint, markdown_lines, rules_of, wrap
from lab.tui.terminal.styles import DIM
from lab.tui.widgets.dialogs import (
    ROOM,
    ChoiceDialog,
    Explanation,
    ExplanationDialog,
    LineDialog,
    TextDialog,
    as_line,
)

if TYPE_CHECKING:
    from lab.tui.screen import RunScreen

_BOLD = Style(bold=True)


class TaskActions:
    """The actions on the tasks of an exercise, on the screen of its run."""

    def __init__(self, screen: "RunScreen") -> None:
        self._screen = screen

    def answer(self, rest: str) -> None:
        """Answer a task by ``2 TEXT``. Without TEXT, ask for the answer, or show a task that takes none."""
        number, _, text = rest.partition(" ")
        found = self._task(number)
        if found is None:
            return
        task, result = found
        is_asked = task.way in ("question", "explain") and result.state == "open"
        if text and is_asked:
            self._send_answer(task, text.strip().strip('"'))
        elif text:
            self._screen.show_message(_reason_no_answer(task, result), warn=True)
        elif is_asked and takes_commands(self._screen.source):
            self._ask(task)
        else:
            self._read(task, result)

    def hint(self, rest: str) -> None:
        """Offer the next hint of a task and its cost; take it if the student confirms."""
        found = self._task(rest)
        if found is None:
            return
        task, result = found
        screen = self._screen
        if result.state in ("done", "missed"):
            screen.show_message(f"task {task.number} is decided: it has no more hints", warn=True)
        elif not (offer := describe_hint(task, result)):
            screen.show_message(
                f"there is no{' other' if result.hints else ''} hint for task {task.number}", warn=True
            )
        else:

            def on_chosen(choice: str | None) -> None:
                if choice is not None:
                    self._send(f"hint {task.number}")

            dialog = ChoiceDialog(
                f"task {task.number}: hint {result.hints + 1} of {len(task.hints)}",
                [Text(f"There is {offer}.")],
                ["take the hint"],
                screen.theme_styles,
                "Esc closes",
            )
            screen.app.push_screen(dialog, on_chosen)

    def _task(self, number: str) -> tuple[Task, Result] | None:
        """Return the task with this number, or the selected one, with its latest result, or None."""
        attempt = self._attempt
        tasks = {str(task.number): task for task in attempt.exercise.tasks}
        task = tasks.get(number or str(self._screen.views.exercise.selected))
        if task is None:
            self._screen.show_message(
                f"no task {sanitize(number, 20)}; the tasks are {', '.join(tasks)}", warn=True
            )
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
        body = [*wrap(Text(sanitize(task.question or task.explain), _BOLD), ROOM), Text()]
        body += wrap(Text(rules_of(task), DIM), ROOM)

        def on_answer(answer: str | None) -> None:
            if answer is not None:
                self._send_answer(task, answer)

        def on_explanation(explanation: Explanation | None) -> None:
            if explanation is not None:
                drafts[task.number] = explanation.text
                if explanation.is_submitted:
                    self._send_answer(task, explanation.text)

        if task.way == "explain":
            screen.app.push_screen(
                ExplanationDialog(title, body, drafts.get(task.number, ""), screen.theme_styles), on_explanation
            )
        elif task.options:
            screen.app.push_screen(ChoiceDialog(title, body, task.options, screen.theme_styles), on_answer)
        else:
            typed = str(screen.player.number) if task.record else ""
            screen.app.push_screen(LineDialog(title, body, typed, screen.theme_styles), on_answer)

    def _read(self, task: Task, result: Result) -> None:
        theme_styles, body = self._screen.theme_styles, markdown_lines(task.text, ROOM, self._screen.theme_styles)
        if task.question or task.explain:
            body += [Text(), *wrap(Text(sanitize(task.question or task.explain), _BOLD), ROOM)]
        for hint in task.hints[: result.hints]:
            body += [
                Text(),
                Text("hint", theme_styles.mark("mark")),
                *markdown_lines(hint.text, ROOM, theme_styles),
            ]
        if result.state in ("done", "missed") and task.explains:
            body += [Text(), *markdown_lines(task.explains.strip(), ROOM, theme_styles)]
        self._screen.app.push_screen(TextDialog(f"task {task.number}: {task.title}", body, theme_styles))

    def _send_answer(self, task: Task, answer: str) -> None:
        self._send(f'answer {task.number} "{as_line(answer)}"')

    def _send(self, command: str) -> None:
        """Send a command; show a refusal only, as the records show the effect."""

        async def send() -> None:
            reply = await self._screen.source.command(command)
            if not reply.ok:
                self._screen.show_message(reply.text, warn=True)

        self._screen.run_worker(send())


def _reason_no_answer(task: Task, result: Result) -> str:
    if task.way not in ("question", "explain"):
        return f"task {task.number} is not a question: solve it in the run"
    return f"task {task.number} is answered already; only the first answer counts"
