"""The vector clocks of messages: for each node, the number of its last record that the sender may know of.

The arrival of a message ``a`` happened before the sending of ``b`` if and only if the clock of ``b`` has reached
the record of that arrival, at the place of the receiver of ``a``: see ``lab.analysis.causality``.
"""

from lab.analysis.causality import Causality, Clock
from lab.kernel import Fired, Received, Step
from lab.recording.records import Process, Record

__all__ = ["VectorClocks"]


class VectorClocks:
    """A fold of the records. ``sent`` maps (source, serial) to the clock of a message; forged ones have none."""

    def __init__(self, nodes: tuple[int, ...]) -> None:
        self._causality = Causality(nodes)
        self.sent: dict[tuple[int, int], Clock] = {}

    def observe(self, number: int, record: Record | None) -> None:
        """Observe the record with that number; None stands for an unreadable one."""
        causality = self._causality
        if isinstance(record, Step) and record.node in causality.place:
            given = record.input
            if isinstance(given, Received):
                causality.received(record.node, self.sent.get((given.source, given.serial), causality.zero))
            elif isinstance(given, Fired):
                causality.fired(record.node)
            stamp = causality.stamp(record.node, number)
            self.sent.update(((record.node, message.serial), stamp) for message in record.sent)
        elif isinstance(record, Process) and _is_death(record) and record.node in causality.place:
            causality.crashed(record.node, number)


def _is_death(record: Process) -> bool:
    return record.event in ("killed", "failed")
