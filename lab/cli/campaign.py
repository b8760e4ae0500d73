"""``lab campaign``: show, merge and tabulate recorded campaigns."""

import csv
import io
import shlex
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, nullcontext
from pathlib import Path
from typing import Annotated, Any, TextIO

from msgspec import Struct
from rich.table import Table
from typer import Argument, Option

from lab.cli.campaign_report import assertion_table, fault_table
from lab.cli.options import (
    Json,
    command,
    command_group,
    is_same_file,
    one_of,
    whole_number,
    writable,
    writable_recording,
)
from lab.cli.progress import Progress
from lab.cli.terminal import TerminalConsole, UsageError, print_json, print_wrapped
from lab.durable import owner_only
from lab.output import print_error, print_line, write_line
from lab.text import sanitize
from lab.units import format_count
from lab.worlds.campaign.campaign import CampaignTotals
from lab.worlds.campaign.campaign_recording import (
    CampaignHeader,
    CampaignRecording,
    merge_campaigns,
)
from lab.worlds.campaign.campaign_table import (
    COLUMNS,
    FindingGroup,
    FindingGroups,
    describe_schedule,
    rows_as_lines,
    table_of,
)
from lab.worlds.campaign.finding import Finding, format_rerun, write_finding
from lab.worlds.campaign.trial import run_trial
from lab.worlds.loading.targets import absolute_target, load_protocol, names_file, split_sandbox, split_target

FORMAT = 1
"""The version of the JSON document; a field never changes its meaning."""
_STANDARD_OUTPUT = Path("-")
_MOST_SEEDS = 8
_MOST_GROUPS = 20

campaign_app = command_group("campaign", "Show, merge and tabulate campaigns recorded by lab check --record.")

CampaignFile = Annotated[Path, Argument(metavar="FILE", help="A campaign recorded by lab check --record.")]


# show


class ShowOptions(Struct, frozen=True):
    """The options of ``lab campaign show``."""

    file: CampaignFile
    group: Annotated[
        str | None, Option(metavar="NUMBER", help="Show this group of findings; with --out, record it.")
    ] = None
    out: Annotated[
        Path | None,
        Option("--out", "-o", metavar="FILE", help="Record the smallest finding of the group to this file."),
    ] = None
    protocol: Annotated[
        str,
        Option(metavar="FILE.py:CLASS", help="Execute this class to record it, if the protocol is your own."),
    ] = ""
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
    """
    if options.out is not None and options.group is None:
        raise UsageError(f"--out {options.out}: of which group? Add --group 1")
    with closing(CampaignRecording(options.file)) as recording:
        _warn_of_torn(recording)
        totals, groups = CampaignTotals(), FindingGroups()
        with Progress(f"reading {options.file.name}", "run", len(recording)) as progress:
            for run in recording.runs():
                totals.add(run.outcome)
                groups.add(run)
                progress(totals.runs)
        ranked = groups.ranked()
        if options.group is not None:
            return _show_group(options, recording.header, ranked)
        if options.json:
            print_json(_as_json(recording, totals, ranked))
        else:
            _print(recording, totals, ranked)
    return 0


def _print(recording: CampaignRecording, totals: CampaignTotals, groups: list[FindingGroup]) -> None:
    header, console = recording.header, TerminalConsole(highlight=False, markup=False)
    campaign = header.campaign
    of = f" of {campaign.runs:,}" if campaign.runs else ""
    print_wrapped(
        f"{campaign.base.protocol.title}: {totals.runs:,}{of} runs from seed {campaign.seed} on, "
        f"{format_count(totals.steps, 'step')}, {totals.virtual_us / 1e6:,.0f} s of virtual time, in "
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
    console.print(assertion_table(totals, campaign.base.protocol.promises))
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
    console.print(table)
    if len(groups) > _MOST_GROUPS:
        print_line(f"and {len(groups) - _MOST_GROUPS:,} more groups: --json has all")
    print_line(
        f"a recording of one: lab campaign show {shlex.quote(str(recording.path))} --group 1 --out found.jsonl"
    )


def _excuse(group: FindingGroup) -> str:
    broken = ", ".join(map(str, group.smallest.broken))
    return f"excused: {broken} broken" if broken else "FAILURE"


def _as_json(recording: CampaignRecording, totals: CampaignTotals, groups: list[FindingGroup]) -> dict[str, Any]:
    header = recording.header
    campaign = header.campaign
    return {
        "format": FORMAT,
        "protocol": campaign.base.protocol.title,
        "seed": campaign.seed,
        "planned": campaign.runs or None,
        "runs": totals.runs,
        "parts": [
            {"part": part, "planned": len(campaign.runs_of(part)) or None, "runs": len(recording.made(part))}
            for part in header.parts
        ],
        "steps": totals.steps,
        "virtual_us": totals.virtual_us,
        "took_us": recording.took_us,
        "faults": totals.faults,
        "violations": [
            {"assertion": name, "broken": broken, "times": times}
            for (name, broken), times in sorted(totals.violations.items(), key=lambda each: str(each[0]))
        ],
        "judged": [
            {"assertion": name, "runs": totals.judged_runs[name], "count": totals.judged[name]}
            for name in campaign.base.protocol.promises
        ],
        "situations": len(totals.hits),
        "groups": [_group_as_json(number, group) for number, group in enumerate(groups, start=1)],
    }


def _group_as_json(number: int, group: FindingGroup) -> dict[str, Any]:
    smallest = group.smallest
    return {
        "group": number,
        "assertion": smallest.assertion,
        "broken": smallest.broken,
        "failure": group.is_failure,
        "shape": group.shape,
        "found": len(group.runs),
        "runs": group.runs,
        "smallest": {"text": smallest.text, **describe_schedule(smallest)},
    }


def _show_group(options: ShowOptions, header: CampaignHeader, groups: list[FindingGroup]) -> int:
    """Print one group, and record its smallest finding if that is asked for."""
    assert options.group is not None
    number = whole_number("--group", options.group, 1)
    if number > len(groups):
        known = f"it has {format_count(len(groups), 'group')}" if groups else "it has found nothing"
        raise UsageError(f"--group {number}: {options.file}: {known}")
    group = groups[number - 1]
    if options.json and options.out is None:
        print_json({"format": FORMAT, **_group_as_json(number, group)})
        return 0
    smallest = group.smallest
    if not options.json:
        runs = ", ".join(map(str, group.runs[:_MOST_SEEDS]))
        more = f", and {len(group.runs) - _MOST_SEEDS:,} more" if len(group.runs) > _MOST_SEEDS else ""
        print_wrapped(smallest.text)
        print_wrapped(f"found in {format_count(len(group.runs), 'run')}: {runs}{more}")
        print_line(
            f"smallest, {format_count(len(smallest.schedule.nodes), 'node')}, seed {smallest.schedule.seed}:"
        )
        for fault in smallest.schedule.faults:
            print_line(f"    {fault}")
    if options.out is not None:
        _record_finding(options, header, group)
    return 0


def _record_finding(options: ShowOptions, header: CampaignHeader, group: FindingGroup) -> None:
    """Execute the smallest finding of a group again, and record it."""
    assert options.out is not None
    if options.out.suffix != ".jsonl":
        raise UsageError(f"--out {options.out}: name a .jsonl file; the script is written next to it")
    if is_same_file(options.out, options.file):
        raise UsageError(f"--out {options.out} is the campaign itself; name another file")
    path = writable_recording("--out", options.out)
    target, sandboxed = split_sandbox(header.campaign.target)
    is_own = names_file(target) or bool(split_target(target)[1]) or sandboxed
    if is_own and not options.protocol:
        raise UsageError(
            f"{options.file} is a campaign of {target}: no code that a recording names is executed; name yours: "
            "--protocol FILE.py:CLASS"
        )
    target = absolute_target(options.protocol) if is_own else target
    protocol = load_protocol(target)
    least = group.smallest.schedule
    trial = run_trial(protocol, header.campaign.base, least, extend=False)
    violation = next((each for each in trial.violations if each.assertion == group.smallest.assertion), None)
    if violation is None:
        raise UsageError(
            f"{target} no longer violates {group.smallest.assertion} under this schedule: the protocol has "
            "changed since, or it is not deterministic"
        )
    script = options.out.with_suffix(".script")
    rerun = format_rerun(target, header.campaign.base, least, script)
    write_finding(protocol, header.campaign.base, Finding(least, least, violation, 0, trial.records), path, rerun)
    if options.json:
        print_json({"format": FORMAT, "recording": str(options.out), "script": str(script), "again": rerun})
        return
    print_line(f"recorded: {options.out}")
    print_line(f"script:   {script}")
    print_line(f"replay:   lab replay {options.out}")
    print_line(f"again:    {rerun}")


# merge


class MergeOptions(Struct, frozen=True):
    """The options of ``lab campaign merge``."""

    files: Annotated[list[Path], Argument(metavar="FILE", help="Files of one campaign: its parts, or copies.")]
    out: Annotated[Path, Option("--out", "-o", metavar="FILE", help="The new file, with the runs of all.")]


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
        part = options.out.with_name(f"{options.out.name}.part")
        with Progress(f"merging into {options.out.name}"):
            try:
                merge_campaigns(files, part)
                part.rename(options.out)
            finally:
                part.unlink(missing_ok=True)
    with closing(CampaignRecording(options.out)) as merged:
        print_line(f"{options.out}: {format_count(len(merged), 'run')}")
        if merged.header.campaign.runs and next(merged.missing(), None) is not None:
            print_line(f"the missing runs are made with: lab check --resume {options.out}")
    return 0


# table


class TableOptions(Struct, frozen=True):
    """The options of ``lab campaign table``."""

    file: CampaignFile
    to: Annotated[str, Option(metavar="FORMAT", help="Output format: csv or jsonl.")] = "csv"
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

    Every column has one type. A column whose name ends in _us is a time in microseconds; lists and objects are
    JSON texts. The table depends on the options of the campaign alone: not on workers, machines or interruptions.
    """
    form = one_of("--to", options.to, ("csv", "jsonl"))
    if options.out != _STANDARD_OUTPUT:
        if options.out.is_file() and not options.force:
            raise UsageError(
                f"{options.out} exists already; name another with --out, or overwrite it with --force"
            )
        writable("--out", options.out)
    with closing(CampaignRecording(options.file)) as recording:
        _warn_of_torn(recording)
        with Progress(f"reading {options.file.name}", "run", len(recording)) as progress:
            lines = _lines(recording, form, progress)
            if options.out == _STANDARD_OUTPUT:
                with progress.hidden() if sys.stdout.isatty() else nullcontext():
                    _write(lines, sys.stdout)
            else:
                with open(options.out, "w", encoding="utf-8", opener=owner_only) as out:
                    _write(lines, out)
    return 0


def _write(lines: Iterator[str], out: TextIO) -> None:
    for line in lines:
        write_line(sanitize(line), out)


def _lines(recording: CampaignRecording, form: str, progress: Progress) -> Iterator[str]:
    rows = _counted(table_of(recording), progress)
    if form == "jsonl":
        yield from rows_as_lines(rows)
        return
    yield ",".join(COLUMNS)
    for row in rows:
        line = io.StringIO()
        csv.writer(line, lineterminator="").writerow(map(_cell, row.values()))
        yield line.getvalue()


def _counted(rows: Iterator[dict[str, Any]], progress: Progress) -> Iterator[dict[str, Any]]:
    for number, row in enumerate(rows, start=1):
        progress(number)
        yield row


def _cell(value: object) -> object:
    """Return the cell; a text that a spreadsheet would take for a formula is escaped."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@")) else value


def _warn_of_torn(recording: CampaignRecording) -> None:
    if recording.torn:
        print_error(f"{recording.path}: the last line is cut off, and was skipped")
