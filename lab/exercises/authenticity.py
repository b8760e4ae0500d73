"""Invariants of every run, in all worlds: only a command affects a node or a message.

A re-execution trusts the recorded inputs. It would accept a message lost on a perfect link, a process killed
without a command, or a timer that fires at a convenient time. These checks find that, record by record.

In a live run a busy machine delays everything, so ``LIVE_SLACK_US`` of delay is no violation. Neither is the time
in which the host stood still, as it has recorded itself (``Stall``). Such a record can be made up, but gains
little: time passes, and nothing else. No record of the host may lie in it, so no message is delivered, no fault
comes or goes, and no command is given. What was due in it is excused for as long as it lasted, not longer. So it
can make one network slow for once, as the slack does already, for longer. It loses no message and stops no node,
and every step must follow from its inputs as ever.

The stall of a node alone excuses nothing beyond the slack: a machine that runs the host keeps no single node
waiting for longer than that, but somebody who stops its process does.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import msgspec
from msgspec.structs import replace

from lab.exercises.assessment import parse_manual_command
from lab.exercises.attempts import attempt_config
from lab.exercises.draws import describe_draw
from lab.exercises.exercise import Exercise
from lab.kernel import Fired, Message, Node, Received, Step
from lab.properties.conditions import StallLog
from lab.recording.cluster_state import ClusterState
from lab.recording.reader import NotARecordingError, RecordStore
from lab.recording.records import (
    FAULT_KIND_SEEN,
    SLOW_DISK,
    Captioned,
    Commanded,
    Expected,
    Fault,
    Header,
    Injected,
    Keyframe,
    Process,
    Record,
    Routed,
    Stall,
    decode,
)
from lab.recording.writer import Chain
from lab.replay.reexecution import Reexecution
from lab.script.commands import LinkFault, NodeCommand, Nodes, Partition, Slow, SlowDisk
from lab.script.statements import Every, Statement
from lab.text import sanitize
from lab.units import format_us
from lab.worlds.loading.config import header_of
from lab.worlds.loading.targets import load_protocol

LIVE_SLACK_US = 10_000_000
"""The delay of events in a live run that a slow machine explains. A longer one is a violation."""
_CLOCKS_US = 2_000
"""The largest difference between the clocks of live node processes."""
_ROUND_US = 100_000
_AGAINST_TARGET = ("down", "killed", "failed", "overflow")
_BROUGHT_BY = {"restart": "started", "resume": "resumed"}


class RunInvariants:
    """Checks the records in order, header first, each one before it is re-executed.

    ``number`` is the number of the last record. ``nodes`` are those of the re-execution: they know when timers are
    due.
    """

    def __init__(self, exercise: Exercise, header: Header, nodes: Mapping[int, Node]) -> None:
        self.number = -1
        self._nodes = nodes
        self._cluster = ClusterState.of(header)
        self._allowed = exercise.allowed
        self._unused_lines = {line.line: line for line in exercise.setup.lines}
        is_live = header.world == "live"
        self._is_live = is_live
        self._slack_us = LIVE_SLACK_US if is_live else 0
        self._early_us = _CLOCKS_US if is_live else 0
        self._tp_us = header.timing.tp_us
        self._stalls = StallLog()
        self._last_stalls: dict[int | None, Stall] = {}
        self._last_step_us = dict.fromkeys(header.nodes, 0)
        link = header.link
        self._max_latency_us = link.latency_us + link.jitter_us
        self._min_latency_us = max(0, link.latency_us - link.jitter_us)
        self._now_us = 0
        self._checked_us = 0
        self._in_flight: dict[tuple[int, int], tuple[Message, int, int]] = {}
        self._last_due_us: dict[tuple[int, int], int] = {}
        self._running_since_us = dict.fromkeys(header.nodes, 0)
        self._being_killed: set[int] = set()
        self._unexplained_faults: list[Fault] = []
        self._commanded_events = {"started": set(header.nodes), "resumed": set[int]()}
        self._unexplained_events = {"started": set[int](), "resumed": set[int]()}
        self._last_routed: tuple[int, int] | None = None

    def observe(self, record: Record | None) -> str:
        """Check the next record; return its violation, or an empty text."""
        self.number += 1
        before_us, self._now_us = self._now_us, max(self._now_us, getattr(record, "at_us", 0))
        found = next(filter(None, self._violations(record, before_us)), "")
        if not isinstance(record, Routed):
            self._last_routed = None
        self._cluster.apply(record)
        return found

    def finish(self) -> str:
        """Return the violation that only the end of the run shows, or an empty text."""
        if self._unexplained_faults:
            return f"no command caused fault {self._unexplained_faults[0].id}"
        for event, nodes in self._unexplained_events.items():
            if nodes:
                return f"no command explains why node {min(nodes)} was {event}"
        return ""

    def _violations(self, record: Record | None, before_us: int) -> Iterator[str]:
        if isinstance(record, Stall):
            yield self._check_stall(record, before_us)
        elif record is not None:
            yield self._check_idle(record)
        match record:
            case Step():
                yield from self._check_step(record)
            case Routed():
                yield self._check_routed(record)
            case Fault():
                yield self._check_fault(record)
            case Process():
                yield self._check_process(record)
            case Commanded():
                yield self._check_command(record)
            case Captioned() | Expected():
                yield self._check_script_line(record)
            case Injected():
                message = record.message  # it was never on a link
                self._in_flight[message.source, message.serial] = message, -self._min_latency_us, self._now_us
            case _:
                pass
        if self._now_us >= self._checked_us + _ROUND_US:
            self._checked_us = self._now_us
            yield from self._check_overdue()

    # stalls

    def _check_stall(self, stall: Stall, before_us: int) -> str:
        """Check a stall against what was recorded before it, until ``before_us``."""
        node, lasted = stall.node, format_us(stall.lasted_us)
        if not self._is_live:
            return "a simulated run has no stalls"
        if stall.lasted_us <= self._tp_us:
            return f"a stall of {lasted}, which is not longer than Tp"
        if node is not None:
            if node not in self._last_step_us:
                return f"a stall of node {node}, which is not in the header"
            before_us = self._last_step_us[node]
        if stall.began_us + self._early_us < before_us:
            return f"{stall.text}, but it was active then"
        self._last_stalls[node] = stall
        self._stalls.add(stall)
        return ""

    def _check_idle(self, record: Record) -> str:
        """Check that the record does not lie within a stall of the process that made it."""
        if isinstance(record, Header | Keyframe):
            return ""
        process = record.node if isinstance(record, Step) else None
        if isinstance(record, Step) and process in self._last_step_us:
            self._last_step_us[record.node] = record.at_us
        stall = self._last_stalls.get(process)
        # the host may have read the time of a record just before a stall, or just before it noted the stall
        if stall is None or not stall.began_us + self._tp_us < record.at_us < stall.at_us - self._tp_us:
            return ""
        return f"something was done at {format_us(record.at_us)}, but {stall.text} then"

    # commands

    def _check_command(self, record: Commanded) -> str:
        line = parse_manual_command(record)
        verb = record.text.partition(" ")[0] if line is None else line.text.partition(" ")[0]
        if record.line:
            if found := self._check_script_line(record):
                return found
        elif verb not in self._allowed:
            return f"{sanitize(verb, 30)} is not allowed in this exercise"
        if line is None or record.refused:
            return ""
        if isinstance(line.command, NodeCommand) and (event := _BROUGHT_BY.get(verb)):
            named = set(line.command.nodes.ids) if not line.command.nodes.words else set(self._cluster.nodes)
            self._commanded_events[event] |= named - self._unexplained_events[event]
            self._unexplained_events[event] -= named
        own_faults = [
            fault for fault in self._unexplained_faults if fault.line == record.line and fault.kind == verb
        ]
        self._unexplained_faults = [fault for fault in self._unexplained_faults if fault not in own_faults]
        mismatch = next((fault for fault in own_faults if not self._matches_command(fault, line)), None)
        return "" if mismatch is None else f"fault {mismatch.id} does not match its command"

    def _matches_command(self, fault: Fault, line: Statement) -> bool:
        """Return whether the fault matches its command, as far as the command names nodes by number."""
        command = line.command
        if isinstance(command, SlowDisk):
            of_each = {str(replace(command, nodes=Nodes((node,)))) for node in fault.nodes}
            is_named = bool(command.nodes.words) or set(fault.nodes) <= set(command.nodes.ids)
            return is_named and of_each == {fault.text}
        if isinstance(command, NodeCommand):
            return bool(command.nodes.words) or set(fault.nodes) == set(command.nodes.ids)
        if isinstance(command, LinkFault | Slow | Partition) and "coordinator" not in line.text:
            rule = command.rule(self._cluster)
            return fault.text == line.text and set(fault.links) == rule.links
        return True

    def _check_script_line(self, record: Commanded | Captioned | Expected) -> str:
        """Check that the record is of a line of the setup, and that only ``every`` repeats a line."""
        if not record.line:
            return "" if isinstance(record, Captioned) else "an expectation that is not in the setup"
        line = self._unused_lines.get(record.line)
        if line is None or record.text != line.recorded_text:
            return f"line {record.line} differs from the setup, or was already executed"
        if not any(isinstance(trigger, Every) for trigger in line.triggers):
            del self._unused_lines[record.line]
        return ""

    def _check_fault(self, fault: Fault) -> str:
        known = self._cluster.faults.get(fault.id)
        if fault.lifted:
            return ""
        if known is not None:
            is_narrowed = fault.kind == known.kind and set(fault.links) < set(known.links)
            return "" if is_narrowed and not fault.nodes else f"fault {fault.id} was extended without a command"
        self._unexplained_faults.append(fault)
        if fault.kind == "kill":
            self._being_killed.update(fault.nodes)
        return ""

    def _check_process(self, record: Process) -> str:
        node, event = record.node, record.event
        if event in ("started", "resumed"):
            self._running_since_us[node] = self._now_us
            self._being_killed.discard(node)
            if node in self._commanded_events[event]:
                self._commanded_events[event].discard(node)
            else:
                self._unexplained_events[event].add(node)  # the command may be recorded after its effect
            return ""
        cause = FAULT_KIND_SEEN.get(event)
        faults = self._cluster.faults.values()
        if cause is None or any(fault.kind == cause and node in fault.nodes for fault in faults):
            return ""
        return f"no command explains why node {node} was {event}"

    # messages and timers

    def _check_step(self, step: Step) -> Iterator[str]:
        node, step_input = step.node, step.input
        if isinstance(step_input, Received):
            yield self._check_delivery(step, step_input)
        elif isinstance(step_input, Fired) and node in self._nodes:
            timer = self._nodes[node].next_timer()
            if timer is not None and timer[0] > step.at_us:
                yield f"a timer of node {node} fired early"
        for message in step.sent:
            self._track_sent(message)

    def _track_sent(self, message: Message) -> None:
        link = message.source, message.target
        due_us = max(self._now_us + self._max_latency_us, self._last_due_us.get(link, 0))
        self._last_due_us[link] = due_us
        self._in_flight[message.source, message.serial] = message, self._now_us, due_us

    def _check_delivery(self, step: Step, received: Received) -> str:
        message, sent_us, _ = self._in_flight.get((received.source, received.serial), (None, 0, 0))
        if message is not None and step.at_us + self._early_us < sent_us + self._min_latency_us:
            return f"message {received.serial} of {received.source} was delivered too early"
        self._in_flight.pop((received.source, received.serial), None)
        return ""

    def _check_routed(self, routed: Routed) -> str:
        key = routed.source, routed.serial
        message, sent_us, due_us = self._in_flight.get(key, (None, 0, 0))
        if message is None:
            return ""  # a duplicate, or one that the re-execution checks
        found = self._routing_violation(routed, message)
        self._last_routed = key
        if routed.fate == "dropped":
            del self._in_flight[key]
        elif routed.fate == "held":
            self._in_flight[key] = message, sent_us, -1
        elif routed.fate != "duplicated":
            due_us = max(due_us, routed.due_us or 0) if routed.fate != "released" else self._now_us
            self._in_flight[key] = message, sent_us, due_us
            if routed.fate != "reordered":
                link = message.source, message.target
                self._last_due_us[link] = max(self._last_due_us.get(link, 0), due_us)
        return found

    def _routing_violation(self, routed: Routed, message: Message) -> str:
        """Return a violation unless a fault in force explains what happened to the message."""
        link = message.source, message.target
        if routed.by:
            in_force = [self._cluster.faults.get(number) for number in routed.by]
            if all(fault is not None and link in fault.links for fault in in_force):
                return ""
        elif self._last_routed == (routed.source, routed.serial):
            return ""  # the record before names the fault
        elif routed.fate == "dropped" and routed.why in (*_AGAINST_TARGET, "unsent"):
            node = message.target if routed.why in _AGAINST_TARGET else message.source
            if (
                not self._runs(node) or self._running_since_us[node] == self._now_us
            ):  # it may be recorded after a restart
                return ""
        what = f"message {routed.serial} of {routed.source} was {routed.fate}"
        return f"{what}, which no fault in force explains"

    def _check_overdue(self) -> Iterator[str]:
        """Yield a violation if a message or a timer of a running node is long overdue."""
        late_us = self._now_us - self._slack_us - _ROUND_US
        for message, _, due_us in self._in_flight.values():
            if due_us >= 0 and self._is_late(message.target, due_us, late_us):
                yield f"message {message.serial} of {message.source} was not delivered, which no fault explains"
                return
        for node, executed in self._nodes.items():
            timer = executed.next_timer()
            if timer is not None and self._is_late(node, timer[0], late_us):
                yield f"node {node} missed its timer at {format_us(timer[0])}, which no fault explains"
                return

    def _is_late(self, node: int, due_us: int, late_us: int) -> bool:
        faults = self._cluster.faults.values()
        if any(fault.kind == SLOW_DISK and node in fault.nodes for fault in faults):
            return False
        due_us = max(due_us, self._running_since_us[node])
        return self._runs(node) and due_us < late_us and due_us + self._stalls.since(due_us, None) < late_us

    def _runs(self, node: int) -> bool:
        view = self._cluster.nodes.get(node)
        return view is not None and view.process == "running" and node not in self._being_killed


def authenticity_error(
    exercise: Exercise, store: RecordStore, progress: Callable[[int], None] = lambda done: None
) -> str:
    """Return the evidence that this is no authentic run of the exercise; empty if there is none.

    ``progress`` is called with the number of records checked, every thousand records.
    """
    if wrong := _header_error(exercise, store):
        return wrong
    try:
        run = Reexecution(store.header, load_protocol(exercise.setup.protocol), source_differs=False)
    except NotARecordingError as error:
        return str(error)
    laws, chain = RunInvariants(exercise, store.header, run.nodes), Chain(store.header)
    for number, record in enumerate(store.records()):
        if number % 1000 == 0:
            progress(number)
        if number in store.damage:
            return f"line {number + 1} cannot be read: {sanitize(store.damage[number], 100)}"
        if found := laws.observe(record) or run.check(number, record) or _chain_error(chain, record):
            return f"line {number + 1} is not authentic: {sanitize(found, 200)}"
        chain.add(store.raw(number) + b"\n")
    return laws.finish()


def _header_error(exercise: Exercise, store: RecordStore) -> str:
    header, of = store.header, store.header.exercise
    if of is None or of.name != exercise.name:
        return f"it is not an attempt at {exercise.name}"
    if of.drawn != exercise.drawn:
        other, own = (describe_draw(drawn) or "nothing" for drawn in (of.drawn, exercise.drawn))
        return (
            "it was drawn for another student, or in another course: "
            f"it has {other}, but {sanitize(of.student)} has {own}"
        )
    config = attempt_config(exercise, of.student, of.attempt, Path())
    meant = decode(msgspec.json.encode(header_of(config, load_protocol(exercise.setup.protocol))))
    assert isinstance(meant, Header)
    for name in ("world", "protocol", "nodes", "timing", "link", "seed", "parent", "scenario", "remark"):
        if getattr(header, name) != getattr(meant, name):
            if name == "protocol" and header.protocol.source != meant.protocol.source:
                return "its protocol source differs from this program's: another version, or edited"
            return f"its {name} differs from that of {exercise.name}: {sanitize(str(getattr(header, name)), 60)}"
    return ""


def _chain_error(chain: Chain, record: Record | None) -> str:
    if isinstance(record, Keyframe) != chain.is_keyframe_due:
        return "a keyframe is missing or misplaced"
    if isinstance(record, Keyframe) and (record.snapshot is not None) != chain.is_snapshot_due:
        return "a keyframe has a difference in place of a snapshot, or the other way round"
    return chain.mismatch(record)
