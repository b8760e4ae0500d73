"""Run a script in simulation, in memory, to see its outcome and which of its lines have no effect."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from lab.analysis.script_log import inert_results, line_result
from lab.kernel import Protocol
from lab.properties import Judge
from lab.recording.cluster_state import ClusterState
from lab.recording.records import End, Fault, Header, Link, Record
from lab.script import read_script
from lab.worlds.campaign.trial import judging_log
from lab.worlds.simulated.simulation import Simulation
from lab.worlds.watchdog import watch_steps

__all__ = ["ScriptTrial", "disturbed_headers", "faults_of", "simulated_header", "try_script"]

_DISTURBED = 3


class ScriptTrial(Struct, frozen=True):
    """A run of a script.

    ``idle``: the numbers of the lines that changed nothing, or whose fault was inert; ``missing``: those of the
    lines that never ran or were refused.
    """

    cluster: ClusterState
    judge: Judge
    records: list[Record]
    idle: frozenset[int]
    missing: frozenset[int]


def simulated_header(header: Header) -> Header:
    """Return the header of the same run in simulation, with the links' defaults of a scenario if none were set."""
    timing, link = header.timing, header.link
    if header.world == "live" and link == Link():
        link = Link(timing.tm_us // 4, timing.tm_us // 8)
    return replace(header, world="simulated", link=link, parent=None)


def disturbed_headers(header: Header) -> list[Header]:
    """Return variants with other seeds, and with latencies as low as live ones, to test for robustness."""
    quick = Link(header.timing.tm_us // 50, header.timing.tm_us // 50)
    links = [header.link, quick]
    return [replace(header, seed=header.seed + n, link=link) for link in links for n in range(1, _DISTURBED + 1)]


def try_script(protocol: type[Protocol], header: Header, script: Sequence[str], end_us: int) -> ScriptTrial:
    """Run the script. Raises RunawayError if its messages multiply without bound."""
    watch_steps()
    log, judge = judging_log(header)
    simulation = Simulation(protocol, header, log)
    simulation.director.add_script(read_script("\n".join(script)))
    simulation.start()
    simulation.run_to(end_us)
    simulation.finish()
    log.append(End(simulation.now_us, "its time was up"))
    numbered = list(enumerate(log.records))
    results = [
        result for each in numbered if (result := line_result(*each)) is not None and result.how != "refused"
    ]
    missing = frozenset(range(1, len(script) + 1)) - {result.line for result in results}
    idle = frozenset(
        result.line for result in [*results, *inert_results(numbered, log.cluster)] if not result.succeeded
    )
    return ScriptTrial(log.cluster, judge, log.records, idle, missing)


def faults_of(records: list[Record]) -> list[Fault]:
    """Return the records of the faults, each where it came into force."""
    return [record for record in records if isinstance(record, Fault) and not record.lifted]
