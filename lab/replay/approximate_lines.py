"""Estimate the lines that a step ran, from its input and the waits before and after it, without a trace."""

from collections.abc import Iterator, Sequence

from lab.kernel import CommandInput, Fired, Started, Step, Wait
from lab.replay.source_listing import Function, Listing

__all__ = ["approximate_lines"]


def approximate_lines(listing: Listing, step: Step, kind: str, before: Sequence[Wait]) -> tuple[int, ...]:
    """Return the lines of functions begun in the step, and of each procedure those from its old to its new wait.

    ``kind`` is the kind of the message received, or empty; ``before`` are the waits of the node before the step.
    """
    lines: dict[int, None] = {}
    handler = listing.handler_of(kind)
    for function in (*_begun(listing, step), *([] if handler is None else [handler])):
        lines.update(dict.fromkeys(range(function.line, function.last + 1)))
    earlier = {wait.procedure: wait for wait in before}
    later = {wait.procedure: wait for wait in step.waits}
    for procedure in dict.fromkeys([*earlier, *later]):
        was, now = earlier.get(procedure), later.get(procedure)
        if was is None or now is None or (was.line, was.what, was.since_us) != (now.line, now.what, now.since_us):
            lines.update(dict.fromkeys(_between(listing, was, now)))
    return tuple(lines)


def _begun(listing: Listing, step: Step) -> tuple[Function, ...]:
    match step.input:
        case Started():
            return listing.named("started")[:1]
        case CommandInput(command=command):
            return listing.named(command)[:1]
        case Fired(procedure=procedure) if not step.waits:
            return listing.named(procedure)[:1]
    return ()


def _between(listing: Listing, was: Wait | None, now: Wait | None) -> Iterator[int]:
    """Yield the lines from one wait to the other; a procedure that began again starts at its first line."""
    start = None if was is None else listing.line_of(was)
    end = None if now is None else listing.line_of(now)
    known = start or end
    function = None if known is None else listing.function_at(known)
    if function is None:
        return
    if start is None or (end is not None and end < start):
        start = function.line
    yield from range(start, (function.last if end is None else end) + 1)
