"""Every schedule of a transaction, with crashes and cuts: A6, A7 and A8 hold, and it ends.

The profile ``soak`` explores two crashes of 2pc, and a crash and a restart of 3pc.
"""

import time
from typing import NamedTuple

import pytest

from lab.kernel import CommandInput, Timing
from lab.properties.judge import Judge
from lab.protocols import Algorithm, find_protocol
from lab.recording.records import Header
from lab.recording.writer import MemoryLog
from lab.worlds.explored.counterexample import PathExecution
from lab.worlds.explored.explorer import Explorer
from lab.worlds.explored.states import Move, Timeouts
from tests.campaign.commit_mutants import UncertainAborts
from tests.harness import simulated_header

TIMING = Timing(100_000, 100_000)
WITHDRAW = (3, CommandInput("withdraw", ("350",)))
TRANSFER = (1, CommandInput("transfer", ("100", "savings", "checking")))
LED = (2, TRANSFER[1])
"""By the elected coordinator of two nodes."""


class Case(NamedTuple):
    """A state space: number of nodes, commands, model of time, and numbers of kills, restarts and cuts."""

    protocol: str
    nodes: int
    commands: tuple[tuple[int, CommandInput], ...]
    timeouts: Timeouts
    kills: int
    restarts: int
    cuts: int

    def __str__(self) -> str:
        words = "+".join(commands.command for _, commands in self.commands)
        return f"{self.protocol}-{self.nodes}-{words}-{self.timeouts}-{self.kills}-{self.restarts}-{self.cuts}"


CASES = [
    Case("2pc", 2, (TRANSFER,), "synchronous", 2, 2, 0),
    Case("2pc", 2, (TRANSFER,), "prompt", 1, 1, 1),
    Case("2pc", 3, (TRANSFER,), "synchronous", 1, 1, 0),
    Case("3pc", 2, (LED,), "prompt", 1, 0, 0),
    Case("e3pc", 2, (LED,), "prompt", 1, 0, 0),
]
LARGE = [
    Case("2pc", 3, (WITHDRAW,), "prompt", 2, 2, 0),
    Case("2pc", 3, (WITHDRAW,), "synchronous", 1, 1, 0),
    Case("2pc", 3, (WITHDRAW, TRANSFER), "prompt", 1, 1, 0),
    Case("3pc", 3, (WITHDRAW,), "prompt", 1, 0, 0),
    Case("3pc", 2, (LED,), "prompt", 1, 1, 0),
    Case("e3pc", 3, (WITHDRAW,), "prompt", 1, 0, 0),
    Case("2pc", 3, (WITHDRAW,), "synchronous", 2, 2, 0),
    Case("3pc", 3, (WITHDRAW,), "prompt", 1, 1, 0),
]


def header(protocol: type[Algorithm], nodes: int) -> Header:
    return simulated_header(protocol, tuple(range(1, nodes + 1)), TIMING)


def explorer(protocol: type[Algorithm], case: Case) -> Explorer:
    """Return an explorer that gives the commands once the nodes have settled."""
    settled = case.protocol != "2pc"
    strikes = (case.kills, case.restarts, settled, case.cuts)
    return Explorer(protocol, header(protocol, case.nodes), case.timeouts, *strikes, case.commands)


@pytest.mark.parametrize(
    "case", [*CASES, *(pytest.param(case, marks=pytest.mark.soak) for case in LARGE)], ids=str
)
def test_A6_A7_A8_hold_in_every_schedule(case: Case) -> None:
    """Issue 6: exhaustively; both outcomes occur, and the transaction ends in every final state."""
    found, began_s = explorer(find_protocol(case.protocol), case), time.monotonic()
    tally = found.run(1_000_000)
    took_s = time.monotonic() - began_s
    print(f"{case}: {tally.states:,} states, {tally.transitions:,} transitions, {took_s:.1f} s")
    assert tally.stopped_by == ""
    assert tally.violated == dict.fromkeys(tally.violated, 0)
    assert {"A6", "A7", "A8"} <= set(tally.violated)
    assert ("ends" in tally.violated) is (case.protocol != "3pc"), "a majority may block (P7)"
    logs = [view.state.get("log", ()) for view in found.locals.views]
    assert {"committed", "aborted"} <= {entry["what"] for log in logs for entry in log}


@pytest.mark.soak
@pytest.mark.parametrize("name", ["3pc", "e3pc"])
def test_A6_needs_no_network(name: str) -> None:
    """P6: in every state that one cut link can lead to, while the election below has two coordinators."""
    found = explorer(find_protocol(name), Case(name, 2, (LED,), "prompt", 0, 0, 1))
    tally = found.run(1_000_000)
    assert tally.stopped_by == ""
    assert tally.violated["A1.1"] > 0
    assert [tally.violated[assertion] for assertion in ("A6", "A7", "A8")] == [0, 0, 0]


def test_a_kill_strikes_between_two_messages_of_the_first_step() -> None:
    """The command is the first event: its step may be cut short, and nothing comes before it."""
    found = explorer(find_protocol("2pc"), Case("2pc", 3, (WITHDRAW,), "synchronous", 1, 0, 0))
    found.run(1)
    moves = [move for move, _ in found.successors.steps(found.states[0])]
    commands = ("tell 3 withdraw 350",)
    assert moves == [
        Move("strike", 3, commands=commands, during=((0, "kill 3"),)),
        Move("strike", 3, commands=commands),
    ]
    assert found.successors.faults(found.states[0]) == []


def test_participants_cannot_be_swapped() -> None:
    """No symmetry to reduce by: the coordinator lets node 1 perform its part first, then node 2."""
    found = explorer(find_protocol("2pc"), Case("2pc", 3, (WITHDRAW,), "prompt", 0, 0, 0))
    assert found.run(1_000).stopped_by == ""
    views = found.locals.views
    began = [
        tuple(bool(views[local].state["open"] or views[local].state["log"]) for local in state[:2])
        for state in found.states
    ]
    assert (True, False) in began
    assert (False, True) not in began


def test_a_command_to_a_node_that_is_down_is_lost() -> None:
    """A node killed in the step of its first command gets no second one; the others do."""
    found = explorer(find_protocol("2pc"), Case("2pc", 3, (WITHDRAW, WITHDRAW), "prompt", 1, 0, 0))
    assert found.run(100_000).stopped_by == ""
    begun = {sum(e["what"] == "begin" for e in v.state.get("log", ())) for v in found.locals.views if v.id == 3}
    assert begun == {0, 1, 2}


def test_a_violation_is_recorded_with_the_command() -> None:
    """A mutant in which uncertain participants abort: real nodes behave the same, and the judge agrees."""
    found = explorer(UncertainAborts, Case("2pc", 2, (TRANSFER,), "prompt", 1, 0, 0))
    found.run(10_000)
    assert "A6" in found.violated
    log = MemoryLog(header(UncertainAborts, 2))
    execution = PathExecution(UncertainAborts, log, "prompt", 0)
    for move in found.path_to(found.first_found["A6"]):
        execution.perform(move)
    judge = Judge(log.header)
    for record in log.records:
        judge.observe(record)
    assert [violation.assertion for violation in judge.violations] == ["A6"]
