"""Figure 3-12: of eight nodes 0 to 7 the coordinator 7 has just crashed, and 4 is the first to detect it.

All nodes ask their coordinator at about the same time, and only 7's answer to 4 is cut. Before 4 times out, 7
crashes; the others would detect it at their next question, which is far in the future.
"""

from collections.abc import Iterable, Sequence

from lab.kernel import Step, Timing
from lab.recording.records import Process, Record
from lab.units import format_us

__all__ = ["NODES", "STAGES", "ask_every_us", "assert_stages", "messages_since_crash", "script"]

NODES = tuple(range(8))
Sent = tuple[str, int, int]
STAGES: dict[str, list[Sent]] = {
    "a": [("ELECTION", 4, 5), ("ELECTION", 4, 6), ("ELECTION", 4, 7)],
    "b": [("OK", 5, 4), ("OK", 6, 4)],
    "c": [("ELECTION", 5, 6), ("ELECTION", 5, 7), ("ELECTION", 6, 7)],
    "d": [("OK", 6, 5)],
    "e": [("COORDINATOR", 6, node) for node in NODES if node != 6],
}


def ask_every_us(timing: Timing) -> int:
    """Return the long interval between questions."""
    return 6 * timing.t_us


def script(timing: Timing) -> tuple[str, ...]:
    """Return the faults, which begin once all nodes are Normal."""
    crash = f"on deliver AreYouThere 4->7 after {format_us(timing.t_us // 2)} kill 7"
    return "when all normal cut 7->4", f"when all normal {crash}"


def messages_since_crash(records: Sequence[Record], heartbeats: Iterable[str]) -> list[Sent]:
    """Return (kind, source, target) of all messages but heartbeats after 7 was killed, in the order sent."""
    crashed = next(i for i, each in enumerate(records) if isinstance(each, Process) and each.event == "killed")
    return [
        (message.kind, message.source, message.target)
        for record in records[crashed:]
        if isinstance(record, Step)
        for message in record.sent
        if message.kind not in heartbeats
    ]


def assert_stages(sent: list[Sent]) -> None:
    """Assert that these are the messages of the figure, with those of each node in the order of the stages."""
    assert sorted(sent) == sorted(message for stage in STAGES.values() for message in stage)
    stages = [next(name for name, stage in STAGES.items() if message in stage) for message in sent]
    assert stages[:3] == ["a"] * 3
    assert stages[-7:] == ["e"] * 7
    for node in (4, 5, 6):
        own = [stage for stage, (_, source, _) in zip(stages, sent, strict=True) if source == node]
        assert own == sorted(own), f"node {node}"
    assert sent.index(("OK", 6, 5)) > sent.index(("ELECTION", 5, 6))
