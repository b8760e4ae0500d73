"""``lab check --program``: what live runs find, what is kept of it, campaign files, Ctrl-C, and the mistakes."""

import json
import shlex
import signal
import sys
from pathlib import Path

import pytest

from tests.cli.invocation import ROOT, Lab
from tests.profile import amount
from tests.waiting import wait_for

PROGRAMS = ROOT / "tests" / "programs"
PYTHON = shlex.quote(sys.executable)
RUN_S = amount(quick=3, soak=5)
"""The time of a run, which is real time; three seconds are the least."""


def _check(program: str, *options: str) -> tuple[str, ...]:
    return ("check", "--program", f"{PYTHON} {PROGRAMS / program}", "--nodes", "2", "--for", f"{RUN_S}s", *options)


IDS = _check("repeater.py", "--workload", "unique-ids", "--repetitions", "2", "--workers", "2")


@pytest.mark.live
def test_a_wrong_program_is_found(lab: Lab) -> None:
    """Shrunk to no fault; repeated; its recording is opened by the other commands."""
    done = lab(*IDS, "--runs", "4", "--seed", "3", "--json")
    document = json.loads(done.out)
    assert done.status == 1, done.err
    about_s = 2 * (RUN_S + 1.5)
    assert f"4 runs of {RUN_S}s, 2 at a time: about {about_s:.0f} s, and more if something is found" in done.err
    found = document["finding"]
    assert found["assertion"] == "unique-ids"
    assert found["commands"] == []
    assert (found["repeated"], found["repetitions"]) == (2, 2)
    assert document["runs"] == 1
    assert document["unconfirmed"] == {}
    assert document["clients"]["called"] > 0
    recording = lab.folder / found["recording"]
    assert lab("consistency", str(recording)).status == 1
    verified = lab("verify", str(recording))
    assert (verified.status, "differs" in verified.out) == (1, False)
    assert "Generate" in lab("show", str(recording)).out
    for path in document["kept"]:
        assert lab("consistency", path).status == 1
    again = lab(*shlex.split(found["rerun"])[1:], "--json")
    assert json.loads(again.out)["workload"]["verdict"] == "fails"


@pytest.mark.live
def test_a_right_program_is_not_accused(lab: Lab) -> None:
    """And the report says what was judged."""
    done = lab(*_check("repeater.py", "--workload", "echo", "--runs", "2", "--workers", "2"))
    assert done.status == 0, done.out + done.err
    assert "echo       2 of 2 runs" in done.out
    assert "availability" in done.out
    assert "no failure: every history of echo that was judged is valid" in done.out
    assert not list(lab.folder.glob("*.jsonl"))


@pytest.mark.live
def test_a_program_that_answers_nothing_is_not_green(lab: Lab) -> None:
    """What was judged in no run does not hold."""
    done = lab(*_check("talker.py deaf", "--workload", "lin-kv", "--runs", "1", "--workers", "1"))
    assert done.status == 1
    assert "judged in no run: lin-kv" in done.out


@pytest.mark.live
def test_a_campaign_goes_on_from_its_file(lab: Lab) -> None:
    """With the whole command, as a program is executed; not with another program."""
    first = lab(*IDS, "--runs", "2", "--record", "ids.jsonl")
    assert first.status == 1
    assert "campaign: ids.jsonl has 1 run; go on with: lab check" in first.err
    again = lab(*IDS, "--runs", "2", "--resume", "ids.jsonl", "--keep-going")
    assert again.status == 1, again.err
    assert "ids.jsonl has 2 runs, all of them" in again.err
    shown = json.loads(lab("campaign", "show", "ids.jsonl", "--json").out)
    assert (shown["runs"], shown["groups"][0]["assertion"]) == (2, "unique-ids")
    group = lab("campaign", "show", "ids.jsonl", "--group", "1")
    assert "recorded: " in group.out
    refused = lab("campaign", "show", "ids.jsonl", "--group", "1", "--out", "x.jsonl")
    assert "a run of programs cannot be executed again" in refused.err
    assert "write the command that began it again" in lab("check", "--resume", "ids.jsonl").err
    other = _check("talker.py", "--workload", "unique-ids", "--repetitions", "2", "--resume", "ids.jsonl")
    assert "does not fit" in lab(*other, "--runs", "2").err


@pytest.mark.live
def test_the_kinds_of_messages_are_in_the_file(lab: Lab) -> None:
    """Faults strike at messages that the run without faults has shown; who goes on draws the same schedules."""
    check = _check("repeater.py", "--workload", "echo", "--faults", "pause,loss", "--rate", "20", "--workers", "2")
    whole = lab(*check, "--runs", "4", "--keep-going", "--record", "whole.jsonl")
    assert whole.status == 0, whole.err
    header, *runs = (lab.folder / "whole.jsonl").read_text().splitlines(keepends=True)
    kinds = set(json.loads(header)["campaign"]["plan"]["kinds"])
    assert kinds == {"Echo", "EchoOk"}
    (lab.folder / "part.jsonl").write_text("".join((header, *runs[:2])))
    again = lab(*check, "--runs", "4", "--keep-going", "--resume", "part.jsonl")
    assert again.status == 0, again.err
    schedules = [
        [json.loads(line)["outcome"]["schedule"] for line in (lab.folder / name).read_text().splitlines()[1:]]
        for name in ("whole.jsonl", "part.jsonl")
    ]
    assert schedules[0] == schedules[1]
    waits = {fault["on"] for schedule in schedules[0] for fault in schedule["faults"]} - {""}
    assert waits
    assert {on.removeprefix("before ").split()[1] for on in waits} <= kinds


@pytest.mark.live
def test_ctrl_c_keeps_what_was_found(lab: Lab) -> None:
    """Status 130, with the recording of the finding; no host is left."""
    process = lab.begin(*IDS, "--runs", "0", "--keep-going", "--record", "ids.jsonl")
    file = lab.folder / "ids.jsonl"
    wait_for(lambda: file.exists() and b"/repeater.py-unique-ids-seed" in file.read_bytes(), "a finding is kept")
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=180)
    assert process.returncode == 130
    assert "kept:     " in out.decode()
    assert lab.left() == []


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--program", "cat"), "program promises nothing, so nothing would be judged: add --workload"),
        (("--program", "./nothing", "--workload", "echo"), "there is no such file"),
        (("--program", "cat", "--workload", "echo", "--systematic", "2"), "--systematic: not with --program"),
        (("--program", "cat", "--workload", "echo", "--sandbox"), "a program runs with your rights"),
        (("--program", "cat", "--workload", "echo", "--faults", "disk"), "disk strikes stable storage"),
        (("--program", "cat", "--workload", "echo", "--for", "1s"), "at least 3s"),
        (
            ("--program", "cat", "--workload", "echo", "--find", "A9"),
            "the assertions of these runs are echo, raises",
        ),
        (("--program", "cat", "--lens", "rafd"), "did you mean raft?"),
        (("bully", "--repetitions", "3"), "--repetitions: only campaigns on programs have that"),
        (("bully", "--lens", "raft"), "--lens: only campaigns on programs have that"),
        (("bully", "more"), "more: only campaigns on programs have that: lab check --program ./my_node"),
    ],
)
def test_mistakes(lab: Lab, options: tuple[str, ...], expected: str) -> None:
    """Each is named, with what can be done."""
    done = lab("check", *options, "--runs", "1")
    assert (done.status, expected in done.err) == (2, True), done.err


@pytest.mark.live
@pytest.mark.soak
@pytest.mark.parametrize(
    ("program", "workload", "is_right"),
    [
        ("gossip.py once", "broadcast", False),
        ("tally.py writes", "g-counter", False),
        ("gossip.py", "broadcast", True),
        ("tally.py", "g-counter", True),
        ("cache.py stale", "lin-kv", False),
        ("cache.py", "lin-kv", True),
    ],
)
def test_right_and_wrong_programs(lab: Lab, program: str, workload: str, is_right: bool) -> None:
    """The wrong ones are found, the right ones are not accused in fifty runs.

    The stale cache is wrong only while its service cannot be reached: no fault of the cluster shows that.
    """
    name, *arguments = program.split()
    done = lab(
        *("check", "--program", f"{PYTHON} {PROGRAMS / name}", "--workload", workload, "--nodes", "3", "--rate"),
        *("20", "--runs", "50", "--json", *(("--service", workload) if workload == "lin-kv" else ())),
        *("--", *arguments),
        limit_s=1_800,
    )
    document = json.loads(done.out)
    assert (document["finding"] is None) is is_right, document
    assert document["judged"][0]["runs"] > 0


def test_programs_are_executable() -> None:
    """As the guide has it."""
    for name in ("cache.py", "gossip.py", "tally.py", "repeater.py"):
        assert Path(PROGRAMS / name).stat().st_mode & 0o100
