"""Campaigns whose runs have clients: what is found, and shrunk, and what a right protocol survives."""

import re
from functools import cache
from pathlib import Path
from typing import ClassVar

import pytest
from msgspec.structs import replace

from lab.analysis.client_history import ClientHistory
from lab.kernel import Payload, on, procedure
from lab.properties.history_verdict import HistoryViolation, judge_history, promises_of
from lab.protocols import Algorithm, Bully
from lab.protocols.operations import Add, AddOk, Read, ReadOk
from lab.recording.records import Header, Link, Process
from lab.worlds.campaign.campaign import Campaign, CampaignTotals
from lab.worlds.campaign.finding import Finding, format_rerun, shrink_finding
from lab.worlds.campaign.schedule import Schedule, ScheduledFault, SchedulePlan, draw, draw_frame, plan_of
from lab.worlds.campaign.trial import SearchGoal, count_faults, header_for, run_trial, with_tail
from lab.worlds.loading.roles import Wanted, roles_of, tail_us
from lab.worlds.loading.targets import load_protocol
from tests.campaign.trials import TIMING, base_of
from tests.profile import amount, sampled
from tests.roles.servers import AtTheLowest, Backed, Cached, Separate

ALL = ("kill", "pause", "partition", "delay", "loss")
BUILD = Path(__file__).parents[2] / "lab" / "guide" / "build"
REGISTER, REPLICATED = f"{BUILD / 'register.py'}:Register", f"{BUILD / 'replicated.py'}:Replicated"


def _base(protocol: type[Algorithm], wanted: Wanted) -> Header:
    base = base_of(protocol)
    return replace(base, roles=roles_of(wanted, protocol, base.nodes, TIMING, None))


def _plan(protocol: type[Algorithm], *faults: str, clients: int | None = None) -> SchedulePlan:
    """Return the plan of schedules that strike the cluster alone, unless it has the number of clients."""
    return replace(plan_of(protocol, (3, 4), faults, TIMING), clients=clients)


def _plan_with_outside(base: Header, protocol: type[Algorithm], *faults: str) -> SchedulePlan:
    return plan_of(protocol, (3, 4), faults or ALL, TIMING).with_outside(base.roles, None)


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


def test_schedules_strike_clients_and_services() -> None:
    """Half of them; their ids follow those of the nodes. What is taken away comes back by the end."""
    base = _base(Backed, Wanted("lin-kv", services=("lin-kv",)))
    plan = _plan_with_outside(base, Backed)
    verbs: set[tuple[str, str]] = set()
    struck = 0
    for seed in range(1, 201):
        schedule = draw(plan, seed)
        assert schedule == draw(plan, seed)
        assert schedule.clients == len(schedule.nodes)
        service = max(schedule.nodes) + schedule.clients + 1
        outside = schedule.named_outside()
        assert set(outside) <= set(range(max(schedule.nodes) + 1, service + 1))
        verbs |= {
            (outside[node], fault.command.partition(" ")[0])
            for fault in schedule.faults
            for node in fault.named_nodes() & set(outside)
        }
        last = [fault.command for fault in schedule.faults if fault.at_us == schedule.end_us]
        for node in outside:
            for verb, back in (("pause", "resume"), ("kill", "restart")):
                if any(fault.command == f"{verb} {node}" for fault in schedule.faults):
                    assert f"{back} {node}" in last
        struck += bool(outside)
    assert 40 < struck < 120
    assert {("s", "kill"), ("s", "pause"), ("s", "cut"), ("s", "partition"), ("s", "lose"), ("s", "delay")} < verbs
    assert {("c", "pause"), ("c", "cut"), ("c", "partition"), ("c", "lose"), ("c", "delay")} < verbs
    assert ("c", "kill") not in verbs


def test_strikes_hit_clients_and_services() -> None:
    """At their messages: a service is struck or cut off from the node, a client paused. The run is repeatable."""
    base = _base(Backed, Wanted("lin-kv", services=("lin-kv",)))
    plan = replace(_plan_with_outside(base, Backed, "kill", "pause", "partition"), gaps=False)
    verbs: set[tuple[str, str]] = set()
    before: dict[int, int] = {}
    for seed in range(1, 61):
        trial = run_trial(Backed, base, draw_frame(plan, seed), strikes=(plan, before))
        for number in trial.struck:
            before[number] = before.get(number, 0) + 1
        outside = trial.schedule.named_outside()
        for fault in trial.schedule.faults:
            named = {int(word) for word in re.findall(r"\b\d+", fault.command)} & set(outside)
            verbs |= {(outside[node], fault.command.partition(" ")[0]) for node in named}
        if outside and seed <= amount(quick=6, soak=20):
            assert run_trial(Backed, base, trial.schedule).records == trial.records
    assert {("s", "kill"), ("s", "pause"), ("s", "cut"), ("c", "pause"), ("c", "cut")} <= verbs
    assert ("c", "kill") not in verbs


@pytest.mark.parametrize("runs", [12, pytest.param(200, marks=pytest.mark.soak, id="soak")])
def test_a_stale_cache_shows_only_without_the_service(runs: int) -> None:
    """It answers from what it last read if the service cannot be reached: no fault of the cluster shows that."""
    base = _base(Cached, Wanted("lin-kv", services=("lin-kv",)))
    inside, outside = (_wrong(Cached, base, plan, runs) for plan in (_plan(Cached, *ALL), _outside_plan(base)))
    assert inside == []
    assert len(outside) >= max(1, runs // 20)
    drawn = draw(_outside_plan(base), outside[0])
    found, _ = shrink_finding(Cached, base, SearchGoal("lin-kv"), drawn)
    assert len(found.least.faults) <= 2
    assert set(found.least.named_outside().values()) == {"s"}
    assert found.violation in run_trial(Cached, base, found.least, extend=False).violations
    line = format_rerun("x", base, found.least, Path("x.script"))
    assert f"--service lin-kv --workload lin-kv --clients {found.least.clients}" in line


def _outside_plan(base: Header) -> SchedulePlan:
    return _plan_with_outside(base, Cached)


def _wrong(protocol: type[Algorithm], base: Header, plan: SchedulePlan, runs: int) -> list[int]:
    """Return the seeds of the runs whose history is wrong; most are judged."""
    found, judged = [], 0
    for seed in range(1, runs + 1):
        trial = run_trial(protocol, base, draw(plan, seed))
        judged += "lin-kv" in trial.judged
        if any(each.assertion == "lin-kv" for each in trial.violations):
            found.append(seed)
    assert judged > runs * 0.9
    return found


@pytest.mark.parametrize("runs", [12, pytest.param(250, marks=pytest.mark.soak, id="soak")])
@pytest.mark.parametrize("protocol", ["backed", "replicated"])
def test_nobody_is_accused_of_faults_outside(protocol: str, runs: int) -> None:
    """A store outside the cluster, and a register that a majority keeps, survive them."""
    if protocol == "backed":
        base = _base(Backed, Wanted("lin-kv", services=("lin-kv",)))
        assert _wrong(Backed, base, _plan_with_outside(base, Backed), runs) == []
    else:
        replicated = load_protocol(REPLICATED)
        base = _base(replicated, Wanted("lin-kv"))
        assert _wrong(replicated, base, _plan_with_outside(base, replicated), runs) == []


def test_the_ids_outside_follow_those_of_the_nodes() -> None:
    """When a schedule is shrunk: without a node, with other ids, with fewer clients."""
    faults = tuple(
        ScheduledFault(1_000, on, command)
        for on, command in (
            ("", "pause 7"),
            ("send Write 3->8", "kill 8"),
            ("", "partition 1 3 6 | 4 7 8"),
            ("", "cut 4->8"),
            ("", "delay 6 300ms"),
        )
    )
    schedule = Schedule(1, (1, 3, 4), Link(1_000), faults, 9_000, clients=3)
    assert schedule.named_outside() == {6: "c", 7: "c", 8: "s"}

    def texts(schedule: Schedule) -> list[str]:
        return [f"{fault.trigger}{fault.command}" for fault in schedule.faults]

    assert texts(schedule.without_node(4)) == [
        "pause 6",
        "on send Write 3->7 kill 7",
        "partition 1 3 5 | 6 7",
        "delay 5 300ms",
    ]
    assert texts(schedule.without_node(3)) == ["pause 7", "partition 1 6 | 4 7 8", "cut 4->8", "delay 6 300ms"]
    assert texts(schedule.renamed({1: 1, 3: 2, 4: 3}))[:3] == [
        "pause 6",
        "on send Write 2->7 kill 7",
        "partition 1 2 5 | 3 6 7",
    ]
    fewer = schedule.with_clients(2)
    assert (fewer.clients, texts(fewer)) == (
        2,
        ["on send Write 3->7 kill 7", "partition 1 3 6 | 4 7", "cut 4->7", "delay 6 300ms"],
    )


def test_faults_of_clients_excuse_nothing() -> None:
    """No node relies on what a client does, and when; on a service it may."""
    base = _base(Backed, Wanted("lin-kv", services=("lin-kv",)))
    drawn = replace(draw(_plan(Backed, "kill"), 1), nodes=(1, 2, 3), clients=3, end_us=4_000_000)
    of_clients = ("pause 4", "cut 5", "delay 6->3 1s")
    for commands, broken in ((of_clients, set()), (("cut 7",), {8}), (("pause 7",), {9}), (("cut 4 7",), {8})):
        faults = (
            *(ScheduledFault(1_000_000, "", command) for command in commands),
            *(ScheduledFault(3_000_000, "", command) for command in ("heal", "resume 4", "resume 7")),
        )
        trial = run_trial(Backed, base, replace(drawn, faults=faults))
        assert trial.broken == broken, commands
        assert all(count.touched for count in count_faults(trial.records).values())


def test_last_reads_are_no_evidence_without_a_service() -> None:
    """A node that has lost its store cannot answer them rightly; one that comes back in time is no excuse."""
    base = _base(Pushed, Wanted("g-set", services=("seq-kv",)))
    for back, why in ((False, "still in force at the last reads: kill 7"), (True, "")):
        header = header_for(Pushed, base, Schedule(1, (1, 2, 3), Link(1_000), (), 20_000_000, clients=3))
        history = ClientHistory(header)
        history.observe(Process(1_000_000, 7, "killed", 1))
        if back:
            history.observe(Process(2_000_000, 7, "started", 2))
        history.observe(Process(2_000_000, 3, "killed", 1))
        assert history.why_unsettled == why


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
    first, runs = (amount(quick=70, soak=1), 12) if protocol is PushedOnce else (1, amount(quick=3, soak=6))
    for seed in range(first, first + runs):  # the third finding is soon shrunk
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
