"""The open transactions that a node shows: updated one by one, they are those of its log and its work."""

import pytest

import lab
from lab.protocols.participant_storage import ParticipantStorage
from lab.protocols.transaction import OpenTransaction, Transaction
from tests.profile import amount

LINES = [
    "every 50ms transfer 5 savings checking",
    "every 70ms transfer 3 checking savings",
    "every 90ms withdraw 5",
    "every 110ms collect 10 checking",
]


@pytest.mark.parametrize("protocol", ["2pc", "3pc", "e3pc"])
def test_one_change_after_the_other_gives_the_whole(protocol: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the same order, whatever is refused, blocked or recovered."""
    counts: list[int] = []
    of_one = ParticipantStorage._open_with

    def compared(self: ParticipantStorage, changed: Transaction) -> tuple[OpenTransaction, ...]:
        whole, found = self._all_open(), of_one(self, changed)
        assert found == whole
        counts.append(len(found))
        return found

    monkeypatch.setattr(ParticipantStorage, "_open_with", compared)
    for seed in range(1, 1 + amount(1, 40)):
        run = lab.simulate(
            protocol, 5, seed=seed, for_="10s", t="50ms", script=LINES, faults="kill,pause,partition,delay"
        )
        assert not run.failures
    assert len(counts) > 1_000
    assert max(counts) > 5
