"""The report of a campaign: what was tried, judged, reached and never reached, and how much may be left."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from rich.table import Table
from rich.text import Text

from lab.cli.documents import Document
from lab.cli.junit import JUnitCase
from lab.cli.recording_report import format_explanation_line
from lab.cli.terminal import TerminalConsole, print_wrapped
from lab.output import print_line
from lab.properties.assertions import ASSERTIONS, ASSUMPTION_NUMBERS, ASSUMPTIONS
from lab.properties.history_verdict import HistoryViolation, describe_workload, workload_of
from lab.properties.witness import ExplanationLine, explain_violation
from lab.protocols import Algorithm
from lab.recording.records import Commanded
from lab.tasks.extension import analysis_of, extension_class
from lab.text import sanitize
from lab.units import format_count
from lab.worlds.campaign.campaign import (
    Campaign,
    CampaignTotals,
    line_ranges,
    never_at_once,
    never_delivered,
    runs_left,
    unjudged,
    unseen_share,
)
from lab.worlds.campaign.coverage import Coverage, coverage_of
from lab.worlds.campaign.finding import Finding
from lab.worlds.campaign.situations import MAJORITIES, Majority
from lab.worlds.campaign.trial import FaultCount

_MOST_ROWS = 3
"""At most this many rows per assertion, one for each set of broken assumptions; one more row sums up the rest."""
_MOST_NEVER = 8
_FAILURES = "FAILURES: all relevant assumptions intact"
_WRONG_HISTORIES = "FAILURES: wrong histories, whatever the faults"


def print_totals(totals: CampaignTotals, protocol: type[Algorithm], campaign: Campaign, seconds: float) -> None:
    """Print what was tried, what was judged, and what was reached."""
    console = TerminalConsole(highlight=False, markup=False)
    sizes = ", ".join(f"{size} ({count:,})" for size, count in sorted(totals.sizes.items()))
    tried = (
        f": {format_count(totals.runs, 'run')} {_how(campaign)}, {format_count(totals.steps, 'step')}, "
        f"{totals.virtual_us / 1e6:,.0f} s of virtual time, in {seconds:,.1f} s"
    )
    console.print(Text.assemble((sanitize(protocol.name), "bold"), tried))
    if sizes:
        console.print(f"  nodes (runs): {sizes}")
    if totals.outcomes:
        console.print(f"  {_outcomes(totals, protocol)}")
    console.print(fault_table(totals))
    console.print(assertion_table(totals, campaign.promises))
    print_operations(totals)
    _print_reached(console, totals, coverage_of(protocol, totals.ways), protocol)
    _print_left(totals, campaign)


def print_operations(totals: CampaignTotals) -> None:
    """Print how the operations of clients ended, if there were any."""
    counts = totals.operations
    if counts.availability is not None:
        print_wrapped(
            f"  {format_count(counts.called, 'operation')} of clients: {counts.ok:,} ok, {counts.failed:,} "
            f"failed, {counts.unknown:,} without a known outcome; availability {counts.availability:.1%}"
        )


def fault_table(totals: CampaignTotals) -> Table:
    """Return how many faults of each kind were injected, and how many had an effect."""
    faults = Table("fault", "injected", "with effect", box=None, pad_edge=True)
    for kind, count in sorted(totals.faults.items()):
        faults.add_row(kind, f"{count.faults:,}", f"{count.touched:,}")
    return faults


def assertion_table(totals: CampaignTotals, promises: Sequence[str]) -> Table:
    """Return by what each promised assertion was judged, and how often each assertion was violated."""
    found = Table("assertion", "judged in", "by", "violations", "", box=None, pad_edge=True)
    for name in dict.fromkeys([*promises, *(name for name, _ in totals.violations)]):
        judged, by = _judged_cells(totals, name) if name in promises else ("", "")
        for times, text in _violation_rows(totals, name) or [("none", describe_assertion(name))]:
            style = "bold red" if text in (_FAILURES, _WRONG_HISTORIES) else ""
            found.add_row(name, judged, by, times, text, style=style)
            name = judged = by = ""  # noqa: PLW2901 - only in the first row
    return found


def describe_assertion(name: str) -> str:
    """Return the assertion in a few words; of a file that is not loaded, none."""
    return ASSERTIONS[name].short if name in ASSERTIONS else describe_workload(name)


def _how(campaign: Campaign) -> str:
    if campaign.systematic:
        return f"with up to {format_count(campaign.systematic, 'event')}, each at a point of every situation"
    return f"from seed {campaign.seed} on"


def _print_reached(
    console: TerminalConsole, totals: CampaignTotals, coverage: Coverage, protocol: type[Algorithm]
) -> None:
    """Print what the campaign reached and never reached, in words."""
    once = sum(count == 1 for count in totals.hits.values())
    reached = Table("reached", "", "never", box=None, pad_edge=True)
    reached.add_row("situations", f"{len(totals.hits):,}", f"{once:,} of them in one run only")
    never = never_delivered(totals, protocol)
    pairs = len(totals.deliveries)
    reached.add_row("deliveries by status", f"{pairs:,} of {pairs + len(never):,}", _some(never))
    broken = [str(each) for each in sorted(totals.broken)]
    intact = [str(each) for each in ASSUMPTION_NUMBERS if each not in totals.broken]
    reached.add_row("broken assumptions", ", ".join(broken) or "none", ", ".join(intact))
    connected = [f"{each} {totals.majorities[each]:,}" for each in MAJORITIES if totals.majorities[each]]
    unseen = [each for each in MAJORITIES if not totals.majorities[each]]
    reached.add_row("connected (runs)", ", ".join(connected), ", ".join(unseen))
    if totals.at_once:
        some = [f"{name} {pairs:,}" for name, pairs in totals.at_once.items() if pairs]
        none = [name for name, pairs in totals.at_once.items() if not pairs]
        reached.add_row("pairs at once", ", ".join(some), ", ".join(none))
    if totals.given_up:
        seeds = _some([str(seed) for seed in totals.given_up])
        reached.add_row("given up (runs)", f"{len(totals.given_up):,}", f"messages multiplied: seed {seeds}")
    states, missing = len(totals.states_at_once), never_at_once(totals, protocol)
    if states:
        reached.add_row("states at once", f"{states} of {states + len(missing)}", _some(missing))
    if protocol.node_class is None:
        _add_coverage(reached, coverage)
    else:
        reached.add_row("lines", "not measured", "its file is executed in a sandbox")
    console.print(reached)


def _add_coverage(reached: Table, coverage: Coverage) -> None:
    lines = len(coverage.lines)
    reached.add_row(
        "lines", f"{lines - len(coverage.missed_lines)} of {lines}", line_ranges(coverage.missed_lines)
    )
    branches = coverage.branches - len(coverage.missed_branches)
    missed = [f"line {line} {'true' if outcome else 'false'}" for line, outcome in coverage.missed_branches]
    reached.add_row("branches", f"{branches} of {coverage.branches}", _some(missed))
    if coverage.rules:
        rules = len(coverage.rules) - len(coverage.missed_rules)
        reached.add_row("rules", f"{rules} of {len(coverage.rules)}", ", ".join(coverage.missed_rules))


def _print_left(totals: CampaignTotals, campaign: Campaign) -> None:
    """Print how much may be left to find."""
    if campaign.systematic:
        events = format_count(campaign.systematic, "event")
        left = runs_left(totals, campaign)
        known = f"{format_count(left, 'run')} with at most {events}, and those that follow from these"
        print_wrapped(f"left: {known}" if left else f"all such runs with at most {events} were made")
        return
    share = unseen_share(totals)
    if share is not None:
        print_wrapped(
            f"left: about {share:.1%} of the situations that the next runs meet will be new. This is the estimate "
            "of Good and Turing, for runs drawn independently, which guided ones are not; and it counts only what "
            "these faults and sizes can reach."
        )


def _some(items: list[str]) -> str:
    """Return the first of these, and how many more there are."""
    more = f", and {len(items) - _MOST_NEVER} more" if len(items) > _MOST_NEVER else ""
    return ", ".join(items[:_MOST_NEVER]) + more


def _judged_cells(totals: CampaignTotals, name: str) -> tuple[str, str]:
    """Return in how many runs an assertion was judged, and by how many states, transactions and so on."""
    runs = totals.judged_runs[name]
    if not runs:
        return "no run", ""
    by = format_count(totals.judged[name], totals.nouns[name]) if totals.nouns[name] else ""
    return f"{runs:,} of {format_count(totals.runs, 'run')}", by


def _outcomes(totals: CampaignTotals, protocol: type[Algorithm]) -> str:
    """Return what the analysis of the protocol counts, as text: of a bank, its transactions by outcome."""
    analysis = analysis_of(extension_class(protocol))
    counts = ", ".join(f"{totals.outcomes[how]:,} {words}" for how, words in analysis.outcomes.items())
    return f"{format_count(totals.outcomes.total(), analysis.noun)}: {counts}"


def _violation_rows(totals: CampaignTotals, name: str) -> list[tuple[str, str]]:
    """Return rows (count, broken assumptions) for an assertion: failures first, then the most frequent ones."""
    found = [(broken, times) for (which, broken), times in totals.violations.items() if which == name]
    found.sort(key=lambda sort: (bool(sort[0]), -sort[1], sort[0]))
    if describe_workload(name) and found:
        return [(f"{sum(times for _, times in found):,}", _WRONG_HISTORIES)]
    rows = [(f"{times:,}", _describe_broken(broken)) for broken, times in found[:_MOST_ROWS]]
    rest = [times for _, times in found[_MOST_ROWS:]]
    return rows + ([(f"{sum(rest):,}", f"excused: {len(rest)} more sets of assumptions")] if rest else [])


def _describe_broken(broken: tuple[int | str, ...]) -> str:
    if not broken:
        return _FAILURES
    if len(broken) == 1:
        text = ASSUMPTIONS.get(broken[0], "one of its own")
        return f"excused: assumption {broken[0]} broken ({text})"
    return f"excused: assumptions {', '.join(map(str, broken))} broken"


def format_no_findings(
    promises: Sequence[str],
    totals: CampaignTotals,
    find: str | None,
    interrupted: bool,
    nothing: str = "the protocol promises nothing",
) -> str:
    """Return the result of a campaign that has found nothing; ``nothing`` is why, without ``promises``."""
    if not totals.runs:
        return "stopped before the first run was finished: no result"
    so_far = f"stopped after {format_count(totals.runs, 'run')}; " if interrupted else ""
    if find is not None:
        return f"{so_far}no violation of {find} was found"
    excused = sum(totals.violations.values())
    not_judged = unjudged(promises, totals)
    judged = [name for name in promises if name not in (*not_judged, *totals.errors)]
    text = f"{so_far}no failure"
    held = []
    if states := [name for name in judged if not describe_workload(name)]:
        held.append(f"{', '.join(states)} held in every consistent state with the assumptions intact")
    held += [f"every history of {name} that was judged is valid" for name in judged if describe_workload(name)]
    if held:
        text += f": {'; '.join(held)}"
    if excused:
        text += f" ({format_count(excused, 'excused violation')}: see --strict, --find)"
    if not_judged:
        text += f"; judged in no run: {', '.join(not_judged)}"
    return text if promises else f"{text}; {nothing}, so only its errors were judged"


class KeptFinding(Struct, frozen=True):
    """A shrunk finding, the files that it was written to, and the command that makes its run again.

    ``unwritten``: why the files could not be written, for the user; empty if they were.
    """

    finding: Finding
    recording: Path
    script: Path
    rerun: str
    unwritten: str

    @property
    def written(self) -> tuple[str, str, str]:
        """The recording, the script and the command, as documents have them; empty if they are not written."""
        return ("", "", "") if self.unwritten else (str(self.recording), str(self.script), self.rerun)

    @property
    def remark(self) -> str:
        """Whatever else is to be reported of it; empty if there is nothing."""
        return ""


def print_kept(kept: KeptFinding) -> None:
    """Print the finding, its shrunk form, the events that led to it, and its files, if they were written."""
    print_finding(kept.finding)
    if kept.remark:
        print_wrapped(kept.remark)
    if kept.unwritten:
        return
    print_line(f"recorded: {kept.recording}")
    print_line(f"script:   {kept.script}")
    print_line(f"replay:   lab replay {kept.recording}")
    if isinstance(kept.finding.violation, HistoryViolation):
        print_line(f"history:  lab consistency {kept.recording}")
    print_line(f"again:    {kept.rerun}")


def print_finding(finding: Finding) -> None:
    """Print the finding, its shrunk form, and the events that led to it."""
    drawn, least = finding.drawn, finding.least
    print_line()
    print_wrapped(f"seed {drawn.seed}: {finding.violation}")
    print_wrapped(
        f"shrunk in {format_count(finding.tried, 'run')}, from {format_count(len(drawn.nodes), 'node')} and "
        f"{format_count(len(drawn.faults), 'command')} to {len(least.nodes)} and {len(least.faults)}:"
    )
    for fault in least.faults:
        print_line(f"    {fault}")
    if not finding.is_minimal:
        print_wrapped(f"not minimal: smaller schedules are left untried, as {finding.untried}")
    print_line("events that led to it (line of the recording, seconds):")
    for line in _events_of(finding):
        print_line(f"    {format_explanation_line(line)}")


def _events_of(finding: Finding) -> list[ExplanationLine]:
    """Return the events that led to the violation: its causes, and the faults of the script until then.

    Of the commands, those are left out that follow a cause, such as a crash: it is their effect. Where faults
    broke an assumption, the lines of these say so.
    """
    causes = explain_violation(finding.records, finding.violation)
    if finding.violation.broken:
        return causes
    last = finding.violation.record
    explained = {line.record for line in causes}
    faults = [
        ExplanationLine(number, record.at_us, None, record.text)
        for number, record in enumerate(finding.records[: last + 1])
        if isinstance(record, Commanded) and not record.refused and not record.reached
        if number - 1 not in explained
    ]
    return sorted([*causes, *faults], key=lambda line: line.record)


# the document


class OutcomeCounts(Struct, frozen=True):
    """What the protocol counts, such as transactions: how many had which outcome."""

    noun: str
    outcomes: dict[str, int]


class ViolationCount(Struct, frozen=True):
    """How many times an assertion was violated while these assumptions were broken; empty: a failure."""

    assertion: str
    broken: tuple[int | str, ...]
    times: int


class JudgedCount(Struct, frozen=True):
    """In how many runs an assertion was judged, and by what; ``at_once``: how many concurrent pairs of these."""

    assertion: str
    runs: int
    count: int
    noun: str
    at_once: int | None


class SizeCount(Struct, frozen=True):
    """How many runs had this number of nodes."""

    nodes: int
    runs: int


class ConnectedCount(Struct, frozen=True):
    """In how many runs that many of the nodes were running, and could all talk to each other."""

    nodes: Majority
    runs: int


class BrokenCount(Struct, frozen=True):
    """In how many runs an assumption was broken."""

    assumption: int
    runs: int


class LineCoverage(Struct, frozen=True):
    """The lines of the protocol's file, and those that no run reached."""

    all: int
    not_reached: list[int]


class MissedBranch(Struct, frozen=True):
    """An outcome that the condition in this line never had."""

    line: int
    outcome: bool


class BranchCoverage(Struct, frozen=True):
    """The outcomes of conditions, and those that no run had."""

    all: int
    not_reached: list[MissedBranch]


class RuleCoverage(Struct, frozen=True):
    """The rules that docstrings cite, and those of which no run executed the code."""

    all: list[str]
    not_reached: list[str]


class SituationCoverage(Struct, frozen=True):
    """How many situations were reached, how many of them in one run only, and what never occurred, in words."""

    reached: int
    once: int
    unseen_share: float | None
    never_delivered: list[str]
    never_at_once: list[str]


class FindingSummary(Struct, frozen=True):
    """The shrunk counterexample. ``failure``: not excused. ``rerun``: the command that runs it again.

    ``minimal``: nothing simpler was left untried. ``recording``, ``script`` and ``rerun`` are empty if the files
    could not be written.
    """

    seed: int
    assertion: str
    failure: bool
    text: str
    nodes: tuple[int, ...]
    commands: tuple[str, ...]
    minimal: bool
    recording: str
    script: str
    rerun: str

    @classmethod
    def of(cls, kept: KeptFinding) -> "FindingSummary":
        """Return the summary of a finding of a simulated run."""
        finding = kept.finding
        return cls(
            finding.drawn.seed,
            finding.violation.assertion,
            finding.violation.is_failure,
            str(finding.violation),
            finding.least.nodes,
            tuple(map(str, finding.least.faults)),
            finding.is_minimal,
            *kept.written,
        )


class ClientOperations(Struct, frozen=True):
    """The operations of the clients of all runs: how many were called, and how many had each outcome.

    ``availability`` is the share that succeeded; None if none was called.
    """

    workload: str
    called: int
    ok: int
    failed: int
    unknown: int
    availability: float | None

    @classmethod
    def of(cls, campaign: Campaign, totals: CampaignTotals) -> "ClientOperations | None":
        """Return those of a campaign; None if it has no clients."""
        workload, counts = workload_of(campaign.base), totals.operations
        if not workload:
            return None
        return cls(workload, counts.called, counts.ok, counts.failed, counts.unknown, counts.availability)


class CheckDocument(Document, frozen=True):
    """A campaign of ``lab check``: what was run, judged and reached, and what was found."""

    protocol: str
    runs: int
    steps: int
    virtual_us: int
    outcomes: OutcomeCounts | None
    faults: dict[str, FaultCount]
    violations: tuple[ViolationCount, ...]
    judged: tuple[JudgedCount, ...]
    sizes: tuple[SizeCount, ...]
    lines: LineCoverage
    branches: BranchCoverage
    given_up: list[int]
    connected: tuple[ConnectedCount, ...]
    broken: tuple[BrokenCount, ...]
    rules: RuleCoverage
    situations: SituationCoverage
    finding: FindingSummary | None
    clients: ClientOperations | None


def violation_counts(totals: CampaignTotals) -> tuple[ViolationCount, ...]:
    """Return how many times each assertion was violated, for each set of broken assumptions."""
    counts = sorted(totals.violations.items(), key=lambda each: str(each[0]))
    return tuple(ViolationCount(name, broken, times) for (name, broken), times in counts)


def judged_counts(totals: CampaignTotals, promises: Sequence[str]) -> tuple[JudgedCount, ...]:
    """Return by what each promised assertion was judged."""
    return tuple(
        JudgedCount(
            name,
            totals.judged_runs[name],
            totals.judged[name],
            totals.nouns.get(name, ""),
            totals.at_once.get(name),
        )
        for name in promises
    )


def document_of(
    totals: CampaignTotals,
    protocol: type[Algorithm],
    campaign: Campaign,
    kept: KeptFinding | None,
) -> CheckDocument:
    """Return the report of a campaign in simulation as a document."""
    coverage = coverage_of(protocol, totals.ways)
    noun = analysis_of(extension_class(protocol)).noun
    return CheckDocument(
        protocol=protocol.name,
        runs=totals.runs,
        steps=totals.steps,
        virtual_us=totals.virtual_us,
        outcomes=OutcomeCounts(noun, dict(totals.outcomes)) if noun else None,
        faults=totals.faults,
        violations=violation_counts(totals),
        judged=judged_counts(totals, campaign.promises),
        sizes=tuple(SizeCount(nodes, runs) for nodes, runs in sorted(totals.sizes.items())),
        lines=LineCoverage(len(coverage.lines), coverage.missed_lines),
        branches=BranchCoverage(coverage.branches, [MissedBranch(*each) for each in coverage.missed_branches]),
        given_up=totals.given_up,
        connected=tuple(ConnectedCount(each, totals.majorities[each]) for each in MAJORITIES),
        broken=tuple(BrokenCount(each, totals.broken[each]) for each in sorted(totals.broken)),
        rules=RuleCoverage(coverage.rules, coverage.missed_rules),
        situations=SituationCoverage(
            len(totals.hits),
            sum(count == 1 for count in totals.hits.values()),
            unseen_share(totals),
            never_delivered(totals, protocol),
            never_at_once(totals, protocol) if totals.states_at_once else [],
        ),
        finding=None if kept is None else FindingSummary.of(kept),
        clients=ClientOperations.of(campaign, totals),
    )


def junit_cases(
    protocol: str,
    judged: Sequence[JudgedCount],
    violations: Sequence[ViolationCount],
    shown: Mapping[str, tuple[str, ...]],
) -> list[JUnitCase]:
    """Return a case for each promised assertion, and for any other that failed.

    ``shown`` are the lines about the finding, by its assertion.
    """
    failed: dict[str, tuple[str, ...]] = {
        each.assertion: (f"{each.assertion}: {format_count(each.times, 'failure')}",)
        for each in violations
        if not each.broken
    }
    failed |= shown
    unjudged = {each.assertion for each in judged if not each.runs}
    cases = []
    for name in dict.fromkeys([*(each.assertion for each in judged), *failed]):
        failure = failed.get(name, ())
        if name in unjudged:
            failure = failure or ("judged in no run, so it does not count as holding",)
        cases.append(JUnitCase(f"check.{protocol}", name, failure))
    return cases
