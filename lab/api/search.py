"""Search for a violation: many simulated runs under random faults, as ``lab check`` makes them."""

from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from lab.api.arguments import (
    GREATEST_SEED,
    Protocol,
    ProtocolArguments,
    Time,
    faults_of,
    own_target_in,
    require_number,
    require_range,
)
from lab.api.run import Run, html_of, temporary_run
from lab.properties.assertions import RAISES
from lab.properties.verdicts import ERROR_IN_CODE
from lab.protocols import Algorithm
from lab.text import UserError
from lab.worlds.campaign.campaign import Campaign, CampaignTotals, run_campaign
from lab.worlds.campaign.finding import Finding, format_rerun, shrink_finding, write_finding
from lab.worlds.campaign.repetition import require_repeatable
from lab.worlds.campaign.schedule import STRONGEST, draw, plan_of
from lab.worlds.campaign.trial import SearchGoal
from lab.worlds.loading.config import simulation_header
from lab.worlds.loading.roles import roles_of

_RECORDING = "finding.jsonl"
_REPEATED = 2
"""The runs of one's own protocol that are executed twice, to find out whether it is deterministic."""


class Checked:
    """The result of a campaign of randomized tests. As text, it is a report of a few lines.

    ``runs`` is the number of runs made, ``judged`` in how many of them each assertion was judged. ``errors`` are
    those in the code of assertions, by assertion. ``finding`` is the first failure, shrunk to the faults that
    matter; None if there was none.
    """

    def __init__(
        self, protocol: type[Algorithm], campaign: Campaign, totals: CampaignTotals, finding: Finding | None
    ) -> None:
        self.runs = totals.runs
        self.judged: dict[str, int] = {name: totals.judged_runs[name] for name in campaign.promises}
        self.errors = dict(totals.errors)
        self.finding = finding
        self._protocol = protocol
        self._campaign = campaign
        self._excused = Counter(
            {name: count for (name, broken), count in totals.violations.items() if broken}  # by broken assumptions
        ).total()

    def __str__(self) -> str:
        return f"{self.summary}\nagain: {self.rerun}" if self.rerun else self.summary

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_of(str(self), self.run)

    @property
    def summary(self) -> str:
        """The report without the command that runs the finding again."""
        title = self._campaign.base.protocol.title
        if self.finding is not None:
            schedule = self.finding.least
            nodes = " ".join(map(str, schedule.nodes))
            faults = [f"  {fault}" for fault in schedule.faults]
            head = f"{title}: {self.finding.violation} (run {self.runs}, seed {self.finding.drawn.seed})"
            return "\n".join([head, f"  nodes {nodes}", *faults])
        if self.errors:
            return "\n".join(
                f"{title}: {name} is not judged: {ERROR_IN_CODE}: {error}" for name, error in self.errors.items()
            )
        if not self._wanted:
            return f"{title}: it promises nothing, so nothing was judged"
        unjudged = [name for name in self._wanted if not self.judged.get(name)]
        if unjudged:
            return f"{title}: {', '.join(unjudged)} was judged in none of {self.runs} runs"
        held = f"{', '.join(self._wanted)} held ({self._excused} excused violations)"
        return f"{title}: no failure in {self.runs} runs; {held}"

    @property
    def _wanted(self) -> tuple[str, ...]:
        """The assertions that count."""
        find = self._campaign.goal.assertion
        return (find,) if find else tuple(self.judged)

    @property
    def holds(self) -> bool:
        """True if nothing failed, and every assertion that counts was judged in some run, without an error."""
        judged = [self.judged.get(name) for name in self._wanted]
        return self.finding is None and not self.errors and bool(judged) and all(judged)

    @property
    def rerun(self) -> str:
        """The command that runs the finding again, with the script that ``save`` writes; or an empty text."""
        return self.rerun_with(Path(_RECORDING))

    def save(self, path: str | Path = _RECORDING) -> str:
        """Write the recording of the finding to a file, and its script beside it; return the command as ``rerun``.

        Raises ValueError without a finding, OSError.
        """
        if self.finding is None:
            raise ValueError(f"there is no finding to save: {self}")
        rerun = self.rerun_with(Path(path))
        write_finding(self._protocol, self._campaign.base, self.finding, Path(path), rerun)
        return rerun

    @cached_property
    def run(self) -> Run | None:
        """The shrunk run of the finding; None without one."""
        found, campaign = self.finding, self._campaign
        if found is None:
            return None
        write = partial(write_finding, self._protocol, campaign.base, found, command=self.rerun)
        return temporary_run(write, campaign.target)

    def rerun_with(self, path: Path) -> str:
        """Return ``rerun`` for the script that ``save(path)`` writes."""
        if self.finding is None:
            return ""
        script = path.with_suffix(".script")
        return format_rerun(self._campaign.target, self._campaign.base, self.finding.least, script)


def check(
    protocol: Protocol,
    *,
    runs: int = 1000,
    nodes: int | tuple[int, int] = (3, 7),
    faults: str = ",".join(STRONGEST),
    seed: int = 1,
    t: Time = "200ms",
    parameters: dict[str, Any] | None = None,
    find: str = "",
    strict: bool = False,
    workers: int = 1,
    workload: str | None = None,
    model: str | None = None,
    clients: int | None = None,
    rate: int = 5,
    services: Sequence[str] = (),
    properties: str | Path | None = None,
) -> Checked:
    """Test a protocol with random faults, in many simulated runs, until one fails.

    ``nodes`` is their number, or a range from which each run draws it. ``faults`` are the kinds of faults,
    ``find`` the only assertion that counts, if given; with ``strict``, violations count that are excused by broken
    assumptions. With a ``workload``, every run has ``clients`` (by default one for each node), which call ``rate``
    operations a second each; their history is one more assertion, named after the workload, and transactions are
    judged by the consistency ``model``, by default strict serializable. ``services`` run outside the cluster.
    ``properties`` is a file with properties of your own. The result depends on the arguments alone, not on the
    number of ``workers``, which are processes.

    Raises TargetError for an unknown protocol, UserError for wrong settings, NotDeterministicError if two
    executions of a run of your own protocol differ, RunawayError if messages multiply while all assumptions are
    intact, KeyboardInterrupt at Ctrl-C.
    """
    least, most = require_range(nodes)
    require_number("runs", runs, 1)
    require_number("seed", seed, 0, GREATEST_SEED - runs)
    require_number("workers", workers, 1)
    arguments = ProtocolArguments(protocol, t, parameters, properties)
    found, timing, written = arguments.protocol, arguments.timing, arguments.settings.written
    ids = tuple(range(1, most + 1))
    roles = roles_of(arguments.wanted(workload, clients, rate, services, model), found, ids, timing, None, written)
    base = simulation_header(found, ids, timing, arguments.parameters)
    plan = plan_of(found, (least, most), faults_of(faults, arguments.settings), timing)
    campaign = Campaign(
        arguments.settings.target,
        replace(base, roles=roles),
        plan.with_outside(roles, clients),
        SearchGoal(find, strict),
        seed,
        runs,
    )
    known = (*campaign.promises, RAISES.id)
    if find and find not in known:
        raise UserError(f"find={find!r}: the assertions of {found.name} are {', '.join(known)}")
    if own_target_in(campaign.target):
        schedules = [draw(campaign.plan, each) for each in range(seed, seed + min(runs, _REPEATED))]
        require_repeatable(campaign.target, campaign.base, schedules)
    totals, first = CampaignTotals(), None
    with closing(run_campaign(campaign, workers)) as outcomes:
        for outcome in outcomes:
            totals.add(outcome)
            if outcome.found:
                first = outcome.schedule
                break
    if first is None:
        return Checked(found, campaign, totals, None)
    finding, is_interrupted = shrink_finding(found, campaign.base, campaign.goal, first)
    if is_interrupted:
        raise KeyboardInterrupt
    return Checked(found, campaign, totals, finding)
