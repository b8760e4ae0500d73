"""Trying an exercise without a student: a script of what one might do, in simulation, and what it comes to."""

from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from lab.exercises.assessment import Assessment
from lab.exercises.attempt import attempt_config
from lab.exercises.exercise import Exercise
from lab.recording.memory import MemoryLog
from lab.recording.records import End
from lab.script import CommandError, check_line, numbered_lines, parse
from lab.worlds.config import Begun, header_of
from lab.worlds.settings import usual_link
from lab.worlds.simulated.simulation import Simulation
from lab.worlds.targets import load_protocol
from lab.worlds.watchdog import watch_steps

__all__ = ["LONGEST_US", "commands_in", "try_commands"]

LONGEST_US = 60_000_000
_SLICE_US = 1_000_000


def commands_in(exercise: Exercise, text: str) -> list[str]:
    """The commands of a script of what a student does: each line stands alone, with triggers of its own.

    CommandError where one could not be given in this exercise.
    """
    setup = exercise.setup
    protocol = load_protocol(setup.protocol)
    lines = [line for _, line in numbered_lines(text)]
    for said in lines:
        line = parse(said, protocol)
        check_line(line, protocol, setup.nodes, setup.parameters)
        verb = line.text.partition(" ")[0]
        if verb not in exercise.allowed:
            raise CommandError(f"{verb} is not for this exercise: {', '.join(exercise.allowed)}")
    return lines


def try_commands(exercise: Exercise, commands: Sequence[str], seed: int | None = None) -> Assessment:
    """What an attempt with these commands comes to, in simulation, in memory; ``seed``: another than the set-up's.

    It ends when all is decided, or after ``LONGEST_US``: who does nothing would wait for ever.
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
    Begun.of(config).add_to(simulation.director)
    simulation.start()
    end_us = min(setup.ends_us, LONGEST_US)
    while simulation.now_us < end_us and not assessment.stand.is_decided:
        simulation.run_to(min(simulation.now_us + _SLICE_US, end_us))
    simulation.finish()
    log.append(End(simulation.now_us, "its time was up"))
    return assessment
