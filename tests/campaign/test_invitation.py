"""Campaigns of invitation: A3.1, A3.2 and A5 under every fault but a wipe; A4 once everything is healed.

The profile ``soak`` makes thousands of runs; a failure names its seed.
"""

from itertools import permutations
from random import Random
from typing import Any

import msgspec
import pytest

from lab.properties.verdicts import Violation
from lab.protocols import InvitationElection
from lab.recording.records import Header
from lab.worlds.campaign.schedule import FAULTS, draw
from lab.worlds.campaign.trial import run_trial
from tests.campaign.trials import TIMING, plan
from tests.harness import T_US, Rig, simulated_header
from tests.profile import amount
from tests.properties.recorded import judged

RUNS = amount(quick=8, soak=10000)
FEW = amount(quick=8, soak=1000)
BATCH = max(1, RUNS // 4)
LASTING = tuple(fault for fault in FAULTS if fault not in ("wipe", "disk"))
OPTIONS = ("priority_invitations", "informed_answers", "quick_regroup", "ignore_lower", "decline_lower")
SAFETY = {"A3.1", "A3.2", "A5"}


def _base(**parameters: Any) -> Header:
    given = InvitationElection.Parameters(**parameters)
    return simulated_header(InvitationElection, (1,), TIMING, parameters=given)


def _violations(base: Header, first: int, runs: int, *faults: str) -> list[tuple[int, Violation]]:
    drawn_from = plan(InvitationElection, *faults)
    return [
        (seed, violation)
        for seed in range(first, first + runs)
        for violation in run_trial(InvitationElection, base, draw(drawn_from, seed)).violations
    ]


def _describe_failures(found: list[tuple[int, Violation]], base: Header, *faults: str) -> str:
    seed, violation = found[0]
    given = "".join(f" --set {name}=true" for name, on in base.protocol.parameters.items() if on is True)
    return f"lab check invitation --faults {','.join(faults)} --seed {seed} --runs 1{given}: {violation}"


@pytest.mark.parametrize("first", range(1, RUNS + 1, BATCH))
def test_it_keeps_its_promise_under_every_fault(first: int) -> None:
    """Issue 4: no violation at all, not even an excused one, under every fault but a wipe."""
    found = _violations(_base(), first, min(BATCH, RUNS + 1 - first), *LASTING)
    assert found == [], _describe_failures(found, _base(), *LASTING)


@pytest.mark.parametrize("option", OPTIONS)
def test_with_the_optional_behaviours(option: str) -> None:
    """I9: each of them keeps the same promises."""
    base = _base(**{option: True})
    found = _violations(base, 1, amount(quick=2, soak=1000), *LASTING)
    assert found == [], _describe_failures(found, base, *LASTING)


def test_with_all_of_them() -> None:
    """I9: all together keep them, too."""
    base = _base(**dict.fromkeys(OPTIONS, True))
    found = _violations(base, 1, amount(quick=2, soak=1000), *LASTING)
    assert found == [], _describe_failures(found, base, *LASTING)


def _cut_in_one_direction(seed: int) -> Rig:
    """Return 2 to 4 nodes, with links cut for good in one direction, and perhaps a crash."""
    chance = Random(f"cuts {seed}")
    nodes = range(1, chance.randint(2, 4) + 1)
    option = chance.choice(["", *OPTIONS])
    parameters: dict[str, Any] = {option: True} if option else {}
    given = InvitationElection.Parameters(**parameters)
    rig = Rig(nodes, protocol=InvitationElection, jitter_us=20_000, seed=seed, parameters=given)
    at_us, share = chance.choice([0, 10 * T_US]), chance.choice([0.2, 0.5])
    for source, target in permutations(nodes, 2):
        if chance.random() < share:
            rig.do(f"at {at_us}us cut {source}->{target}")
    if chance.random() < 0.5:
        rig.do(f"at {chance.randrange(20 * T_US)}us kill {chance.choice(nodes)}")
    return rig.started().run(20 * T_US + 2 * rig.header.protocol.settles_within_us)


def test_cuts_in_one_direction() -> None:
    """A4 during such cuts, among nodes that can talk both ways; campaigns do not draw such cuts."""
    for seed in range(FEW):
        rig = _cut_in_one_direction(seed)
        judge = judged(rig.records)
        assert 0 < judge.decided_us < rig.now_us
        assert judge.violations == [], f"seed {seed}: {judge.violations[0]}"


def test_whatever_the_reading_the_listings_agree_and_may_not_merge() -> None:
    """The readings and the gap cost A4 and M7; A3.1 and A3.2 hold without any repair."""
    base = _base(wait="T/priority", heard="any", without=("all",))
    found = _violations(base, 1, FEW, *LASTING)
    assert "A4" in {violation.assertion for _, violation in found}
    assert {violation.assertion for _, violation in found} <= {"A4", "A5", "M7", "spreads"}


@pytest.mark.parametrize("wait", ["by_rank", "T/priority", "100T/priority"])
def test_a_gap_is_open_in_every_reading(wait: str) -> None:
    """A4 fails without the repair, however long the wait; the other readings that are no default fail with it."""
    left_out, mended = (_base(wait=wait, without=names) for names in (("stop_threads",), ()))
    seed = next(seed for seed in range(1, 20) if "A4" in _assertions(left_out, seed))
    assert wait == "T/priority" or not _assertions(mended, seed), "which alone lets A4 fail"


def _assertions(base: Header, seed: int) -> set[str]:
    return {violation.assertion for _, violation in _violations(base, seed, 1, *LASTING) if violation.is_failure}


def test_a_wipe_breaks_A5_and_is_caught() -> None:
    """A5 relies on stable storage: identifiers recur, excused by assumption 4."""
    found = _violations(_base(), 1, FEW, "wipe", "kill")
    assert "A5" in {violation.assertion for _, violation in found}
    assert not [each for each in found if each[1].is_failure]
    assert {broken.assumption for _, violation in found for broken in violation.broken} == {4}
    assert {violation.assertion for _, violation in found} <= SAFETY


def test_header_has_the_assumptions() -> None:
    """A3 and A5 rely on assumption 4 alone."""
    assert _base().protocol.relies_on == dict.fromkeys(sorted(SAFETY), (4,))
    assert msgspec.json.decode(msgspec.json.encode(_base().protocol.promises)) == [
        "A3.1",
        "A3.2",
        "A4",
        "A5",
        "M7",
        "spreads",
        "defined",
    ]
