"""``lab check``: randomized testing of a protocol, or of a program.

The options become a campaign; its first finding is shrunk, reported and recorded. Campaigns on programs are in
``check_programs``.
"""

from collections.abc import Generator
from contextlib import closing
from pathlib import Path

from msgspec.structs import replace

from lab.cli.campaign_file import is_own, words_of
from lab.cli.campaign_report import CheckDocument, KeptFinding, document_of, print_totals
from lab.cli.check_options import DEFAULT_NODES, PLANNING, SYSTEMATIC_NODES, CheckOptions, wanted_faults
from lab.cli.check_programs import check_program, require_no_program
from lab.cli.check_session import CheckSession, campaign_file, write_files
from lab.cli.options import (
    announce_sandbox,
    base_header,
    command,
    node_range,
    wanted_assertion,
    wanted_outside,
    whole_number,
)
from lab.cli.progress import Progress
from lab.cli.terminal import UsageError, interrupt_on_signals
from lab.protocols import Algorithm
from lab.worlds.campaign.campaign import Campaign, RunOutcome, run_campaign, runs_left
from lab.worlds.campaign.campaign_recording import MOST_PARTS, CampaignHeader, CampaignWriter
from lab.worlds.campaign.finding import format_rerun, shrink_finding, write_finding
from lab.worlds.campaign.guidance import load_corpus, save_corpus
from lab.worlds.campaign.repetition import require_repeatable
from lab.worlds.campaign.schedule import Schedule, draw, plan_of
from lab.worlds.campaign.trial import SearchGoal
from lab.worlds.interruption import interrupted_between_steps
from lab.worlds.loading.roles import roles_of
from lab.worlds.loading.settings import parameters_of, target_of, timing_of
from lab.worlds.loading.targets import absolute_target, load_protocol, split_sandbox

_MOST_NODES = 100
_DEFAULT_RUNS = "1000"
_REPEATED = 2
"""The number of first runs of a user's own protocol that are executed twice."""


@command(
    epilog="""Examples:\n
    lab check bully --runs 1000 --faults kill\n
    lab check bully --faults kill,pause --find A1.1 --out paused.jsonl\n
    lab check 2pc --systematic 3\n
    lab check my_election.py:MyElection --minutes 5\n
    lab check register.py --workload lin-kv --faults kill,partition   (see lab guide workloads)\n
    lab check --program ./my_node --workload broadcast --for 12s   (see lab guide programs)\n
    lab check bully --runs 0 --keep-going --record night.jsonl\n
    lab check --resume night.jsonl --keep-going"""
)
def check(options: CheckOptions) -> int:
    """Test a protocol with random faults, in many simulated runs.

    Every run is checked against the protocol's assertions. Most runs are struck by faults at moments of a kind
    that few faults have struck so far, between two messages of one step, or while the cluster still recovers from
    the previous fault; others vary a run that reached something new. The first failure is shrunk to the few events
    that matter, and written as a recording and as a script that reproduces it.

    A violation is excused if an assumption that the assertion relies on was broken; it is then counted, but is not
    a finding. Otherwise it is a failure. To search all executions up to a bound instead: lab explore.

    An assertion is judged in a run if there was something to judge it by: two nodes that were Normal, or a
    transaction that was decided. An assertion that was judged in no run does not count as holding.

    With --systematic 3, up to three events are tried at every point of a run: a node is killed, or comes back. A
    point is right after a message, or right before the first message of a step that writes; of points that are
    alike, one is tried. The runs with the fewest events come first. With two nodes or two events that ends within
    seconds, with three of each within minutes.

    With --workload, every run has clients. What they were answered is one more assertion, named after the
    workload: a history that no correct system gives them is a failure, whatever faults there were. Faults strike
    clients and services, too.

    With --program, the runs are live, some at a time. Faults strike at the messages that a first run without
    faults has shown, too. The schedule of faults is reproducible, a run is not: a finding is repeated, and the
    report has in how many repetitions it came again. What a slow machine may have caused counts only if it comes
    again in a run of twice the time. The recording of each finding is kept.

    The first runs of your own protocol, and every finding, are executed twice, in two processes: if they differ,
    it is not deterministic, and nothing that was found can be trusted.

    With --record, the campaign can be killed at any moment and goes on with --resume. Its findings are grouped by
    lab campaign show. The file depends on the options alone, but for the times in it.

    Exit status: 0 nothing found, 1 a finding or an assertion that was judged in no run, 2 usage error, 130 Ctrl-C.
    """
    if options.program is not None:
        return check_program(options)
    require_no_program(options)
    return _check_protocol(options)


def _check_protocol(options: CheckOptions) -> int:
    """Run the campaign of a protocol in simulation; return the exit status."""
    session = _SimulatedSession(options, *_planned(options))
    if options.sandbox:
        announce_sandbox()
    interrupt_on_signals()
    session.execute_first_runs_twice()
    return session.run()


class _SimulatedSession(CheckSession[Schedule, KeptFinding]):
    """A campaign in simulation; ``target`` is its protocol as the user wrote it."""

    def __init__(self, options: CheckOptions, campaign: Campaign, target: str, part: int) -> None:
        protocol = load_protocol(target)
        again = _resume_command(options, campaign)
        super().__init__(options, campaign, protocol, f"checking {protocol.name}", again, part)
        self._target = target
        self._is_users = not protocol.__module__.startswith("lab.")

    def execute_first_runs_twice(self) -> None:
        """Raise NotRepeatableError if a protocol of the user's is not deterministic."""
        if self._is_users:
            first, runs = self.campaign.seed, min(self.campaign.runs or _REPEATED, _REPEATED)
            self._execute_twice([draw(self.campaign.plan, seed) for seed in range(first, first + runs)])

    def _execute_twice(self, schedules: list[Schedule]) -> None:
        with Progress("executing runs twice"):
            require_repeatable(self.campaign.target, self.campaign.base, schedules)

    def outcomes(self, writer: CampaignWriter | None) -> Generator[tuple[RunOutcome, Schedule], None, None]:
        options = self.options
        corpus = None if options.corpus is None else load_corpus(options.corpus)
        made = {} if writer is None else writer.recording.outcomes()
        runs = run_campaign(self.campaign, self.workers, options.cluster, self.for_s, corpus, self.part, made)
        try:
            with closing(runs):
                for outcome in runs:
                    yield outcome, outcome.schedule
        except ImportError:
            if not options.cluster:
                raise
            raise UsageError("--cluster requires the extra: pip install 'coordinator-lab[cluster]'") from None
        except OSError as error:
            if not options.cluster:
                raise
            raise UsageError(f"--cluster {options.cluster}: {error}; is a scheduler running there?") from None
        finally:
            if corpus is not None and options.corpus is not None:
                try:
                    save_corpus(corpus, options.corpus)
                except OSError as error:
                    self.problems.append(f"--corpus {options.corpus} cannot be written: {error.strerror}")

    def describe_progress(self, first: Schedule | None) -> str:
        totals, campaign = self.totals, self.campaign
        found = "" if first is None else f"found with seed {first.seed}, "
        known = f"{runs_left(totals, campaign):,} more runs known, " if campaign.systematic else ""
        return f"{found}{known}{totals.steps:,} steps"

    def shrink(self, first: Schedule, ends_s: float | None) -> KeptFinding:
        campaign, protocol = self.campaign, self.protocol
        progress = Progress(f"shrinking what seed {first.seed} found", "run")

        def show(tried: int) -> None:
            progress(tried)
            if self.interrupted:
                raise KeyboardInterrupt

        with progress, interrupted_between_steps():
            finding, interrupted = shrink_finding(protocol, campaign.base, campaign.goal, first, show, ends_s)
        self.interrupted |= interrupted
        if self._is_users and not self.interrupted:
            self._execute_twice([finding.least])
        name = f"{protocol.name}-{finding.violation.assertion}-seed{first.seed}.jsonl"
        path = self.options.out or Path(name)
        script = path.with_suffix(".script")
        rerun = format_rerun(self._target, campaign.base, finding.least, script)
        unwritten = write_files(path, lambda: write_finding(protocol, campaign.base, finding, path, rerun))
        return KeptFinding(finding, path, script, rerun, unwritten)

    def print_totals(self, seconds: float) -> None:
        print_totals(self.totals, self.protocol, self.campaign, seconds)

    def document(self, kept: KeptFinding | None) -> CheckDocument:
        return document_of(self.totals, self.protocol, self.campaign, kept)


# from the options to a campaign


def _planned(options: CheckOptions) -> tuple[Campaign, str, int]:
    """Return the campaign, its target as the user wrote it, and the part to make; 0: all parts."""
    file = campaign_file(options)
    if options.record is not None and options.resume is not None:
        file.check()
    resumed = file.header(Campaign)
    if not options.protocol:
        if resumed is None:
            raise UsageError("name a protocol (lab check bully), or a campaign to go on with (--resume FILE)")
        if isinstance(resumed.campaign, Campaign) and resumed.campaign.live is not None:
            raise UsageError(
                f"{options.resume} is a campaign on a program: no code that a recording names is executed, so "
                f"write the command that began it again, with --program and --resume {options.resume}"
            )
        recorded = file.as_recorded(resumed, options, PLANNING)
        return recorded, split_sandbox(recorded.target)[0], resumed.part
    target = target_of(options.protocol, options.set_, options.properties, options.sandbox)
    campaign = _campaign(options, target, load_protocol(target))
    part = _part(options, campaign)
    file.check()
    if resumed is not None:
        file.require_fit(resumed, CampaignHeader.of(campaign, part))
    return campaign, target, part


def _campaign(options: CheckOptions, target: str, protocol: type[Algorithm]) -> Campaign:
    systematic = _systematic(options)
    runs = options.runs or (_DEFAULT_RUNS if options.minutes is None and not systematic else "0")
    timing = timing_of(options.t)
    faults = wanted_faults(options.faults, systematic)
    find = wanted_assertion(options.find, protocol.promises, options.workload, protocol.name)
    wanted = wanted_outside(options, options.sandbox)
    nodes = options.nodes or (SYSTEMATIC_NODES if systematic else DEFAULT_NODES)
    least, most = node_range(nodes, _MOST_NODES)
    runs_wanted, parts = (
        whole_number("--runs", runs, 0),
        whole_number("--parts", options.parts or "1", 1, MOST_PARTS),
    )
    if parts > 1 and not parts <= runs_wanted:
        raise UsageError(f"--parts {parts}: give --runs, at least as many")
    base = base_header(protocol, most, timing, parameters_of(protocol, options.set_))
    base = replace(base, roles=roles_of(wanted, protocol, base.nodes, timing, None))
    return Campaign(
        absolute_target(target),
        base,
        plan_of(protocol, (least, most), faults, timing).with_outside(base.roles, wanted.clients),
        SearchGoal(find, options.strict),
        whole_number("--seed", options.seed, 0),
        runs_wanted,
        not options.blind,
        systematic,
        parts,
        campaign_file(options).is_wanted,
    )


def _part(options: CheckOptions, campaign: Campaign) -> int:
    """Return the part to make; 0: all. Raises UsageError, also for a corpus that parts or a file cannot have."""
    if options.corpus is not None:
        for name in ("parts", "record", "resume"):
            if getattr(options, name) is not None:
                raise UsageError(f"--corpus: with --{name} a campaign begins with nothing; leave out one of them")
    if options.part is None:
        return 0
    if options.parts is None:
        raise UsageError(f"--part {options.part}: of how many? Add --parts")
    return whole_number("--part", options.part, 1, campaign.parts)


def _systematic(options: CheckOptions) -> int:
    """Return the bound of a systematic campaign; 0 for another."""
    if options.systematic is None:
        return 0
    for option, given in (("--blind", options.blind), ("--corpus", options.corpus is not None)):
        if given:
            raise UsageError(f"--systematic {options.systematic} draws nothing: leave out {option}")
    if options.parts is not None:
        raise UsageError(f"--systematic {options.systematic}: its runs follow from each other; leave out --parts")
    return whole_number("--systematic", options.systematic, 1)


def _resume_command(options: CheckOptions, campaign: Campaign) -> list[str]:
    """Return the command line that goes on with the campaign, but for the file."""
    words = ["lab", "check"]
    if is_own(campaign.target):
        planned = replace(options, runs=str(campaign.runs))
        words += [options.protocol, *words_of(planned, (*PLANNING, "part"))]
    return words
