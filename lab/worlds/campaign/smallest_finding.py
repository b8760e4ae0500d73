"""The smallest finding of a group: described, and executed once more to record it."""

from pathlib import Path

from lab.protocols import Algorithm
from lab.text import UserError
from lab.units import format_count
from lab.worlds.campaign.campaign import Campaign
from lab.worlds.campaign.exploration import ExplorationCampaign, ExploredFinding, record_explored
from lab.worlds.campaign.finding import Counterexample, Finding, write_finding
from lab.worlds.campaign.rerun import format_rerun
from lab.worlds.campaign.trial import run_trial
from lab.worlds.loading.targets import absolute_target, load_protocol, names_file, split_sandbox, split_target

SmallestFinding = Counterexample | ExploredFinding


class CannotRecordError(UserError):
    """The finding cannot be executed again; the text is for the user."""


def describe_smallest(found: SmallestFinding) -> list[str]:
    """Return the nodes, and the faults in their order: lines of text."""
    if isinstance(found, ExploredFinding):
        moves = format_count(len(found.path.moves), "move")
        head = f"smallest, {format_count(found.set_up.nodes, 'node')}, timeouts {found.set_up.timeouts}, {moves}:"
        return [head, *(f"    {command}" for command in found.path.commands or ("no fault",))]
    schedule = found.schedule
    head = f"smallest, {format_count(len(schedule.nodes), 'node')}, seed {schedule.seed}:"
    kept = [f"recorded: {found.recording}"] if found.recording else []
    return [head, *(f"    {fault}" for fault in schedule.faults), *kept]


def target_to_record(plan: Campaign | ExplorationCampaign, own: str = "") -> str:
    """Return what is executed: a built-in protocol, or the one of the user's that ``own`` names.

    Raises CannotRecordError if it is not built in and not named: no code that a recording names is executed.
    """
    if isinstance(plan, Campaign) and plan.live is not None:
        raise CannotRecordError(
            "a run of programs cannot be executed again; the recordings of its findings were kept, and are named "
            "with them"
        )
    target, sandboxed = split_sandbox(plan.target)
    if not (names_file(target) or split_target(target)[1] or sandboxed):
        return target
    if not own:
        raise CannotRecordError(
            f"a campaign of {target}: no code that a recording names is executed; name yours: --protocol "
            "FILE.py:CLASS"
        )
    return absolute_target(own)


def record_smallest(
    plan: Campaign | ExplorationCampaign, found: SmallestFinding, target: str, path: Path
) -> str | None:
    """Execute a finding again, and record it to ``path``, and the script of a schedule beside it.

    Return the command that runs the script. Raises CannotRecordError if the run no longer shows it, OSError.
    """
    protocol = load_protocol(target)
    if isinstance(found, Counterexample):
        assert isinstance(plan, Campaign)
        return _record_schedule(plan, found, target, protocol, path)
    assert isinstance(plan, ExplorationCampaign)
    record_explored(plan, protocol, found, path)
    return None


def _record_schedule(
    plan: Campaign, found: Counterexample, target: str, protocol: type[Algorithm], path: Path
) -> str:
    least = found.schedule
    trial = run_trial(protocol, plan.base, least, extend=False)
    violation = next((each for each in trial.violations if each.assertion == found.assertion), None)
    if violation is None:
        raise CannotRecordError(
            f"{target} no longer violates {found.assertion} under this schedule: the protocol has changed since, "
            "or it is not deterministic"
        )
    rerun = format_rerun(target, plan.base, least, path.with_suffix(".script"))
    write_finding(protocol, plan.base, Finding(least, least, violation, 0, trial.records), path, rerun)
    return rerun
