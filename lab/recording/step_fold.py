"""The state and the waits of each node, folded from its steps alone; steps with whole values in place of changes.

A step of format 1 holds whole values and all waits. ``change_of`` makes of it what a step holds since.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from lab.kernel import Received, Started, Step, Wait, Waits
from lab.kernel.edits import Edit, edit_between
from lab.kernel.step import EVERY_WAIT
from lab.recording.records import encode
from lab.recording.snapshot import NodeState


class StepFold:
    """The state and the waits of each node after its last step."""

    def __init__(self, nodes: Iterable[NodeState] = ()) -> None:
        """Start with these nodes; without any at the start of a run."""
        views = tuple(nodes)
        self._states = {view.id: view.state for view in views}
        self._waits = {view.id: Waits(view.waits) for view in views}

    def state_before(self, step: Step) -> dict[str, Any]:
        """Return the declared state of the node before its next step; grown logs are ``Log``."""
        given = step.input
        return given.stored if isinstance(given, Started) else self._states.get(step.node, {})

    def waits(self, node: int) -> tuple[Wait, ...]:
        """Return all waits of the node."""
        return self._waits[node].now() if node in self._waits else ()

    def apply(self, step: Step) -> None:
        """Apply the next step of its node."""
        if step.changes_state or isinstance(step.input, Started):
            self._states[step.node] = step.state_after(self.state_before(step))
        if step.changes_waits:
            self._waits.setdefault(step.node, Waits()).apply(step)

    def whole(self, step: Step) -> Step:
        """Apply the next step of its node, and return it with whole values and all waits."""
        before = self.state_before(step)
        self.apply(step)
        return step.whole(before, self.waits(step.node))

    def is_same(self, step: Step, other: Step, waits: Sequence[Wait]) -> bool:
        """Apply the next step of its node; return whether the other one, with ``waits`` after it, is the same.

        One may have whole values, and the other changes.
        """
        before = self.state_before(step)
        self.apply(step)
        if encode(step) == encode(other):
            return True
        whole = step.whole(before, self.waits(step.node))
        return encode(whole) == encode(other.whole(before, tuple(waits)))

    def change_of(self, step: Step) -> Step:
        """Apply the next step of its node, which has whole values and all waits; return what it changes."""
        before, waits = self.state_before(step), self.waits(step.node)
        self.apply(step)
        changed, edits = _changes(before, step.changed)
        stored, stored_edits = _changes(before, step.stored)
        change = replace(step, changed=changed, edits=edits, stored=stored, stored_edits=stored_edits)
        is_first = step.failed or isinstance(step.input, Started)
        return replace(change, ended=()) if is_first else _waits_changed(change, waits)


def _changes(before: dict[str, Any], whole: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Edit]]:
    edits: dict[str, Edit] = {}
    for name, value in whole.items():
        known = before.get(name)
        edit = edit_between(known, value) if isinstance(known, list) and isinstance(value, list) else None
        if edit is not None:
            edits[name] = edit
    return {name: value for name, value in whole.items() if name not in edits}, edits


def _waits_changed(step: Step, before: tuple[Wait, ...]) -> Step:
    """Return the step with the waits that began and ended; with all waits if that does not give their order."""
    earlier = {wait.procedure: wait for wait in before}
    later = {wait.procedure: wait for wait in step.began}
    ended = tuple(procedure for procedure in earlier if procedure not in later)
    differing = [wait for wait in step.began if earlier.get(wait.procedure) != wait]
    answered = [wait for wait in differing if _has_answered(step, earlier.get(wait.procedure), wait)]
    only = answered[0].procedure if len(answered) == 1 else ""
    began = tuple(wait for wait in differing if wait.procedure != only)
    change = replace(step, began=began, ended=ended, answered=only)
    after = Waits(before)
    after.apply(change)
    return change if after.now() == step.began else replace(step, ended=(EVERY_WAIT,))


def _has_answered(step: Step, before: Wait | None, after: Wait) -> bool:
    """Return whether the wait is the same, but for the peer whose answer the step received."""
    given = step.input
    if before is None or not isinstance(given, Received) or step.late:
        return False
    peers = tuple(peer for peer in before.peers if peer != given.source)
    return peers != before.peers and replace(before, peers=peers) == after
