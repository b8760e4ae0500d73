"""Scenarios with clients: their history is judged, right by default; and one made from such a run."""

import shutil
from pathlib import Path

import pytest

import lab
from lab.recording.reader import open_recording
from lab.scenario.file import Scenario, ScenarioError, scenario_in
from lab.scenario.from_recording import ScenarioSource, make_scenario
from lab.scenario.report import ScenarioReport
from lab.scenario.run_scenario import run_simulated

BUILD = Path(lab.__file__).with_name("guide") / "build"
HEAD = """\
title = "Two coordinators decide"
protocol = "{protocol}"
nodes = "3"
workload = "lin-kv"
rate = 8
seed = 1
for = "14s"
worlds = ["simulated"]
---
at 3s: partition 1 2 | 3
at 6s: heal
"""
REGISTER, REPLICATED = f"{BUILD / 'register.py'}:Register", f"{BUILD / 'replicated.py'}:Replicated"


def _scenario(text: str, folder: Path = BUILD) -> Scenario:
    return scenario_in(text, folder / "two.scenario")


def _report(protocol: str, *lines: str, recording: Path | None = None) -> ScenarioReport:
    text = HEAD.format(protocol=protocol) + "\n".join(lines) + "\n"
    return run_simulated(_scenario(text), recording)


def test_a_wrong_history_fails() -> None:
    """No line expects it, so the scenario has one finding, which names the workload."""
    (finding,) = _report(REGISTER).findings
    assert (finding.line, finding.expected) == (0, "lin-kv holds")
    assert finding.was.startswith("linearizability fails (")
    assert "fits in no order" in finding.was
    assert "\n" not in finding.was


def test_a_wrong_history_can_be_expected() -> None:
    """As every violation; a fault may strike a client, by its id."""
    assert _report(REGISTER, "at 8s: cut 5->2", "expect violation lin-kv").passed
    report = _report(REPLICATED, "expect violation lin-kv")
    (finding,) = report.findings
    assert finding.line == 12
    assert finding.was.startswith("linearizability holds (")


def test_a_right_history_can_be_expected() -> None:
    """By a line, or by none."""
    assert _report(REPLICATED).passed
    assert _report(REPLICATED, "expect no violation lin-kv").passed
    (finding,) = _report(REGISTER, "expect no violation lin-kv").findings
    assert finding.expected == "expect no violation lin-kv"


def test_a_history_that_judges_nothing_is_named() -> None:
    """Clients that call nothing before the run is over."""
    text = HEAD.format(protocol=REPLICATED).replace('"14s"', '"100ms"').partition("---")[0]
    report = run_simulated(_scenario(f"{text}---\nat 10ms: kill 1\n"))
    assert any("is not judged" in each for each in report.not_judged)


@pytest.mark.parametrize(
    ("old", "new", "place", "message"),
    [
        ('workload = "lin-kv"', 'workload = "lin-kw"', "4:1", "unknown workload; known: echo, "),
        ('workload = "lin-kv"', 'workload = "echo"', "4:1", "register does not handle Echo"),
        ('workload = "lin-kv"\n', "", "4:1", "rate requires workload: what shall the clients do?"),
        ("rate = 8", "rate = 0", "5:1", 'rate = "0": write a whole number, from 1 to 1000'),
        ("rate = 8", "clients = 65", "5:1", 'clients = "65": write a whole number, from 1 to 64'),
        ("rate = 8", "clients = true", "5:1", "clients"),
        ("rate = 8", 'service = "lin-kx"', "5:1", "unknown service; known: lin-kv, "),
        ("rate = 8", 'service = ["lin-kv"]', "5:1", "service"),
        ("at 6s: heal", "at 6s: kill 7", "11:13", "there is no node 7"),
        ("at 6s: heal", "expect violation lin-kx", "11:22", "unknown assertion lin-kx"),
        ("at 6s: heal", "expect violation echo", "11:18", "register does not promise echo"),
    ],
)
def test_mistakes(old: str, new: str, place: str, message: str) -> None:
    """Each with its place."""
    text = HEAD.format(protocol=REGISTER)
    assert old in text
    with pytest.raises(ScenarioError) as caught:
        _scenario(text.replace(old, new))
    first = str(caught.value).splitlines()[0]
    assert f"two.scenario:{place}: " in first
    assert message in first


def test_from_a_recording(tmp_path: Path) -> None:
    """The scenario has the clients of the run, and the outcome."""
    shutil.copy(BUILD / "register.py", tmp_path)
    recording = tmp_path / "run.jsonl"
    _report(f"{tmp_path / 'register.py'}:Register", "expect violation lin-kv", recording=recording)
    source = ScenarioSource(recording, str(tmp_path / "register.py"), tmp_path)
    made = make_scenario(source, shrink=True, on_progress=lambda text: None)
    scenario = _scenario(made.text, tmp_path)
    assert 'workload = "lin-kv"\nclients = 3\nrate = 8\n' in made.text
    header = open_recording(recording).header
    assert scenario.roles[0].nodes == header.roles[0].nodes
    assert scenario.nodes == (1, 2, 3)
