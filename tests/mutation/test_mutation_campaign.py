"""Mutants under the schedules of a campaign: by what each is killed, which survive, and which are equivalent."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from lab.kernel import Timing
from lab.properties.registry import declared_for
from lab.worlds.campaign.campaign import Campaign
from lab.worlds.campaign.schedule import plan_of
from lab.worlds.campaign.trial import SearchGoal
from lab.worlds.loading.config import simulation_header
from lab.worlds.loading.targets import load_protocol
from lab.worlds.mutation import mutation_campaign
from lab.worlds.mutation.mutable_source import ProtocolSource
from lab.worlds.mutation.mutants import Mutant, mutants_of
from lab.worlds.mutation.mutation_campaign import (
    COST,
    IN_PROPERTY,
    NOT_JUDGED,
    Behaviour,
    Killer,
    MutantOutcome,
    MutationCampaign,
    MutationScore,
    OriginalFailsError,
    OriginalRun,
    RuleScore,
)
from lab.worlds.mutation.mutation_rules import RULES
from tests.profile import amount, sampled

FILE = Path(__file__).with_name("beacon.py")
BEACON = f"{FILE}:Beacon"
TIMING = Timing(80_000, 40_000)
STRIDE = amount(quick=3, soak=1)
"""Of the mutants of some campaigns, each that comes so much later is run."""
ENDLESS_S = 0.1
"""When a step is taken as endless here: half a second for each such mutant would be most of the time."""


@pytest.fixture(autouse=True)
def path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Undo the changes of the search path by loading; take runs as repeatable, and be impatient with steps."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(mutation_campaign, "require_repeatable", lambda *given: None)
    monkeypatch.setattr("lab.worlds.watchdog._MOST_S", ENDLESS_S)


def _campaign(target: str = BEACON, runs: int = 4, seed: int = 1) -> MutationCampaign:
    protocol = load_protocol(target)
    base = simulation_header(protocol, (1, 2, 3), TIMING, {})
    plan = plan_of(protocol, (3, 3), ("kill",), TIMING)
    source = ProtocolSource(protocol)
    return MutationCampaign(Campaign(target, base, plan, SearchGoal(), seed, runs), source, [*mutants_of(source)])


def _tested(
    campaign: MutationCampaign, workers: int = 1, explores: bool = True
) -> list[tuple[Mutant, MutantOutcome]]:
    assert [*campaign.run_original(workers)] == [*range(1, 2 * campaign.campaign.runs + 1)]
    if explores:
        campaign.explore_original({})
    return list(campaign.run_mutants(workers))


@pytest.fixture(scope="module")
def tested() -> Iterator[dict[str, MutantOutcome]]:
    """Return the outcomes of all mutants of the toy, by their changes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [*sys.path])
        patch.setattr("lab.worlds.watchdog._MOST_S", ENDLESS_S)
        yield {mutant.summary: outcome for mutant, outcome in _tested(_campaign())}


def test_a_mutant_is_killed_by_the_first_assertion_that_fails(tested: dict[str, MutantOutcome]) -> None:
    """The count in memory falls at a restart."""
    killed = tested["count: Safe[int] = 0 → count: int = 0"]
    assert (killed.result, killed.by, killed.runs) == ("killed", "never_falls", 2)
    assert killed.text.startswith("never_falls fails with all assumptions intact: ")


def test_a_mutant_is_killed_by_an_endless_step(tested: dict[str, MutantOutcome]) -> None:
    killed = tested['without: await self.sleep(2 * self.timing.t_us, "the next beat")']
    assert (killed.result, killed.by) == ("killed", "endless step")


def test_what_only_costs_more_is_killed_by_its_cost(tested: dict[str, MutantOutcome]) -> None:
    """Twice as many messages violate nothing; half as many do not cost more."""
    sleep = 'await self.sleep({}, "the next beat")'
    often, seldom = (
        tested[f"{sleep.format('2 * self.timing.t_us')} → {sleep.format(wait)}"]
        for wait in ("self.timing.t_us", "4 * self.timing.t_us")
    )
    assert (often.result, often.by) == ("killed", COST)
    assert re.fullmatch(r"in \d+ calm runs with 3 nodes, [\d,]+ messages instead of [\d,]+.*", often.text)
    assert seldom.result == "survived"


def test_what_no_property_notices_survives(tested: dict[str, MutantOutcome]) -> None:
    """Nobody sends anything; nothing requires that counts rise."""
    survived = tested["self.send(peer, Count(self.count)) → pass"]
    difference = survived.difference
    assert survived == MutantOutcome(survived.number, "survived", difference=difference, explored="different")
    assert difference is not None
    assert (difference.runs, difference.same, difference.messages) == (4, 0, 0)
    assert difference.messages_before > 0


def test_a_survivor_without_any_difference(tested: dict[str, MutantOutcome]) -> None:
    """In its runs it adopts a count that it has."""
    equivalent = tested["if message.number <= self.count: → if message.number < self.count:"].difference
    assert equivalent is not None
    assert equivalent.same == equivalent.runs > 0
    assert equivalent.messages == equivalent.messages_before > 0


def test_a_killed_mutant_has_no_difference(tested: dict[str, MutantOutcome]) -> None:
    """Its runs end with the first failure."""
    assert all(each.difference is None for each in tested.values() if each.result == "killed")


def test_what_no_run_executes_is_not_run(tested: dict[str, MutantOutcome]) -> None:
    for summary in ("self.count = 0 → pass", "self.count = 0 → self.count = 1"):
        assert tested[summary].result == "unreached"
        assert not tested[summary].explored


def test_a_mutant_that_reaches_the_same_states_is_equivalent(tested: dict[str, MutantOutcome]) -> None:
    """It adopts the count that it has."""
    assert tested["if message.number <= self.count: → if message.number < self.count:"].result == "equivalent"
    assert [each for each in tested.values() if each.result == "equivalent"] == [
        tested["if message.number <= self.count: → if message.number < self.count:"]
    ]


def test_the_exploration_may_notice_what_no_run_does(tested: dict[str, MutantOutcome]) -> None:
    """A count falls when a late message arrives, which these runs do not show."""
    survived = tested["without: if message.number <= self.count:"]
    assert survived.result == "survived"
    (found,) = survived.violated
    assert (found.assertion, found.moves) == ("never_falls", 3)
    assert found.bounds == "2 nodes, 1 kill, 1 restart, timeouts synchronous, from start"


def test_a_mutant_is_killed_if_an_assertion_is_judged_no_more() -> None:
    """No node waits for the token, or hands it on: K1 and K2 have nothing to judge."""
    campaign = _campaign("token", runs=3)
    campaign.mutants = tuple(each for each in campaign.mutants if each.summary == "without: self.stand_in_line()")
    ((_, outcome),) = _tested(campaign, explores=False)
    assert min(campaign.count_judged()[name] for name in ("K1", "K2")) > 0
    assert outcome == MutantOutcome(outcome.number, "killed", NOT_JUDGED, "judged in no run: K1, K2", 3)


def test_a_mutant_is_killed_by_an_error_in_a_property(tmp_path: Path) -> None:
    """It shows a state that the property does not expect, and ``lab check`` would report that."""
    properties = tmp_path / "expects.py"
    properties.write_text(
        "from lab.properties import GlobalState, Outcome, invariant\n\n\n@invariant\n"
        "def is_known(state: GlobalState) -> Outcome:\n"
        '    """Each count is one of those known."""\n'
        "    return all({0: 1, 1: 1, 2: 1}[node.count] for node in state)\n"
    )
    campaign = _campaign(f"{BEACON} with {properties}", runs=3)
    campaign.mutants = tuple(
        each for each in campaign.mutants if each.summary == "if self.count < MOST: → if True:"
    )
    ((_, outcome),) = _tested(campaign, explores=False)
    assert (outcome.result, outcome.by) == ("killed", IN_PROPERTY)
    assert "is_known raises expects.py:7: KeyError: 3" in outcome.text


def test_what_other_runs_judge_is_judged() -> None:
    """A run that is left out, because it does not execute the change, is a run of the mutant all the same."""
    run = OriginalRun("", (frozenset({1}),), frozenset({"K1", "K2"}), Behaviour(0, 0), 0.0)
    mutant = Mutant(1, "call", "m", "m.py", 1, "Beacon", frozenset({1}), "", "")
    owed = [
        mutation_campaign._task_of(mutant, "", 0, runs, ()).owed
        for runs in ([run], [run, replace(run, lines=(frozenset(),), judged=frozenset({"K1"}))])
    ]
    assert owed == [("K1", "K2"), ("K2",)]


def test_parameters_that_make_it_finite_are_used_to_explore() -> None:
    """Not if the user has set them."""
    campaign = _campaign("token", runs=1)
    for given, explored in (({}, 1), ({"by_itself": 0}, 0)):
        campaign.explore_original(given)
        assert campaign.explorations
        for each in campaign.explorations:
            assert each.header.protocol.parameters["by_itself"] == explored


def test_the_outcomes_do_not_depend_on_the_number_of_workers(tested: dict[str, MutantOutcome]) -> None:
    campaign = _campaign()
    # workers have the patience of users with an endless step
    some = [each for each in campaign.mutants if tested[each.summary].by != "endless step"][::STRIDE]
    campaign.mutants = tuple(some)
    two = _tested(campaign, workers=2)
    assert [mutant for mutant, _ in two] == some
    assert [outcome for _, outcome in two] == [tested[mutant.summary] for mutant in some]
    assert len({outcome.result for _, outcome in two}) > 1


@pytest.mark.parametrize("target", sampled([BEACON, "bully", "token"], 2))
def test_runs_that_are_left_out_would_find_nothing(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor would those that have not executed the changed line fail first."""
    campaign = _campaign(target, runs=3)
    campaign.mutants = campaign.mutants[:: STRIDE if target == BEACON else 5 * STRIDE]
    planned = _tested(campaign, explores=False)
    task_of = mutation_campaign._task_of
    monkeypatch.setattr(mutation_campaign, "_task_of", lambda *each: replace(task_of(*each), runs=0b111))
    for (mutant, outcome), (_, again) in zip(planned, campaign.run_mutants(1), strict=True):
        assert again.result == ("survived" if outcome.result == "unreached" else outcome.result), mutant.summary
        assert (again.by, again.runs, again.text) == (outcome.by, outcome.runs, outcome.text), mutant.summary


def _written(source: ProtocolSource, old: str, new: str, number: int = 1) -> Mutant:
    """Return a mutant that no rule makes."""
    (module,) = source.modules.values()
    assert old in module.text
    text = module.text.replace(old, new)
    return Mutant(number, "call", module.name, module.path.name, 1, "Beacon", frozenset(), text, "")


def test_errors_runaways_and_invalid_mutants() -> None:
    """An error in the protocol kills; one that is raised when the file is loaded makes a mutant invalid."""
    campaign, source = _campaign(runs=2), ProtocolSource(load_protocol(BEACON))
    handler = "        if message.number <= self.count:\n            return\n"
    flood = "        for peer in self.peers:\n            self.send(peer, message)\n"
    mutants = [
        _written(source, handler, "        assert sender > 9\n", 1),
        _written(source, handler, flood + handler, 2),
        _written(source, "MOST = 2", "MOST = TWO", 3),
        _written(source, "self.begin(self.beat)", "self.beat()", 4),
    ]
    found = MutationCampaign(campaign.campaign, source, mutants)
    error, runaway, unloadable, refused = (outcome for _, outcome in _tested(found, explores=False))
    assert (error.result, error.by) == ("killed", "raises")
    assert "AssertionError" in error.text
    assert (runaway.result, runaway.by) == ("killed", "runaway")
    assert "its messages multiply" in runaway.text
    assert unloadable.result == refused.result == "invalid"
    assert "NameError: name 'TWO' is not defined" in unloadable.text
    assert "beat" in refused.text


def test_the_original_must_not_fail() -> None:
    target = f"{FILE.parents[2]}/lab/guide/build/raft.py:ForgetfulRaft"
    campaign = _campaign(target, runs=100, seed=63)
    with pytest.raises(OriginalFailsError, match=r"^seed \d+: one_leader_per_term fails with all assumptions"):
        list(campaign.run_original(1))


def test_the_original_is_loaded_again_at_the_end() -> None:
    """A mutant registers the properties of its own file under the same name."""
    campaign = _campaign(runs=1)
    campaign.mutants = campaign.mutants[:2]
    before = declared_for(campaign.campaign.base.protocol)
    _tested(campaign, explores=False)
    assert declared_for(campaign.campaign.base.protocol) == before


CACHED = "from functools import lru_cache\n\n\n@lru_cache\ndef most(count: int) -> int:\n    return 2\n\n\n"


def test_cached_functions_are_executed_in_every_run(tmp_path: Path) -> None:
    """Although an earlier run of the process has computed their values."""
    file = tmp_path / "cached.py"
    text = FILE.read_text().replace("class Beacon", f"{CACHED}class Beacon", 1)
    file.write_text(text.replace("self.count < MOST", "self.count < most(self.count)"))
    campaign = _campaign(f"{file}:Beacon")
    list(campaign.run_original(1))
    line = file.read_text().splitlines().index("    return 2") + 1
    assert all(line in run.lines[0] for run in campaign.original)


def test_the_score() -> None:
    """The killed, of all that can be loaded and are not equivalent; the median counts runs."""
    score = MutationScore([rule.id for rule in RULES])
    assert (score.percent, score.killers) == (None, [])
    (mutant, *_) = _campaign().mutants
    for number, result in enumerate(["killed", "killed", "survived", "unreached", "equivalent", "invalid"], 1):
        score.add(mutant, MutantOutcome(number, result, "A2", runs=number))  # type: ignore[arg-type]
    assert score.total == score.rules[mutant.rule] == RuleScore(5, 2, 1, 2, 1, 1)
    assert score.percent == 50
    assert score.killers == [Killer("A2", 2, 1)]
    assert [outcome.number for _, outcome in score.of("survived", "unreached")] == [3, 4]
