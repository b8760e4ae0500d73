"""``lab scenario`` and ``lab run NAME``: list, show, check and run scenarios; and shell completion."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from lab.cli.options import complete_scenario, complete_target
from lab.recording.reader import open_recording
from lab.scenario.file import names
from tests.cli.invocation import ROOT, Called, Lab
from tests.waiting import WAIT_S, wait_for
from tests.worlds.live import is_gone

HEAD = 'title = "A test"\nprotocol = "bully"\nfor = "2s"\n'
GOOD = f'{HEAD}worlds = ["simulated"]\n---\nwhen all normal: kill 5\nexpect 4 leads within 1500ms\n'
BAD = f"{HEAD}---\nwhen all normal: kill 5\nexpect 3 leads within 1s\n"


@pytest.fixture
def files(lab: Lab) -> Path:
    """Return a folder with a scenario that passes and one that fails."""
    folder = lab.folder / "there"
    folder.mkdir()
    (folder / "good.scenario").write_text(GOOD)
    (folder / "bad.scenario").write_text(BAD)
    return folder


def _rows(done: Called) -> list[list[str]]:
    """Return the words of the table's rows, without times."""
    table = done.out.partition("\n\n")[0].splitlines()[1:]
    return [[word for word in line.split()[:3] if word != "s"] for line in table]


# list, show


def test_list(lab: Lab) -> None:
    """One line each, grouped by protocol, bully first; with --json one object."""
    done = lab("scenario", "list")
    assert (done.status, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0].split() == ["name", "title", "runs", "in"]
    assert sorted(line.split()[0] for line in lines if line.startswith("  ")) == sorted(names())
    protocols = [line.rstrip() for line in lines[1:] if not line.startswith("  ")]
    assert protocols[:2] == ["bully", "bully-tanenbaum"]
    assert "assumptions.py:Stubborn" in protocols, "as it is written in the file"
    found = json.loads(lab("scenario", "list", "--json").out)["scenarios"]
    assert sorted(each["name"] for each in found) == sorted(names())
    (row,) = [each for each in found if each["name"] == "coordinator-dies"]
    assert row == {
        "name": "coordinator-dies",
        "title": "The coordinator crashes, recovers, and takes over again",
        "protocol": "bully",
        "worlds": ["simulated", "live"],
    }


def test_list_with_a_word(lab: Lab) -> None:
    """In the name, title or protocol, ignoring case."""
    found = json.loads(lab("scenario", "list", "FIELD", "--json").out)["scenarios"]
    assert len(found) > 3
    for each in found:
        assert "field" in f"{each['name']} {each['title']} {each['protocol']}".lower()


def test_list_fits_the_terminal() -> None:
    """Titles are shortened, names never."""
    script = "import pty, sys; sys.exit(pty.spawn([sys.executable, '-m', 'lab', 'scenario', 'list']) >> 8)"
    environment = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1", "PYTHONPATH": str(ROOT), "TERM": "dumb"}
    done = subprocess.run(
        [sys.executable, "-c", script],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=environment,
        timeout=WAIT_S,
        check=True,
    )
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert "~" in done.stdout, "as this terminal shows what is cut"
    assert set(names()) <= set(done.stdout.split())


def test_without_a_subcommand_the_help_is_printed(lab: Lab) -> None:
    """Not an empty error."""
    done = lab("scenario")
    assert (done.status, done.err) == (0, "")
    assert "lab guide scenarios" in " ".join(done.out.split())
    assert done.out == lab("scenario", "--help").out


def test_show_prints_parameters_as_in_the_head(lab: Lab) -> None:
    """With units, and under the same names."""
    shown = lab("scenario", "show", "figure-10-9").out
    assert re.search(r"^set +.*check_every = 9s|^set +.*check_every = 9000ms", shown, re.MULTILINE)


def test_show(lab: Lab, transcript: Callable[[str, str], None]) -> None:
    """Title, description, settings, and the script with the file's line numbers."""
    done = lab("scenario", "show", "coordinator-dies")
    assert (done.status, done.err) == (0, "")
    kept = [line for line in done.out.splitlines() if not line.startswith("file ")]
    transcript("scenario_show", "\n".join(kept))


# check


def test_check(lab: Lab, files: Path) -> None:
    """A folder: a table, below it the failures, status 1; the recording of the failed run is kept."""
    done = lab("scenario", "check", "there", "--sim")
    assert (done.status, done.err) == (1, "2 runs\n")
    assert _rows(done) == [["bad", "simulated", "FAILED"], ["good", "simulated", "passed"]]
    assert "there/bad.scenario:6: expect 3 leads within 1s\n      timed out: 3 was " in done.out
    assert done.out.endswith("\n2 runs, 1 failed\n")
    (kept,) = lab.recordings.glob("*.jsonl")
    assert f"recorded: {kept}\n" in done.out
    open_recording(kept).close()
    assert (files / "bad.scenario").read_text() == BAD


def test_check_with_several_runs(lab: Lab, files: Path) -> None:
    """Each run uses the next seed; the output has the number of failures, and one in full."""
    done = lab("scenario", "check", str(files / "bad.scenario"), "--sim", "--runs", "3", "--workers", "1")
    assert done.status == 1
    assert "FAILED 3 of 3" in done.out
    assert done.out.count("timed out") == 2, "in the table, and below it"
    assert "and 2 more runs; seeds: 1-3" in done.out
    assert len(list(lab.recordings.glob("*.jsonl"))) == 1
    done = lab("scenario", "check", "there/good.scenario", "--runs", "3")
    assert done.status == 0
    assert "passed 3 of 3" in done.out


def test_check_writes_recordings_and_junit(lab: Lab, files: Path) -> None:
    """--keep creates a folder with all recordings, --junit writes XML."""
    done = lab("scenario", "check", "there", "--sim", "--keep", "kept", "--junit", "report.xml")
    assert done.status == 1
    kept = sorted(path.name for path in (lab.folder / "kept").iterdir())
    assert kept == ["bad-simulated.jsonl", "good-simulated.jsonl"]
    assert not list(lab.recordings.glob("*.jsonl"))
    (suite,) = ElementTree.parse(lab.folder / "report.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")


def test_names_are_sanitized(lab: Lab) -> None:
    """In the table, below it, and in the XML."""
    for name, text in (("good\x1b[31m", GOOD), ("bad\udcff", BAD)):
        (lab.folder / f"{name}.scenario").write_text(text)
    done = lab("scenario", "check", ".", "--sim", "--junit", "report.xml")
    assert (done.status, done.err) == (1, "2 runs\n")
    assert [row[0] for row in _rows(done)] == [r"bad\xdcff", r"good\x1b[31m"]
    (suite,) = ElementTree.parse(lab.folder / "report.xml").getroot()
    cases = suite.iter("testcase")
    assert [case.get("file") for case in cases] == [
        r"bad\xdcff.scenario",
        r"good\x1b[31m.scenario",
    ]


@pytest.mark.live
def test_check_live(lab: Lab, files: Path) -> None:
    """On real processes, if the scenario supports it; nothing of them is left."""
    done = lab("scenario", "check", "there", "--live")
    assert (done.status, done.err) == (1, "1 run, 1 of them live: about 2 s\n")
    assert _rows(done) == [["bad", "live", "FAILED"]]


@pytest.mark.live
def test_ctrl_c_ends_a_check(lab: Lab, files: Path) -> None:
    """Status 130, with a report on the finished runs; no host is left."""
    long = BAD.replace('"2s"', '"60s"')
    (files / "bad.scenario").write_text(long)
    checking = lab.begin("scenario", "check", "there/bad.scenario", "there/good.scenario")
    info = wait_for(lambda: next(iter(lab.published().values()), None), "a live run is published")
    assert info is not None
    checking.send_signal(signal.SIGINT)
    out, err = checking.communicate(timeout=WAIT_S)
    assert checking.returncode == 130
    assert err.startswith(b"3 runs, 1 of them live: about 60 s\n")  # then progress, if the machine is slow
    assert b"good" in out
    assert out.endswith(b"\ninterrupted: 2 of 3 runs, 1 of them failed\n")
    assert is_gone(info.pid) == []


def test_mistakes_in_files(lab: Lab, files: Path) -> None:
    """All mistakes of all files, one per line, and nothing is run."""
    (files / "good.scenario").write_text(GOOD.replace("kill", "kil").replace("4 leads", "9 leads"))
    (files / "bad.scenario").write_text(BAD.replace("title", "titel"))
    done = lab("scenario", "check", "there")
    assert (done.status, done.out) == (2, "")
    assert [line.split(": ")[1] for line in done.err.splitlines()] == [
        "there/bad.scenario:1",
        "there/bad.scenario:1:1",
        "there/good.scenario:6:18",
        "there/good.scenario:7:8",
    ]


# run


def test_run_headless(lab: Lab, files: Path) -> None:
    """The usual summary, then the failures; the recording has title and text of the scenario."""
    done = lab("run", "there/bad.scenario", "--headless", "--sim", "--record", "run.jsonl")
    assert (done.status, done.err) == (1, "")
    assert done.out.startswith("bully, simulated, 2s\n")
    assert "bad.scenario:6: expect 3 leads within 1s\n" in done.out
    assert "replay:   lab replay" in done.out
    lines = open_recording(lab.folder / "run.jsonl")
    lines.close()
    assert (lines.header.remark, lines.header.scenario) == ("A test", BAD)
    done = lab("run", "there/good.scenario", "--headless", "--json")
    assert (done.status, done.err) == (0, "")
    found = json.loads(done.out)
    assert (found["world"], found["scenario"]["findings"]) == ("simulated", [])


@pytest.mark.live
def test_run_is_live_by_default(lab: Lab, files: Path) -> None:
    """Without --sim, if the scenario supports it."""
    done = lab("run", "there/bad.scenario", "--headless")
    assert done.status == 1
    assert done.out.startswith("bully, live, 2")


def test_run_takes_a_seed_and_a_time(lab: Lab, files: Path) -> None:
    """They replace the scenario's own."""
    words = ("there/good.scenario", "--headless", "--seed", "7", "--for", "1s", "--record", "run.jsonl")
    done = lab("run", *words)
    assert done.out.startswith("bully, simulated, 1s\n")
    assert "good, simulated, seed 7: FAILED" in done.out
    lines = open_recording(lab.folder / "run.jsonl")
    lines.close()
    assert lines.header.seed == 7


# completion


def test_completion() -> None:
    """Names with this prefix and their titles: scenarios, and for lab run protocols too."""
    offered = dict(complete_scenario("coord"))
    assert offered["coordinator-dies"] == "The coordinator crashes, recovers, and takes over again"
    assert all(name.startswith("coord") for name in offered)
    assert not {"bully", "field"} & {*dict(complete_scenario(""))}
    assert {*dict(complete_target(""))} >= {"bully", "field", "token", *names()}
    assert complete_scenario("xyzzy") == complete_target("xyzzy") == []


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("lab run coordinator-di", "coordinator-dies"),
        ("lab run bul", "bully"),
        ("lab scenario show fig", "figure-"),
    ],
)
def test_completion_in_bash(lab: Lab, line: str, offered: str) -> None:
    """With the variables that bash sets."""
    words = line.split()
    asked = {"_LAB_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    done = lab(environment=asked)
    assert done.status == 0, done
    assert all(each.startswith(offered) for each in done.out.split())
    assert done.out


def test_help_of_scenario(lab: Lab) -> None:
    """The group explains itself, and so does each of its commands."""
    done = lab("scenario", "--help")
    assert done.status == 0
    for command in ("list", "show", "check"):
        assert f" {command} " in done.out
    assert "status: 0 all passed" in " ".join(lab("scenario", "check", "--help").out.split())
