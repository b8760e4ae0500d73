"""``lab explore``: what it says, what it leaves behind, and its exit statuses."""

import os
import pty
import re
import signal
import subprocess
import sys
import time

from tests.cli.calling import ROOT, Lab

COUNTS = re.compile(
    r"^  [\d,]+ states, [\d,]+ transitions, up to \d+ moves deep; [\d,]+ replays; [\d.]+ s, [\d,]+ transitions/s$",
    re.MULTILINE,
)


def test_nothing_is_found_under_the_assumptions(lab: Lab) -> None:
    """The defaults: three nodes of the bully, every order, one kill; exhaustive, and no file."""
    done = lab("explore", "bully")
    assert (done.status, done.err) == (0, "")
    assert COUNTS.search(done.out)
    assert "\n  exhaustive: nothing else can happen\n" in done.out
    assert re.search(r"^  A1\.1 +holds  \(one coordinator\)$", done.out, re.MULTILINE)
    assert list(lab.folder.iterdir()) == []


def test_two_coordinators_are_found(lab: Lab) -> None:
    """Under any timeouts: status 1, and a recording that can be verified, with the two coordinators in it."""
    done = lab("explore", "bully", "--timeouts", "any", "--states", "5000", "--out", "two.jsonl")
    assert (done.status, done.err) == (1, "")
    assert COUNTS.search(done.out)
    assert "  not exhaustive: stopped at 5,000 states, with " in done.out
    assert re.search(r"^  A1\.1 +violated in [\d,]+ states, the first after 3 moves ", done.out, re.MULTILINE)
    assert "recorded: two.jsonl, the shortest violation found, of A1.1\n" in done.out
    assert [path.name for path in lab.folder.iterdir()] == ["two.jsonl"]
    verified = lab("verify", "two.jsonl")
    assert verified.status == 0
    assert "holds" in verified.out
    assert "A1.1" in verified.out
    assert "coordinator 1" in lab("show", "two.jsonl", "--only", "status").out


def test_a_failure_is_recorded_under_a_name_of_its_own(lab: Lab) -> None:
    """A mutated bully: without --out it is recorded in this folder; ``verify`` finds the same failure."""
    target = f"{ROOT}/tests/campaign/mutants.py:NoTimeout"
    done = lab("explore", target, "--nodes", "2", environment={"PYTHONPATH": str(ROOT)})
    assert done.status == 1, done
    assert "recorded: no-timeout-A2-synchronous.jsonl, the shortest violation found, of A2\n" in done.out
    verified = lab("verify", "no-timeout-A2-synchronous.jsonl", "--protocol", target)
    assert verified.status == 1, verified
    assert "A2" in verified.out


def test_mistakes(lab: Lab) -> None:
    """One line each, before anything is explored."""
    assert lab("explore", "bulli").refused().startswith("there is no protocol 'bulli'")
    assert lab("explore", "bully", "--out", "two.txt").refused() == "--out two.txt: name a .jsonl file"
    there = lab("explore", "bully", "--out", "nowhere/two.jsonl").refused()
    assert there == f"--out nowhere/two.jsonl: there is no folder {lab.folder}/nowhere"
    assert lab("explore", "bully", "--set", "speed=1s").refused().startswith("--set speed=1s: bully has")
    assert "--nodes" in lab("explore", "bully", "--nodes", "0").refused()
    astray = lab("explore", f"{ROOT}/tests/campaign/mutants.py:NoRecovery", environment={"PYTHONPATH": str(ROOT)})
    assert astray.refused().endswith("by itself: explore it --from start")


def test_ctrl_c_tells_what_was_covered(lab: Lab) -> None:
    """With a terminal it shows how far it is; interrupted, it reports, and ends with 130."""
    mine, its = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "lab", "explore", "bully", "--timeouts", "any", "--states", "100000000"],
        cwd=lab.folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=its,
    )
    os.close(its)
    shown = b""
    until = time.monotonic() + 30
    while b"states/s" not in shown and time.monotonic() < until:
        shown += os.read(mine, 1000)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=30)
    os.close(mine)
    assert process.returncode == 130
    assert COUNTS.search(out.decode())
    assert "not exhaustive: stopped at Ctrl-C, with " in out.decode()
    assert re.search(rb"depth \d+, [\d,]+ states, [\d,]+ to go on from, [\d,]+ states/s", shown)
