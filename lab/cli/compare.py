"""``lab compare``: compare protocols under the same faults, in a table and in charts."""

import textwrap
from collections.abc import Collection, Sequence
from contextlib import closing
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar

import typer
from msgspec import Struct
from typer import Option

from lab.cli.campaign_file import (
    CampaignFile,
    RecordCampaign,
    ResumeCampaign,
    append,
    describe_file,
    is_own,
    words_of,
)
from lab.cli.chart import print_charts
from lab.cli.chart_svg import draw_charts
from lab.cli.documents import Document, Json, print_json
from lab.cli.options import (
    CommandChecker,
    Faults,
    Picture,
    RequestBound,
    TableFile,
    Targets,
    Workers,
    base_header,
    check_picture,
    check_table_file,
    command,
    exit_if_workers_fail,
    find_election,
    one_of,
    whole_number,
    worker_count,
)
from lab.cli.progress import Progress
from lab.cli.terminal import EXIT_INTERRUPTED, UsageError, report_width
from lab.output import print_line, print_remark, print_text
from lab.protocols import PROTOCOLS, TASKS, Algorithm
from lab.script.parse import numbered_lines
from lab.table_files import Column, Row, Table, write_table
from lab.tasks.comparison import NOTHING, Comparison, ProtocolTotals
from lab.tasks.election_comparison import ElectionComparison
from lab.tasks.extension import comparison_of
from lab.units import format_count
from lab.worlds.campaign.campaign_recording import MOST_PARTS, CampaignHeader, CampaignRecording
from lab.worlds.campaign.campaign_table import VIOLATION_COLUMNS, violation_cells
from lab.worlds.campaign.comparison import ProtocolComparison, RunMeasurement, run_comparison
from lab.worlds.campaign.schedule import SchedulePlan, fault_kinds
from lab.worlds.interruption import interrupted_between_steps
from lab.worlds.loading.settings import seed_of, timing_of
from lab.worlds.loading.targets import absolute_target, load_protocol, stacked_target

Figures = TypeVar("Figures")


class ViolationCounts(Struct, frozen=True):
    """How many violations of an assertion were failures, and how many were excused."""

    failures: int
    excused: int


class ComparedProtocol(Struct, Generic[Figures], frozen=True):
    """A protocol: what its comparison measured in all runs, and the violations of each promised assertion."""

    protocol: str
    runs: int
    figures: Figures
    violations: dict[str, ViolationCounts]


class CompareDocument(Document, Generic[Figures], frozen=True):
    """A comparison of protocols under the same faults, from the run with this seed on."""

    t_us: int
    seed: int
    protocols: tuple[ComparedProtocol[Figures], ...]


def document_type() -> Any:
    """Return the type of the document for built-in protocols."""
    kinds = dict.fromkeys(comparison_of(each).Figures for each in (*PROTOCOLS.values(), *TASKS.values()))
    return CompareDocument[reduce(or_, kinds)]  # type: ignore[misc]


def compared(totals: ProtocolTotals) -> ComparedProtocol[Struct]:
    """Return the numbers of a protocol."""
    violations = {name: ViolationCounts(*counts) for name, counts in sorted(totals.violations.items())}
    return ComparedProtocol(totals.name, totals.runs, comparison_of(totals.protocol).figures(totals), violations)


def report(totals: list[ProtocolTotals], comparison: type[Comparison], t_us: int) -> None:
    """Print the table and the charts."""
    rows = [["", *(each.name for each in totals)], *comparison.rows(totals), *_verdict_rows(totals)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    left = report_width() - sum(widths[1:]) - 2 * len(widths[1:])
    first = min(widths[0], max(left, _NARROWEST_TITLE))
    for title, *cells in rows:
        indent = " " * (len(title) - len(title.lstrip()) + 4)
        top, *more = textwrap.wrap(title, first, subsequent_indent=indent, break_on_hyphens=False) or [""]
        shown = [top.ljust(first), *(cell.rjust(room) for cell, room in zip(cells, widths[1:], strict=True))]
        print_text("\n".join(["  ".join(shown).rstrip(), *more]))
    for remark in comparison.remarks(totals):
        print_line()
        print_text("\n".join(textwrap.fill(line, report_width()) for line in remark.split("\n")))
    print_charts(comparison.charts(totals, t_us))


def _verdict_rows(totals: list[ProtocolTotals]) -> list[list[str]]:
    names = sorted({name for each in totals for name in each.violations})
    return [
        [f"violations of {name}", *(_violations(each.violations.get(name)) for each in totals)] for name in names
    ]


def _violations(found: tuple[int, int] | None) -> str:
    """Format the counts of failures and excused violations; a dash if the assertion is not promised."""
    if found is None:
        return NOTHING
    failures, excused = found
    parts = [format_count(failures, "failure")] if failures else []
    parts += [f"{excused:,} excused"] if excused else []
    return ", ".join(parts) or "0"


_NARROWEST_TITLE = 24
_MOST_NODES = 64


class CompareOptions(Struct, frozen=True):
    """The options of ``lab compare``."""

    protocols: Targets = []
    script: Annotated[
        Path | None, Option(metavar="FILE", help="Give these commands, one per line, instead of random faults.")
    ] = None
    faults: Faults = "kill,pause"
    runs: Annotated[str, Option(metavar="NUMBER", help="Number of runs of each protocol.")] = "200"
    nodes: Annotated[str, Option(metavar="NUMBER", help="Number of nodes.")] = "5"
    seed: Annotated[str, Option(metavar="NUMBER", help="Seed of the first run; each run uses the next seed.")] = (
        "1"
    )
    task: Annotated[
        str,
        Option(
            metavar="field|none", help="Task that runs above each election. With field, lost work is counted, too."
        ),
    ] = "field"
    t: RequestBound = None
    workers: Workers = None
    record: RecordCampaign = None
    resume: ResumeCampaign = None
    parts: Annotated[
        str | None,
        Option(
            metavar="NUMBER",
            help="Divide the runs into so many parts: lab campaign merge puts together what is made on several "
            r"machines.  \[default: 1]",
        ),
    ] = None
    part: Annotated[str | None, Option(metavar="NUMBER", help="Make only this part, from 1 to --parts.")] = None
    output: Picture = None
    table: TableFile = None
    json: Json = False


@command(
    epilog="""Examples:\n
    lab compare bully invitation\n
    lab compare bully ring --faults kill,partition --runs 50 -o elections.svg\n
    lab compare bully my_election.py:MyElection --script lecture.script --task none\n
    lab compare 2pc 3pc --script blocking.script --runs 20\n
    lab compare 2pc 3pc e3pc "3pc above ring" --faults partition --table runs.csv\n
    lab compare bully ring invitation --runs 5000 --record night.jsonl\n
    lab compare --resume night.jsonl"""
)
def compare(options: CompareOptions, context: typer.Context) -> int:
    """Compare the cost and failures of protocols under the same faults.

    The runs are simulated. The seed of a run determines the latencies of its links and its random faults; they are
    the same for every protocol. Every run is checked against the protocol's assertions. With --script, the script
    replaces the random faults. 200 runs of four protocols take some minutes; Ctrl-C stops and shows the results so
    far.

    A node leads while it is running, is Normal, and is its own coordinator. Once a cluster has had a coordinator,
    it counts as being without one whenever no node leads, or some running node is Normal under a node that is down
    or paused. An election lasts from the moment when the running nodes no longer agree on a coordinator until they
    agree again; it counts only if messages other than heartbeats are sent. With --task field, nodes read the
    regions of a field of sensors: a reading is lost if no running node knows it at the end of the run, and made
    twice if its region had already been read.

    Commit protocols (2pc, 3pc, e3pc) run transactions. The report compares messages and forced writes with the
    formulas. It also shows times, and how long nodes were blocked and locks were held. Without a script, the
    coordinator crashes during the vote, another node begins many transactions, and the coordinator recovers; with
    --faults, faults are random. A running node that has voted YES is blocked from the moment when the coordinator
    is down or paused, or the node reports that it must wait, until it knows the outcome.

    With --record, each run is kept in a file when it is over: killed at any moment, the comparison goes on with
    --resume, and its table is the same.
    """
    given = [name for name in ("faults", "task") if _is_given(context, name)]
    if options.script is not None and "faults" in given:
        raise UsageError(f"--script {options.script} and --faults exclude each other; leave out one of them")
    return run_compare(options, given)


def _is_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def run_compare(options: CompareOptions, given: Collection[str] = ()) -> int:
    """Run the comparison and show the result; after Ctrl-C, the result so far.

    ``given`` names the options that the user gave, in contrast to defaults.
    """
    file = CampaignFile(options.record, options.resume)
    comparison, part = _planned(options, given, file)
    totals = totals_of(comparison)
    brought = _table_of(totals)
    workers = worker_count(options.workers)
    check_picture(options.output)
    check_table_file(options.table)
    status = 0
    rows: list[Row] = []

    def add(number: int, measured: Sequence[RunMeasurement]) -> None:
        seed = comparison.seed + number - 1
        for each, one in zip(totals, measured, strict=True):
            rows.append(_row(each, one, seed))
            each.add(one.measured, one.violations, seed)

    again = _resume_command(options, given, comparison)
    with file.writing(comparison, again, part) as writer:
        numbers: Sequence[int] = comparison.runs_of(part) if part else range(1, comparison.runs + 1)
        if writer is not None:
            numbers = list(writer.recording.missing())
            for run in writer.recording.runs():
                add(run.run, run.outcome)
        known = totals[0].runs
        title = f"comparing {format_count(len(totals), 'protocol')}"
        with (
            exit_if_workers_fail(),
            closing(run_comparison(comparison, workers, numbers)) as coming,
            Progress(title, "run", known + len(numbers), known) as progress,
        ):
            try:
                with interrupted_between_steps():
                    for number, measured in zip(numbers, coming, strict=False):
                        add(number, measured)
                        if writer is not None:
                            append(writer, measured)
                        progress(totals[0].runs)
            except KeyboardInterrupt:
                status = EXIT_INTERRUPTED
        if writer is not None:
            print_remark(describe_file(writer, again))
    t_us = comparison.bases[0].timing.t_us
    if options.table is not None:
        write_table(options.table, Table((*_RUN_COLUMNS, *brought.columns, *VIOLATION_COLUMNS), rows))
    if options.json:
        print_json(document_of(comparison, totals))
    elif totals[0].runs:
        print_conditions(comparison, totals, interrupted=bool(status))
        report(totals, brought, t_us)
    if options.table is not None and not options.json:
        print_line()
        print_line(f"written: {options.table}, {format_count(len(rows), 'row')}")
    if totals[0].runs and options.output is not None:
        draw_charts(brought.charts(totals, t_us), options.output, options.json)
    return status


def document_of(comparison: ProtocolComparison, totals: list[ProtocolTotals]) -> CompareDocument[Struct]:
    """Return the result as a document."""
    t_us = comparison.bases[0].timing.t_us
    return CompareDocument(t_us, comparison.seed, tuple(map(compared, totals)))


def print_conditions(comparison: ProtocolComparison, totals: list[ProtocolTotals], interrupted: bool) -> None:
    """Print what the protocols had in common, and how many runs there were."""
    runs = format_count(totals[0].runs, "run") + " each"
    if interrupted:
        runs = f"interrupted after {totals[0].runs:,} of {format_count(comparison.runs, 'run')}"
    print_line(f"{comparison.conditions}; {runs}, from seed {comparison.seed} on")
    print_line()


def show_comparison(recording: CampaignRecording, comparison: ProtocolComparison, as_json: bool) -> None:
    """Print the result of a recorded comparison so far, as ``lab compare`` does."""
    totals = totals_of(comparison)
    for run in recording.runs():
        for each, one in zip(totals, run.outcome, strict=True):
            each.add(one.measured, one.violations, comparison.seed + run.run - 1)
    if as_json:
        print_json(document_of(comparison, totals))
    elif totals[0].runs:
        print_conditions(comparison, totals, interrupted=totals[0].runs < comparison.runs)
        report(totals, _table_of(totals), comparison.bases[0].timing.t_us)
    else:
        print_line(f"{comparison.conditions}: no run is over")


def totals_of(comparison: ProtocolComparison) -> list[ProtocolTotals]:
    """Return totals of each protocol, without any run."""
    targets = zip(comparison.names, comparison.targets, strict=True)
    return [ProtocolTotals(name, load_protocol(target)) for name, target in targets]


_RUN_COLUMNS = (
    Column("run", "text", "name of the run"),
    Column("seed", "integer", "seed of the run, the same for all protocols under the same faults"),
    Column("protocol", "text", "protocol"),
)


def _row(totals: ProtocolTotals, run: RunMeasurement, seed: int) -> Row:
    """Return the row of a run."""
    cells = comparison_of(totals.protocol).row(run.measured)
    return f"{totals.name} seed {seed}", seed, totals.name, *cells, *violation_cells(run)


def _table_of(totals: list[ProtocolTotals]) -> type[Comparison]:
    """Return the comparison that shows most: one with a task above the election, if there is one."""
    return max((comparison_of(each.protocol) for each in totals), key=lambda each: len(each.__mro__))


# from the options to a comparison


_PLANNING = ("script", "faults", "runs", "nodes", "seed", "task", "t", "parts")
"""The options that say what is to be run, which a comparison that is resumed has."""


def _planned(
    options: CompareOptions, given: Collection[str], file: CampaignFile
) -> tuple[ProtocolComparison, int]:
    """Return the comparison, and the part to make; 0: all parts."""
    resumed = file.header(ProtocolComparison)
    if not options.protocols:
        if resumed is None:
            raise UsageError(
                "name protocols (lab compare bully ring), or a comparison to go on with (--resume FILE)"
            )
        return file.as_recorded(resumed, options, _PLANNING), resumed.part
    comparison = _comparison(options, given)
    part = 0
    if options.part is not None:
        if options.parts is None:
            raise UsageError(f"--part {options.part}: of how many? Add --parts")
        part = whole_number("--part", options.part, 1, comparison.parts)
    file.check()
    if file.is_wanted:
        _require_readable(comparison)
    if resumed is not None:
        file.require_fit(resumed, CampaignHeader.of(comparison, part))
    return comparison, part


def _require_readable(comparison: ProtocolComparison) -> None:
    """Raise UsageError if what is measured is of a type of the user's own."""
    for name, target in zip(comparison.names, comparison.targets, strict=True):
        measured_by = comparison_of(load_protocol(target))
        if not measured_by.__module__.startswith("lab."):
            raise UsageError(
                f"{name} is measured by its own {measured_by.__name__}, and no code is loaded to read a recorded "
                "campaign: leave out --record, or write the runs with --table"
            )


def _resume_command(options: CompareOptions, given: Collection[str], comparison: ProtocolComparison) -> list[str]:
    """Return the command line that goes on with the comparison, but for the file."""
    if not any(map(is_own, comparison.targets)):
        return ["lab", "compare"]
    as_usual = [name for name in given if not words_of(options, (name,))]  # given, they replace the default script
    words = [word for name in as_usual for word in (f"--{name}", getattr(options, name))]
    return ["lab", "compare", *options.protocols, *words_of(options, (*_PLANNING, "part")), *words]


def _comparison(options: CompareOptions, given: Collection[str]) -> ProtocolComparison:
    """Return the comparison that the options describe."""
    timing = timing_of(options.t)
    count = whole_number("--nodes", options.nodes, 2, _MOST_NODES)
    nodes = tuple(range(1, count + 1))
    kinds = fault_kinds(options.faults)
    brought = _common_comparison(options.protocols)
    on_elections = issubclass(brought, ElectionComparison)
    task = one_of("--task", options.task, ("none", *_election_tasks()))
    if not on_elections:
        if "task" in given:
            raise UsageError(
                f"--task {task} runs on elections, and {options.protocols[0]} is {brought.kind}; leave it out"
            )
        task = "none"
    names, targets, headers = list[str](), list[str](), []
    lines = None
    for named in options.protocols:
        protocol = find_election(named) if on_elections else load_protocol(named)
        if protocol.upper_protocol is not None and task != "none":
            raise UsageError(f"{named} is a task already; name an election, or add --task none")
        names.append(protocol.name)
        targets.append(absolute_target(named if task == "none" else stacked_target(task, named)))
        stack = load_protocol(targets[-1])
        if options.script is not None:
            lines = _script(options.script, stack, nodes)
        headers.append(base_header(stack, count, timing))
    conditions = str(options.script or ", ".join(kinds))
    if brought.load_text and options.script is None:
        script = None if "faults" in given else brought.default_script(nodes, timing)
        conditions = f"{brought.load_text}, {conditions if script is None else brought.script_text}"
        lines = lines if script is None else script
    runs = whole_number("--runs", options.runs, 1)
    text = f"{count} nodes, {conditions}" + ("" if task == "none" else f", the {task} on top of each")
    return ProtocolComparison(
        tuple(targets),
        tuple(headers),
        SchedulePlan((count, count), kinds, timing, (), gaps=False),
        lines,
        seed_of(options.seed),
        runs,
        bool(brought.load_text),
        tuple(_distinct_names(names, [each.protocol.title for each in headers])),
        text,
        whole_number("--parts", options.parts or "1", 1, min(runs, MOST_PARTS)),
    )


def _distinct_names(names: list[str], titles: list[str]) -> list[str]:
    """Return the names; where one occurs twice, with the election below. Raises UsageError for duplicates."""
    found = [title if names.count(name) > 1 else name for name, title in zip(names, titles, strict=True)]
    for name, title in zip(names, found, strict=True):
        if found.count(title) > 1:
            raise UsageError(f"{name} is named twice; name different protocols: lab compare bully ring")
    return found


def _common_comparison(protocols: list[str]) -> type[Comparison]:
    """Return how these are compared. Raises UsageError if they are of several kinds."""
    found = {name: comparison_of(load_protocol(name)) for name in protocols}
    special = next(
        (name for name, each in found.items() if not issubclass(each, ElectionComparison)), protocols[0]
    )
    brought = found[special]
    for name, each in found.items():
        if each.kind != brought.kind:
            raise UsageError(
                f"{special} is {brought.kind}, and {name} is not; compare only one kind: {brought.example}"
            )
    return brought


def _election_tasks() -> list[str]:
    """Return the tasks above an election that leave the comparison one of elections."""
    return [name for name, task in TASKS.items() if issubclass(comparison_of(task), ElectionComparison)]


def _script(path: Path, protocol: type[Algorithm], nodes: tuple[int, ...]) -> tuple[str, ...]:
    text = CommandChecker(protocol, nodes).check_script(path)
    lines = tuple(line for _, line in numbered_lines(text))
    if not lines:
        raise UsageError(f"--script {path} has no commands; write one per line: at 3s kill coordinator")
    return lines
