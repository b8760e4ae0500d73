"""Which actions there are at present, and what to say of one that there is not."""

from collections.abc import Callable

from lab.analysis.bank_state import has_bank
from lab.analysis.field_map import has_field
from lab.text import sanitize
from lab.tui.actions import ACTIONS, Action
from lab.tui.clusterkeys import applies
from lab.tui.nodes.pane import Pane
from lab.tui.run.player import SAID
from lab.tui.run.source import Source

__all__ = ["is_offered", "steers", "takes_commands", "why_no_commands", "why_not"]

_NOT_SERVED = ("export", "write", "branch", "branches", "beside")
"""What leads out of the folder of whoever is served, or costs the machine of all of them too much."""


def takes_commands(source: Source) -> bool:
    """Whether something can be done to the nodes."""
    return source.can_command and not source.ended


def steers(source: Source) -> bool:
    """Whether the time of the run is in the user's hands."""
    return takes_commands(source) and source.clock is not None


def is_offered(action: Action, source: Source, pane: Pane | None, seen: tuple[str, ...]) -> bool:
    """Whether an action applies now, to the selected node's pane; the footer shows only those that do."""
    if why_not(action, source, seen):
        return False
    # without a node, pressing it says what to do first
    return pane is None or not action.needs_node or applies(action.word, pane)


def why_not(action: Action, source: Source, seen: tuple[str, ...] = ()) -> str:
    """Why this is not to be done in such a run, whichever node is selected; nothing if it is.

    ``seen`` are the views that are, and ``search`` and ``tour``, while one is on.
    """
    if action.of_view and action.of_view not in seen:
        key = next(each.shown for each in ACTIONS if each.word == action.of_view)
        return f"{action.word} is for the {action.of_view}: {key} shows it"
    if action.where == "driver" and not takes_commands(source):
        return f"nothing can be done to the nodes here: {why_no_commands(source)}"
    if action.where == "simulated" and not steers(source):
        return "what happens next is chosen in simulated runs: lab run bully --sim"
    if action.word == "skip" and "tour" not in seen:
        return "no tour is on; :tour begins one"
    if action.word in ("next-mark", "previous-mark") and "search" in seen:
        return ""
    return (
        _why_not_here(action, source)
        or _why_not_in_the_exercise(action, source)
        or _why_nothing_is_there(action, source)
    )


def _why_not_here(action: Action, source: Source) -> str:
    is_missing = source.is_served and action.word in _NOT_SERVED
    return f"{action.word} is not on the server: lab has it where it is installed" if is_missing else ""


def _why_not_in_the_exercise(action: Action, source: Source) -> str:
    attempt = source.attempt
    if attempt is None:
        return "this run is of no exercise; lab exercise list says which there are" if _is_of_one(action) else ""
    if action.word in ("again", "hand-in") and not attempt.is_own:
        return f"{action.word} is for whoever began the attempt"
    if action.word in ("hint", "hand-in") and not takes_commands(source):
        return f"no {action.word} any more: {why_no_commands(source)}"
    if action.word == "tour":
        return "an exercise is no tour; lab tour begins one"
    if action.where == "driver" and action.word not in attempt.exercise.allowed:
        may = ", ".join(attempt.exercise.may) or "nothing to the nodes"
        return f"{action.word} is not for this exercise; what may be done here: {may}"
    return ""


def _is_of_one(action: Action) -> bool:
    return action.group == "exercise" or action.word == "exercise"


def _why_nothing_is_there(action: Action, source: Source) -> str:
    is_missing, why = _MISSING.get(action.word, (None, ""))
    if is_missing is None or not is_missing(source):
        return ""
    return why.format(sanitize(source.lines.header.protocol.title, 30))


def _has_no_marks(source: Source) -> bool:
    return not source.bookmarks.all and source.marks.found.isdisjoint(SAID)


def _elects_nobody(promises: tuple[str, ...]) -> bool:
    """By what it promises of coordinators; of a protocol that promises nothing nobody knows."""
    return bool(promises) and not {"A1.1", "A3.1"}.intersection(promises)


_NO_MARK = (
    _has_no_marks,
    "no bookmark, caption, mark or unmet expectation in this run so far; M makes a bookmark",
)
_MISSING: dict[str, tuple[Callable[[Source], bool], str]] = {
    "next-mark": _NO_MARK,
    "previous-mark": _NO_MARK,
    "tour": (
        lambda source: not takes_commands(source),
        "the tour is through a run that goes on; lab tour begins one",
    ),
    "predict": (
        lambda source: _elects_nobody(source.lines.header.protocol.promises),
        "{} elects nobody, so there is nothing to predict; bully does: lab run bully",
    ),
    "groups": (
        lambda source: not source.groups.groups,
        "{} has no groups; invitation does: lab run invitation",
    ),
    "script": (
        lambda source: not source.lines.header.scenario,
        "no script belongs to this run; lab run NAME runs a scenario, lab run bully --script FILE a script",
    ),
    "bank": (
        lambda source: not has_bank(source.lines.header),
        "{} has no bank; lab run 2pc and lab run 3pc have one",
    ),
    "code": (
        lambda source: not source.lines.header.protocol.source.strip(),
        "the source of its protocol is not in this recording",
    ),
    "map": (
        lambda source: not has_field(source.lines.header),
        "{} has no field; lab run field has one",
    ),
}
"""What some actions need to be there, and what to say where it is not; ``{}`` is the protocol."""


def why_no_commands(source: Source) -> str:
    """What to do about it too."""
    if not source.is_live:
        return "this is a recording; B goes on from here in a run of its own"
    if source.ended and source.attempt is not None and source.attempt.is_own:
        return "the run is over; R begins a new attempt"
    if source.ended:
        return "the run is over; B goes on from here in a run of its own"
    return source.why_viewer
