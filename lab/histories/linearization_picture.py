"""A picture of a search for a linearization: each operation a bar in the row of its client, along the events.

The bars of the order that was found are numbered in it. If it is the longest that fits, the operation that does
not fit is marked, and what was called later is left out. The layout has ranks of events in place of times, so that
short operations can be read; it knows nothing of characters or pixels. ``text_picture`` draws it as text.
"""

from collections.abc import Hashable, Sequence

from msgspec import Struct

from lab.histories.linearizability import KeyLinearization
from lab.histories.values import format_value
from lab.text import sanitize
from lab.units import format_count, format_rounded

_LONGEST_LABEL = 32


class OperationBar(Struct, frozen=True):
    """An operation in the row of its client, from one event to another; ``end`` is None if it is still open.

    ``number`` is its place in the order, from 1; None if it is not in it. ``is_misfit``: it fits in no order.
    """

    row: int
    start: int
    end: int | None
    label: str
    number: int | None
    is_misfit: bool


class LinearizationChart(Struct, frozen=True):
    """The rows by client, the bars by their beginning, and the times of all events in order, in microseconds.

    ``left_out`` counts the operations before the first bar; ``caption`` is what the picture shows.
    """

    rows: tuple[str, ...]
    bars: tuple[OperationBar, ...]
    times_us: tuple[int, ...]
    left_out: int
    caption: str


def lay_out(part: KeyLinearization, most: int = 40) -> LinearizationChart:
    """Return the chart of the last operations that were called before the misfit returned, at most ``most``."""
    misfit = part.misfit
    last = None if misfit is None else misfit.returned_index
    called = [each for each in part.operations if last is None or each.index <= last]
    shown = called[-most:] if most else called
    if misfit is not None and misfit not in shown:
        shown = [misfit, *shown[1:]]
    events = sorted(
        [(each.index, each.invoked_at_us) for each in shown]
        + [
            (each.returned_index, each.completed_at_us or 0)
            for each in shown
            if each.returned_index is not None and (last is None or each.returned_index <= last)
        ]
    )
    rank = {index: place for place, (index, _) in enumerate(events)}
    numbers = {each.index: number for number, each in enumerate(part.order, 1)}
    rows = tuple(dict.fromkeys(each.process for each in shown))
    bars = tuple(
        OperationBar(
            row=rows.index(each.process),
            start=rank[each.index],
            end=None if each.returned_index is None else rank.get(each.returned_index),
            label=sanitize(str(each).removeprefix(f"{each.process} "), _LONGEST_LABEL),
            number=numbers.get(each.index),
            is_misfit=each is misfit,
        )
        for each in shown
    )
    times_us = tuple(at_us for _, at_us in events)
    return LinearizationChart(rows, bars, times_us, len(called) - len(shown), _caption(part, part.key))


def _caption(part: KeyLinearization, key: Hashable) -> str:
    of_key = "" if key is None else f" of {format_value(key)}"
    if part.misfit is None:
        return f"numbered: an order that fits{of_key}" if part.word == "holds" else f"not decided{of_key}"
    states = " or ".join(part.possible)
    return (
        f"numbered: the longest order that fits{of_key}, of {format_count(len(part.order), 'operation')}; marked: "
        f"fits nowhere, since before it returns the state{of_key} is {states}"
    )


def text_picture(part: KeyLinearization, width: int = 100, ascii_only: bool = False) -> list[str]:
    """Return the picture as lines of at most ``width`` characters, with as many operations as fit in that.

    The operations that overlap the misfit are shown in any case, and may make the lines longer.
    """
    lines: list[str] = []
    for most in (60, 40, 30, 24, 20, 16, 12, 10, 8, 6, 4, 3, 2):
        lines = draw_text(lay_out(part, most), ascii_only)
        if max(map(len, lines[:-1])) <= width:
            break
    return lines


def draw_text(chart: LinearizationChart, ascii_only: bool = False) -> list[str]:
    """Return a line of times, a line for each client, and the caption."""
    labels = [_label(bar, ascii_only) for bar in chart.bars]
    columns, width = _columns(chart, labels)
    margin = max((len(name) for name in chart.rows), default=0) + 2
    begins, line, ends, is_open = ("|", "-", "|", ">") if ascii_only else ("├", "─", "┤", "▸")
    grid = [[" "] * (width + 1) for _ in chart.rows]
    for bar, label in zip(chart.bars, labels, strict=True):
        start, end = columns[bar.start], width if bar.end is None else columns[bar.end]
        text = begins + label.ljust(end - start - 1, line) + (is_open if bar.end is None else ends)
        grid[bar.row][start : end + 1] = text
    names = [sanitize(name).ljust(margin) for name in chart.rows]
    lines = [" " * margin + _axis(chart.times_us, columns)]
    lines += [name + "".join(cells).rstrip() for name, cells in zip(names, grid, strict=True)]
    before = f"{format_count(chart.left_out, 'operation')} before; " if chart.left_out else ""
    return [*lines, before + sanitize(chart.caption)]


def _label(bar: OperationBar, ascii_only: bool) -> str:
    mark = ("x" if ascii_only else "✗") if bar.is_misfit else "" if bar.number is None else str(bar.number)
    label = bar.label.replace("→", "->").replace("…", "...") if ascii_only else bar.label
    return f"{mark} {label} "


def _columns(chart: LinearizationChart, labels: Sequence[str]) -> tuple[list[int], int]:
    """Return the column of each event, so that every label has room within its bar, and that of the right edge."""
    starting = {bar.start: bar for bar in chart.bars}
    ending = {bar.end: place for place, bar in enumerate(chart.bars) if bar.end is not None}
    columns: list[int] = []
    free_from = [0] * len(chart.rows)
    for event in range(len(chart.times_us)):
        column = columns[-1] + 1 if columns else 0
        if event in starting:
            column = max(column, free_from[starting[event].row])
        else:
            place = ending[event]
            bar = chart.bars[place]
            column = max(column, columns[bar.start] + len(labels[place]) + 1)
            free_from[bar.row] = column + 2
        columns.append(column)
    opened = [
        columns[bar.start] + len(label) + 1
        for bar, label in zip(chart.bars, labels, strict=True)
        if bar.end is None
    ]
    return columns, max([*columns[-1:], *opened], default=0)


def _axis(times_us: Sequence[int], columns: Sequence[int]) -> str:
    """Return the times as text, each above its event where there is room."""
    text = ""
    shown = ""
    for at_us, column in zip(times_us, columns, strict=True):
        label = format_rounded(at_us)
        if (not text or column > len(text) + 1) and label != shown:
            text = text.ljust(column) + label
            shown = label
    return text
