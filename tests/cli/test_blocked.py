"""``lab show --blocked``, and open transactions in the report of ``lab run``."""

import re
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from lab.protocols import TwoPhaseCommit
from tests.cli.invocation import SHIPPED, Lab
from tests.harness import Rig

SENTENCE = "1 and 2 are uncertain: they voted YES, their coordinator 3 is dead; decided when 3 comes back"
TIMES = ("0s", "130ms", "500ms", "1s", "2s", "3s")
RUN = (
    *("run", "2pc", "--nodes", "3", "--sim", "--headless", "--for", "3s", "--seed", "1"),
    *("--do", "at 100ms tell 3 withdraw 350", "--do", "on send Vote 1->3: kill 3"),
)


def _recording(path: Path) -> Path:
    """Record a run: the coordinator crashes between votes and decision, others are refused locks, it recovers."""
    rig = Rig((1, 2, 3), protocol=TwoPhaseCommit).started()
    rig.do("on send Vote 1->3: kill 3", "at 2500ms restart 3", "tell 3 withdraw 350")
    rig.do("at 1500ms tell 2 transfer 10 checking savings")
    return rig.run(3_000_000).write(path)


def test_show(lab: Lab, transcript: Callable[[str, str], None]) -> None:
    """At several times of one recording, and at its end."""
    path = _recording(lab.folder / "run.jsonl")
    result = []
    for options in (*(("--at", time) for time in TIMES), ()):
        done = lab("show", path.name, "--blocked", *options)
        assert (done.status, done.err) == (0, "")
        result.append(f"$ {' '.join(('lab show run.jsonl --blocked', *options))}\n{done.out}")
    transcript("show_blocked", "\n".join(result))


def test_a_time_after_the_end(lab: Lab) -> None:
    """The output says that the recording ends before."""
    path = _recording(lab.folder / "run.jsonl")
    output = lab("show", path.name, "--blocked", "--at", "99s").out.splitlines()
    assert output[1:] == ["# the recording ends before 99s; this is its end", "# at 3s: 0 open transactions"]
    odd = lab("show", path.name, "--blocked", "--at", "1500090us").out.splitlines()
    assert odd[1] == "# at 1.50009s: 2 open transactions"


def test_run_reports_open_transactions(lab: Lab) -> None:
    """In one line with the reason; as JSON with the time since when it is blocked."""
    done = lab(*RUN)
    assert done.status == 0, "no transaction was decided, but accounts were used: solvent was judged"
    assert f"\n  3.1 is open: {SENTENCE}\n" in done.out
    (found,) = msgspec.json.decode(lab(*RUN, "--json").out)["figures"]["open"]
    assert (found["transaction"], found["why"]) == ("3.1", SENTENCE)
    assert 0 < found["blocked_us"] < 3_000_000


def test_run_counts_further_open_transactions(lab: Lab) -> None:
    """Ten are listed; the rest are counted."""
    load = ("--set", "accounts=50", "--do", "transactions 60 at 1000/s", "--do", "at 100ms kill 3")
    done = lab(*RUN[:-4], *load, "--record", "run.jsonl")
    assert done.out.count(" is open: ") == 10
    assert re.search(r" and \d+ more are open: lab show \S*run\.jsonl --blocked\n", done.out)


@pytest.mark.parametrize(
    ("words", "output"),
    [
        (("--at", "2s"), "--at requires --blocked or --view: lab show FILE --blocked --at 2s"),
        (
            ("--blocked", "--at", "2"),
            "--at: '2' is not a duration: write a number and a unit, such as 200ms, 1.5s or 2m",
        ),
        (
            ("--blocked", "--only", "status"),
            "--blocked prints no log lines, so the filters do not apply; leave them out",
        ),
        (
            ("--blocked",),
            "bully.jsonl: bully has no transactions; 2pc, 3pc and e3pc have: lab run 2pc --record run.jsonl",
        ),
    ],
)
def test_mistakes(lab: Lab, words: tuple[str, ...], output: str) -> None:
    """The error has what was given, what was expected, what to do."""
    (lab.folder / "bully.jsonl").write_bytes(SHIPPED.read_bytes())
    assert lab.within("show", "bully.jsonl", *words).refused() == output
