"""Model checking in Python: the search of all executions of a small cluster, as ``lab explore`` makes it."""

from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, get_args

from lab.api.arguments import ClusterArguments, Protocol, lines_of, require_number
from lab.api.run import Run, html_of, temporary_run
from lab.kernel import Timing
from lab.properties.history_verdict import promises_of
from lab.protocols import Algorithm, Election
from lab.script.commands import ProtocolCommandLine
from lab.script.parse import parse
from lab.script.scope import CommandError, Scope
from lab.text import UserError, did_you_mean
from lab.units import format_count
from lab.worlds.campaign.exploration import ExplorationCampaign, SetUp, explorer_of, outcome_of, record_explored
from lab.worlds.explored.explorer import INTERRUPTED, Explorer, NeverSettledError, SearchTally
from lab.worlds.explored.local_states import SendsInstantsError
from lab.worlds.explored.states import WITH_OWN_CLOCKS, Timeouts
from lab.worlds.loading.config import simulation_header
from lab.worlds.loading.members import require_executable
from lab.worlds.loading.roles import calls_of, model_for

_TIMING = Timing(100_000, 100_000)
"""With Tm = Tp all times are multiples of Tm, and a request with its answer takes less than T."""
_MOST_NODES = 7


class Exploration:
    """The result of an exploration. As text, it is a report with a line for each assertion.

    ``tally`` counts states and transitions. ``failures`` are the assertions that fail with all assumptions intact
    on which the protocol relies, ``excused`` those violated otherwise; the one with the fewest moves first.
    """

    def __init__(
        self, campaign: ExplorationCampaign, protocol: type[Algorithm], own_target: str | None, explorer: Explorer
    ) -> None:
        self._campaign = campaign
        self._protocol = protocol
        self._own_target = own_target
        self._outcome = outcome_of(explorer, campaign.set_ups[0])
        self.tally: SearchTally = explorer.tally
        self.failures = tuple(each.assertion for each in self._outcome.found if not each.broken)
        self.excused = tuple(each.assertion for each in self._outcome.found if each.broken)

    def __str__(self) -> str:
        tally, name = self.tally, self._protocol.name
        counts = f"{format_count(tally.states, 'state')}, {format_count(tally.transitions, 'transition')}"
        width = max(map(len, self.verdicts))
        lines = (f"  {assertion:{width}}  {verdict}" for assertion, verdict in self.verdicts.items())
        return "\n".join((f"{name}: {counts}, {self.coverage}", *lines))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_of(str(self), self.run)

    @property
    def is_exhaustive(self) -> bool:
        """True if all reachable states were visited, and no difference between states was ignored."""
        return self._outcome.is_exhaustive

    @property
    def coverage(self) -> str:
        """The extent of the search, in words."""
        if self.tally.stopped_by:
            return f"stopped at {self.tally.stopped_by}"
        ignored = "; ".join(self._outcome.not_distinguished)
        return f"complete, except for {ignored}" if ignored else "exhaustive"

    @property
    def holds(self) -> bool:
        """True if no bound stopped the search, nothing was violated, and every promised assertion was judged."""
        promises = promises_of(self._campaign.header_of(self._protocol, self._outcome.set_up))
        judged = {each.assertion for each in self._outcome.assertions if each.is_judged}
        is_whole = bool(promises) and judged.issuperset(promises) and not self.tally.stopped_by
        return is_whole and not self._outcome.found

    @cached_property
    def verdicts(self) -> dict[str, str]:
        """The verdict on each assertion, in words."""
        return {each.assertion: each.verdict for each in self._outcome.assertions}

    @cached_property
    def run(self) -> Run | None:
        """The shortest counterexample as a run: to a failure if there is one; None without any."""
        first = next(iter(self._outcome.found), None)
        if first is None:
            return None
        return temporary_run(partial(record_explored, self._campaign, self._protocol, first), self._own_target)

    def count_moves_to(self, assertion: str) -> int:
        """Return the number of moves to the first violation. Raises ValueError if there is none."""
        moves = {each.assertion: each.moves for each in self._outcome.assertions}.get(assertion)
        if moves is None:
            raise ValueError(f"{assertion} is not violated")
        return moves


def explore(
    protocol: Protocol,
    nodes: int = 3,
    *,
    kills: int = 1,
    restarts: int = 0,
    cuts: int = 0,
    pauses: int = 0,
    timeouts: Timeouts = "synchronous",
    suspicions: int = 0,
    settled: bool | None = None,
    commands: Sequence[str] | None = None,
    states: int = 1_000_000,
    depth: int | None = None,
    parameters: dict[str, Any] | None = None,
    role: Mapping[str, Protocol] = MappingProxyType({}),
    workload: str | None = None,
    model: str | None = None,
    clients: Sequence[str] = (),
    properties: str | Path | None = None,
) -> Exploration:
    """Model-check a protocol: explore all executions of a small cluster with at most so many faults.

    ``timeouts`` is the timing model; with ``budget``, at most so many ``suspicions`` are wrong. The search begins
    with all nodes Normal under one coordinator if it is ``settled``, by default for elections; else with all nodes
    just started. ``commands`` are given then (``"tell 3 withdraw 350"``), by default the first of those that drive
    the protocol. The search stops after so many ``states``, or at that ``depth``. ``role`` gives nodes of the
    cluster another protocol (``{"3": "ring"}``), which breaks assumption 1. Each of the ``clients`` calls the
    operations of a ``workload`` that it is given (``"write 0 1; read 0"``), each at any moment, and their history
    is judged; ``model`` is the consistency model of transactions. ``properties`` is a file with properties of your
    own. ``lab explore --help`` says more.

    Raises TargetError for an unknown protocol, UserError for wrong settings or a protocol that cannot be explored,
    CommandError for a wrong command, KeyboardInterrupt at Ctrl-C.
    """
    _check_limits(nodes, timeouts, kills=kills, restarts=restarts, cuts=cuts, pauses=pauses, suspicions=suspicions)
    cluster = ClusterArguments(protocol, nodes, parameters=parameters, role=role, properties=properties)
    require_number("states", states, 1)
    if depth is not None:
        require_number("depth", depth, 1)
    if isinstance(commands, str):
        commands = [commands]
    require_executable(cluster.members, cluster.settings.written)
    if isinstance(clients, str) or not all(isinstance(each, str) for each in clients):
        raise UserError(f"clients={clients!r}: expected the operations of each client: ['write 0 1; read 0', …]")
    calls = calls_of(workload, clients, cluster.protocol, cluster.settings.written)
    campaign = ExplorationCampaign(
        cluster.settings.target,
        simulation_header(cluster.protocol, cluster.ids, _TIMING, cluster.parameters, members=cluster.members),
        (SetUp(nodes, kills, restarts, cuts, pauses, timeouts, suspicions),),
        issubclass(cluster.protocol, Election) if settled is None else settled,
        None if commands is None else _checked(commands, cluster),
        states,
        depth,
        workload or "",
        calls,
        "" if model is None else model_for(workload, model, cluster.settings.written),
    )
    explorer = explorer_of(campaign, cluster.protocol, campaign.set_ups[0])
    try:
        explorer.run(states, depth)
    except NeverSettledError:
        raise UserError(
            f"{cluster.protocol.name} with {nodes} nodes does not become Normal under one coordinator by itself: "
            "add settled=False"
        ) from None
    except SendsInstantsError as error:
        raise UserError(
            f"{cluster.protocol.name} puts its clock time into {error}, so its states never repeat: send "
            "a duration instead, or explore the election below it"
        ) from None
    if explorer.tally.stopped_by == INTERRUPTED:
        raise KeyboardInterrupt
    return Exploration(campaign, cluster.protocol, cluster.own_target, explorer)


def _check_limits(nodes: int, timeouts: str, **faults: int) -> None:
    require_number("nodes", nodes, 1)
    if nodes > _MOST_NODES:
        raise UserError(
            f"nodes={nodes}: 1 to {_MOST_NODES} nodes can be explored; more than 4 have very many states"
        )
    known = get_args(Timeouts)
    if timeouts not in known:
        raise UserError(f"timeouts={timeouts!r}: expected {', '.join(known)}{did_you_mean(str(timeouts), known)}")
    for name, count in faults.items():
        require_number(name, count, 0)
    if faults["pauses"] and timeouts in WITH_OWN_CLOCKS:
        raise UserError(
            f"pauses with timeouts={timeouts!r}: there a node may take its time anyway; leave out one of them"
        )
    if faults["suspicions"] and timeouts != "budget":
        raise UserError(f"suspicions with timeouts={timeouts!r}: only timeouts='budget' counts them")


def _checked(lines: Sequence[str], cluster: ClusterArguments) -> tuple[str, ...]:
    """Return the lines. Raises CommandError for one that is no command of the protocol to nodes by number."""
    found = lines_of(lines, Scope(cluster.protocol, cluster.ids, cluster.parameters))
    for line in found:
        statement = parse(line, cluster.protocol)
        given = statement.command
        if statement.trigger is not None or not isinstance(given, ProtocolCommandLine) or given.nodes is None:
            raise CommandError(
                f"{line!r}: an exploration takes only commands of the protocol, without trigger, for nodes by "
                f"number: tell {cluster.ids[-1]} COMMAND; faults are explored by themselves"
            )
    return found
