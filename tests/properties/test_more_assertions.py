"""The assertions M7, stages, B10, newer, notices, spreads, defined, highest, K2, idle, leaves, solvent.

Each holds, and is broken.

And the judge itself: an assertion whose function is replaced by one that always holds finds less.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from lab.kernel import CommandInput, Fired, Step, on, periodic
from lab.properties import GlobalState, Outcome, eventually, invariant, registry
from lab.properties.assertions import (
    ASSERTIONS,
    ASSUMPTIONS,
    BUILT_IN,
    K2,
    LEAVES,
    M7,
    NOTICES,
    SPREADS,
    no_failure_yet,
)
from lab.properties.declarations import Agreement, Assertion, Eventually, LeadsTo
from lab.properties.registry import RunProperties, register, with_promises
from lab.properties.verdicts import Verdict
from lab.protocols import (
    Algorithm,
    Bully,
    BullyTanenbaum,
    Definition,
    InvitationElection,
    Ring,
    Status,
    Token,
    TwoPhaseCommit,
)
from lab.protocols.bully import AreYouNormal, EnterElectionAnswer, SetCoordinator, SetCoordinatorAnswer
from lab.protocols.ring import COORDINATOR
from lab.protocols.token import TokenStatus
from lab.protocols.transaction import Change, Operation, Transaction, Work
from lab.recording.reader import open_recording
from lab.recording.records import Injected, Record
from lab.worlds.explored.explorer import Explorer
from lab.worlds.explored.state_judge import Obligation
from lab.worlds.explored.states import KILLS, Timeouts
from tests.campaign.ring_mutants import NobodyNotices
from tests.campaign.token_mutants import GuessKept, KeptWhenPassed, NextForgotten
from tests.campaign.trials import caught
from tests.explored.toys import TIMING, explorer_of, header_of
from tests.harness import T_US, TM_US, Rig, simulated_header
from tests.profile import amount, sampled
from tests.properties.recorded import WITHIN_US, Records, judged, summaries
from tests.properties.test_commit_assertions import ABORTED, COMMITTED, OPEN, Ledger
from tests.properties.test_field_assertions import wrong_field
from tests.recording.test_mutations import ODD

ELECTIONS: list[type[Algorithm]] = [Bully, BullyTanenbaum, Ring, InvitationElection]
RECORDINGS = Path(__file__).parents[2] / "recordings"


def _verdict(records: list[Any], name: str) -> Verdict:
    return next(each for each in judged(records).verdicts() if each.assertion == name)


# M7


class NeverStops(Bully):
    """M7: a node that was Normal performs its task in every status."""

    def stop_processing(self) -> None:
        pass


class NeverResumes(Bully):
    """M7: a node that is Normal does not perform its task."""

    def resume_processing(self) -> None:
        pass


@pytest.mark.parametrize("protocol", ELECTIONS)
def test_M7_holds(protocol: type[Algorithm]) -> None:
    """Through a crash and a restart; before a node is Normal, there is nothing to judge."""
    rig = Rig([1, 2, 3], protocol=protocol).started()
    is_normal = any(node.status == "Normal" for node in rig.cluster.nodes.values())
    assert _verdict(rig.records, "M7").word == ("holds" if is_normal else "not judged")
    rig.run_until_agreed()
    rig.do("kill 3")
    rig.run(60 * T_US)
    rig.do("restart 3")
    rig.run(60 * T_US)
    found = _verdict(rig.records, "M7")
    assert (found.word, found.evidence.noun) == ("holds", "state")
    assert found.evidence.count > 3


def test_M7_a_node_works_in_an_election() -> None:
    """Its witness names the node and its status; a campaign and an exploration find it, too."""
    rig = Rig([1, 2, 3], protocol=NeverStops).started()
    rig.run_until_agreed()
    rig.do("kill 3")
    rig.run_until_agreed()
    first = _verdict(rig.records, "M7").first
    assert first is not None
    assert (first.nodes, first.text) == ((2,), "2 performs a task in Election")
    assert first.states[0].text.startswith("Election")
    found = caught(NeverStops, 1)
    assert found is not None
    assert found.assertion == "M7"
    explorer = explorer_of(NeverStops, 2, "synchronous", 1, 1, settled=True)
    explorer.run(2_000)
    assert explorer.violated[0] == "M7"


def test_M7_a_node_is_idle_in_normal() -> None:
    """The first that is Normal shows it."""
    rig = Rig([1, 2, 3], protocol=NeverResumes).started()
    rig.run_until_agreed()
    first = _verdict(rig.records, "M7").first
    assert first is not None
    assert first.text.endswith(" is idle in Normal")
    found = caught(NeverResumes, 1)
    assert found is not None
    assert found.assertion == "M7"


def _works(records: Records, node: int, status: str, processing: object = True) -> Records:
    changed = {"status": status, "processing": processing}
    records.add(Step(records.at_us, node, 1, Fired("timer"), changed))
    return records


def test_M7_is_about_processing_alone() -> None:
    """The field may change without any other; odd values of a foreign recording are no work."""
    records = Records(promises=("M7",)).enters(1, "Election", 1)
    assert summaries(_works(records, 1, "Election").violations) == [("M7", (1,), [])]
    assert judged(records.records).violations[0].states[0].record == len(records.records) - 1
    for odd in ODD:
        if odd is not True:
            assert not _works(Records(promises=("M7",)), 1, "Election", odd).violations


def test_M7_relies_on_nothing() -> None:
    """Neither a pause nor a wipe excuses it; only a forged message does."""
    assert M7.relies_on == ()
    for event in ("paused", "wiped"):
        records = Records(promises=("M7",)).process(2, event)
        assert summaries(_works(records, 1, "Election").violations) == [("M7", (1,), [])]
    records = Records(promises=("M7",))
    serial = records.sends(2, 1)
    sent = records.records.pop()
    assert isinstance(sent, Step)
    records.add(Injected(0, replace(sent.sent[0], serial=-serial))).gets(1, 2, -serial)
    assert summaries(_works(records, 1, "Election").violations) == [("M7", (1,), [3])]


# B10


class VersionForgotten(Bully):
    """B10: the version is in memory; a coordinator that was down knows none."""

    version: int = 0


class AlwaysTheFirst(Bully):
    """B10: every Definition has version 1."""

    def define(self, version: int, members: Iterable[int], reports: Iterable[Definition]) -> Definition:
        return super().define(1, members, reports)


def _adopts(records: Records, node: int, version: int, members: object = ()) -> Records:
    return records.enters(node, "Normal", 3, {"version": version, "members": members})


def test_B10_holds() -> None:
    """All nodes go down and come back; each of them adopts newer and newer definitions."""
    rig = Rig([1, 2, 3], protocol=Bully).started()
    rig.run_until_agreed()
    rig.do("kill all", "at 5s restart all")
    rig.run(20_000_000)
    found = _verdict(rig.records, "B10")
    assert (found.word, found.evidence.text) == ("holds", "6 definitions adopted")


@pytest.mark.parametrize(("mutant", "seed"), [(VersionForgotten, 50), (AlwaysTheFirst, 1)])
def test_B10_an_old_definition(mutant: type[Bully], seed: int) -> None:
    """The witness has both states; a campaign and an exploration find it, too."""
    rig = Rig([1, 2, 3], protocol=mutant).started()
    rig.run_until_agreed()
    rig.do("kill all", "at 5s restart all")
    rig.run(20_000_000)
    first = _verdict(rig.records, "B10").first
    assert first is not None
    assert first.is_failure
    assert first.text.endswith("adopts another definition of version 1 after one of version 1")
    found = caught(mutant, 10, first=seed, find="B10")
    assert found is not None
    explorer = explorer_of(mutant, 2, "synchronous", 2, 2, settled=True)
    explorer.run(amount(quick=1_000, soak=20_000))
    assert "B10" in explorer.violated


def test_B10_is_about_each_node() -> None:
    """A newer version, or the same definition once more, is right; what another node adopts does not matter."""
    records = _adopts(Records(promises=("B10",)), 1, 4)
    assert not _adopts(_adopts(records, 1, 6), 2, 5).violations
    records.add(Step(records.at_us, 1, 1, Fired("timer"), {"status": "Election"}))
    records.add(Step(records.at_us, 1, 1, Fired("timer"), {"status": "Normal"}))
    assert not records.violations
    assert summaries(_adopts(records, 1, 6, [1]).violations) == [("B10", (1,), [])]
    assert summaries(_adopts(records, 1, 5).violations) == 2 * [("B10", (1,), [])]
    for odd in ODD:
        _adopts(_adopts(Records(promises=("B10",)), 1, 4), 1, odd, odd).violations  # noqa: B018 - nothing is raised


def test_B10_is_excused_by_a_wipe() -> None:
    """Versions begin again, at any later time; a pause while they do excuses it as well."""
    records = _adopts(Records(promises=("B10",)), 1, 4).process(1, "wiped").after(9 * WITHIN_US)
    assert summaries(_adopts(records, 1, 1).violations) == [("B10", (1,), [4])]


# newer


class AlwaysTheFirstOfRing(Ring):
    """Every Definition has version 1."""

    def define(self, version: int, members: Iterable[int], reports: Iterable[Definition]) -> Definition:
        return super().define(1, members, reports)


def test_newer_holds() -> None:
    """A node that has crashed may adopt any version; those that stay up adopt newer ones."""
    rig = Rig([1, 2, 3], protocol=Ring).started()
    rig.run_until_agreed()
    rig.do("kill 3", "at 5s restart 3")
    rig.run(20_000_000)
    found = _verdict(rig.records, "newer")
    assert found.word == "holds"
    assert found.evidence.count > 5


def test_newer_an_old_definition() -> None:
    """A campaign finds it as well."""
    rig = Rig([1, 2, 3], protocol=AlwaysTheFirstOfRing).started()
    rig.run_until_agreed()
    rig.do("kill 3", "at 5s restart 3")
    rig.run(20_000_000)
    first = _verdict(rig.records, "newer").first
    assert first is not None
    assert first.is_failure
    assert first.text.endswith("adopts another definition of version 1 after one of version 1")
    assert caught(AlwaysTheFirstOfRing, 10, find="newer") is not None


def test_newer_begins_anew_after_a_crash() -> None:
    """What a node adopted before it crashed does not count; what it adopted since does."""
    records = _adopts(Records(promises=("newer",)), 1, 4)
    records.enters(1, "Election", 3, {"version": 0})
    assert not _adopts(records, 1, 2).violations
    assert summaries(_adopts(records, 1, 2, [1]).violations) == [("newer", (1,), [])]


# notices


class AsksLate(BullyTanenbaum):
    """T1 too late: a participant waits longer for the answer of its coordinator than it needs."""

    @periodic(BullyTanenbaum._question_due_us)
    async def ask_coordinator(self) -> None:
        if self.status is Status.NORMAL:
            await self.sleep(2 * self.t_us, "nothing")
        await super().ask_coordinator()


@pytest.mark.parametrize("protocol", [Ring, BullyTanenbaum])
def test_notices_holds(protocol: type[Algorithm]) -> None:
    """Each time the coordinator crashes, at any moment of its members' questions."""
    rig = Rig([1, 2, 3, 4], protocol=protocol).started()
    rig.run_until_agreed()
    rig.do("at 5030ms kill 4", "at 10110ms kill 3", "at 15s restart 4", "at 20190ms kill 4")
    rig.run(25_000_000)
    found = _verdict(rig.records, "notices")
    assert found.word == "holds"
    assert found.evidence.count >= 3


@pytest.mark.parametrize("at_us", range(600_000, 1_100_000, 100_000))
def test_notices_holds_while_a_ring_passes_on_messages(at_us: int) -> None:
    """Six nodes have started at once, and messages take nearly Tm: a member asks once it has passed on all."""
    rig = Rig(range(1, 7), protocol=Ring, latency_us=TM_US - 3_000, jitter_us=3_000).started().run(at_us)
    rig.kill(6)
    rig.run(30 * T_US)
    assert rig.agreed() == 5
    assert _verdict(rig.records, "notices").word in ("holds", "not judged")


def test_notices_too_late() -> None:
    """A campaign finds it if nobody asks at all."""
    rig = Rig([1, 2, 3], protocol=AsksLate).started()
    rig.run(3_000_000)
    rig.do("at 5s kill 3")
    rig.run(10_000_000)
    first = _verdict(rig.records, "notices").first
    assert first is not None
    assert first.is_failure
    assert "follows 3, which has crashed, since " in first.text
    assert caught(NobodyNotices, 10, find="notices") is not None


def test_notices_is_bounded_by_the_parameter() -> None:
    """By T for the question, without it or with a value that only a recording can have; and T for the answer."""
    assert isinstance(NOTICES, LeadsTo)
    rest_us = TIMING.t_us + 2 * TIMING.tp_us
    assert NOTICES.within_us(TIMING, {"ask_every_us": 5 * T_US}, 1) == 5 * T_US + rest_us
    for odd in ({}, {"ask_every_us": 0}, {"ask_every_us": "1s"}):
        assert NOTICES.within_us(TIMING, odd, 1) == TIMING.t_us + rest_us


def test_notices_is_about_crashes() -> None:
    """Not about a coordinator that is up, or that is no node of the run."""
    for coordinator, violated in ((3, True), (2, False), (7, False)):
        records = Records(promises=("notices",))
        records.enters(1, "Normal", coordinator, {"version": 1}).process(3, "killed")
        found = records.after(9 * WITHIN_US).fires(2).violations
        assert [each.assertion for each in found] == (["notices"] if violated else [])


# spreads


class KeepsTheFirst(Ring):
    """A member learns nothing from its coordinator once it is Normal."""

    def is_news(self, definition: Definition) -> bool:
        return self.status is Status.REORGANIZATION


@pytest.mark.parametrize("protocol", ELECTIONS)
def test_spreads_holds(protocol: type[Algorithm]) -> None:
    rig = Rig([1, 2, 3, 4], protocol=protocol).started()
    rig.do("at 5s kill 4", "at 10s restart 4")
    rig.run(30_000_000)
    found = _verdict(rig.records, "spreads")
    assert (found.word, found.evidence.noun) == ("holds", "time")


class RemovesNobody(BullyTanenbaum):
    """A coordinator does not notice that a member has crashed."""

    @periodic(BullyTanenbaum._check_due_us)
    async def check(self) -> None:
        pass


class MissesNobody(Bully):
    """B3: a coordinator does not elect when a node of Up stays silent."""

    @periodic(Bully._check_due_us)
    async def check(self) -> None:
        replies = await self.ask_all(self.peers, AreYouNormal(), within=self.t_us)
        if replies.keys() - self.up or not all(answer.normal for answer in replies.values()):
            self.begin(self.election)


DEAD_MEMBER = "the members of the Definition are [1, 2, 3], and [1, 3] are running"


@pytest.mark.parametrize(
    ("mutant", "without", "text"),
    [
        (KeepsTheFirst, (), "1 has not the Definition of 3"),
        (RemovesNobody, (), DEAD_MEMBER),
        (MissesNobody, (), DEAD_MEMBER),
        (InvitationElection, ("miss_members",), DEAD_MEMBER),
    ],
)
def test_spreads_not(mutant: type[Algorithm], without: tuple[str, ...], text: str) -> None:
    """What the last member reports is not learned by the first; or one that has crashed stays a member."""
    rig = Rig([1, 2, 3], protocol=mutant, parameters=mutant.Parameters(without=without)).started()
    rig.do("at 5s kill 2")
    rig.run(60_000_000)
    first = _verdict(rig.records, "spreads").first
    assert first is not None
    assert first.is_failure
    assert text in first.text


def test_spreads_is_owed_after_the_election() -> None:
    """Two more questions and answers."""
    assert isinstance(SPREADS, Eventually)
    question_us = 2 * (TIMING.t_us + TIMING.tp_us)
    assert SPREADS.within_us(TIMING, {}, WITHIN_US) == WITHIN_US + 2 * question_us


# defined


class DefinesNothing(Bully):
    """B7: a new coordinator distributes the Definition that it had."""

    def _define(self, entered: dict[int, EnterElectionAnswer]) -> None:
        pass


class ForgetsItself(InvitationElection):
    """I2, I5: a coordinator is no member of the groups that it forms."""

    def define(self, version: int, members: Iterable[int], reports: Iterable[Definition]) -> Definition:
        return super().define(version, [each for each in members if each != self.id], reports)


@pytest.mark.parametrize("protocol", [Bully, InvitationElection])
def test_defined_holds(protocol: type[Algorithm]) -> None:
    rig = Rig([1, 2, 3], protocol=protocol).started()
    rig.do("at 5s kill 3", "at 10s restart 3", "at 15s pause 3", "at 20s resume 3")
    rig.run(30_000_000)
    found = _verdict(rig.records, "defined")
    assert (found.word, found.evidence.noun) == ("holds", "state")


@pytest.mark.parametrize(
    ("mutant", "text"),
    [
        (DefinesNothing, "is Normal under 3, with a Definition of None"),
        (ForgetsItself, "is Normal, and no member of its Definition"),
    ],
)
def test_defined_not(mutant: type[Algorithm], text: str) -> None:
    rig = Rig([1, 2, 3], protocol=mutant).started()
    rig.run(5_000_000)
    first = _verdict(rig.records, "defined").first
    assert first is not None
    assert first.is_failure
    assert first.text.endswith(text)


def test_defined_takes_any_value() -> None:
    """A recording may come from anywhere: what is no Definition is none of the coordinator."""
    for odd in ODD:
        records = Records(promises=("defined",)).enters(1, "Normal", 3, odd)
        assert summaries(records.violations) == [("defined", (1,), [])]


# stages


class FollowsAnybody(Bully):
    """B8: a node follows whoever asks it to, in whatever status."""

    @on(SetCoordinator)
    def on_set_coordinator(self, sender: int, message: SetCoordinator) -> SetCoordinatorAnswer:
        self.coordinator = sender
        self.status = Status.REORGANIZATION
        return SetCoordinatorAnswer()


class SkipsStage3(Bully):
    """B6: a node that is to follow is Normal at once."""

    @on(SetCoordinator)
    def on_set_coordinator(self, sender: int, message: SetCoordinator) -> SetCoordinatorAnswer | None:
        answer = super().on_set_coordinator(sender, message)
        self.status = Status.NORMAL
        return answer


def test_stages_holds() -> None:
    """Through crashes, and a pause in which another node took over."""
    rig = Rig([1, 2, 3, 4], protocol=Bully).started()
    rig.do("at 5s kill 4", "at 10s restart 4", "at 15s pause 4", "at 20s resume 4", "at 25s kill all")
    rig.do("at 30s restart 2")
    rig.run(40_000_000)
    found = _verdict(rig.records, "stages")
    assert (found.word, found.evidence.noun) == ("holds", "stage")
    assert found.evidence.count > 15


@pytest.mark.parametrize(
    ("mutant", "text"),
    [
        (SkipsStage3, "1 enters Normal from Election"),
        (FollowsAnybody, "1 follows 3, halted by 2"),
    ],
)
def test_stages_not(mutant: type[Bully], text: str) -> None:
    """Stage 3 is left out; or a node obeys a leader whose election another one has ended."""
    parameters = mutant.Parameters(halting="at_once", without=("refuse_lower_leader",))
    rig = Rig([1, 2, 3], protocol=mutant, latency_us=1_000, parameters=parameters).started()
    rig.do("at 1s kill 3", "at 1s delay 2->1 20ms", "at 1s delay 3->2 30ms")
    rig.do("at 1s on send EnterElection 2->1 restart 3")
    rig.run(3_000_000)
    found = [each for each in judged(rig.records).violations if each.assertion == "stages"]
    assert all(each.is_failure for each in found)
    assert text in [each.text for each in found]


def test_stages_is_about_each_stage() -> None:
    """A coordinator that is alone has no Reorganization; nothing excuses another one."""

    def changes(*states: dict[str, object]) -> list[str]:
        records = Records(promises=("stages",)).process(2, "paused")
        for changed in states:
            records.add(Step(records.at_us, 1, 1, Fired("timer"), changed))
        return [each.text for each in records.violations]

    halted = {"status": "Election", "halted": 3, "coordinator": None}
    led = {"status": "Reorganization", "coordinator": 3, "up": [2, 3]}
    assert changes(halted, led, {"status": "Normal"}) == []
    assert changes({**halted, "halted": 1}, {"status": "Normal", "coordinator": 1, "up": []}) == []
    assert changes(halted, {**led, "status": "Normal"}) == ["1 enters Normal from Election"]
    normal = {"status": "Normal", "coordinator": 3}
    assert changes(halted, led, normal, {"coordinator": 3, "status": "Reorganization"}) == [
        "1 enters Reorganization from Normal"
    ]
    assert changes(halted, {**led, "coordinator": 2}) == ["1 follows 2, halted by 3"]
    assert all(changes({**halted, "halted": odd}, led) for odd in ODD)


# highest


class LowestLeads(Ring):
    """R3 inverted: the lowest id in the list leads."""

    def follow(self, message: COORDINATOR) -> None:
        if self.status is Status.ELECTION and message.counts and message.number == self.number:
            self.leave()
            self.stop(self.await_coordinator)
            self.status = Status.REORGANIZATION
            self.up = frozenset(message.members) - {self.id}
            self.coordinator = min(message.members)
            self.begin(self.lead if self.coordinator == self.id else self.ask_coordinator)


@pytest.mark.parametrize("protocol", [Bully, BullyTanenbaum, Ring])
def test_highest_holds(protocol: type[Algorithm]) -> None:
    """After a crash of the highest node, and after its return."""
    rig = Rig([1, 2, 3], protocol=protocol).started()
    rig.run_until_agreed()
    rig.do("kill 3", "at 5s restart 3")
    rig.run(20_000_000)
    found = _verdict(rig.records, "highest")
    assert (found.word, found.evidence.count) == ("holds", 3)


def test_highest_is_not_promised_by_the_invitation() -> None:
    assert "highest" not in InvitationElection.promises


def test_highest_the_lowest_leads() -> None:
    """A2 holds, and highest does not: in a run, in a campaign, and in an exhaustive exploration."""
    rig = Rig([1, 2, 3], protocol=LowestLeads).started()
    rig.run(60 * T_US)
    assert _verdict(rig.records, "A2").word == "holds"
    first = _verdict(rig.records, "highest").first
    assert first is not None
    assert first.is_failure
    assert first.nodes == (1, 3)
    assert "after the start 1 leads, and 3 is running: 1 Normal under 1" in first.text
    found = caught(LowestLeads, 2)
    assert found is not None
    assert found.assertion == "highest"
    explorer = explorer_of(LowestLeads, 2, "synchronous", settled=True)
    assert explorer.run(20_000).stopped_by == ""
    assert explorer.violated == ["highest"]


def test_highest_is_owed_only_at_rest() -> None:
    """Not before the bound, not under a cut, and not while the nodes have not agreed: A2 is about that."""
    records = Records(promises=("highest",)).normal(2, 1, 2, 3).after(WITHIN_US).fires(1)
    assert not records.violations
    assert summaries(records.after(1).fires(1).violations) == [("highest", (2, 3), [])]
    records = Records(promises=("highest",))
    number = records.fault("cut", 8, links=((1, 2),))
    records.normal(2, 1, 2, 3).after(3 * WITHIN_US).fires(1)
    assert not records.violations
    assert records.lift(number).after(2 * WITHIN_US).fires(1).violations
    records = Records(promises=("highest",)).normal(2, 1, 2).after(3 * WITHIN_US).fires(1)
    assert not records.violations
    assert _verdict(records.records, "highest").word == "not judged"


# K2


def _queue(protocol: type[Token], *lines: str) -> Rig:
    """Let all nodes want the token, again and again, in a run with these commands."""
    rig = Rig([1, 2, 3, 4], protocol=protocol).started()
    rig.do(*lines)
    rig.run(200 * T_US)
    return rig


def test_K2_holds() -> None:
    """Each wait ends within the bound, however long the queue."""
    found = _verdict(_queue(Token).records, "K2")
    assert found.word == "holds"
    assert found.evidence.count > 10


@pytest.mark.parametrize("jitter_us", [0, 30_000])
@pytest.mark.parametrize("nodes", [2, 7])
def test_K2_the_bound_covers_a_queue_of_all(nodes: int, jitter_us: int) -> None:
    """All want the token all the time; messages take as long as they may."""
    parameters = Token.Parameters(want_every_us=1)
    rig = Rig(range(1, nodes + 1), protocol=Token, latency_us=20_000, jitter_us=jitter_us, parameters=parameters)
    rig.started().run(500 * T_US)
    found = _verdict(rig.records, "K2")
    assert found.word == "holds"
    assert found.evidence.count > 50


@pytest.mark.parametrize("mutant", [NextForgotten, GuessKept])
def test_K2_a_request_is_forgotten(mutant: type[Token]) -> None:
    """In a run, and in a campaign without faults that matter."""
    first = _verdict(_queue(mutant).records, "K2").first
    assert first is not None
    assert first.is_failure
    assert " waits for the token, since " in first.text


@pytest.mark.parametrize("line", ["at 1s kill 1", "at 1s pause 1", "at 1s lose all->all PassToken 100%"])
def test_K2_is_not_owed_after_a_failure(line: str) -> None:
    """Nodes wait for good, or only while one is paused; the verdict before it stays."""
    rig = _queue(Token, line)
    judge = judged(rig.records)
    assert judge.violations == []
    assert no_failure_yet.id in judge.broken_at(len(rig.records))
    mutant = _queue(NextForgotten, line)
    assert not [each for each in judged(mutant.records).violations if each.assertion == "K2"]


def _explored(protocol: type[Algorithm], requests: int) -> Explorer:
    """Return the whole exploration in which this many of three nodes want the token once."""
    header = simulated_header(protocol, (1, 2, 3), TIMING, parameters=Token.Parameters(by_itself=0))
    commands = tuple((node, CommandInput("request", ())) for node in range(3, 3 - requests, -1))
    explorer = Explorer(protocol, header, "prompt", 0, settled=False, commands=commands)
    assert explorer.run(1_000).stopped_by == ""
    return explorer


def test_K2_in_an_exploration() -> None:
    """In each schedule everyone who waits is served; where a request is forgotten, one waits for good."""
    whole = _explored(Token, 3)
    assert (whole.violated, whole.was_met("K2")) == ([], True)
    assert _explored(NextForgotten, 3).violated == ["K2"]
    assert _explored(Token, 0).why_not_judged("K2") == "no request was pending in any state"


# idle and leaves


class WaitsUnseen(Token):
    """A node that wants the token takes itself for the last in the queue, but stays Idle."""

    def stand_in_line(self) -> None:
        super().stand_in_line()
        self.status = TokenStatus.IDLE


class NextKept(Token):
    """A node that passes the token on still knows the next in the queue."""

    def _pass_to(self, peer: int) -> None:
        after = self.next
        super()._pass_to(peer)
        self.next = after


class StaysInside(Token):
    """A node that leaves its critical section is Inside until the token is wanted."""

    @periodic(Token._want_due_us)
    async def enter(self) -> None:
        self.status = TokenStatus.INSIDE
        await self.sleep(3 * self._hold_us, "a longer stay")
        self.status = TokenStatus.HOLDING


def test_idle_and_leaves_hold() -> None:
    records = _queue(Token, "at 3s kill 2", "at 6s restart 2").records
    found = [_verdict(records, name) for name in ("idle", "leaves")]
    assert [each.word for each in found] == ["holds", "holds"]
    assert min(each.evidence.count for each in found) > 10


@pytest.mark.parametrize(
    ("mutant", "assertion", "text"),
    [
        (WaitsUnseen, "idle", "is Idle, and in the queue"),
        (NextKept, "idle", "is Idle, and in the queue"),
        (StaysInside, "leaves", "is inside its critical section (entry 0), since "),
    ],
)
def test_idle_and_leaves_are_violated(mutant: type[Token], assertion: str, text: str) -> None:
    first = _verdict(_queue(mutant).records, assertion).first
    assert first is not None
    assert first.is_failure
    assert text in first.text


@pytest.mark.parametrize(("hold_us", "stay_us"), [(0, TIMING.t_us), (5 * T_US, 5 * T_US)])
def test_leaves_is_bounded_by_the_parameter(hold_us: int, stay_us: int) -> None:
    """By T without it; a timer may be late by Tp. Other values, which only a recording can have, count as none."""
    assert isinstance(LEAVES, LeadsTo)
    assert LEAVES.within_us(TIMING, {"hold_us": hold_us}, 1) == stay_us + TIMING.tp_us
    for odd in (None, -1, "1s", [1]):
        assert LEAVES.within_us(TIMING, {"hold_us": odd}, 1) == TIMING.t_us + TIMING.tp_us


# solvent


class Overdraws(TwoPhaseCommit):
    """The bank: a withdrawal is not refused for lack of money."""

    def _perform(self, transaction: Transaction, place: int, operation: Operation) -> str:
        if self._holder(operation.account) not in (None, transaction):
            return super()._perform(transaction, place, operation)
        before = self._balance(operation.account)
        work = self._work_of(transaction)
        changes = {change.account: change for change in work.changes}
        known = changes.get(operation.account, Change(operation.account, before, before))
        changes[operation.account] = replace(known, after=known.after + operation.amount)
        self._drop_work(transaction)
        self.work += (Work(transaction, (*work.done, place), tuple(changes.values())),)
        self._update_display()
        return ""


def _overdrawn(protocol: type[Algorithm]) -> Rig:
    rig = Rig([1, 2, 3], protocol=protocol).started()
    rig.do("tell 3 transfer 1500 savings checking")
    rig.run(20 * T_US)
    return rig


def test_solvent_holds() -> None:
    """A transfer that is not covered is refused, and uses no account: only the next one is judged."""
    rig = _overdrawn(TwoPhaseCommit)
    assert _verdict(rig.records, "solvent").word == "not judged"
    rig.do("tell 3 transfer 700 savings checking")
    rig.run(20 * T_US)
    found = _verdict(rig.records, "solvent")
    assert (found.word, found.evidence.noun) == ("holds", "state")


def test_solvent_an_overdraft() -> None:
    """The witness is the state with which the account is below zero; a campaign and an exploration find it."""
    rig = _overdrawn(Overdraws)
    judge = judged(rig.records)
    (violation,) = judge.violations
    assert (violation.assertion, violation.nodes) == ("solvent", (1,))
    assert violation.text == "savings of 1 has -500"
    assert violation.states[0].record == violation.record
    found = caught(Overdraws, 50)
    assert found is not None
    assert found.assertion == "solvent"
    command = CommandInput("transfer", ("1500", "savings", "checking"))
    header = simulated_header(Overdraws, (1, 2), TIMING)
    explorer = Explorer(Overdraws, header, "synchronous", 0, settled=False, commands=((2, command),))
    explorer.run(2_000)
    assert explorer.violated == ["solvent"]


def _holds(records: Records, node: int, balances: object) -> Records:
    records.add(Step(records.at_us, node, 1, Fired("timer"), {"balances": balances}))
    return records


def test_solvent_is_excused_by_a_wipe_alone() -> None:
    """At any later time, since a balance is the sum of all that was logged."""
    debt = [["savings", -1]]
    assert summaries(_holds(Records(promises=("solvent",)), 1, debt).violations) == [("solvent", (1,), [])]
    paused = _holds(Records(promises=("solvent",)).process(2, "paused"), 1, debt)
    assert summaries(paused.violations) == [("solvent", (1,), [])]
    wiped = _holds(Records(promises=("solvent",)).process(2, "wiped").after(9 * WITHIN_US), 1, debt)
    assert summaries(wiped.violations) == [("solvent", (1,), [4])]


def test_solvent_takes_any_value() -> None:
    """A recording may come from anywhere."""
    for odd in ODD:
        for balances in (odd, [odd], [[odd, -1]], [["savings", odd]], [["savings", -(10**15)]]):
            _holds(Records(promises=("solvent",)), 1, balances).violations  # noqa: B018 - nothing is raised


# the assumption


def test_the_assumption_is_known_by_its_name() -> None:
    """It has a statement, and is found by what relies on it; a run without that does not ask for it."""
    assert ASSUMPTIONS["no_failure_yet"].startswith("no node has failed or been paused since the run began")
    assert K2.relies_on == ("no_failure_yet",)
    info = simulated_header(Token, (1, 2)).protocol
    assert RunProperties.of(info).assumptions == (no_failure_yet,)
    only = replace(info, promises=("K1",))
    assert RunProperties.of(replace(only, relies_on={"K1": ("no_failure_yet",)})).assumptions == (no_failure_yet,)
    assert RunProperties.of(only).assumptions == ()


@eventually(within="1ms", relies_on=["no_failure_yet"])
def never(state: GlobalState) -> Outcome:
    """Nothing satisfies this."""
    return False


@invariant
def never_fails(state: GlobalState) -> Outcome:
    """No node has ever failed, and no message was ever late."""
    return not (state.failures or state.ever_broken)


@pytest.fixture
def relying() -> Iterator[Callable[..., Explorer]]:
    """Return a function for explorers of a protocol that promises this; nodes may be killed so often."""
    known = dict(ASSERTIONS)

    def explorer(promised: Assertion, kills: int, timeouts: Timeouts = "synchronous") -> Explorer:
        header = with_promises(header_of(Bully, 2), [promised])
        return Explorer(Bully, header, timeouts, kills, kills, settled=False)

    yield explorer
    register("bully", [])
    ASSERTIONS.clear()
    ASSERTIONS.update(known)


def test_an_exploration_knows_what_has_failed(relying: Callable[..., Explorer]) -> None:
    """A property that relies on the assumption is owed in the states before a kill, and in no later one."""
    explorer = relying(never, 1)
    explorer.run(1_500)
    assert explorer.liveness == ["A2", "highest", "spreads", "never"]
    place = explorer._judge.obligations[Obligation("never")]
    for state, verdict in zip(explorer.states, explorer._verdicts, strict=True):
        was_killed = state[KILLS] == 0
        assert bool(verdict.owed >> place & 1) == (not was_killed)
    assert {state[KILLS] for state in explorer.states} == {0, 1}


def test_a_property_of_ones_own_knows_it_too(relying: Callable[..., Explorer]) -> None:
    """Of kills, and of a model in which messages are late; with neither, it holds."""
    explorer = relying(never_fails, 1)
    explorer.run(1_500)
    was_killed = sum(state[KILLS] == 0 for state in explorer.states)
    assert explorer.tally.violated["never_fails"] == was_killed > 0
    explorer = relying(never_fails, 0)
    explorer.run(1_500)
    assert explorer.violated == []
    assert not explorer.why_not_judged("never_fails")
    late = relying(never_fails, 0, "ordered")
    late.run(50)
    assert late.tally.violated["never_fails"] == late.tally.states


# mutation of the judge


def _of_shipped(folder: str, *names: str) -> list[list[Record | None]]:
    found = []
    for name in names:
        lines = open_recording(RECORDINGS / folder / f"{name}.jsonl")
        found.append([lines.header, *list(lines.records())[1:]])
        lines.close()
    return found


def _violating() -> Iterator[list[Any]]:
    """Yield runs in which together every assertion with a function is violated."""
    yield from _of_shipped("holes", "bully-two-leaders", "bully-leader-dies", "invitation-left-behind")
    yield from _of_shipped("holes", "invitation-own-group", "invitation-two-threads")
    yield from _of_shipped("scenarios", "partition-in-two")
    grouped = Records(promises=("A3.1", "A3.2")).grouped([1, 1], 1, 1)
    changed = {"status": "Normal", "coordinator": 2, "group": [1, 1], "definition": {"version": 9}}
    yield grouped.add(Step(0, 2, 1, Fired("timer"), changed)).records
    published = Records(promises=("A9",))
    for node in (1, 2):
        published.add(Step(0, node, 1, Fired("timer"), {"published": [1, node, 1]}))
    yield published.records
    for protocol in (LowestLeads, KeptWhenPassed, NextForgotten, WaitsUnseen, StaysInside):
        yield _queue(protocol).records  # type: ignore[arg-type]
    kept = Rig([1, 2, 3], protocol=KeepsTheFirst).started()
    kept.run(60_000_000)
    yield kept.records
    late = Rig([1, 2, 3], protocol=AsksLate).started()
    late.run(3_000_000)
    late.do("at 5s kill 3")
    late.run(10_000_000)
    yield late.records
    yield _overdrawn(Overdraws).records
    for mutant in (DefinesNothing, SkipsStage3):
        wrong = Rig([1, 2, 3], protocol=mutant).started()
        wrong.run(5_000_000)
        yield wrong.records
    yield wrong_field().records
    yield _adopts(_adopts(Records(promises=("B10", "newer")), 1, 2), 1, 1).records
    promised = ("commits", "shows")
    refused = Ledger(promises=promised, relies_on={"commits": ("no_failure_yet",)}).prepared(1, 2, 3)
    yield refused.write(3, ABORTED, status="Idle").records
    book = Ledger().prepared(1, 3).write(3, COMMITTED, open=[]).write(1, ABORTED, open=[])
    yield book.holds(2, 1).holds(1, 1000, open=OPEN).after(2 * WITHIN_US).fires(1).records


def _weakened(assertion: Assertion) -> Assertion:
    """Return the assertion with a function that never finds a violation."""
    match assertion:
        case Agreement():
            return replace(assertion, function=lambda node: ("", 0))
        case LeadsTo():
            return replace(assertion, function=lambda state: ())
    return replace(assertion, function=lambda *arguments: True)


WITH_FUNCTION = [each for each in BUILT_IN if each.function is not None]


@pytest.fixture(scope="module")
def violating() -> list[list[Any]]:
    return list(_violating())


@pytest.fixture(scope="module")
def before(violating: list[list[Any]]) -> dict[str, int]:
    """The numbers of violations with all functions."""
    return _count(violating)


def _count(runs: list[list[Any]]) -> dict[str, int]:
    """Return how many violations of each assertion these runs have."""
    names = [each.assertion for records in runs for each in judged(records).violations]
    return {each.id: names.count(each.id) for each in BUILT_IN}


@pytest.mark.parametrize("assertion", sampled(WITH_FUNCTION, 4), ids=lambda each: each.id)
def test_the_judge_needs_each_function(
    assertion: Assertion, violating: list[list[Any]], before: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Violations are found with it, and none of this assertion without; those of the others stay."""
    assert before[assertion.id] > 0
    weak = tuple(_weakened(each) if each is assertion else each for each in BUILT_IN)
    monkeypatch.setattr(registry, "BUILT_IN", weak)
    after = _count(violating)
    assert after[assertion.id] == 0
    others = {name for name in before if name != assertion.id}
    assert {name: after[name] for name in others if before[name]} == {
        name: before[name] for name in others if before[name]
    }
