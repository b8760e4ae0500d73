"""Recovery from a long log: history is repeated, open transactions continue, and nothing is decided twice (C5)."""

from pathlib import Path
from random import Random
from typing import Any

import pytest

from lab.kernel import CommandInput, Step
from lab.kernel.storage import Write
from lab.protocols import TwoPhaseCommit
from lab.worlds.live.stable_storage import StableStorage
from tests.harness import Solo

NODE, OTHER = 2, 3
ACCOUNT = "checking"
OPENING = 1000_00
MANY = 3_000


def written(transaction: tuple[int, int], *whats: str, before: int = 0, after: int = 0) -> list[dict[str, Any]]:
    """Return the log entries of one transaction between the two nodes."""
    lines: list[dict[str, Any]] = []
    for what in whats:
        line: dict[str, Any] = {"what": what, "transaction": list(transaction)}
        if what in ("begin", "prepared"):
            line["participants"] = [NODE, OTHER]
        if what == "prepared":
            line["changes"] = [[ACCOUNT, before, after]]
        lines.append(line)
    return lines


def history(many: int, chance: Random) -> tuple[list[dict[str, Any]], int]:
    """Return a log of that many finished transactions, and the balance after them."""
    log: list[dict[str, Any]] = []
    balance = OPENING
    for number in range(1, many + 1):
        end = chance.choice(("committed", "aborted"))
        after = balance + chance.randint(-50, 50)
        if number % 2:
            log += written((OTHER, number), "prepared", end, before=balance, after=after)
        else:
            log += written((NODE, number // 2), "begin", "prepared", end, "ended", before=balance, after=after)
        balance = after if end == "committed" else balance
    return log, balance


def recovered(log: list[dict[str, Any]]) -> tuple[Solo, Step]:
    """Return a node in its second incarnation with that log, and its first step."""
    solo = Solo(TwoPhaseCommit, NODE)
    return solo, solo.start({"log": log}, incarnation=2, serial=1_000)


def sent(step: Step) -> list[tuple[str, int]]:
    """Return the messages sent, with their targets."""
    return [(message.kind, message.target) for message in step.sent]


@pytest.mark.parametrize("end", ["committed", "aborted"])
def test_C5_finished_transactions_are_redone_and_undone(end: str) -> None:
    """C5: the balance is that of the committed transactions; no lock is held, and nothing is sent."""
    log, balance = history(MANY, Random(end))
    log += written((OTHER, MANY + 1), "prepared", end, before=balance, after=balance + 5)
    solo, step = recovered(log)
    assert solo.protocol.balances == ((ACCOUNT, balance + (5 if end == "committed" else 0)),)
    assert (solo.protocol.locks, solo.protocol.open) == ((), ())
    assert (sent(step), step.logged) == ([], {})


def test_C5_a_prepared_participant_asks() -> None:
    """C5: the lock is held again, the change is redone, and the coordinator is asked; nothing is decided."""
    log, balance = history(MANY, Random("prepared"))
    solo, step = recovered(log + written((OTHER, MANY + 1), "prepared", before=balance, after=balance + 5))
    assert solo.protocol.balances == ((ACCOUNT, balance + 5),)
    assert [account for account, _ in solo.protocol.locks] == [ACCOUNT]
    assert (sent(step), step.logged) == ([("OutcomeOf", OTHER)], {})


def test_C5_a_coordinator_without_a_decision_aborts() -> None:
    """C5: its work is undone, the lock is free, and Abort is sent."""
    log, balance = history(MANY, Random("begun"))
    solo, step = recovered(log + written((NODE, MANY), "begin", "prepared", before=balance, after=balance + 5))
    assert solo.protocol.balances == ((ACCOUNT, balance),)
    assert solo.protocol.locks == ()
    assert sent(step) == [("Abort", OTHER)]
    assert [entry["what"] for entry in step.logged["log"]] == ["aborted"]


def test_C5_a_coordinator_with_a_decision_sends_it_again() -> None:
    """C5: it decides nothing new."""
    log, balance = history(MANY, Random("decided"))
    log += written((NODE, MANY), "begin", "prepared", "committed", before=balance, after=balance + 5)
    solo, step = recovered(log)
    assert solo.protocol.balances == ((ACCOUNT, balance + 5),)
    assert (sent(step), step.logged) == ([("Commit", OTHER)], {})


def test_C5_recovery_reads_what_is_on_disk(tmp_path: Path) -> None:
    """C5: a log on disk, written in parts, with its last line torn by the crash."""
    log, balance = history(MANY, Random("disk"))
    storage = StableStorage(tmp_path, NODE)
    for begin in range(0, len(log), 100):
        storage.write(Write({}, {"log": log[begin : begin + 100]}))
    (file,) = tmp_path.iterdir()
    with file.open("ab") as torn:
        torn.write(b'{"logged":{"log":[{"what":"prep')
    kept = StableStorage(tmp_path, NODE).values
    assert kept == {"log": log}
    solo, step = recovered(kept["log"])
    assert solo.protocol.balances == ((ACCOUNT, balance),)
    assert (sent(step), step.logged) == ([], {})


def test_C5_numbers_of_transactions_continue() -> None:
    """C5: a restarted coordinator gives a new transaction an unused number."""
    log, _ = history(MANY, Random("numbers"))
    solo, _ = recovered(log)
    step = solo.node.step(CommandInput("transfer", ("1", ACCOUNT, "moneymarket")), solo.now_us)
    assert step.logged["log"][0]["transaction"] == [NODE, MANY // 2 + 1]
