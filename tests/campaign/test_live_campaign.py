"""Campaigns on programs: their schedules, what a slow machine may have caused, and how runs are repeated."""

import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from lab.kernel import Timing
from lab.properties.history_verdict import HistoryViolation, OperationCounts
from lab.properties.verdicts import Violation
from lab.protocols.lenses import LENSES
from lab.protocols.program import Program
from lab.worlds.campaign.campaign import Campaign, LivePlan
from lab.worlds.campaign.live_campaign import (
    LiveRuns,
    LiveShrinking,
    LiveTrial,
    depends_on_time,
    draw_live,
    format_live_rerun,
    live_header,
    live_schedule_plan,
    program_digest,
)
from lab.worlds.campaign.schedule import Schedule
from lab.worlds.campaign.trial import SearchGoal, header_for
from lab.worlds.loading.roles import Wanted, roles_of

TIMING = Timing(400_000, 200_000)
RUN_US = 10_000_000


def _campaign(workload: str = "broadcast", command: str = "./node", run_us: int = RUN_US) -> Campaign:
    base = live_header("program", Program, 3, TIMING, {"program": command})
    base = replace(base, roles=roles_of(Wanted(workload), Program, base.nodes, TIMING, None))
    plan = live_schedule_plan((3, 3), ("pause", "partition", "loss"), run_us, 0)
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
    assert shrinking.is_minimal


def test_what_was_interrupted_is_not_called_minimal() -> None:
    """Ctrl-C may come before the first candidate, or amid them."""

    def interrupt(tried: int) -> None:
        raise KeyboardInterrupt

    with _Runs([]) as made:
        shrinking = LiveShrinking(made, _trial(True, draw_live(_campaign(), 1)), VIOLATION)
        assert not shrinking.is_minimal
        with pytest.raises(KeyboardInterrupt):
            shrinking.run(interrupt)
    assert not shrinking.is_minimal


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
    assert not shrinking.is_minimal


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
    line = format_live_rerun(campaign, replace(draw_live(campaign, 4), clients=2), Path("a b.script"))
    assert line.startswith("lab run --program '/bin/node --fast' --nodes 1,2,3 --seed 4 --tm 400ms --tp 200ms ")
    assert line.endswith("--workload broadcast --clients 2 --rate 5 --script 'a b.script' --headless --for 10s")
    assert "--lens raft" in format_live_rerun(
        replace(campaign, target=LENSES["program-raft"].name), draw_live(campaign, 4), Path("x")
    )


def test_the_command_has_the_properties_and_the_settings_of_a_lens() -> None:
    campaign = replace(_campaign(), target="program-raft with /tmp/my own.py")
    info = replace(campaign.base.protocol, parameters={"program": "./node", "threshold": 5})
    campaign = replace(campaign, base=replace(campaign.base, protocol=info))
    line = format_live_rerun(campaign, draw_live(campaign, 4), Path("x"))
    assert " --lens raft --properties '/tmp/my own.py' " in line
    assert " --set threshold=5 " in line
    assert "--set program" not in line
