"""Recordings for the interface's tests: a long one, one of a bank, and the shipped one."""

import functools
from pathlib import Path

from lab.kernel import Timing
from lab.protocols import Bully, TwoPhaseCommit
from lab.recording.records import Link, Record
from lab.recording.writer import MemoryLog, Writer
from lab.script.parse import parse
from lab.worlds.simulated.simulation import Simulation
from tests.harness import T_US, Rig, simulated_header

__all__ = ["BLOCKED_US", "SHIPPED", "blocked_run", "long_run", "written"]

SHIPPED = Path(__file__).parents[2] / "recordings" / "two-coordinators.jsonl"
BLOCKED_US = 20 * T_US
"""The time at which the transaction of ``blocked_run`` is blocked."""

_COMMANDS = (
    "at 3s kill 5",
    "at 6s restart 5",
    "at 9s lose all 10%",
    "at 11s duplicate 1<->3 50%",
    "at 12s heal",
    "at 14s pause 5",
    "at 16s resume 5",
    "at 18s partition 1 2 | 3 4 5",
    "at 21s heal",
)


@functools.cache
def long_run() -> tuple[Record, ...]:
    """Return several thousand records of five nodes under many faults, without keyframes."""
    nodes = (1, 2, 3, 4, 5)
    log = MemoryLog(simulated_header(Bully, nodes, Timing(50_000, 20_000), Link(8_000, 3_000), 5))
    simulation = Simulation(Bully, log)
    for command in _COMMANDS:
        simulation.director.add(parse(command))
    simulation.start()
    simulation.run_to(60_000_000)
    return tuple(log.records)


def written(path: Path) -> Path:
    """Write the long run to a file, with keyframes."""
    header, *records = long_run()
    writer = Writer(path, header)  # type: ignore[arg-type]
    for record in records:
        writer.append(record)
    writer.close()
    return path


def blocked_run(nodes: int = 3) -> Rig:
    """Run a coordinator that dies between the votes and the decision, and recovers at the end."""
    rig = Rig(range(1, nodes + 1), protocol=TwoPhaseCommit).started()
    rig.do(f"on send Vote 1->{nodes}: kill {nodes}", f"tell {nodes} withdraw 350")
    rig.run(10 * T_US)
    rig.do("tell 2 transfer 10 checking savings")
    rig.run(BLOCKED_US)
    rig.do(f"restart {nodes}")
    return rig.run(10 * T_US)
