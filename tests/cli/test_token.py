"""The token task on the command line: run, shown, verified, checked and explored, without an election."""

import contextlib
import json
import re

import pytest

from lab.recording.reader import open_recording
from tests.cli.invocation import Lab


@pytest.mark.live
def test_a_live_run_with_faults(lab: Lab) -> None:
    """On real processes: a kill and duplicated messages do not duplicate the token, and the recording holds."""
    commands = ["at 100ms duplicate all 50%", "at 500ms request 4", "at 900ms kill 5", "at 1s restart 5"]
    words = [word for command in commands for word in ("--do", command)]
    set_ = ("--set", "hold=20ms", "--set", "want_every=100ms")
    done = lab("run", "token", "--headless", "--for", "2s", "--json", "--record", "t.jsonl", *set_, *words)
    assert (done.status, done.err) == (0, "")
    summary = json.loads(done.out)
    assert summary["messages"]["PassToken"] > 10
    assert [verdict["assertion"] for verdict in summary["verdicts"]] == ["K1", "K2", "idle", "leaves"]
    assert summary["verdicts"][0]["failures"] == summary["verdicts"][0]["excused"] == 0
    assert summary["elections"] == []
    verified = lab("verify", "t.jsonl")
    assert verified.status == 0
    assert "K1 holds: at most one node holds the token, in every consistent state" in verified.out


def test_the_loss_of_the_token(lab: Lab) -> None:
    """In contrast to an election: if its holder is killed, all others wait forever."""
    kill = ("--do", "on deliver PassToken 1->2 kill 2", "--do", "at 5s restart 2")
    words = ("run", "token", "--sim", "--seed", "1", "--headless", "--for", "60s", "--nodes", "3", *kill)
    done = lab(*words, "--record", "lost.jsonl")
    assert done.status == 0
    assert re.findall(r"^  node \d  running  (\w+)$", done.out, re.MULTILINE) == ["Waiting"] * 3
    assert "K1 holds" in done.out
    with contextlib.closing(open_recording(lab.folder / "lost.jsonl")) as lines:
        passed = [m for record in lines.records() for m in getattr(record, "sent", ()) if m.kind == "PassToken"]
    assert len(passed) == 1


def test_its_statuses_are_shown(lab: Lab) -> None:
    """Its own, and no coordinator."""
    words = ("run", "token", "--sim", "--seed", "1", "--headless", "--for", "4s", "--record", "t.jsonl")
    assert lab(*words).status == 0
    shown = lab("show", "t.jsonl", "--only", "status").out
    assert {line.split()[-1] for line in shown.splitlines()[1:-1]} == {"Idle", "Waiting", "Inside", "Holding"}


def test_a_campaign(lab: Lab) -> None:
    """Faults of every kind except wipe do not violate K1."""
    faults = "kill,pause,partition,delay,loss,duplicate,reorder"
    quick = ("--set", "hold=20ms", "--set", "want_every=200ms", "--workers", "1")
    done = lab("check", "token", "--runs", "50", "--faults", faults, *quick)
    assert (done.status, done.err) == (0, "")
    assert re.search(r"^ K1 +\d+ of 50 runs +[\d,]+ states +none +one token *$", done.out, re.MULTILINE)


def test_it_is_explored_from_the_start(lab: Lab) -> None:
    """It does not wait for an election; with bounded entries the search comes to an end."""
    words = ("explore", "token", "--timeouts", "any", "--kills", "1", "--restarts", "1")
    done = lab(*words, "--set", "by_itself=1")
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith(
        "token, 3 nodes, from the start, tell 3 request (the default of --do), timeouts any, "
    )
    assert "  explored completely, except for differences that the search ignores: ages beyond " in done.out
    assert re.search(r"^  K1 +no violation in [\d,]+ states  \(one token\)$", done.out, re.MULTILINE)


def test_commands_for_elections_are_refused(lab: Lab) -> None:
    """One line explains it."""
    result = "token is not an election; name one, such as bully"
    assert lab.within("scale", "token").refused() == result
    never = (
        "--do 'when all normal kill 2': token elects nobody, so its nodes are never normal; "
        "name nodes by number, or write at 2s"
    )
    assert (
        lab.within("run", "token", "--headless", "--for", "1s", "--do", "when all normal kill 2").refused()
        == never
    )
