"""The part of a host that is the same in every world: write the recording, serve the feed, end the run.

A run has a folder, a recording, and an owner: the process that started it. Clients of the feed send requests. The
run ends on a signal, at the owner's end, on a driver's request, or when the world ends it; then the recording is
completed, and the clients get what is left. A world is a subclass. It starts its tasks in ``begin`` and calls
``commit`` after each change.
"""

import contextlib
import gc
import os
import signal
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TypeVar

import trio

from lab.output import print_remark
from lab.recording.records import End
from lab.recording.writer import Writer
from lab.script.parse import parse
from lab.script.scope import CommandError, NodeNames, Scope
from lab.script.statements import Statement
from lab.worlds.feed_protocol import FeedRequest, Reply
from lab.worlds.host.feed import Feed
from lab.worlds.host.runs import RunFolder, RunInfo
from lab.worlds.loading.config import HostReady, HostRefused, NotRunnableError, RunConfig, send_reply
from lab.worlds.run import ActiveRun, CommandOutcome

P = TypeVar("P")


def run_host(
    config: RunConfig, prepare: Callable[[RunConfig], P], make: Callable[[RunConfig, RunFolder, P], "Host"]
) -> int:
    """Make a host and run it to its end; return the exit status of its process.

    ``prepare`` begins the recording, and may raise OSError or NotRunnableError; ``make`` gets what it returns.
    """
    try:
        folder = RunFolder(config.run)
    except OSError as error:
        send_reply(HostRefused(f"the run's folder cannot be made: {error}"))
        return 2
    try:
        prepared = prepare(config)
    except (OSError, NotRunnableError) as error:
        written = f"the recording cannot be written to {config.recording}: "
        send_reply(HostRefused(f"{written}{error.strerror}" if isinstance(error, OSError) else str(error)))
        folder.remove()
        return 2
    host = make(config, folder, prepared)
    try:
        trio.run(host.run)
    finally:
        host.join()
        folder.remove()
    if host.failure:
        for line in host.failure.splitlines():
            print_remark(line)
    return 1 if host.failure else 0


def earliest_us(*instants_us: int | None) -> int | None:
    """Return the first of these instants; None never comes."""
    return min((instant_us for instant_us in instants_us if instant_us is not None), default=None)


class Host:
    """The host of a run. Subclasses set ``world``, and run their tasks in ``tasks``."""

    world: ActiveRun
    tasks: trio.Nursery

    def __init__(self, config: RunConfig, folder: RunFolder, writer: Writer) -> None:
        self.config = config
        self.folder = folder
        self.writer = writer
        self.feed = Feed(writer, self._execute_request)
        self.failure = ""
        self._ending: str | None = None

    # implemented by each world's host

    def now_us(self) -> int:
        """Return the time of the run."""
        return self.world.now_us

    def begin(self) -> None:
        """Start the world and its tasks."""
        raise NotImplementedError

    def flush(self) -> None:
        """Make public what has been done; it is in the recording by now."""

    def shutdown(self) -> None:
        """Stop the world at the end of the run, and do what its last record should show."""

    def join(self) -> None:
        """Wait, after the event loop, until nothing of the world is left."""

    def handle_request(self, request: FeedRequest) -> Reply:
        """Handle a request, other than to end the run."""
        if request.waiting:
            return Reply(request.id, True, False, "", waiting=tuple(self.world.director.given_by_hand()))
        if request.enabled_events:
            return Reply.refused("the next event can be chosen only in simulated runs", request.id)
        try:
            header = self.world.header
            scripted = parse(request.command, self.world.protocol_class, NodeNames.of(header))
            scripted.check_interactive()
            if scripted.waits and not request.withdraw:
                scripted.check(
                    Scope(
                        self.world.protocol_class,
                        header.nodes,
                        header.protocol.parameters,
                        header.names,
                        self.world.roster.member_protocols,
                    )
                )
            verb, may = scripted.text.partition(" ")[0], self.config.may
            if may is not None and verb not in may:
                raise CommandError(f"{verb} is not allowed in this exercise; allowed: {', '.join(may)}")
        except CommandError as error:
            return Reply.refused(str(error), request.id)
        director = self.world.director
        if request.withdraw:
            found = director.withdraw(scripted)
            text = f"withdrawn: {scripted.source}" if found else f"not waiting: {scripted.source}"
            return Reply(request.id, found, found, text)
        if scripted.trigger is None:
            outcome = self.execute(scripted)
            return Reply(request.id, not outcome.refused, outcome.changed, outcome.text)
        director.add(scripted)
        for due in director.on_record(None):
            self.world.execute(due)
        return Reply(request.id, True, True, f"waits: {scripted.source}")

    def execute(self, scripted: Statement) -> CommandOutcome:
        """Execute a command now."""
        return self.world.execute(scripted)

    # the course of a run

    async def run(self) -> None:
        """Serve until something ends the run; then complete the recording."""
        async with trio.open_nursery() as services:
            await services.start(self.feed.serve, str(self.folder.socket))
            try:
                async with trio.open_nursery() as self.tasks:
                    self._begin()
            finally:
                self._complete_recording()

    def end(self, why: str) -> None:
        """End the run; the first reason given counts."""
        if self._ending is None:
            self._ending = why
            self.tasks.cancel_scope.cancel()

    def commit(self) -> None:
        """Publish what has been done since the last time: write the recording first, then tell all others."""
        try:
            self.writer.flush()
        except OSError as error:
            self._note_unwritten(error)
            self.end(self.failure)
            return  # never publish what is not recorded
        self.flush()
        self.feed.notify_clients()

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
        self.commit()
        gc.freeze()
        send_reply(HostReady(str(self.folder.socket), os.getpid()))

    def _complete_recording(self) -> None:
        self.shutdown()
        try:
            if not self.failure:
                self.world.finish()
                self.writer.append(End(self.now_us(), self._ending or "the host failed"))
            self.writer.close()
        except OSError as error:
            self._note_unwritten(error)
        self.feed.end()

    def _note_unwritten(self, error: OSError) -> None:
        self.failure = self.failure or f"the recording cannot be written: {error.strerror}"

    def _execute_request(self, request: FeedRequest) -> Reply:
        if request.end:
            self.end("ended by its driver")
            return Reply(request.id, True, True, "the run ends")
        if self._ending is not None:  # it came while its feed was written to the end
            return Reply.refused(f"the run is over: {self._ending}", request.id)
        reply = self.handle_request(request)
        self.commit()
        return reply

    async def _watch_signals(self) -> None:
        with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM, signal.SIGHUP) as received:
            async for number in received:
                self.end(f"signal {signal.Signals(number).name}")

    async def _watch_owner(self) -> None:
        with contextlib.suppress(trio.BrokenResourceError):
            async with trio.lowlevel.FdStream(os.dup(0)) as owner:
                while await owner.receive_some(4096):
                    pass
        self.end("the process that started it has ended")
