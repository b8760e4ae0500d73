"""Trying a script in simulation, in memory: what the run came to, and which of its lines did nothing in it."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from lab.analysis.script_log import deed_of, inert_deeds
from lab.kernel import Protocol
from lab.properties import Judge
from lab.recording.cluster_state import ClusterState
from lab.recording.records import End, Fault, Header, Link, Record
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

    cluster: ClusterState
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
    numbered = list(enumerate(log.records))
    deeds = [deed for each in numbered if (deed := deed_of(*each)) is not None and deed.how != "refused"]
    missing = frozenset(range(1, len(script) + 1)) - {deed.line for deed in deeds}
    idle = frozenset(deed.line for deed in [*deeds, *inert_deeds(numbered, log.cluster)] if not deed.is_well)
    return Trial(log.cluster, judge, log.records, idle, missing)


def faults_of(records: list[Record]) -> list[Fault]:
    """The faults that there were, each as it came into force."""
    return [record for record in records if isinstance(record, Fault) and not record.lifted]
