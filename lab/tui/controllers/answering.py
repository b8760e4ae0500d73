"""Answer tasks and take hints: show the dialogs and send the resulting commands to the run."""

from functools import partial

from rich.style import Style
from rich.text import Text
from textual.message import Message

from lab.exercises.assessment import Result
from lab.exercises.exercise import ExerciseTask
from lab.script.commands import Answer, unescape
from lab.styles import DIM
from lab.text import sanitize
from lab.tui.attempt_log import AttemptLog
from lab.tui.context import ActionHandler, RunContext
from lab.tui.views.exercise_view import (
    ExerciseView,
    answer_lines,
    describe_hint,
    explanation_of,
    markdown_lines,
    option_lines,
    rules_of,
    wrap,
)
from lab.tui.widgets.dialogs import (
    ROOM,
    ChoiceDialog,
    Explanation,
    ExplanationDialog,
    FinalAnswerDialog,
    FinalLineDialog,
    TextDialog,
)

_BOLD = Style(bold=True)


class HandInRequested(Message):
    """End the run of the attempt."""


class RestartRequested(Message):
    """Begin a new attempt at the same exercise in the place of this one."""


class TaskController:
    """The actions on the tasks of an exercise; they are available only in the run of an attempt."""

    def __init__(self, context: RunContext, view: ExerciseView) -> None:
        self._context = context
        self._view = view
        self.actions: dict[str, ActionHandler] = {
            "answer": self._answer,
            "hint": self._hint,
            "hand-in": lambda: context.post(HandInRequested()),
            "again": lambda: context.post(RestartRequested()),
        }

    def _answer(self, rest: str) -> None:
        """Answer a task by ``2 TEXT``. Without TEXT, ask for the answer, or show a task that takes none."""
        number, _, text = rest.partition(" ")
        found = self._task(number)
        if found is None:
            return
        task, result = found
        is_asked = task.way in ("question", "explain") and result.state == "open"
        if text and is_asked:
            answer = task.option_named(_unquoted(text.strip()))
            if reason := self._reason_impossible(task, answer):
                self._context.notify(f"this is not handed in: {reason}", warn=True)
            else:
                self._send_answer(task, answer)
        elif text:
            self._context.notify(_reason_no_answer(task, result), warn=True)
        elif is_asked and self._context.source.takes_commands:
            self._ask(task)
        else:
            self._read(task, result)

    def _hint(self, rest: str) -> None:
        """Offer the next hint of a task and its cost; take it if the student confirms."""
        found = self._task(rest)
        if found is None:
            return
        task, result = found
        context = self._context
        if result.state in ("done", "missed"):
            context.notify(f"task {task.number} is decided: it has no more hints", warn=True)
        elif result.state == "answered":
            context.notify(f"task {task.number} is answered, and only the first answer counts", warn=True)
        elif not (offer := describe_hint(task, result)):
            context.notify(f"there is no{' other' if result.hints else ''} hint for task {task.number}", warn=True)
        else:
            dialog = ChoiceDialog(
                f"task {task.number}: hint {result.hints + 1} of {len(task.hints)}",
                [Text(f"There is {offer}.")],
                ["take the hint"],
            )
            context.show_dialog(dialog, lambda _: self._send(f"hint {task.number}"))

    def _task(self, number: str) -> tuple[ExerciseTask, Result] | None:
        """Return the task with this number, or the selected one, with its latest result, or None."""
        attempt = self._attempt
        tasks = {str(task.number): task for task in attempt.exercise.tasks}
        task = tasks.get(number or str(self._view.selected))
        if task is None:
            self._context.notify(f"no task {sanitize(number, 20)}; the tasks are {', '.join(tasks)}", warn=True)
            return None
        return task, attempt.last.results[task.number - 1]

    @property
    def _attempt(self) -> AttemptLog:
        attempt = self._context.source.attempt
        assert attempt is not None
        return attempt

    def _ask(self, task: ExerciseTask) -> None:
        context, drafts = self._context, self._view.drafts
        title = f"task {task.number}: {task.title}"
        body = [*wrap(Text(sanitize(task.question or task.explain), _BOLD), ROOM), Text()]
        body += wrap(Text(rules_of(task), DIM), ROOM)

        def on_explanation(explanation: Explanation) -> None:
            drafts[task.number] = explanation.text
            if explanation.is_submitted:
                self._send_answer(task, explanation.text)

        answer = partial(self._send_answer, task)
        if task.way == "explain":
            context.show_dialog(
                ExplanationDialog(title, body, drafts.get(task.number, ""), context.styles), on_explanation
            )
        elif task.options:
            context.show_dialog(FinalAnswerDialog(title, body, task.options), answer)
        else:
            refuse = partial(self._reason_impossible, task)
            here = (str(context.player.number), "suggested: the record at the cursor") if task.record else ()
            context.show_dialog(FinalLineDialog(title, body, context.styles, refuse, *here), answer)

    def _reason_impossible(self, task: ExerciseTask, answer: str) -> str:
        return task.reason_impossible(answer, self._context.nodes, len(self._context.source.store) - 1)

    def _read(self, task: ExerciseTask, result: Result) -> None:
        styles, body = (self._context.styles, markdown_lines(task.text, ROOM, self._context.styles))
        if task.question or task.explain:
            body += [Text(), *wrap(Text(sanitize(task.question or task.explain), _BOLD), ROOM)]
        body += option_lines(task, result, styles)
        for hint in task.hints[: result.hints]:
            body += [Text(), Text("hint", styles.mark("mark")), *markdown_lines(hint.text, ROOM, styles)]
        if outcome := [*answer_lines(result, ROOM, styles)]:
            body += [Text(), *outcome]
        if explanation := explanation_of(task, result):
            body += [Text(), *markdown_lines(explanation, ROOM, styles)]
        self._context.show_dialog(TextDialog(f"task {task.number}: {task.title}", body))

    def _send_answer(self, task: ExerciseTask, answer: str) -> None:
        self._send(str(Answer(task.number, answer)))

    def _send(self, command: str) -> None:
        """Send a command; show a refusal only, as the records show the effect."""
        self._attempt.begin_command()

        async def send() -> None:
            reply = await self._context.source.command(command)
            if not reply.ok:
                self._context.notify(reply.text, warn=True)

        self._context.work(send())


def _unquoted(text: str) -> str:
    """Return an answer that was typed as a command, in quotes or without."""
    is_quoted = len(text) > 1 and text[0] == text[-1] == '"'
    return unescape(text[1:-1]).strip() if is_quoted else text


def _reason_no_answer(task: ExerciseTask, result: Result) -> str:
    if task.way not in ("question", "explain"):
        return f"task {task.number} is not a question: solve it in the run"
    return f"task {task.number} is answered already; only the first answer counts"
