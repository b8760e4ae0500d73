"""Decide which actions are available, and explain why the others are not."""

from collections.abc import Callable

from lab.analysis.bank_state import has_bank
from lab.analysis.field_map import has_field
from lab.text import sanitize
from lab.tui.actions import ACTIONS, Action
from lab.tui.cluster_keys import is_applicable
from lab.tui.player import SCRIPT_MARKS
from lab.tui.source import Source
from lab.tui.widgets.pane import Pane

_NOT_SERVED = ("export", "write", "branch", "branches", "compare")
"""Actions that reach files outside the student's folder, or cost the shared machine too much."""


def takes_commands(source: Source) -> bool:
    """Return whether the run still takes commands from this user."""
    return source.can_command and not source.ended


def controls_time(source: Source) -> bool:
    """Return whether the user controls the clock of the run: it is simulated and takes commands."""
    return takes_commands(source) and source.clock is not None


def is_available(action: Action, source: Source, pane: Pane | None, seen: tuple[str, ...]) -> bool:
    """Return whether an action applies now, to the selected node; the footer shows only those that do."""
    if reason_unavailable(action, source, seen):
        return False
    # without a selected node it stays available: its key then says to select one
    return pane is None or not action.needs_node or is_applicable(action.word, pane)


def reason_unavailable(action: Action, source: Source, seen: tuple[str, ...] = ()) -> str:
    """Return why an action is not available in this run, whichever node is selected; empty if it is.

    ``seen`` are the visible views, and ``search`` and ``tour`` while one of these is active.
    """
    if action.of_view and action.of_view not in seen:
        key = next(each.shown for each in ACTIONS if each.word == action.of_view)
        return f"{action.word} works in the {action.of_view}: press {key} to show it"
    if action.where == "driver" and not takes_commands(source):
        return f"this run takes no commands: {reason_no_commands(source)}"
    if action.where == "simulated" and not controls_time(source):
        return "only in a simulated run can you choose the next event: lab run bully --sim"
    if action.word == "skip" and "tour" not in seen:
        return "no tour is running; :tour starts one"
    if action.word in ("next-mark", "previous-mark") and "search" in seen:
        return ""
    return (
        _reason_on_server(action, source) or _reason_in_exercise(action, source) or _reason_missing(action, source)
    )


def _reason_on_server(action: Action, source: Source) -> str:
    is_missing = source.is_served and action.word in _NOT_SERVED
    return f"{action.word} is not on the server; install lab to use it" if is_missing else ""


def _reason_in_exercise(action: Action, source: Source) -> str:
    attempt = source.attempt
    if attempt is None:
        return (
            "this run belongs to no exercise; lab exercise list shows the exercises"
            if _is_for_exercise(action)
            else ""
        )
    if action.word in ("again", "hand-in") and not attempt.is_own:
        return f"only the student of this attempt can use {action.word}"
    if action.word in ("hint", "hand-in") and not takes_commands(source):
        return f"{action.word} is no longer possible: {reason_no_commands(source)}"
    if action.word == "tour":
        return "the tour does not run in an exercise; lab tour starts one"
    if action.where == "driver" and action.word not in attempt.exercise.allowed:
        may = ", ".join(attempt.exercise.may) or "none"
        return f"{action.word} is not allowed in this exercise; allowed commands: {may}"
    return ""


def _is_for_exercise(action: Action) -> bool:
    return action.group == "exercise" or action.word == "exercise"


def _reason_missing(action: Action, source: Source) -> str:
    is_missing, reason = _MISSING.get(action.word, (None, ""))
    if is_missing is None or not is_missing(source):
        return ""
    return reason.format(sanitize(source.store.header.protocol.title, 30))


def _has_no_marks(source: Source) -> bool:
    return not source.bookmarks.all and source.marks.found.isdisjoint(SCRIPT_MARKS)


def _elects_nobody(promises: tuple[str, ...]) -> bool:
    """Return whether a protocol makes promises, but none about coordinators."""
    return bool(promises) and not {"A1.1", "A3.1"}.intersection(promises)


_NO_MARK = (
    _has_no_marks,
    "no bookmark, caption, mark or unmet expectation in this run so far; M adds a bookmark",
)
_MISSING: dict[str, tuple[Callable[[Source], bool], str]] = {
    "next-mark": _NO_MARK,
    "previous-mark": _NO_MARK,
    "tour": (
        lambda source: not takes_commands(source),
        "the tour needs a running cluster; lab tour starts one",
    ),
    "predict": (
        lambda source: _elects_nobody(source.store.header.protocol.promises),
        "{} elects no coordinator, so there is nothing to predict; try lab run bully",
    ),
    "groups": (
        lambda source: not source.groups.groups,
        "{} has no groups; try lab run invitation",
    ),
    "script": (
        lambda source: not source.store.header.scenario,
        "this run has no script; try lab run SCENARIO, or lab run bully --script FILE",
    ),
    "bank": (
        lambda source: not has_bank(source.store.header),
        "{} has no bank; try lab run 2pc or lab run 3pc",
    ),
    "code": (
        lambda source: not source.store.header.protocol.source.strip(),
        "this recording does not contain the source of its protocol",
    ),
    "map": (
        lambda source: not has_field(source.store.header),
        "{} has no field; try lab run field",
    ),
}
"""For each action: a test that the run lacks what it needs, and the reason to show (``{}``: the protocol)."""


def reason_no_commands(source: Source) -> str:
    """Return why the run takes no commands, and what the user can do instead."""
    if not source.is_live:
        return "this is a recording; B branches from here into a new run"
    if source.ended and source.attempt is not None and source.attempt.is_own:
        return "the run is over; R begins a new attempt"
    if source.ended:
        return "the run is over; B branches from here into a new run"
    return source.why_viewer
