"""The judge on a recording of a million records, and its overhead in a simulation that it watches.

``python -m tests.benchmarks.judging FILE`` judges in a fresh process, and prints the cost.
"""

import gc
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from lab.properties.declarations import Declared
from lab.properties.judge import Judge
from lab.properties.registry import with_promises
from lab.protocols import Bully
from lab.recording.reader import open_recording
from lab.recording.records import Record
from lab.recording.writer import MemoryLog
from lab.script.parse import parse
from lab.worlds.loading.targets import declared_in
from lab.worlds.simulated.simulation import Simulation
from tests.benchmarks import own_properties
from tests.benchmarks.figures import Figure, median
from tests.benchmarks.recordings import make
from tests.harness import simulated_header

__all__ = ["measure"]


def measure(folder: Path, quick: bool) -> list[Figure]:
    """Make the recording, judge it in a fresh process; then simulate with and without a judge."""
    folder = folder / "judging"
    folder.mkdir()
    path = folder / "million.jsonl"
    count = make(folder, path, 4_000 if quick else 1_000_000)
    command = [sys.executable, "-m", "tests.benchmarks.judging", str(path)]
    found = [msgspec.json.decode(subprocess.check_output(command)) for _ in range(1 if quick else 3)]
    own = [msgspec.json.decode(subprocess.check_output([*command, "own"])) for _ in found]
    path.unlink()
    ratio, printed = _with_a_simulation(*((3_000_000, 1) if quick else (200_000_000, 5)))

    def middle(name: str) -> float:
        return median([each[name] for each in found])

    spent = f"{middle('cpu_s'):.1f} s of a processor's time, {middle('decode_s'):.1f} s of that to decode them"
    with_own = median([each["judge_s"] for each in own])
    judged = f"{with_own:.1f} s; judged: {', '.join(own[0]['judged'])}"
    output = f"the most at any time; {found[0]['violations']:,.0f} violations"
    return [
        Figure("judge: a million records", middle("judge_s"), "s", 15, "less", f"{count:,} records; {spent}"),
        Figure(
            "judge: with two properties of one's own, by without",
            with_own / middle("judge_s"),
            "×",
            1.5,
            "less",
            judged,
        ),
        Figure("judge: memory", middle("peak_mb"), "MB", 1000, "less", output),
        Figure("judge: simulating with it, by without it", ratio, "×", 2, "less", printed),
    ]


def _with_a_simulation(us: int, times: int) -> tuple[float, str]:
    def simulate(judged: bool) -> tuple[float, int]:
        header = simulated_header(Bully, (1, 2, 3, 4, 5))
        judge = Judge(header)
        judge.observe(header)
        log = MemoryLog(header, judge.observe if judged else None)
        simulation = Simulation(Bully, log)
        for at_s in range(1, us // 1_000_000, 4):
            for command in (f"at {at_s}s kill 5", f"at {at_s + 1}s restart 5"):
                simulation.director.add(parse(command))
        simulation.start()
        gc.collect()
        began = time.perf_counter()
        simulation.run_to(us)
        return time.perf_counter() - began, len(log.records)

    ratios = []
    for _ in range(times):
        with_s, records = simulate(True)
        ratios.append(with_s / simulate(False)[0])
    return median(ratios), f"5 nodes, {records:,} records, the coordinator killed every 4 s of virtual time"


def _judge(path: Path, properties: tuple[Declared, ...]) -> dict[str, Any]:
    def nothing(record: Record | None) -> None:
        pass

    def through(what: Callable[[Record | None], None]) -> float:
        began = time.process_time()
        for record in lines.records():
            what(record)
        return time.process_time() - began

    lines = open_recording(path)
    judge = Judge(with_promises(lines.header, properties))
    began = time.perf_counter()
    cpu_s = through(judge.observe)
    judge_s = time.perf_counter() - began
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    violations = sum(verdict.failures + verdict.excused for verdict in judge.verdicts())
    return {
        "judge_s": judge_s,
        "cpu_s": cpu_s,
        "decode_s": through(nothing),
        "peak_mb": peak_mb,
        "violations": violations,
        "judged": [str(each.assertion) for each in judge.verdicts() if each.word != "not judged"],
    }


if __name__ == "__main__":
    declared = declared_in(own_properties, own_properties.__file__) if "own" in sys.argv else ()
    print(msgspec.json.encode(_judge(Path(sys.argv[1]), declared)).decode())
