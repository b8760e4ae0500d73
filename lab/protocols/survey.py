"""Knowledge of the field: which regions are surveyed, and how many readings were made (rules F1-F3).

The field is surveyed repeatedly; a *result* is a region in the survey with a given number. The knowledge of nodes
forms a join-semilattice: join is commutative, associative and idempotent. Of two surveys with different numbers
the higher one wins, since all earlier surveys were complete; for the same number the results are united. So
duplicated and late reports do no harm.

Each node counts its own readings, separately for each incarnation, because a crash loses the count. A count is
only sent together with the results. So a node that knows a count also knows the results of those readings, and the
readings in excess of the number of results are duplicates. Joined counts take the maximum, so a count that arrives
by several routes is not added twice.
"""

from collections.abc import Iterable
from functools import reduce

from msgspec import Struct

__all__ = ["NOBODY", "PublishOperation", "ReadingCount", "Survey", "join"]

NOBODY = -1


class PublishOperation(Struct, frozen=True, array_like=True, order=True):
    """The ``number``-th attempt of ``node`` to publish this edition of the survey. Edition 0 stands for none."""

    edition: int = 0
    node: int = 0
    number: int = 0


class ReadingCount(Struct, frozen=True, array_like=True, order=True):
    """The number of readings of one incarnation of a node, whose first reading was at ``since_us``."""

    node: int
    since_us: int
    readings: int


class Survey(Struct, frozen=True, omit_defaults=True):
    """Knowledge of the surveys: those before ``number`` are complete.

    ``done`` holds the node that surveyed each region in this survey, or NOBODY; empty: NOBODY for all regions. A
    complete survey is represented as the next one with an empty ``done``.
    """

    number: int = 1
    done: tuple[int, ...] = ()
    made: tuple[ReadingCount, ...] = ()

    def results(self, regions: int) -> int:
        """Return the number of distinct results."""
        return (self.number - 1) * regions + sum(node != NOBODY for node in self.done)

    def readings(self) -> int:
        """Return the number of readings made."""
        return sum(each.readings for each in self.made)

    def duplicates(self, regions: int) -> int:
        """Return the number of readings in excess of the results."""
        return self.readings() - self.results(regions)

    def pending(self, regions: int) -> tuple[int, ...]:
        """Return the regions not yet surveyed."""
        done = self.done or (NOBODY,) * regions
        return tuple(region for region, node in enumerate(done) if node == NOBODY)


def join(surveys: Iterable[Survey]) -> Survey:
    """Return the join of the surveys; the order makes no difference."""
    return reduce(_join_two, surveys, Survey())


def _join_two(one: Survey, other: Survey) -> Survey:
    number = max(one.number, other.number)
    known = [survey.done for survey in (one, other) if survey.number == number and survey.done]
    done = tuple(max(nodes) for nodes in zip(*known, strict=True))
    if done and NOBODY not in done:
        number, done = number + 1, ()
    counts = {
        (each.node, each.since_us): each for each in sorted((*one.made, *other.made))
    }  # the highest count wins
    return Survey(number, done, tuple(counts.values()))
