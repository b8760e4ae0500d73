"""A whole run in virtual time: an event queue over the kernel and the network, writing records.

Events happen as in the live host, in the same order: a step is recorded, shown to the director, and only then are
its messages routed; a message in flight outlives its sender; inputs waiting for a paused node die with it. Nodes
take no time to handle an input. The clock moves from event to event; of events at one instant, commands come
first, then messages in the order sent, then timers by node id. So the header and the commands determine every
record.

Instead of the clock, a user can decide: ``enabled_events`` lists the events that may happen next, and ``schedule``
makes one of them happen.
"""

import heapq
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

import msgspec
from msgspec import Struct

from lab.kernel import CommandInput, Fired, Message, Node, Protocol, Started, as_lists
from lab.recording.records import Header, Process, Record, Routed
from lab.recording.writer import RecordLog
from lab.script.commands import Nodes, WorldCommand
from lab.script.director import Director
from lab.script.scope import CommandError
from lab.units import format_count
from lab.worlds.control import WATCHED, Control, NodeOperations
from lab.worlds.feed_protocol import Delivery, EnabledEvent, TimerExpiry
from lab.worlds.routing import network_of, records_of, spare_of


class Incarnation(Struct):
    """One incarnation of a simulated node.

    ``due_us`` is the time of its next timer, None while it has none or is paused; ``fired`` is the input that the
    timer will give it. ``stepping``: it is in a step. ``queued_us`` is its earliest entry in the timer queue, no
    later than ``due_us``.
    """

    node: Node
    number: int
    inbox: list[Message | CommandInput] = []
    unsent: list[Message] = []
    paused_at_us: int | None = None
    stepping: bool = False
    due_us: int | None = None
    fired: Fired | None = None
    queued_us: int | None = None


class TimerQueue:
    """A heap with an entry for each incarnation that has a timer, and outdated entries, which are skipped.

    Each incarnation has at most one valid entry, at ``queued_us``. A timer that is put off keeps its entry, which
    is moved only when it comes first.
    """

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, int]] = []

    @property
    def node(self) -> int:
        """The node of the first entry; valid right after ``next_us``."""
        return self._heap[0][1]

    def put(self, node: int, incarnation: Incarnation, due_us: int) -> None:
        """Queue a timer; it replaces any later entry of this incarnation."""
        incarnation.queued_us = due_us
        heapq.heappush(self._heap, (due_us, node, incarnation.number))

    def next_us(self, incarnations: Mapping[int, Incarnation]) -> int | None:
        """Return when the first timer of these incarnations is due."""
        while self._heap:
            at_us, node, number = self._heap[0]
            incarnation = incarnations.get(node)
            if incarnation is None or incarnation.number != number or incarnation.queued_us != at_us:
                heapq.heappop(self._heap)
            elif incarnation.due_us == at_us:
                return at_us
            else:
                heapq.heappop(self._heap)
                incarnation.queued_us = None
                if incarnation.due_us is not None:
                    self.put(node, incarnation, incarnation.due_us)
        return None


class Simulation(NodeOperations):
    """Runs ``protocol`` as the header says, and appends its records to ``log``, which begins with the header.

    ``start`` brings all nodes up; ``run_to`` and ``step`` execute events; ``now_us`` is the virtual clock.
    ``time_requests`` are freeze, go and speed commands for the driver to apply.
    """

    def __init__(self, protocol: type[Protocol], header: Header, log: RecordLog) -> None:
        self.now_us = 0
        self.time_requests: list[WorldCommand] = []
        self.log = log
        self.ids = header.nodes
        self.incarnations: dict[int, Incarnation] = {}
        self.director = Director(lambda: self.now_us, log)
        self.network = network_of(header)
        self.control = Control(
            protocol, self, self.network, self.director, log, spare_of(header), self.record, lambda: self.now_us
        )
        self._protocol = protocol
        self._timing = header.timing
        self._parameters = msgspec.convert(header.protocol.parameters, protocol.Parameters)
        self._numbers = dict.fromkeys(self.ids, 0)
        self._serials = dict.fromkeys(self.ids, 1)
        self._stores: dict[int, dict[str, Any]] = {node: {} for node in self.ids}
        self._timers = TimerQueue()

    def start(self) -> None:
        """Bring every node up, in the order of their ids, and execute what is due at once."""
        for node in self.ids:
            self.restart(node)

    # time

    def next_us(self) -> int | None:
        """Return when the next event is due; None if there is none."""
        return self._next()[0]

    def step(self) -> bool:
        """Execute the next event; return False if there is none."""
        due_us, happen = self._next()
        if due_us is None:
            return False
        self.now_us = max(self.now_us, due_us)
        happen()
        return True

    def run_to(self, end_us: int) -> None:
        """Execute all events due by ``end_us``; then the clock is at ``end_us``."""
        while True:
            due_us, happen = self._next()
            if due_us is None or due_us > end_us:
                break
            self.now_us = max(self.now_us, due_us)
            happen()
        self.now_us = max(self.now_us, end_us)

    def finish(self) -> None:
        """Record the outcomes of the expectations at the end of the run."""
        for scripted in self.director.finish():
            self.control.execute(scripted)

    def _next(self) -> tuple[int | None, Callable[[], None]]:
        """Return when the next event is due, and its handler; at one instant, commands precede messages."""
        now_us, happen = self.now_us, self._next_timer
        due_us, arrival_us = self._timers.next_us(self.incarnations), self.network.next_due_us()
        command_us = self.director.next_due_us
        if arrival_us is not None and (due_us is None or arrival_us <= due_us or arrival_us <= now_us):
            due_us, happen = arrival_us, self._next_message
        if command_us is not None and (due_us is None or command_us <= due_us or command_us <= now_us):
            due_us, happen = command_us, self._next_commands
        return due_us, happen

    def _next_timer(self) -> None:
        self._fire_timer(self._timers.node)

    def _next_message(self) -> None:
        self._arrive(*self.network.arrive())

    def _next_commands(self) -> None:
        for scripted in self.director.due(self.now_us):
            self.control.execute(scripted)

    def enabled_events(self) -> list[EnabledEvent]:
        """Return the events that may happen next, soonest first.

        They are each link's first message and each node's next timer. While a node is in a step, its timers are
        unknown.
        """
        found: list[EnabledEvent] = []
        links: set[tuple[int, int]] = set()
        for due_us, _, message in self.network.in_flight():
            if (message.source, message.target) not in links:
                links.add((message.source, message.target))
                found.append(Delivery(due_us, message.target, message.source, message.serial, message.kind))
        for node, incarnation in self.incarnations.items():
            if incarnation.due_us is not None and incarnation.fired is not None and not incarnation.stepping:
                found.append(TimerExpiry(incarnation.due_us, node, incarnation.fired.procedure))
        return sorted(found, key=self._order_of)

    def _order_of(self, event: EnabledEvent) -> tuple[int, bool, int, int]:
        """Return the sort key by which ``step`` takes events; messages due at one instant are in order already."""
        fires = isinstance(event, TimerExpiry)
        return max(event.due_us, self.now_us), fires, event.due_us, event.node if fires else 0

    def schedule(self, event: EnabledEvent) -> bool:
        """Execute this event now, even if others are due before it; return False if it is no longer enabled.

        A message may arrive early. For a timer, the clock advances to its time, and what was due before that is
        then late.
        """
        if isinstance(event, TimerExpiry):
            incarnation = self.incarnations.get(event.node)
            if incarnation is None or incarnation.due_us is None or incarnation.stepping:
                return False
            self.now_us = max(self.now_us, incarnation.due_us)
            self._fire_timer(event.node)
            return True
        wanted = (event.source, event.serial)
        found = self.network.pop_first(lambda message: (message.source, message.serial) == wanted)
        if found is None:
            return False
        self._arrive(*found)
        return True

    # records

    def record(self, record: Record) -> None:
        """Append a record, and execute the commands that it triggers."""
        self.log.append(record)
        if self.director.needs_records:
            for scripted in self.director.on_record(record):
                self.control.execute(scripted)

    # operations; see NodeOperations

    def kill(self, node: int) -> bool:
        incarnation = self.incarnations.pop(node, None)
        if incarnation is None:
            return False
        self._on_death(incarnation, node, "killed")
        return True

    def restart(self, node: int) -> bool:
        """Start a new incarnation with the contents of stable storage."""
        if node in self.incarnations:
            return False
        self._numbers[node] += 1
        incarnation = self.incarnations[node] = Incarnation(self._new_node(node), self._numbers[node])
        self.record(Process(self.now_us, node, "started", incarnation.number))
        if self.incarnations.get(node) is incarnation:
            self._begin(node, incarnation)
        return True

    def pause(self, node: int) -> bool:
        """Pause a node: its inputs wait."""
        incarnation = self.incarnations.get(node)
        if incarnation is None or incarnation.paused_at_us is not None:
            return False
        incarnation.paused_at_us, incarnation.due_us = self.now_us, None
        self.record(Process(self.now_us, node, "paused", incarnation.number))
        return True

    def resume(self, node: int) -> bool:
        """Continue a paused node: its inputs come first, then the timers that have expired."""
        incarnation = self.incarnations.get(node)
        if incarnation is None or incarnation.paused_at_us is None:
            return False
        paused_us, incarnation.paused_at_us = self.now_us - incarnation.paused_at_us, None
        self.record(Process(self.now_us, node, "resumed", incarnation.number, paused_us=paused_us))
        unsent, incarnation.unsent = incarnation.unsent, []
        self._send(node, incarnation, unsent)
        self._drain_inbox(node, incarnation)
        self._update_timer(node, incarnation)
        return True

    def wipe(self, node: int) -> bool:
        if node in self.incarnations or not self._stores[node]:
            return False
        self._stores[node] = {}
        self.record(Process(self.now_us, node, "wiped", self._numbers[node]))
        return True

    def process_state(self, node: int) -> Literal["running", "paused", "down"]:
        incarnation = self.incarnations.get(node)
        return "down" if incarnation is None else "running" if incarnation.paused_at_us is None else "paused"

    def give_command(self, node: int, command: CommandInput) -> None:
        """Give the command now; if the node is in a step, after that step; if it is paused, when it resumes."""
        incarnation = self.incarnations.get(node)
        if incarnation is None:
            return  # it failed on an earlier input
        if incarnation.stepping or incarnation.paused_at_us is not None:
            incarnation.inbox.append(command)
        else:
            self._feed(node, incarnation, command)

    def forge(self, message: Message) -> None:
        """Deliver the message now; like a command, it waits while the node is in a step or paused."""
        self._arrive(message, None)

    def steer(self, command: WorldCommand, in_script: bool) -> tuple[bool, str]:
        """Queue a request about the pace of time, or execute the event that the user chose."""
        return steer(self, command)

    # the course of a run

    def _new_node(self, node: int) -> Node:
        return Node(self._protocol, node, self.ids, self._timing, self._parameters)

    def _begin(self, node: int, incarnation: Incarnation) -> None:
        self._feed(
            node, incarnation, Started(as_lists(self._stores[node]), incarnation.number, self._serials[node])
        )

    def _arrive(self, message: Message, cut: int | None) -> None:
        incarnation = self.incarnations.get(message.target)
        if cut is not None:
            self._drop(message, "cut", (cut,))
        elif incarnation is None:
            self._drop(message, "down")
        elif incarnation.stepping or incarnation.paused_at_us is not None:
            incarnation.inbox.append(message)
        else:
            self._feed(message.target, incarnation, message)

    def _fire_timer(self, node: int) -> None:
        incarnation = self.incarnations[node]
        assert incarnation.fired is not None
        self._feed(node, incarnation, incarnation.fired)

    def _feed(
        self, node: int, incarnation: Incarnation, node_input: Started | Message | Fired | CommandInput
    ) -> None:
        self._handle(node, incarnation, node_input)
        if incarnation.inbox:
            self._drain_inbox(node, incarnation)

    def _handle(
        self, node: int, incarnation: Incarnation, node_input: Started | Message | Fired | CommandInput
    ) -> None:
        incarnation.stepping = True
        step = incarnation.node.step(node_input, self.now_us)
        if step.stores:
            self._stores[node] = step.storage_after(self._stores[node])
        sent = step.sent
        if sent:
            self._serials[node] = sent[-1].serial + 1
        self.record(step)
        if isinstance(node_input, Message) and self.director.needs_records:
            self._due_on("deliver", node_input)
        if sent:
            self._send(node, incarnation, sent)
        incarnation.stepping = False
        if step.failed:
            self._fail(node, incarnation)
        else:
            self._update_timer(node, incarnation)

    def _drain_inbox(self, node: int, incarnation: Incarnation) -> None:
        """Handle waiting inputs one by one, because the node may be paused or die in between."""
        while incarnation.inbox and not incarnation.stepping and incarnation.paused_at_us is None:
            self._handle(node, incarnation, incarnation.inbox.pop(0))

    def _fail(self, node: int, incarnation: Incarnation) -> None:
        if self.incarnations.get(node) is incarnation:
            del self.incarnations[node]
            self._on_death(incarnation, node, "failed")

    def _send(self, node: int, incarnation: Incarnation, messages: Iterable[Message]) -> None:
        for message in messages:
            if self.incarnations.get(node) is not incarnation:
                self._drop(message, "unsent")
            elif incarnation.paused_at_us is not None:
                incarnation.unsent.append(message)
            else:
                sending = self.network.send(message, self.now_us)
                if sending is not None:
                    for record in records_of(message, sending, self.now_us):
                        self.record(record)
                if self.director.needs_records:
                    self._due_on("send", message)
                    if sending is not None and sending.fate == "dropped":
                        self._due_on("drop", message)

    def _due_on(self, moment: str, message: Message) -> None:
        for scripted in self.director.on_message(moment, message):
            self.control.execute(scripted)

    def _drop(self, message: Message, why: str, by: tuple[int, ...] = ()) -> None:
        self.record(Routed(self.now_us, message.source, message.serial, "dropped", why, by))
        if self.director.needs_records:
            self._due_on("drop", message)

    def _on_death(self, incarnation: Incarnation, node: int, event: Literal["killed", "failed"]) -> None:
        """Record the loss of all waiting messages, and the end of the node, before any trigger on a drop fires."""
        why = "killed" if event == "killed" else "down"
        dropped = [(node_input, why) for node_input in incarnation.inbox if isinstance(node_input, Message)]
        dropped += [(message, "unsent") for message in incarnation.unsent]
        incarnation.due_us, incarnation.inbox, incarnation.unsent = None, [], []
        for message, fate in dropped:
            self.log.append(Routed(self.now_us, message.source, message.serial, "dropped", fate))
        self.record(Process(self.now_us, node, event, incarnation.number))
        if self.director.needs_records:
            for message, _ in dropped:
                self._due_on("drop", message)

    def _update_timer(self, node: int, incarnation: Incarnation) -> None:
        if self.incarnations.get(node) is not incarnation or incarnation.paused_at_us is not None:
            return  # a command triggered by this input has killed or paused it
        due = incarnation.node.next_timer()
        if due is None:
            incarnation.due_us = None
            return
        incarnation.due_us, incarnation.fired = due
        if incarnation.queued_us is None or due[0] < incarnation.queued_us:
            self._timers.put(node, incarnation, due[0])


# steering


def steer(simulation: "Simulation", command: WorldCommand) -> tuple[bool, str]:
    """Execute a command on time; return (whether anything changed, a description). Raises CommandError.

    After an event was chosen, time freezes for those who watch. The description of a command that changes only how
    the run is watched is the same whether or not anyone watches, because it is recorded.
    """
    if command.verb in WATCHED:
        simulation.time_requests.append(command)
        return True, f"{_describe_pace(command)}, when watched"
    if command.verb == "step":
        raise CommandError("step: only by hand, with : or lab ctl")
    named = {"deliver": (command.source, command.node), "fire": (command.node,)}.get(command.verb, ())
    Nodes(named).resolve(simulation.log.cluster)
    event = _find_event(simulation, command)
    if event is None:
        return False, f"{_describe_missing(simulation, command)}, nothing changed"
    simulation.time_requests.append(WorldCommand("freeze"))
    early_us = event.due_us - simulation.now_us
    simulation.schedule(event)
    early = f", {early_us / 1000:g} ms early" if early_us > 0 and isinstance(event, Delivery) else ""
    return True, event.text + early


def _describe_pace(command: WorldCommand) -> str:
    if command.verb == "speed":
        return "as fast as possible" if command.factor is None else f"{command.factor:g}x"
    return "time is frozen" if command.verb == "freeze" else "time is running"


def _find_event(simulation: "Simulation", command: WorldCommand) -> EnabledEvent | None:
    if command.verb == "choose":
        return next(iter(simulation.enabled_events()[command.count - 1 :]), None)
    if command.verb == "fire":
        timers = (event for event in simulation.enabled_events() if isinstance(event, TimerExpiry))
        return next((event for event in timers if event.node == command.node), None)
    for due_us, _, message in simulation.network.in_flight():
        on_it = (message.source, message.target) == (command.source, command.node)
        if on_it and command.kind in ("", message.kind):
            return Delivery(due_us, message.target, message.source, message.serial, message.kind)
    return None


def _describe_missing(simulation: "Simulation", command: WorldCommand) -> str:
    if command.verb == "choose":
        enabled = format_count(len(simulation.enabled_events()), "event")
        return f"{enabled} enabled, there is no number {command.count}"
    if command.verb == "fire":
        incarnation = simulation.incarnations.get(command.node)
        in_step = incarnation is not None and incarnation.stepping
        return f"{command.node} is in the middle of a step" if in_step else f"no timer of {command.node} is set"
    return f"no {command.kind or 'message'} is in flight from {command.source} to {command.node}"
