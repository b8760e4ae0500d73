"""Faults of links, as rules. Each rule may change a message's transit, and reports whether it did."""

from collections.abc import Iterable
from random import Random
from typing import Literal

from msgspec import Struct

from lab.kernel import Message, Timing

__all__ = [
    "Cut",
    "Delay",
    "Duplicate",
    "Hold",
    "Links",
    "Lose",
    "Reorder",
    "Rule",
    "Slow",
    "Transit",
    "broken_together",
    "links_among",
]

Links = frozenset[tuple[int, int]]
"""Directed links: (source, target)."""


def links_among(sources: frozenset[int], targets: frozenset[int]) -> Links:
    """Return every directed link from ``sources`` to ``targets``, except from a node to itself."""
    return frozenset((a, b) for a in sources for b in targets if a != b)


class Transit(Struct):
    """The decision of the rules so far on one message; times in microseconds.

    ``copies_us`` has, for each further copy, the time between the arrival of the original and that of the copy.
    """

    delay_us: int = 0
    copies_us: tuple[int, ...] = ()
    in_order: bool = True
    fate: Literal["", "dropped", "held"] = ""
    why: str = ""


class Rule(Struct, frozen=True, kw_only=True):
    """A fault on some links. ``kinds``: only messages of these kinds; empty: all. Probabilities from 0 to 1."""

    links: Links
    kinds: frozenset[str] = frozenset()

    def applies(self, message: Message) -> bool:
        """Return whether the rule applies to this message."""
        return (message.source, message.target) in self.links and (not self.kinds or message.kind in self.kinds)

    def decide(self, transit: Transit, random: Random) -> bool:
        """Update ``transit``; return whether this affected the message."""
        raise NotImplementedError

    def broken_assumptions(self, slack: Timing) -> tuple[int, ...]:
        """Return the numbers of the assumptions that the rule breaks; ``slack`` is what is left of Tm and Tp."""
        raise NotImplementedError


class Cut(Rule, frozen=True, kw_only=True):
    """A cut link: it drops messages sent, and messages that would arrive, while the rule is in force."""

    def decide(self, transit: Transit, random: Random) -> bool:
        transit.fate, transit.why = "dropped", "cut"
        return True

    def broken_assumptions(self, slack: Timing) -> tuple[int, ...]:
        return (8,)


class Lose(Rule, frozen=True, kw_only=True):
    """Message loss with this probability."""

    probability: float

    def decide(self, transit: Transit, random: Random) -> bool:
        if random.random() >= self.probability:
            return False
        transit.fate, transit.why = "dropped", "lost"
        return True

    def broken_assumptions(self, slack: Timing) -> tuple[int, ...]:
        return (8,)


class Delay(Rule, frozen=True, kw_only=True):
    """A delay of ``delay_us``, plus or minus up to ``jitter_us``."""

    delay_us: int
    jitter_us: int = 0

    def decide(self, transit: Transit, random: Random) -> bool:
        jitter_us = random.randint(-self.jitter_us, self.jitter_us) if self.jitter_us else 0
        transit.delay_us += max(0, self.delay_us + jitter_us)
        return True

    def broken_assumptions(self, slack: Timing) -> tuple[int, ...]:
        return (8,) if self.delay_us + self.jitter_us > slack.tm_us else ()


class Slow(Delay, frozen=True, kw_only=True):
    """Slow targets: the delay counts as processing time (Tp), not as transmission time (Tm).

    If both ends of a link are slow, a request with its answer is delayed twice: see ``broken_together``.
    """

    def broken_assumptions(self, slack: Timing) -> tuple[int, ...]:
        slow_us = self.delay_us + self.jitter_us
        both = any((target, source) in self.links for source, target in self.links)
        return (9,) if slow_us * (1 + both) > slack.tp_us else ()


def broken_together(rule: Rule, rules: Iterable[Rule], slack: Timing) -> tuple[int, ...]:
    """Return the assumptions that a rule breaks among those in force; slow nodes count together."""
    is_slow = isinstance(rule, Slow) and _longest_slowness_us(rules) > slack.tp_us
    return (9,) if is_slow else rule.broken_assumptions(slack)


def _longest_slowness_us(rules: Iterable[Rule]) -> int:
    """Return by how much all rules together may slow a request with its answer, between any two nodes."""
    slow_us: dict[tuple[int, int], int] = {}
    for rule in rules:
        if isinstance(rule, Slow):
            for link in rule.links:
                slow_us[link] = slow_us.get(link, 0) + rule.delay_us + rule.jitter_us
    return max((us + slow_us.get((target, source), 0) for (source, target), us in slow_us.items()), default=0)


class Duplicate(Rule, frozen=True, kw_only=True):
    """Duplication with this probability.

    The copy arrives up to ``spread_us`` after the original, and others may overtake it; without a spread it
    arrives right after the original.
    """

    probability: float
    spread_us: int = 0

    def decide(self, transit: Transit, random: Random) -> bool:
        if random.random() >= self.probability:
            return False
        later_us = random.randint(1, self.spread_us) if self.spread_us else 0
        transit.copies_us = (*transit.copies_us, later_us)
        return True

    def broken_assumptions(self, slack: Timing) -> tuple[int, ...]:
        return (3,)


class Reorder(Rule, frozen=True, kw_only=True):
    """Reordering: with this probability a message takes up to ``spread_us`` longer, and others may overtake it."""

    probability: float
    spread_us: int

    def decide(self, transit: Transit, random: Random) -> bool:
        if random.random() >= self.probability:
            return False
        transit.delay_us += random.randint(1, self.spread_us)
        transit.in_order = False
        return True

    def broken_assumptions(self, slack: Timing) -> tuple[int, ...]:
        return (7, 8) if self.spread_us > slack.tm_us else (7,)


class Hold(Rule, frozen=True, kw_only=True):
    """Hold messages until the rule is lifted."""

    def decide(self, transit: Transit, random: Random) -> bool:
        transit.fate = "held"
        return True

    def broken_assumptions(self, slack: Timing) -> tuple[int, ...]:
        return (8,)
