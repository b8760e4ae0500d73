"""``lab mutate``: mutation testing of a protocol's properties, and of the faults by which it is tested.

The options become a campaign of the original; its mutants are run under the same schedules, and the survivors are
reported with their differences.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Annotated, Literal

import msgspec
from msgspec import Struct, structs
from rich.table import Table
from rich.text import Text
from typer import Option

from lab.cli.check_options import DEFAULT_FAULTS, DEFAULT_NODES, SYSTEMATIC_NODES, Systematic, wanted_faults
from lab.cli.documents import Document, Json, print_json
from lab.cli.options import (
    Clients,
    Faults,
    Model,
    OwnProperties,
    Parameters,
    Rate,
    RequestBound,
    Services,
    Target,
    Workers,
    Workload,
    base_header,
    command,
    exit_if_workers_fail,
    node_range,
    one_of,
    wanted_outside,
    whole_number,
    worker_count,
)
from lab.cli.progress import Progress
from lab.cli.recording_report import format_errors
from lab.cli.terminal import (
    EXIT_INTERRUPTED,
    EXIT_NOT_AS_EXPECTED,
    UsageError,
    console,
    fail,
    interrupt_on_signals,
    print_table,
    print_wrapped,
)
from lab.output import print_error, print_line
from lab.text import sanitize
from lab.units import format_count
from lab.worlds.campaign.campaign import Campaign
from lab.worlds.campaign.schedule import plan_of
from lab.worlds.campaign.trial import SearchGoal
from lab.worlds.explored.states import Timeouts
from lab.worlds.interruption import interrupted_between_steps
from lab.worlds.loading.roles import roles_of
from lab.worlds.loading.settings import parameters_of, target_of, timing_of
from lab.worlds.loading.targets import absolute_target, load_protocol
from lab.worlds.mutation.equivalence import MOST_STATES, FoundByExploring, OriginalExploration, Reached
from lab.worlds.mutation.mutable_source import ProtocolSource
from lab.worlds.mutation.mutants import Mutant, mutants_of
from lab.worlds.mutation.mutation_campaign import (
    COST,
    Killer,
    MutantOutcome,
    MutationCampaign,
    MutationScore,
    OriginalFailsError,
    Result,
    RuleScore,
    RunDifference,
)
from lab.worlds.mutation.mutation_rules import RULES

_MOST_NODES, _DEFAULT_RUNS = 100, "250"
_RULE_IDS = tuple(rule.id for rule in RULES)


class MutateOptions(Struct, frozen=True):
    """The options of ``lab mutate``."""

    protocol: Target
    runs: Annotated[
        str | None,
        Option(
            metavar="NUMBER",
            help="Run each mutant up to this many times, until the first failure.  "
            r"\[default: 250; with --systematic all]",
        ),
    ] = None
    seed: Annotated[str, Option(metavar="NUMBER", help="Seed of the first run; each run uses the next seed.")] = (
        "1"
    )
    nodes: Annotated[
        str | None,
        Option(
            metavar="NUMBER",
            help="Number of nodes: 5, or a range, from which each run draws one: 3-7.  "
            r"\[default: 3-7; with --systematic 3]",
        ),
    ] = None
    faults: Faults = DEFAULT_FAULTS
    systematic: Systematic = None
    properties: OwnProperties = None
    only: Annotated[
        str | None,
        Option(metavar="RULE,RULE,…", help="Make only the mutants of these rules; --list shows the rules."),
    ] = None
    files: Annotated[
        str | None,
        Option(metavar="FILE,FILE,…", help="Make only the mutants of these files; --list shows the files."),
    ] = None
    numbers: Annotated[
        str | None,
        Option(metavar="NUMBER,NUMBER,…", help="Make only these mutants; --list shows the numbers."),
    ] = None
    list_: Annotated[bool, Option("--list", help="List the mutants, and run none.")] = False
    show: Annotated[
        str | None, Option(metavar="NUMBER", help="Print the difference of the mutant of this number; run none.")
    ] = None
    explore: Annotated[
        bool,
        Option(
            "--explore/--no-explore",
            help="Explore the mutants that survive, to tell those apart that are equivalent within it.",
        ),
    ] = True
    at_least: Annotated[
        str | None, Option(metavar="PERCENT", help="Exit with status 0 if the score is at least this.")
    ] = None
    workers: Workers = None
    t: RequestBound = None
    set_: Parameters = []
    workload: Workload = None
    model: Model = None
    clients: Clients = None
    rate: Rate = None
    service: Services = None
    json: Json = False


@command(
    epilog="""Examples:\n
    lab mutate bully\n
    lab mutate bully --list --only timeout,guard\n
    lab mutate bully --show 12\n
    lab mutate bully --numbers 12,47 --runs 2000\n
    lab mutate 3pc --files three_phase.py --systematic 2\n
    lab mutate my_election.py:MyElection --properties my_properties.py --faults kill,partition\n
    lab mutate my_election.py --runs 100 --at-least 80"""
)
def mutate(options: MutateOptions) -> int:
    """Test the tests: mutate a protocol, and see which mutants no property notices.

    A mutant is the protocol with one small mistake in its source: a comparison turned, a guard left out, a time
    halved, a field no longer in stable storage. Each is run under the same random faults as lab check, until an
    assertion is violated, a node fails, a step does not end or messages multiply: then it is killed. It is killed
    by its cost if it sends more messages, writes more often, or needs longer than the original in calm runs: the
    same few runs of both, in which nodes crash and restart while all are at rest, or the messages of a kind are
    lost. One that is not killed has survived: your properties and faults do not notice that mistake.

    Survivors are printed with their difference. Either a property is missing, or a fault, or runs; or the mutant
    is no mistake, because it does the same as the original. To tell these apart, original and mutant are explored
    (2 and 3 nodes, a kill and a restart), if that takes no more than 20,000 states: if they reach the same states,
    the mutant is equivalent within that exploration. More is not shown. How the runs of a survivor differ from
    those of the original is printed, too: in their messages, in their records, or not at all.

    With --systematic 2, the runs are those of lab check --systematic 2 on the original: a node is killed, or comes
    back, at every point of a run, and then at every point of each of these.

    What the parameters choose, and what they rule out, is not mutated.

    The score is the share of the mutants killed, without the equivalent ones. The original must not fail in any of
    the runs. Your own protocol is mutated in its file and in those in its folder; properties, and declarations
    such as promises, are left alone.

    To read the report: lab guide mutation.

    Exit status: 0 no mutant survived, or the score is at least --at-least; 1 otherwise, or if a property raises an
    error; 2 usage error; 130 Ctrl-C, which reports the mutants tested so far.
    """
    session = _Session(options)
    if options.list_ or options.show is not None:
        session.print_mutants()
        return 0
    interrupt_on_signals()
    interrupted = session.run()
    if options.json:
        print_json(session.document())
    else:
        session.print_report(interrupted)
    for line in format_errors(session.runs.errors):
        print_error(line)
    if interrupted:
        return EXIT_INTERRUPTED
    return 0 if session.is_good_enough else EXIT_NOT_AS_EXPECTED


class MutantSummary(Struct, frozen=True):
    """A mutant: its place, the class and method in ``place``, and what it changes."""

    number: int
    rule: str
    file: str
    line: int
    place: str
    change: str
    diff: str


class TestedMutant(MutantSummary, frozen=True):
    """A mutant and its outcome: killed ``by`` what, in which of the ``runs``, or what exploring it showed."""

    result: Result
    by: str
    text: str
    runs: int
    difference: RunDifference | None
    explored: Reached | Literal[""]
    violated: tuple[FoundByExploring, ...]


class RuleSummary(Struct, frozen=True):
    """A rule: what it changes, in words, and the numbers of its mutants."""

    rule: str
    changes: str
    counts: RuleScore


class JudgedRuns(Struct, frozen=True):
    """In how many runs of the original an assertion was judged."""

    assertion: str
    runs: int


class ExplorationSummary(Struct, frozen=True):
    """An exploration of the original, to which survivors are compared."""

    nodes: int
    kills: int
    restarts: int
    timeouts: Timeouts
    begin: Literal["normal", "start"]
    states: int
    not_distinguished: tuple[str, ...]


class MutantsDocument(Document, frozen=True):
    """The mutants of a protocol, not run: of ``--list`` and ``--show``."""

    protocol: str
    mutants: tuple[MutantSummary, ...]


class MutateDocument(Document, frozen=True):
    """Mutants and their outcomes. ``score_percent`` is None if all are equivalent or invalid.

    ``systematic`` is the bound on the events of a run, 0 if faults are drawn.
    """

    protocol: str
    runs: int
    systematic: int
    seed: int
    nodes: tuple[int, int]
    faults: tuple[str, ...]
    planned: int
    tested: int
    score_percent: float | None
    total: RuleScore
    rules: tuple[RuleSummary, ...]
    killed_by: tuple[Killer, ...]
    judged: tuple[JudgedRuns, ...]
    explorations: tuple[ExplorationSummary, ...]
    mutants: tuple[TestedMutant, ...]


class _Session:
    """The mutants that the options describe, and what became of them."""

    def __init__(self, options: MutateOptions) -> None:
        self.options = options
        self.target = target_of(options.protocol, options.set_, options.properties)
        self.protocol = load_protocol(self.target)
        self.parameters = parameters_of(self.protocol, options.set_)
        self.at_least = None if options.at_least is None else whole_number("--at-least", options.at_least, 0, 100)
        self.workers = worker_count(options.workers)
        source = ProtocolSource(self.protocol)
        properties = "" if options.properties is None else str(options.properties.resolve())
        self.runs = MutationCampaign(self._campaign(), source, self._chosen_mutants(source), properties)
        self.score = MutationScore(_RULE_IDS)

    def _campaign(self) -> Campaign:
        options = self.options
        timing = timing_of(options.t)
        bound = 0 if options.systematic is None else whole_number("--systematic", options.systematic, 1)
        least, most = node_range(options.nodes or (SYSTEMATIC_NODES if bound else DEFAULT_NODES), _MOST_NODES)
        runs = 0 if bound and options.runs is None else whole_number("--runs", options.runs or _DEFAULT_RUNS, 1)
        wanted = wanted_outside(options)
        base = base_header(self.protocol, most, timing, self.parameters)
        roles = roles_of(wanted, self.protocol, base.nodes, timing, None)
        plan = plan_of(self.protocol, (least, most), wanted_faults(options.faults, bound), timing)
        return Campaign(
            absolute_target(self.target),
            structs.replace(base, roles=roles),
            plan.with_outside(roles, wanted.clients),
            SearchGoal(),
            whole_number("--seed", options.seed, 0),
            runs,
            systematic=bound,
        )

    def _chosen_mutants(self, source: ProtocolSource) -> list[Mutant]:
        """Return the mutants of the chosen rules and files, and of the chosen numbers; all numbers stay."""
        options, parameters = self.options, msgspec.convert(self.parameters, self.protocol.Parameters)
        found = list(mutants_of(source, parameters))
        if options.only is not None:
            rules = {one_of("--only", each, _RULE_IDS) for each in options.only.replace(" ", "").split(",")}
            found = [mutant for mutant in found if mutant.rule in rules]
        if options.files is not None:
            names = tuple(module.path.name for module in source.modules.values())
            files = {one_of("--files", each, names) for each in options.files.replace(" ", "").split(",")}
            found = [mutant for mutant in found if mutant.file in files]
        if options.numbers is not None:
            found = _with_numbers("--numbers", options.numbers.replace(" ", "").split(","), found)
        if options.show is not None:
            found = _with_numbers("--show", [options.show], found)
        return found

    # running

    def run(self) -> bool:
        """Run the original and the mutants; return whether Ctrl-C was pressed."""
        try:
            with exit_if_workers_fail(), interrupted_between_steps():
                self._run_original()
                if self.options.explore:
                    with Progress(f"exploring {self.protocol.name}"):
                        self.runs.explore_original(self.parameters)
                self._run_mutants()
        except KeyboardInterrupt:
            return True
        return False

    def _run_original(self) -> None:
        runs = self.runs
        try:
            progress = Progress(f"running {self.protocol.name}", "run", 2 * runs.campaign.runs)
            with closing(runs.run_original(self.workers)) as original, progress:
                for done in original:
                    progress(done)
        except OriginalFailsError as error:
            fail(
                f"{self.protocol.name} fails without any mutation: {error}; mutants are compared to an original "
                "that does not fail: correct it, or choose other --faults (lab check shrinks the failure)",
                EXIT_NOT_AS_EXPECTED,
            )

    def _run_mutants(self) -> None:
        total = self.score.total
        progress = Progress("running mutants", "mutant", len(self.runs.mutants))
        with closing(self.runs.run_mutants(self.workers)) as tested, progress:
            for mutant, outcome in tested:
                self.score.add(mutant, outcome)
                progress(len(self.score.tested), f"{total.killed:,} killed, {total.survived:,} survived")

    @property
    def most_runs(self) -> int:
        """Return how often each mutant is run at most; of a systematic campaign, as far as its runs are known."""
        return self.runs.campaign.runs or len(self.runs.schedules)

    @property
    def is_good_enough(self) -> bool:
        """Return whether the mutants were noticed as far as the options ask; without any mutant, nothing was.

        Nor is it if the code of a property raises an error: what that would notice is not known.
        """
        percent = self.score.percent
        if self.runs.errors:
            return False
        if percent is None:
            return bool(self.score.total.made)
        return self.score.total.survived == 0 if self.at_least is None else percent >= self.at_least

    # reporting

    def print_mutants(self) -> None:
        """Print the list of mutants, or the difference of the chosen one."""
        if self.options.json:
            print_json(MutantsDocument(self.protocol.name, tuple(map(_summarize, self.runs.mutants))))
        elif self.options.show is not None:
            (mutant,) = self.runs.mutants
            print_line(f"{_describe_place(mutant)}: {_text_of(mutant.rule)}")
            _print_diff(mutant.diff.splitlines(), indent="")
        else:
            table = Table("number", "place", "rule", "change", box=None, pad_edge=True)
            for each in self.runs.mutants:
                table.add_row(str(each.number), f"{each.file}:{each.line}", each.rule, Text(each.summary))
            print_table(table)
            counts = {rule.id: sum(each.rule == rule.id for each in self.runs.mutants) for rule in RULES}
            rules = Table("rule", "mutants", "what is changed", box=None, pad_edge=True)
            for rule in RULES:
                rules.add_row(rule.id, str(counts[rule.id]), rule.text)
            print_line()
            print_table(rules)

    def print_report(self, interrupted: bool) -> None:
        """Print the score, and the mutants that survived."""
        tested = len(self.score.tested)
        if interrupted and not tested:
            print_line("stopped before the first mutant was tested: no result")
            return
        self._print_head(interrupted)
        if not tested:
            print_line("no mutants: these rules find nothing to change")
            return
        self._print_tables()
        self._print_survivors()
        print_wrapped(self._describe_score())

    def _print_head(self, interrupted: bool) -> None:
        campaign, tested = self.runs.campaign, len(self.score.tested)
        per_file = [
            f"{module.path.name} ({count})"
            for module in self.runs.source.modules.values()
            if (count := sum(mutant.module == module.name for mutant in self.runs.mutants))
        ]
        least, most = campaign.plan.nodes
        nodes = format_count(most, "node") if least == most else f"{least}-{most} nodes"
        so_far = f"; stopped after {tested:,} of them" if interrupted else ""
        made = format_count(len(self.runs.mutants), "mutant")
        print_wrapped(f"{self.protocol.name}: {made} of {', '.join(per_file)}{so_far}")
        events = f"with up to {format_count(campaign.systematic, 'event')} at every point"
        drawn = events if campaign.systematic else f"from seed {campaign.seed} on"
        runs, faults = format_count(self.most_runs, "run"), ", ".join(campaign.plan.faults)
        print_wrapped(f"  each in at most {runs} {drawn}, with {nodes}, faults: {faults}")
        judged = self.runs.count_judged()
        unjudged = [name for name, runs in judged.items() if not runs and name not in self.runs.errors]
        if unjudged:
            print_wrapped(f"  judged in no run of the original, so of no use here: {', '.join(unjudged)}")
        if not judged:
            print_wrapped("  the protocol promises nothing, so only errors kill mutants: add --properties FILE.py")

    def _print_tables(self) -> None:
        score = self.score
        has_equivalent, has_invalid = score.total.equivalent > 0, score.total.invalid > 0
        heads = ["rule", "made", "killed", *(["equivalent"] if has_equivalent else []), "survived"]
        table = Table(*heads, *(["invalid"] if has_invalid else []), "what is changed", box=None, pad_edge=True)
        rows = [*((rule.id, score.rules[rule.id], rule.text) for rule in RULES), ("all", score.total, "")]
        for name, each, text in rows:
            if each.made or each.invalid:
                cells = [each.made, each.killed, *([each.equivalent] if has_equivalent else []), each.survived]
                table.add_row(name, *map(str, cells + ([each.invalid] if has_invalid else [])), text)
        print_table(table)
        killers = Table("killed by", "mutants", "runs until then (median)", box=None, pad_edge=True)
        for killer in score.killers:
            runs = "calm runs" if killer.by == COST else str(killer.runs_median)
            killers.add_row(killer.by, str(killer.mutants), runs)
        if score.killers:
            print_table(killers)

    def _print_survivors(self) -> None:
        score = self.score
        survived, unreached = score.of("survived"), score.of("unreached")
        equivalent, invalid = score.of("equivalent"), score.of("invalid")
        if survived:
            noun = format_count(len(survived), "mutant")
            print_line()
            print_wrapped(f"{noun} survived: your properties and faults do not notice this")
            for mutant, outcome in survived:
                print_line()
                print_wrapped(f"{_describe_place(mutant)}: {_text_of(mutant.rule)}")
                _print_diff(mutant.diff.splitlines()[2:])
                for note in (_describe_difference(outcome.difference), self._describe_exploration(outcome)):
                    if note:
                        print_wrapped(f"  {note}")
        if unreached:
            noun = format_count(len(unreached), "mutant")
            print_line()
            print_wrapped(f"{noun} survived because no run executes the line: other faults or parameters might")
            _print_briefly(mutant for mutant, _ in unreached)
        if equivalent:
            noun = format_count(len(equivalent), "mutant")
            print_line()
            print_wrapped(f"{noun} equivalent within these explorations: the same states are reached")
            for exploration in self.runs.explorations:
                print_wrapped(f"  {exploration.bounds}: {format_count(exploration.states, 'state')}")
            left_out = dict.fromkeys(each for one in self.runs.explorations for each in one.not_distinguished)
            if left_out:
                print_wrapped(f"  not distinguished: {'; '.join(left_out)}")
            _print_briefly(mutant for mutant, _ in equivalent)
        if invalid:
            print_line()
            print_wrapped(f"{format_count(len(invalid), 'mutant')} invalid: refused when they are loaded")
            for mutant, outcome in invalid:
                print_wrapped(f"  {_describe_place(mutant)}: {outcome.text}")
        if survived and self.options.explore and not self.runs.explorations:
            print_line()
            print_wrapped(
                f"no survivor is shown equivalent: the protocol cannot be explored with {MOST_STATES:,} states"
            )
        print_line()

    def _describe_exploration(self, outcome: MutantOutcome) -> str:
        if outcome.violated:
            found = outcome.violated[0]
            moves = format_count(found.moves, "move")
            return f"but exploring notices it: {found.assertion} is violated after {moves} ({found.bounds})"
        if outcome.explored == "different":
            return "not equivalent: exploring reaches other states"
        if outcome.explored == "unknown":
            return "not compared: its exploration needs more states than twice those of the original"
        return "not executed in the exploration either" if self.runs.explorations else ""

    def _describe_score(self) -> str:
        total, percent = self.score.total, self.score.percent
        if percent is None:
            return "no score: all mutants are equivalent or invalid"
        by_cost = sum(killer.mutants for killer in self.score.killers if killer.by == COST)
        cost = f", {by_cost} of them by their cost," if by_cost else ""
        equivalent = f", without {total.equivalent} shown equivalent" if total.equivalent else ""
        text = f"score: {percent:.0f} % ({total.killed} killed{cost} of {total.made} made{equivalent})"
        return text if self.at_least is None else f"{text}; at least {self.at_least} % asked for"

    def document(self) -> MutateDocument:
        """Return the report as a document."""
        campaign, score = self.runs.campaign, self.score
        percent = score.percent
        return MutateDocument(
            protocol=self.protocol.name,
            runs=self.most_runs,
            systematic=campaign.systematic,
            seed=campaign.seed,
            nodes=campaign.plan.nodes,
            faults=tuple(campaign.plan.faults),
            planned=len(self.runs.mutants),
            tested=len(score.tested),
            score_percent=None if percent is None else round(percent, 1),
            total=score.total,
            rules=tuple(RuleSummary(rule.id, rule.text, score.rules[rule.id]) for rule in RULES),
            killed_by=tuple(score.killers),
            judged=tuple(JudgedRuns(*each) for each in self.runs.count_judged().items()),
            explorations=tuple(map(_summarize_exploration, self.runs.explorations)),
            mutants=tuple(
                TestedMutant(
                    **structs.asdict(_summarize(mutant)),
                    result=outcome.result,
                    by=outcome.by,
                    text=outcome.text,
                    runs=outcome.runs,
                    difference=outcome.difference,
                    explored=outcome.explored,
                    violated=outcome.violated,
                )
                for mutant, outcome in score.tested
            ),
        )


def _text_of(rule: str) -> str:
    return next(each.text for each in RULES if each.id == rule)


def _with_numbers(option: str, numbers: list[str], mutants: list[Mutant]) -> list[Mutant]:
    """Return the mutants of these numbers. Raises UsageError for one that there is not."""
    chosen = {whole_number(option, each, 1) for each in numbers}
    missing = chosen - {mutant.number for mutant in mutants}
    if missing:
        raise UsageError(f"{option} {min(missing)}: there is no such mutant; --list lists them")
    return [mutant for mutant in mutants if mutant.number in chosen]


def _describe_place(mutant: Mutant) -> str:
    return f"#{mutant.number} {mutant.file}:{mutant.line} in {mutant.place} ({mutant.rule})"


def _describe_difference(difference: RunDifference | None) -> str:
    """Return how the runs of a survivor differ from those of the original."""
    if difference is None:
        return ""
    runs = (
        f"the {format_count(difference.runs, 'run')} that {'executes' if difference.runs == 1 else 'execute'} it"
    )
    if difference.same == difference.runs:
        return f"no difference in {runs}: the same records"
    more = difference.messages - difference.messages_before
    if not more:
        return f"in {runs}, as many messages, but other records in {difference.runs - difference.same:,}"
    percent = 100 * abs(more) / max(1, difference.messages_before)
    share = f"{percent:.0f}" if percent >= 10 else f"{percent:.2g}"
    return f"in {runs}, {share} % {'more messages' if more > 0 else 'fewer messages'}"


def _print_briefly(mutants: Iterator[Mutant]) -> None:
    for mutant in mutants:
        print_line(f"  {_describe_place(mutant)}: {mutant.summary}")


_DIFF_STYLES = {"+": "green", "-": "red", "@": "cyan"}


def _print_diff(lines: Sequence[str], indent: str = "  ") -> None:
    out = console()
    for line in lines:
        out.print(Text(f"{indent}{sanitize(line)}", style=_DIFF_STYLES.get(line[:1], "")), soft_wrap=True)


def _summarize(mutant: Mutant) -> MutantSummary:
    place = (mutant.number, mutant.rule, mutant.file, mutant.line, mutant.place)
    return MutantSummary(*place, mutant.summary, mutant.diff)


def _summarize_exploration(exploration: OriginalExploration) -> ExplorationSummary:
    bounds = exploration.bounds
    begin: Literal["normal", "start"] = "normal" if bounds.settled else "start"
    of = (bounds.nodes, 1, bounds.restarts, bounds.timeouts, begin)
    return ExplorationSummary(*of, exploration.states, exploration.not_distinguished)
