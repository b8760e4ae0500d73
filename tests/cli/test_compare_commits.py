"""``lab compare 2pc 3pc``: cost next to the formulas, and blocking."""

import json
import re
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from lab.protocols import TwoPhaseCommit
from lab.tasks.bank.bank_comparison import BankComparison
from lab.tasks.bank.commit_history import CommitHistory, TransactionHistory
from lab.tasks.comparison import ProtocolTotals
from tests.cli.invocation import Lab

BLOCKING = """# the coordinator dies amid the votes, and comes back half a minute later
at 3s tell 5 withdraw 350
then on send Vote 3->5 kill 5
at 33s restart 5
"""
CALM = """at 3s tell 5 withdraw 350
at 4s tell 5 transfer 10 savings checking
"""


def _compare_json(lab: Lab, script: str, *words: str) -> dict[str, dict[str, Any]]:
    (lab.folder / "bank.script").write_text(script)
    done = lab("compare", "2pc", "3pc", "--script", "bank.script", "--workers", "1", "--json", *words)
    assert (done.status, done.err) == (0, "")
    return {each["protocol"]: each["figures"] for each in json.loads(done.out)["protocols"]}


def test_the_table(lab: Lab, transcript: Callable[[str, str], None]) -> None:
    """Both protocols run the same script; then charts and picture."""
    (lab.folder / "blocking.script").write_text(BLOCKING)
    words = ("--script", "blocking.script", "--runs", "2", "--workers", "1", "-o", "c.svg")
    done = lab("compare", "2pc", "3pc", *words)
    assert (done.status, done.err) == (0, "")
    table, _, charts = done.out.partition(f"{' ' * 20}% of voted transactions")
    transcript("compare_commits", table.rstrip())
    assert charts.count("┌") == 3
    assert (lab.folder / "c.svg").read_text().count("3pc") >= 3


def test_the_table_fits_a_narrow_terminal(lab: Lab) -> None:
    """The titles of its rows are wrapped, and no figure is lost."""
    words = ("compare", "2pc", "3pc", "e3pc", "--runs", "1", "--workers", "1")
    wide, narrow = (lab(*words, environment={"COLUMNS": width}).out for width in ("120", "80"))
    assert max(map(len, wide.splitlines())) > 80
    assert max(map(len, narrow.splitlines())) <= 80
    table = narrow.partition("Longest blocking")[0]
    row = r"^  outcome queries, or termination +\d+ +\d+ +\d+\n      without the coordinator\n"
    assert re.search(row, table, re.MULTILINE)
    assert sorted(table.split()) == sorted(wide.partition("Longest blocking")[0].split())


def test_two_phase_blocks_where_three_phase_does_not(lab: Lab) -> None:
    """2PC until the coordinator recovers; 3PC only for the timeout, the election and the termination."""
    result = _compare_json(lab, BLOCKING, "--runs", "3")
    two, three = result["2pc"]["blocked"], result["3pc"]["blocked"]
    assert (two["count"], three["count"] >= two["count"]) == (3 * 3, True)
    assert two["us_median"] > 29_000_000
    assert three["us_95th"] < 15 * 200_000
    assert result["2pc"]["locked"]["us_95th"] > 29_000_000 > 10 * result["3pc"]["locked"]["us_95th"]
    assert result["2pc"]["open"] == result["3pc"]["open"] == 0
    assert result["2pc"]["committed"] == result["3pc"]["committed"] == 0
    worst = result["2pc"]["blocked_longest"]
    assert (worst["transaction"], worst["participants"], worst["missing"]) == ([5, 1], [1, 2, 3, 5], [5])
    assert result["3pc"]["messages_of"]["termination"] > 0


def test_forced_writes_cost_time(lab: Lab) -> None:
    """With slow disks 2PC decides after three writes, one after the other: begin, prepared, committed."""
    fast = _compare_json(lab, CALM, "--runs", "2")
    slow = _compare_json(lab, "at 2s slow-disk all 20ms\n" + CALM, "--runs", "2")

    def cost_us(name: str, measure: str) -> int:
        took_us: int = slow[name][measure]["us_median"] - fast[name][measure]["us_median"]
        return took_us

    assert cost_us("2pc", "decided") == 3 * 20_000
    assert cost_us("2pc", "locked") < cost_us("3pc", "locked")
    assert slow["2pc"]["committed"] == fast["2pc"]["committed"] == 4


def test_the_longest_blocking_is_named(lab: Lab) -> None:
    """With two participants and one crashed there is no majority: 3PC blocks too, which the output explains."""
    script = "at 3s tell 5 transfer 10 account5 savings\nthen on send Vote 1->5 kill 5\nat 33s restart 5\n"
    (lab.folder / "two.script").write_text(script)
    done = lab("compare", "3pc", "3pc above ring", "--script", "two.script", "--runs", "1", "--workers", "1")
    (output,) = [" ".join(part.split()) for part in done.out.split("\n\n") if part.startswith("Longest blocking")]
    assert output.startswith("Longest blocking: under 3pc above bully, node 1 for 2")
    assert "; under 3pc above ring, node 1 for 2" in output
    assert output.count("with seed 1, by 5.1 of nodes 1 5, with 5 not running and no majority left") == 2


def test_without_failures_the_cost_equals_the_formula(lab: Lab) -> None:
    """With two and with three participants; messages and forced writes."""
    result = _compare_json(lab, CALM, "--runs", "2")
    for name, messages, writes in (("2pc", (9 + 6) / 2, (10 + 8) / 2), ("3pc", (15 + 10) / 2, (14 + 11) / 2)):
        found = result[name]
        assert (found["committed"], found["aborted"], found["open"]) == (4, 0, 0)
        assert found["messages_mean"] == found["messages_formula"] == messages
        assert found["writes_mean"] == found["writes_formula"] == writes
        assert found["messages_of"]["termination"] == 0
        assert found["blocked"]["count"] == 0


@pytest.mark.parametrize("faults", [(), ("--faults", "kill,pause")])
def test_without_a_script_there_are_transactions(lab: Lab, faults: tuple[str, ...]) -> None:
    """With a crash during the vote, or with random faults."""
    done = lab("compare", "2pc", "--runs", "2", "--workers", "1", *faults)
    assert (done.status, done.err) == (0, "")
    output = "transactions, kill, pause" if faults else "transactions, a crash during the vote"
    assert done.out.startswith(f"5 nodes, {output}; 2 runs each, from seed 1 on\n\n")
    (committed,) = [line for line in done.out.splitlines() if line.startswith("transactions committed")]
    assert int(committed.split()[-1]) > 20


@pytest.mark.parametrize(
    ("words", "output"),
    [
        (("2pc", "bully"), "2pc is a commit protocol, and bully is not; compare only one kind: 2pc 3pc e3pc"),
        (("bully", "3pc"), "3pc is a commit protocol, and bully is not; compare only one kind: 2pc 3pc e3pc"),
        (
            ("2pc", "3pc", "--task", "field"),
            "--task field runs on elections, and 2pc is a commit protocol; leave it out",
        ),
        (("2pc", "2pc"), "2pc is named twice; name different protocols: lab compare bully ring"),
    ],
)
def test_conflicting_options(lab: Lab, words: tuple[str, ...], output: str) -> None:
    """One line each."""
    assert lab.within("compare", *words).refused() == output


def _sums(
    *transactions: TransactionHistory, blocked_us: tuple[int, ...] = (), locked_us: tuple[int, ...] = ()
) -> ProtocolTotals:
    sums = ProtocolTotals("2pc", TwoPhaseCommit)
    commits = CommitHistory(transactions, {"own": 9, "termination": 4}, blocked_us, locked_us)
    sums.add(commits, {})
    return sums


def test_the_formula_is_for_the_measured_commits() -> None:
    """Commits within one node are not counted."""
    sums = _sums(
        TransactionHistory(0, 1, True, "committed", 100, 200, 3, 6),
        TransactionHistory(50, 3, True, "committed", 350, 450, 9, 10),
        TransactionHistory(60, 0, True, "committed", 60, 60, 0, 1),
        TransactionHistory(70, 2, True, "aborted", 1_070, None, 6, 5),
        TransactionHistory(80, 2, False, "aborted", 80, 90, 2, 3),
        TransactionHistory(90, 2, True),
        blocked_us=(5, 7),
        locked_us=(1, 2, 3),
    )
    assert msgspec.to_builtins(BankComparison.figures(sums)) == {
        "of": "commits",
        "committed": 3,
        "aborted": 2,
        "open": 1,
        "committed_per_s": 3 * 1_000_000 / 1_070,
        "messages_mean": 6,
        "messages_formula": 6,
        "writes_mean": 8,
        "writes_formula": 8,
        "messages_of": {"own": 9, "work": 0, "again": 0, "acknowledgement": 0, "termination": 4, "election": 0},
        "decided": {"count": 3, "us_median": 300, "us_95th": 1_000},
        "known": {"count": 2, "us_median": 200, "us_95th": 400},
        "blocked": {"total_us": 12, "longest_us": 7, "count": 2, "us_median": 5, "us_95th": 7},
        "blocked_longest": None,
        "locked": {"total_us": 6, "count": 3, "us_median": 2, "us_95th": 3},
    }


def test_where_nothing_committed_there_is_a_dash() -> None:
    """And no formula to compare with."""
    rows = {title.strip(): cell for title, cell in BankComparison.rows([_sums(TransactionHistory(0, 2))])}
    assert rows["messages of a commit, mean"] == rows["committed per second"] == rows["by the formula"] == "-"
    assert (rows["transactions committed"], rows["still open"]) == ("0", "1")
