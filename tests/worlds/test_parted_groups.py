"""Partition 1 2 | 3 4 5 with real processes under invitation: two groups, then one.

The bound for merging is derived in tests/papers/test_partition.py.
"""

import os
from pathlib import Path
from typing import Any

import pytest

from lab.kernel import Timing
from lab.properties.judge import Judge
from lab.protocols import InvitationElection
from lab.recording.cluster_state import ClusterState
from lab.recording.records import Fault, Record
from tests.worlds.live import LiveRun

pytestmark = pytest.mark.live

TIMING = Timing(100_000, 50_000)
"""T = 250 ms: far more than a busy machine delays anything."""
BOUND_US = 4 * TIMING.t_us + TIMING.tm_us + TIMING.tp_us


SIDES: set[tuple[int, ...]] = {(1, 2), (3, 4, 5)}
WHOLE: set[tuple[int, ...]] = {(1, 2, 3, 4, 5)}


def _are(cluster: ClusterState, groups: set[tuple[int, ...]]) -> bool:
    """Return whether the nodes are Normal in these groups, each with a coordinator of its own."""
    views = cluster.nodes
    if any(view.status != "Normal" or view.coordinator not in views for view in views.values()):
        return False
    together: dict[Any, list[int]] = {}
    for view in views.values():
        together.setdefault((view.group, view.coordinator), []).append(view.id)
    led = all(coordinator in members for (_, coordinator), members in together.items())
    return led and {tuple(members) for members in together.values()} == groups


def _groups(cluster: ClusterState) -> set[tuple[int, int] | None]:
    return {view.group for view in cluster.nodes.values()}


def _healed_and_whole_us(records: list[Record]) -> tuple[int, int]:
    cluster, healed_us = ClusterState.of(records[0]), None  # type: ignore[arg-type]
    for record in records:
        cluster.apply(record)
        if isinstance(record, Fault) and record.lifted:
            healed_us = record.at_us
        if healed_us is not None and _are(cluster, WHOLE):
            return healed_us, cluster.at_us
    raise AssertionError("it was not healed, or never whole")


def test_a_partition_heals_to_one_group_live(tmp_path: Path) -> None:
    """Two Normal groups; then one, with a new identifier; A3 to A5 hold."""
    with LiveRun(tmp_path, timing=TIMING, protocol=InvitationElection) as run:
        run.until(lambda cluster: _are(cluster, WHOLE), "one group")
        before = _groups(run.cluster)
        run.order("partition 1 2 | 3 4 5")
        run.until(lambda cluster: _are(cluster, SIDES), "two groups", 20)
        parted = _groups(run.cluster)
        assert before.isdisjoint(parted)
        run.order("heal")
        run.until(lambda cluster: _are(cluster, WHOLE), "one group again")
        assert _groups(run.cluster).isdisjoint(parted)
        records = run.tail.records
    healed_us, whole_us = _healed_and_whole_us(records)
    if "LAB_FIGURES" in os.environ:
        print(f"{whole_us - healed_us} µs of {BOUND_US}")
    assert whole_us - healed_us <= BOUND_US
    judge = Judge(records[0])  # type: ignore[arg-type]
    for record in records:
        judge.observe(record)
    verdicts = {verdict.assertion: verdict.word for verdict in judge.verdicts()}
    assert [verdicts[name] for name in ("A3.1", "A3.2", "A4", "A5", "M7")] == ["holds"] * 5
