"""The lines that a step executed, for the code view: an estimate at once, and later the exact lines."""

import asyncio

from msgspec import Struct

from lab.analysis.inspection import LastStep, message_received
from lab.kernel import Received
from lab.protocols import Algorithm
from lab.recording.reader import RecordStore
from lab.recording.timeline import Timeline
from lab.replay.line_trace import TraceUnavailableError, approximate_lines, installed_protocol, trace_lines
from lab.replay.source_listing import Listing
from lab.worlds.watchdog import watch_steps

_MOST_KNOWN = 1_000


class ExecutedLines(Struct, frozen=True):
    """The lines of the listing that ``node`` executed in the record ``number``, in order.

    If they are not exact, ``why`` is the reason, or empty while they are being traced.
    """

    number: int
    node: int
    lines: tuple[int, ...]
    is_exact: bool = False
    why: str = ""


class ExecutionTracer:
    def __init__(self, store: RecordStore, listing: Listing) -> None:
        self._store = store
        self._listing = listing
        self._timeline = Timeline(store)
        self._known: dict[int, ExecutedLines] = {}
        self._protocol: type[Algorithm] | TraceUnavailableError | None = None

    def so_far(self, found: LastStep) -> ExecutedLines:
        """Return what is known of a step now: the exact lines or an estimate."""
        known = self._known.get(found.number)
        if known is None:
            step, node_input = found.step, found.step.input
            view = self._timeline.at(found.number - 1).nodes.get(step.node)
            received = (
                message_received(self._store, found.number, node_input)
                if isinstance(node_input, Received)
                else None
            )
            before = () if view is None else view.waits
            lines = approximate_lines(self._listing, step, "" if received is None else received.kind, before)
            known = self._keep(ExecutedLines(found.number, step.node, lines))
        return known

    async def find(self, found: LastStep) -> None:
        """Trace the exact lines, in chunks, so that the interface stays responsive."""
        so_far = self.so_far(found)
        if so_far.is_exact or so_far.why:
            return
        watch_steps()
        try:
            running = trace_lines(self._store, found.number, self._installed_protocol())
            while True:
                next(running)
                await asyncio.sleep(0)
        except StopIteration as end:
            self._keep(ExecutedLines(found.number, found.step.node, end.value, is_exact=True))
        except TraceUnavailableError as error:
            self._keep(ExecutedLines(so_far.number, so_far.node, so_far.lines, why=str(error)))

    def _installed_protocol(self) -> type[Algorithm]:
        if self._protocol is None:
            try:
                self._protocol = installed_protocol(self._store.header.protocol)
            except TraceUnavailableError as error:
                self._protocol = error
        if isinstance(self._protocol, TraceUnavailableError):
            raise self._protocol
        return self._protocol

    def _keep(self, executed: ExecutedLines) -> ExecutedLines:
        if len(self._known) >= _MOST_KNOWN:
            del self._known[next(iter(self._known))]
        self._known[executed.number] = executed
        return executed
