"""E3PC: attempts of one leader, which need not be a participant, each with a number of its own (P7)."""

from typing import ClassVar

import pytest

import lab
from lab.kernel import procedure
from lab.protocols.e3pc import EnhancedThreePhaseCommit
from lab.protocols.three_phase import InDoubtTransaction
from lab.protocols.transaction import Round

SCRIPT = """
at 1s kill 6
when 5.coordinator == 5 and 5.status == Normal and 1.status == Normal: tell 5 transfer 100 savings checking
before send PreCommit 5->1: kill 5
then restart 6
before deliver PreAbort 6->2: kill 2
then after 20ms: restart 2
then restart 5
then kill 1
before deliver Commit 6->2: kill 2
then after 10ms: kill 6
then kill 5
then after 1s: restart 1 2
"""
"""The leader 6, no participant, proposes PreAbort, hears too few, and then of a node that is commitable."""


class OneNumber(EnhancedThreePhaseCommit):
    """E3PC whose leader goes on with the number of its first attempt."""

    name: ClassVar[str] = "one-number"

    @procedure
    async def lead_termination(self, in_doubt: InDoubtTransaction) -> None:
        attempt, is_new = Round(1, self.id), True
        while not self._is_decided(in_doubt.transaction):
            replies = await self._states(in_doubt, attempt)
            newest = max((answer.promised for answer in replies.values()), default=Round())
            if newest > attempt or (is_new and newest == attempt):
                attempt = Round(newest.number + 1, self.id)
                continue
            is_new = False
            await self._apply(replies, in_doubt, attempt)
        await self._send_decision(in_doubt)


def _words(protocol: type[EnhancedThreePhaseCommit], seed: int) -> list[str]:
    run = lab.simulate(protocol, 6, script=SCRIPT, seed=seed, for_="30s", parameters={"check_every": "3s"})
    return [verdict.word for verdict in run.verdicts if verdict.assertion in ("A6", "attempts")]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_P7_an_attempt_brings_all_to_one_state(seed: int) -> None:
    """So one that is over without a decision is followed by another, with a number of its own."""
    assert _words(EnhancedThreePhaseCommit, seed) == ["holds", "holds"]
    assert _words(OneNumber, seed) == ["fails", "fails"]
