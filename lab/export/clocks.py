"""What each message's sender could know when it sent it, as vector clocks over the numbers of records.

A message ``a`` is in the causal past of a message ``b`` exactly when the clock of ``b`` has come to the record
with which ``a`` arrived: see ``lab.analysis.causality``.
"""

from lab.analysis.causality import Causality, Clock
from lab.kernel import Fired, Received, Step
from lab.recording.records import Process, Record

__all__ = ["Clocks"]


class Clocks:
    """A fold. ``sent`` has the clock of each message, by source and serial; what nobody sent has none."""

    def __init__(self, nodes: tuple[int, ...]) -> None:
        self._causality = Causality(nodes)
        self.sent: dict[tuple[int, int], Clock] = {}

    def observe(self, number: int, record: Record | None) -> None:
        """Take the record with that number; None stands for one that could not be read."""
        causality = self._causality
        if isinstance(record, Step) and record.node in causality.place:
            given = record.input
            if isinstance(given, Received):
                causality.received(record.node, self.sent.get((given.source, given.serial), causality.nothing))
            elif isinstance(given, Fired):
                causality.fired(record.node)
            stamp = causality.stamp(record.node, number)
            self.sent.update(((record.node, message.serial), stamp) for message in record.sent)
        elif isinstance(record, Process) and _is_death(record) and record.node in causality.place:
            causality.died(record.node, number)


def _is_death(record: Process) -> bool:
    return record.event in ("killed", "failed")
