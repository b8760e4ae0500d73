"""The network: links, faults as rules, messages in flight. Pure: no socket, no clock."""

from lab.network.network import Network, SendResult
from lab.network.rules import (
    Cut,
    Delay,
    Duplicate,
    Hold,
    Links,
    Lose,
    Reorder,
    Rule,
    Slow,
    Transit,
    broken_together,
    links_among,
)

__all__ = [
    "Cut",
    "Delay",
    "Duplicate",
    "Hold",
    "Links",
    "Lose",
    "Network",
    "Reorder",
    "Rule",
    "SendResult",
    "Slow",
    "Transit",
    "broken_together",
    "links_among",
]
