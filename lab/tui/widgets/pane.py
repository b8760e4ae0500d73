"""From a snapshot to the text of the nodes' panes. Pure."""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec
from msgspec import Struct

from lab.analysis.elections import CALM, StatusHistory
from lab.analysis.group_history import GroupLog
from lab.kernel import Wait
from lab.properties.assertions import ASSUMPTIONS
from lab.recording.log_lines import format_value
from lab.recording.records import SLOW_DISK
from lab.recording.snapshot import ActiveFault, NodeState, Snapshot
from lab.tasks.extension import NodeText
from lab.text import sanitize
from lab.units import format_count, format_ranges, format_rounded

DescribeTask = Callable[[NodeState, int], NodeText | None]
"""What the task says about a node, at a time."""


def _no_task(node: NodeState, now_us: int) -> None:
    return None


STOPPED = ("killed", "failed", "absent")
"""The states of a process that neither sends nor receives."""
_LEADER_WORDS = {"Normal": "leads", "Reorganization": "will lead"}
_ALONE = {"leads": "leads no other", "will lead": "is taking over"}


class Pane(Struct, frozen=True):
    """The content of a node's pane. ``shown`` is its Status, or the state of its process if that matters more.

    ``leads`` is set if the node is its own coordinator: it *leads* in Normal, and *will lead* in Reorganization.

    ``procedure`` waits at ``line``; ``waits`` says for what. ``left_us`` of ``total_us`` remain if the wait is
    bounded. ``group`` is None if the protocol has no groups; ``hue`` is the number of its colour, if any.
    ``facts`` is the state besides the Status of a protocol that elects nobody, ``task`` what its task adds.
    ``history`` is the Status in each of the last seconds.
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
    procedure: str
    line: int
    waits: str
    left_us: int | None
    total_us: int
    links: str
    task: NodeText | None = None
    history: tuple[str, ...] = ()


STRIP_SECONDS = 10
"""The seconds back for which a pane shows the Status of its node."""


def panes_of(
    snapshot: Snapshot,
    now_us: int,
    groups: GroupLog | None = None,
    task: DescribeTask = _no_task,
    statuses: StatusHistory | None = None,
) -> tuple[Pane, ...]:
    """Return all panes, by id, as of ``now_us``. ``groups`` supplies the colours of groups."""
    views = sorted(snapshot.nodes, key=lambda view: view.id)
    return tuple(pane_of(view, snapshot, now_us, groups, task, statuses) for view in views)


def pane_of(
    view: NodeState,
    snapshot: Snapshot,
    now_us: int,
    groups: GroupLog | None = None,
    task: DescribeTask = _no_task,
    statuses: StatusHistory | None = None,
) -> Pane:
    """Return one node's pane."""
    group = None if groups is None else groups.group_of(view, snapshot.record)
    has_status = "status" in view.state or not view.state
    status = sanitize(view.status, 16) if has_status else view.process
    procedure, waits, left_us, total_us = _wait_fields(view, now_us)
    return Pane(
        view.id,
        view.process if view.process in (*STOPPED, "paused") else status,
        status,
        view.process,
        view.coordinator,
        _LEADER_WORDS.get(status, "") if view.coordinator == view.id else "",
        view.up,
        _group(view),
        None if group is None else group.hue,
        _state_facts(view.state),
        procedure,
        view.waits[0].line if procedure else 0,
        waits,
        left_us,
        total_us,
        _describe_link_faults(view.id, snapshot),
        task(view, now_us),
        () if statuses is None else statuses.strip(view.id, now_us, STRIP_SECONDS),
    )


def _group(view: NodeState) -> str | None:
    if view.group is not None:
        return sanitize(".".join(map(str, view.group)), 12)
    group = view.state.get("group")
    if group is None:
        return None
    return sanitize("/".join(map(str, group.values())) if isinstance(group, dict) else str(group), 12)


def _state_facts(state: dict[str, Any]) -> tuple[str, ...]:
    if "coordinator" in state:
        return ()
    plain = [(name, value) for name, value in state.items() if isinstance(value, int | float | str | None)]
    texts = [f"{name} {'-' if value is None else value}" for name, value in plain if name != "status"]
    return tuple(sanitize(each, 40) for each in texts)


def _wait_fields(view: NodeState, now_us: int) -> tuple[str, str, int | None, int]:
    if view.process == "killed":
        return "", "stable storage is kept", None, 0
    if view.process == "failed":
        return "", sanitize(view.traceback.rpartition("\n")[2], 80), None, 0
    if view.process == "absent":
        return "", "has no process yet", None, 0
    if not view.waits:
        return "", idle_text(view), None, 0
    wait = view.waits[0]
    procedure, waits = sanitize(wait.procedure, 40), sanitize(wait_text(wait), 80)
    if wait.until_us is None:
        return procedure, waits, None, 0
    return procedure, waits, max(0, wait.until_us - now_us), wait.until_us - wait.since_us


def idle_text(view: NodeState) -> str:
    """Return what a node does of which no procedure runs."""
    if "coordinator" not in view.state:
        return "waits for a message or a timer"
    if not view.state.get("processing"):
        return "waits for a message or a timer" if view.status == "Normal" else "waits for its coordinator"
    version = view.definition_version
    return sanitize(f"definition {version}", 40) if version else "performing its task"


def _describe_link_faults(node: int, snapshot: Snapshot) -> str:
    """Return the faults on a node's links: their kind, direction, and the nodes at the other ends."""
    others = {view.id for view in snapshot.nodes} - {node}
    texts = []
    for fault in snapshot.faults:
        to = {target for source, target in fault.links if source == node}
        of = {source for source, target in fault.links if target == node}
        both = to & of
        sorts = (("<>", both), (">", to - both), ("<", of - both))
        ends = [f"{arrow}{_format_ids(ids, others)}" for arrow, ids in sorts if ids]
        if ends:
            texts.append(f"{sanitize(fault.kind, 16)} {' '.join(ends)}")
    held = sum(flight.held and node in (flight.source, flight.target) for flight in snapshot.in_flight)
    if held:
        texts.append(f"{held} held")
    return ", ".join(texts)


def _format_ids(ids: set[int], others: set[int]) -> str:
    return "all" if ids == others else ",".join(map(str, sorted(ids)))


class Leaders(Struct, frozen=True):
    """The leaders: (text, leader) of each with its followers, then of the nodes without one (None).

    If the protocol elects nobody, (text, Status) of each Status. ``brief`` is as much as can be read from the last
    row of a hall. ``title`` counts several leaders or groups. ``are_rivals``: more than one leads, and not each in
    a group of its own. ``is_pending``: a running node has no leader, or the leader is paused.
    """

    texts: tuple[tuple[str, int | str | None], ...]
    brief: str
    title: str = ""
    are_rivals: bool = False
    is_pending: bool = False


def leaders_of(panes: tuple[Pane, ...], leaderless_us: int | None = None, gap_us: int | None = None) -> Leaders:
    """Return who leads whom.

    ``leaderless_us`` is for how long nobody has led, ``gap_us`` for how long nobody led before the present leader.
    """
    alive = [pane for pane in panes if pane.process in ("running", "paused")]
    if any(pane.facts for pane in alive):
        return _statuses_of(alive)
    if not alive:
        return Leaders((("no node is up", None),), "no node is up", is_pending=True)
    leads = {pane.id: pane.leads for pane in alive if pane.leads}
    if all(pane.status == "Normal" and pane.coordinator is None for pane in alive):
        return _statuses_of(alive)  # programs that elect nobody
    if not leads:
        since = f" for {leaderless_us / 1e6:.1f} s" if leaderless_us else ""
        return Leaders(((f"nobody leads{since}", None),), "nobody leads", is_pending=True)
    followed: dict[int, list[int]] = {leader: [] for leader in sorted(leads, reverse=True)}
    lost = []
    for pane in alive:
        if pane.leads:
            continue
        if pane.status in ("Normal", "Reorganization") and pane.coordinator in followed:
            followed[pane.coordinator].append(pane.id)
        else:
            lost.append(pane.id)
    paused = {pane.id for pane in alive if pane.process == "paused"}
    groups = len({pane.group for pane in panes if pane.leads and pane.group is not None})
    are_rivals = len(leads) > max(1, groups)
    count = f"{len(leads)} COORDINATORS" if are_rivals else f"{groups} groups" if len(leads) > 1 else ""
    after = f", after {format_rounded(gap_us)} without one" if gap_us and len(leads) == 1 and not lost else ""
    whom = {
        leader: f"{leader} {f'{leads[leader]} {format_ranges(ids)}' if ids else _ALONE[leads[leader]]}"
        for leader, ids in followed.items()
    }
    texts: list[tuple[str, int | str | None]] = [
        (text + (" (paused)" if leader in paused else after), leader) for leader, text in whom.items()
    ]
    if lost:
        texts.append((f"{format_ranges(lost)} without a leader", None))
    return Leaders(
        tuple(texts),
        count or next(iter(whom.values())),
        count if are_rivals or not count else f"{count} (g)",
        are_rivals,
        bool(lost) or not paused.isdisjoint(leads),
    )


def _statuses_of(alive: Iterable[Pane]) -> Leaders:
    """Return the nodes by Status, where nobody leads; the first that is not calm in brief."""
    ids: dict[str, list[int]] = {}
    for pane in alive:
        ids.setdefault(pane.status, []).append(pane.id)
    texts = {status: f"{format_ranges(ids[status])} {status}" for status in sorted(ids)}
    brief = next((text for status, text in texts.items() if status not in CALM), next(iter(texts.values())))
    return Leaders(tuple((text, status) for status, text in texts.items()), brief)


_MESSAGE_EFFECTS = {
    "kill": "lost",
    "pause": "queued",
    "lose": "lost",
    "cut": "lost",
    "partition": "lost",
    "delay": "delayed",
    "duplicate": "duplicated",
    "reorder": "reordered",
}
"""The outcome of the messages that a fault of each kind touches."""


def format_faults(faults: tuple[ActiveFault, ...]) -> tuple[tuple[str, bool], ...]:
    """Return (text, whether it is inert) for each fault in force.

    The text says which assumptions the fault breaks, and what happened to messages.
    """
    texts = []
    for fault in faults:
        text: str = sanitize(fault.text, 60)
        if fault.breaks:
            broken = ", ".join(
                f"{number} ({ASSUMPTIONS[number]})" for number in fault.breaks if number in ASSUMPTIONS
            )
            text += f"  breaks {'assumption' if len(fault.breaks) == 1 else 'assumptions'} {broken}"
        if became := _MESSAGE_EFFECTS.get(fault.kind):
            text += f"  {format_count(fault.messages, 'message')} {became}"
        if fault.kind == SLOW_DISK and fault.touched:
            text += f"  {format_count(fault.touched, 'write')} slowed"
        if not fault.touched:
            text += "  no effect so far"
        texts.append((text, not fault.touched))
    return tuple(texts)


def wait_text(wait: Wait) -> str:
    """Return what a procedure waits for, and from which nodes."""
    return f"waits for {wait.what}" + (f" from {' '.join(map(str, wait.peers))}" if wait.peers else "")


def process_text(state: str) -> str:
    """Return a process state or a Status as it is displayed."""
    return "not started" if state == "absent" else state


def short_body(body: str) -> str:
    """Return a message's body without JSON punctuation. A body that is no JSON stays as it is."""
    try:
        return format_value(msgspec.json.decode(body)) if body[:1] in ("{", "[") else body
    except (msgspec.DecodeError, RecursionError):
        return body
