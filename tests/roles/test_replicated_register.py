"""The register that a majority keeps: linearizable under drawn faults, and not without any of its parts."""

import functools
from pathlib import Path

import pytest

import lab
from tests.profile import amount

REPLICATED = Path(lab.__file__).with_name("guide") / "build" / "replicated.py"
FAULTS = "kill,pause,partition,delay,loss,duplicate,reorder"
SEEDS = range(1, 1 + amount(4, 500))


def _word(target: str, nodes: int, seed: int, faults: str = FAULTS) -> str:
    run = lab.simulate(
        target, nodes, seed=seed, faults=faults, for_="12s", t="100ms", workload="lin-kv", clients=4, rate=8
    )
    assert not run.failures
    assert run.workload is not None
    return run.workload.word


@functools.cache
def _variant(folder: Path, old: str, new: str) -> str:
    text = REPLICATED.read_text("utf-8")
    assert old in text
    path = folder / "variant.py"
    path.write_text(text.replace(old, new), "utf-8")
    return f"{path}:Replicated"


@pytest.mark.parametrize("nodes", [3, 4])
def test_it_is_linearizable(nodes: int) -> None:
    """Whatever strikes the cluster; and but for a few runs there are answers to judge."""
    words = [_word(f"{REPLICATED}:Replicated", nodes, seed) for seed in SEEDS]
    assert {*words} <= {"holds", "not judged"}
    assert words.count("holds") >= 0.9 * len(words)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("return (len(self.peers) + 1) // 2 + 1", "return 1"),
        ("newest = max(granted, key=lambda promise: promise.accepted)", "newest = granted[-1]"),
        ("store: Safe[Store] = ()", "store: Store = ()"),
    ],
    ids=["no majority", "its own state instead of the newest", "a state that a crash erases"],
)
def test_each_part_is_needed(old: str, new: str, tmp_path: Path) -> None:
    """Without it, some history is not linearizable."""
    target = _variant(tmp_path, old, new)
    assert any(_word(target, 3, seed) == "fails" for seed in range(1, 41))


def test_copies_are_served_once(tmp_path: Path) -> None:
    """A write that is executed again, late, undoes another one."""
    served_again = _variant(tmp_path, "if self.handled <= newest.get(sender, -1):", "if False:")
    for target, word in ((f"{REPLICATED}:Replicated", "holds"), (served_again, "fails")):
        words = set()
        for seed in range(1, 1 + amount(quick=2, soak=5)):
            run = lab.simulate(
                *(target, 3),
                script="at 1s duplicate all 100% 440ms\nat 7s heal",
                seed=seed,
                for_="9s",
                workload="lin-kv",
                clients=4,
                rate=8,
            )
            assert run.workload is not None
            words.add(run.workload.word)
        assert word in words
        assert word == "fails" or words == {"holds"}


def test_busy_clients_do_not_keep_the_election_from_checking() -> None:
    """A node that all messages to the coordinator were lost for is a member again, though clients never rest."""
    run = lab.simulate(
        *(f"{REPLICATED}:Replicated", 4),
        script="at 1s lose 4<->1 100%\nat 4s heal",
        seed=1,
        for_="15s",
        latency="79ms",
        workload="lin-kv",
        clients=8,
        rate=50,
    )
    assert not run.failures
    assert next(each for each in run.verdicts if each.assertion == "A2").word == "holds"
