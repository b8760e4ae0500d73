"""Figure 10.9: the schedule that leads to its start, in any world, and its messages.

At the start, 1 leads itself, 2 leads itself, 3 leads 4 and 5, and 1 is the first to look for the others. Checks
are so rare that only the start times of the nodes matter: 3 starts first and finds 4 and 5, which do not Check
yet; 1 starts behind a partition, which heals just before its Check. Times are in T.
"""

from collections.abc import Sequence

from lab.kernel import Step, Timing
from lab.protocols import InvitationElection

__all__ = ["CHECK_T", "HEARTBEATS", "NODES", "assert_phases", "script"]

NODES = (1, 2, 3, 4, 5)
CHECK_T = 28
"""Check is made every 28·T, so by 3 at 28·T, by 1 at 12 + 28; by 4, 5, 3 again, and 2 from 54·T on."""
HEARTBEATS = [kind.__name__ for kind in InvitationElection.heartbeats]


def script(timing: Timing) -> tuple[str, ...]:
    """Return the commands that lead to the start of the figure."""

    def at(times: float) -> str:
        return f"at {round(times * timing.t_us)}us"

    return (
        "partition 1 | 2 | 3 4 5",
        f"{at(1)} kill 1 2 4 5",
        f"{at(12)} restart 1",
        f"{at(26)} restart 4 5",
        f"{at(30)} restart 2",
        f"{at(38)} heal",
    )


def assert_phases(steps: Sequence[Step], t_us: int) -> None:
    """Assert the messages from 1's Check on, without heartbeats: in this order, and no others."""
    sent = [message for step in steps for message in step.sent if message.kind not in HEARTBEATS]
    kinds = [message.kind for message in sent]

    def of(kind: str) -> list[tuple[int, int]]:
        return [(message.source, message.target) for message in sent if message.kind == kind]

    assert of("Invitation") == [(1, 2), (1, 3), (3, 4), (3, 5)], "3, a coordinator, passes it on to 4 and 5"
    assert sorted(of("Accept")) == [(2, 1), (3, 1), (4, 1), (5, 1)], "all accept to 1"
    assert sorted(of("AcceptAnswer")) == [(1, 2), (1, 3), (1, 4), (1, 5)]
    assert of("Ready") == [(1, 2), (1, 3), (1, 4), (1, 5)], "Up are those who accepted"
    assert sorted(of("ReadyAnswer")) == [(2, 1), (3, 1), (4, 1), (5, 1)]
    assert len(sent) == 20

    passed_on = [message.kind for message in sent if message.source == 3][:3]
    assert passed_on == ["Invitation", "Invitation", "Accept"]
    last_answer = len(kinds) - 1 - kinds[::-1].index("AcceptAnswer")
    assert last_answer < kinds.index("Ready"), "Up is whole before anybody is told that the group is ready"
    at_us = {message.kind: step.at_us for step in reversed(steps) for message in step.sent}
    assert at_us["Ready"] - at_us["Invitation"] >= t_us, "1 collects Accepts for T at least"
