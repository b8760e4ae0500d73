"""What a campaign never reached, and how much may be left to find."""

from collections.abc import Sequence
from itertools import combinations_with_replacement

from lab.protocols import Algorithm
from lab.tasks.extension import analysis_of, extension_class
from lab.worlds.campaign.campaign import CampaignTotals


def never_delivered(totals: CampaignTotals, protocol: type[Algorithm]) -> list[str]:
    """Return in words which messages were never delivered in which Status, of those that occurred.

    Some of these may be impossible.
    """
    statuses = sorted({status for _, status in totals.deliveries})
    kinds = sorted(protocol.payloads)
    words = {status: f" in {status}" if status else "" for status in statuses}
    missing = [(kind, status) for kind in kinds for status in statuses if (kind, status) not in totals.deliveries]
    return [f"{kind}{words[status]}" for kind, status in missing]


def never_at_once(totals: CampaignTotals, protocol: type[Algorithm]) -> list[str]:
    """Return in words the pairs of states in which no two nodes were at once in one transaction.

    Some of these must be impossible, such as committed and aborted.
    """
    states = analysis_of(extension_class(protocol)).states
    pairs = combinations_with_replacement(states, 2)
    return [" and ".join(pair) for pair in pairs if pair not in totals.states_at_once]


def unseen_share(totals: CampaignTotals) -> float | None:
    """Return the Good-Turing estimate: the probability that the next situation met is a new one.

    It is the share of those met once among all that were met; None if none was.
    """
    total = totals.hits.total()
    return sum(count == 1 for count in totals.hits.values()) / total if total else None


def unjudged(promises: Sequence[str], totals: CampaignTotals) -> list[str]:
    """Return the promised assertions that were judged in no run."""
    return [name for name in promises if not totals.judged_runs[name]]


def line_ranges(lines: list[int]) -> str:
    """Format 1, 2, 3, 7 as ``1-3, 7``."""
    spans: list[list[int]] = []
    for line in lines:
        if spans and line == spans[-1][1] + 1:
            spans[-1][1] = line
        else:
            spans.append([line, line])
    return ", ".join(str(low) if low == high else f"{low}-{high}" for low, high in spans)
