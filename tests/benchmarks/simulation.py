"""Virtual time: the speed of a recorded simulation, against the same traffic elsewhere and real time."""

import gc
import time
from collections.abc import Callable
from pathlib import Path

from lab.kernel import Timing
from lab.protocols import Bully
from lab.recording.records import Header, Link
from lab.recording.writer import MemoryLog, Writer
from lab.script.parse import parse
from lab.worlds.simulated.simulation import Simulation
from tests.benchmarks.figures import Figure, median
from tests.benchmarks.others import LATENCY_S, NODES, simpy_messages, trio_messages
from tests.harness import simulated_header

__all__ = ["measure"]

_TIMING = Timing(80_000, 40_000)
_FLUSH_US = 1_000_000


def measure(folder: Path, quick: bool) -> list[Figure]:
    """Measure messages a second of real time, and virtual over real time."""
    virtual_s = 5 if quick else 600
    header = simulated_header(Bully, tuple(range(1, NODES + 1)), _TIMING, Link(round(LATENCY_S * 1e6)))
    ours, unrecorded, simpys, recorded, trios = [], [], [], [], []
    for _ in range(1 if quick else 3):  # by turns, so that all see the same machine
        ours.append(_rate(lambda: _recorded(header, folder / "simulated.jsonl", virtual_s)))
        unrecorded.append(_rate(lambda: _unrecorded(header, virtual_s)))
        simpys.append(_rate(lambda: simpy_messages(virtual_s)))
        recorded.append(_rate(lambda: _simpy_recorded(folder / "simpy.jsonl", virtual_s)))
        trios.append(_rate(lambda: trio_messages(virtual_s / 5)))
    ratio_simpy, ratio_trio = median(ours) / median(simpys), median(ours) / median(trios)
    ratio_recorded = median(ours) / median(recorded)
    speedup = median([_with_faults(header, virtual_s) for _ in range(1 if quick else 3)])
    return [
        Figure(
            "simulation with recording over simpy without, same traffic",
            ratio_simpy,
            "×",
            2,
            "more",
            f"{median(ours):,.0f} against {median(simpys):,.0f} messages/s",
        ),
        Figure(
            "and over simpy with a line of JSON for every message",
            ratio_recorded,
            "×",
            2,
            "more",
            f"against {median(recorded):,.0f} messages/s",
        ),
        Figure(
            "and over trio with MockClock", ratio_trio, "×", 15, "more", f"against {median(trios):,.0f} messages/s"
        ),
        Figure(
            "simulation without recording over simpy, same traffic",
            median(unrecorded) / median(simpys),
            "×",
            2.5,
            "more",
            f"{median(unrecorded):,.0f} messages/s: records stay in memory, as in a campaign",
        ),
        Figure("and over trio with MockClock, not recorded", median(unrecorded) / median(trios), "×", 10, "more"),
        Figure("virtual over real time, five nodes with faults", speedup, "s/s", 2_000, "more", "T 200 ms"),
    ]


def _rate(run: Callable[[], int]) -> float:
    """Return the messages a second of processor time."""
    gc.collect()
    began_s = time.process_time()
    messages = run()
    return messages / (time.process_time() - began_s)


def _recorded(header: Header, path: Path, virtual_s: int) -> int:
    writer = Writer(path, header)
    simulation = Simulation(Bully, writer)
    simulation.start()
    for until_us in range(0, virtual_s * 1_000_000, _FLUSH_US):
        simulation.run_to(until_us)
        writer.flush()
    writer.close()
    return sum(writer.cluster.messages.values())


def _unrecorded(header: Header, virtual_s: int) -> int:
    simulation = Simulation(Bully, MemoryLog(header))
    simulation.start()
    simulation.run_to(virtual_s * 1_000_000)
    return sum(serial - 1 for serial in simulation.serials.values())


def _simpy_recorded(path: Path, virtual_s: int) -> int:
    with path.open("wb") as recorded:
        return simpy_messages(virtual_s, recorded)


def _with_faults(header: Header, virtual_s: int) -> float:
    log = MemoryLog(header)
    simulation = Simulation(Bully, log)
    for at_s in range(4, virtual_s, 10):
        simulation.director.add(parse(f"at {at_s}s kill 5"))
        simulation.director.add(parse(f"at {at_s + 3}s restart 5"))
        simulation.director.add(parse(f"at {at_s + 6}s pause 5"))
        simulation.director.add(parse(f"at {at_s + 8}s resume 5"))
    gc.collect()
    began_s = time.process_time()
    simulation.start()
    simulation.run_to(virtual_s * 1_000_000)
    return virtual_s / (time.process_time() - began_s)
