"""Limits of a run: beyond them it is given up as endless."""

from lab.recording.writer import Writer
from lab.units import format_us

__all__ = ["describe_runaway", "most_records", "runaway_reason"]

_RECORDS = 20_000
_MEGABYTES = 20
"""Both limits are per node of the run."""


def most_records(nodes: int) -> int:
    """Return the most records that a run with this many nodes may have."""
    return _RECORDS * nodes


def describe_runaway(nodes: int, at_us: int) -> str:
    """Return the message for a run that has more than ``most_records`` by ``at_us``."""
    return f"its messages multiply: more than {most_records(nodes):,} records {_within(nodes, at_us)}"


def runaway_reason(writer: Writer, at_us: int) -> str:
    """Return why the run must be given up now; empty if it need not."""
    nodes = len(writer.header.nodes)
    if writer.count > most_records(nodes):
        return describe_runaway(nodes, at_us)
    megabytes = _MEGABYTES * nodes
    if writer.length > megabytes << 20:
        return f"its recording grows: more than {megabytes} MB {_within(nodes, at_us)}"
    return ""


def _within(nodes: int, at_us: int) -> str:
    return f"within {format_us(round(at_us, -3))} of a run of {nodes} nodes"
