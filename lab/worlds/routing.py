"""The network of a run, in every world, and the records of its decisions."""

from random import Random

from lab.kernel import Message, Timing
from lab.network import Network, SendResult
from lab.recording.records import Header, Routed


def network_of(header: Header) -> Network:
    """Return the network that the header describes; its seed determines each link's random draws."""
    link = header.link
    return Network(
        lambda source, target: Random(f"{header.seed}/link/{source}->{target}"), link.latency_us, link.jitter_us
    )


def spare_of(header: Header) -> Timing:
    """Return the part of Tm that links leave unused, and Tp; a longer delay breaks assumption 8 or 9."""
    return Timing(header.timing.tm_us - header.link.latency_us - header.link.jitter_us, header.timing.tp_us)


def records_of(message: Message, sending: SendResult, now_us: int) -> list[Routed]:
    """Return the records of a message that was not simply delivered; each fault counts it once."""
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
