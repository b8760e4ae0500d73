"""``lab campaign``: show, merge and tabulate recorded campaigns."""

import io
import shlex
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, nullcontext
from pathlib import Path
from typing import Annotated

from msgspec import Struct
from msgspec.structs import replace
from rich.table import Table
from typer import Argument, Option

from lab.cli.campaign_file import is_own
from lab.cli.campaign_report import (
    ClientOperations,
    JudgedCount,
    ViolationCount,
    assertion_table,
    fault_table,
    judged_counts,
    print_operations,
    violation_counts,
)
from lab.cli.documents import Document, Json, print_json
from lab.cli.options import (
    command,
    command_group,
    is_same_file,
    new_output,
    one_of,
    whole_number,
    writable,
    writable_recording,
)
from lab.cli.progress import Progress
from lab.cli.terminal import TerminalConsole, UsageError, has_terminal, print_wrapped
from lab.durable import owner_only, temporary_name
from lab.output import print_error, print_line
from lab.table_files import Row, require_parquet, write_as
from lab.text import sanitize
from lab.tui.terminal.guard import run_guarded
from lab.units import format_count
from lab.worlds.campaign.campaign import Campaign, CampaignTotals
from lab.worlds.campaign.campaign_recording import (
    COMMANDS,
    CampaignRecording,
    merge_campaigns,
)
from lab.worlds.campaign.campaign_table import (
    CannotRecordError,
    FindingGroup,
    FindingGroups,
    ShrunkSchedule,
    describe_schedule,
    describe_smallest,
    protocol_option,
    record_smallest,
    table_of,
    target_to_record,
)
from lab.worlds.campaign.comparison import ProtocolComparison
from lab.worlds.campaign.exploration import ExplorationCampaign, ExploredFinding, SetUp
from lab.worlds.campaign.finding import ShrunkFinding
from lab.worlds.campaign.scalability import ScaleCampaign
from lab.worlds.campaign.trial import FaultCount

_STANDARD_OUTPUT = Path("-")
_FORMATS = ("csv", "jsonl", "parquet")
_MOST_SEEDS = 8
_MOST_GROUPS = 20

campaign_app = command_group(
    "campaign", "Show, merge and tabulate campaigns of lab check, compare, scale and explore."
)

CampaignFile = Annotated[
    Path, Argument(metavar="FILE", help="A campaign recorded by lab check, compare, scale or explore --record.")
]


# show


class ShowOptions(Struct, frozen=True):
    """The options of ``lab campaign show``."""

    file: CampaignFile
    group: Annotated[
        str | None, Option(metavar="NUMBER", help="Show this group of findings; with --out, record it.")
    ] = None
    out: Annotated[
        Path | None,
        Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Record the smallest finding of the group to this file; an earlier recording there is replaced.",
        ),
    ] = None
    protocol: Annotated[
        str,
        Option(metavar="FILE.py:CLASS", help="Execute this class to record it, if the protocol is your own."),
    ] = ""
    plain: Annotated[
        bool, Option("--plain", help="Print the report on a terminal, too, instead of opening the interface.")
    ] = False
    json: Json = False


@command(
    campaign_app,
    epilog="""Examples:\n
    lab check bully --faults kill,pause --find A1.1 --keep-going --record night.jsonl\n
    lab campaign show night.jsonl\n
    lab campaign show night.jsonl --group 2 --out found.jsonl\n
    lab replay found.jsonl""",
)
def show(options: ShowOptions) -> int:
    """Show what a campaign has done, and its findings in groups.

    Findings are in one group if they violate the same assertion, and their shrunk schedules have the same shape:
    the same commands and triggers, whatever their times and amounts. Of n nodes, n is the highest, n-1 the next.
    Each group has its smallest finding, from which its recording is made on demand.

    On a terminal, the interface opens: the groups, and what was tried, judged and never reached. Enter on a group
    opens the recording of its smallest finding.

    Of a comparison or a study of growing clusters, the results so far are shown as lab compare and lab scale show
    them; with --json, as their documents. Of explorations, a row for each set-up comes before the findings: there,
    those are in one group whose shortest paths have the same faults.
    """
    if options.out is not None and options.group is None:
        raise UsageError(f"--out {options.out}: of which group? Add --group 1")
    with closing(CampaignRecording(options.file)) as recording:
        _warn_of_torn(recording)
        plan = recording.header.campaign
        if isinstance(plan, ProtocolComparison | ScaleCampaign):
            _show_measured(options, recording, plan)
            return 0
        if not (options.plain or options.json or options.group is not None) and has_terminal():
            return _open(options)
        totals, groups = CampaignTotals(), FindingGroups()
        with Progress(f"reading {options.file.name}", "run", len(recording)) as progress:
            for done, run in enumerate(recording.runs(), start=1):
                if isinstance(plan, Campaign):
                    totals.add(run.outcome)
                groups.add(run)
                progress(done)
        ranked = groups.ranked()
        if options.group is not None:
            return _show_group(options, plan, ranked)
        if isinstance(plan, ExplorationCampaign):
            _show_explored(options, recording, plan, ranked)
        elif options.json:
            print_json(_document(recording, plan, totals, ranked))
        else:
            _print(recording, plan, totals, ranked)
    return 0


def _open(options: ShowOptions) -> int:
    """Open the campaign in the interface."""

    def interface() -> int:
        from lab.tui.apps.campaign_app import show_campaign  # noqa: PLC0415 - only the child loads the interface

        return show_campaign(options.file, options.protocol)

    return run_guarded(interface)


def _show_measured(
    options: ShowOptions, recording: CampaignRecording, plan: ProtocolComparison | ScaleCampaign
) -> None:
    """Print the measurements so far. Raises UsageError for protocols that are not built in."""
    made_by = COMMANDS[type(plan)]
    if options.group is not None:
        raise UsageError(f"--group {options.group}: lab {made_by} measures, and has no findings; leave it out")
    for target in plan.targets:
        if is_own(target):
            raise UsageError(
                f"{options.file} has measurements of {target}: no code that a recording names is executed; write "
                f"the lab {made_by} command that began it again, with --resume {options.file}, or see: lab "
                f"campaign table {options.file}"
            )
    if not options.json:
        _print_origin(recording)
    if isinstance(plan, ProtocolComparison):
        from lab.cli.compare import show_comparison  # noqa: PLC0415 - loads charts

        show_comparison(recording, plan, options.json)
    else:
        from lab.cli.scale import show_study  # noqa: PLC0415 - loads charts

        show_study(recording, plan, options.json)


def _show_explored(
    options: ShowOptions, recording: CampaignRecording, plan: ExplorationCampaign, groups: list[FindingGroup]
) -> None:
    from lab.cli.explore_set_ups import document_of, print_explored  # noqa: PLC0415 - loads the explorer

    found = [run.outcome for run in recording.runs()]
    if options.json:
        print_json(document_of(plan, found, None))
        return
    _print_origin(recording)
    print_explored(plan, found)
    _print_groups(recording, plan, groups)


def _print_origin(recording: CampaignRecording) -> None:
    """Print how many runs a campaign has, when it was begun, and by which program."""
    header = recording.header
    made_by = f"lab {header.program}, Python {header.identity.python}"
    runs = f"{len(recording):,} of {format_count(header.campaign.runs, 'run')}"
    print_wrapped(f"{runs} in {recording.took_us / 1e6:,.1f} s; begun {header.began}; {made_by}")


def _print(
    recording: CampaignRecording, campaign: Campaign, totals: CampaignTotals, groups: list[FindingGroup]
) -> None:
    header, console = recording.header, TerminalConsole(highlight=False, markup=False)
    of = f" of {campaign.runs:,}" if campaign.runs else ""
    time = "virtual time" if campaign.live is None else "live runs"
    print_wrapped(
        f"{campaign.base.protocol.title}: {totals.runs:,}{of} runs from seed {campaign.seed} on, "
        f"{format_count(totals.steps, 'step')}, {totals.virtual_us / 1e6:,.0f} s of {time}, in "
        f"{recording.took_us / 1e6:,.1f} s"
    )
    low, high = campaign.plan.nodes
    made_by = f"lab {header.program}, Python {header.identity.python}"
    print_wrapped(f"  {low}-{high} nodes; {', '.join(campaign.plan.faults)}; begun {header.began}; {made_by}")
    if campaign.parts > 1:
        for part in header.parts:
            made, runs = len(recording.made(part)), len(campaign.runs_of(part))
            print_line(f"  part {part} of {campaign.parts}: {made:,} of {runs:,} runs")
    console.print(fault_table(totals))
    console.print(assertion_table(totals, campaign.promises))
    print_operations(totals)
    _print_groups(recording, campaign, groups)


def _print_groups(
    recording: CampaignRecording, plan: Campaign | ExplorationCampaign, groups: list[FindingGroup]
) -> None:
    found = sum(len(group.runs) for group in groups)
    if not groups:
        print_line("findings: none")
        return
    print_line(f"findings: {found:,} in {format_count(len(groups), 'group')}")
    table = Table("group", "found", "assertion", "", "shape", box=None, pad_edge=True)
    for number, group in enumerate(groups[:_MOST_GROUPS], start=1):
        smallest = group.smallest
        table.add_row(
            str(number),
            f"{len(group.runs):,}",
            sanitize(smallest.assertion),
            _excuse(group),
            sanitize(group.shape),
            style="bold red" if group.is_failure else "",
        )
    TerminalConsole(highlight=False, markup=False).print(table)
    if len(groups) > _MOST_GROUPS:
        print_line(f"and {len(groups) - _MOST_GROUPS:,} more groups: --json has all")
    print_line(
        f"a recording of one: lab campaign show {shlex.quote(str(recording.path))} --group 1 --out found.jsonl"
        f"{protocol_option(plan)}"
    )


def _excuse(group: FindingGroup) -> str:
    broken = ", ".join(map(str, group.smallest.broken))
    return f"excused: {broken} broken" if broken else "FAILURE"


class PartProgress(Struct, frozen=True):
    """A part of the campaign that this file has: the runs made, and planned; null: without end."""

    part: int
    planned: int | None
    runs: int


class ExploredSummary(Struct, frozen=True):
    """The smallest finding of explorations: its set-up, the number of moves, and the faults among these."""

    set_up: SetUp
    moves: int
    commands: tuple[str, ...]


class GroupSummary(Struct, frozen=True):
    """A group of findings. ``runs`` are their numbers; ``text`` and ``smallest`` are of the smallest finding.

    Of explorations ``smallest`` is null, and ``explored`` is in its place.
    """

    group: int
    assertion: str
    broken: tuple[int | str, ...]
    failure: bool
    shape: str
    found: int
    runs: list[int]
    text: str
    smallest: ShrunkSchedule | None
    explored: ExploredSummary | None = None


class CampaignDocument(Document, frozen=True):
    """A recorded campaign: what was run, judged and reached, and its findings in groups."""

    protocol: str
    seed: int
    planned: int | None
    runs: int
    parts: tuple[PartProgress, ...]
    steps: int
    virtual_us: int
    took_us: int
    faults: dict[str, FaultCount]
    violations: tuple[ViolationCount, ...]
    judged: tuple[JudgedCount, ...]
    situations: int
    clients: ClientOperations | None
    groups: tuple[GroupSummary, ...]


class RecordedFinding(Struct, frozen=True):
    """The files of a finding that was executed again, and the command that does so.

    Of an exploration there are neither script nor command: its path is one of moves.
    """

    recording: str
    script: str | None
    rerun: str | None


class CampaignGroupDocument(Document, frozen=True):
    """One group of findings; ``recorded`` is null without ``--out``."""

    finding: GroupSummary
    recorded: RecordedFinding | None = None


def _document(
    recording: CampaignRecording, campaign: Campaign, totals: CampaignTotals, groups: list[FindingGroup]
) -> CampaignDocument:
    header = recording.header
    return CampaignDocument(
        protocol=campaign.base.protocol.title,
        seed=campaign.seed,
        planned=campaign.runs or None,
        runs=totals.runs,
        parts=tuple(
            PartProgress(part, len(campaign.runs_of(part)) or None, len(recording.made(part)))
            for part in header.parts
        ),
        steps=totals.steps,
        virtual_us=totals.virtual_us,
        took_us=recording.took_us,
        faults=totals.faults,
        violations=violation_counts(totals),
        judged=judged_counts(totals, campaign.promises),
        situations=len(totals.hits),
        clients=ClientOperations.of(campaign, totals),
        groups=tuple(_summarize(number, group) for number, group in enumerate(groups, start=1)),
    )


def _summarize(number: int, group: FindingGroup) -> GroupSummary:
    smallest = group.smallest
    return GroupSummary(
        group=number,
        assertion=smallest.assertion,
        broken=tuple(smallest.broken),
        failure=group.is_failure,
        shape=group.shape,
        found=len(group.runs),
        runs=group.runs,
        text=smallest.text,
        smallest=describe_schedule(smallest) if isinstance(smallest, ShrunkFinding) else None,
        explored=ExploredSummary(smallest.set_up, len(smallest.path.moves), smallest.path.commands)
        if isinstance(smallest, ExploredFinding)
        else None,
    )


def _show_group(options: ShowOptions, plan: Campaign | ExplorationCampaign, groups: list[FindingGroup]) -> int:
    """Print one group, and record its smallest finding if that is asked for."""
    assert options.group is not None
    number = whole_number("--group", options.group, 1)
    if number > len(groups):
        known = f"it has {format_count(len(groups), 'group')}" if groups else "it has found nothing"
        raise UsageError(f"--group {number}: {options.file}: {known}")
    group = groups[number - 1]
    if options.json and options.out is None:
        print_json(CampaignGroupDocument(_summarize(number, group)))
        return 0
    smallest = group.smallest
    if not options.json:
        runs = ", ".join(map(str, group.runs[:_MOST_SEEDS]))
        more = f", and {len(group.runs) - _MOST_SEEDS:,} more" if len(group.runs) > _MOST_SEEDS else ""
        print_wrapped(smallest.text)
        print_wrapped(f"found in {format_count(len(group.runs), 'run')}: {runs}{more}")
        for line in describe_smallest(smallest):
            print_line(line)
    if options.out is not None:
        recorded = _record_finding(options, options.out, plan, group)
        if options.json:
            print_json(CampaignGroupDocument(_summarize(number, group), recorded))
        else:
            print_line(f"recorded: {recorded.recording}")
            if recorded.script is not None:
                print_line(f"script:   {recorded.script}")
            print_line(f"replay:   lab replay {recorded.recording}")
            if recorded.rerun is not None:
                print_line(f"again:    {recorded.rerun}")
    return 0


def _record_finding(
    options: ShowOptions, out: Path, plan: Campaign | ExplorationCampaign, group: FindingGroup
) -> RecordedFinding:
    """Execute the smallest finding of a group again, and record it."""
    if out.suffix != ".jsonl":
        raise UsageError(f"--out {out}: name a .jsonl file; the script is written next to it")
    if is_same_file(out, options.file):
        raise UsageError(f"--out {out} is the campaign itself; name another file")
    path = writable_recording("--out", out)
    try:
        target = target_to_record(plan, options.protocol)
        again = record_smallest(plan, group.smallest, target, path)
    except CannotRecordError as error:
        raise UsageError(f"{options.file}: {error}") from None
    script = str(out.with_suffix(".script"))
    if again is None:
        return RecordedFinding(str(out), None, None)
    return RecordedFinding(str(out), script, again.replace(str(path.with_suffix(".script")), script))


# merge


class MergeOptions(Struct, frozen=True):
    """The options of ``lab campaign merge``."""

    files: Annotated[list[Path], Argument(metavar="FILE", help="Files of one campaign: its parts, or copies.")]
    out: Annotated[Path, Option("--out", "-o", metavar="FILE", help="The new file, with the runs of all.")]
    json: Json = False


class MergeDocument(Document, frozen=True):
    """A campaign put together: how many runs are in the file, and how many are planned; null: without end."""

    written: str
    planned: int | None
    runs: int


@command(
    campaign_app,
    epilog="""Examples:\n
    lab check bully --runs 20000 --keep-going --parts 2 --part 1 --record one.jsonl\n
    lab check bully --runs 20000 --keep-going --parts 2 --part 2 --record two.jsonl\n
    lab campaign merge one.jsonl two.jsonl --out whole.jsonl""",
)
def merge(options: MergeOptions) -> int:
    """Put together the parts of a campaign that were made on several machines.

    The result is the file that one machine would have made with --parts, but for the times in it. The options, the
    protocol's source and the version of lab must be the same everywhere; a run that is in several files must be
    the same in each.
    """
    if options.out.exists():
        raise UsageError(f"--out {options.out} exists already; name a new file")
    writable("--out", options.out)
    with ExitStack() as stack:
        files = [stack.enter_context(closing(CampaignRecording(path))) for path in options.files]
        for file in files:
            _warn_of_torn(file)
        part = temporary_name(options.out)
        with Progress(f"merging into {options.out.name}"):
            try:
                merge_campaigns(files, part)
                part.rename(options.out)
            finally:
                part.unlink(missing_ok=True)
    with closing(CampaignRecording(options.out)) as merged:
        if options.json:
            print_json(MergeDocument(str(options.out), merged.header.campaign.runs or None, len(merged)))
            return 0
        print_line(f"{options.out}: {format_count(len(merged), 'run')}")
        if merged.header.campaign.runs and next(merged.missing(), None) is not None:
            made_by = COMMANDS[type(merged.header.campaign)]
            print_line(f"the missing runs are made with: lab {made_by} --resume {options.out}")
    return 0


# table


class TableOptions(Struct, frozen=True):
    """The options of ``lab campaign table``."""

    file: CampaignFile
    to: Annotated[
        str | None, Option(metavar="FORMAT", help=r"csv, jsonl or parquet.  \[default: as FILE ends, or csv]")
    ] = None
    out: Annotated[Path, Option("--out", "-o", metavar="FILE", help="Output file; - is standard output.")] = (
        _STANDARD_OUTPUT
    )
    force: Annotated[bool, Option("--force", help="Overwrite an existing file.")] = False


@command(
    campaign_app,
    epilog="""Examples:\n
    lab campaign table night.jsonl --out night.csv\n
    lab campaign table night.jsonl --to jsonl | head""",
)
def table(options: TableOptions) -> int:
    """Write a table with one row for each run of a campaign.

    Of a comparison it has a row for each protocol in each run, of a study of growing clusters for each case, and
    of explorations for each assertion in each set-up. Every column has one type. A column whose name ends in _us
    is a time in microseconds; lists and objects are JSON texts. The table depends on the options of the campaign
    alone: not on workers, machines or interruptions.
    """
    suffix = options.out.suffix[1:]
    form = one_of("--to", options.to or (suffix if suffix in _FORMATS else "csv"), _FORMATS)
    if form == "parquet":
        require_parquet()
        if options.out == _STANDARD_OUTPUT:
            raise UsageError("--to parquet: name a file with --out")
    if options.out != _STANDARD_OUTPUT:
        new_output("--out", options.out, options.force)
    with closing(CampaignRecording(options.file)) as recording:
        _warn_of_torn(recording)
        with Progress(f"reading {options.file.name}", "run", len(recording)) as progress:
            found = table_of(recording)
            counted = replace(found, rows=_counted(found.rows, progress))
            if options.out == _STANDARD_OUTPUT:
                with progress.hidden() if sys.stdout.isatty() else nullcontext():
                    write_as(form, counted, sys.stdout)
            else:
                with open(options.out, "wb", opener=owner_only) as binary:
                    out = io.TextIOWrapper(binary, encoding="utf-8", newline="", errors="backslashreplace")
                    write_as(form, counted, out)
                    out.flush()
    return 0


def _counted(rows: Iterable[Row], progress: Progress) -> Iterator[Row]:
    for number, row in enumerate(rows, start=1):
        progress(number)
        yield row


def _warn_of_torn(recording: CampaignRecording) -> None:
    if recording.torn:
        print_error(f"{recording.path}: the last line is cut off, and was skipped")
