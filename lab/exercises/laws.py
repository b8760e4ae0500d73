"""What every world keeps to, however its run goes: nothing is done to a node or a message but by a command.

A re-execution believes the inputs that are recorded: it would believe a message lost on a good link, a process
killed by nobody, a timer that fires when it suits. These are looked at here, record by record.
"""

from collections.abc import Iterator, Mapping

from lab.exercises.assessment import read_given
from lab.exercises.exercise import Exercise
from lab.kernel import Fired, Message, Node, Received, Step
from lab.recording.cluster_state import ClusterState
from lab.recording.records import (
    STRUCK_BY,
    Captioned,
    Commanded,
    Expected,
    Fault,
    Header,
    Injected,
    Process,
    Record,
    Routed,
)
from lab.script import Caption, Every, LinkFault, NodeCommand, Partition, Scripted, Slow, fault_rule
from lab.text import sanitize
from lab.units import format_us

__all__ = ["LIVE_SLACK_US", "Laws"]

LIVE_SLACK_US = 10_000_000
"""A machine may be late by itself. Who makes it look later than this by editing a recording is found out."""
_CLOCKS_US = 2_000
"""Nodes that are processes have clocks of their own, which agree about so well."""
_ROUND_US = 100_000
_AGAINST_TARGET = ("down", "killed", "failed", "overflow")
_BROUGHT_BY = {"restart": "started", "resume": "resumed"}


class Laws:
    """Shown the records in their order, the header first, each before it is re-executed; ``number`` is that of the
    last one. ``nodes`` are those of the re-execution: they know when their timers are due.
    """

    def __init__(self, exercise: Exercise, header: Header, nodes: Mapping[int, Node]) -> None:
        self.number = -1
        self._nodes = nodes
        self._cluster = ClusterState.of(header)
        self._allowed = exercise.allowed
        self._script = {line.line: line for line in exercise.setup.lines}
        is_live = header.world == "live"
        self._slack_us = LIVE_SLACK_US if is_live else 0
        self._early_us = _CLOCKS_US if is_live else 0
        link = header.link
        self._slowest_us = link.latency_us + link.jitter_us
        self._quickest_us = max(0, link.latency_us - link.jitter_us)
        self._now_us = 0
        self._looked_us = 0
        self._due: dict[tuple[int, int], tuple[Message, int, int]] = {}
        self._last_due_us: dict[tuple[int, int], int] = {}
        self._went_on_us = dict.fromkeys(header.nodes, 0)
        self._doomed: set[int] = set()
        self._faults: list[Fault] = []
        self._asked = {"started": set(header.nodes), "resumed": set[int]()}
        self._seen = {"started": set[int](), "resumed": set[int]()}
        self._touched: tuple[int, int] | None = None

    def observe(self, record: Record | None) -> str:
        """The next record; what is against the laws in it, or nothing."""
        self.number += 1
        self._now_us = max(self._now_us, getattr(record, "at_us", 0))
        found = next(filter(None, self._amiss(record)), "")
        if not isinstance(record, Routed):
            self._touched = None
        self._cluster.apply(record)
        return found

    def finish(self) -> str:
        """What is left over when the run is over."""
        if self._faults:
            return f"no command brought fault {self._faults[0].id} about"
        for event, nodes in self._seen.items():
            if nodes:
                return f"no command brought it about that node {min(nodes)} was {event}"
        return ""

    def _amiss(self, record: Record | None) -> Iterator[str]:
        match record:
            case Step():
                yield from self._step(record)
            case Routed():
                yield self._routed(record)
            case Fault():
                yield self._fault(record)
            case Process():
                yield self._process(record)
            case Commanded():
                yield self._commanded(record)
            case Captioned() | Expected():
                yield self._of_script(record)
            case Injected():
                message = record.message  # it was never on a link
                self._due[message.source, message.serial] = message, -self._quickest_us, self._now_us
            case _:
                pass
        if self._now_us >= self._looked_us + _ROUND_US:
            self._looked_us = self._now_us
            yield from self._overdue()

    # what was given

    def _commanded(self, record: Commanded) -> str:
        line = read_given(record)
        verb = record.text.partition(" ")[0] if line is None else line.text.partition(" ")[0]
        if record.line:
            if found := self._of_script(record):
                return found
        elif verb not in self._allowed:
            return f"{sanitize(verb, 30)} is not allowed in this exercise"
        if line is None or record.refused:
            return ""
        if isinstance(line.command, NodeCommand) and (event := _BROUGHT_BY.get(verb)):
            named = set(line.command.nodes.ids) if not line.command.nodes.words else set(self._cluster.nodes)
            self._asked[event] |= named - self._seen[event]
            self._seen[event] -= named
        mine = [fault for fault in self._faults if fault.line == record.line and fault.kind == verb]
        self._faults = [fault for fault in self._faults if fault not in mine]
        strange = next((fault for fault in mine if not self._is_meant(fault, line)), None)
        return "" if strange is None else f"fault {strange.id} is not what was commanded"

    def _is_meant(self, fault: Fault, line: Scripted) -> bool:
        """Whether the command says what the fault does, as far as it names nodes by their numbers."""
        command = line.command
        if isinstance(command, NodeCommand):
            return bool(command.nodes.words) or set(fault.nodes) == set(command.nodes.ids)
        if isinstance(command, LinkFault | Slow | Partition) and "coordinator" not in line.text:
            rule = fault_rule(command, self._cluster)
            return fault.text == line.text and set(fault.links) == rule.links
        return True

    def _of_script(self, record: Commanded | Captioned | Expected) -> str:
        """Each line comes once, but where it says how often."""
        if not record.line:
            return "" if isinstance(record, Captioned) else "an expectation that nobody had"
        line = self._script.get(record.line)
        if line is None or record.text != (
            line.command.text if isinstance(line.command, Caption) else line.source
        ):
            return f"line {record.line} of the set-up is another one, or was done before"
        if not any(isinstance(trigger, Every) for trigger in (line.trigger, *line.then)):
            del self._script[record.line]
        return ""

    def _fault(self, fault: Fault) -> str:
        known = self._cluster.faults.get(fault.id)
        if fault.lifted:
            return ""
        if known is not None:
            is_narrowed = fault.kind == known.kind and set(fault.links) < set(known.links)
            return "" if is_narrowed and not fault.nodes else f"fault {fault.id} grows by itself"
        self._faults.append(fault)
        if fault.kind == "kill":
            self._doomed.update(fault.nodes)
        return ""

    def _process(self, record: Process) -> str:
        node, event = record.node, record.event
        if event in ("started", "resumed"):
            self._went_on_us[node] = self._now_us
            self._doomed.discard(node)
            if node in self._asked[event]:
                self._asked[event].discard(node)
            else:
                self._seen[event].add(node)  # its command may stand behind it
            return ""
        cause = STRUCK_BY.get(event)
        faults = self._cluster.faults.values()
        if cause is None or any(fault.kind == cause and node in fault.nodes for fault in faults):
            return ""
        return f"no command brought it about that node {node} was {event}"

    # messages and timers

    def _step(self, step: Step) -> Iterator[str]:
        node, given = step.node, step.input
        if isinstance(given, Received):
            yield self._arrived(step, given)
        elif isinstance(given, Fired) and node in self._nodes:
            timer = self._nodes[node].next_timer()
            if timer is not None and timer[0] > step.at_us:
                yield f"a timer of node {node} fired before its time"
        for message in step.sent:
            self._send(message)

    def _send(self, message: Message) -> None:
        link = message.source, message.target
        due_us = max(self._now_us + self._slowest_us, self._last_due_us.get(link, 0))
        self._last_due_us[link] = due_us
        self._due[message.source, message.serial] = message, self._now_us, due_us

    def _arrived(self, step: Step, given: Received) -> str:
        message, sent_us, _ = self._due.get((given.source, given.serial), (None, 0, 0))
        if message is not None and step.at_us + self._early_us < sent_us + self._quickest_us:
            return f"message {given.serial} of {given.source} arrived before it could"
        self._due.pop((given.source, given.serial), None)
        return ""

    def _routed(self, routed: Routed) -> str:
        key = routed.source, routed.serial
        message, sent_us, due_us = self._due.get(key, (None, 0, 0))
        if message is None:
            return ""  # a copy, or one that re-execution finds
        found = self._why_routed(routed, message)
        self._touched = key
        if routed.fate == "dropped":
            del self._due[key]
        elif routed.fate == "held":
            self._due[key] = message, sent_us, -1
        else:
            due_us = max(due_us, routed.due_us or 0) if routed.fate != "released" else self._now_us
            self._due[key] = message, sent_us, due_us
            if routed.fate != "reordered":
                link = message.source, message.target
                self._last_due_us[link] = max(self._last_due_us.get(link, 0), due_us)
        return found

    def _why_routed(self, routed: Routed, message: Message) -> str:
        """Whether something is there that does this to a message."""
        link = message.source, message.target
        if routed.by:
            in_force = [self._cluster.faults.get(number) for number in routed.by]
            if all(fault is not None and link in fault.links for fault in in_force):
                return ""
        elif self._touched == (routed.source, routed.serial):
            return ""  # the fault is named in the record before
        elif routed.fate == "dropped" and routed.why in (*_AGAINST_TARGET, "unsent"):
            node = message.target if routed.why in _AGAINST_TARGET else message.source
            if not self._runs(node) or self._went_on_us[node] == self._now_us:  # it may be told after a restart
                return ""
        what = f"message {routed.serial} of {routed.source} was {routed.fate}"
        return f"{what}, and no fault was in force that does so"

    def _overdue(self) -> Iterator[str]:
        """What should have happened long ago to a node that runs."""
        late_us = self._now_us - self._slack_us - _ROUND_US
        for message, _, due_us in self._due.values():
            if due_us >= 0 and self._is_late(message.target, due_us, late_us):
                yield f"message {message.serial} of {message.source} never arrived, and nothing held it up"
                return
        for node, executed in self._nodes.items():
            timer = executed.next_timer()
            if timer is not None and self._is_late(node, timer[0], late_us):
                yield f"node {node} slept over {format_us(timer[0])}, and nothing stopped it"
                return

    def _is_late(self, node: int, due_us: int, late_us: int) -> bool:
        return self._runs(node) and max(due_us, self._went_on_us[node]) < late_us

    def _runs(self, node: int) -> bool:
        view = self._cluster.nodes.get(node)
        return view is not None and view.process == "running" and node not in self._doomed
