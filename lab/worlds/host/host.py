"""What every host does, whatever its world: it writes the recording, serves the feed, and comes to an end.

A run has a folder and a recording, and an owner who started it. Clients of the feed give orders. A signal,
the owner's end, a driver's order or the world itself ends the run; then the recording is completed, and the
clients get what there is. The world is a subclass: it starts its own tasks in ``begin``, and calls ``settle``
whenever it has done something.
"""

import contextlib
import gc
import os
import signal
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TypeVar

import trio

from lab.recording.records import End
from lab.recording.writer import Writer
from lab.script import CommandError, Director, Scripted, check_by_hand, parse
from lab.worlds.config import NotRunnableError, Ready, Refused, RunConfig
from lab.worlds.control import Control
from lab.worlds.host.feed import Feed
from lab.worlds.host.starting import say
from lab.worlds.orders import Order, Reply
from lab.worlds.outcome import Outcome
from lab.worlds.runs import RunFolder, RunInfo

__all__ = ["Host", "earliest_us", "run_host"]

P = TypeVar("P")


def run_host(
    config: RunConfig, prepare: Callable[[RunConfig], P], make: Callable[[RunConfig, RunFolder, P], "Host"]
) -> int:
    """Make a host and run it to its end; the exit status of its process.

    ``prepare`` begins the recording, and may raise OSError or NotRunnableError; ``make`` gets what it returns.
    """
    try:
        folder = RunFolder(config.run)
    except OSError as error:
        say(Refused(f"the run's folder cannot be made: {error}"))
        return 2
    try:
        prepared = prepare(config)
    except (OSError, NotRunnableError) as error:
        written = f"the recording cannot be written to {config.recording}: "
        say(Refused(f"{written}{error.strerror}" if isinstance(error, OSError) else str(error)))
        folder.remove()
        return 2
    host = make(config, folder, prepared)
    try:
        trio.run(host.run)
    finally:
        host.gone()
        folder.remove()
    if host.failure:
        print(host.failure, file=sys.stderr)
    return 1 if host.failure else 0


def earliest_us(*instants_us: int | None) -> int | None:
    """The first of these instants, of which None never comes."""
    return min((instant_us for instant_us in instants_us if instant_us is not None), default=None)


def _check_allowed(scripted: Scripted, may: tuple[str, ...] | None) -> None:
    """CommandError where this is not among the commands that may be given by hand."""
    verb = scripted.text.partition(" ")[0]
    if may is not None and verb not in may:
        raise CommandError(f"{verb} is not for this exercise; what may be done here is {', '.join(may)}")


class Host:
    """Subclasses set ``director`` and ``control``. ``tasks`` is where theirs run."""

    director: Director
    control: Control
    tasks: trio.Nursery

    def __init__(self, config: RunConfig, folder: RunFolder, writer: Writer) -> None:
        self.config = config
        self.folder = folder
        self.writer = writer
        self.feed = Feed(writer, self._execute_order)
        self.failure = ""
        self._ending: str | None = None

    # what a world adds

    def now_us(self) -> int:
        """The clock of the run."""
        raise NotImplementedError

    def begin(self) -> None:
        """Start the world's tasks, and the world."""
        raise NotImplementedError

    def let_out(self) -> None:
        """What has been done is written down: now others may see it."""

    def finish(self) -> None:
        """The run is over: stop the world, and do what its last record should show."""

    def gone(self) -> None:
        """The event loop is over; return once nothing of the world is left."""

    def handle_command(self, order: Order) -> Reply:
        """Carry out an order, other than the end of the run."""
        if order.choices:
            return Reply(order.id, False, False, "what happens next is chosen in simulated runs only")
        try:
            scripted = parse(order.command, self.control.protocol)
            check_by_hand(scripted)
            _check_allowed(scripted, self.config.may)
        except CommandError as error:
            return Reply(order.id, False, False, str(error))
        if order.withdraw:
            found = self.director.withdraw(scripted)
            said = f"waits no longer: {scripted.source}" if found else f"nothing waits that is: {scripted.source}"
            return Reply(order.id, found, found, said)
        if scripted.trigger is None:
            outcome = self.execute(scripted)
            return Reply(order.id, not outcome.refused, outcome.changed, outcome.text)
        self.director.add(scripted)
        for due in self.director.after(None):
            self.control.execute(due)
        return Reply(order.id, True, True, f"waits: {scripted.source}")

    def execute(self, scripted: Scripted) -> Outcome:
        """Carry out a command, now."""
        return self.control.execute(scripted)

    # the course of a run

    async def run(self) -> None:
        """Serve until something ends the run; then complete the recording."""
        async with trio.open_nursery() as services:
            await services.start(self.feed.serve, str(self.folder.socket))
            try:
                async with trio.open_nursery() as self.tasks:
                    self._begin()
            finally:
                self._finish()

    def end(self, why: str) -> None:
        """End the run; what is said first counts."""
        if self._ending is None:
            self._ending = why
            self.tasks.cancel_scope.cancel()

    def settle(self) -> None:
        """Let out what has been done since the last time: to the file first, then to all others."""
        try:
            self.writer.flush()
        except OSError as error:
            self.failure = f"the recording cannot be written: {error.strerror}"
            self.end(self.failure)
            return  # what is not written down does not happen
        self.let_out()
        self.feed.grown()

    def _begin(self) -> None:
        for task in (self._watch_signals, self._watch_owner):
            self.tasks.start_soon(task)
        self.begin()
        header = self.writer.header
        self.folder.publish(
            RunInfo(
                self.config.run,
                os.getpid(),
                header.protocol.name,
                self.config.nodes,
                header.began or datetime.now(UTC).isoformat(timespec="seconds"),
                str(self.writer.path),
                str(self.folder.socket),
                header.world,
            )
        )
        self.settle()
        gc.freeze()
        say(Ready(str(self.folder.socket), os.getpid()))

    def _finish(self) -> None:
        self.finish()
        with contextlib.suppress(OSError):
            if not self.failure:
                for scripted in self.director.finish():
                    self.control.execute(scripted)
                self.writer.append(End(self.now_us(), self._ending or "the host failed"))
            self.writer.close()
        self.feed.end()

    def _execute_order(self, order: Order) -> Reply:
        if order.end:
            self.end("ended by its driver")
            return Reply(order.id, True, True, "the run ends")
        reply = self.handle_command(order)
        self.settle()
        return reply

    async def _watch_signals(self) -> None:
        with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM, signal.SIGHUP) as received:
            async for number in received:
                self.end(f"signal {signal.Signals(number).name}")

    async def _watch_owner(self) -> None:
        async with trio.lowlevel.FdStream(os.dup(0)) as owner:
            while await owner.receive_some(4096):
                pass
        self.end("whoever started it has ended")
