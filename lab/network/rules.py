"""Faults of links, as rules. Each may decide a message's fate, and says whether it touched it."""

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
    "Travel",
    "links_among",
]

Links = frozenset[tuple[int, int]]
"""Directed links: (source, target)."""


def links_among(sources: frozenset[int], targets: frozenset[int]) -> Links:
    """Every directed link from one of ``sources`` to another one of ``targets``."""
    return frozenset((a, b) for a in sources for b in targets if a != b)


class Travel(Struct):
    """What the rules so far have decided of one message; times in microseconds."""

    delay_us: int = 0
    copies: int = 1
    in_order: bool = True
    fate: Literal["", "dropped", "held"] = ""
    why: str = ""


class Rule(Struct, frozen=True, kw_only=True):
    """A fault on some links. ``kinds``: only messages of these kinds; empty: all. Probabilities from 0 to 1.

    ``broken(spare)`` are the numbers of the assumptions that do not hold while the rule is in force.
    """

    links: Links
    kinds: frozenset[str] = frozenset()

    def applies(self, message: Message) -> bool:
        """Whether the rule looks at this message at all."""
        return (message.source, message.target) in self.links and (not self.kinds or message.kind in self.kinds)

    def decide(self, travel: Travel, chance: Random) -> bool:
        """Change ``travel``; whether this touched the message."""
        raise NotImplementedError

    def broken(self, spare: Timing) -> tuple[int, ...]:
        """The assumptions that the rule breaks, where no more than that is left of the bounds."""
        raise NotImplementedError


class Cut(Rule, frozen=True, kw_only=True):
    """Nothing passes; nor does what would arrive while the cut is in force."""

    def decide(self, travel: Travel, chance: Random) -> bool:
        travel.fate, travel.why = "dropped", "cut"
        return True

    def broken(self, spare: Timing) -> tuple[int, ...]:
        return (8,)


class Lose(Rule, frozen=True, kw_only=True):
    """A message is lost with this probability."""

    probability: float

    def decide(self, travel: Travel, chance: Random) -> bool:
        if chance.random() >= self.probability:
            return False
        travel.fate, travel.why = "dropped", "lost"
        return True

    def broken(self, spare: Timing) -> tuple[int, ...]:
        return (8,)


class Delay(Rule, frozen=True, kw_only=True):
    """A message takes ``delay_us`` longer, give or take up to ``jitter_us``."""

    delay_us: int
    jitter_us: int = 0

    def decide(self, travel: Travel, chance: Random) -> bool:
        jitter_us = chance.randint(-self.jitter_us, self.jitter_us) if self.jitter_us else 0
        travel.delay_us += max(0, self.delay_us + jitter_us)
        return True

    def broken(self, spare: Timing) -> tuple[int, ...]:
        return (8,) if self.delay_us + self.jitter_us > spare.tm_us else ()


class Slow(Delay, frozen=True, kw_only=True):
    """The targets take so much longer over what they get: their slowness, and not the way there.

    Where both ends of a link are slow, each takes its time over one half of a request and its answer.
    """

    def broken(self, spare: Timing) -> tuple[int, ...]:
        slow_us = self.delay_us + self.jitter_us
        both = any((target, source) in self.links for source, target in self.links)
        return (9,) if slow_us * (1 + both) > spare.tp_us else ()


class Duplicate(Rule, frozen=True, kw_only=True):
    """A message arrives twice with this probability."""

    probability: float

    def decide(self, travel: Travel, chance: Random) -> bool:
        if chance.random() >= self.probability:
            return False
        travel.copies += 1
        return True

    def broken(self, spare: Timing) -> tuple[int, ...]:
        return (3,)


class Reorder(Rule, frozen=True, kw_only=True):
    """With this probability a message takes up to ``spread_us`` longer, and others may overtake it."""

    probability: float
    spread_us: int

    def decide(self, travel: Travel, chance: Random) -> bool:
        if chance.random() >= self.probability:
            return False
        travel.delay_us += chance.randint(1, self.spread_us)
        travel.in_order = False
        return True

    def broken(self, spare: Timing) -> tuple[int, ...]:
        return (7, 8) if self.spread_us > spare.tm_us else (7,)


class Hold(Rule, frozen=True, kw_only=True):
    """A message waits until the rule is lifted."""

    def decide(self, travel: Travel, chance: Random) -> bool:
        travel.fate = "held"
        return True

    def broken(self, spare: Timing) -> tuple[int, ...]:
        return (8,)
