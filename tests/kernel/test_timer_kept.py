"""The next timer is computed anew only when it may have changed, and never when it may not be kept."""

from collections import Counter

import pytest

import lab
from lab.kernel.node import Node
from lab.kernel.step import Fired
from lab.protocols import PROTOCOLS


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_what_is_kept_is_what_would_be_computed(protocol: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """After every step of a run with faults; most of the computations are saved."""
    kept, counts = Node.next_timer, Counter[str]()

    def compared(node: Node) -> tuple[int, Fired] | None:
        counts["kept"] += node._is_timer_known
        counts["asked"] += 1
        found = kept(node)
        assert found == (None if node.halted else node.earliest_timer())
        return found

    monkeypatch.setattr(Node, "next_timer", compared)
    lab.simulate(protocol, nodes=5, faults="kill,pause,partition", for_="4s")
    assert 0 < counts["kept"] < counts["asked"]
