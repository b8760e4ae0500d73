"""Notes on a scenario made from a recording: what was left out, and what the recording lacks."""

from collections.abc import Iterator

from lab.scenario.command_history import CommandHistory
from lab.scenario.script_search import TriedDraft
from lab.units import format_us

__all__ = ["notes_on"]

_MOST = 10
"""Limit of the number of commands named."""


def notes_on(history: CommandHistory, found: TriedDraft, is_needless: bool) -> Iterator[str]:
    """Yield the notes, a line each. ``is_needless``: shrinking left no command."""
    kept = {line.given for line in found.draft.lines}
    idle = [*history.idle, *(given.command for given in history.given if given not in kept)]
    names = [*dict.fromkeys(idle)]
    if names:
        more = [f"and {len(names) - _MOST} more"] if len(names) > _MOST else []
        yield f"left out, without effect: {', '.join([*names[:_MOST], *more])}"
    if history.is_cut:
        start = "last command" if history.given else "start"
        yield f"left out: what came more than {format_us(history.long_us)} after the {start}; not an effect"
    if is_needless:
        yield "not shrunk: the outcome is the same without any command, so all are kept"
    if history.gaps:
        yield (
            f"line {history.gaps[0] + 1} of the recording is unreadable, or delivers a message that no line "
            f"before it sends, so lines are missing; see lab verify FILE"
        )
    if not history.ended:
        yield (
            "the recording has no end: its run was interrupted or is in progress; all of it is used, "
            "and the expected outcome may be an intermediate state"
        )
