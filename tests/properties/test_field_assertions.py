"""The assertions of the field, surveys, shares, joins, counts and editions: each holds, and is broken."""

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from lab.kernel import Fired, Step, procedure
from lab.properties.assertions import EDITIONS, JOINS
from lab.properties.declarations import LeadsTo
from lab.properties.verdicts import Verdict
from lab.protocols import Definition, Election, Field, InvitationElection, Ring, stacked
from lab.protocols.publishing import Publishing
from lab.protocols.survey import Survey
from lab.recording.records import Record
from tests.explored.toys import TIMING
from tests.harness import T_US, Rig
from tests.properties.recorded import WITHIN_US, Records, judged, summaries
from tests.recording.test_mutations import ODD

NODES = (1, 2, 3)
PROMISES = ("surveys", "shares", "joins", "counts", "editions")


class SurveysAnything(Field):
    """F1: a node surveys regions that others survey, too."""

    def _next_region(self) -> int | None:
        return next(iter(self.survey.pending(self._regions)), None)


class SurveysOn(Field):
    """F1, M7: a node that enters an election goes on with its region."""

    def stop_processing(self) -> None:
        Publishing.stop_processing(self)


class SharesWithAll(Field):
    """F2: regions are given to nodes that are no members of the group."""

    def divide(self, new: Definition, reports: Sequence[Definition]) -> Definition:
        divided = super().divide(replace(new, members=(self.id, *self.peers)), reports)
        return replace(divided, members=new.members)


class ReportsNothing(Field):
    """F3: a member keeps its readings to itself."""

    async def _report_reading(self) -> None:
        pass


class CountsTwice(Field):
    """F3: a reading counts as two."""

    def _add_reading(self, region: int) -> None:
        super()._add_reading(region)
        own = self._own_count
        more = replace(own, readings=own.readings + 1)
        self._merge(self._result(self.id, self.survey.number, (), (more,)))


class CountsNothing(Field):
    """F3: the readings of a node are not counted, once there is one."""

    def _add_reading(self, region: int) -> None:
        made = self._own_count
        super()._add_reading(region)
        others = tuple(each for each in self.survey.made if each.node != self.id)
        self.survey = replace(self.survey, made=(*others, replace(made, readings=1)))
        self.duplicates = self.survey.duplicates(self._regions)


class ShowsNoDuplicates(Field):
    """F3: what is done twice is not said."""

    def _merge(self, learnt: Survey) -> None:
        super()._merge(learnt)
        self.duplicates = 0


class StaysPledged(Field):
    """F4: a member that has voted does not ask for the decision."""

    @procedure
    async def inquire(self) -> None:
        pass


_LASTS_US = 45_000_000


def _rig(field: type[Field], election: type[Election] = InvitationElection) -> Rig:
    """Return the start of a run in which one node is away for a while, and two editions are published."""
    rig = Rig(NODES, protocol=stacked(field, election)).started()
    rig.run_until_agreed()
    rig.do("publish")
    # the first coordinator of an operation dies once it has the votes
    rig.do("at 5s publish", "at 5s on deliver Vote 1->3 kill 3", "at 12s restart 3", "at 30s publish")
    return rig


def _verdicts(records: Sequence[Record]) -> dict[str, Verdict]:
    return {str(each.assertion): each for each in judged(list(records)).verdicts()}


def _verdict(records: Sequence[Record], name: str) -> Verdict:
    return _verdicts(records)[name]


@pytest.mark.parametrize("election", [InvitationElection, Ring])
def test_they_hold(election: type[Election]) -> None:
    """Over an election of groups and one of all, each judged by something."""
    verdicts = _verdicts(_rig(Field, election).run(_LASTS_US).records)
    nouns = {"surveys": "state", "shares": "state", "joins": "result", "counts": "reading", "editions": "edition"}
    for name, noun in nouns.items():
        found = verdicts[name]
        assert (found.word, found.evidence.noun) == ("holds", noun)
        assert found.evidence.count > 3


@pytest.mark.parametrize(
    ("mutant", "assertion", "text"),
    [
        (SurveysAnything, "surveys", ", which its Definition does not give it"),
        (SurveysOn, "surveys", " in Election"),
        (SharesWithAll, "shares", ", which is no member"),
        (ReportsNothing, "joins", "2 does not know region "),
        (CountsTwice, "counts", "1 counts 2 readings of its own after 0"),
        (CountsNothing, "counts", " knows 1 results more than readings"),
        (ShowsNoDuplicates, "counts", " counts 0 duplicates of "),
        (StaysPledged, "editions", " is still pledged to operation 2 of 3 for edition 2, since "),
    ],
)
def test_they_are_violated(mutant: type[Field], assertion: str, text: str) -> None:
    """Sooner or later: most of them early."""
    rig, first = _rig(mutant), None
    while first is None and rig.now_us < _LASTS_US:
        first = _verdict(rig.run(_LASTS_US // 5).records, assertion).first
    assert first is not None
    assert first.is_failure
    assert text in first.text


def _sets(records: Records, node: int, **changed: Any) -> Records:
    records.add(Step(records.at_us, node, 1, Fired("timer"), changed))
    return records


def wrong_field() -> Records:
    """Return records in which each of the five is violated once."""
    records = Records(promises=PROMISES)
    defined = {"version": 1, "coordinator": 3, "members": [1, 3], "regions": [1, 2]}
    _sets(records, 1, status="Normal", coordinator=3, definition=defined, surveying=1)
    _sets(records, 3, status="Normal", coordinator=3, published=[1, 3, 1])
    _sets(records, 1, survey={"done": [1, -1], "made": [[1, 0, 2]]}, first_reading_us=0).after(99 * WITHIN_US)
    return records.fires(2)


def test_each_is_violated_in_records_by_hand() -> None:
    """Node 1 surveys what is 2's, which is no member; and nobody gets to know what 1 and 3 do."""
    assert sorted({each.text.partition(", since")[0] for each in wrong_field().violations}) == [
        "1 counts 2 readings of its own after 0",
        "1 does not know edition 1",
        "1 surveys region 1, which its Definition does not give it",
        "2 does not know edition 1",
        "3 does not know region 0 of survey 1, as 1 does",
        "the Definition of 1 gives a region to 2, which is no member",
    ]


def test_an_edition_is_owed_to_all() -> None:
    """Once all are up: who lacks the newest edition is named."""
    records = Records(promises=("editions",))
    _sets(records, 1, published=[2, 1, 1])
    _sets(records, 2, published=[1, 1, 1])
    _sets(records, 3, published=[2, 1, 1]).after(9 * WITHIN_US)
    found = _sets(records, 1, published=[2, 1, 1]).fires(1)
    assert summaries(found.violations) == [("editions", (2,), [])]


def test_the_bounds() -> None:
    """By T for a reading without the parameter, or with a value that only a recording can have."""
    assert isinstance(JOINS, LeadsTo)
    rest_us = 2 * (TIMING.t_us + 2 * TIMING.tp_us)
    assert JOINS.within_us(TIMING, {"reading_every_us": 5 * T_US}, 7) == 7 + 10 * T_US + rest_us
    for odd in ({}, {"reading_every_us": 0}, {"reading_every_us": "1s"}):
        assert JOINS.within_us(TIMING, odd, 7) == 7 + 2 * TIMING.t_us + rest_us
    assert isinstance(EDITIONS, LeadsTo)
    assert EDITIONS.within_us(TIMING, {}, 7) == 7 + 20 * TIMING.t_us


def test_a_recording_may_hold_any_value() -> None:
    """Nothing is raised, and what is no list of regions gives nobody a region."""
    for odd in ODD:
        records = Records(promises=PROMISES)
        records.enters(1, "Normal", 1, {"version": 1, "regions": odd, "members": odd})
        _sets(records, 1, surveying=odd, survey=odd, published=odd, pledge=odd)
        _sets(
            records, 1, survey={"number": odd, "done": odd, "made": odd}, published=[odd], pledge=[odd, odd, odd]
        )
        _sets(records, 1, survey={"made": [odd, [odd, 0, 1], [1, odd, odd]]})
        assert {each.assertion for each in judged(records.records).violations} <= {"surveys", "shares", "counts"}
