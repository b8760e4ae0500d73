"""The size of a recording as nodes and open transactions become more, and what a transaction costs then."""

import gc
import time
from pathlib import Path

import msgspec

from lab.kernel import Timing
from lab.protocols import find_protocol
from lab.recording.records import Link
from lab.recording.writer import Writer
from lab.script.parse import parse
from lab.worlds.simulated.simulation import Simulation
from tests.benchmarks.figures import Figure
from tests.harness import simulated_header

__all__ = ["measure"]

_TIMING = Timing(80_000, 40_000)
_LOAD_US = 2_000_000
"""When the load begins: a coordinator is elected by then."""


def measure(folder: Path, quick: bool) -> list[Figure]:
    """Measure the bytes of a message, and the bytes and the processor time of a transaction."""
    few, many = (5, 20) if quick else (10, 300)
    seconds = 1 if quick else 4
    small = _bytes_per_message(folder, few, 40 if quick else 400)
    large = _bytes_per_message(folder, many, seconds)
    one = _transactions(folder, 20, 5_000, 20 if quick else 200)
    other = _transactions(folder, 800, 35_000, 100 if quick else 2_000)
    shown = f"{other[2]} open at once at most, and {one[2]}"
    return [
        Figure(f"bytes of a message among {many} nodes, by among {few}", large / small, "×", 1.3, "less"),
        Figure("bytes of a transaction, many open, by few", other[0] / one[0], "×", 1.5, "less", shown),
        Figure("processor time of a transaction, many open, by few", other[1] / one[1], "×", 1.5, "less", shown),
    ]


def _bytes_per_message(folder: Path, nodes: int, seconds: int) -> float:
    """Return the bytes of a recording of bully for each message; half-way the coordinator is killed."""
    header = simulated_header(find_protocol("bully"), tuple(range(1, nodes + 1)), _TIMING, Link(1_000))
    path = folder / f"{nodes}.jsonl"
    writer = Writer(path, header)
    run = Simulation(find_protocol("bully"), writer)
    run.start()
    run.director.add(parse(f"at {seconds * 500}ms kill {nodes}"))
    for tenth in range(1, 10 * seconds + 1):
        run.run_to(tenth * 100_000)
        writer.flush()
    writer.close()
    path.unlink()
    return writer.length / sum(writer.cluster.messages.values())


def _transactions(folder: Path, per_s: int, latency_us: int, count: int) -> tuple[float, float, int]:
    """Return the bytes and the seconds of a transaction, and how many were open at once at most."""
    protocol = find_protocol("2pc")
    parameters = msgspec.convert({"accounts": 100}, protocol.Parameters)
    path = folder / f"{per_s}.jsonl"
    writer = Writer(path, simulated_header(protocol, (1, 2, 3), _TIMING, Link(latency_us), 1, parameters))
    run = Simulation(protocol, writer)
    run.start()
    run.run_to(_LOAD_US)
    before, most = writer.length, 0
    run.director.add(parse(f"at {_LOAD_US}us tell 3 transactions {count} at {per_s}/s"))
    end_us = _LOAD_US + count * 1_000_000 // per_s + 1_500_000
    gc.collect()
    began = time.process_time()
    for at_us in range(_LOAD_US, end_us, 50_000):
        run.run_to(at_us)
        writer.flush()
        most = max(most, *(len(view.state.get("open", ())) for view in writer.cluster.nodes.values()))
    took = time.process_time() - began
    writer.close()
    path.unlink()
    return (writer.length - before) / count, took / count, most
