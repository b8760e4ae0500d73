"""The progress of long work, on standard error: the only module that knows ``rich.progress``.

The work counts, and a thread shows the count, so that the line moves even while the work does not report. On a
terminal it is a bar or a spinner, which appears after half a second and leaves no trace. The cursor stays visible,
so nothing has to be restored, however the program ends. In a log file it is a plain line every ten seconds.
"""

import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta

from rich import progress as rich_progress
from rich.console import ConsoleOptions, RenderableType
from rich.table import Column
from rich.text import Text

from lab.cli.terminal import TerminalConsole
from lab.glyphs import draws_unicode
from lab.output import print_remark
from lab.text import Sanitized, sanitize
from lab.units import CountText, format_count

_APPEARS_AFTER_S = 0.5
_DRAWN_EVERY_S = 0.2
_LOGGED_EVERY_S = 10.0
_SPEED_OVER_S = 60.0
_BARS = 5
"""The width of the terminal, in bars."""
_LONGEST_NAME = 40
_MARGIN = 3


class Progress:
    """The progress of some work, shown during a ``with`` block.

    ``name`` describes the work, ``unit`` is a noun in the singular. A bar shows the share of the work that is
    done, of ``total`` units or as given with the count. While that is unknown, there is a spinner. ``known`` units
    were done earlier: they do not count for the speed.
    """

    def __init__(self, name: str, unit: str = "", total: int = 0, known: int = 0) -> None:
        self._name = sanitize(name, _LONGEST_NAME)
        self._unit, self._total, self._known = unit, total, known
        self._done, self._note = 0, ""
        self._share = 0.0 if total else None
        self._began_s = self._counted_since_s = time.monotonic()
        console = _ErrorConsole()
        self._display = rich_progress.Progress(
            _BarOrSpinner(console.width // _BARS),
            _Text(),
            console=console,
            auto_refresh=False,
            speed_estimate_period=_SPEED_OVER_S,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._task = self._display.add_task(self._name, total=None)
        self._drawing = threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._show, daemon=True)

    def __enter__(self) -> "Progress":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def __call__(self, done: int, note: str = "", share: float | None = None) -> None:
        """Set the number of units done, as often as wanted; ``note`` ends the line."""
        if self._done < self._known <= done:
            self._counted_since_s = time.monotonic()
        self._done, self._note = done, note
        if share is not None:
            self._share = share
        elif self._total:
            self._share = done / self._total

    def report(self, text: str) -> None:
        """Set what is done by a text; the numbers of a ``CountText`` move the bar."""
        if not isinstance(text, CountText):
            self._note = text
            return
        if text.what != self._note:  # the next part of the work
            self._counted_since_s = time.monotonic()
            self._unit = text.noun
        self._total = text.total
        self(text.done, text.what)

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """Erase the line while something else is printed."""
        with self._drawing:
            is_drawn = self._display.live.is_started
            if is_drawn:
                self._display.stop()
            yield
            if is_drawn:
                self._display.start()

    def _show(self) -> None:
        """Show the line until the work is over."""
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())  # they interrupt the main thread
        with suppress(OSError):  # the terminal may be closed
            if self._display.console.is_interactive:
                self._draw()
            else:
                self._log()

    def _draw(self) -> None:
        if self._over.wait(_APPEARS_AFTER_S):
            return
        self._update()
        with self._drawing:
            self._display.start()
        try:
            while not self._over.wait(_DRAWN_EVERY_S):
                self._update()
                with self._drawing:
                    self._display.refresh()
        finally:
            self._display.stop()

    def _log(self) -> None:
        while not self._over.wait(_LOGGED_EVERY_S):
            self._update()
            print_remark(self._display.tasks[0].description)

    def _update(self) -> None:
        share, total = self._share, self._total or 1
        if share is not None:  # with another total, the estimate begins anew
            self._display.update(self._task, completed=share * total, total=total)
        line = self._describe(self._display.tasks[0].time_remaining)
        self._display.update(self._task, description=line)

    def _describe(self, left_s: float | None) -> Sanitized:
        now_s = time.monotonic()
        parts = [_format_clock(now_s - self._began_s)]
        if self._unit:
            of = f"{self._done:,} of " if self._total else ""
            parts[0] = f"{of}{format_count(self._total or self._done, self._unit)} in {parts[0]}"
        if left_s is not None:
            parts.append(f"{_format_clock(left_s)} left")
        if self._done > self._known:
            parts.append(
                f"{_format_rate((self._done - self._known) / max(now_s - self._counted_since_s, 0.001))}/s"
            )
        if self._note:
            parts.append(self._note)
        return sanitize(f"{self._name}: {', '.join(parts)}")


def _format_rate(per_s: float) -> str:
    return f"{per_s:,.0f}" if per_s >= 10 else f"{per_s:.2g}"


def _format_clock(seconds: float) -> str:
    """Format a time as minutes and seconds, with hours if there are any."""
    return str(timedelta(seconds=int(seconds))).removeprefix("0:").removeprefix("0")


class _BarOrSpinner(rich_progress.ProgressColumn):
    """A bar, or a spinner while the total is unknown."""

    def __init__(self, bar_width: int) -> None:
        super().__init__(Column(no_wrap=True))
        self._bar = rich_progress.BarColumn(bar_width, "bright_black", "green", "green")
        self._spinner = rich_progress.SpinnerColumn("dots" if draws_unicode() else "line", "green")

    def render(self, task: rich_progress.Task) -> RenderableType:
        return self._spinner.render(task) if task.total is None else self._bar.render(task)


class _Text(rich_progress.ProgressColumn):
    """The text; what does not fit into the line is cut off."""

    def render(self, task: rich_progress.Task) -> Text:
        return Text(task.description, no_wrap=True, overflow="ellipsis")


class _ErrorConsole(TerminalConsole):
    """Standard error. Its cursor is never hidden: a killed program could not show it again."""

    def __init__(self) -> None:
        super().__init__(stderr=True, force_terminal=sys.stderr.isatty(), highlight=False, markup=False)

    def show_cursor(self, show: bool = True) -> bool:
        """Leave the cursor visible."""
        return False

    @property
    def options(self) -> ConsoleOptions:
        """The options, with a margin at the right: a terminal echoes Ctrl-C as ``^C``."""
        options = super().options
        return options.update(width=options.max_width - _MARGIN)
