"""The exploration of several set-ups, one after the other, and its report: a row for each."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct
from rich.table import Table

from lab.cli.campaign_file import CampaignFile, append, describe_file
from lab.cli.documents import Document, print_json
from lab.cli.junit import JUnitCase, JUnitSuite, write_junit
from lab.cli.progress import Progress
from lab.cli.recording_report import print_failures
from lab.cli.terminal import EXIT_INTERRUPTED, EXIT_NOT_AS_EXPECTED, TerminalConsole, print_wrapped
from lab.output import print_error, print_line, print_remark
from lab.protocols import Algorithm
from lab.text import sanitize
from lab.units import format_count
from lab.worlds.campaign.exploration import (
    ExplorationCampaign,
    ExploredAssertion,
    ExploredFinding,
    SetUp,
    SetUpOutcome,
    explore_set_up,
    record_explored,
)
from lab.worlds.explored.counterexample import is_shown
from lab.worlds.explored.explorer import INTERRUPTED, SearchTally


class ExploredSetUp(Struct, frozen=True):
    """A set-up that was explored: its bounds, the size of what was visited, and a verdict on each assertion."""

    run: int
    set_up: SetUp
    states: int
    transitions: int
    depth: int
    exhaustive: bool
    not_distinguished: tuple[str, ...]
    stopped_at: str | None
    waiting: int
    assertions: tuple[ExploredAssertion, ...]


class MemberDocument(Struct, frozen=True):
    """Nodes that execute another protocol than the rest, and its parameters."""

    nodes: tuple[int, ...]
    protocol: str
    parameters: dict[str, Any]


def members_of(campaign: ExplorationCampaign) -> tuple[MemberDocument, ...]:
    """Return the nodes that execute another protocol."""
    infos = ((each.nodes, each.protocol) for each in campaign.base.members)
    return tuple(MemberDocument(nodes, info.name, info.parameters) for nodes, info in infos)


class ExploreSetUpsDocument(Document, frozen=True):
    """Explorations of several set-ups, the smallest first; ``do`` is null where each has the default command."""

    protocol: str
    begin: str
    do: tuple[str, ...] | None
    roles: tuple[MemberDocument, ...]
    workload: str | None
    clients: tuple[str, ...]
    planned: int
    set_ups: tuple[ExploredSetUp, ...]
    recording: str | None


class ReportOptions(Struct, frozen=True):
    """The report wanted on explorations. ``find``: the assertion of the counterexample to record; any if empty."""

    find: str
    out: Path | None
    junit: Path | None
    as_json: bool


def explore_all(
    campaign: ExplorationCampaign,
    protocol: type[Algorithm],
    file: CampaignFile,
    again: Sequence[str],
    wanted: ReportOptions,
) -> int:
    """Explore the set-ups that are not in the file yet, and report on all; return the exit status."""
    began_s = time.monotonic()
    with file.writing(campaign, again) as writer:
        found: list[SetUpOutcome] = []
        if writer is not None:
            found += (run.outcome for run in writer.recording.runs())
        known = len(found)
        interrupted = False
        with Progress(f"exploring {protocol.name}", "set-up", campaign.runs, known) as progress:
            for set_up in campaign.set_ups[known:]:
                outcome = explore_set_up(campaign, protocol, set_up, _reporting(progress, len(found), set_up))
                if outcome.stopped_at == INTERRUPTED:
                    interrupted = True
                    break
                found.append(outcome)
                if writer is not None:
                    append(writer, outcome)
                progress(len(found))
        if writer is not None:
            print_remark(describe_file(writer, again))
    out, as_json = wanted.out, wanted.as_json
    if not as_json:
        print_explored(campaign, found)
    smallest = smallest_finding(found, wanted.find)
    path = None
    if out is not None and smallest is not None:
        record_explored(campaign, protocol, smallest, out)
        print_failures(out)
        report_if_not_shown(out, smallest.assertion)
        path = out
    write_junit(wanted.junit, [_junit_suite(campaign, found, time.monotonic() - began_s)])
    if as_json:
        print_json(document_of(campaign, found, path))
    elif path is not None and smallest is not None:
        print_line(f"recorded: {path}, the shortest counterexample to {smallest.assertion} in the smallest set-up")
        print_line(f"replay:   lab replay {path}")
    if interrupted:
        return EXIT_INTERRUPTED
    assertions = [each for outcome in found for each in outcome.assertions]
    unjudged = is_unjudged(assertions, protocol.promises, campaign.workload)
    return EXIT_NOT_AS_EXPECTED if smallest is not None or unjudged else 0


def is_unjudged(explored: Sequence[ExploredAssertion], promises: Sequence[str], workload: str) -> bool:
    """Return whether no promise was judged, or not the history of the clients; or one is in error."""
    judged = {each.assertion for each in explored if each.is_judged}
    if any(each.is_in_error for each in explored):
        return True
    return (bool(promises) and judged.isdisjoint(promises)) or (bool(workload) and workload not in judged)


def report_if_not_shown(recording: Path, assertion: str) -> None:
    """Report a counterexample whose recording does not show the violation."""
    if not is_shown(recording, assertion):
        print_error(
            f"{recording} does not show that {assertion} is violated, so do not trust this finding: the search "
            "may have taken a late answer for that to another request (lab guide checking)"
        )


def _reporting(progress: Progress, done: int, set_up: SetUp) -> Callable[[SearchTally], None]:
    def report(tally: SearchTally) -> None:
        progress(done, f"{set_up.description}: {format_count(tally.states, 'state')}, depth {tally.depth}")

    return report


def smallest_finding(found: Sequence[SetUpOutcome], assertion: str = "") -> ExploredFinding | None:
    """Return the smallest finding, of this assertion if there is one, a failure if there is one."""
    findings = [each for outcome in found for each in outcome.found]
    findings = [each for each in findings if each.assertion == assertion] or findings
    return min(findings, key=lambda each: (bool(each.broken), each.size), default=None)


def print_explored(campaign: ExplorationCampaign, found: Sequence[SetUpOutcome]) -> None:
    """Print a row for each set-up, and what the search ignored."""
    begin = "from all nodes Normal" if campaign.settled else "from the start"
    given = campaign.commands
    do = "" if given is None else f", {'; '.join(given)}" if given else ", no command"
    do += "".join(f", a client calls {sanitize(each)}" for each in campaign.clients)
    title = sanitize(campaign.base.protocol.title)
    print_wrapped(f"{title}, {begin}{do}: {len(found):,} of {format_count(campaign.runs, 'set-up')} explored")
    table = Table("set-up", "states", "depth", "explored", "violated", box=None, pad_edge=True)
    for each in found:
        is_failure = any(not finding.broken for finding in each.found)
        table.add_row(
            each.set_up.description,
            f"{each.states:,}",
            f"{each.depth:,}",
            _extent(each),
            _violated(each),
            style="bold red" if is_failure else "",
        )
    TerminalConsole(highlight=False, markup=False).print(table)
    for text in dict.fromkeys(
        f"{each.assertion}: {each.verdict}" for outcome in found for each in outcome.assertions if each.is_in_error
    ):
        print_wrapped(text)
    ignored = list(dict.fromkeys(text for each in found for text in each.not_distinguished))
    if ignored:
        print_wrapped(f"completely, except for differences that the search ignores: {'; '.join(ignored)}")


def _extent(outcome: SetUpOutcome) -> str:
    if outcome.stopped_at:
        return f"stopped at {outcome.stopped_at}"
    return "completely" if outcome.not_distinguished else "exhaustively"


def _violated(outcome: SetUpOutcome) -> str:
    """Return the assertions violated; or that nothing was judged."""
    failed = [sanitize(each.assertion) for each in outcome.found if not each.broken]
    excused = [sanitize(each.assertion) for each in outcome.found if each.broken]
    parts = [f"FAILURE: {', '.join(failed)}"] if failed else []
    parts += [f"excused: {', '.join(excused)}"] if excused else []
    if parts:
        return "; ".join(parts)
    return "nothing" if any(each.is_judged for each in outcome.assertions) else "nothing was judged"


def document_of(
    campaign: ExplorationCampaign, found: Sequence[SetUpOutcome], recording: Path | None
) -> ExploreSetUpsDocument:
    """Return the explorations as a document."""
    return ExploreSetUpsDocument(
        protocol=campaign.base.protocol.title,
        begin="normal" if campaign.settled else "start",
        do=campaign.commands,
        roles=members_of(campaign),
        workload=campaign.workload or None,
        clients=campaign.clients,
        planned=campaign.runs,
        set_ups=tuple(
            ExploredSetUp(
                run,
                each.set_up,
                each.states,
                each.transitions,
                each.depth,
                each.is_exhaustive,
                each.not_distinguished,
                each.stopped_at or None,
                each.waiting,
                each.assertions,
            )
            for run, each in enumerate(found, start=1)
        ),
        recording=None if recording is None else str(recording),
    )


def _junit_suite(campaign: ExplorationCampaign, found: Sequence[SetUpOutcome], seconds: float) -> JUnitSuite:
    """Return a case for each assertion in each set-up."""
    cases = []
    for outcome in found:
        place = f"explore.{campaign.base.protocol.title} ({outcome.set_up.description})"
        for each in outcome.assertions:
            failure = (f"{each.assertion}: {each.verdict}",) if each.has_failed else ()
            cases.append(JUnitCase(place, each.assertion, failure, each.why_skipped))
    return JUnitSuite("explore", cases, seconds)
