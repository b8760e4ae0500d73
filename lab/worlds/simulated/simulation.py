"""A whole run in virtual time: an event queue over the kernel, the network and the journal.

What happens is what the live host lets happen, in the same order: a step is recorded, shown to the director,
and only then are its messages routed; a message in flight outlives its sender; what was handed to a node that
stands still dies with it. Nodes take no time to handle an input. The clock moves from event to event; of
events at one instant commands come first, then messages as they were sent, then timers by the nodes' ids. So
the header and the commands determine every record.

Instead of letting the clock decide, ``choices`` lists what may happen next, and ``choose`` makes one of it happen.
"""

from collections.abc import Callable, Iterable
from typing import Any, Literal

import msgspec

from lab.kernel import CommandInput, Fired, Message, Node, Protocol, Started, as_lists
from lab.recording.memory import Log
from lab.recording.records import Header, Process, Record, Routed
from lab.script import Director, WorldCommand
from lab.worlds.control import Control
from lab.worlds.handles import NodeHandles
from lab.worlds.routing import network_of, records_of, spare_of
from lab.worlds.simulated.alarms import Alarms
from lab.worlds.simulated.choices import Choice, Deliver, Fire
from lab.worlds.simulated.incarnation import Life
from lab.worlds.simulated.steering import steer

__all__ = ["Simulation"]


class Simulation(NodeHandles):
    """Runs ``protocol`` as the header says, and appends its records to ``log``, whose first is the header.

    ``start`` brings all nodes up; ``run_to`` and ``step`` let things happen, ``now_us`` is the virtual clock.
    ``wanted`` is what commands want of the course of time: it is for whoever lets things happen to see to it.
    """

    def __init__(self, protocol: type[Protocol], header: Header, log: Log) -> None:
        self.now_us = 0
        self.wanted: list[WorldCommand] = []
        self.log = log
        self.ids = header.nodes
        self.lives: dict[int, Life] = {}
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
        self._alarms = Alarms()

    def start(self) -> None:
        """Bring every node up, in the order of their ids, and carry out what is due at once."""
        for node in self.ids:
            self.restart(node)

    # time

    def next_us(self) -> int | None:
        """When the next event is due; None where nothing can happen any more."""
        return self._next()[0]

    def step(self) -> bool:
        """Let the next event happen; False where there is none."""
        due_us, happen = self._next()
        if due_us is None:
            return False
        self.now_us = max(self.now_us, due_us)
        happen()
        return True

    def run_to(self, end_us: int) -> None:
        """Let everything happen that is due by then; the clock then stands at ``end_us``."""
        while True:
            due_us, happen = self._next()
            if due_us is None or due_us > end_us:
                break
            self.now_us = max(self.now_us, due_us)
            happen()
        self.now_us = max(self.now_us, end_us)

    def finish(self) -> None:
        """The run is over: record what became of what was expected of it."""
        for scripted in self.director.finish():
            self.control.execute(scripted)

    def _next(self) -> tuple[int | None, Callable[[], None]]:
        """When the next event is due, and what to call for it: of those due at once, commands before messages."""
        now_us, happen = self.now_us, self._next_timer
        due_us, arrival_us = self._alarms.next_us(self.lives), self.network.next_due_us()
        command_us = self.director.next_due_us
        if arrival_us is not None and (due_us is None or arrival_us <= due_us or arrival_us <= now_us):
            due_us, happen = arrival_us, self._next_message
        if command_us is not None and (due_us is None or command_us <= due_us or command_us <= now_us):
            due_us, happen = command_us, self._next_commands
        return due_us, happen

    def _next_timer(self) -> None:
        self._fire(self._alarms.node)

    def _next_message(self) -> None:
        self._arrive(*self.network.arrive())

    def _next_commands(self) -> None:
        for scripted in self.director.due(self.now_us):
            self.control.execute(scripted)

    def choices(self) -> list[Choice]:
        """What may happen next: the first message of each link, and each node's next timer, soonest first.

        In the middle of a step of a node nothing is known of its timers.
        """
        found: list[Choice] = []
        links: set[tuple[int, int]] = set()
        for due_us, _, message in self.network.flying():
            if (message.source, message.target) not in links:
                links.add((message.source, message.target))
                found.append(Deliver(due_us, message.target, message.source, message.serial, message.kind))
        for node, incarnation in self.lives.items():
            if incarnation.due_us is not None and incarnation.fired is not None and not incarnation.stepping:
                found.append(Fire(incarnation.due_us, node, incarnation.fired.procedure))
        return sorted(found, key=self._order_of)

    def _order_of(self, choice: Choice) -> tuple[int, bool, int, int]:
        """As ``step`` takes them; messages due at one instant are here in that order already."""
        fires = isinstance(choice, Fire)
        return max(choice.due_us, self.now_us), fires, choice.due_us, choice.node if fires else 0

    def choose(self, choice: Choice) -> bool:
        """Let this happen now, whatever is due before it; False where it cannot happen any more.

        A message may come earlier than it would have. The clock goes on to the time of a timer, and what was
        due before that is then late.
        """
        if isinstance(choice, Fire):
            incarnation = self.lives.get(choice.node)
            if incarnation is None or incarnation.due_us is None or incarnation.stepping:
                return False
            self.now_us = max(self.now_us, incarnation.due_us)
            self._fire(choice.node)
            return True
        wanted = (choice.source, choice.serial)
        found = self.network.take(lambda message: (message.source, message.serial) == wanted)
        if found is None:
            return False
        self._arrive(*found)
        return True

    # records

    def record(self, record: Record) -> None:
        """Write a record down, and do what has become due by it."""
        self.log.append(record)
        if self.director.attends:
            for scripted in self.director.after(record):
                self.control.execute(scripted)

    # what commands do: see NodeHandles

    def kill(self, node: int) -> bool:
        """Crash it."""
        incarnation = self.lives.pop(node, None)
        if incarnation is None:
            return False
        self._die(incarnation, node, "killed")
        return True

    def restart(self, node: int) -> bool:
        """A new life with what safe storage held."""
        if node in self.lives:
            return False
        self._numbers[node] += 1
        incarnation = self.lives[node] = Life(self._new_node(node), self._numbers[node])
        self.record(Process(self.now_us, node, "started", incarnation.number))
        if self.lives.get(node) is incarnation:
            self._begin(node, incarnation)
        return True

    def pause(self, node: int) -> bool:
        """Let it stand still: what arrives waits."""
        incarnation = self.lives.get(node)
        if incarnation is None or incarnation.paused_at_us is not None:
            return False
        incarnation.paused_at_us, incarnation.due_us = self.now_us, None
        self.record(Process(self.now_us, node, "paused", incarnation.number))
        return True

    def resume(self, node: int) -> bool:
        """Let it go on: what arrived comes first, then the timers that have expired."""
        incarnation = self.lives.get(node)
        if incarnation is None or incarnation.paused_at_us is None:
            return False
        paused_us, incarnation.paused_at_us = self.now_us - incarnation.paused_at_us, None
        self.record(Process(self.now_us, node, "resumed", incarnation.number, paused_us=paused_us))
        unsent, incarnation.unsent = incarnation.unsent, []
        self._send(node, incarnation, unsent)
        self._take_inbox(node, incarnation)
        self._set_alarm(node, incarnation)
        return True

    def wipe(self, node: int) -> bool:
        """Empty its safe storage."""
        if node in self.lives or not self._stores[node]:
            return False
        self._stores[node] = {}
        self.record(Process(self.now_us, node, "wiped", self._numbers[node]))
        return True

    def reach(self, node: int) -> Literal["reached", "standing", "down"]:
        """Whether it runs, stands still, or is down."""
        incarnation = self.lives.get(node)
        return "down" if incarnation is None else "reached" if incarnation.paused_at_us is None else "standing"

    def tell(self, node: int, told: CommandInput) -> None:
        """At once; in the middle of a step of its own, when that is over; when it stands still, later."""
        incarnation = self.lives.get(node)
        if incarnation is None:
            return  # it has failed over what it was given before
        if incarnation.stepping or incarnation.paused_at_us is not None:
            incarnation.inbox.append(told)
        else:
            self._feed(node, incarnation, told)

    def forge(self, message: Message) -> None:
        """At once, as what nodes are told."""
        self._arrive(message, None)

    def steer(self, command: WorldCommand, in_script: bool) -> tuple[bool, str]:
        """Freeze, or let the user decide what happens next."""
        return steer(self, command)

    # the course of a run

    def _new_node(self, node: int) -> Node:
        return Node(self._protocol, node, self.ids, self._timing, self._parameters)

    def _begin(self, node: int, incarnation: Life) -> None:
        self._feed(
            node, incarnation, Started(as_lists(self._stores[node]), incarnation.number, self._serials[node])
        )

    def _arrive(self, message: Message, cut: int | None) -> None:
        incarnation = self.lives.get(message.target)
        if cut is not None:
            self._drop(message, "cut", (cut,))
        elif incarnation is None:
            self._drop(message, "down")
        elif incarnation.stepping or incarnation.paused_at_us is not None:
            incarnation.inbox.append(message)
        else:
            self._feed(message.target, incarnation, message)

    def _fire(self, node: int) -> None:
        incarnation = self.lives[node]
        assert incarnation.fired is not None
        self._feed(node, incarnation, incarnation.fired)

    def _feed(self, node: int, incarnation: Life, given: Started | Message | Fired | CommandInput) -> None:
        self._handle(node, incarnation, given)
        if incarnation.inbox:
            self._take_inbox(node, incarnation)

    def _handle(self, node: int, incarnation: Life, given: Started | Message | Fired | CommandInput) -> None:
        incarnation.stepping = True
        step = incarnation.node.step(given, self.now_us)
        if step.stores:
            self._stores[node] = step.kept(self._stores[node])
        sent = step.sent
        if sent:
            self._serials[node] = sent[-1].serial + 1
        self.record(step)
        if isinstance(given, Message) and self.director.attends:
            self._due_on("deliver", given)
        if sent:
            self._send(node, incarnation, sent)
        incarnation.stepping = False
        if step.failed:
            self._fail(node, incarnation)
        else:
            self._set_alarm(node, incarnation)

    def _take_inbox(self, node: int, incarnation: Life) -> None:
        """One by one, so that what is left waits on when it is paused meanwhile, and dies with it when it dies."""
        while incarnation.inbox and not incarnation.stepping and incarnation.paused_at_us is None:
            self._handle(node, incarnation, incarnation.inbox.pop(0))

    def _fail(self, node: int, incarnation: Life) -> None:
        if self.lives.get(node) is incarnation:
            del self.lives[node]
            self._die(incarnation, node, "failed")

    def _send(self, node: int, incarnation: Life, messages: Iterable[Message]) -> None:
        for message in messages:
            if self.lives.get(node) is not incarnation:
                self._drop(message, "unsent")
            elif incarnation.paused_at_us is not None:
                incarnation.unsent.append(message)
            else:
                sending = self.network.send(message, self.now_us)
                if sending is not None:
                    for record in records_of(message, sending, self.now_us):
                        self.record(record)
                if self.director.attends:
                    self._due_on("send", message)
                    if sending is not None and sending.fate == "dropped":
                        self._due_on("drop", message)

    def _due_on(self, moment: str, message: Message) -> None:
        for scripted in self.director.on(moment, message):
            self.control.execute(scripted)

    def _drop(self, message: Message, why: str, by: tuple[int, ...] = ()) -> None:
        self.record(Routed(self.now_us, message.source, message.serial, "dropped", why, by))
        if self.director.attends:
            self._due_on("drop", message)

    def _die(self, incarnation: Life, node: int, event: Literal["killed", "failed"]) -> None:
        """It is gone, with what waited for it; only then may anything be done about that."""
        why = "killed" if event == "killed" else "down"
        dropped = [(given, why) for given in incarnation.inbox if isinstance(given, Message)]
        dropped += [(message, "unsent") for message in incarnation.unsent]
        incarnation.due_us, incarnation.inbox, incarnation.unsent = None, [], []
        for message, fate in dropped:
            self.log.append(Routed(self.now_us, message.source, message.serial, "dropped", fate))
        self.record(Process(self.now_us, node, event, incarnation.number))
        if self.director.attends:
            for message, _ in dropped:
                self._due_on("drop", message)

    def _set_alarm(self, node: int, incarnation: Life) -> None:
        if self.lives.get(node) is not incarnation or incarnation.paused_at_us is not None:
            return  # its last step, or a message that it got, triggered that
        due = incarnation.node.next_timer()
        if due is None:
            incarnation.due_us = None
            return
        incarnation.due_us, incarnation.fired = due
        if incarnation.alarm_us is None or due[0] < incarnation.alarm_us:
            self._alarms.put(node, incarnation, due[0])
