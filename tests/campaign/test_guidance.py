"""Guided campaigns: runs that are struck as they go, variations, the corpus, and what they find."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from lab.protocols import Algorithm, Bully, InvitationElection, Ring, Token, TwoPhaseCommit
from lab.recording.records import Commanded
from lab.worlds.campaign.campaign import Campaign, run_campaign
from lab.worlds.campaign.guidance import LAG, Corpus, CorpusError, Guide, load_corpus, save_corpus, vary
from lab.worlds.campaign.schedule import STRONGEST, Schedule, SchedulePlan, draw, draw_frame
from lab.worlds.campaign.situations import Situations
from lab.worlds.campaign.trial import SearchGoal, Trial, run_trial
from lab.worlds.loading.targets import load_protocol
from tests.campaign import mutants
from tests.campaign.trials import TIMING, base_of, plan
from tests.harness import simulated_header
from tests.profile import amount

PROTOCOLS: list[type[Algorithm]] = [Bully, Ring, InvitationElection, TwoPhaseCommit, Token]
Drawing = Callable[[SchedulePlan, int], Schedule]
seeds = st.integers(0, 1 << 40)
RUNS = amount(quick=24, soak=60)


def _struck(
    protocol: type[Algorithm], seed: int, before: dict[int, int], *faults: str, frame: Drawing = draw_frame
) -> Trial:
    wanted = plan(protocol, *faults)
    return run_trial(protocol, base_of(protocol), frame(wanted, seed), strikes=(wanted, before))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_strikes_in_addition_to_random_faults(protocol: type[Algorithm]) -> None:
    """Executed again it gives the same records, also where two lines wait for the same message."""
    faults = [kind for kind in STRONGEST if kind != "slow-disk"]
    for seed in range(1, 1 + amount(quick=2, soak=15)):
        struck = _struck(protocol, seed, {}, *faults, frame=draw)
        assert run_trial(protocol, base_of(protocol), struck.schedule).records[1:] == struck.records[1:]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_struck_run_is_a_schedule_like_any_other(protocol: type[Algorithm]) -> None:
    """Executed again it gives the same records; each strike came at its message, and changed something."""
    strikes = 0
    runs = amount(quick=4, soak=7)
    for seed in range(1, 1 + runs):
        struck = _struck(protocol, seed, {}, *STRONGEST)
        again = run_trial(protocol, base_of(protocol), struck.schedule)
        assert again.records[1:] == struck.records[1:]
        commands = [record for record in struck.records if isinstance(record, Commanded)]
        given_us = [record.at_us for record in commands if " send " in record.text or " deliver " in record.text]
        assert sorted(given_us) == sorted(fault.at_us for fault in struck.schedule.faults if fault.on)
        assert len(struck.struck) == len(given_us)
        strikes += len(given_us)
    assert strikes > runs


def test_strikes_go_where_few_have_been() -> None:
    """After many runs hardly any situation has been struck much more often than the others."""
    before: Counter[int] = Counter()
    first: set[int] = set()
    for seed in range(1, 1 + RUNS):
        found = _struck(Bully, seed, dict(before)).struck
        before.update(found)
        if seed <= RUNS // 2:
            first |= {*found}
    assert len(before) > RUNS
    assert len({*before} - first) > RUNS // 4
    assert max(before.values()) < 10


def test_moments_that_are_short_are_struck() -> None:
    """A mutant that errs in a reaction that lasts for milliseconds: most of its failures are in struck runs."""
    protocol = mutants.AlwaysNormal
    wanted, base = plan(protocol), base_of(protocol)
    guide, found, runs = Guide(wanted, 1, amount(quick=72, soak=200), Corpus()), Counter[bool](), Counter[bool]()
    for chunk in guide.chunks():
        for each in chunk:
            strikes = None if each.struck is None else (wanted, each.struck)
            trial = run_trial(protocol, base, each.schedule, strikes=strikes, with_situations=True)
            is_struck = each.struck is not None
            runs[is_struck] += 1
            found[is_struck] += any(violation.is_failure for violation in trial.violations)
            guide.add(trial.schedule, trial.situations, trial.struck)
    assert runs[True] > runs[False] / 2
    assert found[True] / runs[True] > 2 * found[False] / runs[False]


@given(seeds, seeds, st.sampled_from(PROTOCOLS))
def test_a_variation_is_a_schedule(seed: int, parent: int, protocol: type[Algorithm]) -> None:
    """It depends on its arguments alone, names nodes of the run, and is in the order of time."""
    wanted = plan(protocol, *STRONGEST)
    one, other = draw(wanted, parent), draw(wanted, parent + 1)
    varied = vary(wanted, one, other, seed)
    assert vary(wanted, one, other, seed) == varied
    times = [fault.at_us for fault in varied.faults]
    assert times == sorted(times)
    assert max(times, default=0) <= varied.end_us
    killed = {fault.command for fault in varied.faults if fault.command.startswith(("kill", "pause", "restart"))}
    assert killed <= {f"{verb} {node}" for verb in ("kill", "pause", "restart") for node in varied.nodes}


def test_a_corpus_keeps_what_is_new(tmp_path: Path) -> None:
    """A schedule that reached nothing new is counted and not kept; the kept ones are read again, and run first."""
    wanted, base, corpus = plan(Bully), base_of(Bully), Corpus()
    trials = [run_trial(Bully, base, draw(wanted, seed), with_situations=True) for seed in (1, 1, 2)]
    assert [corpus.add(each.schedule, each.situations, ()) for each in trials] == [True, False, True]
    assert corpus.schedules == [trials[0].schedule, trials[2].schedule]
    folder = load_corpus(tmp_path / "kept")
    assert folder.loaded == ()
    assert save_corpus(corpus, tmp_path / "kept") == 2
    again = load_corpus(tmp_path / "kept")
    assert again.loaded == (trials[0].schedule, trials[2].schedule)
    other = Corpus(again.loaded)
    other.add(replace(trials[0].schedule, end_us=1), trials[0].situations, ())
    assert save_corpus(other, tmp_path / "kept") == 3, "another campaign draws another schedule from the seed"
    first = next(Guide(wanted, 7, 0, again).chunks())
    assert [each.schedule for each in first] == list(again.loaded)


def test_tasks_of_an_elected_coordinator_are_varied_most() -> None:
    """Few schedules get far into one; those that do are worth more variations than in an election."""
    varied: dict[str, int] = {}
    for name in ("bully", "2pc", "e3pc"):
        wanted, corpus = plan(load_protocol(name), *STRONGEST), Corpus()
        corpus.add(draw(wanted, 1), Situations(frozenset({1}), frozenset()), ())
        corpus.rank()
        drawn = {seed: corpus.next(wanted, seed) for seed in range(2, 202)}
        new = [seed for seed in drawn if drawn[seed][0] not in (draw(wanted, seed), draw_frame(wanted, seed))]
        assert not any(drawn[seed][1] for seed in new)
        varied[name] = len(new)
    assert varied["bully"] == varied["2pc"] < 40
    assert varied["e3pc"] > 70


def test_a_folder_that_is_no_corpus(tmp_path: Path) -> None:
    (tmp_path / "1.schedule.json").write_text('{"seed": "one"}')
    with pytest.raises(CorpusError, match=r"1\.schedule\.json is no schedule of a campaign: "):
        load_corpus(tmp_path)
    file = tmp_path / "a file"
    file.write_text("")
    with pytest.raises(CorpusError, match="--corpus "):
        load_corpus(file)


def test_nothing_is_known_before_the_lag() -> None:
    """The first chunks are the blind ones: so the same schedules come whatever is executed at a time."""
    wanted = plan(Bully)
    chunks = Guide(wanted, 1, 0, Corpus()).chunks()
    for number in range(LAG):
        for place, each in enumerate(next(chunks)):
            assert each.schedule == draw(wanted, 1 + 2 * number + place)
            assert each.struck is None


def test_a_partition_amid_a_commit() -> None:
    """A counterexample is found soon: a leader that commits with everyone alive is cut off amid PreCommits."""
    protocol = load_protocol("3pc")
    given = protocol.Parameters(commit_after="everyone_alive")
    base = simulated_header(protocol, tuple(range(1, 8)), TIMING, parameters=given)
    found, seeds = 0, (100_000, 200_000, 300_000)[: amount(quick=1, soak=3)]
    for seed in seeds:
        campaign = Campaign("3pc", base, plan(protocol, "partition"), SearchGoal("A6"), seed, 60)
        found += any(outcome.found for outcome in run_campaign(campaign))
    assert found > len(seeds) / 2
