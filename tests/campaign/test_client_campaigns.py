"""Campaigns whose runs have clients: what is found, and shrunk, and what a right protocol survives."""

from functools import cache
from pathlib import Path
from typing import ClassVar

import pytest
from msgspec.structs import replace

from lab.kernel import Payload, on, procedure
from lab.properties.history_verdict import HistoryViolation, judge_history, promises_of
from lab.protocols import Algorithm, Bully
from lab.protocols.operations import Add, AddOk, Read, ReadOk
from lab.recording.records import Header
from lab.worlds.campaign.campaign import Campaign, CampaignTotals
from lab.worlds.campaign.finding import Finding, shrink_finding
from lab.worlds.campaign.schedule import SchedulePlan, draw, draw_frame, plan_of
from lab.worlds.campaign.trial import SearchGoal, header_for, run_trial, with_tail
from lab.worlds.loading.roles import Wanted, roles_of, tail_us
from lab.worlds.loading.targets import load_protocol
from tests.campaign.trials import TIMING, base_of
from tests.profile import amount, sampled
from tests.roles.servers import AtTheLowest, Backed, Separate

REGISTER = f"{Path(__file__).parents[2] / 'lab' / 'guide' / 'build' / 'register.py'}:Register"


def _base(protocol: type[Algorithm], wanted: Wanted) -> Header:
    base = base_of(protocol)
    return replace(base, roles=roles_of(wanted, protocol, base.nodes, TIMING, None))


def _plan(protocol: type[Algorithm], *faults: str, clients: int = 0) -> SchedulePlan:
    return replace(plan_of(protocol, (3, 4), faults, TIMING), clients=clients)


@cache
def _found(clients: int = 0) -> Finding:
    """Return the shrunk finding of stores that know nothing of each other."""
    base = _base(Separate, Wanted("lin-kv"))
    drawn = draw(_plan(Separate, "kill", "pause", clients=clients), 1)
    return shrink_finding(Separate, base, SearchGoal("lin-kv"), drawn)[0]


def test_clients_and_services_follow_the_nodes() -> None:
    """Their ids are above those of the nodes of each schedule, and as many clients as asked for."""
    base = _base(Backed, Wanted("lin-kv", 2, 10, ("lin-kv", "lin-tso")))
    schedule = replace(draw(_plan(Backed, "kill", clients=2), 1), nodes=(1, 3, 6))
    header = header_for(Backed, base, schedule)
    assert header.names == {7: "c7", 8: "c8", 9: "lin-kv", 10: "lin-tso"}
    assert header.roles[0].parameters["every_us"] == 100_000
    each = header_for(Backed, base, replace(schedule, clients=0))
    assert [*each.roles[0].nodes] == [7, 8, 9]


def test_the_history_is_one_more_assertion() -> None:
    """Judged in every run, by the operations; named after the workload."""
    base = _base(AtTheLowest, Wanted("lin-kv", 2))
    trial = run_trial(AtTheLowest, base, draw(_plan(AtTheLowest, "kill", clients=2), 1))
    assert promises_of(base) == (*AtTheLowest.promises, "lin-kv")
    assert trial.judged["lin-kv"].count > 20
    assert trial.operations.called >= trial.operations.ok + trial.operations.failed > 0
    assert trial.operations.called - trial.operations.unknown == trial.operations.ok + trial.operations.failed
    assert trial.violations == [each for each in trial.violations if each.assertion != "lin-kv"]


def test_nothing_is_judged_where_nothing_was_answered() -> None:
    """A run in which every operation is lost is no evidence."""
    base = _base(Backed, Wanted("lin-kv"))  # without the service, its nodes fail
    trial = run_trial(Backed, base, draw(_plan(Backed, "kill"), 1))
    assert "lin-kv" not in trial.judged
    assert trial.operations.ok == 0


def test_clients_call_until_after_the_last_fault() -> None:
    """The run goes on for a while, so that the schedule alone decides until when they call."""
    base = _base(Separate, Wanted("lin-kv"))
    schedule = draw(_plan(Separate, "kill"), 3)
    whole = with_tail(Separate, base, schedule)
    until_us = header_for(Separate, base, whole).roles[0].parameters["until_us"]
    assert schedule.end_us < until_us < whole.end_us
    assert run_trial(Separate, base, schedule).end_us == whole.end_us


def test_last_reads_come_when_the_cluster_is_at_rest() -> None:
    """Of a workload with last reads: as long after the last fault as the protocol needs to settle."""
    for lifted_us in (0, 2_000_000, 9_000_000, 60_000_000):
        end_us = lifted_us + tail_us(Wanted("g-set"), TIMING, lifted_us, 4_000_000)
        settling_us = min(15_000_000, end_us // 2)
        assert end_us - settling_us >= lifted_us
        assert settling_us * 4 // 5 >= 4_000_000


def test_a_wrong_history_is_shrunk() -> None:
    """It needs no fault, few clients, and a short time; the shrunk run shows it again."""
    found = _found()
    assert isinstance(found.violation, HistoryViolation)
    assert found.least.faults == ()
    assert (found.least.clients or len(found.least.nodes)) == 2
    assert found.least.end_us < 5_000_000
    base = _base(Separate, Wanted("lin-kv"))
    again = run_trial(Separate, base, found.least, extend=False)
    assert found.violation in again.violations
    assert str(found.violation).startswith("lin-kv fails: not linearizable: ")
    verdict = judge_history(again.records)
    assert verdict is not None
    assert verdict.violation == found.violation


def test_the_violation_is_at_the_operation_that_does_not_fit() -> None:
    """At the record at which its client was answered."""
    found = _found()
    (state,) = found.violation.states
    assert state.record == found.violation.record < len(found.records) - 1
    record = found.records[state.record]
    assert getattr(record, "node", None) == state.node
    assert found.violation.at_us <= found.least.end_us


def _runs_until_found(protocol: type[Algorithm], seed: int, faults: tuple[str, ...], runs: int = 250) -> int:
    """Return how many runs it takes until a history is wrong; 0 if none is."""
    base = _base(protocol, Wanted("lin-kv", services=("lin-kv",) if protocol is Backed else ()))
    totals = CampaignTotals()
    campaign = Campaign("", base, _plan(protocol, *faults), SearchGoal("lin-kv"), seed, runs)
    for number in range(seed, seed + runs):
        trial = run_trial(protocol, base, draw(campaign.plan, number))
        totals.judged_runs.update(trial.judged.keys())
        if any(each.assertion == "lin-kv" for each in trial.violations):
            return number - seed + 1
    assert totals.judged_runs["lin-kv"] > runs * 0.9
    return 0


@pytest.mark.parametrize("seed", sampled([1, 1001, 2001], 3))
def test_the_register_of_a_coordinator_loses_writes_under_a_partition(seed: int) -> None:
    """Both sides of a cut have a coordinator, and both decide: found within few runs."""
    assert 0 < _runs_until_found(load_protocol(REGISTER), seed, ("partition",), 25) <= 25


@pytest.mark.parametrize("runs", [6, pytest.param(250, marks=pytest.mark.soak, id="soak")])
def test_a_store_outside_the_cluster_survives(runs: int) -> None:
    """Every node passes on what it is asked: no fault of the nodes makes the history wrong."""
    assert _runs_until_found(Backed, 1, ("kill", "pause", "partition", "delay", "loss"), runs) == 0


def test_strikes_hit_no_client() -> None:
    """Nor a service: their ids are in no command, though their messages are moments to strike at."""
    base = _base(Backed, Wanted("lin-kv", services=("lin-kv",)))
    plan = replace(_plan(Backed, "kill", "pause", "partition"), gaps=False)
    struck, at_clients = 0, 0
    for seed in range(1, 1 + amount(quick=4, soak=12)):
        trial = run_trial(Backed, base, draw_frame(plan, seed), strikes=(plan, {}))
        nodes = set(trial.schedule.nodes)
        for fault in trial.schedule.faults:
            assert set(map(int, filter(str.isdigit, fault.command.split()))) <= nodes, fault
            at_clients += not fault.named_nodes() <= nodes
        struck += len(trial.struck)
        again = run_trial(Backed, base, trial.schedule)
        assert again.records == trial.records
    assert struck > at_clients > 0


class Elements(Payload, frozen=True):
    """All elements that the sender has."""

    elements: tuple[int, ...]


class Pushed(Bully):
    """A set that each node has, and sends to the others with each of its messages to them, or only ``once``."""

    name: ClassVar[str] = "pushed"
    once: ClassVar[bool] = False

    elements: tuple[int, ...] = ()

    def started(self) -> None:
        super().started()
        self.begin(self.push)

    @on(Add)
    def on_add(self, sender: int, message: Add) -> AddOk:
        self.elements = (*self.elements, message.element)
        if self.once:
            self.push_to_all()
        return AddOk()

    @on(Read)
    def on_read(self, sender: int, message: Read) -> ReadOk:
        return ReadOk(list(self.elements))

    @on(Elements)
    def on_elements(self, sender: int, message: Elements) -> None:
        self.elements = tuple(sorted({*self.elements, *message.elements}))

    @procedure
    async def push(self) -> None:
        while not self.once:
            await self.sleep(self.timing.t_us, "the next push")
            self.push_to_all()

    def push_to_all(self) -> None:
        for peer in self.peers:
            self.send(peer, Elements(self.elements))


class PushedOnce(Pushed):
    """What is lost on the way is lost for good."""

    name: ClassVar[str] = "pushed-once"
    once: ClassVar[bool] = True


@pytest.mark.parametrize("protocol", [Pushed, PushedOnce])
def test_last_reads_are_judged_when_the_cluster_is_at_rest(protocol: type[Algorithm]) -> None:
    """What is sent again survives partitions; what is sent once does not, and the shrunk schedule heals, too."""
    base = _base(protocol, Wanted("g-set"))
    plan = _plan(protocol, "partition", "loss")
    wrong = []
    judged = 0
    for seed in range(1, 13 if protocol is PushedOnce else 1 + amount(quick=3, soak=6)):
        trial = run_trial(protocol, base, draw(plan, seed))
        judged += "g-set" in trial.judged
        wrong += [seed for each in trial.violations if each.assertion == "g-set"]
        if wrong:
            break
    assert judged > 0
    assert bool(wrong) is (protocol is PushedOnce)
    if wrong:
        found, _ = shrink_finding(protocol, base, SearchGoal("g-set"), draw(plan, wrong[0]))
        commands = [fault.command for fault in found.least.faults]
        assert "heal" in commands[-1]
        assert len(commands) <= 4
