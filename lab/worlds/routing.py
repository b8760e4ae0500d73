"""What is written down of the network's decision on a message, in every world."""

from lab.journal import Routed
from lab.kernel import Message
from lab.network import Sending

__all__ = ["records_of"]


def records_of(message: Message, sending: Sending, now_us: int) -> list[Routed]:
    """The records of a message that did not simply arrive; each fault counts it once."""
    source, serial, by = message.source, message.serial, sending.by
    records = []
    for _ in sending.extra:
        records.append(Routed(now_us, source, serial, "duplicated", by=by))
        by = ()
    if sending.reordered:
        records.append(Routed(now_us, source, serial, "reordered", by=by, due_us=sending.due_us))
    elif sending.fate:
        records.append(Routed(now_us, source, serial, sending.fate, sending.why, by, sending.due_us))
    return records
