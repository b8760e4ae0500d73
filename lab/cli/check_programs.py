"""``lab check --program``: randomized testing of a program, in live runs."""

import itertools
import shlex
import shutil
import time
from collections.abc import Generator, Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import Struct
from msgspec.structs import replace
from rich.text import Text

from lab.cli.campaign_file import words_of
from lab.cli.campaign_report import (
    ClientOperations,
    JudgedCount,
    KeptFinding,
    SizeCount,
    ViolationCount,
    assertion_table,
    fault_table,
    judged_counts,
    print_operations,
    violation_counts,
)
from lab.cli.check_options import DEFAULT_FAULTS, PLANNING, CheckOptions
from lab.cli.check_session import CheckSession, campaign_file, write_files
from lab.cli.documents import Document
from lab.cli.options import node_range, wanted_assertion, wanted_outside, whole_number
from lab.cli.progress import Progress
from lab.cli.terminal import TerminalConsole, UsageError, interrupt_on_signals, print_wrapped
from lab.output import print_line, print_remark
from lab.protocols import Algorithm
from lab.text import sanitize
from lab.units import format_count, format_us
from lab.worlds.campaign.campaign import Campaign, LivePlan, RunOutcome
from lab.worlds.campaign.campaign_recording import CampaignHeader, CampaignWriter
from lab.worlds.campaign.finding import Finding, format_live_rerun, is_past
from lab.worlds.campaign.live_campaign import (
    LIVE_FAULTS,
    OVERHEAD_US,
    LiveRuns,
    LiveShrinking,
    LiveTrial,
    draw_live,
    live_header,
    live_plan_of,
    live_schedule_plan,
    program_digest,
    striking_at,
)
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
    """A shrunk finding. It came again in ``repeated`` of the ``repetitions``; ``rerun`` makes such a run again.

    ``minimal``: everything that is simpler by one command was tried.
    """

    seed: int
    assertion: str
    failure: bool
    text: str
    nodes: tuple[int, ...]
    commands: tuple[str, ...]
    repeated: int
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
    for name, why in _OF_SIMULATION.items():
        if getattr(options, name):
            raise UsageError(f"--{name}: not with --program: {why}; leave it out")
    arguments = [*filter(None, [options.protocol]), *options.arguments]
    command = program_command(options.program or "", arguments)
    target = target_of(lens_target(options.lens), options.set_, options.properties)
    campaign = _campaign(options, target, load_protocol(target), command)
    file = campaign_file(options)
    file.check()
    resumed = file.header(Campaign)
    if resumed is not None:
        assert isinstance(resumed.campaign, Campaign)
        campaign = striking_at(campaign, resumed.campaign.plan.kinds)
        file.require_fit(resumed, CampaignHeader.of(campaign))
    session = _ProgramSession(options, campaign, load_protocol(target), _short_name(command))
    interrupt_on_signals()
    print_remark(session.describe_time())
    return session.run()


class _KeptProgramFinding(KeptFinding, frozen=True):
    """A finding of live runs, which came again in ``repeated`` of the ``repetitions``."""

    repeated: int
    repetitions: int

    @property
    def remark(self) -> str:
        return f"it came again in {self.repeated} of {format_count(self.repetitions, 'repetition')}"


class _ProgramSession(CheckSession[LiveTrial, _KeptProgramFinding]):
    """A campaign of live runs of a ``program``. ``kept`` are the recordings of the runs that were findings."""

    def __init__(self, options: CheckOptions, campaign: Campaign, protocol: type[Algorithm], program: str) -> None:
        again = _resume_command(options, campaign)
        super().__init__(options, campaign, protocol, f"checking {program}", again)
        self._program = program
        self._kept: list[Path] = []

    def run(self) -> int:
        with (
            TemporaryDirectory(prefix="lab-") as folder,
            LiveRuns(self.campaign, self.protocol, self.workers, Path(folder)) as self._runs,
        ):
            if self.options.resume is None:
                with Progress("a run without faults, for the kinds of messages"):
                    self._runs.campaign = self.campaign = striking_at(self.campaign, self._runs.find_kinds())
            return super().run()

    # running

    def outcomes(
        self, writer: CampaignWriter | None
    ) -> Generator[tuple[RunOutcome, LiveTrial | None], None, None]:
        known = 0
        for outcome in [] if writer is None else writer.recording.outcomes()[1]:
            known += 1
            yield outcome, None
        outcomes = self._runs.outcomes(draw_live(self.campaign, seed) for seed in self._seeds(known))
        with closing(outcomes):
            for outcome, trial in outcomes:
                if outcome.found:
                    yield self._keep_run(outcome, trial), trial
                else:
                    trial.recording.unlink(missing_ok=True)
                    yield outcome, None

    def _seeds(self, known: int) -> Iterator[int]:
        """Yield the seeds of the runs to make, until the time is over."""
        ends_s = None if self.for_s is None else time.monotonic() + self.for_s
        runs = range(known, self.campaign.runs) if self.campaign.runs else itertools.count(known)
        for number in runs:
            if is_past(ends_s):
                return
            yield self.campaign.seed + number

    def _keep_run(self, outcome: RunOutcome, trial: LiveTrial) -> RunOutcome:
        """Keep the recording of a finding, under a name that says what it shows."""
        found = outcome.counterexample
        assert found is not None
        path = Path(f"{self._program}-{found.assertion}-seed{outcome.schedule.seed}.jsonl").absolute()
        shutil.copyfile(trial.recording, path)
        self._kept.append(path)
        return replace(outcome, counterexample=replace(found, recording=str(path)))

    def describe_progress(self, first: LiveTrial | None) -> str:
        return "" if first is None else f"found with seed {first.schedule.seed}"

    def shrink(self, first: LiveTrial, ends_s: float | None) -> _KeptProgramFinding:
        drawn = first.schedule
        violation = next(filter(self.campaign.goal.matches, first.violations))
        shrinking = LiveShrinking(self._runs, first, violation, ends_s)
        again: list[LiveTrial] = []
        try:
            if not self.interrupted:
                with Progress(f"shrinking what seed {drawn.seed} found", "candidate") as progress:
                    shrinking.run(progress)
                with Progress("repeating it", "run", live_plan_of(self.campaign).repetitions):
                    again = self._runs.repeat(shrinking.trial.schedule)
        except KeyboardInterrupt:
            self.interrupted = True
        least, found = shrinking.trial, shrinking.violation
        finding = Finding(drawn, least.schedule, found, shrinking.tried, least.records, shrinking.untried)
        came = sum(each.shows(violation) for each in again)
        return self._write(finding, least.recording, came, len(again))

    def _write(self, finding: Finding, recording: Path, again: int, repetitions: int) -> _KeptProgramFinding:
        """Write the recording and the script of the shrunk finding."""
        campaign, violation = self.campaign, finding.violation
        name = f"{self._program}-{violation.assertion}-seed{finding.drawn.seed}-shrunk.jsonl"
        path = self.options.out or Path(name)
        script = path.with_suffix(".script")
        rerun = format_live_rerun(campaign.target, campaign.base, finding.least, script)

        def write() -> None:
            shutil.copyfile(recording, path)
            script.write_text(finding.least.script(str(violation), rerun), "utf-8")

        unwritten = write_files(path, write)
        return _KeptProgramFinding(finding, path, script, rerun, unwritten, again, repetitions)

    # reporting

    def describe_time(self) -> str:
        """Return how long the campaign takes at most, but for what is found: *50 runs of 10 s, 2 at a time: …*."""
        run_us, runs = live_plan_of(self.campaign).run_us, self.campaign.runs
        each = f"of {format_us(run_us)}, {self.workers} at a time"
        if not runs:
            until = "until Ctrl-C" if self.for_s is None else f"for {self.for_s / 60:.0f} min"
            return f"runs {each}: {until}"
        took_s = -(-runs // self.workers) * (run_us + OVERHEAD_US) / 1e6
        took = f"{took_s / 60:.0f} min" if took_s >= 90 else f"{took_s:.0f} s"
        return f"{format_count(runs, 'run')} {each}: about {took}, and more if something is found"

    def print_totals(self, seconds: float) -> None:
        totals, campaign = self.totals, self.campaign
        console = TerminalConsole(highlight=False, markup=False)
        run_us = live_plan_of(campaign).run_us
        made = f": {format_count(totals.runs, 'live run')} of {format_us(run_us)} from seed {campaign.seed}"
        tried = f"{made} on, {format_count(totals.steps, 'step')}, in {seconds:,.1f} s"
        console.print(Text.assemble((sanitize(self._program), "bold"), tried))
        console.print(fault_table(totals))
        if campaign.promises or totals.violations:
            console.print(assertion_table(totals, campaign.promises))
        print_operations(totals)
        for name, count in sorted(totals.unconfirmed.items()):
            print_wrapped(
                f"unconfirmed: {name} seemed to fail in {format_count(count, 'run')}, and did not in runs of "
                "twice the time; the machine may have been slow"
            )
        for path in self._kept:
            print_line(f"kept:     {path}")

    def document(self, kept: _KeptProgramFinding | None) -> CheckProgramDocument:
        totals, campaign = self.totals, self.campaign
        return CheckProgramDocument(
            program=campaign.base.protocol.parameters["program"],
            protocol=campaign.base.protocol.name,
            runs=totals.runs,
            run_us=live_plan_of(campaign).run_us,
            steps=totals.steps,
            faults=totals.faults,
            violations=violation_counts(totals),
            judged=judged_counts(totals, campaign.promises),
            unconfirmed=dict(totals.unconfirmed),
            sizes=tuple(SizeCount(nodes, runs) for nodes, runs in sorted(totals.sizes.items())),
            clients=ClientOperations.of(campaign, totals),
            kept=tuple(map(str, self._kept)),
            finding=None if kept is None else _summary_of(kept),
        )


def _summary_of(kept: _KeptProgramFinding) -> ProgramFinding:
    finding = kept.finding
    return ProgramFinding(
        finding.drawn.seed,
        finding.violation.assertion,
        finding.violation.is_failure,
        str(finding.violation),
        finding.least.nodes,
        tuple(map(str, finding.least.faults)),
        kept.repeated,
        kept.repetitions,
        finding.is_minimal,
        *kept.written,
    )


def _resume_command(options: CheckOptions, campaign: Campaign) -> list[str]:
    """Return the command line that goes on with the campaign, but for the file."""
    planned = replace(options, runs=str(campaign.runs), program=campaign.base.protocol.parameters["program"])
    return ["lab", "check", *words_of(planned, PLANNING)]


def _campaign(options: CheckOptions, target: str, protocol: type[Algorithm], command: str) -> Campaign:
    wanted = wanted_outside(options)
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
    find = wanted_assertion(options.find, protocol.promises, wanted.workload, "these runs")
    if not (protocol.promises or wanted.workload):
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
        live_schedule_plan((least, most), faults, run_us).with_outside(base.roles, wanted.clients),
        SearchGoal(find, options.strict),
        whole_number("--seed", options.seed, 0),
        whole_number("--runs", runs, 0),
        guided=False,
        live=LivePlan(run_us, repetitions, program_digest(command)),
    )


def _short_name(command: str) -> str:
    """Return the name of a program without its folder, and without its interpreter."""
    names = [Path(word).name for word in shlex.split(command)]
    return next((name for name in names if Path(name).suffix), names[0])
