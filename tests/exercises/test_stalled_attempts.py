"""A machine that stands still is no student's fault, and no student's excuse."""

import os
import signal
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from lab.exercises import authenticity
from lab.exercises.attempts import attempt_config
from lab.exercises.exercise_reader import find_exercise
from lab.exercises.grading import Grade, grade_recording
from lab.recording.reader import open_recording
from tests.exercises.attempts import RawRecords, chained, read_lines, run_attempt, write_lines
from tests.exercises.exercise_files import make_exercise
from tests.forked_hosts import TestHost
from tests.waiting import WAIT_S, wait_for
from tests.worlds.live import Tail

EXERCISE = "two-coordinators"
SLACK_US = 1_000_000
STALL_US = 4_000_000
UNEXPLAINED = "which no fault explains"


@pytest.fixture(autouse=True)
def _little_slack(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tenth of the real one, so that a tenth of the real stall is too long."""
    monkeypatch.setattr(authenticity, "LIVE_SLACK_US", SLACK_US)


@pytest.fixture(scope="module")
def stalled(tmp_path_factory: pytest.TempPathFactory) -> RawRecords:
    """An honest live attempt, whose host was stopped for 4 s after the student's pause."""
    path = tmp_path_factory.mktemp("attempt") / "run.jsonl"
    commands = ("when all normal: pause 5",)
    config = replace(attempt_config(find_exercise(EXERCISE), "anna", 1, path), commands=commands, end_us=9_000_000)
    host, tail = TestHost(config), Tail(path)
    try:
        ready = host.ready()
        wait_for(lambda: tail.read().cluster.nodes[5].process == "paused", "node 5 is paused")
        os.kill(ready.pid, signal.SIGSTOP)
        time.sleep(STALL_US / 1e6)  # nothing can be seen of it
        os.kill(ready.pid, signal.SIGCONT)
        host.wait(WAIT_S)
    finally:
        host.end()
        host.close()
    return read_lines(path)


def graded(lines: RawRecords, folder: Path) -> Grade:
    return grade_recording(write_lines(folder / "edited.jsonl", chained(lines)))


def of_host(record: dict[str, object]) -> bool:
    return record["record"] == "stall" and "node" not in record


def the_stall(lines: RawRecords) -> int:
    """Return the place of the long stall."""
    return next(n for n, each in enumerate(lines) if of_host(each) and each["lasted_us"] > STALL_US // 2)


@pytest.mark.live
def test_an_honest_attempt_is_graded(stalled: RawRecords, tmp_path: Path) -> None:
    """Without the record of the stall it is refused: nothing else explains the delay."""
    grade = graded(stalled, tmp_path)
    assert grade.refused == ""
    assert grade.points > 0
    assert UNEXPLAINED in graded([each for each in stalled if not of_host(each)], tmp_path).refused


@pytest.mark.live
def test_a_stall_excuses_as_much_as_it_lasted(stalled: RawRecords, tmp_path: Path) -> None:
    """A shorter one explains less; a longer one would lie over records of the host."""
    place = the_stall(stalled)

    def with_length(us: int) -> RawRecords:
        return [*stalled[:place], {**stalled[place], "lasted_us": us}, *stalled[place + 1 :]]

    assert UNEXPLAINED in graded(with_length(STALL_US // 5), tmp_path).refused
    assert "but it was active then" in graded(with_length(STALL_US + 2_000_000), tmp_path).refused
    assert "not longer than Tp" in graded(with_length(0), tmp_path).refused
    assert "not longer than Tp" in graded(with_length(-STALL_US), tmp_path).refused


@pytest.mark.live
def test_a_stall_cannot_be_put_elsewhere(stalled: RawRecords, tmp_path: Path) -> None:
    """Not before what the host did then, nor so that the run goes on in it; nor can a node's stall replace it."""
    place = the_stall(stalled)
    before, stall, after = stalled[:place], stalled[place], stalled[place + 1 :]
    end_us = stalled[-1]["at_us"]
    early = {**stall, "at_us": end_us, "lasted_us": end_us - 1}
    assert "but it was active then" in graded([*before, early, *after], tmp_path).refused
    ahead = {**stall, "at_us": 10 * end_us, "lasted_us": 10 * end_us - stall["at_us"] + stall["lasted_us"]}
    assert graded([*before, ahead, *after], tmp_path).refused
    of_nodes = [{**stall, "node": node} for node in range(1, 6)]
    assert graded([*before, *of_nodes, *(each for each in after if not of_host(each))], tmp_path).refused
    foreign = {**stall, "node": 77}
    assert "not in the header" in graded([*before, foreign, stall, *after], tmp_path).refused


@pytest.mark.live
def test_a_made_up_stall_excuses_no_later_delay(stalled: RawRecords, tmp_path: Path) -> None:
    """Short ones in every gap do not hide that a step is missing: each explains what it lasted, no more."""
    header = stalled[0]
    least_us = header["timing"]["tp_us"] + 1
    step = next(
        n
        for n, each in enumerate(stalled)
        if each["record"] == "step" and each["at_us"] > 500_000 and each["input"]["type"] == "received"
    )
    found: RawRecords = []
    before_us = 0
    for each in [*stalled[:step], *stalled[step + 1 :]]:
        at_us = each.get("at_us", 0)
        if at_us - before_us > least_us and each["record"] != "stall":
            found.append({"record": "stall", "at_us": at_us, "lasted_us": at_us - before_us - 1})
        before_us = max(before_us, at_us)
        found.append(each)
    assert graded(found, tmp_path).refused


def test_a_simulated_attempt_has_no_stalls(tmp_path: Path) -> None:
    """Nothing delays virtual time."""
    exercise = make_exercise(tmp_path)
    lines = read_lines(run_attempt(exercise, [], tmp_path / "run.jsonl"))
    end = lines[-1]
    put = {"record": "stall", "at_us": end["at_us"] + STALL_US, "lasted_us": STALL_US}
    path = write_lines(tmp_path / "edited.jsonl", chained([*lines[:-1], put, end]))
    assert "a simulated run has no stalls" in authenticity.authenticity_error(exercise, open_recording(path))
