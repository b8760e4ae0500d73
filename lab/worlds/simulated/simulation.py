"""A whole run in virtual time: an event queue over the kernel and the network, writing records.

Nodes take no time to handle an input, unless they write to a slow disk: then the step is recorded, and its
messages leave, when the write ends; inputs wait meanwhile. The clock moves from event to event; of events at one
instant, commands come first, then the ends of writes, then messages in the order sent, then timers by node id. So
the header and the commands determine every record.
Instead of the clock, a user can decide: ``enabled_events`` lists the events that may happen next, and ``schedule``
makes one of them happen.
"""

import heapq
from collections import deque
from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from lab.kernel import CommandInput, Fired, Message, Protocol, Started, Step
from lab.kernel.node import SteppedNode
from lab.kernel.storage import AlteredStorage, DamagedStorageError, WriteLog
from lab.recording.records import Event, Process
from lab.recording.writer import RecordLog
from lab.script.commands import Nodes, WorldCommand
from lab.script.scope import CommandError
from lab.units import format_count
from lab.worlds.feed_protocol import Delivery, EnabledEvent, TimerExpiry, WriteEnd
from lab.worlds.run import WATCHED
from lab.worlds.world import Incarnation, World, storage_record


class SlowWrite(Struct, frozen=True):
    """A step whose write ends at ``due_us``, and the message that it took in."""

    step: Step
    received: Message | None
    due_us: int


class SimulatedIncarnation(Incarnation):
    """One incarnation of a simulated node: the kernel's node, and the inputs that wait for it.

    ``stepping``: it is in a step, or has still to take its first one; inputs wait meanwhile. ``writing`` is the
    step that waits for a slow disk. ``due_us`` is the time of its next timer, None while it has none, is paused or
    writes; ``timer`` is that timer as the node returned it, with the input that it will give. ``queued_us`` is its
    earliest entry in the timer queue, no later than ``due_us``.
    """

    def __init__(self, node: SteppedNode, number: int) -> None:
        super().__init__(node.id, number)
        self.node = node
        self.inbox: deque[Message | CommandInput] = deque()
        self.stepping = True
        self.writing: SlowWrite | None = None
        self.paused_at_us = 0
        self.due_us: int | None = None
        self.timer: tuple[int, Fired] | None = None
        self.queued_us: int | None = None

    def pause(self, at_us: int) -> None:
        """Note that it is paused since then."""
        self.paused, self.paused_at_us = True, at_us
        self.clear_timer()

    def clear_timer(self) -> None:
        """Let its timer not be due: its entry in the timer queue is outdated."""
        self.due_us = self.timer = None

    def remove_waiting(self) -> list[Message]:
        self.clear_timer()
        inbox, self.inbox = self.inbox, deque()
        taken = None if self.writing is None else self.writing.received
        self.writing = None
        waiting = [node_input for node_input in inbox if isinstance(node_input, Message)]
        return waiting if taken is None else [taken, *waiting]


class TimerQueue:
    """A heap with an entry for each incarnation that has a timer, and outdated entries, which are skipped.

    Each incarnation has at most one valid entry, at ``queued_us``. A timer that is put off keeps its entry, which
    is moved only when it comes first.
    """

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, int, SimulatedIncarnation]] = []
        self._entries = 0

    @property
    def first(self) -> SimulatedIncarnation:
        """The incarnation of the first entry; valid right after ``next_us``."""
        return self._heap[0][3]

    def put(self, incarnation: SimulatedIncarnation, due_us: int) -> None:
        """Queue a timer; it replaces any later entry of this incarnation."""
        incarnation.queued_us = due_us
        self._entries += 1
        heapq.heappush(self._heap, (due_us, incarnation.id, self._entries, incarnation))

    def next_us(self, before_us: int | None) -> int | None:
        """Return when the first timer is due; None if that is not before ``before_us``."""
        heap = self._heap
        while heap and (before_us is None or heap[0][0] < before_us):
            at_us, _, _, incarnation = heap[0]
            if incarnation.due_us == incarnation.queued_us == at_us:
                return at_us
            heapq.heappop(heap)
            if incarnation.queued_us == at_us:
                incarnation.queued_us = None
                if incarnation.due_us is not None:
                    self.put(incarnation, incarnation.due_us)
        return None


class Simulation(World[SimulatedIncarnation]):
    """A run in virtual time.

    ``start`` brings all nodes up; ``run_to`` and ``step`` execute events; ``now_us`` is the virtual clock.
    ``time_requests`` are freeze, go and speed commands for the driver to apply.
    """

    now_us = 0

    def __init__(self, protocol: type[Protocol], log: RecordLog) -> None:
        super().__init__(protocol, log)
        self.time_requests: list[WorldCommand] = []
        self._numbers = dict.fromkeys(self.ids, 0)
        self._stores = {node: WriteLog() for node in self.ids}
        self._slow_disks_us: dict[int, int] = {}
        self._writes: list[tuple[int, int, int]] = []  # (due time, node, incarnation), a heap
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

    def _next(self) -> tuple[int | None, Callable[[], None]]:
        """Return when the next event is due, and its handler; at one instant, commands precede messages."""
        now_us, happen = self.now_us, self._next_message
        due_us = self.network.next_due_us()
        if due_us is None or due_us > now_us:
            timer_us = self._timers.next_us(due_us)
            if timer_us is not None:
                due_us, happen = timer_us, self._next_timer
        write_us = self._next_write_us() if self._writes else None
        if write_us is not None and (due_us is None or write_us <= due_us or write_us <= now_us):
            due_us, happen = write_us, self._end_next_write
        command_us = self.director.next_due_us
        if command_us is not None and (due_us is None or command_us <= due_us or command_us <= now_us):
            due_us, happen = command_us, self.execute_due
        return due_us, happen

    def _next_write_us(self) -> int | None:
        """Return when the next write to a slow disk ends; a paused node's does not."""
        while self._writes:
            due_us, node, number = self._writes[0]
            incarnation = self.incarnations.get(node)
            write = None if incarnation is None or incarnation.paused else incarnation.writing
            if (
                incarnation is not None
                and write is not None
                and (number, due_us) == (incarnation.number, write.due_us)
            ):
                return due_us
            heapq.heappop(self._writes)
        return None

    def _end_next_write(self) -> None:
        self._end_write(self.incarnations[self._writes[0][1]])

    def _next_timer(self) -> None:
        self._fire_timer(self._timers.first)

    def _next_message(self) -> None:
        self.arrive(*self.network.arrive())

    def enabled_events(self) -> list[EnabledEvent]:
        """Return the events that may happen next, soonest first.

        They are each link's first message, and each node's next timer or, while it writes to a slow disk, the end
        of that. While a node is in a step, its timers are unknown.
        """
        found: list[EnabledEvent] = []
        links: set[tuple[int, int]] = set()
        for due_us, _, message in self.network.in_flight():
            if (message.source, message.target) not in links:
                links.add((message.source, message.target))
                found.append(Delivery(due_us, message.target, message.source, message.serial, message.kind))
        for node, incarnation in self.incarnations.items():
            if incarnation.writing is not None and not incarnation.paused:
                found.append(WriteEnd(incarnation.writing.due_us, node))
            elif incarnation.timer is not None and not incarnation.stepping:
                due_us, fired = incarnation.timer
                found.append(TimerExpiry(due_us, node, fired.procedure))
        return sorted(found, key=self._order_of)

    def _order_of(self, event: EnabledEvent) -> tuple[int, int, int, int]:
        """Return the sort key by which ``step`` takes events; messages due at one instant are in order already."""
        rank = (WriteEnd, Delivery, TimerExpiry).index(type(event))
        return max(event.due_us, self.now_us), rank, event.due_us, 0 if isinstance(event, Delivery) else event.node

    def schedule(self, event: EnabledEvent) -> bool:
        """Execute this event now, even if others are due before it; return False if it is no longer enabled.

        A message may arrive early. For a timer, the clock advances to its time, and what was due before that is
        then late.
        """
        if isinstance(event, WriteEnd):
            incarnation = self.incarnations.get(event.node)
            if incarnation is None or incarnation.writing is None or incarnation.paused:
                return False
            self.now_us = max(self.now_us, incarnation.writing.due_us)
            self._end_write(incarnation)
            return True
        if isinstance(event, TimerExpiry):
            incarnation = self.incarnations.get(event.node)
            if incarnation is None or incarnation.timer is None or incarnation.stepping:
                return False
            self.now_us = max(self.now_us, incarnation.timer[0])
            self._fire_timer(incarnation)
            return True
        wanted = (event.source, event.serial)
        found = self.network.pop_first(lambda message: (message.source, message.serial) == wanted)
        if found is None:
            return False
        self.arrive(*found)
        return True

    # operations on nodes; see ActiveRun

    def kill(self, node: int) -> bool:
        incarnation = self.incarnations.get(node)
        if incarnation is None:
            return False
        self.take_down(incarnation, "killed", Process(self.now_us, node, "killed", incarnation.number))
        return True

    def restart(self, node: int) -> bool:
        if node in self.incarnations:
            return False
        self._numbers[node] += 1
        incarnation = self.incarnations[node] = SimulatedIncarnation(self.create_node(node), self._numbers[node])
        self.record(Process(self.now_us, node, "started", incarnation.number))
        if self.incarnations.get(node) is incarnation:
            self._begin(incarnation)
        return True

    def pause(self, node: int) -> bool:
        incarnation = self.incarnations.get(node)
        if incarnation is None or incarnation.paused:
            return False
        incarnation.pause(self.now_us)
        self.record(Process(self.now_us, node, "paused", incarnation.number, unsent=incarnation.leaving))
        return True

    def resume(self, node: int) -> bool:
        incarnation = self.incarnations.get(node)
        if incarnation is None or not incarnation.paused:
            return False
        incarnation.paused = False
        paused_us = self.now_us - incarnation.paused_at_us
        self.record(Process(self.now_us, node, "resumed", incarnation.number, paused_us=paused_us))
        self.send_rest(incarnation)
        if incarnation.writing is not None:
            self._queue_write(incarnation, incarnation.writing)
        self._drain_inbox(incarnation)
        self._update_timer(incarnation)
        return True

    def wipe(self, node: int) -> bool:
        if node in self.incarnations or self._stores[node].is_empty:
            return False
        self._stores[node] = WriteLog()
        self.record(Process(self.now_us, node, "wiped", self._numbers[node]))
        return True

    def unwrite(self, node: int, count: int) -> bool:
        return self._alter_storage(node, "unwritten", lambda storage: storage.unwrite(count))

    def tear(self, node: int) -> bool:
        return self._alter_storage(node, "torn", WriteLog.tear)

    def flip(self, node: int) -> bool:
        random = self.disk_random(node)
        return self._alter_storage(node, "flipped", lambda storage: storage.flip(random))

    def _alter_storage(self, node: int, event: Event, fault: Callable[[WriteLog], AlteredStorage | None]) -> bool:
        altered = None if node in self.incarnations else fault(self._stores[node])
        if altered is None:
            return False
        self.record(storage_record(self.now_us, node, event, self._numbers[node], altered))
        return True

    def slow_disk(self, node: int, us: int) -> None:
        """Change the time of the next writes; one under way keeps its time."""
        self._slow_disks_us[node] = us

    # the steps of nodes

    def deliver(self, incarnation: SimulatedIncarnation, node_input: Message | CommandInput) -> None:
        if incarnation.stepping or incarnation.paused:
            incarnation.inbox.append(node_input)
        else:
            self._feed(incarnation, node_input)

    def create_node(self, node: int) -> SteppedNode:
        """Return a node for a new incarnation."""
        return self.roster.new_node(node, self)

    def _begin(self, incarnation: SimulatedIncarnation) -> None:
        node = incarnation.id
        try:
            stored = self._stores[node].open()
        except DamagedStorageError as error:
            end = Process(self.now_us, node, "failed", incarnation.number, why=error.describe(node))
            self.take_down(incarnation, "down", end)
        else:
            self._feed(incarnation, Started(stored, incarnation.number, self.serials[node]))

    def _fire_timer(self, incarnation: SimulatedIncarnation) -> None:
        assert incarnation.timer is not None
        self._feed(incarnation, incarnation.timer[1])

    def _feed(
        self, incarnation: SimulatedIncarnation, node_input: Started | Message | Fired | CommandInput
    ) -> None:
        self._handle(incarnation, node_input)
        if incarnation.inbox:
            self._drain_inbox(incarnation)

    def _drain_inbox(self, incarnation: SimulatedIncarnation) -> None:
        """Handle waiting inputs one by one, because the node may be paused or die in between."""
        while incarnation.inbox and not incarnation.stepping and not incarnation.paused:
            self._handle(incarnation, incarnation.inbox.popleft())

    def _handle(
        self, incarnation: SimulatedIncarnation, node_input: Started | Message | Fired | CommandInput
    ) -> None:
        incarnation.stepping = True
        step = incarnation.node.step(node_input, self.now_us)
        received = node_input if isinstance(node_input, Message) else None
        slow_us = self._slow_disks_us.get(incarnation.id, 0) if self._slow_disks_us else 0
        if slow_us and step.stores:
            incarnation.clear_timer()
            self._queue_write(incarnation, SlowWrite(step, received, self.now_us + slow_us))
        else:
            self._end_step(incarnation, step, received)

    def _queue_write(self, incarnation: SimulatedIncarnation, write: SlowWrite) -> None:
        incarnation.writing = replace(write, due_us=max(write.due_us, self.now_us))
        heapq.heappush(self._writes, (incarnation.writing.due_us, incarnation.id, incarnation.number))

    def _end_write(self, incarnation: SimulatedIncarnation) -> None:
        write, incarnation.writing = incarnation.writing, None
        assert write is not None
        self._end_step(incarnation, write.step, write.received)
        self._drain_inbox(incarnation)

    def _end_step(self, incarnation: SimulatedIncarnation, step: Step, received: Message | None) -> None:
        if step.stores:
            self._stores[incarnation.id].append(step)
        self.take_step(incarnation, step, received)
        incarnation.stepping = False
        if step.failed:
            self._fail(incarnation)
        else:
            self._update_timer(incarnation)

    def _fail(self, incarnation: SimulatedIncarnation) -> None:
        if self.incarnations.get(incarnation.id) is incarnation:
            end = Process(self.now_us, incarnation.id, "failed", incarnation.number)
            self.take_down(incarnation, "down", end)

    def _update_timer(self, incarnation: SimulatedIncarnation) -> None:
        if self.incarnations.get(incarnation.id) is not incarnation or incarnation.paused or incarnation.writing:
            return  # a command triggered by this input has killed or paused it, or it goes on later
        timer = incarnation.node.next_timer()
        if timer is incarnation.timer:
            return
        if timer is None:
            incarnation.clear_timer()
            return
        incarnation.timer = timer
        incarnation.due_us = due_us = timer[0]
        if incarnation.queued_us is None or due_us < incarnation.queued_us:
            self._timers.put(incarnation, due_us)

    # commands that steer time or choose the next event

    def steer(self, command: WorldCommand, in_script: bool) -> tuple[bool, str]:
        """Queue a request about the pace of time, or execute the event that the user chose.

        After an event was chosen, time freezes for those who watch. The description of a command that changes only
        how the run is watched is the same whether or not anyone watches, because it is recorded.
        """
        if command.verb in WATCHED:
            self.time_requests.append(command)
            return True, f"{_describe_pace(command)}, when watched"
        if command.verb == "step":
            raise CommandError("step: only by hand, with : or lab ctl")
        named = {"deliver": (command.source, command.node), "fire": (command.node,)}.get(command.verb, ())
        Nodes(named).resolve(self.cluster)
        event = self._find_event(command)
        if event is None:
            return False, f"{self._describe_missing(command)}, nothing changed"
        self.time_requests.append(WorldCommand("freeze"))
        early_us = event.due_us - self.now_us
        self.schedule(event)
        early = f", {early_us / 1000:g} ms early" if early_us > 0 and isinstance(event, Delivery) else ""
        return True, event.text + early

    def _find_event(self, command: WorldCommand) -> EnabledEvent | None:
        if command.verb == "choose":
            return next(iter(self.enabled_events()[command.count - 1 :]), None)
        if command.verb == "fire":
            own = (event for event in self.enabled_events() if not isinstance(event, Delivery))
            return next((event for event in own if event.node == command.node), None)
        for due_us, _, message in self.network.in_flight():
            on_it = (message.source, message.target) == (command.source, command.node)
            if on_it and command.kind in ("", message.kind):
                return Delivery(due_us, message.target, message.source, message.serial, message.kind)
        return None

    def _describe_missing(self, command: WorldCommand) -> str:
        if command.verb == "choose":
            enabled = format_count(len(self.enabled_events()), "event")
            return f"{enabled} enabled, there is no number {command.count}"
        if command.verb == "fire":
            incarnation = self.incarnations.get(command.node)
            in_step = incarnation is not None and incarnation.stepping
            return (
                f"{command.node} is in the middle of a step" if in_step else f"no timer of {command.node} is set"
            )
        return f"no {command.kind or 'message'} is in flight from {command.source} to {command.node}"


def _describe_pace(command: WorldCommand) -> str:
    if command.verb == "speed":
        return "as fast as possible" if command.factor is None else f"{command.factor:g}x"
    return "time is frozen" if command.verb == "freeze" else "time is running"
