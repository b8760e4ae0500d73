"""The field of sensors: what a coordinator is for (rules F1-F3 and M7; publishing, F4, is a file of its own).

A field of 64 regions is to be surveyed, again and again. The Definition gives each region to one member of the
group. Every Normal member surveys its regions in turn, and reports each reading to its coordinator:

    survey        a reading of the next region of one's own, and Reading to the coordinator, until it answers
    Reading       the coordinator joins it to what it knows; when all regions are in, the next survey begins
    report        all that a node knows goes to a new coordinator, with its answer to EnterElection or its Accept
    divide        which joins all that is reported, and gives every region to one of the members that there are

What a node knows is a ``Survey``, and two of those can be joined in any order, and twice. So a reading that is
reported again does no harm; nothing that a member or the old coordinator still knows is lost when the membership
changes; and when two groups merge, which have both surveyed the whole field, what both did is counted and dropped.

A node that is not Normal surveys nothing: ``surveying`` is None. A crash costs what the node had not reported.
The assumptions are the election's. Where a broken one makes two coordinators of one group, work is done twice,
and the next Definition that both report to counts it so.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Annotated, ClassVar

from msgspec import Meta, Struct
from msgspec.structs import replace

from lab.kernel import Payload, Request, on, procedure
from lab.protocols.definition import Definition
from lab.protocols.publishing import Publishing
from lab.protocols.survey import NOBODY, Made, Survey, join

__all__ = ["Field"]


class ReadingAnswer(Payload, frozen=True, omit_defaults=True):
    """The number of the survey that is going on here; to who knows of an earlier one, with all that I know."""

    number: int
    survey: Survey = Survey()


class Reading(Request[ReadingAnswer], frozen=True):
    """The regions that I surveyed in the survey with this number, and what I made in all."""

    number: int
    regions: tuple[int, ...]
    made: Made


class Known(Payload, frozen=True):
    """All that I know, to a coordinator that knows of an earlier survey only."""

    survey: Survey


class Field(Publishing):
    """A field of sensors, surveyed by the members of a group and published by a majority; above an election."""

    name: ClassVar[str] = "field"
    heartbeats: ClassVar[tuple[type[Payload], ...]] = (Reading, ReadingAnswer, Known)

    class Parameters(Struct, frozen=True):
        """The field, and how fast it is surveyed."""

        regions: Annotated[int, Meta(ge=1, le=1024)] = 64
        """How many regions the field has."""
        reading_every_us: int = 0
        """How long a reading takes; 0: T."""

    survey: Survey = Survey()
    surveying: int | None = None
    duplicates: int = 0
    first_reading_us: int | None = None

    @cached_property
    def _regions(self) -> int:
        return int(self.parameters.regions)

    @cached_property
    def _reading_us(self) -> int:
        return int(self.parameters.reading_every_us) or self.timing.t_us

    # what the election says

    def stop_processing(self) -> None:
        """M7."""
        super().stop_processing()
        self.stop(self.survey_regions)
        self.surveying = None

    def resume_processing(self, definition: Definition) -> None:
        """F2: go on with the regions that the new Definition gives this node."""
        super().resume_processing(definition)
        self._know(definition.survey)
        self.restart(self.survey_regions)

    def report(self, definition: Definition) -> Definition:
        """B10, F2: all that this node knows."""
        return replace(super().report(definition), survey=join((definition.survey, self.survey)))

    def divide(self, new: Definition, reports: Sequence[Definition]) -> Definition:
        """F2, F3: what anybody knows is known, and every region is given to one of the members."""
        survey = join(report.survey for report in reports)
        pending = survey.pending(self._regions)
        finished = [region for region in range(self._regions) if region not in pending]
        # what is left is shared out by itself, so that the new members finish this survey together
        given = {**_shared_out(finished, new.members), **_shared_out(pending, new.members)}
        regions = tuple(given[region] for region in range(self._regions))
        return replace(super().divide(new, reports), survey=survey, regions=regions)

    # the members

    @procedure
    async def survey_regions(self) -> None:
        """F1: one region after the other, and each reading to the coordinator, until that has it."""
        while True:
            self.surveying = self._next_region()
            await self.sleep(self._reading_us, "the reading")
            if self.surveying is not None:
                self._take(self.surveying)
            if not self._leads:
                await self._report_reading()

    def _next_region(self) -> int | None:
        regions = self._election.definition.regions
        mine = (region for region in self.survey.pending(self._regions) if regions[region] == self.id)
        return next(mine, None)

    def _take(self, region: int) -> None:
        if self.first_reading_us is None:
            self.first_reading_us = self.now_us
        count = self._made.readings + 1
        self._know(self._result(self.id, self.survey.number, (region,), replace(self._made, readings=count)))

    @property
    def _made(self) -> Made:
        first_us = self.first_reading_us or 0
        fresh = Made(self.id, first_us, 0)
        own = (made for made in self.survey.made if made.node == self.id and made.since_us == first_us)
        return next(own, fresh)

    async def _report_reading(self) -> None:
        coordinator = self._election.coordinator
        assert coordinator is not None
        mine = tuple(region for region, node in enumerate(self.survey.done) if node == self.id)
        reading = Reading(self.survey.number, mine, self._made)
        answer = await self.ask(coordinator, reading, within=self.timing.t_us)
        if answer is not None:
            self._know(answer.survey)
            if answer.number < self.survey.number:
                self.send(coordinator, Known(self.survey))

    # the coordinator

    @on(Reading)
    def reading(self, sender: int, message: Reading) -> ReadingAnswer | None:
        """F1. A result of a later survey says that those before are whole, of which nothing is known here."""
        if not self._leads:
            return None
        if message.number > self.survey.number:
            return ReadingAnswer(self.survey.number)
        self._know(self._result(sender, message.number, message.regions, message.made))
        news = self.survey if message.number < self.survey.number else Survey()
        return ReadingAnswer(self.survey.number, news)

    @on(Known)
    def known(self, sender: int, message: Known) -> None:
        """A node whose report was lost, when this group was formed, makes up for it."""
        if self._leads:
            self._know(message.survey)

    def _result(self, node: int, number: int, regions: Sequence[int], made: Made) -> Survey:
        done = tuple(node if region in regions else NOBODY for region in range(self._regions))
        return Survey(number, done, (made,))

    def _know(self, learnt: Survey) -> None:
        self.survey = join((self.survey, learnt))
        self.duplicates = self.survey.duplicates(self._regions)


def _shared_out(regions: Sequence[int], members: Sequence[int]) -> dict[int, int]:
    """Each region with the member that it is given to: blocks, as equal as can be."""
    return {region: members[place * len(members) // len(regions)] for place, region in enumerate(regions)}
