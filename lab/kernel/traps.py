"""The only module of the kernel that yields.

A procedure is a coroutine. Whatever it awaits comes down to ``trap``, which hands the kernel one of the
structs below and gets back what was waited for. A coroutine that yields anything else is awaiting something
of another event loop; ``foreign_await`` finds out what, and says what to use instead.
"""

import types
from collections.abc import Callable, Coroutine, Generator
from typing import Any

from msgspec import Struct

from lab.kernel.payload import Request

__all__ = ["Ask", "Sleep", "Trap", "Until", "foreign_await", "foreign_raise", "trap"]


class Ask(Struct, frozen=True):
    """Send ``request`` to each of ``peers``; resume with the answers when ``enough`` are in, or at the bound."""

    peers: tuple[int, ...]
    request: Request[Any]
    within_us: int
    enough: int


class Sleep(Struct, frozen=True):
    """Resume after ``us`` microseconds; ``what`` says what the time is given to."""

    us: int
    what: str


class Until(Struct, frozen=True):
    """Resume with True once ``condition()`` holds after a step, with False at the bound."""

    condition: Callable[[], bool]
    what: str
    within_us: int | None


Trap = Ask | Sleep | Until


@types.coroutine
def trap(wanted: Trap) -> Generator[Trap, Any, Any]:
    """Wait, as ``wanted`` says. The one ``yield``."""
    return (yield wanted)


_INSTEAD = {
    "sleep": "self.sleep(us)",
    "sleep_until": "self.sleep(us)",
    "wait_for": "self.ask(peer, request, within=us)",
    "timeout": "self.ask(peer, request, within=us)",
    "gather": "self.ask_all(peers, request, within=us)",
    "wait": "self.until(condition, what)",
    "get": "self.until(condition, what)",
    "acquire": "self.until(condition, what)",
}
_FOREIGN = ("asyncio", "trio", "anyio", "curio", "twisted")
_GENERAL = "self.ask, self.sleep or self.until"


def foreign_await(procedure: str, coroutine: Coroutine[Any, Any, None], yielded: object) -> TypeError:
    """The error for a coroutine that yielded something that is not of this kernel."""
    awaited = getattr(coroutine, "cr_await", None)
    while _library(awaited) not in _FOREIGN and getattr(awaited, "cr_await", None) is not None:
        awaited = getattr(awaited, "cr_await", None)  # a method of the protocol's own: look at what it awaits
    code = getattr(awaited, "cr_code", None) or getattr(awaited, "gi_code", None)
    if code is not None and code.co_name != "__await__":
        return _instead(procedure, _library(awaited), code.co_name)
    frame = getattr(awaited, "gi_frame", None)
    owner = awaited if frame is None else frame.f_locals.get("self", awaited)
    name = type(yielded if owner is None else owner).__name__
    return TypeError(f"`{name}` awaited in {procedure}: a protocol awaits only {_GENERAL}")


def foreign_raise(procedure: str, error: BaseException) -> TypeError | None:
    """The same for a library that raised because its own loop does not run; None where it did not."""
    trace = error.__traceback__
    while trace is not None:
        module = str(trace.tb_frame.f_globals.get("__name__", ""))
        library = module.partition(".")[0]
        if library in _FOREIGN:
            return _instead(procedure, library, trace.tb_frame.f_code.co_name)
        trace = trace.tb_next
    return None


def _library(awaited: object) -> str:
    frame = getattr(awaited, "cr_frame", None) or getattr(awaited, "gi_frame", None)
    return "" if frame is None else str(frame.f_globals.get("__name__", "")).partition(".")[0]


def _instead(procedure: str, library: str, function: str) -> TypeError:
    shown = f"{library}.{function}" if library else function
    return TypeError(f"`{shown}` awaited in {procedure}: use {_INSTEAD.get(function, _GENERAL)} instead")
