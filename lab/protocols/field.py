"""The field of sensors: a task for a coordinator (rules F1-F3 and M7; publishing, F4, is in publishing.py).

A field of 64 regions is surveyed repeatedly. The Definition assigns each region to one member of the group. Every
Normal member surveys its regions in turn and reports each reading to its coordinator:

    survey        take a reading of the next own region; send Reading to the coordinator until it answers
    Reading       the coordinator joins it to its knowledge; once all regions are done, the next survey begins
    report        a node sends all its knowledge to a new coordinator, in its answer to EnterElection or its Accept
    divide        the new coordinator joins all reports and assigns every region to one of the members

The knowledge of a node is a ``Survey``. Surveys can be joined in any order, and repeatedly. So a reading that is
reported twice does no harm; a change of membership loses nothing that a member or the old coordinator still knows;
and when two groups merge that have both surveyed the whole field, duplicates are counted and dropped.

A node that is not Normal surveys nothing: ``surveying`` is None. A crash loses what the node had not reported. The
assumptions are those of the election. If a broken assumption leads to two coordinators of one group, work is done
twice; the next Definition to which both report counts the duplicates.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Annotated, ClassVar

from msgspec import Meta, Struct
from msgspec.structs import replace

from lab.kernel import Payload, Request, on, procedure
from lab.protocols.definition import Definition
from lab.protocols.publishing import Publishing
from lab.protocols.survey import NOBODY, ReadingCount, Survey, join

__all__ = ["Field"]


class ReadingAnswer(Payload, frozen=True, omit_defaults=True):
    """The number of my current survey; to a node with an earlier number, also all that I know."""

    number: int
    survey: Survey = Survey()


class Reading(Request[ReadingAnswer], frozen=True, omit_defaults=True):
    """The regions that I surveyed in the survey with this number, and the count of my readings.

    ``earlier`` are those before my crashes, which others have told me: without them a coordinator that has crashed
    meanwhile would know of more results than readings.
    """

    number: int
    regions: tuple[int, ...]
    made: ReadingCount
    earlier: tuple[ReadingCount, ...] = ()


class Known(Payload, frozen=True):
    """All that I know, for a coordinator that knows only an earlier survey."""

    survey: Survey


class Field(Publishing):
    """A field of sensors, surveyed by the members of a group and published by a majority; above an election."""

    name: ClassVar[str] = "field"
    promises: ClassVar[tuple[str, ...]] = (*Publishing.promises, "surveys", "shares", "joins", "counts")
    workload: ClassVar[tuple[str, ...]] = ("publish",)
    heartbeats: ClassVar[tuple[type[Payload], ...]] = (Reading, ReadingAnswer, Known)
    extension: ClassVar[str | type] = "lab.tasks.field_view:FieldExtension"

    class Parameters(Struct, frozen=True):
        """The field, and how fast it is surveyed."""

        regions: Annotated[int, Meta(ge=1, le=1024)] = 64
        """Number of regions."""
        reading_every_us: int = 0
        """Duration of a reading; 0: T."""

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

    # calls from the election

    def stop_processing(self) -> None:
        """Stop surveying (rule M7)."""
        super().stop_processing()
        self.stop(self.survey_regions)
        self.surveying = None

    def resume_processing(self, definition: Definition) -> None:
        """Survey the regions that the new Definition assigns to this node (rule F2)."""
        super().resume_processing(definition)
        self._merge(definition.survey)
        self.restart(self.survey_regions)

    def report(self, definition: Definition) -> Definition:
        """Add all that this node knows (rules B10, F2)."""
        return replace(super().report(definition), survey=join((definition.survey, self.survey)))

    def divide(self, new: Definition, reports: Sequence[Definition]) -> Definition:
        """Join all reports, and assign every region to one of the members (rules F2, F3)."""
        survey = join(report.survey for report in reports)
        pending = survey.pending(self._regions)
        finished = [region for region in range(self._regions) if region not in pending]
        # pending regions are shared out separately, so that all members help to finish this survey
        assigned = {**_share_out(finished, new.members), **_share_out(pending, new.members)}
        regions = tuple(assigned[region] for region in range(self._regions))
        return replace(super().divide(new, reports), survey=survey, regions=regions)

    # the members

    @procedure
    async def survey_regions(self) -> None:
        """Survey one region after the other; report each reading until the coordinator has it (rule F1)."""
        while True:
            self.surveying = self._next_region()
            await self.sleep(self._reading_us, "the reading")
            if self.surveying is not None:
                self._add_reading(self.surveying)
            if not self._leads:
                await self._report_reading()

    def _next_region(self) -> int | None:
        regions = self._election.definition.regions
        mine = (region for region in self.survey.pending(self._regions) if regions[region] == self.id)
        return next(mine, None)

    def _add_reading(self, region: int) -> None:
        if self.first_reading_us is None:
            self.first_reading_us = self.now_us
        count = self._own_count.readings + 1
        made = replace(self._own_count, readings=count)
        self._merge(self._result(self.id, self.survey.number, (region,), (made,)))

    @property
    def _own_count(self) -> ReadingCount:
        first_us = self.first_reading_us or 0
        fresh = ReadingCount(self.id, first_us, 0)
        own = (made for made in self.survey.made if made.node == self.id and made.since_us == first_us)
        return next(own, fresh)

    async def _report_reading(self) -> None:
        coordinator = self._election.coordinator
        assert coordinator is not None
        mine = tuple(region for region, node in enumerate(self.survey.done) if node == self.id)
        made = self._own_count
        earlier = (each for each in self.survey.made if each.node == self.id and each.since_us != made.since_us)
        reading = Reading(self.survey.number, mine, made, tuple(earlier))
        answer = await self.ask(coordinator, reading, within=self.timing.t_us)
        if answer is not None:
            self._merge(answer.survey)
            if answer.number < self.survey.number:
                self.send(coordinator, Known(self.survey))

    # the coordinator

    @on(Reading)
    def on_reading(self, sender: int, message: Reading) -> ReadingAnswer | None:
        """Join the reading (rule F1). A later number means that surveys are complete that are unknown here."""
        if not self._leads:
            return None
        if message.number > self.survey.number:
            return ReadingAnswer(self.survey.number)
        made = (message.made, *message.earlier)
        self._merge(self._result(sender, message.number, message.regions, made))
        news = self.survey if message.number < self.survey.number else Survey()
        return ReadingAnswer(self.survey.number, news)

    @on(Known)
    def on_known(self, sender: int, message: Known) -> None:
        """Join the knowledge of a node whose report was lost when this group was formed."""
        if self._leads:
            self._merge(message.survey)

    def _result(self, node: int, number: int, regions: Sequence[int], made: tuple[ReadingCount, ...]) -> Survey:
        done = tuple(node if region in regions else NOBODY for region in range(self._regions))
        return Survey(number, done, made)

    def _merge(self, learnt: Survey) -> None:
        self.survey = join((self.survey, learnt))
        self.duplicates = self.survey.duplicates(self._regions)


def _share_out(regions: Sequence[int], members: Sequence[int]) -> dict[int, int]:
    """Assign the regions to the members in contiguous blocks of nearly equal size."""
    return {region: members[place * len(members) // len(regions)] for place, region in enumerate(regions)}
