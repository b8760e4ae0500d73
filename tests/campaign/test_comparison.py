"""Comparisons: all protocols get the same schedule, on any number of workers, and are measured."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from lab.kernel import Timing
from lab.protocols import Bully
from lab.protocols.transaction import Transaction
from lab.recording.records import Header, Link
from lab.script.parse import parse, read_script
from lab.script.statements import At
from lab.tasks.bank.bank_comparison import BankComparison
from lab.tasks.comparison import quantile
from lab.worlds.campaign.comparison import (
    ProtocolComparison,
    SharedSchedule,
    measure_run,
    run_comparison,
    shared_schedule,
)
from lab.worlds.campaign.schedule import FAULTS, SchedulePlan
from lab.worlds.loading.targets import load_protocol
from tests.harness import simulated_header
from tests.profile import amount, sampled

FOLDER = Path(__file__).parent
TIMING = Timing(80_000, 40_000)
RUNS = amount(quick=8, soak=40)
NODES = (1, 2, 3, 4, 5)
CRASHED = Transaction(5, 41)


def _comparison(
    *targets: str, script: tuple[str, ...] | None = None, faults: tuple[str, ...] = ("kill",)
) -> ProtocolComparison:
    bases = tuple(_base(target) for target in targets)
    return ProtocolComparison(targets, bases, SchedulePlan((5, 5), faults, TIMING, ()), script, 1, RUNS)


def _base(target: str) -> Header:
    return simulated_header(load_protocol(target), NODES, TIMING)


def test_faults_are_timed_and_the_same_for_all() -> None:
    """No fault waits for a message, because other protocols may not have its kind."""
    drawn = [shared_schedule(_comparison("bully", faults=tuple(FAULTS)), seed) for seed in range(40)]
    mutant = f"{FOLDER / 'mutants.py'}:NoHalt"
    assert drawn == [
        shared_schedule(_comparison(mutant, "bully", faults=tuple(FAULTS)), seed) for seed in range(40)
    ]
    commands = [command for course in drawn for command in course.commands]
    assert len(commands) > 100
    assert all([type(each) for each in command.triggers] == [At] for command in commands)


def test_with_a_script_the_seed_draws_the_links_alone() -> None:
    """There is time to settle after its last line."""
    script = ("at 2s after 500ms kill 5", "when all normal pause 4", "at 1s resume 4")
    comparison = _comparison("bully", script=script)
    courses = [shared_schedule(comparison, seed) for seed in range(1, 7)]
    assert {course.commands for course in courses} == {tuple(read_script("\n".join(script)))}
    assert len({course.link for course in courses}) > 2
    settle_us = comparison.bases[0].protocol.settles_within_us
    assert {course.end_us for course in courses} == {2_500_000 + settle_us}


def test_cost_of_a_coordinator_crash() -> None:
    """The messages equal those of ``lab scale``: with links that take no time, every node detects the crash."""
    course = SharedSchedule(1, NODES, Link(), (parse("at 2050ms kill coordinator"),), 8_000_000)
    measured = measure_run(Bully, _base("bully"), course)
    assert measured.measured.elections[1:] == (Bully.costs[0].messages(5),)
    (outage_us,) = measured.measured.outages_us
    assert 4 * TIMING.t_us < outage_us <= 5 * TIMING.t_us
    assert (measured.measured.several_us, measured.measured.task) == (0, None)
    assert measured.violations == dict.fromkeys(Bully.promises, (0, 0))


def test_a_command_without_a_trigger_is_carried_out_at_the_start() -> None:
    struck = measure_run(
        Bully, _base("bully"), SharedSchedule(1, NODES, Link(10_000), (parse("kill 5"),), 4_000_000)
    )
    assert struck.measured.outages_us == ()
    assert len(struck.measured.elections) == 1


def test_failures_are_distinguished_from_excused_violations() -> None:
    """A mutant fails with all assumptions intact; a pause breaks an assumption that bully needs."""
    faults = tuple(FAULTS)
    mutant = run_comparison(_comparison(f"{FOLDER / 'mutants.py'}:NoHalt"))
    assert any(failures for (one,) in mutant for failures, _ in one.violations.values())
    paused = list(run_comparison(_comparison("bully", faults=faults)))
    assert any(outside for (one,) in paused for _, outside in one.violations.values())
    assert not any(failures for (one,) in paused for failures, _ in one.violations.values())


def test_the_work_of_the_field_is_counted() -> None:
    """A crash loses readings not yet reported; readings are not messages of an election."""
    plain, field = _comparison("bully"), _comparison("field above bully")
    without, with_field = list(run_comparison(plain)), list(run_comparison(field))
    assert all(one.measured.task is None for (one,) in without)
    works = [one.measured.task for (one,) in with_field]
    assert len(works) == RUNS
    assert all(work.made > work.lost + work.duplicated for work in works)
    assert sum(work.lost for work in works) > 0
    assert [len(one.measured.elections) for (one,) in without] == [
        len(one.measured.elections) for (one,) in with_field
    ]


class _Surveys(Bully):
    """Has a state variable with the same name as one of the field protocol."""

    survey: int = 0

    def recovery(self) -> None:
        self.survey += 1
        super().recovery()


def test_only_the_field_protocol_has_readings() -> None:
    course = SharedSchedule(1, NODES, Link(), (parse("at 2s kill 5"),), 8_000_000)
    assert measure_run(_Surveys, _base("bully"), course) == measure_run(Bully, _base("bully"), course)


def test_without_a_script_there_are_transactions_and_faults() -> None:
    """All commit protocols get the same ones; the last begin before the end of the random faults."""
    bank = replace(_comparison("2pc", "3pc"), load=True)
    strikes, with_load = shared_schedule(_comparison("2pc", "3pc"), 3), shared_schedule(bank, 3)
    more = [line.text for line in with_load.commands if line not in strikes.commands]
    assert with_load.end_us == strikes.end_us
    assert more == ["tell 5 transactions 40 at 20/s"] * len(more)
    assert more


def test_cost_of_a_commit() -> None:
    """It is measured from the records, without elections; there are verdicts as well."""
    course = SharedSchedule(1, NODES, Link(1_000), tuple(read_script("at 3s tell 5 withdraw 350")), 6_000_000)
    for name, messages in (("2pc", 9), ("3pc", 15)):
        measured = measure_run(load_protocol(name), _base(name), course)
        (one,) = measured.measured.transactions
        assert (one.outcome, one.messages, one.participants) == ("committed", messages, 3)
        assert measured.violations["A6"] == (0, 0)


def test_default_script_of_a_bank() -> None:
    """The elected coordinator, the highest node, crashes during a vote; its successor gets a load."""
    assert BankComparison.default_script(NODES, TIMING) == (
        "at 2s tell 5 transactions 40 at 20/s",
        "at 6s tell 5 transfer 100 savings checking",
        "then on send Vote 1->5 kill 5",
        "after 3s tell 4 transactions 40 at 20/s",
        "after 3s restart 5",
        "after 2s tell 5 transactions 40 at 20/s",
    )


@pytest.mark.parametrize("seed", sampled([10, 28, 33], 3))
def test_default_script_crashes_during_the_votes(seed: int) -> None:
    """Over slow links too: 2pc blocks until the coordinator is back; 3pc, with a majority, does not."""
    course = shared_schedule(_comparison("2pc", "3pc", script=BankComparison.default_script(NODES, TIMING)), seed)
    two, three = (measure_run(load_protocol(name), _base(name), course).measured for name in ("2pc", "3pc"))
    assert two.longest is not None
    assert three.longest is not None
    assert (two.longest.transaction, two.longest.participants, two.longest.missing) == (CRASHED, (1, 2, 5), (5,))
    assert (three.longest.transaction, three.longest.missing) == (CRASHED, (5,))
    assert two.longest.us > 5_000_000
    assert three.longest.us < 3_000_000


def test_quantiles() -> None:
    """A quantile is always one of the values."""
    assert [quantile([5, 1, 3], share) for share in (0, 0.3, 0.5, 0.95, 1)] == [1, 1, 3, 5, 5]
    assert quantile(range(1, 101), 0.95) == 95
    assert quantile([], 0.5) is None


def test_two_workers_measure_the_same() -> None:
    """The results are equal, in the order of the seeds."""
    comparison = _comparison("bully", f"{FOLDER / 'mutants.py'}:NoHalt", faults=("kill", "loss"))
    assert list(run_comparison(comparison, 2)) == list(run_comparison(comparison))
