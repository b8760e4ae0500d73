"""``lab compare``: compare protocols under the same faults."""

import contextlib
from collections.abc import Collection, Generator
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from msgspec import Struct

from lab.cli.check import fault_kinds
from lab.cli.compare_report import as_json, draw, report
from lab.cli.options import (
    Faults,
    Json,
    Picture,
    RequestBound,
    RunMode,
    Targets,
    Workers,
    find_election,
    find_protocol,
    one_of,
    picture_file,
    script_text,
    seed_of,
    timing_of,
    whole_number,
)
from lab.cli.program import app
from lab.cli.terminal import EXIT_INTERRUPTED, EXIT_NOT_AS_EXPECTED, UsageError, fail, progress_line
from lab.protocols import Algorithm, Field, commit_protocol
from lab.recording.records import Link
from lab.script.parse import numbered_lines
from lab.units import format_count
from lab.worlds.campaign.comparison import (
    ProtocolComparison,
    ProtocolTotals,
    RunMeasurement,
    default_script,
    run_comparison,
)
from lab.worlds.campaign.schedule import SchedulePlan
from lab.worlds.campaign.trial import RunawayError
from lab.worlds.campaign.workers import WorkerDiedError, default_workers
from lab.worlds.loading.config import RunConfig, header_of
from lab.worlds.loading.targets import absolute_target, stacked_target


@app.command(
    epilog="""Examples:\n
    lab compare bully invitation\n
    lab compare bully ring --faults kill,partition --runs 50 -o elections.svg\n
    lab compare bully my_election.py:MyElection --script lecture.script --task none\n
    lab compare 2pc 3pc --script blocking.script --runs 20\n
    lab compare 2pc 3pc "3pc above ring" --faults partition""",
)
def compare(
    context: typer.Context,
    protocols: Targets,
    script: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Give these commands, one per line, instead of random faults."),
    ] = None,
    faults: Faults = "kill,pause",
    runs: Annotated[str, typer.Option(help="Number of runs of each protocol.")] = "200",
    nodes: Annotated[str, typer.Option(help="Number of nodes.")] = "5",
    seed: Annotated[str, typer.Option(help="Seed of the first run; each run uses the next seed.")] = "1",
    task: Annotated[
        str, typer.Option(help="Task on top of each election: field, whose lost work is counted, or none.")
    ] = "field",
    t: RequestBound = None,
    workers: Workers = None,
    output: Picture = None,
    json: Json = False,
) -> int:
    """Compare the cost and failures of protocols under the same faults.

    The runs are simulated. Each seed determines the links and the random faults. Every protocol runs under the
    same links and faults, and every run is checked against the protocol's assertions. With a script, the seed
    determines only the links. 200 runs of four protocols take some minutes; Ctrl-C stops and shows the results so
    far.

    A node leads while it is running, is Normal, and is its own coordinator. A cluster that has had a coordinator
    is without one while no node leads, and while a running node is Normal under a node that does not lead because
    it is down or paused. An election lasts from the moment when the running nodes no longer agree on a coordinator
    until they agree again; it counts only if messages other than heartbeats are sent. A reading of the field is
    lost if no running node knows it at the end, and made twice if its region had already been read.

    Commit protocols (2pc, 3pc) run transactions. The report shows messages and forced writes next to the formulas,
    times, and how long nodes were blocked and locks were held. Without a script, the coordinator crashes during
    the vote, another node begins many transactions, and the coordinator recovers; with --faults, faults are
    random. A running node that has voted YES is blocked from the moment when the coordinator is down or paused, or
    the node reports that it must wait, until it knows the outcome.
    """
    given = [name for name in ("faults", "task") if _is_given(context, name)]
    if script is not None and "faults" in given:
        raise UsageError(f"--script {script} and --faults exclude each other; leave out one of them")

    return run_compare(
        CompareRequest.of(protocols, script, faults, runs, nodes, seed, task, t, workers, output, json, given)
    )


def _is_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


_MOST_NODES = 64


class CompareRequest(Struct, frozen=True):
    """The arguments of ``lab compare``. ``text`` describes the common conditions."""

    names: tuple[str, ...]
    comparison: ProtocolComparison
    text: str
    workers: int
    output: Path | None
    json: bool

    @classmethod
    def of(
        cls,
        protocols: list[str],
        script: Path | None,
        faults: str,
        runs: str,
        nodes: str,
        seed: str,
        task: str,
        t: str | None,
        workers: str | None,
        output: Path | None,
        json: bool,
        given: Collection[str] = (),
    ) -> "CompareRequest":
        """Build the request from the command's options. Raises UsageError.

        ``given`` names the options that the user gave, in contrast to defaults.
        """
        timing = timing_of(t, None, None)
        count = whole_number("--nodes", nodes, 2, _MOST_NODES)
        ids = tuple(range(1, count + 1))
        kinds = fault_kinds(faults)
        commits = _commit(protocols)
        task_name = one_of("--task", task, ("none", Field.name))
        if commits:
            if "task" in given:
                raise UsageError(
                    f"--task {task} runs on elections, and {protocols[0]} is a commit protocol; leave it out"
                )
            task_name = "none"
        names: list[str] = []
        targets: list[str] = []
        bases = []
        lines = None
        for protocol in protocols:
            named = find_protocol(protocol) if commits else find_election(protocol)
            if named.upper_protocol is not None and task_name != "none":
                raise UsageError(f"{protocol} is a task already; name an election, or add --task none")
            names.append(named.name)
            target = absolute_target(protocol if task_name == "none" else stacked_target(task_name, protocol))
            found = find_protocol(target)
            if script is not None:
                lines = _script(script, found, ids)
            config = RunConfig("", target, ids, timing, {}, Link(), 0, "", world="simulated")
            targets.append(target)
            bases.append(header_of(config, found))
        names = _distinct_names(names, [base.protocol.title for base in bases])
        conditions = str(script or ", ".join(kinds))
        if commits and script is None:
            conditions = f"transactions, {conditions}"
            if "faults" not in given:
                conditions, lines = "transactions, a crash during the vote", default_script(ids, timing)
        comparison = ProtocolComparison(
            tuple(targets),
            tuple(bases),
            SchedulePlan((count, count), kinds, timing, ()),
            lines,
            seed_of(seed),
            whole_number("--runs", runs, 1),
            commits,
        )
        text = f"{count} nodes, {conditions}"
        text += "" if task_name == "none" else f", the {task_name} on top of each"
        busy = default_workers() if workers is None else whole_number("--workers", workers, 1)
        return cls(tuple(names), comparison, text, busy, picture_file(output), json)

    def sums(self) -> list[ProtocolTotals]:
        """Return empty totals, one for each protocol."""
        found = (commit_protocol(find_protocol(target)) for target in self.comparison.targets)
        costs = (None if each is None else each.cost for each in found)
        return [
            ProtocolTotals(name, cost, self.comparison.seed) for name, cost in zip(self.names, costs, strict=True)
        ]


def _distinct_names(names: list[str], titles: list[str]) -> list[str]:
    """Return the names; where one occurs twice, with the election below. Raises UsageError for duplicates."""
    found = [title if names.count(name) > 1 else name for name, title in zip(names, titles, strict=True)]
    for name, title in zip(names, found, strict=True):
        if found.count(title) > 1:
            raise UsageError(f"{name} is named twice; name different protocols: lab compare bully ring")
    return found


def _commit(protocols: list[str]) -> bool:
    """Return whether these are commit protocols. Raises UsageError for a mixture."""
    commit = [name for name in protocols if commit_protocol(find_protocol(name)) is not None]
    others = [name for name in protocols if name not in commit]
    if commit and others:
        raise UsageError(
            f"{commit[0]} is a commit protocol, and {others[0]} is not; compare only one kind: 2pc 3pc"
        )
    return bool(commit)


def _script(path: Path, protocol: type[Algorithm], ids: tuple[int, ...]) -> tuple[str, ...]:
    text = script_text(path, protocol, ids, RunMode(simulated=True, headless=True))
    lines = tuple(line for _, line in numbered_lines(text))
    if not lines:
        raise UsageError(f"--script {path} has no commands; write one per line: at 3s kill coordinator")
    return lines


def run_compare(request: CompareRequest) -> int:
    """Run the comparison and show the result; after Ctrl-C, the result so far."""
    sums = request.sums()
    status = 0
    with contextlib.closing(_iter_measurements(request)) as coming, progress_line() as progress:
        progress(f"starting {request.workers} processes" if request.workers > 1 else "running")
        try:
            for done, measured in enumerate(coming, 1):
                for each, one in zip(sums, measured, strict=True):
                    each.add(one)
                progress(
                    f"{done:,} of {format_count(request.comparison.runs, 'run')} "
                    f"of {format_count(len(sums), 'protocol')}"
                )
        except KeyboardInterrupt:
            status = EXIT_INTERRUPTED
    t_us = request.comparison.bases[0].timing.t_us
    if request.json:
        result = {"t_us": t_us, "seed": request.comparison.seed, "protocols": [as_json(each) for each in sums]}
        print(msgspec.json.encode(result).decode())
    elif sums[0].runs:
        runs = format_count(sums[0].runs, "run") + " each"
        if status:
            runs = f"interrupted after {sums[0].runs:,} of {format_count(request.comparison.runs, 'run')}"
        print(f"{request.text}; {runs}, from seed {request.comparison.seed} on\n")
        report(sums, t_us)
    if sums[0].runs and request.output is not None:
        draw(sums, t_us, request.output)
        if not request.json:
            print(f"\ndrawn: {request.output}")
    return status


def _iter_measurements(request: CompareRequest) -> Generator[tuple[RunMeasurement, ...], None, None]:
    try:
        yield from run_comparison(request.comparison, request.workers)
    except (RunawayError, WorkerDiedError) as error:
        fail(str(error), EXIT_NOT_AS_EXPECTED)
