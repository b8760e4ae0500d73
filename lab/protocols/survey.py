"""What is known of the field: which regions are surveyed, and how many readings that took (rules F1-F3).

The field is surveyed again and again, and a *result* is a region in the survey with a number. What two nodes
know can be joined in any order, and as often as one likes, to what both know together: of the two surveys the
one with the higher number, for all before that were whole; of one survey, the results of both. So a report that
comes twice does no harm, and one that comes late does none either.

Readings are counted by whoever makes them, in each of its lives by itself, as a crash makes a node forget how far
it had counted. A node tells a count only together with the results. So whoever knows that a node made so many
readings has all results of them, and what goes beyond the number of results was done twice: a count joined by
taking the higher counts nothing twice, though it comes by several ways.
"""

from collections.abc import Iterable
from functools import reduce

from msgspec import Struct

__all__ = ["NOBODY", "Made", "Operation", "Survey", "join"]

NOBODY = -1


class Operation(Struct, frozen=True, array_like=True, order=True):
    """An attempt to publish this edition of the survey: that node's ``number``-th. Edition 0 is nothing."""

    edition: int = 0
    node: int = 0
    number: int = 0


class Made(Struct, frozen=True, array_like=True, order=True):
    """How many readings a node made in that life of it of which the first reading was at ``since_us``."""

    node: int
    since_us: int
    readings: int


class Survey(Struct, frozen=True, omit_defaults=True):
    """The surveys before ``number`` are whole; ``done`` has who surveyed each region in this one, or NOBODY.

    An empty ``done`` says NOBODY of all regions. A survey that is whole is written as the next one, not begun.
    """

    number: int = 1
    done: tuple[int, ...] = ()
    made: tuple[Made, ...] = ()

    def results(self, regions: int) -> int:
        """How many different results there are."""
        return (self.number - 1) * regions + sum(node != NOBODY for node in self.done)

    def readings(self) -> int:
        """How many readings were made for them."""
        return sum(each.readings for each in self.made)

    def duplicates(self, regions: int) -> int:
        """How many readings gave a result that was there already."""
        return self.readings() - self.results(regions)

    def pending(self, regions: int) -> tuple[int, ...]:
        """The regions that are still to be surveyed."""
        done = self.done or (NOBODY,) * regions
        return tuple(region for region, node in enumerate(done) if node == NOBODY)


def join(surveys: Iterable[Survey]) -> Survey:
    """What is known to those who know these: the order makes no difference."""
    return reduce(_joined, surveys, Survey())


def _joined(one: Survey, other: Survey) -> Survey:
    number = max(one.number, other.number)
    known = [survey.done for survey in (one, other) if survey.number == number and survey.done]
    done = tuple(max(nodes) for nodes in zip(*known, strict=True))
    if done and NOBODY not in done:
        number, done = number + 1, ()
    counts = {(each.node, each.since_us): each for each in sorted((*one.made, *other.made))}  # the highest stays
    return Survey(number, done, tuple(counts.values()))
