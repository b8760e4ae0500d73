"""Campaigns on programs: their schedules, what a slow machine may have caused, and how runs are repeated."""

import sys
import time
from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw
from msgspec.structs import replace

from lab.kernel import Fired, Message, Step, Timing
from lab.properties.history_verdict import HistoryViolation, OperationCounts
from lab.properties.verdicts import Violation
from lab.protocols.lenses import LENSES
from lab.protocols.program import Program
from lab.recording.records import Link, Record
from lab.script.parse import parse
from lab.worlds.campaign.campaign import Campaign, LivePlan
from lab.worlds.campaign.finding import OUT_OF_TIME, format_live_rerun
from lab.worlds.campaign.live_campaign import (
    LiveRuns,
    LiveShrinking,
    LiveTrial,
    depends_on_time,
    draw_live,
    kinds_of,
    live_header,
    live_schedule_plan,
    program_digest,
    striking_at,
)
from lab.worlds.campaign.schedule import Schedule
from lab.worlds.campaign.trial import SearchGoal, header_for
from lab.worlds.loading.roles import Wanted, roles_of

TIMING = Timing(400_000, 200_000)
RUN_US = 10_000_000


def _campaign(workload: str = "broadcast", command: str = "./node", run_us: int = RUN_US) -> Campaign:
    base = live_header("program", Program, 3, TIMING, {"program": command})
    base = replace(base, roles=roles_of(Wanted(workload), Program, base.nodes, TIMING, None))
    plan = live_schedule_plan((3, 3), ("pause", "partition", "loss"), run_us).with_outside(base.roles, None)
    return Campaign("program", base, plan, SearchGoal(), 1, 5, guided=False, live=LivePlan(run_us, 3, ""))


class _Runs(LiveRuns):
    """Made-up runs: ``shown`` says of each, in order, whether it shows the violation; None: after a stall."""

    def __init__(self, shown: list[bool | None]) -> None:
        super().__init__(_campaign(), Program, 1, Path())
        self.made: list[Schedule] = []
        self._shown = iter(shown)

    def each(self, schedules: Any) -> Any:
        for schedule in schedules:
            self.made.append(schedule)
            yield _trial(next(self._shown), schedule)


VIOLATION = HistoryViolation("broadcast", 9, 9_000_000, (), {}, (), "lost: 7")


def _trial(shows: bool | None, schedule: Schedule) -> LiveTrial:
    campaign = _campaign()
    header = header_for(Program, campaign.base, schedule)
    violations: list[Violation] = [] if shows is False else [VIOLATION]
    stalled = (schedule.end_us - 1,) if shows is None else ()
    return LiveTrial(schedule, Path("x"), [header], violations, {}, frozenset(), OperationCounts(), stalled)


def test_a_schedule_depends_on_its_seed_and_fits_into_the_run() -> None:
    """The first fault comes when the programs run; all are lifted while clients still call."""
    for workload, lifted_us in (("broadcast", 4_800_000), ("lin-kv", 7_000_000)):
        campaign = _campaign(workload)
        for seed in range(1, 60):
            schedule = draw_live(campaign, seed)
            assert schedule == draw_live(campaign, seed)
            assert schedule.nodes == (1, 2, 3)
            assert schedule.end_us == RUN_US
            times = [fault.at_us for fault in schedule.faults]
            assert times == sorted(times)
            assert min(times) >= 2_000_000
            assert max(times) <= lifted_us
            if schedule.faults[-1].command == "resume all":
                assert [fault.at_us for fault in schedule.faults[-2:]] == [lifted_us // 1_000 * 1_000] * 2


def test_faults_strike_at_the_kinds_of_messages_of_a_calm_run() -> None:
    """Before, on and after they are sent; before last reads, all that ends a fault comes at its time."""
    kinds = ("Gossip", "Gossip", "Read")
    for workload in ("lin-kv", "broadcast"):
        campaign = striking_at(_campaign(workload), kinds)
        drawn = [draw_live(campaign, seed) for seed in range(1, 120)]
        faults = [fault for schedule in drawn for fault in schedule.faults]
        words = [tuple(fault.on.split()) for fault in faults if fault.on]
        assert {word[-2] if "->" in word[-1] else word[-1] for word in words} == {"Gossip", "Read"}
        assert {word[0] for word in words} == {"send", "before", "deliver"}
        has_links = any("->" in word[-1] for word in words)
        ends = [fault for fault in faults if fault.command.split()[0] in ("heal", "resume", "restart", "join")]
        assert has_links is any(fault.on for fault in ends) is (workload == "lin-kv")
        assert len(words) > 100
        for fault in faults:
            assert parse(str(fault)).triggers


def test_the_kinds_are_those_of_a_run() -> None:
    """Those between nodes count twice; of a campaign with last reads, what is sent at the beginning does not."""
    header = header_for(Program, _campaign().base, Schedule(1, (1, 2, 3), Link(), (), RUN_US))

    def step(at_us: int, source: int, target: int, kind: str) -> Step:
        sent = (Message(source, target, 1, kind, Raw(b"{}")),)
        return Step(node=source, incarnation=1, at_us=at_us, input=Fired("x"), sent=sent)

    records: list[Record] = [
        header,
        step(1_000, 1, 2, "Vote"),
        step(5_000, 4, 1, "Read"),
        step(6_000, 2, 3, "Gossip"),
    ]
    assert kinds_of(records) == ("Gossip", "Gossip", "Read", "Vote", "Vote")
    assert kinds_of(records, 5_000) == ("Gossip", "Gossip", "Read")


def test_the_time_of_shrinking_is_bounded() -> None:
    """Once it is over no run is begun; what is left is not called minimal."""
    schedule = draw_live(_campaign(), 1)
    with _Runs([]) as made:
        shrinking = LiveShrinking(made, _trial(True, schedule), VIOLATION, time.monotonic())
        shrinking.run(lambda tried: None)
    assert made.made == []
    assert (shrinking.trial.schedule, shrinking.tried, shrinking.untried) == (schedule, 0, OUT_OF_TIME)
    with _Runs([True]) as made:
        shrinking = LiveShrinking(made, _trial(True, schedule), VIOLATION, time.monotonic() + 3_600)
        shrinking.run(lambda tried: None)
    assert (shrinking.trial.schedule.faults, shrinking.untried) == ((), "")


def test_only_what_is_judged_by_last_reads_depends_on_time() -> None:
    """A wrong answer is wrong at any speed; who leads is a matter of time."""
    assert depends_on_time(VIOLATION)
    assert not depends_on_time(replace(VIOLATION, assertion="lin-kv"))
    assert depends_on_time(Violation("A1.1", 0, 0, (), {}, (), ""))


@pytest.mark.parametrize(
    ("shown", "found", "runs"),
    [([True], True, 1), ([False, True], True, 2), ([False] * 3, False, 3), ([None, None, None], False, 3)],
)
def test_what_may_be_a_matter_of_time_is_confirmed(shown: list[bool | None], found: bool, runs: int) -> None:
    """In runs of twice the time; in which the machine stalled, nothing is confirmed."""
    with _Runs([True, *shown]) as made:
        ((outcome, _),) = made.outcomes([draw_live(_campaign(), 1)])
    assert outcome.found is found
    assert outcome.unconfirmed == (() if found else ("broadcast",))
    assert bool(outcome.violations) is found
    assert (outcome.counterexample is not None) is found
    assert [schedule.end_us for schedule in made.made] == [RUN_US, *[2 * RUN_US] * runs]


def test_nobody_is_accused_of_a_stall() -> None:
    """If the machine stalls while the last reads are due, nothing is even repeated."""
    with _Runs([None]) as made:
        ((outcome, _),) = made.outcomes([draw_live(_campaign(), 1)])
    assert not outcome.found
    assert outcome.unconfirmed == ("broadcast",)
    assert len(made.made) == 1


def test_shrinking_repeats_each_candidate() -> None:
    """One that shows it once in three runs is kept; one that never does is not."""
    schedule = draw_live(_campaign(), 1)
    with _Runs([False, False, True, *[False] * 400]) as made:
        shrinking = LiveShrinking(made, _trial(True, schedule), VIOLATION)
        tried: list[int] = []
        shrinking.run(tried.append)
    assert shrinking.trial.schedule.faults == ()
    assert made.made == [replace(schedule, faults=())] * 3
    assert tried == [1]
    assert not shrinking.untried


def test_what_was_interrupted_is_not_called_minimal() -> None:
    """Ctrl-C may come before the first candidate, or amid them."""

    def interrupt(tried: int) -> None:
        raise KeyboardInterrupt

    with _Runs([]) as made:
        shrinking = LiveShrinking(made, _trial(True, draw_live(_campaign(), 1)), VIOLATION)
        assert shrinking.untried
        with pytest.raises(KeyboardInterrupt):
            shrinking.run(interrupt)
    assert shrinking.untried


def test_the_recordings_of_confirmations_are_not_kept(tmp_path: Path) -> None:
    """A campaign may last for days."""

    class Recorded(_Runs):
        def each(self, schedules: Any) -> Any:
            for number, trial in enumerate(super().each(schedules)):
                recording = tmp_path / f"{len(self.made)}-{number}"
                recording.touch()
                yield replace(trial, recording=recording)

    with Recorded([True, False, True]) as made:
        ((_, trial),) = made.outcomes([draw_live(_campaign(), 1)])
    assert list(tmp_path.iterdir()) == [trial.recording]


def test_shrinking_comes_to_an_end() -> None:
    """A candidate takes several live runs, so few are tried; the report then says so."""
    schedule = draw_live(_campaign(), 1)
    many = replace(schedule, faults=schedule.faults * 8)
    with _Runs([False] * 1_000) as made:
        shrinking = LiveShrinking(made, _trial(True, many), VIOLATION)
        shrinking.run(lambda tried: None)
    assert shrinking.trial.schedule == many
    assert shrinking.tried == 20
    assert shrinking.untried


def test_the_digest_is_of_the_files_that_the_command_names(tmp_path: Path) -> None:
    """So a campaign does not go on with another program."""
    path = tmp_path / "node.py"
    path.write_text("one")
    command = f"{sys.executable} {path} --fast"
    first = program_digest(command)
    assert first == program_digest(command)
    assert first != program_digest(f"{command}er")
    path.write_text("other")
    assert first != program_digest(command)


def test_the_command_that_makes_it_again() -> None:
    """With the program, the lens, the clients, and the seed of the links."""
    campaign = _campaign(command="/bin/node --fast")
    line = format_live_rerun(
        campaign.target, campaign.base, replace(draw_live(campaign, 4), clients=2), Path("a b.script")
    )
    assert line.startswith("lab run --program '/bin/node --fast' --nodes 1,2,3 --seed 4 --tm 400ms --tp 200ms ")
    assert line.endswith("--workload broadcast --clients 2 --rate 5 --script 'a b.script' --headless --for 10s")
    target = LENSES["program-raft"].name
    assert "--lens raft" in format_live_rerun(target, campaign.base, draw_live(campaign, 4), Path("x"))


def test_the_command_has_the_properties_and_the_settings_of_a_lens() -> None:
    campaign = replace(_campaign(), target="program-raft with /tmp/my own.py")
    info = replace(campaign.base.protocol, parameters={"program": "./node", "threshold": 5})
    campaign = replace(campaign, base=replace(campaign.base, protocol=info))
    line = format_live_rerun(campaign.target, campaign.base, draw_live(campaign, 4), Path("x"))
    assert " --lens raft --properties '/tmp/my own.py' " in line
    assert " --set threshold=5 " in line
    assert "--set program" not in line
