"""Run a script in a sandbox, as if a student gave its commands: simulated, in memory."""

from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from lab.exercises.assessment import Assessment
from lab.exercises.attempt import attempt_config
from lab.exercises.exercise import Exercise
from lab.recording.memory import MemoryLog
from lab.recording.records import End
from lab.script import CommandError, check_line, numbered_lines, parse
from lab.worlds.config import InitialCommands, header_of
from lab.worlds.settings import usual_link
from lab.worlds.simulated.simulation import Simulation
from lab.worlds.targets import load_protocol
from lab.worlds.watchdog import watch_steps

__all__ = ["LONGEST_US", "read_commands", "run_in_sandbox"]

LONGEST_US = 60_000_000
_SLICE_US = 1_000_000


def read_commands(exercise: Exercise, text: str) -> list[str]:
    """Return the commands in a script of a student's actions: each line is independent, with its own triggers.

    Raises CommandError if one is not allowed in this exercise.
    """
    setup = exercise.setup
    protocol = load_protocol(setup.protocol)
    lines = [line for _, line in numbered_lines(text)]
    for source in lines:
        line = parse(source, protocol)
        check_line(line, protocol, setup.nodes, setup.parameters)
        verb = line.text.partition(" ")[0]
        if verb not in exercise.allowed:
            raise CommandError(
                f"{verb} is not allowed in this exercise; allowed are {', '.join(exercise.allowed)}"
            )
    return lines


def run_in_sandbox(exercise: Exercise, commands: Sequence[str], seed: int | None = None) -> Assessment:
    """Simulate an attempt with these commands, in memory, and return its assessment.

    ``seed`` replaces the setup's. The run ends when all tasks are decided, or after ``LONGEST_US``.
    """
    watch_steps()
    setup = exercise.setup
    config = replace(
        attempt_config(exercise, "nobody", 1, Path()),
        commands=tuple(commands),
        world="simulated",
        link=setup.link or usual_link(setup.timing, True),
        seed=setup.seed if seed is None else seed,
    )
    protocol = load_protocol(config.protocol)
    header = header_of(config, protocol)
    assessment = Assessment(exercise, header)
    assessment.observe(header)
    log = MemoryLog(header, assessment.observe)
    simulation = Simulation(protocol, header, log)
    InitialCommands.of(config).add_to(simulation.director)
    simulation.start()
    end_us = min(setup.ends_us, LONGEST_US)
    while simulation.now_us < end_us and not assessment.status.is_decided:
        simulation.run_to(min(simulation.now_us + _SLICE_US, end_us))
    simulation.finish()
    log.append(End(simulation.now_us, "its time was up"))
    return assessment
