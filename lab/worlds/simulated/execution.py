"""Build the simulation of a run and execute it: for a time slice, or to its end, unless it proves to be endless.

This module reads the real clock, but only to decide when to pause the computation: the events in virtual time and
the bytes of the recording do not depend on it.
"""

import contextlib
import shutil
import time
from collections.abc import Callable

from lab.recording.records import TIME_LIMIT_REACHED, End, Header, Record
from lab.recording.writer import MemoryLog, Writer
from lab.units import format_us
from lab.worlds.loading.config import InitialCommands, RunConfig, load_protocols, new_writer
from lab.worlds.loading.targets import load_protocol
from lab.worlds.simulated.branch import open_branch
from lab.worlds.simulated.simulation import Simulation
from lab.worlds.watchdog import watch_steps

_RECORDS = 20_000
_MEGABYTES = 20
"""Both limits are per node of the run."""


def most_records(nodes: int) -> int:
    """Return the most records that a run with this many nodes may have."""
    return _RECORDS * nodes


def describe_runaway(nodes: int, at_us: int, times: int = 1) -> str:
    """Return the message for a run that has more than ``times`` the ``most_records`` by ``at_us``."""
    return f"its messages multiply: more than {times * most_records(nodes):,} records {_within(nodes, at_us)}"


def runaway_reason(writer: Writer, at_us: int, times: int = 1) -> str:
    """Return why the run must be given up now; empty if it need not. It may have ``times`` the usual size."""
    nodes = len(writer.header.nodes)
    if writer.count > times * most_records(nodes):
        return describe_runaway(nodes, at_us, times)
    megabytes = times * _MEGABYTES * nodes
    if writer.length > megabytes << 20:
        return f"its recording grows: more than {megabytes} MB {_within(nodes, at_us)}"
    return ""


def _within(nodes: int, at_us: int) -> str:
    return f"within {format_us(round(at_us, -3))} of a run of {nodes} nodes"


LEAST_FREE_MB = 200
"""A run that nobody watches ends before less than this is free on the disk."""
DISK_IS_FULL = f"the disk has only {LEAST_FREE_MB} MB left"
"""``End.why`` of such a run."""
_SLICE_S = 0.02


def build(config: RunConfig, progress: Callable[[int], None] = lambda done: None) -> tuple[Writer, Simulation]:
    """Return the run's recording and its simulation, with all nodes up. Raises OSError, NotRunnableError.

    ``progress`` is called with the number of records of a branch's parent re-executed so far. Steps of this
    process are watched from now on.
    """
    protocol = load_protocols(config)
    watch_steps()
    writer: Writer
    simulation: Simulation
    if config.parent:
        writer, simulation = open_branch(config, protocol, progress)
    else:
        writer = new_writer(config)
        simulation = Simulation(protocol, writer)
    InitialCommands.of(config).add_to(simulation.director)
    simulation.start()
    return writer, simulation


def simulate_in_memory(
    config: RunConfig,
    header: Header,
    observe: Callable[[Record], object],
    is_over: Callable[[], bool],
    end_us: int,
    slice_us: int,
) -> None:
    """Execute a run without a recording, in slices of virtual time, until ``is_over`` after one, or ``end_us``.

    ``observe`` is called with each record, header first. Steps of this process are watched from now on.
    """
    watch_steps()
    observe(header)
    log = MemoryLog(header, observe)
    simulation = Simulation(load_protocol(config.protocol), log)
    InitialCommands.of(config).add_to(simulation.director)
    simulation.start()
    while simulation.now_us < end_us and not is_over():
        simulation.run_to(min(simulation.now_us + slice_us, end_us))
    simulation.finish()
    log.append(End(simulation.now_us, TIME_LIMIT_REACHED))


def run_slice(
    simulation: Simulation, end_us: int | None, watched: bool, given_up: Callable[[], str] = str
) -> bool:
    """Execute what is due by ``end_us``, but for a time slice at most; return whether that was all.

    Stop early where ``given_up`` returns a reason, and, in a watched run, where a command asks to freeze or change
    the time.
    """
    ends_s = time.monotonic() + _SLICE_S
    while not (watched and simulation.time_requests):
        due_us = simulation.next_us()
        if due_us is None or (end_us is not None and due_us > end_us):
            simulation.now_us = max(simulation.now_us, end_us or 0)
            return True
        simulation.step()
        if time.monotonic() > ends_s or given_up():
            break
    return False


def run_to_end(
    config: RunConfig,
    end_us: int,
    interrupted: Callable[[int], str],
    progress: Callable[[int], None] = lambda done: None,
    is_bounded: bool = False,
) -> str:
    """Execute a whole run as fast as possible; return why it ended. See ``build``.

    ``interrupted`` is called repeatedly with the virtual time; a text that it returns ends the run. The run of a
    scenario is given up where it exceeds the limits of ``runaway_reason``; one that ``is_bounded``, where it
    exceeds them in a second.
    """
    writer, simulation = build(config, progress)

    def given_up() -> str:
        seconds = simulation.now_us // 1_000_000 if is_bounded else 0
        return runaway_reason(writer, simulation.now_us, 1 + seconds) if config.scenario or is_bounded else ""

    with contextlib.closing(writer):
        why = ""
        while not why:
            if run_slice(simulation, end_us, watched=False, given_up=given_up):
                why = TIME_LIMIT_REACHED
            elif shutil.disk_usage(writer.path.parent).free < LEAST_FREE_MB << 20:
                why = DISK_IS_FULL
            else:
                why = given_up() or interrupted(simulation.now_us)
            writer.flush()
        simulation.finish()
        writer.append(End(simulation.now_us, why))
    return why
