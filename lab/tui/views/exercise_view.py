"""The exercise view: the tasks and their state at the cursor in time; and Markdown as styled lines."""

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.style import Style
from rich.table import Table
from rich.text import Text
from textual import events

from lab.exercises.assessment import AttemptStatus, Result
from lab.exercises.exercise import Exercise, ExerciseTask
from lab.exercises.handout import normalize_answer
from lab.styles import DIM, Line, Piece, ThemeStyles, pieces_of, plain_console
from lab.text import sanitize
from lab.tui.attempt_log import AttemptLog, format_points
from lab.tui.player import Cursor
from lab.tui.source import Source
from lab.tui.views.lines_view import Row, RowsView
from lab.units import format_count

if TYPE_CHECKING:
    from markdown_it.token import Token

# Markdown

_LEAST_ROOM = 10
_OPENS = {"strong_open": Style(bold=True), "em_open": Style(italic=True)}


def _folded(line: str, width: int) -> list[str]:
    """Return a line of code as lines of at most this width, broken between words; those after it are indented."""
    if len(line) <= width:
        return [line]
    indent = " " * (len(line) - len(line.lstrip()) + 4)
    return textwrap.wrap(line, max(_LEAST_ROOM, width), subsequent_indent=indent, break_on_hyphens=False)


def wrap(text: Text, width: int) -> list[Text]:
    """Return the text wrapped to lines of this width."""
    return list(text.wrap(plain_console(), max(_LEAST_ROOM, width)))


def markdown_lines(markdown: str, width: int, styles: ThemeStyles) -> list[Text]:
    """Render Markdown, with tables, as lines of this width; HTML is shown as plain text."""
    from markdown_it import MarkdownIt  # noqa: PLC0415 - loads slowly, and most runs show no Markdown

    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    return list(_Renderer(width, styles).of(parser.parse(markdown)))


_OF_TABLES = ("table_open", "table_close")


def _lines_of(table: Table, width: int) -> Iterator[Text]:
    console = plain_console()
    for line in console.render_lines(table, console.options.update(width=width), pad=False):
        text = Text.assemble(*((each.text, each.style or "") for each in line))
        text.rstrip()
        yield text


class _Renderer:
    """Renders blocks. ``_margins`` has, for each enclosing block, the indent of the first and of later lines."""

    def __init__(self, width: int, styles: ThemeStyles) -> None:
        self._width = width
        self._styles = styles
        self._margins: list[tuple[str, str]] = []
        self._counts: list[int | None] = []
        self._table: Table | None = None
        self._cells: list[Text] = []

    def of(self, tokens: "Sequence[Token]") -> Iterator[Text]:
        is_first = True
        for token in tokens:
            if token.type in ("bullet_list_open", "ordered_list_open"):
                self._counts.append(int(token.attrs.get("start", 1)) if token.tag == "ol" else None)
            elif token.type in ("bullet_list_close", "ordered_list_close"):
                self._counts.pop()
            elif token.type == "list_item_open":
                self._begin_item()
            elif token.type == "blockquote_open":
                self._margins.append(("  ", "  "))
            elif token.type in ("list_item_close", "blockquote_close"):
                self._margins.pop()
            elif token.type in _OF_TABLES or self._table is not None:
                if token.type == "table_open" and not is_first:
                    yield Text()
                is_first = False
                yield from self._part_of_table(token)
            elif token.type in ("inline", "fence", "code_block"):
                is_item = bool(self._counts) and token.type == "inline"  # it has no blank line before it
                if not is_first and not token.hidden and not is_item:
                    yield Text()
                is_first = False
                yield from self._block(token)

    def _begin_item(self) -> None:
        count = self._counts[-1]
        sign = f"{self._styles.glyphs.dot} " if count is None else f"{count}. "
        if count is not None:
            self._counts[-1] = count + 1
        self._margins.append((sign, " " * len(sign)))

    def _block(self, token: "Token") -> Iterator[Text]:
        if token.type == "inline":
            lines = wrap(self._inline(token.children or []), self._room)
        else:
            code = [sanitize(line) for line in token.content.rstrip("\n").split("\n")]
            folded = [part for line in code for part in _folded(line, self._room - 2)]
            lines = [Text(f"  {line}", self._styles.code) for line in folded]
        yield from self._indented(lines)

    def _indented(self, lines: Iterable[Text]) -> Iterator[Text]:
        for line in lines:
            yield Text.assemble("".join(first for first, _ in self._margins), line)
            self._margins = [(rest, rest) for _, rest in self._margins]

    def _part_of_table(self, token: "Token") -> Iterator[Text]:
        """Add a part to the table that is open; yield its lines when it is complete."""
        if token.type == "table_open":
            self._table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
        assert self._table is not None
        if token.type == "inline":
            self._cells.append(self._inline(token.children or []))
        elif token.type == "th_open":
            is_right = "right" in str(token.attrs.get("style", ""))
            self._table.add_column(justify="right" if is_right else "left", overflow="fold")
        elif token.type == "tr_close":
            if any(each.header for each in self._table.columns):
                self._table.add_row(*self._cells)
            else:
                for column, cell in zip(self._table.columns, self._cells, strict=True):
                    column.header = cell
            self._cells = []
        elif token.type == "table_close":
            table, self._table = self._table, None
            yield from self._indented(_lines_of(table, max(_LEAST_ROOM, self._room)))

    @property
    def _room(self) -> int:
        return self._width - sum(len(first) for first, _ in self._margins)

    def _inline(self, tokens: "Sequence[Token]") -> Text:
        text, styles = Text(), [Style()]
        for token in tokens:
            if token.type in _OPENS:
                styles.append(styles[-1] + _OPENS[token.type])
            elif token.type in ("strong_close", "em_close"):
                styles.pop()
            elif token.type == "code_inline":
                text.append(sanitize(token.content), styles[-1] + self._styles.code)
            elif token.type == "softbreak":
                text.append(" ")
            elif token.type == "hardbreak":
                text.append("\n")
            elif token.type == "link_close":
                pass
            elif token.type == "link_open":
                text.append(f"{sanitize(str(token.attrs.get('href', '')))} ", DIM)
            else:
                text.append(sanitize(token.content), styles[-1])
        return text


# the rows of an exercise

_INDENT = 4
_LONGEST_LINE = 100
"""Longer lines are tiring to read."""
_BOLD = Style(bold=True)


class Sheet:
    """Formats the rows of an exercise, whose items are the tasks; wrapped texts are cached for each width."""

    def __init__(self, exercise: Exercise, number: int, styles: ThemeStyles) -> None:
        self._exercise = exercise
        self._number = number
        self._styles = styles
        self._width = _LONGEST_LINE
        self._wrapped: dict[tuple[str, int, bool], list[Line]] = {}

    def head(self, status: AttemptStatus) -> Line:
        """Return the head line: the sign of every task, the points, the allowed commands."""
        styles, pieces = self._styles, Line()
        for result in status.results:
            sign, style = _sign(result, styles)
            pieces += [(f" {result.task}", _BOLD), (f"{sign} ", style)]
        if status.is_solved:
            pieces.append((" SOLVED ", styles.mark("met") + Style(bold=True)))
        facts = [format_points(self._exercise, status.points), f"attempt {self._number}"]
        pieces.append((f" {f' {styles.glyphs.dot} '.join(facts)}", _BOLD))
        may = ", ".join(self._exercise.may) or "only answer and look"
        pieces.append((f" {styles.glyphs.dot} you may: {may}", DIM))
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

    def _task_head(self, task: ExerciseTask, result: Result, is_selected: bool) -> Row:
        styles = self._styles
        sign, style = _sign(result, styles)
        word = f"{sign} {_state_text(task, result)}"
        room = self._width - _INDENT - cell_len(word) - 2
        title = sanitize(task.title, max(2, room))
        before = (styles.glyphs.play if is_selected else " ", styles.accent)
        shown = styles.accent if is_selected else _BOLD
        return Row(
            [
                before,
                (f"{task.number:2} ", shown),
                (f"{title}{'':{max(2, room + 2 - cell_len(title))}}", shown),
                (word, style),
            ],
            task.number,
        )

    def _task_body(self, task: ExerciseTask, result: Result, given: int, takes: bool) -> Iterator[Line]:
        styles, is_open = self._styles, result.state == "open"
        yield from self._text(task.text)
        if question := task.question or task.explain:
            yield from self._plain(question, _BOLD)
            yield from (
                [(f"{place}  ", styles.accent), (sanitize(option, 200), Style())]
                for place, option in enumerate(task.options, 1)
                if is_open
            )
        if task.at_most is not None and is_open:
            yield [(f"at most {format_count(task.at_most, 'command')}; {given} given so far", DIM)]
        for place, hint in enumerate(task.hints[: result.hints], 1):
            cost = f", cost {hint.costs}" if hint.costs else ""
            yield [(f"hint {place} of {len(task.hints)}{cost}", styles.mark("mark"))]
            yield from ([("  ", Style()), *pieces] for pieces in self._text(hint.text, 2))
        yield from map(pieces_of, answer_lines(result, self._width - _INDENT, styles))
        if explanation := explanation_of(task, result):
            yield from self._text(explanation)
        if takes and (keys := _key_hints(task, result)):
            yield [(keys, styles.accent)]

    def _plain(self, text: str, style: Style) -> Iterator[Line]:
        return map(pieces_of, _wrap_plain(text, style, self._width - _INDENT))

    def _text(self, markdown: str, indent: int = _INDENT) -> list[Line]:
        key = (markdown, self._width - indent, self._styles.dark)
        if key not in self._wrapped:
            self._wrapped[key] = [pieces_of(line) for line in markdown_lines(markdown, key[1], self._styles)]
        return self._wrapped[key]


def _sign(result: Result, styles: ThemeStyles) -> Piece:
    if result.state == "done":
        return styles.glyphs.marks["met"], styles.mark("met") + Style(bold=True)
    if result.state == "missed":
        return styles.glyphs.marks["unmet"], styles.mark("unmet")
    if result.state == "answered":
        return styles.glyph("Waiting"), styles.status("Waiting")
    return styles.glyph("Working"), Style()


def _wrap_plain(text: str, style: Style, width: int) -> list[Text]:
    return wrap(Text(sanitize(" ".join(text.split())), style), width)


def answer_lines(result: Result, width: int, styles: ThemeStyles) -> Iterator[Text]:
    """Yield the lines with the student's answer, and how it was judged."""
    if result.answer and not result.why.startswith("you answered"):
        for line in f"you answered: {result.answer}".split("\n"):
            yield from _wrap_plain(line, styles.accent, width)
    if result.why and not result.is_open:
        yield from _wrap_plain(result.why, _sign(result, styles)[1], width)


def option_lines(task: ExerciseTask, result: Result, styles: ThemeStyles) -> Iterator[Text]:
    """Yield a line for each option of a task: the student's answer is marked, and the right one, once judged."""
    for place, option in enumerate(task.options, 1):
        is_own = normalize_answer(option) == normalize_answer(result.answer)
        is_right = not result.is_open and task.accepts(option)
        done = Result(task.number, "done")
        sign, style = _sign(done if is_right else result, styles) if is_own or is_right else (" ", Style())
        notes = [*(["your answer"] if is_own else []), *(["right"] if is_right else [])]
        yield Text.assemble(
            (f"{sign} {place}  ", style), (sanitize(option, 200), style), (f"  {', '.join(notes)}", DIM)
        )


def explanation_of(task: ExerciseTask, result: Result) -> str:
    """Return the explanation of a task, in Markdown; empty before it is decided."""
    return "" if result.is_open else task.explanation_after(result.answer).strip()


def _state_text(task: ExerciseTask, result: Result) -> str:
    if result.state == "open":
        worth = "for your teacher" if task.way == "explain" else format_count(task.points, "point")
        return f"open, {worth}"
    if result.state == "done":
        return "saved" if task.way == "explain" else f"done +{result.points}"
    return result.state


def _key_hints(task: ExerciseTask, result: Result) -> str:
    """Return the keys that apply to a task, with what they do."""
    hints = []
    if result.state == "open" and task.way in ("question", "explain"):
        hints.append("Enter answers")
    if result.state == "open" and (hint := describe_hint(task, result)):
        hints.append(f":hint gives {hint}")
    return ", ".join(hints)


def describe_hint(task: ExerciseTask, result: Result) -> str:
    """Describe the next hint and its cost; empty if there is none left."""
    if result.hints >= len(task.hints):
        return ""
    costs = task.hints[result.hints].costs
    cost = f"costs {costs} of {format_count(task.points, 'point')}" if costs else "costs nothing"
    return f"a hint that {cost}"


def rules_of(task: ExerciseTask) -> str:
    """Return the rules for answers to a task."""
    if task.way == "explain":
        return "The first answer counts. Your teacher reads it."
    if task.before:
        return "The first answer counts, and only if given before the event in question."
    return "The first answer counts."


# the widget


class ExerciseView(RowsView):
    """The tasks of the exercise. ``cursor`` is the task that the user selected; None means the first open one.

    During the attempt they are shown as they are now, wherever the cursor in time is; in a recording, as they were
    at the cursor. ``drafts`` maps tasks to answers not submitted yet.
    """

    def __init__(self, styles: ThemeStyles, source: Source) -> None:
        super().__init__("exercise", styles)
        self._source = source
        self._status: AttemptStatus | None = None
        self._noted: int | None = None
        """A task that has changed, if the first open one is too far from it to be in sight as well."""
        self.drafts: dict[int, str] = {}

    @property
    def selected(self) -> int:
        """The number of the selected task."""
        if self.cursor is not None:
            return self.cursor
        status = self._status or self._attempt.last
        return self._noted or status.next_open or len(status.results)

    @property
    def _attempt(self) -> AttemptLog:
        attempt = self._source.attempt
        assert attempt is not None, "the view is available only in the run of an attempt"
        return attempt

    def show(self, time_cursor: Cursor) -> None:
        """Draw the state of the tasks, and scroll to what has changed."""
        if not self.scrollable_content_region.width:
            return  # it has no size yet
        attempt, before = self._attempt, self._status
        self._status = status = attempt.last if self._source.is_live else attempt.at(time_cursor.record)
        panel = Style(bgcolor=self.app.current_theme.panel)
        if not self._is_new(status, self.selected, self._source.takes_commands, panel):
            return
        changed = [] if before is None else _changed(before, status)
        self._noted = None if changed else self._noted
        if self.cursor in changed and status.results[self.cursor - 1].state != "open":
            self.cursor = None
        self._put_sheet(status, panel)
        if changed and self.cursor is None:
            missed = [task for task in changed if status.results[task - 1].state == "missed"]
            noted = missed[0] if missed else changed[-1]
            if not self._scroll_to_change(noted):
                self._noted = noted
                self._put_sheet(status, panel)
        elif self.cursor in changed:
            self._scroll(self._top_for(self.cursor))

    def _put_sheet(self, status: AttemptStatus, panel: Style) -> None:
        width = self.scrollable_content_region.width
        rows = list(self._sheet.rows(status, self.selected, self._source.takes_commands, width))
        self._put_rows(rows, [self._in_style(self._sheet.head(status), panel)])

    def move_cursor(self, place: int) -> None:
        """Select the task of this row and scroll to it."""
        self.cursor = self._rows[place].item
        self._scroll(place)

    def activate(self) -> None:
        """Answer the selected task, or show its full text."""
        self.call_later(self.run_action, "screen.do('answer')")

    def action_cursor(self, by: int) -> None:
        """Scroll through the rest of the selected task, then select the next one.

        Above the first task, scroll to the introduction; below the last one, scroll to the end.
        """
        first, last = self._places(self.selected)
        top, height = self.scroll_offset.y, max(1, self._height)
        if by > 0 and last >= top + height:
            self._scroll(min(top + height, last - height + 1))  # first scroll through the rest of this task
        elif by < 0 and first < top:
            self._scroll(max(first, top - height))
        elif not 1 <= self.selected + by <= len(self._attempt.exercise.tasks):
            self._scroll(0 if by < 0 else len(self._rows))
        else:
            self.cursor = self.selected + by
            self._scroll(self._top_for(self.cursor))
        self.refresh()

    def action_cursor_page(self, pages: int) -> None:
        """Scroll by pages."""
        self._scroll(self.scroll_offset.y + pages * max(1, self._page))

    def on_click(self, event: events.Click) -> None:
        """Select the task under the mouse, or answer it if it is selected already."""
        task = self._item_at(event)
        if task is not None and task == self.selected:
            self.activate()
        elif task is not None:
            self.cursor = task

    @cached_property
    def _sheet(self) -> Sheet:
        return Sheet(self._attempt.exercise, self._attempt.number, self._styles)

    def _scroll_to_change(self, changed: int) -> bool:
        """Scroll to a changed task, with as much of the selected task below it as fits.

        Return whether the head of the selected task is in sight.
        """
        first, last = self._places(changed)
        selected_first, selected_last = self._places(self.selected)
        top = min(first, max(0, max(last, selected_last) - self._height + 1))
        self._scroll(top)
        return top <= selected_first < top + self._height

    def _places(self, task: int) -> tuple[int, int]:
        """Return the first and the last row of a task."""
        places = [place for place, row in enumerate(self._rows) if row.item == task]
        return (places[0], places[-1]) if places else (0, 0)


def _changed(before: AttemptStatus, now: AttemptStatus) -> list[int]:
    """Return the tasks whose result has changed."""
    return [new.task for old, new in zip(before.results, now.results, strict=True) if old != new]
