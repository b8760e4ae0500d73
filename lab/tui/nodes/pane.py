"""From a snapshot to what the screen says: pure, and without knowledge of any protocol."""

from typing import Any

import msgspec
from msgspec import Struct

from lab.analysis.assumptions import ASSUMPTIONS
from lab.analysis.group_history import GroupLog
from lab.recording.payload_text import in_short
from lab.recording.snapshot import ActiveFault, NodeState, Snapshot
from lab.text import sanitize
from lab.tui.nodes.bank import BankPane, bank_pane
from lab.units import count_of, listed

__all__ = ["Pane", "faults_said", "groups_led", "leaders_said", "pane_of", "panes_of", "short_body"]


_LEADS = {"Normal": "leads", "Reorganization": "is to lead"}


class Pane(Struct, frozen=True):
    """What a node's pane says. ``shown`` is its Status, or what its process does where that matters more.

    ``leads`` is said of its own coordinator: in Normal it *leads*, in Reorganization it *is to lead*.

    ``doing`` is the procedure that waits, at ``line``, and ``waits`` says for what; ``left_us`` of ``total_us``
    remain, where the wait has a bound. ``group`` is None where the protocol has none; ``hue`` is the number of its
    colour, if it has one. ``facts`` is what the state of a protocol that elects nobody has beside the Status, and
    ``bank`` what there is to say of a bank.
    """

    id: int
    shown: str
    status: str
    process: str
    coordinator: int | None
    leads: str
    up: tuple[int, ...]
    group: str | None
    hue: int | None
    facts: tuple[str, ...]
    doing: str
    line: int
    waits: str
    left_us: int | None
    total_us: int
    links: str
    bank: BankPane | None = None


def panes_of(snapshot: Snapshot, now_us: int, groups: GroupLog | None = None) -> tuple[Pane, ...]:
    """All panes, by id, as of that instant. ``groups`` know the groups' colours."""
    views = sorted(snapshot.nodes, key=lambda view: view.id)
    return tuple(pane_of(view, snapshot, now_us, groups) for view in views)


def pane_of(view: NodeState, snapshot: Snapshot, now_us: int, groups: GroupLog | None = None) -> Pane:
    """One node's pane."""
    group = None if groups is None else groups.group_of(view, snapshot.record)
    status = sanitize(view.status, 16)
    doing, waits, left_us, total_us = _doing(view, now_us)
    return Pane(
        view.id,
        view.process if view.process in ("killed", "paused", "failed", "absent") else status,
        status,
        view.process,
        view.coordinator,
        _LEADS.get(status, "") if view.coordinator == view.id else "",
        view.up,
        _group(view),
        None if group is None else group.hue,
        _facts(view.state),
        doing,
        view.waits[0].line if doing else 0,
        waits,
        left_us,
        total_us,
        _links(view.id, snapshot),
        bank_pane(view, now_us),
    )


def _group(view: NodeState) -> str | None:
    if view.group is not None:
        return sanitize(".".join(map(str, view.group)), 12)
    group = view.state.get("group")
    if group is None:
        return None
    return sanitize("/".join(map(str, group.values())) if isinstance(group, dict) else str(group), 12)


def _facts(state: dict[str, Any]) -> tuple[str, ...]:
    if "coordinator" in state:
        return ()
    plain = [(name, value) for name, value in state.items() if isinstance(value, int | float | str | None)]
    said = [f"{name} {'-' if value is None else value}" for name, value in plain if name != "status"]
    return tuple(sanitize(each, 40) for each in said)


def _doing(view: NodeState, now_us: int) -> tuple[str, str, int | None, int]:
    if view.process == "killed":
        return "", "safe storage is kept", None, 0
    if view.process == "failed":
        return "", sanitize(view.traceback.rpartition("\n")[2], 80), None, 0
    if view.process == "absent":
        return "", "not started yet", None, 0
    if not view.waits:
        return "", _idle(view), None, 0
    wait = view.waits[0]
    peers = f" of {' '.join(map(str, wait.peers))}" if wait.peers else ""
    doing = sanitize(wait.procedure, 40)
    waits = sanitize(f"waits for {wait.what}{peers}", 80)
    if wait.until_us is None:
        return doing, waits, None, 0
    return doing, waits, max(0, wait.until_us - now_us), wait.until_us - wait.since_us


def _idle(view: NodeState) -> str:
    if "coordinator" not in view.state:
        return "no procedure runs"
    if not view.state.get("processing"):
        return "waits to be told"
    version = view.definition_version
    return sanitize(f"performs definition {version}", 40) if version else "performs its task"


def _links(node: int, snapshot: Snapshot) -> str:
    """The faults on the node's links: kind, direction, and the nodes at the other ends."""
    others = {view.id for view in snapshot.nodes} - {node}
    said = []
    for fault in snapshot.faults:
        to = {target for source, target in fault.links if source == node}
        of = {source for source, target in fault.links if target == node}
        both = to & of
        sorts = (("<>", both), (">", to - both), ("<", of - both))
        ends = [f"{arrow}{_ids(ids, others)}" for arrow, ids in sorts if ids]
        if ends:
            said.append(f"{sanitize(fault.kind, 16)} {' '.join(ends)}")
    held = sum(flight.held and node in (flight.source, flight.target) for flight in snapshot.in_flight)
    if held:
        said.append(f"{held} held")
    return ", ".join(said)


def _ids(ids: set[int], others: set[int]) -> str:
    return "all" if ids == others else ",".join(map(str, sorted(ids)))


def leaders_said(panes: tuple[Pane, ...]) -> tuple[tuple[str, int | str | None], ...]:
    """Who leads whom: (text, leader) for each, the nodes without one last. Two leaders: two entries.

    Where nobody is elected, which nodes are in each Status: (text, Status).
    """
    alive = [pane for pane in panes if pane.process in ("running", "paused")]
    if any(pane.facts for pane in alive):
        statuses = sorted({pane.status for pane in alive})
        return tuple((f"{_in_status(alive, status)} {status}", status) for status in statuses)
    leads = {pane.id: pane.leads for pane in alive if pane.leads}
    followed: dict[int, list[int]] = {leader: [] for leader in leads}
    lost = []
    for pane in alive:
        if pane.leads:
            continue
        if pane.status in ("Normal", "Reorganization") and pane.coordinator in followed:
            followed[pane.coordinator].append(pane.id)
        else:
            lost.append(pane)
    said: list[tuple[str, int | str | None]] = []
    for leader in sorted(followed, reverse=True):
        paused = " (paused)" if any(pane.id == leader and pane.process == "paused" for pane in alive) else ""
        whom = listed(followed[leader]) or "nobody"
        said.append((f"{leader} {leads[leader]} {whom}{paused}", leader))
    if lost:
        said.append((f"{listed([pane.id for pane in lost])} without a coordinator", None))
    return tuple(said) or (("nobody is up", None),)


def groups_led(panes: tuple[Pane, ...]) -> int:
    """How many groups have a leader; 0 where the protocol has none."""
    return len({pane.group for pane in panes if pane.leads and pane.group is not None})


def _in_status(panes: list[Pane], status: str) -> str:
    return listed([pane.id for pane in panes if pane.status == status])


_BECAME = {
    "kill": "lost",
    "pause": "kept waiting",
    "lose": "lost",
    "cut": "lost",
    "partition": "lost",
    "delay": "delayed",
    "duplicate": "duplicated",
    "reorder": "reordered",
}
"""What becomes of the messages that a fault of each kind touches."""


def faults_said(faults: tuple[ActiveFault, ...]) -> tuple[tuple[str, bool], ...]:
    """Each fault in force: (what, which assumptions it breaks, what became of messages; is it inert)."""
    said = []
    for fault in faults:
        text = sanitize(fault.text, 60)
        if fault.breaks:
            broken = ", ".join(
                f"{number} ({ASSUMPTIONS[number]})" for number in fault.breaks if number in ASSUMPTIONS
            )
            text += f"  breaks {broken}"
        if became := _BECAME.get(fault.kind):
            text += f"  {count_of(fault.messages, 'message')} {became}"
        if not fault.touched:
            text += "  inert so far"
        said.append((text, not fault.touched))
    return tuple(said)


def short_body(body: str) -> str:
    """A message's content in short: JSON without its punctuation; what is no JSON stays as it is."""
    try:
        return in_short(msgspec.json.decode(body)) if body[:1] in ("{", "[") else body
    except (msgspec.DecodeError, RecursionError):
        return body
