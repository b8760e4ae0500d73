"""Trying a script in simulation, in memory: what the run came to, and which of its lines did nothing in it."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from lab.journal import Captioned, Cluster, Commanded, End, Fault, Header, Link, Record
from lab.kernel import Protocol
from lab.properties import Judge
from lab.script import read_script
from lab.worlds.campaign.trial import judged_log
from lab.worlds.simulated.simulation import Simulation
from lab.worlds.watchdog import watch_steps

__all__ = ["Trial", "disturbed_headers", "faults_of", "simulated_header", "try_script"]

_DISTURBED = 3


class Trial(Struct, frozen=True):
    """A run of a script. ``idle``: the lines that changed nothing, or whose fault touched nothing; ``missing``:
    those that never came, or could not be carried out. Both by their numbers.
    """

    cluster: Cluster
    judge: Judge
    records: list[Record]
    idle: frozenset[int]
    missing: frozenset[int]


def simulated_header(header: Header) -> Header:
    """The header of the same run in simulation; where nothing was said of its links, as a scenario has them."""
    timing, link = header.timing, header.link
    if header.world == "live" and link == Link():
        link = Link(timing.tm_us // 4, timing.tm_us // 8)
    return replace(header, world="simulated", link=link, parent=None)


def disturbed_headers(header: Header) -> list[Header]:
    """The same with other seeds, and with messages as quick as live ones: what is robust stays the same there."""
    quick = Link(header.timing.tm_us // 50, header.timing.tm_us // 50)
    links = [header.link, quick]
    return [replace(header, seed=header.seed + n, link=link) for link in links for n in range(1, _DISTURBED + 1)]


def try_script(protocol: type[Protocol], header: Header, script: Sequence[str], end_us: int) -> Trial:
    """Run it. RunawayError where its messages multiply."""
    watch_steps()
    log, judge = judged_log(header)
    simulation = Simulation(protocol, header, log)
    simulation.director.add_script(read_script("\n".join(script)))
    simulation.start()
    simulation.run_to(end_us)
    simulation.finish()
    log.append(End(simulation.now_us, "its time was up"))
    numbers = frozenset(range(1, len(script) + 1))
    came, changed = _lines_in(log.records)
    touched = {fault.id: fault.touched for fault in [*log.cluster.lifted, *log.cluster.faults.values()]}
    inert = {line for fault, line in _faults_by_line(log.records).items() if not touched.get(fault)}
    return Trial(log.cluster, judge, log.records, frozenset((came - changed) | inert), numbers - came)


def faults_of(records: list[Record]) -> list[Fault]:
    """The faults that there were, each as it came into force."""
    return [record for record in records if isinstance(record, Fault) and not record.lifted]


def _lines_in(records: list[Record]) -> tuple[set[int], set[int]]:
    """The lines that were carried out, and those of them that changed something."""
    came, changed = set(), set()
    for record in records:
        if isinstance(record, Captioned) or (isinstance(record, Commanded) and not record.refused):
            came.add(record.line)
            if isinstance(record, Captioned) or record.changed:
                changed.add(record.line)
    return came, changed


def _faults_by_line(records: list[Record]) -> dict[int, int]:
    """The line that each fault is of."""
    return {fault.id: fault.line for fault in faults_of(records) if fault.line}
