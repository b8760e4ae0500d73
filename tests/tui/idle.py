"""Wait for the interface by its queues of messages, in place of Textual's wait by the clock.

Textual's pilot waits, twice for each key, until the process has used little processor time for 20 ms. An interface
that draws ten frames a second may never be that calm; the wait then lasts a second, most of it spent on drawing.
Here a key is handled when every queue is empty, every widget waits for a message, and the screen is laid out.

No terminal shows what a test draws, so the cells are rendered once for each wait, and not sixty times a second.
"""

import asyncio
import contextlib
import time
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

import pytest
import textual.app
import textual.pilot
from textual import constants
from textual._compositor import Compositor
from textual._context import active_app
from textual.app import App
from textual.cache import LRUCache
from textual.css.stylesheet import Stylesheet
from textual.message_pump import MessagePump
from textual.pilot import Pilot

import lab.tui.screen
from lab.tui.screen import RunScreen

__all__ = ["hasten", "render"]

_TURNS = 3
"""A callback of the loop may post a message in its next turn."""
_QUICK_TURNS = 50
_PASS_S = 0.2
"""What is busy for longer is waited for by its effect."""
_PERIOD_S = 0.002
"""How often to look again at what takes many turns of the loop: it waits for a thread or a process."""


def hasten(patch: pytest.MonkeyPatch) -> None:
    """Replace the waits of the pilot, and what it would wait for; parse the styles once for all applications."""
    patch.setattr(constants, "TEXTUAL_ANIMATIONS", "none")
    patch.setattr(lab.tui.screen, "_STILL_S", 0.1)  # tests move the cursor in time behind the screen's back
    patch.setattr(textual.app, "wait_for_idle", _wait_until_idle)
    patch.setattr(textual.pilot, "wait_for_idle", _wait_for_frame)
    patch.setattr(Pilot, "_wait_for_screen", _wait_for_screen)
    patch.setattr(Compositor, "render_update", _render_if_awaited)
    patch.setattr(Stylesheet, "__init__", _begin_stylesheet)
    patch.setattr(Stylesheet, "set_variables", _set_variables)


def render(app: App[Any]) -> None:
    """Render what has changed since the last frame that was rendered."""
    if _is_on(app):
        with _rendering():
            app.screen._compositor_refresh()


async def _wait_until_idle(least_s: float = 0.0, most_s: float = 1.0) -> None:
    """Wait until the application has handled what was sent to it, or has ended."""
    app: App[Any] = active_app.get()
    ends_s = time.monotonic() + most_s
    idle_turns = busy_turns = 0
    while idle_turns < _TURNS and time.monotonic() < ends_s and _is_on(app):
        screen: Any = app.screen
        if not (_is_waiting(app) and _is_calm(screen)):
            idle_turns, busy_turns = 0, busy_turns + 1
        elif screen._update_timer._active.is_set():
            idle_turns = 0
            screen._on_timer_update()
        else:
            idle_turns += 1
        await asyncio.sleep(_PERIOD_S if busy_turns > _QUICK_TURNS else 0)


async def _wait_for_frame(least_s: float = 0.0, most_s: float = 1.0) -> None:
    """Wait until the application has handled what was sent to it, and shows what there is to see."""
    await _wait_until_idle()
    app: App[Any] = active_app.get()
    if _is_on(app) and isinstance(app.screen, RunScreen):
        app.screen.draw()
        await _wait_until_idle()


async def _wait_for_screen(pilot: Pilot[Any]) -> bool:
    """Wait as for a key, in place of a message to every widget."""
    await _wait_until_idle(most_s=_PASS_S)
    return True


def _is_on(app: App[Any]) -> bool:
    return app.is_running and bool(app.screen_stack)


def _is_waiting(pump: MessagePump) -> bool:
    """Return whether a widget has handled all its messages and waits for the next one."""
    queue: Any = pump._message_queue
    return bool(queue.ready_event._waiters) and queue.empty() and not pump._next_callbacks


def _is_calm(widget: Any) -> bool:
    """Return whether a widget and all that are in it wait."""
    return _is_waiting(widget) and all(map(_is_calm, widget._nodes))


_render_update = Compositor.render_update
_is_awaited = ContextVar("_is_awaited", default=False)


@contextlib.contextmanager
def _rendering() -> Iterator[None]:
    token = _is_awaited.set(True)
    try:
        yield
    finally:
        _is_awaited.reset(token)


def _render_if_awaited(compositor: Compositor, full: bool = False, *given: Any, **named: Any) -> Any:
    """Render what has changed since the last frame that was awaited."""
    return _render_update(compositor, full, *given, **named) if full or _is_awaited.get() else None


_begin, _set = Stylesheet.__init__, Stylesheet.set_variables
_rules: dict[frozenset[tuple[str, str]], LRUCache[Any, Any]] = {}


def _begin_stylesheet(sheet: Stylesheet, *, variables: dict[str, str] | None = None) -> None:
    _begin(sheet, variables=variables)
    _share_rules(sheet)


def _set_variables(sheet: Stylesheet, variables: dict[str, str]) -> None:
    sheet._parse_cache = LRUCache(1)  # to be cleared in place of the shared one
    _set(sheet, variables)
    _share_rules(sheet)


def _share_rules(sheet: Stylesheet) -> None:
    """Give a stylesheet the rules that all stylesheets with these variables have parsed."""
    sheet._parse_cache = _rules.setdefault(frozenset(sheet._variables.items()), LRUCache(4096))
