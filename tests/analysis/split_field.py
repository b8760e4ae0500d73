"""A run of the field above an election, partitioned in two: its records, and the cluster at an instant."""

import functools

from lab.kernel import Timing
from lab.protocols import find_protocol
from lab.recording.cluster_state import ClusterState
from lab.recording.records import Header, Link, Record
from lab.recording.writer import MemoryLog
from lab.script.parse import parse
from lab.worlds.simulated.simulation import Simulation
from tests.harness import simulated_header

__all__ = ["NODES", "SPLIT_US", "STRUCK_US", "WHOLE_US", "cluster_at", "split_run"]

TIMING = Timing(400_000, 200_000)
NODES = (1, 2, 3, 4, 5)
COMMANDS = (
    "at 8s publish",
    "at 12s partition 1 2 | 3 4 5",
    "at 29s publish coordinators",
    "at 30s kill 4",
    "at 30s pause 3",
)
WHOLE_US, SPLIT_US, STRUCK_US = 11_000_000, 29_900_000, 30_100_000


@functools.cache
def split_run(election: str) -> tuple[Header, tuple[Record, ...]]:
    """Return the header and all records after it."""
    protocol = find_protocol("field", {"election": election})
    parameters = protocol.Parameters(halting="at_once") if election == "bully" else None
    log = MemoryLog(simulated_header(protocol, NODES, TIMING, Link(100_000, 30_000), 5, parameters))
    simulation = Simulation(protocol, log)
    for command in COMMANDS:
        simulation.director.add(parse(command))
    simulation.start()
    simulation.run_to(32_000_000)
    return log.header, tuple(log.records[1:])


def cluster_at(at_us: int) -> ClusterState:
    """Return the cluster at that instant, above the bully."""
    header, records = split_run("bully")
    cluster = ClusterState.of(header)
    cluster.apply(header)
    for record in records:
        if getattr(record, "at_us", 0) > at_us:
            break
        cluster.apply(record)
    return cluster
