"""The simulated host: feed, requests and end are as in the live host, but its world has a virtual clock.

Virtual time is frozen, runs at some pace, or runs as fast as possible. The world computes for a time slice, and
then the feed and the requests get theirs. The run does not depend on any of this, so none of it is recorded;
clients learn of it from a ``Clock``. A request is executed at the virtual instant at which it arrives.
"""

import time

import trio

from lab.recording.records import TIME_LIMIT_REACHED
from lab.recording.writer import Writer
from lab.script.commands import WorldCommand
from lab.script.statements import Statement
from lab.units import format_count
from lab.worlds.feed_protocol import Clock, FeedRequest, Pace, Reply
from lab.worlds.host.host import Host, earliest_us
from lab.worlds.host.runs import RunFolder
from lab.worlds.json_lines import to_line
from lab.worlds.loading.config import RunConfig
from lab.worlds.run import CommandOutcome
from lab.worlds.simulated.execution import run_slice
from lab.worlds.simulated.simulation import Simulation

_MEGABYTES = 256
"""Whenever so many more have been recorded, time freezes until a client lets it run again."""


class SimulatedHost(Host):
    """The host of a simulation that has been started; ``begun`` is its recording and the simulation."""

    world: Simulation

    def __init__(self, config: RunConfig, folder: RunFolder, begun: tuple[Writer, Simulation]) -> None:
        writer, self.world = begun
        super().__init__(config, folder, writer)
        self._pace = Pace(config.speed)
        self._most_size = _MEGABYTES << 20
        self._note = ""
        self._frozen = config.frozen
        self._request_arrived = trio.lowlevel.ParkingLot()

    def now_us(self) -> int:
        """Return virtual time, which advances between two events as well."""
        simulation = self.world
        if self._frozen:
            return simulation.now_us
        return max(simulation.now_us, earliest_us(self._bound_us(), simulation.next_us()) or 0)

    def begin(self) -> None:
        """Start the clock, and the task that executes the simulation."""
        self._restart_clock()
        self.tasks.start_soon(self._run)

    def flush(self) -> None:
        """Tell the clients the time, and wake the task that executes the simulation."""
        frozen, (at_us, real_us) = self._frozen, self._pace.since
        if frozen:
            at_us = self.world.now_us
        self.feed.status_line = to_line(Clock(at_us, real_us, frozen, self._pace.factor, self._note))
        self._request_arrived.unpark_all()

    def handle_request(self, request: FeedRequest) -> Reply:
        """Return the enabled events, or execute a command after the events due before it."""
        if request.enabled_events:
            return Reply(request.id, True, False, "", tuple(self.world.enabled_events()))
        self._catch_up()
        reply = super().handle_request(request)
        self._apply_time_requests()
        return reply

    def execute(self, scripted: Statement) -> CommandOutcome:
        """Execute a command. Those that change only how the run is watched are not recorded."""
        command = scripted.command
        if isinstance(command, WorldCommand) and command.verb in ("freeze", "go", "speed", "step"):
            return CommandOutcome(*self._set_time(command))
        return super().execute(scripted)

    # executing the simulation

    async def _run(self) -> None:
        while True:
            done = self._catch_up()
            self.commit()
            if not done:
                await trio.lowlevel.checkpoint()
                continue
            with trio.move_on_after(self._idle_s()):
                await self._request_arrived.park()

    def _catch_up(self) -> bool:
        """Execute what is due by now, but for a time slice at most; return whether that was all."""
        simulation, end_us = self.world, self.config.end_us
        was_frozen = self._frozen
        if was_frozen:
            return True
        done = run_slice(simulation, self._bound_us(), watched=True)
        self._apply_time_requests()
        if self._frozen:
            self._note = "time is frozen by a command; go resumes it"
            return True
        if end_us is not None and simulation.now_us >= end_us:
            self.end(TIME_LIMIT_REACHED)
        elif self.writer.size > self._most_size:
            self._frozen = True
            self._note = f"time is frozen: {_MEGABYTES} MB more were recorded; go allows as many again"
        elif done and self._pace.factor is None:
            self._frozen = True
            self._note = "time is frozen: no event is pending; give a command, or restart or resume a node"
        elif not done:
            self._restart_clock()  # too slow to keep the pace: start the clock anew instead of catching up later
        return done

    def _bound_us(self) -> int | None:
        """Return the virtual time that may be reached by now; None: no bound."""
        return earliest_us(self._pace.reached_us(_real_us()), self.config.end_us)

    def _idle_s(self) -> float:
        due_us = earliest_us(self.world.next_us(), self.config.end_us)
        if self._frozen or due_us is None:
            return float("inf")
        return self._pace.wait_us(due_us, _real_us()) / 1e6

    def _restart_clock(self) -> None:
        self._pace.start(self.world.now_us, _real_us())

    # commands about the pace of time

    def _apply_time_requests(self) -> None:
        requests = self.world.time_requests
        while requests:
            self._set_time(requests.pop(0))

    def _set_time(self, command: WorldCommand) -> tuple[bool, str]:
        if command.verb == "step":
            return self._step(command.count)
        if command.verb == "freeze":
            was_frozen, self._frozen = self._frozen, True
            return not was_frozen, "frozen already, nothing changed" if was_frozen else "time is frozen"
        if command.verb == "speed":
            changed, self._pace.factor = command.factor != self._pace.factor, command.factor
            self._restart_clock()
            text = "as fast as possible" if command.factor is None else f"{command.factor:g}x"
            if not changed:
                return False, f"{text} already, nothing changed"
            return True, text + (", once time is running" if self._frozen else "")
        changed, self._frozen, self._note = self._frozen, False, ""
        self._most_size = self.writer.size + (_MEGABYTES << 20)
        if changed:
            self._restart_clock()
        return changed, "time is running" if changed else "running already, nothing changed"

    def _step(self, count: int) -> tuple[bool, str]:
        simulation = self.world
        self._frozen, self._note = True, ""
        text, made = "", 0
        while made < count:
            due_us = simulation.next_us()
            if due_us is None or (self.config.end_us is not None and due_us > self.config.end_us):
                break
            text = self._describe_next(due_us) if made == count - 1 else ""
            simulation.step()
            made += 1
        if not made:
            return False, "no event is pending: give a command, or restart or resume a node"
        many = "" if made == 1 and text else f"{format_count(made, 'event')}, "
        return True, f"{many}{text or 'no more are pending'}, at {simulation.now_us / 1e6:.4f} s"

    def _describe_next(self, due_us: int) -> str:
        command_us = self.world.director.next_due_us
        if command_us is not None and command_us <= max(due_us, self.world.now_us):
            return "a timed command"
        return self.world.enabled_events()[0].text


def _real_us() -> int:
    return time.monotonic_ns() // 1000
