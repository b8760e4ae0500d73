"""Which actions there are at present, and what to say of one that there is not."""

from lab.journal import has_bank, has_field
from lab.text import sanitize
from lab.tui.actions import Action
from lab.tui.clusterkeys import applies
from lab.tui.player import SAID
from lab.tui.source import Source
from lab.tui.view import Pane

__all__ = ["is_offered", "steers", "takes_commands", "why_no_commands", "why_not"]


def takes_commands(source: Source) -> bool:
    """Whether something can be done to the nodes."""
    return source.can_command and not source.ended


def steers(source: Source) -> bool:
    """Whether the time of the run is in the user's hands."""
    return takes_commands(source) and source.clock is not None


def is_offered(action: Action, source: Source, pane: Pane | None) -> bool:
    """Whether an action applies now, to the selected node's pane; the footer shows only those that do."""
    if why_not(action, source):
        return False
    # without a node, pressing it says what to do first
    return pane is None or not action.needs_node or applies(action.word, pane)


def why_not(action: Action, source: Source) -> str:
    """Why this is not to be done in such a run, whichever node is selected; nothing if it is."""
    if action.where == "driver" and not takes_commands(source):
        return f"nothing can be done to the nodes here: {why_no_commands(source)}"
    if action.where == "simulated" and not steers(source):
        return "what happens next is chosen in simulated runs: lab run bully --sim"
    return _why_nothing_is_there(action, source)


def _why_nothing_is_there(action: Action, source: Source) -> str:
    if action.word in ("next-mark", "previous-mark") and source.marks.found.isdisjoint(SAID):
        return "no caption, mark or unmet expectation in this run so far"
    if action.word == "groups" and not source.groups.groups:
        return f"{_protocol(source)} has no groups; invitation does: lab run invitation"
    if action.word == "script" and not source.lines.header.scenario:
        return "no script belongs to this run; lab run NAME runs a scenario, lab run bully --script FILE a script"
    if action.word == "bank" and not has_bank(source.lines.header):
        return f"{_protocol(source)} has no bank; lab run 2pc and lab run 3pc have one"
    if action.word == "map" and not has_field(source.lines.header):
        return f"{_protocol(source)} has no field; lab run field has one"
    return ""


def why_no_commands(source: Source) -> str:
    """What to do about it too."""
    if not source.is_live:
        return "this is a recording; B goes on from here in a run of its own"
    if source.ended:
        return "the run is over; B goes on from here in a run of its own"
    return "this viewer gives no commands; lab attach without --viewer does"


def _protocol(source: Source) -> str:
    return sanitize(source.lines.header.protocol.title, 30)
