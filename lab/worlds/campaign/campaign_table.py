"""What a recorded campaign shows: its findings, grouped by their shape, and a table with a row for each run."""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from msgspec import Struct

from lab.worlds.campaign.campaign_recording import CampaignRecording, RecordedRun
from lab.worlds.campaign.finding import Counterexample

# findings


class FindingGroup(Struct):
    """Findings whose shrunk schedules have one shape, and violate one assertion under one set of assumptions.

    ``runs`` are the numbers of their runs, ``smallest`` is the smallest of them.
    """

    shape: str
    smallest: Counterexample
    runs: list[int]

    @property
    def is_failure(self) -> bool:
        """True unless broken assumptions excuse it."""
        return not self.smallest.broken


class FindingGroups:
    """The groups of the findings of a campaign, whose runs are added one by one."""

    def __init__(self) -> None:
        self._groups: dict[tuple[object, ...], FindingGroup] = {}

    def add(self, run: RecordedRun) -> None:
        """Add what was found in a run, if anything was."""
        found = run.outcome.counterexample
        if found is None:
            return
        shape = found.shape
        group = self._groups.setdefault((found.assertion, found.broken, shape), FindingGroup(shape, found, []))
        group.runs.append(run.run)
        if found.size < group.smallest.size:
            group.smallest = found

    def ranked(self) -> list[FindingGroup]:
        """Return the groups: failures first, then those found most often."""
        return sorted(
            self._groups.values(), key=lambda each: (not each.is_failure, -len(each.runs), each.smallest.size)
        )


# the table

COLUMNS = {
    "run": "number of the run, from 1",
    "seed": "its seed",
    "protocol": "protocol",
    "nodes": "number of nodes",
    "latency_us": "latency of every link",
    "jitter_us": "jitter of every link",
    "commands": "number of commands in its schedule",
    "faults": "number of faults injected",
    "faults_touched": "number of faults that affected something",
    "steps": "number of steps",
    "end_us": "virtual time at its end",
    "situations": "number of situations reached",
    "new_situations": "number of situations that no run before reached",
    "violations": "number of violations",
    "failures": "number of violations with all relevant assumptions intact",
    "violated": "assertions violated, as a JSON array",
    "broken": "assumptions broken, as a JSON array",
    "judged": "by how many states, transactions and so on each assertion was judged, as a JSON object",
    "outcomes": "what the protocol counts, such as transactions by outcome, as a JSON object",
    "connected": "how many nodes could talk to each other, as a JSON array",
    "given_up": "true if the run was given up, as its messages multiplied",
    "found": "true if the run is a finding",
    "assertion": "assertion that the finding violates; empty without a finding",
    "shape": "shape of the finding's shrunk schedule; empty without a finding",
    "counterexample": "nodes and commands of the shrunk schedule, as a JSON object; empty without a finding",
}
"""The columns of the table, and their meaning."""

_encode = msgspec.json.Encoder(order="deterministic").encode


def table_of(recording: CampaignRecording) -> Iterator[dict[str, Any]]:
    """Yield a row for each run, in the order of their numbers."""
    name = recording.header.campaign.base.protocol.title
    reached: set[int] = set()
    for run in recording.runs():
        outcome, schedule = run.outcome, run.outcome.schedule
        new = outcome.situations.all - reached
        reached |= new
        found = outcome.counterexample
        values = (
            run.run,
            schedule.seed,
            name,
            len(schedule.nodes),
            schedule.link.latency_us,
            schedule.link.jitter_us,
            len(schedule.faults),
            sum(each.faults for each in outcome.faults.values()),
            sum(each.touched for each in outcome.faults.values()),
            outcome.steps,
            outcome.virtual_us,
            len(outcome.situations.all),
            len(new),
            sum(times for _, _, times in outcome.violations),
            sum(times for _, broken, times in outcome.violations if not broken),
            _json(sorted({name for name, _, _ in outcome.violations})),
            _json(sorted(outcome.broken)),
            _json({name: evidence.count for name, evidence in outcome.judged.items()}),
            _json(outcome.outcomes),
            _json(sorted(outcome.majorities)),
            outcome.given_up,
            outcome.found,
            "" if found is None else found.assertion,
            "" if found is None else found.shape,
            "" if found is None else _json(describe_schedule(found)),
        )
        yield dict(zip(COLUMNS, values, strict=True))


def describe_schedule(found: Counterexample) -> dict[str, Any]:
    """Return the shrunk schedule as a JSON object; commands as the command language has them."""
    schedule = found.schedule
    return {
        "nodes": schedule.nodes,
        "seed": schedule.seed,
        "latency_us": schedule.link.latency_us,
        "jitter_us": schedule.link.jitter_us,
        "end_us": schedule.end_us,
        "commands": [str(fault) for fault in schedule.faults],
    }


def _json(value: object) -> str:
    return _encode(value).decode()


def rows_as_lines(rows: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Yield the rows as JSON Lines."""
    return map(_json, rows)
