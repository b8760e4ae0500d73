"""The rows of the exercise view: its text, and each task with its state, hints, answer and outcome."""

from collections.abc import Iterator

from msgspec import Struct
from rich.cells import cell_len
from rich.style import Style
from rich.text import Text

from lab.exercises.assessment import AttemptStatus, Result
from lab.exercises.exercise import Exercise, Task
from lab.text import sanitize
from lab.tui.classroom.attempt_log import format_points
from lab.tui.classroom.markdown import markdown_lines, pieces_of, wrap
from lab.tui.terminal.fitting import Piece
from lab.tui.terminal.theme_styles import DIM, ThemeStyles
from lab.units import format_count

__all__ = ["Row", "Sheet", "describe_hint", "rules_of"]

_INDENT = 4
_LONGEST_LINE = 100
"""Longer lines are tiring to read."""
_BOLD = Style(bold=True)


class Row(Struct, frozen=True):
    """A row of a task, or of the introduction if ``task`` is None."""

    pieces: list[Piece]
    task: int | None = None


class Sheet:
    """Formats the rows of an exercise; wrapped texts are cached for each width."""

    def __init__(self, exercise: Exercise, number: int, theme_styles: ThemeStyles) -> None:
        self._exercise = exercise
        self._number = number
        self._theme_styles = theme_styles
        self._width = _LONGEST_LINE
        self._wrapped: dict[tuple[str, int, bool], list[list[Piece]]] = {}

    def head(self, status: AttemptStatus) -> list[Piece]:
        """Return the head line: the sign of every task, the points, the allowed commands."""
        theme_styles, pieces = self._theme_styles, list[Piece]()
        for result in status.results:
            sign, style = self._sign(result)
            pieces += [(f" {result.task}", _BOLD), (f"{sign} ", style)]
        if status.is_solved:
            pieces.append((" SOLVED ", theme_styles.mark("met") + Style(bold=True)))
        facts = [format_points(self._exercise, status.points), f"attempt {self._number}"]
        pieces.append((f" {f' {theme_styles.glyphs.dot} '.join(facts)}", _BOLD))
        may = ", ".join(self._exercise.may) or "only answer and look"
        pieces.append((f" {theme_styles.glyphs.dot} you may: {may}", DIM))
        return pieces

    def rows(self, status: AttemptStatus, selected: int | None, takes: bool, width: int) -> Iterator[Row]:
        """Yield the other rows. ``takes``: the run still takes commands, so answers and hints are possible."""
        self._width = min(width - 1, _LONGEST_LINE)
        title = Text(sanitize(self._exercise.title, 200), _BOLD)
        yield from (Row([(" ", _BOLD), *pieces_of(line)]) for line in wrap(title, self._width - 1))
        yield from (Row([(" ", DIM), *pieces]) for pieces in self._text(self._exercise.intro, 1))
        for task, result in zip(self._exercise.tasks, status.results, strict=True):
            yield Row([])
            yield self._task_head(task, result, selected == task.number)
            for pieces in self._task_body(task, result, status.command_count, takes):
                yield Row([(" " * _INDENT, Style()), *pieces], task.number)

    def _task_head(self, task: Task, result: Result, is_selected: bool) -> Row:
        theme_styles = self._theme_styles
        sign, style = self._sign(result)
        word = f"{sign} {_state_text(task, result)}"
        room = self._width - _INDENT - cell_len(word) - 2
        title = sanitize(task.title, max(2, room))
        before = (theme_styles.glyphs.play if is_selected else " ", theme_styles.accent)
        shown = theme_styles.accent if is_selected else _BOLD
        return Row(
            [
                before,
                (f"{task.number:2} ", shown),
                (f"{title}{'':{max(2, room + 2 - cell_len(title))}}", shown),
                (word, style),
            ],
            task.number,
        )

    def _task_body(self, task: Task, result: Result, given: int, takes: bool) -> Iterator[list[Piece]]:
        theme_styles, is_open = self._theme_styles, result.state == "open"
        yield from self._text(task.text)
        if question := task.question or task.explain:
            yield from self._plain(question, _BOLD)
            yield from (
                [(f"{place}  ", theme_styles.accent), (sanitize(option, 200), Style())]
                for place, option in enumerate(task.options, 1)
                if is_open
            )
        if task.at_most is not None and is_open:
            yield [(f"at most {format_count(task.at_most, 'command')}; {given} given so far", DIM)]
        for place, hint in enumerate(task.hints[: result.hints], 1):
            cost = f", cost {hint.costs}" if hint.costs else ""
            yield [(f"hint {place} of {len(task.hints)}{cost}", theme_styles.mark("mark"))]
            yield from ([("  ", Style()), *pieces] for pieces in self._text(hint.text, 2))
        if result.answer:
            yield from self._plain(f"you answered: {sanitize(result.answer)}", theme_styles.accent)
        yield from self._outcome(task, result)
        if takes and (keys := _key_hints(task, result)):
            yield [(keys, theme_styles.accent)]

    def _outcome(self, task: Task, result: Result) -> Iterator[list[Piece]]:
        if result.state not in ("done", "missed"):
            return
        if result.why:
            yield from self._plain(result.why, self._sign(result)[1])
        if task.explains:
            yield from self._text(task.explains.strip())

    def _sign(self, result: Result) -> Piece:
        theme_styles = self._theme_styles
        if result.state == "done":
            return theme_styles.glyphs.marks["met"], theme_styles.mark("met") + Style(bold=True)
        if result.state == "missed":
            return theme_styles.glyphs.marks["unmet"], theme_styles.mark("unmet")
        if result.state == "answered":
            return theme_styles.glyph("Waiting"), theme_styles.status("Waiting")
        return theme_styles.glyph("Working"), Style()

    def _plain(self, text: str, style: Style) -> Iterator[list[Piece]]:
        shown = Text(sanitize(" ".join(text.split())), style)
        return (pieces_of(line) for line in wrap(shown, self._width - _INDENT))

    def _text(self, markdown: str, indent: int = _INDENT) -> list[list[Piece]]:
        key = (markdown, self._width - indent, self._theme_styles.dark)
        if key not in self._wrapped:
            self._wrapped[key] = [pieces_of(line) for line in markdown_lines(markdown, key[1], self._theme_styles)]
        return self._wrapped[key]


def _state_text(task: Task, result: Result) -> str:
    if result.state == "open":
        worth = "for your teacher" if task.way == "explain" else format_count(task.points, "point")
        return f"open, {worth}"
    if result.state == "done":
        return "saved" if task.way == "explain" else f"done +{result.points}"
    return result.state


def _key_hints(task: Task, result: Result) -> str:
    """Return the keys that apply to a task, with what they do."""
    hints = []
    if result.state == "open" and task.way in ("question", "explain"):
        hints.append("Enter answers")
    if result.state in ("open", "answered") and (hint := describe_hint(task, result)):
        hints.append(f"H gives {hint}")
    return ", ".join(hints)


def describe_hint(task: Task, result: Result) -> str:
    """Describe the next hint and its cost; empty if there is none left."""
    if result.hints >= len(task.hints):
        return ""
    costs = task.hints[result.hints].costs
    cost = f"costs {costs} of {format_count(task.points, 'point')}" if costs else "costs nothing"
    return f"a hint that {cost}"


def rules_of(task: Task) -> str:
    """Return the rules for answers to a task."""
    if task.way == "explain":
        return "The first answer counts. Your teacher reads it."
    if task.before:
        return "The first answer counts, and only if given before the event in question."
    return "The first answer counts."
