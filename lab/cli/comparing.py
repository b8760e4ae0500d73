"""``lab compare``: from its options to a comparison, and what that came to, as it goes."""

import contextlib
from collections.abc import Collection, Generator
from pathlib import Path

import msgspec
from msgspec import Struct

from lab.cli.checking import fault_kinds
from lab.cli.comparison_report import as_json, draw, report
from lab.cli.errors import EXIT_INTERRUPTED, EXIT_NOT_AS_EXPECTED, UsageError, fail
from lab.cli.files import picture_file
from lab.cli.progress import progress_line
from lab.cli.settings import (
    World,
    election_named,
    one_of,
    protocol_named,
    script_text,
    seed_of,
    timing_of,
    whole_number,
)
from lab.protocols import Algorithm, Field, commit_protocol
from lab.recording.records import Link
from lab.script import numbered_lines
from lab.units import count_of
from lab.worlds.campaign.bank_courses import usual_course
from lab.worlds.campaign.comparison import Comparison, Measured, Sums, compared
from lab.worlds.campaign.draw import Plan
from lab.worlds.campaign.trial import RunawayError
from lab.worlds.campaign.workers import WorkerDiedError, default_workers
from lab.worlds.config import RunConfig, header_of
from lab.worlds.targets import above, absolute_target

__all__ = ["CompareRequest", "run_compare"]

_MOST_NODES = 64


class CompareRequest(Struct, frozen=True):
    """What is to be compared, and where it is to be shown; ``said`` is what all protocols go through, in words."""

    names: tuple[str, ...]
    comparison: Comparison
    said: str
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
        """From the options of the command; those in ``given`` were not left to what is usual. UsageError."""
        timing = timing_of(t, None, None)
        count = whole_number("--nodes", nodes, 2, _MOST_NODES)
        ids = tuple(range(1, count + 1))
        kinds = fault_kinds(faults)
        commits = _commit(protocols)
        above_it = one_of("--task", task, ("none", Field.name))
        if commits:
            if "task" in given:
                raise UsageError(f"--task {task} goes above elections, and {protocols[0]} commits; leave it out")
            above_it = "none"
        names: list[str] = []
        targets: list[str] = []
        bases = []
        lines = None
        for protocol in protocols:
            named = protocol_named(protocol) if commits else election_named(protocol)
            if named.carries is not None and above_it != "none":
                raise UsageError(f"{protocol} has a task above it already; name elections, or add --task none")
            names.append(named.name)
            target = absolute_target(protocol if above_it == "none" else above(above_it, protocol))
            found = protocol_named(target)
            if script is not None:
                lines = _script(script, found, ids)
            config = RunConfig("", target, ids, timing, {}, Link(), 0, "", world="simulated")
            targets.append(target)
            bases.append(header_of(config, found))
        names = _told_apart(names, [base.protocol.title for base in bases])
        struck = str(script or ", ".join(kinds))
        if commits and script is None:
            struck = f"transactions, {struck}"
            if "faults" not in given:
                struck, lines = "transactions, a crash amid the votes", usual_course(ids, timing)
        comparison = Comparison(
            tuple(targets),
            tuple(bases),
            Plan((count, count), kinds, timing, ()),
            lines,
            seed_of(seed),
            whole_number("--runs", runs, 1),
            commits,
        )
        said = f"{count} nodes, {struck}"
        said += "" if above_it == "none" else f", the {above_it} above each"
        busy = default_workers() if workers is None else whole_number("--workers", workers, 1)
        return cls(tuple(names), comparison, said, busy, picture_file(output), json)

    def sums(self) -> list[Sums]:
        """One for each protocol, and nothing in them."""
        found = (commit_protocol(protocol_named(target)) for target in self.comparison.targets)
        costs = (None if each is None else each.cost for each in found)
        return [Sums(name, cost, self.comparison.seed) for name, cost in zip(self.names, costs, strict=True)]


def _told_apart(names: list[str], titles: list[str]) -> list[str]:
    """A name that comes twice with the election below it; UsageError, if that comes twice too."""
    found = [title if names.count(name) > 1 else name for name, title in zip(names, titles, strict=True)]
    for name, title in zip(names, found, strict=True):
        if found.count(title) > 1:
            raise UsageError(f"{name} is named twice; name different protocols: lab compare bully ring")
    return found


def _commit(protocols: list[str]) -> bool:
    """Whether these are commit protocols; none or all of them are."""
    commit = [name for name in protocols if commit_protocol(protocol_named(name)) is not None]
    others = [name for name in protocols if name not in commit]
    if commit and others:
        raise UsageError(
            f"{commit[0]} commits transactions, and {others[0]} does not; compare 2pc 3pc, or elections alone"
        )
    return bool(commit)


def _script(path: Path, protocol: type[Algorithm], ids: tuple[int, ...]) -> tuple[str, ...]:
    text = script_text(path, protocol, ids, World(simulated=True, headless=True))
    lines = tuple(line for _, line in numbered_lines(text))
    if not lines:
        raise UsageError(f"--script {path} has no command; write one a line: at 3s kill coordinator")
    return lines


def run_compare(request: CompareRequest) -> int:
    """Compare and show; what was done before Ctrl-C is shown too."""
    sums = request.sums()
    status = 0
    with contextlib.closing(_measured(request)) as coming, progress_line() as tell:
        tell(f"starting {request.workers} processes" if request.workers > 1 else "running")
        try:
            for done, measured in enumerate(coming, 1):
                for each, one in zip(sums, measured, strict=True):
                    each.add(one)
                tell(
                    f"{done:,} of {count_of(request.comparison.runs, 'run')} of {count_of(len(sums), 'protocol')}"
                )
        except KeyboardInterrupt:
            status = EXIT_INTERRUPTED
    t_us = request.comparison.bases[0].timing.t_us
    if request.json:
        told = {"t_us": t_us, "seed": request.comparison.seed, "protocols": [as_json(each) for each in sums]}
        print(msgspec.json.encode(told).decode())
    elif sums[0].runs:
        runs = count_of(sums[0].runs, "run") + " each"
        if status:
            runs = f"cut short after {sums[0].runs:,} of {count_of(request.comparison.runs, 'run')}"
        print(f"{request.said}; {runs}, from seed {request.comparison.seed} on\n")
        report(sums, t_us)
    if sums[0].runs and request.output is not None:
        draw(sums, t_us, request.output)
        if not request.json:
            print(f"\ndrawn: {request.output}")
    return status


def _measured(request: CompareRequest) -> Generator[tuple[Measured, ...], None, None]:
    try:
        yield from compared(request.comparison, request.workers)
    except (RunawayError, WorkerDiedError) as error:
        fail(str(error), EXIT_NOT_AS_EXPECTED)
