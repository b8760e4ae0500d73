"""Recorded runs for tests: simulated sessions with given or random commands, and live runs of scenarios."""

from collections.abc import Iterable
from pathlib import Path
from random import Random

from lab.protocols import PROTOCOLS, Algorithm, Bully, find_protocol
from lab.recording.records import End, Header, Link
from lab.recording.writer import Writer
from lab.scenario.file import Scenario
from lab.scenario.report import ScenarioReport
from lab.scenario.run_scenario import LiveRun
from lab.script.parse import parse, read_script
from lab.script.statements import At
from lab.worlds.simulated.simulation import Simulation
from tests.harness import simulated_header
from tests.worlds.random_faults import random_commands

__all__ = ["EVERY", "random_recording", "run_live", "session"]

EVERY: list[type[Algorithm]] = [*PROTOCOLS.values(), find_protocol("field")]
IDS = (1, 2, 3, 4, 5)


def session(
    path: Path,
    given: Iterable[tuple[int, str]],
    *,
    protocol: type[Algorithm] = Bully,
    end_ms: int = 6_000,
    script: str = "",
    header: Header | None = None,
) -> Path:
    """Record a session in which these commands are given at these times in milliseconds."""
    writer = Writer(path, header or simulated_header(protocol, IDS, link=Link(12_000, 6_000)))
    simulation = Simulation(protocol, writer)
    simulation.director.add_script(read_script(script))
    simulation.start()
    for at_ms, text in given:
        simulation.run_to(at_ms * 1000)
        line = parse(text)
        if line.trigger is None:
            simulation.control.execute(line)
        else:
            simulation.director.add(line)
    simulation.run_to(end_ms * 1000)
    simulation.finish()
    writer.append(End(simulation.now_us, "its time limit was reached"))
    writer.close()
    return path


def random_recording(path: Path, seed: int) -> tuple[Path, str]:
    """Record a run under random faults, given beforehand or in a session. Return its path and a description."""
    chance = Random(f"recorded/{seed}")
    protocol = EVERY[seed % len(EVERY)]
    link = chance.choice([Link(5_000), Link(12_000, 6_000), Link(20_000, 10_000)])
    header = simulated_header(protocol, IDS, link=link, seed=seed)
    many, within_ms = chance.randrange(1, 9), chance.choice([3_000, 8_000])
    commands = random_commands(chance, protocol, many, within_ms)
    end_ms = within_ms + chance.randrange(2_000)
    if chance.random() < 0.5:
        given = [(0, command) for command in commands]
    else:
        times = sorted(chance.randrange(within_ms) for _ in commands)
        given = list(zip(times, map(_without_time, commands), strict=True))
    session(path, given, protocol=protocol, end_ms=end_ms, header=header)
    return path, f"seed {seed}, {protocol.name}: {given}"


def _without_time(command: str) -> str:
    line = parse(command)
    return line.text if isinstance(line.trigger, At) else command


def run_live(scenario: Scenario, recording: Path) -> ScenarioReport:
    """Run the scenario on processes in real time."""
    run = LiveRun(scenario, recording)
    try:
        return run.report()
    finally:
        run.end()
