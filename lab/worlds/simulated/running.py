"""Building the simulation of a run, and letting it run: for a while, or to the end of its time.

There is a real clock in here, but it only says when to look up from the work: what happens in virtual time, and
the bytes of the recording, do not depend on it.
"""

import contextlib
import shutil
import time
from collections.abc import Callable

from lab.recording.records import End
from lab.recording.writer import Writer
from lab.worlds.config import Begun, RunConfig
from lab.worlds.host.starting import new_writer
from lab.worlds.simulated.branch import begin_branch
from lab.worlds.simulated.runaway import outgrown
from lab.worlds.simulated.simulation import Simulation
from lab.worlds.targets import load_protocol
from lab.worlds.watchdog import watch_steps

__all__ = ["LEAST_FREE_MB", "build", "run_flat", "run_slice"]

LEAST_FREE_MB = 200
"""A run that nobody watches ends rather than leaving less than so many megabytes of the disk."""
_SLICE_S = 0.02


def build(config: RunConfig, relived: Callable[[int], None] = lambda done: None) -> tuple[Writer, Simulation]:
    """The simulation that the run is of, with all its nodes up, and the recording that it writes.

    ``relived`` is told how many records of a branch's parent are re-executed. OSError, NotRunnableError.
    This process's steps are watched from now on.
    """
    protocol = load_protocol(config.protocol)
    watch_steps()
    writer: Writer
    simulation: Simulation
    if config.parent:
        writer, simulation = begin_branch(config, protocol, relived)
    else:
        writer = new_writer(config)
        simulation = Simulation(protocol, writer.header, writer)
    Begun.of(config).add_to(simulation.director)
    simulation.start()
    return writer, simulation


def run_slice(
    simulation: Simulation, end_us: int | None, watched: bool, given_up: Callable[[], str] = str
) -> bool:
    """Let happen what is due by then, but compute for a moment only; whether that was all.

    Where somebody watches, no further than to where a command wants something of the course of time; and no
    further than to where ``given_up`` says why.
    """
    ends_s = time.monotonic() + _SLICE_S
    while not (watched and simulation.wanted):
        due_us = simulation.next_us()
        if due_us is None or (end_us is not None and due_us > end_us):
            simulation.now_us = max(simulation.now_us, end_us or 0)
            return True
        simulation.step()
        if time.monotonic() > ends_s or given_up():
            break
    return False


def run_flat(
    config: RunConfig,
    end_us: int,
    interrupted: Callable[[int], str],
    relived: Callable[[int], None] = lambda done: None,
) -> str:
    """A whole run, as fast as it can be computed; why it ended. See ``build``.

    ``interrupted`` is called again and again with the virtual time; what it returns ends the run, if anything.
    A scenario is run to see what it comes to, so a run of one is given up where it grows and grows.
    """
    writer, simulation = build(config, relived)

    def given_up() -> str:
        return outgrown(writer, simulation.now_us) if config.scenario else ""

    with contextlib.closing(writer):
        why = ""
        while not why:
            if run_slice(simulation, end_us, watched=False, given_up=given_up):
                why = "its time was up"
            elif shutil.disk_usage(writer.path.parent).free < LEAST_FREE_MB << 20:
                why = f"the disk has only {LEAST_FREE_MB} MB left"
            else:
                why = given_up() or interrupted(simulation.now_us)
            writer.flush()
        simulation.finish()
        writer.append(End(simulation.now_us, why))
    return why
