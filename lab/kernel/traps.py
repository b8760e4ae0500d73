"""The only module of the kernel that yields.

A procedure is a coroutine. All its awaits end in ``trap``, which yields one of the structs below to the kernel and
receives the result. A coroutine that yields anything else awaits something of another event loop;
``foreign_await`` builds the error that names it and its replacement.
"""

import types
from collections.abc import Callable, Coroutine, Generator
from typing import Any

from msgspec import Struct

from lab.kernel.errors import ProtocolError
from lab.kernel.payload import Request

__all__ = ["Ask", "Sleep", "Trap", "Until", "duration", "foreign_await", "foreign_raise", "trap"]


class Ask(Struct, frozen=True):
    """Send ``request`` to each of ``peers``; resume with the answers once ``enough`` are in, or at the bound."""

    peers: tuple[int, ...]
    request: Request[Any]
    within_us: int
    enough: int


class Sleep(Struct, frozen=True):
    """Resume after ``us`` microseconds; ``what`` describes the reason."""

    us: int
    what: str


class Until(Struct, frozen=True):
    """Resume with True once ``condition()`` holds after a step, with False at the bound."""

    condition: Callable[[], bool]
    what: str
    within_us: int | None


Trap = Ask | Sleep | Until


def duration(us: int, name: str) -> int:
    """Return the time to wait. Raises ProtocolError unless it is a whole number of microseconds, 0 or more."""
    if type(us) is not int:
        raise ProtocolError(f"{name} is {us!r}: write a whole number of microseconds, such as round(…)")
    if us < 0:
        raise ProtocolError(f"{name} is {us}: nothing can wait for less than no time")
    return us


@types.coroutine
def trap(request: Trap) -> Generator[Trap, Any, Any]:
    """Yield the request to the kernel and return its result. This is the only ``yield``."""
    return (yield request)


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
    """Build the error for a coroutine that yielded something foreign to this kernel."""
    awaited = getattr(coroutine, "cr_await", None)
    while _library(awaited) not in _FOREIGN and getattr(awaited, "cr_await", None) is not None:
        awaited = getattr(awaited, "cr_await", None)  # a method of the protocol: look at what that awaits
    code = getattr(awaited, "cr_code", None) or getattr(awaited, "gi_code", None)
    if code is not None and code.co_name != "__await__":
        return _instead(procedure, _library(awaited), code.co_name)
    frame = getattr(awaited, "gi_frame", None)
    owner = awaited if frame is None else frame.f_locals.get("self", awaited)
    name = type(yielded if owner is None else owner).__name__
    return TypeError(f"`{name}` awaited in {procedure}: a protocol awaits only {_GENERAL}")


def foreign_raise(procedure: str, error: BaseException) -> TypeError | None:
    """Build the same error for a foreign library that raised outside its event loop, or return None."""
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
    function_name = f"{library}.{function}" if library else function
    return TypeError(f"`{function_name}` awaited in {procedure}: use {_INSTEAD.get(function, _GENERAL)} instead")
