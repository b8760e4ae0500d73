"""Which actions are available, why the others are not, and which keys to press first."""

from functools import cache

from lab.tasks.extension import built_in_extensions
from lab.text import sanitize
from lab.tui.actions import ACTIONS, Action
from lab.tui.player import SCRIPT_MARKS
from lab.tui.source import Source

_NEEDS_ALIVE = {"kill": True, "pause": True, "restart": False, "wipe": False}
"""Whether the process of the selected node must be alive for an action, or must not."""
_NOT_SERVED = ("export", "write", "branch", "branches", "compare")
"""Actions that reach files outside the student's folder, or cost the shared machine too much."""


def is_available(action: Action, source: Source, process: str | None, seen: tuple[str, ...]) -> bool:
    """Return whether an action applies now, to the selected node; the footer shows only those that do.

    ``process`` is the state of that node's process; None if no node is selected. Its keys then say to select one.
    """
    is_applicable = (
        process is None
        or action.word not in _NEEDS_ALIVE
        or _NEEDS_ALIVE[action.word] == (process in ("running", "paused"))
    )
    return is_applicable and not reason_unavailable(action, source, seen)


def reason_unavailable(action: Action, source: Source, seen: tuple[str, ...] = ()) -> str:
    """Return why an action is not available in this run, whichever node is selected; empty if it is.

    ``seen`` are the visible views, and ``search`` and ``tour`` while one of these is active.
    """
    if action.of_view and action.of_view not in seen:
        key = next(each.shown for each in ACTIONS if each.word == action.of_view)
        return f"{action.word} works in the {action.of_view}: press {key} to show it"
    if action.where == "driver" and not source.takes_commands:
        return f"this run takes no commands: {source.reason_no_commands}"
    if action.where == "simulated" and not source.controls_time:
        return "only in a simulated run can you choose the next event: lab run bully --sim"
    if action.word in ("next-mark", "previous-mark") and "search" in seen:
        return ""
    if source.is_served and action.word in _NOT_SERVED:
        return f"{action.word} is not on the server; install lab to use it"
    return _reason_in_exercise(action, source) or _reason_missing(action.word, source, seen)


def _reason_in_exercise(action: Action, source: Source) -> str:
    attempt = source.attempt
    if attempt is None:
        is_missing = action.group == "exercise" or action.word == "exercise"
        return "this run belongs to no exercise; lab exercise list shows the exercises" if is_missing else ""
    if action.word in ("again", "hand-in") and not attempt.is_own:
        return f"only the student of this attempt can use {action.word}"
    if action.word in ("hint", "hand-in") and not source.takes_commands:
        return f"{action.word} is no longer possible: {source.reason_no_commands}"
    if action.word == "tour":
        return "the tour does not run in an exercise; lab tour starts one"
    if action.where == "driver" and action.word not in attempt.exercise.allowed:
        may = ", ".join(attempt.exercise.may) or "none"
        return f"{action.word} is not allowed in this exercise; allowed commands: {may}"
    return ""


def _reason_missing(word: str, source: Source, seen: tuple[str, ...]) -> str:
    """Return what is missing that the action needs."""
    header = source.store.header
    reason = ""
    match word:
        case "next-mark" | "previous-mark" if not _has_marks(source):
            reason = "no bookmark, caption, mark or unmet expectation in this run so far; M adds a bookmark"
        case "skip" if "tour" not in seen:
            reason = "no tour is running; :tour starts one"
        case "tour" if not source.takes_commands:
            reason = "the tour needs a running cluster; lab tour starts one"
        case "predict" if _elects_nobody(header.protocol.promises):
            reason = "{} elects no coordinator, so there is nothing to predict; try lab run bully"
        case "groups" if not source.groups.groups:
            reason = "{} has no groups; try lab run invitation"
        case "script" if not header.scenario:
            reason = "this run has no script; try lab run SCENARIO, or lab run bully --script FILE"
        case "code" if not header.protocol.source.strip():
            reason = "this recording does not contain the source of its protocol"
        case _ if source.extension.view(word) is None:
            reason = _reason_without(word)
    return reason.format(sanitize(header.protocol.title, 30)) if reason else ""


@cache
def _reason_without(word: str) -> str:
    """Return what the runs of other protocols lack, if this is the word of a view that a built-in task brings."""
    views = (view for brought in built_in_extensions() for view in brought.views)
    return next((f"{{}} {view.without}" for view in views if view.word == word), "")


def _has_marks(source: Source) -> bool:
    return bool(source.bookmarks.all) or not source.marks.found.isdisjoint(SCRIPT_MARKS)


def _elects_nobody(promises: tuple[str, ...]) -> bool:
    return bool(promises) and not {"A1.1", "A3.1"}.intersection(promises)


def opening_hint(source: Source) -> str:
    """Return the remark of a recording or scenario, or else which keys to press first."""
    remark = source.store.header.remark
    if source.attempt is not None and source.can_command:
        return "Up and Down select a task, A answers it, H gives a hint; a digit selects a node, ? for all keys"
    script = "; s shows the script" if source.store.header.scenario else ""
    if remark and (script or not source.is_live):
        return f"{sanitize(remark, 250)} (? for all keys{script})"
    if source.is_live and source.store.header.world == "simulated":
        return "space freezes and resumes time, . executes the next event, c chooses which; ? for all keys"
    hint = source.extension.opening_hint
    return f"press a node's number to select it, ? for all keys{hint and f'; {hint}'}"
