"""A scenario made from a recording describes the effects of its commands, and only these."""

import re
from pathlib import Path

import pytest

from lab.kernel import Received, Step
from lab.protocols import InvitationElection, Token
from lab.recording.records import Header, decode
from lab.scenario.from_recording import GeneratedScenario, ScenarioSource, make_scenario
from tests.scenario.recorded_runs import session

TAKEOVER = [(1_500, "kill 5"), (3_000, "restart 5")]


def _made(recording: Path) -> GeneratedScenario:
    return make_scenario(ScenarioSource(recording, folder=recording.parent), False, lambda text: None)


def _as_live(recording: Path) -> Path:
    """Return the recording as if it were of a live run."""
    header, *lines = recording.read_bytes().splitlines()
    changed = header.replace(b'"world":"simulated"', b'"world":"live"')
    assert isinstance(decode(changed), Header)
    recording.write_bytes(b"\n".join([changed, *lines]) + b"\n")
    return recording


def _without(recording: Path, number: int) -> Path:
    lines = recording.read_bytes().splitlines(keepends=True)
    recording.write_bytes(b"".join(lines[:number] + lines[number + 1 :]))
    return recording


def _without_command(recording: Path, text: str) -> Path:
    """Return the recording without the record of this command, but with its effects."""
    lines = recording.read_bytes().splitlines()
    (number,) = [
        place for place, line in enumerate(lines) if b'"record":"command"' in line and text.encode() in line
    ]
    return _without(recording, number)


def test_late_events_are_no_effect(tmp_path: Path) -> None:
    """The run ends after the effects of the last command; an election caused by the machine is left out."""
    recording = session(
        tmp_path / "run.jsonl", [*TAKEOVER, (92_000, "pause 5"), (94_000, "resume 5")], end_ms=120_000
    )
    for text in ("pause 5", "resume 5"):
        _without_command(recording, text)
    made = _made(_as_live(recording))
    assert made.is_same
    assert 'for = "8.8s"' in made.text
    assert "expect all.coordinator == 5 within 5.8s" in made.text
    assert re.search(r"restart 5  # 5 leads after \d+ ms$", made.text, re.MULTILINE)
    assert made.notes == ("left out: what came more than 17.28s after the last command; not an effect",)


def test_effects_last_as_long_as_a_link_fault(tmp_path: Path) -> None:
    made = _made(session(tmp_path / "run.jsonl", [(1_500, "cut 1->5")], end_ms=30_000))
    assert 'for = "30s"' in made.text
    assert made.notes == ()


def test_captions_have_no_effect(tmp_path: Path) -> None:
    """The effect of the command before it is described there."""
    made = _made(session(tmp_path / "run.jsonl", [(1_500, "kill 5"), (1_501, 'say "5 is gone"')]))
    assert re.search(r"kill 5 +# 4 leads after \d+ ms$", made.text, re.MULTILINE)
    assert re.search(r'say "5 is gone"$', made.text, re.MULTILINE)


def test_leaders_that_stay_are_no_effect(tmp_path: Path) -> None:
    """The other coordinators keep leading when one of them crashes."""
    given = [(1_500, "partition 1 2 | 3 4 | 5"), (4_000, "kill 5"), (4_200, "restart 5")]
    made = _made(session(tmp_path / "run.jsonl", given, protocol=InvitationElection, end_ms=9_000))
    assert "after 0 ms" not in made.text


@pytest.mark.parametrize(
    ("given", "title"),
    [
        ([(1_500, "kill 5"), (3_500, "kill 4")], "4 and 5 crash, 3 takes over"),
        ([(1_500, "kill 2"), (1_501, 'say "so"')], "2 crashes, 5 leads again"),
        (
            [(1_500, "kill 5"), (3_000, "restart 5"), (4_500, "kill 2")],
            "5 crashes and recovers, 2 crashes, 5 leads again",
        ),
        ([], "5 is elected"),
    ],
)
def test_titles(tmp_path: Path, given: list[tuple[int, str]], title: str) -> None:
    """They name the affected nodes, and who leads at the end."""
    assert f'title = "{title}"\n' in _made(session(tmp_path / "run.jsonl", given)).text


def test_titles_without_a_coordinator(tmp_path: Path) -> None:
    """They name the protocol."""
    recording = session(tmp_path / "run.jsonl", [], end_ms=20)
    assert 'title = "A run of bully without faults, without agreement at the end"\n' in _made(recording).text
    recording = session(tmp_path / "token.jsonl", [], protocol=Token, end_ms=1_000)
    assert 'title = "A run of token without faults"\n' in _made(recording).text
    recording = session(tmp_path / "killed.jsonl", [(500, "kill 4")], protocol=Token, end_ms=1_000)
    assert 'title = "4 crashes, in a run of token"\n' in _made(recording).text


def test_nothing_is_expected_of_a_node_that_has_just_started(tmp_path: Path) -> None:
    """It runs, but has no status yet, which would read as if it were down."""
    recording = session(tmp_path / "run.jsonl", [(1_500, "kill 4"), (3_000, "restart 4")], end_ms=3_000)
    lines = recording.read_bytes().splitlines(keepends=True)
    (began,) = [
        place
        for place, line in enumerate(lines)
        if b'"event":"started"' in line and b'"node":4' in line and place > len(lines) // 2
    ]
    recording.write_bytes(b"".join(lines[: began + 1]))
    text = _made(recording).text
    assert "expect all running" in text
    assert "Down" not in text


def test_no_violation_is_expected_in_simulation_only(tmp_path: Path) -> None:
    """A live machine may be too slow to keep a promise."""
    both = _made(session(tmp_path / "run.jsonl", [(1_500, "kill 5")])).text
    assert 'worlds = ["simulated", "live"]' in both
    assert "expect no violation" not in both
    alone = _made(session(tmp_path / "short.jsonl", [], end_ms=20)).text
    assert 'worlds = ["simulated"]' in alone
    assert "expect no violation" not in alone, "nothing was judged"
    alone = _made(session(tmp_path / "longer.jsonl", [], end_ms=100)).text
    assert "expect no violation" in alone


def test_a_missing_line_is_noted(tmp_path: Path) -> None:
    """A message is delivered that no line sends."""
    recording = session(tmp_path / "run.jsonl", [(1_500, "kill 5")])
    records = [decode(line) for line in recording.read_bytes().splitlines()]
    number = next(n for n, record in enumerate(records) if isinstance(record, Step) and record.sent)
    sent = records[number]
    assert isinstance(sent, Step)
    ends = {(message.source, message.serial) for message in sent.sent}
    comes = next(
        n
        for n, record in enumerate(records)
        if isinstance(record, Step)
        and isinstance(record.input, Received)
        and (record.input.source, record.input.serial) in ends
    )
    notes = _made(_without(recording, number)).notes
    assert notes[0].startswith(f"line {comes} of the recording is unreadable, or delivers a message that no line")


def test_all_values_of_the_head_are_strings(tmp_path: Path) -> None:
    head = _made(session(tmp_path / "run.jsonl", [])).text.partition("\n---\n")[0]
    assert re.findall(r"^\w+ = (?!\"|\[|\{)", head, re.MULTILINE) == []
    assert 'seed = "1"' in head
