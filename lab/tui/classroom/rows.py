"""What is seen of an exercise: its text, how each task stands, the hints taken, the answer given, and why."""

from collections.abc import Iterator

from msgspec import Struct
from rich.cells import cell_len
from rich.style import Style
from rich.text import Text

from lab.exercises.assessment import Result, Stand
from lab.exercises.exercise import Exercise, Task
from lab.text import sanitize
from lab.tui.classroom.attempt import points_said
from lab.tui.classroom.markdown import lines_of, pieces_of, wrapped
from lab.tui.terminal.fitting import Piece
from lab.tui.terminal.theme_styles import DIM, ThemeStyles
from lab.units import count_of

__all__ = ["Row", "Sheet", "hint_said", "rules_of"]

_INDENT = 4
_LONGEST_LINE = 100
"""Longer ones are tiring to read."""
_BOLD = Style(bold=True)


class Row(Struct, frozen=True):
    """One row; of a task, or of what stands before the first."""

    pieces: list[Piece]
    task: int | None = None


class Sheet:
    """Writes the rows of an exercise. The text of the tasks is set once for each width."""

    def __init__(self, exercise: Exercise, number: int, theme_styles: ThemeStyles) -> None:
        self._exercise = exercise
        self._number = number
        self._look = theme_styles
        self._width = _LONGEST_LINE
        self._set: dict[tuple[str, int, bool], list[list[Piece]]] = {}

    def head(self, stand: Stand) -> list[Piece]:
        """The line that is always seen: every task's sign, the points, what may be done."""
        theme_styles, pieces = self._look, list[Piece]()
        for result in stand.results:
            sign, style = self._sign(result)
            pieces += [(f" {result.task}", _BOLD), (f"{sign} ", style)]
        if stand.is_solved:
            pieces.append((" SOLVED ", theme_styles.mark("met") + Style(bold=True)))
        said = [points_said(self._exercise, stand.points), f"attempt {self._number}"]
        pieces.append((f" {f' {theme_styles.glyphs.dot} '.join(said)}", _BOLD))
        may = ", ".join(self._exercise.may) or "only answers and what looks"
        pieces.append((f" {theme_styles.glyphs.dot} you may: {may}", DIM))
        return pieces

    def rows(self, stand: Stand, selected: int | None, takes: bool, width: int) -> Iterator[Row]:
        """All others. ``takes``: answers and hints may be given."""
        self._width = min(width - 1, _LONGEST_LINE)
        title = Text(sanitize(self._exercise.title, 200), _BOLD)
        yield from (Row([(" ", _BOLD), *pieces_of(line)]) for line in wrapped(title, self._width - 1))
        yield from (Row([(" ", DIM), *pieces]) for pieces in self._text(self._exercise.intro, 1))
        for task, result in zip(self._exercise.tasks, stand.results, strict=True):
            yield Row([])
            yield self._task_head(task, result, selected == task.number)
            for pieces in self._below(task, result, stand.given, takes):
                yield Row([(" " * _INDENT, Style()), *pieces], task.number)

    def _task_head(self, task: Task, result: Result, is_selected: bool) -> Row:
        theme_styles = self._look
        sign, style = self._sign(result)
        word = f"{sign} {_word(task, result)}"
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

    def _below(self, task: Task, result: Result, given: int, takes: bool) -> Iterator[list[Piece]]:
        theme_styles, is_open = self._look, result.state == "open"
        yield from self._text(task.text)
        if asked := task.question or task.explain:
            yield from self._plain(asked, _BOLD)
            yield from (
                [(f"{place}  ", theme_styles.accent), (sanitize(choice, 200), Style())]
                for place, choice in enumerate(task.choices, 1)
                if is_open
            )
        if task.at_most is not None and is_open:
            yield [(f"{count_of(task.at_most, 'command')} at most; {given} given so far", DIM)]
        for place, hint in enumerate(task.hints[: result.hints], 1):
            cost = f", cost {hint.costs}" if hint.costs else ""
            yield [(f"hint {place} of {len(task.hints)}{cost}", theme_styles.mark("mark"))]
            yield from ([("  ", Style()), *pieces] for pieces in self._text(hint.text, 2))
        if result.answer:
            yield from self._plain(f"you answered: {sanitize(result.answer)}", theme_styles.accent)
        yield from self._outcome(task, result)
        if takes and (keys := _keys_said(task, result)):
            yield [(keys, theme_styles.accent)]

    def _outcome(self, task: Task, result: Result) -> Iterator[list[Piece]]:
        if result.state not in ("done", "missed"):
            return
        if result.why:
            yield from self._plain(result.why, self._sign(result)[1])
        if task.explains:
            yield from self._text(task.explains.strip())

    def _sign(self, result: Result) -> Piece:
        theme_styles = self._look
        if result.state == "done":
            return theme_styles.glyphs.marks["met"], theme_styles.mark("met") + Style(bold=True)
        if result.state == "missed":
            return theme_styles.glyphs.marks["unmet"], theme_styles.mark("unmet")
        if result.state == "answered":
            return theme_styles.glyph("Waiting"), theme_styles.status("Waiting")
        return theme_styles.glyph("Working"), Style()

    def _plain(self, text: str, style: Style) -> Iterator[list[Piece]]:
        shown = Text(sanitize(" ".join(text.split())), style)
        return (pieces_of(line) for line in wrapped(shown, self._width - _INDENT))

    def _text(self, markdown: str, indent: int = _INDENT) -> list[list[Piece]]:
        key = (markdown, self._width - indent, self._look.dark)
        if key not in self._set:
            self._set[key] = [pieces_of(line) for line in lines_of(markdown, key[1], self._look)]
        return self._set[key]


def _word(task: Task, result: Result) -> str:
    if result.state == "open":
        worth = "for your teacher" if task.way == "explain" else count_of(task.points, "point")
        return f"open, {worth}"
    if result.state == "done":
        return "kept" if task.way == "explain" else f"done +{result.points}"
    return result.state


def _keys_said(task: Task, result: Result) -> str:
    """What can be done for a task, in words."""
    said = []
    if result.state == "open" and task.way in ("question", "explain"):
        said.append("Enter answers")
    if result.state in ("open", "answered") and (hint := hint_said(task, result)):
        said.append(f"H gives {hint}")
    return ", ".join(said)


def hint_said(task: Task, result: Result) -> str:
    """The next hint, and what it costs; nothing where there is none left."""
    if result.hints >= len(task.hints):
        return ""
    costs = task.hints[result.hints].costs
    cost = f"costs {costs} of {count_of(task.points, 'point')}" if costs else "costs nothing"
    return f"a hint, which {cost}"


def rules_of(task: Task) -> str:
    """What counts of an answer."""
    if task.way == "explain":
        return "The first answer counts. Your teacher reads it."
    if task.before:
        return "The first answer counts, and only as long as what is asked about has not happened yet."
    return "The first answer counts."
