"""``lab check --program``: randomized testing of a program, in live runs."""

import itertools
import shlex
import shutil
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import Struct
from msgspec.structs import replace
from rich.text import Text

from lab.cli.campaign_file import CampaignFile, append, describe_file, words_of
from lab.cli.campaign_report import (
    ClientOperations,
    JudgedCount,
    SizeCount,
    ViolationCount,
    assertion_table,
    fault_table,
    format_no_findings,
    judged_counts,
    junit_cases,
    print_finding,
    print_operations,
    violation_counts,
)
from lab.cli.check_options import DEFAULT_FAULTS, PLANNING, CheckOptions
from lab.cli.documents import Document, print_json
from lab.cli.junit import JUnitSuite, write_junit
from lab.cli.options import node_range, wanted_outside, whole_number, worker_count, writable, writable_recording
from lab.cli.progress import Progress
from lab.cli.terminal import (
    EXIT_INTERRUPTED,
    EXIT_NOT_AS_EXPECTED,
    TerminalConsole,
    UsageError,
    interrupt_on_signals,
    print_wrapped,
)
from lab.output import print_line, print_remark
from lab.properties.assertions import RAISES
from lab.properties.history_verdict import HistoryViolation
from lab.protocols import Algorithm
from lab.text import sanitize
from lab.units import format_count, format_us
from lab.worlds.campaign.campaign import Campaign, CampaignTotals, LivePlan, RunOutcome
from lab.worlds.campaign.campaign_recording import CampaignHeader, CampaignWriter
from lab.worlds.campaign.finding import Finding
from lab.worlds.campaign.live_campaign import (
    LIVE_FAULTS,
    OVERHEAD_US,
    LiveFinding,
    LiveRuns,
    LiveShrinking,
    LiveTrial,
    draw_live,
    format_live_rerun,
    live_header,
    live_schedule_plan,
    program_digest,
)
from lab.worlds.campaign.reached import unjudged
from lab.worlds.campaign.schedule import fault_kinds
from lab.worlds.campaign.trial import FaultCount, SearchGoal
from lab.worlds.loading.programs import lens_target, program_command
from lab.worlds.loading.roles import roles_of
from lab.worlds.loading.settings import parameters_of, positive, target_of, timing_of
from lab.worlds.loading.targets import absolute_target, load_protocol

_MOST_NODES = 64
_DEFAULT_NODES, _DEFAULT_RUNS, _DEFAULT_FOR, _DEFAULT_T, _DEFAULT_REPETITIONS = "5", "50", "10s", "1s", "5"
_DEFAULT_KINDS = "kill,pause,partition,delay,loss"
_DEFAULT_KINDS_WITH_CLIENTS = "pause,partition,delay,loss"
"""A program that keeps what it knows in memory forgets, killed, what it has acknowledged."""
_LEAST_RUN_US = 3_000_000
_MOST_REPETITIONS = 100
_OF_PROGRAMS = ("lens", "for_", "repetitions", "arguments")
_OF_SIMULATION = {
    "systematic": "the points of a live run are other ones each time",
    "blind": "the schedules of live runs depend on their seeds alone anyway",
    "corpus": "the schedules of live runs depend on their seeds alone",
    "cluster": "live runs are made on this machine",
    "parts": "live runs are made on this machine",
    "part": "live runs are made on this machine",
    "sandbox": "a program runs with your rights, so trust it",
}
"""The options that campaigns on programs do not have, and why."""


class ProgramFinding(Struct, frozen=True):
    """A shrunk finding. It came ``again`` in so many of the ``repetitions``; ``rerun`` makes such a run again.

    ``minimal``: everything that is simpler by one command was tried.
    """

    seed: int
    assertion: str
    failure: bool
    text: str
    nodes: tuple[int, ...]
    commands: tuple[str, ...]
    again: int
    repetitions: int
    minimal: bool
    recording: str
    script: str
    rerun: str


class CheckProgramDocument(Document, frozen=True):
    """A campaign of ``lab check --program``: what was run and judged, and what was found.

    ``unconfirmed``: in how many runs an assertion seemed to be violated, and was not in a run of twice the time.
    """

    program: str
    protocol: str
    runs: int
    run_us: int
    steps: int
    faults: dict[str, FaultCount]
    violations: tuple[ViolationCount, ...]
    judged: tuple[JudgedCount, ...]
    unconfirmed: dict[str, int]
    sizes: tuple[SizeCount, ...]
    clients: ClientOperations | None
    kept: tuple[str, ...]
    finding: ProgramFinding | None


def require_no_program(options: CheckOptions) -> None:
    """Raise UsageError for options that only campaigns on programs have."""
    for name in _OF_PROGRAMS:
        if getattr(options, name):
            given = " ".join(options.arguments) if name == "arguments" else f"--{name.rstrip('_')}"
            raise UsageError(f"{given}: only campaigns on programs have that: lab check --program ./my_node")


def check_program(options: CheckOptions) -> int:
    """Run the campaign on a program that the options describe; return the exit status."""
    session = _Session(options)
    interrupt_on_signals()
    return session.run()


class _Session:
    """The campaign that the options describe, and what became of it."""

    def __init__(self, options: CheckOptions) -> None:
        self.options = options
        for name, why in _OF_SIMULATION.items():
            if getattr(options, name):
                raise UsageError(f"--{name}: not with --program: {why}; leave it out")
        arguments = [*filter(None, [options.protocol]), *options.arguments]
        command = program_command(options.program or "", arguments)
        target = target_of(lens_target(options.lens), options.set_, options.properties)
        self.protocol = load_protocol(target)
        self.workers = worker_count(options.workers)
        self.for_s = None if options.minutes is None else whole_number("--minutes", options.minutes, 1) * 60.0
        self.file = CampaignFile(options.record, options.resume)
        self.campaign = _campaign(options, target, self.protocol, command)
        self.file.check()
        resumed = self.file.header(Campaign)
        if resumed is not None:
            self.file.require_fit(resumed, CampaignHeader.of(self.campaign))
        if options.out is not None and options.out.suffix != ".jsonl":
            raise UsageError(f"--out {options.out}: name a .jsonl file; the script is written next to it")
        if options.out is not None:
            writable_recording("--out", options.out)
        else:
            writable("--out", Path("finding.jsonl"))
        self.junit = None if options.junit is None else writable("--junit", options.junit)
        self.program = _short_name(command)
        self.totals = CampaignTotals()
        self.kept: list[Path] = []
        self.found_before = 0
        self.interrupted = False

    def run(self) -> int:
        """Make the runs, shrink and report the first finding; return the exit status."""
        campaign, options = self.campaign, self.options
        again = self._resume_command()
        print_remark(self._describe_time())
        began_s = time.monotonic()
        finding = None
        with TemporaryDirectory(prefix="lab-") as folder, self.file.writing(campaign, again) as writer:
            with LiveRuns(campaign, self.protocol, self.workers, Path(folder)) as runs:
                first = self._make(runs, writer)
                if first is not None:
                    finding = self._shrink(runs, first)
            if finding is not None:
                self._keep(finding)
        document = self._document(finding)
        write_junit(self.junit, [_junit_suite(document, time.monotonic() - began_s)])
        if options.json:
            print_json(document)
        else:
            self._print(finding, document, time.monotonic() - began_s)
        if writer is not None:
            print_remark(describe_file(writer, again))
        if self.interrupted:
            return EXIT_INTERRUPTED
        is_bad = finding is not None or self.found_before or unjudged(campaign.promises, self.totals)
        return EXIT_NOT_AS_EXPECTED if is_bad else 0

    # running

    def _make(self, runs: LiveRuns, writer: CampaignWriter | None) -> LiveTrial | None:
        """Make the runs that are missing; return the first that is a finding."""
        campaign, totals = self.campaign, self.totals
        for outcome in [] if writer is None else writer.recording.outcomes()[1]:
            totals.add(outcome)
            self.found_before += outcome.found
        known = totals.runs
        first: LiveTrial | None = None
        progress = Progress(f"checking {self.program}", "run", campaign.runs, known)
        outcomes = runs.outcomes(draw_live(campaign, seed) for seed in self._seeds(known))
        try:
            with closing(outcomes), progress:
                for outcome, trial in outcomes:
                    totals.add(outcome)
                    if outcome.found:
                        outcome = self._keep_run(outcome, trial)  # noqa: PLW2901 - with its recording
                        first = first or trial
                    else:
                        trial.recording.unlink(missing_ok=True)
                    if writer is not None:
                        append(writer, outcome)
                    progress(totals.runs, "" if first is None else f"found with seed {first.schedule.seed}")
                    if outcome.found and not self.options.keep_going:
                        break
        except KeyboardInterrupt:
            self.interrupted = True
        return first

    def _seeds(self, known: int) -> Iterator[int]:
        """Yield the seeds of the runs to make, until the time is over."""
        ends_s = None if self.for_s is None else time.monotonic() + self.for_s
        runs = range(known, self.campaign.runs) if self.campaign.runs else itertools.count(known)
        for number in runs:
            if ends_s is not None and time.monotonic() >= ends_s:
                return
            yield self.campaign.seed + number

    def _keep_run(self, outcome: RunOutcome, trial: LiveTrial) -> RunOutcome:
        """Keep the recording of a finding, under a name that says what it shows."""
        found = outcome.counterexample
        assert found is not None
        path = Path(f"{self.program}-{found.assertion}-seed{outcome.schedule.seed}.jsonl").absolute()
        shutil.copyfile(trial.recording, path)
        self.kept.append(path)
        return replace(outcome, counterexample=replace(found, recording=str(path)))

    def _shrink(self, runs: LiveRuns, first: LiveTrial) -> LiveFinding:
        """Shrink a finding, and repeat what is left of it; Ctrl-C ends that with what there is."""
        violation = next(filter(self.campaign.goal.matches, first.violations))
        shrinking = LiveShrinking(runs, first, violation)
        again: list[LiveTrial] = []
        try:
            if not self.interrupted:
                live = self.campaign.live
                assert live is not None
                with Progress(f"shrinking what seed {first.schedule.seed} found", "candidate") as progress:
                    shrinking.run(progress)
                with Progress("repeating it", "run", live.repetitions):
                    again = runs.repeat(shrinking.trial.schedule)
        except KeyboardInterrupt:
            self.interrupted = True
        least = shrinking.trial
        finding = Finding(first.schedule, least.schedule, shrinking.violation, shrinking.tried, least.records)
        came = sum(each.shows(violation) for each in again)
        return LiveFinding(finding, least.recording, came, len(again), shrinking.is_minimal)

    def _keep(self, found: LiveFinding) -> None:
        """Write the recording and the script of the shrunk finding."""
        finding, path = found.finding, self._path(found)
        rerun = format_live_rerun(self.campaign, finding.least, path.with_suffix(".script"))
        shutil.copyfile(found.recording, path)
        text = "\n".join([f"# {finding.violation}", f"# {rerun}", *map(str, finding.least.faults)]) + "\n"
        path.with_suffix(".script").write_text(text, "utf-8")

    def _path(self, found: LiveFinding) -> Path:
        finding = found.finding
        name = f"{self.program}-{finding.violation.assertion}-seed{finding.drawn.seed}-shrunk.jsonl"
        return self.options.out or Path(name)

    # reporting

    def _describe_time(self) -> str:
        """Return how long the campaign takes at most, but for what is found: *50 runs of 10 s, 2 at a time: …*."""
        live, runs = self.campaign.live, self.campaign.runs
        assert live is not None
        each = f"of {format_us(live.run_us)}, {self.workers} at a time"
        if not runs:
            until = "until Ctrl-C" if self.for_s is None else f"for {self.for_s / 60:.0f} min"
            return f"runs {each}: {until}"
        took_s = -(-runs // self.workers) * (live.run_us + OVERHEAD_US) / 1e6
        took = f"{took_s / 60:.0f} min" if took_s >= 90 else f"{took_s:.0f} s"
        return f"{format_count(runs, 'run')} {each}: about {took}, and more if something is found"

    def _resume_command(self) -> list[str]:
        program = self.campaign.base.protocol.parameters["program"]
        planned = replace(self.options, runs=str(self.campaign.runs), program=program)
        return ["lab", "check", *words_of(planned, PLANNING), *["--keep-going"] * self.options.keep_going]

    def _print(self, finding: LiveFinding | None, document: CheckProgramDocument, seconds: float) -> None:
        totals, campaign = self.totals, self.campaign
        console = TerminalConsole(highlight=False, markup=False)
        made = (
            f": {format_count(totals.runs, 'live run')} of {format_us(document.run_us)} from seed {campaign.seed}"
        )
        tried = f"{made} on, {format_count(totals.steps, 'step')}, in {seconds:,.1f} s"
        console.print(Text.assemble((sanitize(self.program), "bold"), tried))
        console.print(fault_table(totals))
        if campaign.promises or totals.violations:
            console.print(assertion_table(totals, campaign.promises))
        print_operations(totals)
        for name, count in sorted(totals.unconfirmed.items()):
            print_wrapped(
                f"unconfirmed: {name} seemed to fail in {format_count(count, 'run')}, and did not in runs of "
                "twice the time; the machine may have been slow"
            )
        for path in self.kept:
            print_line(f"kept:     {path}")
        if finding is None:
            goal = campaign.goal.assertion or None
            print_wrapped(format_no_findings(campaign.promises, totals, goal, self.interrupted))
            return
        print_finding(finding.finding)
        if not finding.is_minimal:
            print_wrapped("smaller schedules are left untried: each takes some live runs")
        shown = document.finding
        assert shown is not None
        print_wrapped(f"it came again in {shown.again} of {format_count(shown.repetitions, 'repetition')}")
        print_line(f"recorded: {shown.recording}")
        print_line(f"script:   {shown.script}")
        print_line(f"replay:   lab replay {shown.recording}")
        if isinstance(finding.finding.violation, HistoryViolation):
            print_line(f"history:  lab consistency {shown.recording}")
        print_line(f"again:    {shown.rerun}")

    def _document(self, found: LiveFinding | None) -> CheckProgramDocument:
        totals, campaign = self.totals, self.campaign
        live = campaign.live
        assert live is not None
        return CheckProgramDocument(
            program=campaign.base.protocol.parameters["program"],
            protocol=campaign.base.protocol.name,
            runs=totals.runs,
            run_us=live.run_us,
            steps=totals.steps,
            faults=totals.faults,
            violations=violation_counts(totals),
            judged=judged_counts(totals, campaign.promises),
            unconfirmed=dict(totals.unconfirmed),
            sizes=tuple(SizeCount(nodes, runs) for nodes, runs in sorted(totals.sizes.items())),
            clients=ClientOperations.of(campaign, totals),
            kept=tuple(map(str, self.kept)),
            finding=None if found is None else self._summary(found),
        )

    def _summary(self, found: LiveFinding) -> ProgramFinding:
        finding, path = found.finding, self._path(found)
        script = path.with_suffix(".script")
        return ProgramFinding(
            finding.drawn.seed,
            finding.violation.assertion,
            finding.violation.is_failure,
            str(finding.violation),
            finding.least.nodes,
            tuple(map(str, finding.least.faults)),
            found.again,
            found.repetitions,
            found.is_minimal,
            str(path),
            str(script),
            format_live_rerun(self.campaign, finding.least, script),
        )


def _campaign(options: CheckOptions, target: str, protocol: type[Algorithm], command: str) -> Campaign:
    wanted = wanted_outside(options.workload, options.clients, options.rate, options.service)
    usual = _DEFAULT_KINDS if wanted.workload is None else _DEFAULT_KINDS_WITH_CLIENTS
    text = usual if options.faults == DEFAULT_FAULTS else options.faults
    faults = LIVE_FAULTS if text == "all" else fault_kinds(text)
    for fault in faults:
        if fault not in LIVE_FAULTS:
            raise UsageError(
                f"--faults {text}: {fault} strikes stable storage, which a program keeps by itself; "
                f"expected {', '.join(LIVE_FAULTS)}"
            )
    least, most = node_range(options.nodes or _DEFAULT_NODES, _MOST_NODES)
    run_us = positive("for", options.for_ or _DEFAULT_FOR)
    if run_us < _LEAST_RUN_US:
        raise UsageError(
            f"--for {options.for_}: programs take a while to start: at least {format_us(_LEAST_RUN_US)}"
        )
    timing = timing_of(options.t or _DEFAULT_T)
    workload = () if wanted.workload is None else (wanted.workload,)
    promised = (*protocol.promises, *workload, RAISES.id)
    if options.find is not None and options.find not in promised:
        raise UsageError(f"--find {options.find}: the assertions of these runs are {', '.join(promised)}")
    if not (protocol.promises or workload):
        raise UsageError(
            f"{protocol.name} promises nothing, so nothing would be judged: add --workload (what clients do), or "
            "a --lens with promises (election, or a class of yours)"
        )
    parameters = parameters_of(protocol, [*options.set_, f"program={command}"])
    base = live_header(absolute_target(target), protocol, most, timing, parameters)
    base = replace(base, roles=roles_of(wanted, protocol, base.nodes, timing, None))
    runs = options.runs or (_DEFAULT_RUNS if options.minutes is None else "0")
    repetitions = whole_number("--repetitions", options.repetitions or _DEFAULT_REPETITIONS, 1, _MOST_REPETITIONS)
    return Campaign(
        absolute_target(target),
        base,
        live_schedule_plan((least, most), faults, run_us, wanted.clients or 0),
        SearchGoal(options.find or "", options.strict),
        whole_number("--seed", options.seed, 0),
        whole_number("--runs", runs, 0),
        guided=False,
        live=LivePlan(run_us, repetitions, program_digest(command)),
    )


def _short_name(command: str) -> str:
    """Return the name of a program without its folder, and without its interpreter."""
    names = [Path(word).name for word in shlex.split(command)]
    return next((name for name in names if Path(name).suffix), names[0])


def _junit_suite(document: CheckProgramDocument, seconds: float) -> JUnitSuite:
    found, shown = document.finding, dict[str, tuple[str, ...]]()
    if found is not None:
        came = f"it came again in {found.again} of {found.repetitions} repetitions"
        again = (came, *found.commands, f"recorded: {found.recording}", f"again: {found.rerun}")
        shown[found.assertion] = (found.text, *again)
    cases = junit_cases(document.protocol, document.judged, document.violations, shown)
    return JUnitSuite("check", cases, seconds, (("program", document.program), ("runs", str(document.runs))))
