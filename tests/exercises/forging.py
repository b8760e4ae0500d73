"""Make up the recording of a live attempt, as a student with the program and a solution can."""

from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from lab.exercises.attempts import attempt_config
from lab.exercises.exercise import Exercise
from lab.recording.records import TIME_LIMIT_REACHED, End
from lab.recording.writer import Writer
from lab.worlds.loading.config import InitialCommands, header_of
from lab.worlds.loading.targets import load_protocol
from lab.worlds.simulated.simulation import Simulation


def forge_attempt(
    exercise: Exercise, commands: Sequence[str], path: Path, student: str = "mallory", end_us: int = 6_000_000
) -> Path:
    """Simulate the commands under the header of a live run; no node process runs."""
    config = replace(attempt_config(exercise, student, 1, path), commands=tuple(commands))
    assert config.world == "live"
    protocol = load_protocol(config.protocol)
    log = Writer(path, header_of(config, protocol))
    simulation = Simulation(protocol, log)
    InitialCommands.of(config).add_to(simulation.director)
    simulation.start()
    simulation.run_to(end_us)
    simulation.finish()
    log.append(End(simulation.now_us, TIME_LIMIT_REACHED))
    log.close()
    return path
