"""The bank: transactions a second, messages and forced writes against the formula, and a start with a long log.

The log is that of the node which coordinates all transactions, and so the longest: four entries each.
"""

import gc
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from lab.kernel import Node, Started, Timing
from lab.properties.judge import Judge
from lab.protocols import TASKS, Committing, TwoPhaseCommit, commit_protocol, find_protocol
from lab.protocols.transaction import Change, Entry, Transaction
from lab.recording.records import Header, Link, Record
from lab.recording.writer import MemoryLog
from lab.script.parse import parse
from lab.tasks.bank.commit_history import CommitHistory, CommitLog
from lab.worlds.live.stable_storage import StableStorage
from lab.worlds.simulated.simulation import Simulation
from lab.worlds.watchdog import stop_watching
from tests.benchmarks.figures import Figure, median
from tests.harness import simulated_header
from tests.worlds.live import LiveRun

__all__ = ["measure"]

_NODES = (1, 2, 3)
_TIMING = Timing(80_000, 40_000)
_LINK = Link(1_000)
_AT_S = 2
"""When the load begins: a coordinator is elected by then."""
_PER_S = 100
_COUNTED_N = 2
"""The participants besides the coordinator, where it is the third that keeps an account."""


def measure(folder: Path, quick: bool) -> list[Figure]:
    """Measure in simulation, live, and after a crash."""
    short, long = (20, 40) if quick else (500, 8_000)
    costs_s = [_seconds(short) for _ in range(1 if quick else 3)]
    cost_s = median(costs_s) / short
    growth = _seconds(long) / long / cost_s
    fewer, more = (20, 40) if quick else (250, 2_000)
    judged = _judging_s(more) / more * fewer / median([_judging_s(fewer) for _ in range(1 if quick else 3)])
    live = _live(folder / "bank", 20 if quick else 1_000)
    figures = [
        Figure("transactions, simulated", 1 / cost_s, "/s", 500, "more", f"{short:,} at three nodes, recorded"),
        Figure("one in a log of many, over one in a log of few", growth, "×", 1.5, "less", f"{long:,}, {short:,}"),
        Figure(
            "to judge one of many transactions, over one of few", judged, "×", 1.5, "less", f"{more:,}, {fewer:,}"
        ),
        Figure(
            "transactions, live", _decided_per_s(live), "/s", 50, "more", "each write of three nodes is synced"
        ),
    ]
    for name in ("2pc", *(name for name, task in TASKS.items() if issubclass(task, Committing))):
        figures += _by_formula(name)
    return figures + _recovery(folder, 1_000 if quick else 100_000)


def _seconds(count: int) -> float:
    """Return the processor time of this many transactions."""
    gc.collect()
    began_s = time.process_time()
    _simulated("2pc", f"transactions {count} at {_PER_S}/s", count / _PER_S)
    return time.process_time() - began_s


def _judging_s(count: int) -> float:
    """Return the processor time of judging a run with this many transactions."""
    header, records = _simulated("2pc", f"transactions {count} at {_PER_S}/s", count / _PER_S)
    judge = Judge(header)
    gc.collect()
    began_s = time.process_time()
    for record in records:
        judge.observe(record)
    return time.process_time() - began_s


def _simulated(name: str, command: str, lasts_s: float) -> tuple[Header, list[Record]]:
    protocol = find_protocol(name)
    header = simulated_header(protocol, _NODES, _TIMING, _LINK)
    log = MemoryLog(header)
    simulation = Simulation(protocol, log)
    simulation.director.add(parse(f"at {_AT_S}s tell 3 {command}"))
    simulation.start()
    simulation.run_to(round((_AT_S + lasts_s + 1) * 1_000_000))
    return header, log.records


def _commits(header: Header, records: list[Record]) -> CommitHistory:
    commits = CommitLog(header.protocol.heartbeats)
    for record in records:
        commits.observe(record)
    return commits.commits(records[-1].at_us if not isinstance(records[-1], Header) else 0)


def _by_formula(name: str) -> list[Figure]:
    """Return the cost of a withdrawal, which has a part at each of the three nodes."""
    protocol = commit_protocol(find_protocol(name))
    assert protocol is not None
    cost = protocol.cost
    assert cost is not None
    (one,) = _commits(*_simulated(name, "withdraw 350", 1)).transactions
    assert one.is_committed
    assert one.participants == _COUNTED_N
    messages, writes = cost.messages(_COUNTED_N), cost.writes(_COUNTED_N)
    return [
        Figure(
            f"messages of a commit, {name}, by the formula", one.messages / messages, "×", 1, "less", f"{messages}"
        ),
        Figure(f"forced writes of a commit, {name}, the same", one.writes / writes, "×", 1, "less", f"{writes}"),
    ]


def _live(folder: Path, count: int) -> CommitHistory:
    """Begin transactions as fast as possible, on many accounts, so that few find a lock."""
    folder.mkdir()
    parameters = {"accounts": 100}
    with LiveRun(folder, nodes=_NODES, protocol=TwoPhaseCommit, timing=_TIMING, parameters=parameters) as run:
        run.process_is(3, "running")
        run.order(f"tell 3 transactions {count} at 1000/s")
        run.until(lambda cluster: _is_done(cluster.nodes[3].state), f"the end of {count} transactions", 100)
        run.host.end()
        records = run.tail.read().records
    header = records[0]
    assert isinstance(header, Header)
    return _commits(header, records)


def _is_done(state: dict[str, Any]) -> bool:
    return bool(state.get("log")) and state["load"][0] == 0 and not state["open"]


def _decided_per_s(commits: CommitHistory) -> float:
    found = commits.transactions
    last_us = max(each.decided_us for each in found if each.decided_us is not None)
    return len(found) / (last_us - min(each.began_us for each in found)) * 1e6


def _recovery(folder: Path, count: int) -> list[Figure]:
    """Return the processor time."""
    safe = folder / "safe"
    safe.mkdir()
    with (safe / "1.jsonl").open("wb") as file:  # as it is written, without a sync for every line
        file.writelines(msgspec.json.encode({"logged": {"log": [entry]}}) + b"\n" for entry in _entries(count))
    gc.collect()
    gc.disable()  # as a node's process does until it has started
    began_s = time.process_time()
    values = StableStorage(safe, 1).values
    read_s = time.process_time() - began_s
    took_s = _started_s(values)
    gc.enable()
    output = f"{len(values['log']):,} entries of {count:,} transactions"
    return [
        Figure("a node started with a long log, by the kernel", took_s, "s", 2, "less", output),
        Figure("and live, from its stable storage", read_s + took_s, "s", 2, "less", "a line for each"),
    ]


def _started_s(stored: dict[str, Any]) -> float:
    stop_watching()  # an earlier benchmark has simulated; how long the step takes is measured here
    began_s = time.process_time()
    step = Node(TwoPhaseCommit, 1, _NODES, _TIMING).step(Started(stored, 2, 1), 0)
    took_s = time.process_time() - began_s
    assert not step.failed
    assert step.changed["open"] == []
    return took_s


def _entries(count: int) -> Iterator[Entry]:
    """Yield transactions that move a cent from an account and back in turn."""
    before, after = 100_000, 99_999
    for number in range(1, count + 1):
        transaction = Transaction(1, number)
        yield Entry("begin", transaction, _NODES)
        yield Entry("prepared", transaction, _NODES, (Change("savings", before, after),))
        yield Entry("committed", transaction)
        yield Entry("ended", transaction)
        before, after = after, before
