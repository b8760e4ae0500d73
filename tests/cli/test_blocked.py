"""``lab show --blocked``, and what ``lab run`` says of a transaction that is still open."""

import re
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from lab.protocols import TwoPhaseCommit
from tests.cli.calling import SHIPPED, Lab
from tests.harness import Rig

SENTENCE = "1 and 2 are uncertain: they voted YES, their coordinator 3 is dead; decided when 3 comes back"
TIMES = ("0s", "130ms", "500ms", "1s", "2s", "3s")
RUN = (
    *("run", "2pc", "--nodes", "3", "--sim", "--headless", "--for", "3s", "--seed", "1"),
    *("--do", "at 100ms tell 3 withdraw 350", "--do", "on send Vote 1->3: kill 3"),
)


def _recording(path: Path) -> Path:
    """The coordinator dies between the votes and the word; others are turned away; it comes back."""
    rig = Rig((1, 2, 3), protocol=TwoPhaseCommit).started()
    rig.do("on send Vote 1->3: kill 3", "at 2500ms restart 3", "tell 3 withdraw 350")
    rig.do("at 1500ms tell 2 transfer 10 checking savings")
    return rig.run(3_000_000).write(path)


def test_show(lab: Lab, transcript: Callable[[str, str], None]) -> None:
    """The same recording at several instants, and as it ended."""
    path = _recording(lab.folder / "run.jsonl")
    told = []
    for options in (*(("--at", time) for time in TIMES), ()):
        done = lab("show", path.name, "--blocked", *options)
        assert (done.status, done.err) == (0, "")
        told.append(f"$ {' '.join(('lab show run.jsonl --blocked', *options))}\n{done.out}")
    transcript("show_blocked", "\n".join(told))


def test_an_instant_after_the_end(lab: Lab) -> None:
    """It says that the recording ends before; and a time has no microseconds of its own unit."""
    path = _recording(lab.folder / "run.jsonl")
    said = lab("show", path.name, "--blocked", "--at", "99s").out.splitlines()
    assert said[1:] == ["# it ends before 99s: this is how it ended", "# at 3s: 0 open transactions"]
    odd = lab("show", path.name, "--blocked", "--at", "1500090us").out.splitlines()
    assert odd[1] == "# at 1.50009s: 2 open transactions"


def test_run_says_what_is_open(lab: Lab) -> None:
    """In one line, with the reason; as JSON with since when it is blocked."""
    done = lab(*RUN)
    assert done.status == 0
    assert f"\n  3.1 is open: {SENTENCE}\n" in done.out
    (found,) = msgspec.json.decode(lab(*RUN, "--json").out)["open"]
    assert (found["transaction"], found["why"]) == ("3.1", SENTENCE)
    assert 0 < found["blocked_us"] < 3_000_000


def test_run_counts_what_is_too_much_to_tell(lab: Lab) -> None:
    """Ten are told; the rest are in the recording."""
    load = ("--set", "accounts=50", "--do", "transactions 60 at 1000/s", "--do", "at 100ms kill 3")
    done = lab(*RUN[:-4], *load, "--record", "run.jsonl")
    assert done.out.count(" is open: ") == 10
    assert re.search(r" and \d+ more are open: lab show \S*run\.jsonl --blocked\n", done.out)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--at", "2s"), "--at is the instant of --blocked: lab show FILE --blocked --at 2s"),
        (
            ("--blocked", "--at", "2"),
            "--at: '2' is not a duration: write a number and a unit, such as 200ms, 1.5s or 2m",
        ),
        (
            ("--blocked", "--only", "status"),
            "--blocked prints no lines of the log, so there is nothing to choose; leave out the rest",
        ),
        (
            ("--blocked",),
            "bully.jsonl: bully has no transactions; 2pc and 3pc have: lab run 2pc --record run.jsonl",
        ),
    ],
)
def test_mistakes(lab: Lab, words: tuple[str, ...], said: str) -> None:
    """What was got, what was expected, what to do."""
    (lab.folder / "bully.jsonl").write_bytes(SHIPPED.read_bytes())
    assert lab("show", "bully.jsonl", *words).refused() == said
