"""Turning recordings into scenarios with the same outcome.

The profile ``soak`` uses 200 random recordings; a failure names its seed.
"""

import os
import re
from pathlib import Path

import pytest

from lab.protocols import Bully, BullyTanenbaum, InvitationElection, Token
from lab.recording.reader import NotARecordingError
from lab.recording.records import Link
from lab.scenario import from_recording as recorded  # RENAMED
from lab.scenario.file import Scenario, read_scenario
from lab.scenario.from_recording import GeneratedScenario, ScenarioSource, UnsuitableRecordingError, make_scenario
from lab.scenario.run_scenario import run_simulated
from lab.scenario.script_search import ExpectedOutcome
from lab.script.statements import ExpectViolation
from lab.text import sanitize
from lab.worlds.loading.user_module import TargetError
from tests.harness import simulated_header
from tests.profile import amount
from tests.scenario.recorded_runs import random_recording, session

RANDOM = amount(quick=3, soak=200)
TAKEOVER = [(1_500, "kill 5"), (3_400, "restart 5")]


def _made(recording: Path, shrink: bool = False) -> GeneratedScenario:
    return make_scenario(ScenarioSource(recording, folder=recording.parent), shrink, lambda text: None)


def _read(folder: Path, text: str) -> Scenario:
    path = folder / "made.scenario"
    path.write_text(text, "utf-8")
    return read_scenario(path)


def _script(text: str) -> list[str]:
    """Return the lines of the script, without comments and with single blanks."""
    lines = text.partition("\n---\n")[2].splitlines()
    return [" ".join(re.sub(r"  # .*", "", line).split()) for line in lines if line and not line.startswith("# ")]


def test_random_recordings_have_the_same_outcome(tmp_path: Path) -> None:
    """Issue 5: at least 99 % do; they pass, unless an inert fault is needed."""
    others, idle = [], []
    for seed in range(RANDOM):
        recording, shown = random_recording(tmp_path / "run.jsonl", seed)
        made = _made(recording)
        report = run_simulated(_read(tmp_path, made.text))
        wrong = [finding for finding in report.findings if "touched nothing" not in finding.was]
        if wrong or not made.is_same:
            others.append(f"{shown}\n{made.text}\n{wrong}")
        elif not report.passed:
            idle.append(shown)
    print(f"{RANDOM} recordings, {len(others)} come to something else, {len(idle)} need a fault that is inert")
    assert len(others) <= RANDOM // 100, "\n\n".join(others)
    assert len(idle) <= 1 + RANDOM // 50, "\n".join(idle)


def test_a_session_at_the_keyboard(tmp_path: Path) -> None:
    """Commands without triggers wait for what had happened, and the outcome is expected."""
    text = _made(session(tmp_path / "run.jsonl", TAKEOVER)).text
    assert _script(text) == [
        "when all normal: kill 5",
        "then when all normal: restart 5",
        "expect all.coordinator == 5 within 5.8s",
        "expect all normal and all.coordinator == 5",
        "expect all running",
    ]
    assert 'worlds = ["simulated", "live"]' in text
    assert run_simulated(_read(tmp_path, text)).passed


def test_the_text_is_readable(tmp_path: Path) -> None:
    """Columns, comments with the effects of commands, a title, and the origin."""
    text = _made(session(tmp_path / "run.jsonl", TAKEOVER)).text
    lines = text.splitlines()
    assert lines[0] == 'title = "5 crashes and recovers, 5 leads again"'
    assert "Made from a recording of a simulated run of bully with 5 nodes, with 2 commands." in text
    assert "at the end all agree on 5" in " ".join(lines)
    assert 'source = "made from the recording run.jsonl"' in lines
    kill, restart = lines[lines.index("---") + 1 :][:2]
    assert re.fullmatch(r"when all normal:       kill 5     # 4 leads after \d+ ms", kill)
    assert re.fullmatch(r"then when all normal:  restart 5  # 5 leads after \d+ ms", restart)


def test_the_users_triggers_are_kept(tmp_path: Path) -> None:
    """On messages and states; a plain time is replaced by what had happened by then."""
    script = "on send EnterElection 5->1: kill 5\nat 2.5s: restart 5\n"
    lines = _script(_made(session(tmp_path / "run.jsonl", [], script=script)).text)
    assert lines[0] == "on send EnterElection 5->1: kill 5"
    assert lines[1] == "then when all normal: restart 5"


def test_commands_without_effect_are_left_out(tmp_path: Path) -> None:
    """Commands that were refused, changed nothing, or whose fault was inert; and its heal."""
    given = [
        (1_000, "resume 3"),
        (1_200, "hold 1->5 SetCoordinator"),
        (1_300, "heal"),
        (1_500, "kill 5"),
        (2_000, "kill 5"),
    ]
    made = _made(session(tmp_path / "run.jsonl", given))
    assert [line for line in _script(made.text) if "expect" not in line] == ["when all normal: kill 5"]
    message = "left out, without effect: resume 3, kill 5, hold 1->5 SetCoordinator, heal"
    assert made.notes == (message,)
    assert f"# {message}" in made.text.splitlines()


def test_commands_of_time_are_left_out(tmp_path: Path) -> None:
    given = [(1_500, "kill 5")]
    text = _made(session(tmp_path / "run.jsonl", given, script="at 1s: freeze")).text
    assert "freeze" not in text


def test_captions_are_kept(tmp_path: Path) -> None:
    given = [(1_500, "kill 5"), (1_501, 'say "5 is gone"')]
    lines = _script(_made(session(tmp_path / "run.jsonl", given)).text)
    assert lines[1] == 'then say "5 is gone"'


def test_disagreement_is_a_trigger_and_an_outcome(tmp_path: Path) -> None:
    """A command waits for who leads, and the expectation says who follows whom."""
    given = [(1_500, "partition 1 2 | 3 4 5"), (4_000, "kill 4")]
    lines = _script(_made(session(tmp_path / "run.jsonl", given, protocol=InvitationElection, end_ms=9_000)).text)
    assert lines[:2] == ["when all normal: partition 1 2 | 3 4 5", "then when 2 leads and 5 leads: kill 4"]
    assert "expect 1 normal and 1.coordinator == 2" in lines
    assert "expect groups == 2" in lines
    assert "expect 4 down and live == 4" in lines


def test_a_violation_is_expected(tmp_path: Path) -> None:
    """With the fault that it was under, and which assertions hold."""
    given = [(1_500, "pause 5"), (3_500, "resume 5")]
    text = _made(session(tmp_path / "run.jsonl", given)).text
    lines = _script(text)
    assert "expect violation A1.1 under pause" in lines
    assert "A2 holds" in " ".join(text.split())
    assert "A1.1 is violated under pause" in " ".join(text.split())


def test_without_a_command(tmp_path: Path) -> None:
    """It is the plain run, with its outcome."""
    text = _made(session(tmp_path / "run.jsonl", [])).text
    assert 'title = "5 is elected"' in text
    assert _script(text)[0] == "expect all.coordinator == 5 within 5.8s"
    assert run_simulated(_read(tmp_path, text)).passed


def test_a_protocol_that_elects_nobody(tmp_path: Path) -> None:
    """The expectation says which nodes run, and which assertions hold."""
    lines = _script(_made(session(tmp_path / "run.jsonl", [(500, "kill 4")], protocol=Token)).text)
    assert lines == ["after 500ms: kill 4", "expect 4 down and live == 4"]


def test_the_whole_setting_is_in_the_head(tmp_path: Path) -> None:
    """Nodes, timing, links, seed and parameters are those of the recording."""
    parameters = InvitationElection.Parameters(check_every_us=300_000)
    header = simulated_header(InvitationElection, (2, 3, 7), seed=9, parameters=parameters)
    recording = session(tmp_path / "run.jsonl", [], protocol=InvitationElection, header=header, end_ms=1_234)
    scenario = _read(tmp_path, _made(recording).text)
    assert scenario.nodes == (2, 3, 7)
    assert (scenario.timing, scenario.link, scenario.seed) == (header.timing, header.link, 9)
    assert scenario.parameters["check_every_us"] == 300_000
    assert scenario.ends_us % 100_000 == 0
    assert scenario.ends_us > 1_234_000


def test_a_recording_with_chosen_events_is_refused(tmp_path: Path) -> None:
    """A script cannot choose the next event; if that matters, the message says what to do instead."""
    header = simulated_header(BullyTanenbaum, (1, 5), link=Link(400_000))
    given = [(5, "deliver 5->1"), (5, "deliver 1->5 AreYouThere")]
    recording = session(tmp_path / "run.jsonl", given, protocol=BullyTanenbaum, header=header, end_ms=100)
    with pytest.raises(
        UnsuitableRecordingError, match=r"the user chose the next event \(deliver 5->1\).*lab branch"
    ):
        _made(recording)


def test_a_truncated_recording(tmp_path: Path) -> None:
    """All of it is used, with a note."""
    recording = session(tmp_path / "run.jsonl", TAKEOVER, end_ms=5_000)
    lines = recording.read_bytes().splitlines(keepends=True)
    recording.write_bytes(b"".join(lines[:-1]) + lines[-1][:5])
    made = _made(recording)
    assert made.is_same
    (note,) = made.notes
    assert note.startswith(
        "the recording has no end: its run was interrupted or is in progress; all of it is used"
    )
    assert "# the recording has no end" in made.text


def test_a_file_that_is_no_recording_is_refused(tmp_path: Path) -> None:
    """With the message of the reader."""
    path = tmp_path / "run.jsonl"
    path.write_text("when all normal: kill 5\n")
    with pytest.raises(NotARecordingError, match="not a recording"):
        _made(path)


def test_a_protocol_of_the_user(tmp_path: Path) -> None:
    """It must be named; the scenario names it relative to its folder."""
    file = tmp_path / "mine.py"
    file.write_text(
        "from typing import ClassVar\nfrom lab.protocols import Bully\n\n\n"
        'class Mine(Bully):\n    """Mine."""\n\n    name: ClassVar[str] = "mine"\n'
    )
    from lab.worlds.loading.targets import load_protocol

    protocol = load_protocol(f"{file}:Mine")
    recording = session(tmp_path / "run.jsonl", [(1_500, "kill 5")], protocol=protocol)
    with pytest.raises(TargetError, match="add --protocol"):
        _made(recording)
    text = make_scenario(ScenarioSource(recording, f"{file}:Mine", tmp_path), False, lambda text: None).text
    assert 'protocol = "mine.py:Mine"' in text
    assert run_simulated(_read(tmp_path, text)).passed


def test_progress_is_reported(tmp_path: Path) -> None:
    """With every run."""
    progress: list[str] = []
    make_scenario(ScenarioSource(session(tmp_path / "run.jsonl", TAKEOVER)), False, progress.append)
    assert progress[:2] == ["1 runs tried", "2 runs tried"]


def test_the_result_is_deterministic(tmp_path: Path) -> None:
    recording, _ = random_recording(tmp_path / "run.jsonl", 1)
    assert _made(recording) == _made(recording)


def test_a_recording_beyond_the_limits_is_refused_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Too many nodes, or too long."""

    def searched(*_: object) -> None:
        raise AssertionError("it was searched")

    monkeypatch.setattr(recorded, "ScriptSearch", searched)
    many = simulated_header(Bully, tuple(range(1, 66)), link=Link(12_000))
    for recording, message in (
        (session(tmp_path / "many.jsonl", [], header=many, end_ms=1), "has 65 nodes, a scenario at most 64"),
        (
            session(tmp_path / "long.jsonl", [(599_000, "kill 5")], end_ms=600_001),
            "lasts 600.001s, a scenario at most 600s",
        ),
    ):
        with pytest.raises(UnsuitableRecordingError, match=message):
            _made(recording)


def test_a_recording_as_long_as_a_scenario_may_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its runs take no longer than that."""
    for module in ("file", "from_recording", "script_search"):
        monkeypatch.setattr(f"lab.scenario.{module}.LONGEST_US", 20_000_000)
    recording = session(tmp_path / "run.jsonl", [(19_000, "kill 5")], end_ms=20_000)
    assert _read(tmp_path, _made(recording).text).ends_us == 20_000_000


def test_any_name_and_title_can_be_quoted(tmp_path: Path) -> None:
    """Bytes that are not text, and characters that TOML forbids and JSON does not."""
    given = session(tmp_path / "run.jsonl", [(1_500, "kill 5"), (1_501, 'say "a\x7f\x1bb"')])
    for name in (b"a\xff.jsonl", b"a\x7f.jsonl", b"a\x1b.jsonl"):
        recording = given.rename(tmp_path / os.fsdecode(name))
        made = make_scenario(
            ScenarioSource(recording, "", tmp_path, 'DEL \x7f, \\ and "\udcff"'), False, lambda text: None
        )
        scenario = _read(tmp_path, made.text)
        assert scenario.source == f"made from the recording {sanitize(recording.name)}"
        assert scenario.title == 'DEL \x7f, \\ and "?"'
        assert "\x1b" not in made.text
        given = recording


@pytest.mark.parametrize("is_same", [True, False])
def test_an_invalid_scenario_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_same: bool
) -> None:
    """The recording is reported as unsuitable, with the mistake, whatever its outcome."""
    if not is_same:
        monkeypatch.setattr(ExpectedOutcome, "missed", lambda *_: [ExpectViolation(none=True)])
    source = ScenarioSource(session(tmp_path / "run.jsonl", []), title=" ")
    with pytest.raises(UnsuitableRecordingError, match=r"run\.jsonl would be invalid: .*title: write one line"):
        make_scenario(source, False, lambda text: None)
