"""When a run is given up: there is so much of it that it will not come to an end."""

from lab.recording.writer import Writer
from lab.units import format_us

__all__ = ["most_records", "outgrown", "runaway_said"]

_RECORDS = 20_000
_MEGABYTES = 20
"""So many for each node of the run."""


def most_records(nodes: int) -> int:
    """How many records a run of so many nodes may have."""
    return _RECORDS * nodes


def runaway_said(nodes: int, at_us: int) -> str:
    """What is said of one that has more by then."""
    return f"its messages multiply: more than {most_records(nodes):,} records {_within(nodes, at_us)}"


def outgrown(writer: Writer, at_us: int) -> str:
    """Why the run that is recorded there is given up by then; empty where it goes on."""
    nodes = len(writer.header.nodes)
    if writer.count > most_records(nodes):
        return runaway_said(nodes, at_us)
    megabytes = _MEGABYTES * nodes
    if writer.length > megabytes << 20:
        return f"what it records grows: more than {megabytes} MB {_within(nodes, at_us)}"
    return ""


def _within(nodes: int, at_us: int) -> str:
    return f"within {format_us(round(at_us, -3))} of a run of {nodes} nodes"
