"""A1 and A2 under crashes: random schedules of kills and restarts, checked after every step.

There are only crashes, and every message arrives within Tm, so all nine assumptions hold. Some crashes strike at
an instant, some when a message of some kind is sent or arrives, also between two messages of one step. Repeat one
with ``Schedule(seed).run()``.
"""

from itertools import combinations
from random import Random
from typing import Any

import pytest

from lab.kernel import Step
from lab.protocols import Status
from lab.recording.records import Process
from tests.harness import T_US, TM_US, Rig
from tests.profile import amount

SEEDS = range(amount(quick=40, soak=3_000))
BATCH = 25
WITHIN_US = 30 * T_US
"""A2 is looked for within this long after the last fault."""

LED = (Status.REORGANIZATION, Status.NORMAL)
KINDS = ("AreYouUp", "EnterElection", "EnterElectionAnswer", "SetCoordinator", "SetCoordinatorAnswer", "NewState")


class Schedule:
    """A cluster of 3 to 6 nodes with a latency below Tm, crashes and restarts, all drawn from the seed."""

    def __init__(self, seed: int) -> None:
        chance = Random(f"schedule {seed}")
        self.seed = seed
        longest_us = chance.choice([1_000, 10_000, 30_000, TM_US - 1])
        jitter_us = chance.choice([0, longest_us // 2])
        nodes = range(1, chance.randint(3, 6) + 1)
        self.rig = Rig(nodes, latency_us=longest_us - jitter_us, jitter_us=jitter_us, seed=seed)
        self.rig.watchers.append(self.check_agreement)
        self.commands: list[str] = []
        self.last_fault_us = chance.randint(0, 8 * T_US)
        for _ in range(chance.randint(4, 14)):
            node = chance.choice([*nodes, nodes[-1]])
            verb = chance.choice(["kill", "restart"])
            if chance.random() < 0.25:
                moment, kind = chance.choice(["send", "deliver"]), chance.choice(KINDS)
                self.commands.append(f"on {moment} {kind} {verb} {node}")
            else:
                self.commands.append(f"at {self.last_fault_us}us {verb} {node}")
            self.last_fault_us += chance.choice([chance.randint(1, T_US), chance.randint(1, 12 * T_US)])
        self.commands.append(f"at {self.last_fault_us}us restart {chance.choice(nodes)}")

    def run(self) -> None:
        """Run to the bound after the last fault. Raises AssertionError if A1 or A2 does not hold."""
        self.rig.do(*self.commands)
        self.rig.started().run(self.last_fault_us)
        self.rig.director.finish()
        self.rig.run_until(lambda: self.rig.agreed() is not None, WITHIN_US, f"{self}: A2")

    def check_agreement(self) -> None:
        """Check A1.1 and A1.2 now."""
        record = self.rig.records[-1]
        if (isinstance(record, Step) and "status" in record.changed) or isinstance(record, Process):
            states: list[tuple[int, Any]] = [(n, self.rig.protocol(n)) for n in self.rig.incarnations]
            for (i, one), (j, other) in combinations(states, 2):
                if one.status in LED and other.status in LED:
                    assert one.coordinator == other.coordinator, f"{self}: A1.1 of {i}, {j}\n{self.rig.tail()}"
                if one.status is other.status is Status.NORMAL:
                    assert one.definition == other.definition, f"{self}: A1.2 of {i}, {j}\n{self.rig.tail()}"

    def __str__(self) -> str:
        return f"Schedule({self.seed}) of {self.rig.ids}: {', '.join(self.commands)}"


@pytest.mark.parametrize("first", SEEDS[::BATCH])
def test_A1_A2_hold_while_the_assumptions_do(first: int) -> None:
    """A1.1, A1.2: nodes never disagree. A2: in the end all are Normal under one coordinator."""
    for seed in range(first, first + BATCH):
        Schedule(seed).run()
