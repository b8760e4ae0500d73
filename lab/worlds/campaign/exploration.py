"""Explore a protocol in several set-ups, and say what was found: its verdicts, and the path to each violation.

A set-up is a number of nodes, bounds on faults, and a model of time. Each set-up is explored for itself, and
finished before the next one begins. So a campaign of explorations can be interrupted after any set-up; within one,
all that a search has found is in memory, and is lost with it.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import astuple, replace

from lab.kernel import CommandInput
from lab.properties.assertions import A2, A4, ENDS, HIGHEST, SPREADS
from lab.properties.verdicts import ERROR_IN_CODE
from lab.protocols import Algorithm
from lab.protocols.clients import Call
from lab.recording.cluster_state import ClusterState
from lab.recording.records import Header
from lab.recording.writer import Writer
from lab.script.commands import ProtocolCommandLine
from lab.script.parse import parse
from lab.units import format_count, format_ranges, format_us
from lab.worlds.campaign.finding import shape_of
from lab.worlds.explored.counterexample import ExploredPath, path_to_violation, record_path
from lab.worlds.explored.explorer import Explorer, SearchTally
from lab.worlds.explored.states import Timeouts
from lab.worlds.loading.config import simulation_header
from lab.worlds.loading.roles import given_clients


class SetUp(Struct, frozen=True):
    """What is explored: a cluster of ``nodes`` nodes, with at most so many faults."""

    nodes: int
    kills: int
    restarts: int
    cuts: int
    pauses: int
    timeouts: Timeouts
    suspicions: int = 0

    @property
    def size(self) -> tuple[int, ...]:
        """The key to sort by: fewest nodes first, then fewest faults."""
        faults = self._faults
        return self.nodes, sum(faults.values()), *faults.values()

    @property
    def description(self) -> str:
        """The set-up in words, without the faults that it has none of."""
        words = [format_count(count, fault) for fault, count in self._faults.items() if count]
        return ", ".join([format_count(self.nodes, "node"), *words, self.timeouts])

    @property
    def _faults(self) -> dict[str, int]:
        return {
            "kill": self.kills,
            "restart": self.restarts,
            "cut": self.cuts,
            "pause": self.pauses,
            "wrong suspicion": self.suspicions,
        }


class ExplorationCampaign(Struct, frozen=True, tag_field="of", tag="explore"):
    """The set-ups to explore, the smallest first. ``base`` is the header of the largest cluster.

    ``settled``: the search begins with all nodes Normal. ``commands`` are given then; None: the first of those
    that drive the protocol, to the highest node. Each search stops after so many ``states``, or at that ``depth``.
    ``calls`` are the operations of a ``workload`` that each client calls, at any moment; ``model`` is the
    consistency model of its transactions, empty for strict serializable.
    """

    target: str
    base: Header
    set_ups: tuple[SetUp, ...]
    settled: bool
    commands: tuple[str, ...] | None
    states: int
    depth: int | None
    workload: str = ""
    calls: tuple[tuple[Call, ...], ...] = ()
    model: str = ""

    @property
    def runs(self) -> int:
        return len(self.set_ups)

    @property
    def parts(self) -> int:
        return 1

    def runs_of(self, part: int) -> range:
        """Return the numbers of all runs, from 1: of the set-ups."""
        return range(1, self.runs + 1)

    @property
    def targets(self) -> tuple[str, ...]:
        return (self.target,)

    @property
    def bases(self) -> tuple[Header, ...]:
        return (self.base,)

    def with_protocols(self, targets: Sequence[str], bases: Sequence[Header]) -> "ExplorationCampaign":
        """Return the same set-ups of these protocols."""
        return replace(self, target=targets[0], base=bases[0])

    def facts(self) -> dict[str, str]:
        """Return what distinguishes it from another campaign, in words."""
        members = self.base.members
        names = ("nodes", "kills", "restarts", "cuts", "pauses", "timeouts", "suspicions")
        columns = zip(names, zip(*map(astuple, self.set_ups), strict=True), strict=True)
        found = {f"--{name}": ",".join(map(str, dict.fromkeys(values))) for name, values in columns}
        return {
            **found,
            "the initial state": "normal" if self.settled else "start",
            "--do": "the default" if self.commands is None else "; ".join(self.commands) or "none",
            "the bound of states": f"{self.states:,}",
            "the bound of depth": str(self.depth or "none"),
            "T": format_us(self.base.timing.t_us),
            "--workload": self.workload or "none",
            "--model": self.model or "the default",
            "--client": " and ".join(self.clients) or "none",
            "--role": " and ".join(f"{format_ranges(each.nodes)}={each.protocol.name}" for each in members)
            or "none",
        }

    @property
    def clients(self) -> tuple[str, ...]:
        """The operations of each client, as the user writes them."""
        return tuple("; ".join(map(str, calls)) for calls in self.calls)

    def header_of(self, protocol: type[Algorithm], set_up: SetUp) -> Header:
        """Return the header of the recordings of a set-up."""
        given = self.base.protocol.parameters
        nodes, timing = tuple(range(1, set_up.nodes + 1)), self.base.timing
        roles = (given_clients(self.workload, self.model, self.calls, nodes, timing),) if self.calls else ()
        header = simulation_header(protocol, nodes, timing, given)
        run = f"{protocol.name} explored, timeouts {set_up.timeouts}"
        return replace(header, run=run, roles=roles, members=self.base.members)

    def commands_in(self, protocol: type[Algorithm], set_up: SetUp) -> tuple[str, ...]:
        """Return the lines of the commands given in the initial state."""
        if self.commands is not None:
            return self.commands
        return tuple(f"tell {set_up.nodes} {command}" for command in protocol.workload[:1])


class ExploredAssertion(Struct, frozen=True):
    """An assertion: in how many states it was violated, after how many moves first; ``verdict`` is in words."""

    assertion: str
    violated: int
    moves: int | None
    broken: tuple[int | str, ...]
    verdict: str

    @property
    def is_judged(self) -> bool:
        return not self.verdict.startswith(NOT_JUDGED)

    @property
    def is_in_error(self) -> bool:
        """True if its own code has raised an error."""
        return self.verdict.startswith(f"{NOT_JUDGED}: {ERROR_IN_CODE}")

    @property
    def has_failed(self) -> bool:
        """True if it was violated, or its own code has raised an error."""
        return self.violated > 0 or self.is_in_error

    @property
    def why_skipped(self) -> str:
        """Why it was not judged, unless its own code has raised an error; empty if it was."""
        return "" if self.is_judged or self.is_in_error else self.verdict


class ExploredFinding(Struct, frozen=True):
    """A violation that an exploration found, with the shortest path to it."""

    assertion: str
    broken: tuple[int | str, ...]
    text: str
    set_up: SetUp
    path: ExploredPath

    @property
    def size(self) -> tuple[int, ...]:
        """The key to sort by: fewest faults, nodes and moves first."""
        return len(self.path.commands), self.set_up.nodes, len(self.path.moves)

    @property
    def shape(self) -> str:
        """The faults on the path, as in a campaign's finding."""
        return shape_of(tuple(range(1, self.set_up.nodes + 1)), self.path.commands)


class SetUpOutcome(Struct, frozen=True):
    """The result of exploring a set-up. ``stopped_at``: the bound that ended the search; empty if none did.

    ``waiting`` are states whose successors are not known; ``found`` has a finding for each assertion violated, a
    failure before those that are excused.
    """

    set_up: SetUp
    states: int
    transitions: int
    depth: int
    stopped_at: str
    waiting: int
    not_distinguished: tuple[str, ...]
    assertions: tuple[ExploredAssertion, ...]
    found: tuple[ExploredFinding, ...]

    @property
    def is_exhaustive(self) -> bool:
        """True if the whole state space was visited, and no difference between states ignored."""
        return not self.stopped_at and not self.not_distinguished


def explorer_of(campaign: ExplorationCampaign, protocol: type[Algorithm], set_up: SetUp) -> Explorer:
    """Return the search of a set-up, before it begins."""
    header = campaign.header_of(protocol, set_up)
    commands = command_inputs(campaign.commands_in(protocol, set_up), protocol, header)
    return Explorer(
        protocol,
        header,
        set_up.timeouts,
        set_up.kills,
        set_up.restarts,
        settled=campaign.settled,
        cuts=set_up.cuts,
        commands=commands,
        pauses=set_up.pauses,
        suspicions=set_up.suspicions,
    )


def command_inputs(
    lines: Sequence[str], protocol: type[Algorithm], header: Header
) -> tuple[tuple[int, CommandInput], ...]:
    """Return each command with the node that it is for; the lines name commands of the protocol, and nodes."""
    found: list[tuple[int, CommandInput]] = []
    for line in lines:
        given: Any = parse(line, protocol).command
        assert isinstance(given, ProtocolCommandLine)
        assert given.nodes is not None
        command_input = CommandInput(given.command, given.words)
        found += [(node, command_input) for node in given.nodes.resolve(ClusterState.of(header))]
    return tuple(found)


def explore_set_up(
    campaign: ExplorationCampaign,
    protocol: type[Algorithm],
    set_up: SetUp,
    progress: Callable[[SearchTally], object] = lambda tally: None,
) -> SetUpOutcome:
    """Explore a set-up. At Ctrl-C its outcome is ``stopped_at`` that.

    Raises NeverSettledError and SendsInstantsError.
    """
    explorer = explorer_of(campaign, protocol, set_up)
    explorer.run(campaign.states, campaign.depth, lambda: progress(explorer.tally))
    return outcome_of(explorer, set_up)


def outcome_of(explorer: Explorer, set_up: SetUp) -> SetUpOutcome:
    """Return the result of a search that is over."""
    tally = explorer.tally
    found = tuple(
        ExploredFinding(
            assertion,
            explorer.broken[assertion],
            f"{assertion}: {_describe_verdict(explorer, assertion)}",
            set_up,
            path_to_violation(explorer, assertion, set_up.timeouts, set_up.restarts),
        )
        for assertion in explorer.violated
    )
    return SetUpOutcome(
        set_up,
        tally.states,
        tally.transitions,
        tally.depth,
        tally.stopped_by,
        tally.frontier,
        tuple(explorer.not_distinguished),
        tuple(
            ExploredAssertion(
                assertion,
                count,
                explorer.count_moves_to(assertion) if count else None,
                explorer.broken.get(assertion, ()),
                _describe_verdict(explorer, assertion),
            )
            for assertion, count in tally.violated.items()
        ),
        found,
    )


def record_explored(
    campaign: ExplorationCampaign, protocol: type[Algorithm], found: ExploredFinding, path: Path
) -> None:
    """Perform the path to a violation once more, and record it. Raises OSError."""
    writer = Writer(path, campaign.header_of(protocol, found.set_up))
    record_path(found.path, found.assertion, protocol, writer)


NOT_JUDGED = "not judged"


def _describe_verdict(explorer: Explorer, assertion: str) -> str:
    """Return the verdict on an assertion after the search."""
    count = explorer.tally.violated[assertion]
    if not count:
        return _without_violation(explorer, assertion)
    moves = format_count(explorer.count_moves_to(assertion), "move")
    text = f"violated in {format_count(count, 'state')}, the first after {moves}"
    broken = explorer.broken[assertion]
    if not broken:
        return text
    noun = "assumption" if len(broken) == 1 else "assumptions"
    return f"{text}, excused: {noun} {' and '.join(map(str, broken))} broken"


def _without_violation(explorer: Explorer, assertion: str) -> str:
    tally = explorer.tally
    if why := explorer.why_not_judged(assertion):
        return f"{NOT_JUDGED}: {why}"
    lives = assertion in explorer.liveness
    if lives and assertion != ENDS.id and not tally.stopped_by and not explorer.was_met(assertion):
        return f"{NOT_JUDGED}: no running node is left to agree"
    if lives and (tally.stopped_by or not explorer.judges_liveness):
        if not (explorer.was_met(assertion) and explorer.has_ended):
            never, yet = "it holds in none of these states yet", "no execution came to its end in these states"
            return f"{NOT_JUDGED}: {yet if explorer.was_met(assertion) else never}"
        agreed = dict.fromkeys((A2.id, A4.id), "all agree")
        so = {
            **agreed,
            HIGHEST.id: "the highest leads",
            SPREADS.id: "all have one Definition",
            ENDS.id: "no transaction is open with all nodes up",
        }
        return f"{NOT_JUDGED}; but in every state without further events, {so.get(assertion, 'it holds')}"
    is_whole = not tally.stopped_by and not explorer.not_distinguished
    found = "holds" if is_whole else f"no violation in {format_count(tally.states, 'state')}"
    own = " in the end; whether it stays so, and in time, is not judged"
    return f"{found}{own if explorer.is_own_goal(assertion) else ''}"
