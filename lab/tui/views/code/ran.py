"""What ran in a step, for the code view: about, at once, and exactly, once there has been time to find out."""

import asyncio

from msgspec import Struct

from lab.analysis.lookback import LastStep, message_received
from lab.kernel import Received
from lab.protocols import Algorithm
from lab.recording.reader import RecordStore
from lab.recording.timeline import Timeline
from lab.replay.approximate_lines import lines_about
from lab.replay.line_trace import CannotTellError, installed, lines_run
from lab.replay.source_listing import Listing
from lab.worlds.watchdog import watch_steps

__all__ = ["Ran", "RanLines"]

_MOST_KNOWN = 1_000


class Ran(Struct, frozen=True):
    """What ``node`` ran in the step that is the record ``number``: lines of the listing, in the order of running.

    Where that is not exact, ``why`` says why; nothing: it is being found out.
    """

    number: int
    node: int
    lines: tuple[int, ...]
    is_exact: bool = False
    why: str = ""


class RanLines:
    """Keeps what it has found."""

    def __init__(self, lines: RecordStore, listing: Listing) -> None:
        self._lines = lines
        self._listing = listing
        self._timeline = Timeline(lines)
        self._known: dict[int, Ran] = {}
        self._protocol: type[Algorithm] | CannotTellError | None = None

    def about(self, found: LastStep) -> Ran:
        """What is known of this step at present."""
        known = self._known.get(found.number)
        if known is None:
            step, given = found.step, found.step.input
            view = self._timeline.at(found.number - 1).nodes.get(step.node)
            got = message_received(self._lines, found.number, given) if isinstance(given, Received) else None
            before = () if view is None else view.waits
            lines = lines_about(self._listing, step, "" if got is None else got.kind, before)
            known = self._keep(Ran(found.number, step.node, lines))
        return known

    async def find(self, found: LastStep) -> None:
        """Find out exactly what ran, a piece at a time, so that the screen goes on."""
        about = self.about(found)
        if about.is_exact or about.why:
            return
        watch_steps()
        try:
            running = lines_run(self._lines, found.number, self._installed())
            while True:
                next(running)
                await asyncio.sleep(0)
        except StopIteration as end:
            self._keep(Ran(found.number, found.step.node, end.value, is_exact=True))
        except CannotTellError as error:
            self._keep(Ran(about.number, about.node, about.lines, why=str(error)))

    def _installed(self) -> type[Algorithm]:
        if self._protocol is None:
            try:
                self._protocol = installed(self._lines.header.protocol)
            except CannotTellError as error:
                self._protocol = error
        if isinstance(self._protocol, CannotTellError):
            raise self._protocol
        return self._protocol

    def _keep(self, ran: Ran) -> Ran:
        if len(self._known) >= _MOST_KNOWN:
            del self._known[next(iter(self._known))]
        self._known[ran.number] = ran
        return ran
