"""``lab explore``: model checking, the search of all executions up to a bound."""

import itertools
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Struct
from typer import Argument, Option

from lab.cli.campaign_file import CampaignFile, RecordCampaign, ResumeCampaign, is_own, words_of
from lab.cli.campaign_report import describe_assertion
from lab.cli.documents import Document, Json, print_json
from lab.cli.explore_set_ups import (
    MemberDocument,
    ReportOptions,
    explore_all,
    is_unjudged,
    members_of,
    report_if_not_shown,
)
from lab.cli.junit import JUnitCase, JUnitSuite, write_junit
from lab.cli.options import (
    CommandChecker,
    Junit,
    Model,
    OwnProperties,
    Parameters,
    base_header,
    command,
    one_of,
    wanted_assertion,
    whole_number,
    writable_recording,
    writable_report,
)
from lab.cli.progress import Progress
from lab.cli.recording_report import print_failures
from lab.cli.terminal import (
    EXIT_INTERRUPTED,
    EXIT_NOT_AS_EXPECTED,
    UsageError,
    print_wrapped,
)
from lab.kernel import Timing
from lab.output import print_line
from lab.protocols import Algorithm, Election, installed
from lab.recording.records import Header
from lab.script.commands import ProtocolCommandLine
from lab.text import sanitize
from lab.units import format_count, format_ranges
from lab.worlds.campaign.campaign_recording import CampaignHeader
from lab.worlds.campaign.exploration import (
    ExplorationCampaign,
    ExploredAssertion,
    ExploredFinding,
    SetUp,
    explore_set_up,
    record_explored,
)
from lab.worlds.explored.explorer import INTERRUPTED, NeverSettledError, SearchTally
from lab.worlds.explored.local_states import SendsInstantsError
from lab.worlds.explored.states import WITH_OWN_CLOCKS, Timeouts
from lab.worlds.loading.members import MemberTarget, members_in, require_executable
from lab.worlds.loading.roles import EXPLORED_WORKLOADS, calls_of, model_for
from lab.worlds.loading.settings import parameters_of, target_of
from lab.worlds.loading.targets import absolute_target, load_protocol

_TIMEOUTS: tuple[Timeouts, ...] = ("synchronous", "prompt", "ordered", "budget", "any")
_BEGINNINGS = ("normal", "start")
_TM_US = 100_000
_MOST_NODES = 7
_NO_COMMAND = "none"


class ExploreOptions(Struct, frozen=True):
    """The options of ``lab explore``."""

    protocol: Annotated[
        str, Argument(metavar="PROTOCOL", help="A protocol by name (bully), or your own: FILE.py:CLASS.")
    ] = ""
    nodes: Annotated[
        str,
        Option(
            metavar="NUMBER",
            help="Number of nodes, 1 to 7; or, as for the faults, a range: 2-4. More than 4 gives very many "
            "states.",
        ),
    ] = "3"
    kills: Annotated[
        str,
        Option(metavar="NUMBER", help="Maximum number of kills, of any node at any moment."),
    ] = "1"
    restarts: Annotated[str, Option(metavar="NUMBER", help="Maximum number of restarts of killed nodes.")] = "0"
    cuts: Annotated[
        str, Option(metavar="NUMBER", help="Maximum number of cuts; only one is in force at a time.")
    ] = "0"
    pauses: Annotated[
        str,
        Option(
            metavar="NUMBER",
            help="Maximum number of pauses, of any node at any moment; not with budget or any.",
        ),
    ] = "0"
    timeouts: Annotated[
        str,
        Option(
            metavar="|".join(_TIMEOUTS),
            help="Timing model, or several, separated by commas; lab guide checking describes them.",
        ),
    ] = "synchronous"
    suspicions: Annotated[
        str, Option(metavar="NUMBER", help="Maximum number of wrong timeouts, with --timeouts budget.")
    ] = "0"
    from_: Annotated[
        str | None,
        Option(
            "--from",
            metavar="|".join(_BEGINNINGS),
            help="Initial state: all nodes Normal under one coordinator, or all just started. "
            r"\[default: normal for elections, else start]",
        ),
    ] = None
    do: Annotated[
        list[str],
        Option(
            metavar="COMMAND",
            help='Give a command of the protocol in the initial state: "tell 3 withdraw 350". Repeatable. With '
            "--do none, no command is given. \\[default: if commands drive the protocol, the first of them, to"
            " the highest node]",
        ),
    ] = []
    role: Annotated[
        list[str],
        Option(
            metavar="NODES=PROTOCOL",
            help="Let these nodes execute another protocol: 3=my_bully.py. Repeatable. See lab guide roles.",
        ),
    ] = []
    workload: Annotated[
        str | None,
        Option(metavar="NAME", help=f"Judge the history of clients: {', '.join(EXPLORED_WORKLOADS)}."),
    ] = None
    model: Model = None
    client: Annotated[
        list[str],
        Option(
            metavar="OPERATIONS",
            help='With --workload: a client, and what it calls: "write 0 1; read 0". Repeatable.',
        ),
    ] = []
    states: Annotated[
        str, Option(metavar="NUMBER", help="Stop after this many states; a million need about half a gigabyte.")
    ] = "1000000"
    depth: Annotated[
        str | None, Option(metavar="NUMBER", help="Maximum depth, in transitions.  \\[default: no bound]")
    ] = None
    set_: Parameters = []
    properties: OwnProperties = None
    find: Annotated[
        str | None,
        Option(metavar="ASSERTION", help="Record the shortest counterexample to this assertion, if there is one."),
    ] = None
    out: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help="Record the shortest counterexample to this .jsonl file; an earlier recording there is replaced.",
        ),
    ] = None
    record: RecordCampaign = None
    resume: ResumeCampaign = None
    junit: Junit = None
    json: Json = False


@command(
    epilog="""Examples:\n
    lab explore bully\n
    lab explore bully --timeouts any --out two-coordinators.jsonl\n
    lab explore invitation --cuts 1 --timeouts prompt\n
    lab explore bully --kills 0 --pauses 1 --timeouts prompt\n
    lab explore bully --timeouts budget --suspicions 1\n
    lab explore 2pc --restarts 1 --do "tell 3 transfer 100 savings checking"\n
    lab explore my_election.py:MyElection --kills 2 --from start\n
    lab explore bully --role 3=ring --timeouts prompt\n
    lab explore register.py --workload lin-kv --client "write 0 1; read 0" --client "write 0 2"\n
    lab explore bully --nodes 2-4 --kills 0-2 --timeouts prompt,any --record small.jsonl\n
    lab explore --resume small.jsonl"""
)
def explore(options: ExploreOptions) -> int:
    """Model-check a protocol: explore all executions up to a bound.

    Every order of deliveries, timeouts, kills, restarts, cuts and pauses is explored, and the assertions are
    checked in every state. The search is breadth first, so the recorded counterexample is a shortest one. A kill
    can also interrupt a step between two messages. Links are FIFO and lose messages only during a cut. T is 300
    ms, Tm is T/3.

    A cut separates the nodes into two sides, or two nodes from each other. It can begin at any moment, and heal at
    any later moment or never. Cuts that stop no message are not explored. A cut breaks assumption 8. A4 is checked
    on each side of a cut, all other liveness properties after the cut has healed.

    A pause can begin at any moment, also between two messages of a step, and lasts 4 T at most. The paused node
    handles nothing; messages to it wait. When it resumes, it takes in those that have arrived, and then fires its
    timers late. A pause breaks assumption 9. Liveness properties are checked while no node is paused.

    \b
    Timing models:
    synchronous  messages arrive within Tm, timers fire on time: no assumption is broken
    prompt       as synchronous, but messages take no time: far fewer states
    ordered      message delays are unbounded (breaks assumption 8)
    budget       as any, but at most --suspicions timeouts are wrong (breaks 8 and 9)
    any          as ordered, and timers can fire at any moment (breaks 8 and 9)

    A timeout is wrong if what the node waits for can still come: a reply that is on its way, a message of a node
    that is up, or, before any kill or cut, what makes a condition true. Timeouts that are right need no budget.

    The search is exhaustive if it visits all reachable states before a bound stops it, and ignores no difference
    between states; the report lists the differences that it ignored, such as ages beyond some bound. A protocol
    with unbounded counters, such as versions, may have infinitely many states. A task such as field cannot be
    explored, because its knowledge grows without bound.

    With --workload, each --client calls its operations one after the other, each at any moment, of one of the
    nodes: the first client of node 1, the second of node 2. Their history is one more assertion, which no fault
    excuses. No fault strikes a client. One that is not answered in time goes on under another name.

    A liveness property (A2: the nodes agree, ends: every transaction ends, or one of your own) is violated by a
    state in which it does not hold and nothing more can happen. With synchronous or prompt, if no bound stopped
    the search, it is also violated by a cycle of states in which it never holds.

    Ranges and lists give several set-ups, of all combinations: the smallest is explored first, each for itself,
    and the report has a row for each. Those that cannot differ from a smaller one are left out: more restarts than
    kills, pauses with budget or any, suspicions with another model than budget. With --record, a set-up is kept in
    a file when it is finished, with the shortest path to each violation. Killed at any moment, the campaign goes
    on with --resume, from the first set-up that was not finished: a search is in memory only, so one that is
    interrupted begins again.

    Exit status: 0 nothing found, 1 a violation, or nothing was judged, 2 usage error, 130 Ctrl-C (which
    reports what was covered).
    """  # noqa: D301 - typer keeps the lines of a paragraph that begins so
    file = CampaignFile(options.record, options.resume)
    campaign, target = _planned(options, file)
    protocol = load_protocol(target)
    if options.out is not None:
        if options.out.suffix != ".jsonl":
            raise UsageError(f"--out {options.out}: name a .jsonl file")
        writable_recording("--out", options.out)
    junit = writable_report(options.junit)
    find = wanted_assertion(options.find, protocol.promises, campaign.workload, protocol.name)
    with _explained(target, protocol, campaign):
        if campaign.runs > 1 or file.is_wanted:
            again = _resume_command(options, campaign)
            wanted = ReportOptions(find, options.out, junit, options.json)
            return explore_all(campaign, protocol, file, again, wanted)
        exploration = _Exploration(options, campaign, target)
    outcome = exploration.outcome
    if not options.json:
        exploration.print_report()
    found = {each.assertion: each for each in outcome.found}
    recorded = found.get(find, next(iter(outcome.found), None))
    path = None if recorded is None else exploration.record(recorded)
    document = exploration.document(path)
    write_junit(junit, [_junit_suite(document)])
    if options.json:
        print_json(document)
    elif recorded is not None:
        print_line(f"recorded: {path}, the shortest counterexample to {recorded.assertion}")
        print_line(f"replay:   lab replay {path}")
        if others := [each for each in found if each != recorded.assertion]:
            print_line(f"not recorded: {', '.join(others)}; --find {others[0]} chooses another")
    if outcome.stopped_at == INTERRUPTED:
        return EXIT_INTERRUPTED
    unjudged = is_unjudged(outcome.assertions, exploration.protocol.promises, campaign.workload)
    return EXIT_NOT_AS_EXPECTED if recorded is not None or unjudged else 0


class ExploreDocument(Document, frozen=True):
    """An exploration: the options, as resolved, the size of what was visited, and a verdict on each assertion."""

    protocol: str
    nodes: int
    begin: Literal["normal", "start"]
    do: list[str]
    timeouts: Timeouts
    kills: int
    restarts: int
    cuts: int
    pauses: int
    suspicions: int
    roles: tuple[MemberDocument, ...]
    workload: str | None
    clients: tuple[str, ...]
    states: int
    transitions: int
    depth: int
    seconds: float
    exhaustive: bool
    not_distinguished: tuple[str, ...]
    stopped_at: str | None
    waiting: int
    assertions: tuple[ExploredAssertion, ...]
    recording: str | None


def _junit_suite(document: ExploreDocument) -> JUnitSuite:
    """Return a case for each assertion."""
    cases = []
    for each in document.assertions:
        recorded = () if document.recording is None else (f"recorded: {document.recording}",)
        failure = (f"{each.assertion}: {each.verdict}", *recorded) if each.has_failed else ()
        cases.append(JUnitCase(f"explore.{document.protocol}", each.assertion, failure, each.why_skipped))
    return JUnitSuite("explore", cases, document.seconds)


# from the options to set-ups

_PLANNING = (
    *("nodes", "kills", "restarts", "cuts", "pauses", "timeouts", "suspicions", "role", "workload", "model"),
    *("client", "from_", "do", "states", "depth", "set_", "properties"),
)
"""The options that say what is to be explored, which a campaign that is resumed has."""


def _planned(options: ExploreOptions, file: CampaignFile) -> tuple[ExplorationCampaign, str]:
    """Return the set-ups to explore, and the target as the user wrote it."""
    resumed = file.header(ExplorationCampaign)
    if not options.protocol:
        if resumed is None:
            raise UsageError("name a protocol (lab explore bully), or a campaign to go on with (--resume FILE)")
        recorded: ExplorationCampaign = file.as_recorded(resumed, options, _PLANNING)
        _require_installed(recorded.base, file)
        return recorded, recorded.target
    target = target_of(options.protocol, options.set_, options.properties)
    set_ups = _set_ups(options)
    states = whole_number("--states", options.states, 1)
    depth = None if options.depth is None else whole_number("--depth", options.depth, 1)
    beginning = None if options.from_ is None else one_of("--from", options.from_, _BEGINNINGS)
    protocol = load_protocol(target)
    # with Tm = Tp all times are multiples of Tm, and a request with its answer takes less than T
    parameters = parameters_of(protocol, options.set_)
    sizes = [each.nodes for each in set_ups]
    campaign = ExplorationCampaign(
        absolute_target(target),
        base_header(
            protocol,
            max(sizes),
            Timing(_TM_US, _TM_US),
            parameters,
            _members(options, protocol, min(sizes), parameters),
        ),
        set_ups,
        issubclass(protocol, Election) if beginning is None else beginning == "normal",
        None if not options.do else () if options.do == [_NO_COMMAND] else tuple(options.do),
        states,
        depth,
        options.workload or "",
        calls_of(options.workload, options.client, protocol),
        "" if options.model is None else model_for(options.workload, options.model),
    )
    for set_up in set_ups:
        _check_commands(options.do and campaign.commands_in(protocol, set_up), protocol, campaign, set_up)
    file.check()
    if resumed is not None:
        file.require_fit(resumed, CampaignHeader.of(campaign))
    return campaign, target


def _members(
    options: ExploreOptions, protocol: type[Algorithm], nodes: int, parameters: dict[str, Any]
) -> tuple[MemberTarget, ...]:
    """Return the nodes that execute another protocol, which are in the smallest cluster, too."""
    found = members_in(options.role, protocol, range(1, nodes + 1), parameters)
    require_executable(found)
    return found


def _require_installed(base: Header, file: CampaignFile) -> None:
    """Raise UsageError if nodes of a recorded campaign execute a protocol of the user's own."""
    for role in base.members:
        if installed(role.protocol.name, role.protocol.parameters) is None:
            raise UsageError(
                f"{file.resume} has nodes that execute {role.protocol.name}: no code that a recording names is "
                f"executed, so write the command that began it again, with --resume {file.resume}"
            )


def _set_ups(options: ExploreOptions) -> tuple[SetUp, ...]:
    """Return the set-ups that the options describe, the smallest first."""
    nodes = _numbers("--nodes", options.nodes, 1, _MOST_NODES)
    kills, restarts = _numbers("--kills", options.kills, 0), _numbers("--restarts", options.restarts, 0)
    cuts, pauses = _numbers("--cuts", options.cuts, 0), _numbers("--pauses", options.pauses, 0)
    suspicions = _numbers("--suspicions", options.suspicions, 0)
    timeouts = dict.fromkeys(one_of("--timeouts", each, _TIMEOUTS) for each in options.timeouts.split(","))
    bounds = itertools.product(nodes, kills, restarts, cuts, pauses, timeouts, suspicions)
    product = list(itertools.starmap(SetUp, bounds))
    differ = [each for each in product if each.restarts <= each.kills and not _useless_bound(each)]
    if len(product) > 1 and differ:
        return tuple(sorted(differ, key=lambda each: each.size))
    if useless := _useless_bound(product[0]):
        raise UsageError(useless)
    return tuple(sorted(product, key=lambda each: each.size))


def _useless_bound(set_up: SetUp) -> str:
    """Return why a bound makes no difference in the model of time; empty if none is so."""
    timeouts = set_up.timeouts
    if set_up.pauses and timeouts in WITH_OWN_CLOCKS:
        return (
            f"--pauses with --timeouts {timeouts}: there a node may take its time anyway; "
            "use synchronous, prompt or ordered"
        )
    if set_up.suspicions and timeouts != "budget":
        return f"--suspicions with --timeouts {timeouts}: only budget counts them; add --timeouts budget"
    return ""


def _numbers(option: str, text: str, least: int, most: int | None = None) -> range:
    """Return the numbers of a range such as 1-3, or the one number."""
    low, dash, high = text.partition("-")
    if not (dash and low.isdecimal() and high.isdecimal()):
        number = whole_number(option, text, least, most)
        return range(number, number + 1)
    first, last = whole_number(option, low, least, most), whole_number(option, high, least, most)
    if first > last:
        raise UsageError(f"{option} {text}: write the lower number first: {last}-{first}")
    return range(first, last + 1)


def _check_commands(
    lines: Sequence[str], protocol: type[Algorithm], campaign: ExplorationCampaign, set_up: SetUp
) -> None:
    """Raise UsageError for a line that is no command of the protocol to a node of this set-up."""
    header = campaign.header_of(protocol, set_up)
    checker = CommandChecker(protocol, header.nodes, header.protocol.parameters)
    for line in lines:
        statement = checker.check(line)
        given = statement.command
        if statement.trigger is not None or not isinstance(given, ProtocolCommandLine) or given.nodes is None:
            raise UsageError(
                f"--do {line!r}: lab explore takes only commands of the protocol, without trigger, for nodes by "
                f"number: tell {header.nodes[-1]} COMMAND; kills and cuts are explored by themselves"
            )


def _resume_command(options: ExploreOptions, campaign: ExplorationCampaign) -> list[str]:
    """Return the command line that goes on with the campaign, but for the file."""
    if not (is_own(campaign.target) or campaign.base.members):
        return ["lab", "explore"]
    return ["lab", "explore", options.protocol, *words_of(options, _PLANNING)]


@contextmanager
def _explained(target: str, protocol: type[Algorithm], campaign: ExplorationCampaign) -> Iterator[None]:
    """Turn what keeps a protocol from being explored into a UsageError."""
    try:
        yield
    except NeverSettledError:
        nodes = "-".join(dict.fromkeys(str(campaign.set_ups[place].nodes) for place in (0, -1)))
        raise UsageError(
            f"{target} with {nodes} nodes does not become Normal under one coordinator by itself: add --from start"
        ) from None
    except SendsInstantsError as error:
        if protocol.upper_protocol is not None:
            raise UsageError(
                f"the {protocol.name} cannot be explored, as its state grows without bound; explore the "
                f"election below it: lab explore {' '.join(protocol.fixed_parameters.values())}"
            ) from None
        raise UsageError(
            f"{target} puts its clock time into {error}: lab explore has no global clock; send a duration instead"
        ) from None


class _Exploration:
    """The exploration of one set-up, and its report."""

    def __init__(self, options: ExploreOptions, campaign: ExplorationCampaign, target: str) -> None:
        (self.set_up,) = campaign.set_ups
        self.campaign, self.target = campaign, target
        self.protocol = load_protocol(target)
        self.header = campaign.header_of(self.protocol, self.set_up)
        self.do = options.do
        self.commands = list(campaign.commands_in(self.protocol, self.set_up))
        self.out = options.out
        began_s = time.monotonic()
        with Progress(f"exploring {self.protocol.name}", "state") as progress:
            self.outcome = explore_set_up(
                campaign,
                self.protocol,
                self.set_up,
                lambda tally: progress(tally.states, _progress_note(tally)),
            )
        self.seconds = time.monotonic() - began_s

    # the report

    def print_report(self) -> None:
        """Print what was explored, and the verdicts."""
        outcome = self.outcome
        begin = "from all nodes Normal" if self.campaign.settled else "from the start"
        begin += "".join(f", {line}" for line in self.commands)
        if self.commands and not self.do:
            begin += " (the default of --do)"
        elif self.do and not self.commands:
            begin += ", no command"
        extra = f", {format_count(self.set_up.pauses, 'pause')}" if self.set_up.pauses else ""
        if self.set_up.timeouts == "budget":
            extra = f", {format_count(self.set_up.suspicions, 'wrong suspicion')}"
        print_wrapped(
            f"{sanitize(self.target)}, {format_count(self.set_up.nodes, 'node')}, {begin}, "
            f"timeouts {self.set_up.timeouts}, {self._describe_others()}"
            f"at most {format_count(self.set_up.kills, 'kill')}, "
            f"{format_count(self.set_up.restarts, 'restart')}{extra} and "
            f"{format_count(self.set_up.cuts, 'cut')}"
        )
        print_wrapped(
            f"  {format_count(outcome.states, 'state')}, {format_count(outcome.transitions, 'transition')}, "
            f"depth {format_count(outcome.depth, 'move')}; "
            f"{self.seconds:.1f} s, {outcome.states / max(self.seconds, 1e-3):,.0f} states/s"
        )
        if outcome.stopped_at:
            waiting = format_count(outcome.waiting, "state")
            print_wrapped(f"  not exhaustive: stopped at {outcome.stopped_at}, with {waiting} in the frontier")
        elif outcome.not_distinguished:
            left_out = "; ".join(outcome.not_distinguished)
            print_wrapped(f"  explored completely, except for differences that the search ignores: {left_out}")
        else:
            print_line("  exhaustive: the whole state space was explored")
        width = max(len(each.assertion) for each in outcome.assertions) + 1
        for each in outcome.assertions:
            short = describe_assertion(each.assertion)
            print_wrapped(f"  {each.assertion:{width}}{each.verdict}" + (f"  ({short})" if short else ""))

    def _describe_others(self) -> str:
        """Return in words which nodes execute another protocol, and what clients call."""
        members = [f"{format_ranges(each.nodes)}={sanitize(each.protocol.name)}" for each in self.header.members]
        clients = [f"a client calls {sanitize(each)}" for each in self.campaign.clients]
        return "".join(f"{each}, " for each in (*members, *clients))

    def document(self, path: Path | None) -> ExploreDocument:
        """Return the report as a document; ``path`` is the counterexample's recording."""
        outcome = self.outcome
        return ExploreDocument(
            protocol=self.target,
            nodes=self.set_up.nodes,
            begin="normal" if self.campaign.settled else "start",
            do=self.commands,
            timeouts=self.set_up.timeouts,
            kills=self.set_up.kills,
            restarts=self.set_up.restarts,
            cuts=self.set_up.cuts,
            pauses=self.set_up.pauses,
            suspicions=self.set_up.suspicions,
            roles=members_of(self.campaign),
            workload=self.campaign.workload or None,
            clients=self.campaign.clients,
            states=outcome.states,
            transitions=outcome.transitions,
            depth=outcome.depth,
            seconds=round(self.seconds, 3),
            exhaustive=outcome.is_exhaustive,
            not_distinguished=outcome.not_distinguished,
            stopped_at=outcome.stopped_at or None,
            waiting=outcome.waiting,
            assertions=outcome.assertions,
            recording=None if path is None else str(path),
        )

    # the counterexample

    def record(self, found: ExploredFinding) -> Path:
        """Record the shortest counterexample, and return the file."""
        path = self.out or Path(f"{self.protocol.name}-{found.assertion}-{self.set_up.timeouts}.jsonl")
        record_explored(self.campaign, self.protocol, found, path)
        print_failures(path)
        report_if_not_shown(path, found.assertion)
        return path


def _progress_note(tally: SearchTally) -> str:
    return f"depth {tally.depth}, {tally.frontier:,} in the frontier"
