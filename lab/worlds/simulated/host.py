"""The simulated host: the same feed, orders and end as the live one, over a world that has a clock of its own.

Time stands still, or goes at some pace, or flat out: then the world computes for a moment, and lets the feed
and the orders have theirs. What comes of the run does not depend on any of this, so none of it is recorded;
the clients are told by a ``Clock``. An order finds the world as it is at the instant when it comes.
"""

import time

import msgspec
import trio

from lab.recording.writer import Writer
from lab.script import Scripted, WorldCommand
from lab.units import count_of
from lab.worlds.config import RunConfig
from lab.worlds.host.host import Host, earliest_us
from lab.worlds.orders import Clock, Order, Reply
from lab.worlds.outcome import Outcome
from lab.worlds.runs import RunFolder
from lab.worlds.simulated.pace import Pace
from lab.worlds.simulated.running import run_slice
from lab.worlds.simulated.simulation import Simulation

__all__ = ["SimulatedHost"]

_MEGABYTES = 256
"""After so many more are recorded, time stands still until somebody lets it go on."""
_encode = msgspec.json.Encoder().encode


class SimulatedHost(Host):
    """Lets a simulation go on that has been begun, and writes to this recording."""

    def __init__(self, config: RunConfig, folder: RunFolder, begun: tuple[Writer, Simulation]) -> None:
        writer, self._simulation = begun
        super().__init__(config, folder, writer)
        self.director = self._simulation.director
        self.control = self._simulation.control
        self._pace = Pace(config.speed)
        self._most_size = _MEGABYTES << 20
        self._note = ""
        self._frozen = False
        self._asked = trio.lowlevel.ParkingLot()

    def now_us(self) -> int:
        """Virtual time, which goes on between two events as well."""
        simulation = self._simulation
        if self._frozen:
            return simulation.now_us
        return max(simulation.now_us, earliest_us(self._bound_us(), simulation.next_us()) or 0)

    def begin(self) -> None:
        """Let time go."""
        self._restart_clock()
        self.tasks.start_soon(self._run)

    def let_out(self) -> None:
        """Tell the clients of the clock, and see what there is to do now."""
        frozen, (at_us, real_us) = self._frozen, self._pace.since
        if frozen:
            at_us = self._simulation.now_us
        self.feed.aside = _encode(Clock(at_us, real_us, frozen, self._pace.factor, self._note)) + b"\n"
        self._asked.unpark_all()

    def handle_command(self, order: Order) -> Reply:
        """Tell what may happen next, or carry out a command; what was due before it comes before it."""
        if order.choices:
            return Reply(order.id, True, False, "", tuple(self._simulation.choices()))
        self._catch_up()
        self._note = ""
        reply = super().handle_command(order)
        self._see_to_time()
        return reply

    def execute(self, scripted: Scripted) -> Outcome:
        """Carry out a command. Those that only change how time is watched are not recorded."""
        command = scripted.command
        if isinstance(command, WorldCommand) and command.verb in ("freeze", "go", "speed", "step"):
            return Outcome(*self._set_time(command))
        return super().execute(scripted)

    # the course of time

    async def _run(self) -> None:
        while True:
            done = self._catch_up()
            self.settle()
            if not done:
                await trio.lowlevel.checkpoint()
                continue
            with trio.move_on_after(self._idle_s()):
                await self._asked.park()

    def _catch_up(self) -> bool:
        """Let happen what is due by now, but compute for a moment only; whether that was all."""
        simulation, end_us = self._simulation, self.config.end_us
        stood = self._frozen
        if stood:
            return True
        done = run_slice(simulation, self._bound_us(), watched=True)
        self._see_to_time()
        if self._frozen:
            self._note = "time stands still, as a command asked for; go lets it go on"
            return True
        if end_us is not None and simulation.now_us >= end_us:
            self.end("its time was up")
        elif self.writer.size > self._most_size:
            self._frozen = True
            self._note = f"time stands still, as {_MEGABYTES} MB more are recorded; go allows as many again"
        elif done and self._pace.factor is None:
            self._frozen = True
            self._note = "time stands still, as nothing can happen any more; restart a node"
        elif not done:
            self._restart_clock()  # it cannot be computed so fast: from here, and not to be made good later
        return done

    def _bound_us(self) -> int | None:
        """How far it may go now; None: as far as it can."""
        return earliest_us(self._pace.reached_us(_real_us()), self.config.end_us)

    def _idle_s(self) -> float:
        due_us = earliest_us(self._simulation.next_us(), self.config.end_us)
        if self._frozen or due_us is None:
            return float("inf")
        return self._pace.wait_us(due_us, _real_us()) / 1e6

    def _restart_clock(self) -> None:
        self._pace.start(self._simulation.now_us, _real_us())

    # what commands do to time

    def _see_to_time(self) -> None:
        wanted = self._simulation.wanted
        while wanted:
            self._set_time(wanted.pop(0))

    def _set_time(self, command: WorldCommand) -> tuple[bool, str]:
        if command.verb == "step":
            return self._step(command.count)
        if command.verb == "freeze":
            was_frozen, self._frozen = self._frozen, True
            return not was_frozen, "frozen already, nothing changed" if was_frozen else "time stands still"
        if command.verb == "speed":
            changed, self._pace.factor = command.factor != self._pace.factor, command.factor
            self._restart_clock()
            said = "as fast as it can be computed" if command.factor is None else f"{command.factor:g}x"
            if not changed:
                return False, f"{said} already, nothing changed"
            return True, said + (", once time goes on" if self._frozen else "")
        changed, self._frozen = self._frozen, False
        self._most_size = self.writer.size + (_MEGABYTES << 20)
        if changed:
            self._restart_clock()
        return changed, "time goes on" if changed else "it goes on already, nothing changed"

    def _step(self, count: int) -> tuple[bool, str]:
        simulation = self._simulation
        self._frozen = True
        said, made = "", 0
        while made < count:
            due_us = simulation.next_us()
            if due_us is None or (self.config.end_us is not None and due_us > self.config.end_us):
                break
            said = self._said_of_next(due_us) if made == count - 1 else ""
            simulation.step()
            made += 1
        if not made:
            return False, "nothing can happen any more"
        many = "" if made == 1 and said else f"{count_of(made, 'event')}, "
        return True, f"{many}{said or 'the last of all'}, at {simulation.now_us / 1e6:.4f} s"

    def _said_of_next(self, due_us: int) -> str:
        command_us = self.director.next_due_us
        if command_us is not None and command_us <= max(due_us, self._simulation.now_us):
            return "a command that waited for its time"
        return self._simulation.choices()[0].said


def _real_us() -> int:
    return time.monotonic_ns() // 1000
