"""The report: what fails a scenario, each with the words that a user needs; and what does not."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.cli.scenario_report import report_lines
from lab.scenario.junit import as_junit
from lab.scenario.report import Report
from lab.scenario.running import report_on, run_simulated
from lab.script import Expect, parse
from tests.scenario.writing import written

BROKEN = '''"""Protocols that fail."""

from lab.kernel import on
from lab.protocols import Bully, Election, Status
from lab.protocols.bully import NewState, NewStateAnswer


class Brittle(Bully):
    """Node 2 raises when it is to be led by node 4."""

    def new_state(self, sender: int, message: NewState) -> NewStateAnswer | None:
        """Break."""
        if (self.id, sender) == (2, 4):
            raise RuntimeError("node 2 does not like node 4")
        return super().new_state(sender, message)


class Everyone(Election):
    """Every node leads itself."""

    promises = ("A1.1",)

    def started(self) -> None:
        """Begin by leading."""
        self.coordinator, self.status = self.id, Status.NORMAL
'''

CASES = {
    "an expectation that is not met in time": """
        when all normal: kill 5
        expect all.coordinator == 3 within 1s
    """,
    "an expectation at an instant": """
        when all normal: kill 5
        then expect all normal
        at 2s expect 1.coordinator == 3 or groups > 2
    """,
    "an expectation of the end": """
        when all normal: kill 5
        expect all.coordinator == 5 and live == 5
        expect not all normal
        expect all.up == 4.up
        expect 5 up
    """,
    "an inert fault in whose record another line strikes": """
        when faults == 1: lose 5->1 100%
        at 2s: lose 3->4 0%
        after 200ms: heal
    """,
    "an expectation that all are normal, and who keeps it from that": """
        when all normal: expect always all normal
        at 1s kill 5
        then when any election: expect all normal
    """,
    "an expectation of the whole run": """
        when all normal: kill 5
        then when any election: say "somebody has noticed"
        expect always coordinators >= 1
        expect never 4 suspects 5
    """,
    "a violation that does not come": """
        when all normal: kill 5
        expect violation A1.1
    """,
    "a violation that comes from something else": """
        when all normal: partition 1 2 | 3 4 5
        expect violation A1.1 under pause
    """,
    "a violation that must not be": """
        when all normal: partition 1 2 | 3 4 5
        expect no violation A1.1
    """,
    "a fault that touches nothing": """
        when all normal: lose 4->3 EnterElection 100%
        expect all normal
    """,
    "a trigger that never comes, and what waits behind it": """
        when 4.coordinator == 3: kill 3
        then expect all.coordinator == 4 within 1s
        then say "over"
        on send EnterElection 4->1: kill 4
        at 3s: after 2s: restart 3
    """,
    "what waits behind an expectation that is not met": """
        when all normal: kill 5
        expect 1 leads within 1s
        restart 5
    """,
    "a line whose turn does not come any more": """
        at 3900ms kill 5
        after 1s restart 5
    """,
    "a command that changes nothing": """
        when all normal: resume 4
        kill 3
        kill 3
    """,
    "a command that is refused": """
        at 0s kill coordinator
        say "and on"
    """,
}


def _told(report: Report) -> str:
    return "\n".join(report_lines(report)).replace(str(Path(report.path).parent) + "/", "")


def test_what_fails(tmp_path: Path, transcript: Callable[[str, str], None]) -> None:
    """Each with the line, what was expected, what was, and the record that shows it."""
    said = []
    for what, script in CASES.items():
        report = run_simulated(written(tmp_path, script.replace("\n        ", "\n")))
        assert not report.passed
        said.append(f"# {what}\n{script.strip().replace('        ', '')}\n\n{_told(report)}\n")
    transcript("scenario_reports", "\n".join(said))


def test_a_node_that_fails(tmp_path: Path) -> None:
    """An error of the protocol's own fails the scenario, and is told with its place in the file."""
    (tmp_path / "broken.py").write_text(BROKEN)
    script = "when all normal: kill 5\nexpect 4 leads within 2s"
    scenario = written(tmp_path, script, 'protocol = "broken.py:Brittle"')
    (finding,) = run_simulated(scenario).findings
    assert (finding.line, finding.expected) == (0, "no node fails by an error of its own code")
    assert finding.was.startswith("node 2 failed at 1.")
    assert finding.was.endswith(
        "RuntimeError: node 2 does not like node 4 (broken.py:14 in new_state: "
        'raise RuntimeError("node 2 does not like node 4"))'
    )
    expected = written(tmp_path, f"{script}\nexpect violation raises", 'protocol = "broken.py:Brittle"')
    assert run_simulated(expected).passed


def test_a_failure_that_no_line_expects(tmp_path: Path) -> None:
    """A1.1 broken with all assumptions intact fails it; where a line expects that, it does not."""
    (tmp_path / "broken.py").write_text(BROKEN)
    own = 'protocol = "broken.py:Everyone"'
    (finding,) = run_simulated(written(tmp_path, 'at 1s say "all lead"', own)).findings
    assert (finding.line, finding.expected) == (0, "A1.1 holds")
    assert finding.was.startswith("A1.1 fails with all assumptions intact: node 1 is Normal under 1")
    assert run_simulated(written(tmp_path, "expect violation A1.1", own)).passed
    (finding,) = run_simulated(written(tmp_path, "expect no violation", own)).findings
    assert finding.line > 0, "said once, at the line"


def test_what_is_outside_the_promise_fails_nothing(tmp_path: Path) -> None:
    """A violation under a broken assumption is no failure, whether a line expects it or not."""
    script = "when all normal: partition 1 2 | 3 4 5\nexpect 2 leads within 2s"
    assert run_simulated(written(tmp_path, script)).passed
    assert run_simulated(written(tmp_path, f"{script}\nexpect violation A1.1 under partition")).passed


def test_the_record_that_is_named_shows_it(tmp_path: Path) -> None:
    """Its number is that of the record that says that it was not met."""
    file = tmp_path / "run.jsonl"
    report = run_simulated(written(tmp_path, "when all normal: kill 5\nexpect 3 leads within 1s"), file)
    assert report.recording == str(file)
    (finding,) = report.findings
    assert finding.line_of_recording is not None
    line = file.read_text().splitlines()[finding.line_of_recording - 1]
    assert line.startswith('{"record":"expected"')
    assert f'"line":{finding.line}' in line


def test_a_machine_that_is_too_slow_is_said_to_be(tmp_path: Path) -> None:
    """In the last line on a live run that failed; not where a fault was the cause, nor where it is in the head."""
    file = tmp_path / "run.jsonl"
    slow = written(tmp_path, "expect always all normal", 'latency = "100ms"', 'jitter = "0s"')
    assert run_simulated(slow, file).too_slow == ""
    header, *records = file.read_text().splitlines()
    live = json.loads(header) | {"world": "live"}
    file.write_text("\n".join([json.dumps(live), *records, ""]))
    assert report_on(slow, file, 0).too_slow == "", "the head has it so"
    file.write_text("\n".join([json.dumps(live | {"link": {}}), *records, ""]))
    report = report_on(slow, file, 0)
    assert re.fullmatch(
        r"  the machine was too slow for T = 200ms \(a message of \d took 100ms to \d\): "
        r"run it again, or give a larger t",
        report_lines(report)[-1],
    )
    assert report.too_slow in as_junit([report])

    script = "when all normal: delay all 100ms\nexpect 3 leads within 1s"
    delayed = written(tmp_path, script, 'latency = "0s"', 'jitter = "0s"')
    run_simulated(delayed, file)
    header, *records = file.read_text().splitlines()
    file.write_text("\n".join([json.dumps(json.loads(header) | {"world": "live"}), *records, ""]))
    report = report_on(delayed, file, 0)
    assert report.findings
    assert report.too_slow == "", "it was the script that did it"


def test_a_recording_is_reported_on_alike(tmp_path: Path) -> None:
    """From the file alone, again and again; cut off, it fails for that."""
    scenario = written(tmp_path, "when all normal: kill 5\nexpect 4 leads within 2s\nexpect all normal")
    file = tmp_path / "run.jsonl"
    assert run_simulated(scenario, file).passed
    assert report_on(scenario, file, 0).passed
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(lines[: len(lines) // 2]))
    was = [finding.was for finding in report_on(scenario, file, 0).findings]
    assert was == ["the run ended before it was known", "the recording was cut off"]


def test_the_example_in_the_module_is_right(tmp_path: Path) -> None:
    """Values are told of the nodes that offend alone."""
    assert isinstance(parse("expect all.coordinator == 4").command, Expect)
    report = run_simulated(written(tmp_path, "at 1s expect all.coordinator == 5 and live < 5 and 3 down"))
    assert report.findings[0].was == "live was 5, 3 was running"


@pytest.mark.parametrize(
    ("script", "seeds"),
    [("when all normal: kill 5\nexpect 4 leads within 2s\nexpect no violation", range(1, 6))],
)
def test_what_passes(tmp_path: Path, script: str, seeds: range) -> None:
    """With whatever seed, and the same seed gives the same report."""
    for seed in seeds:
        scenario = written(tmp_path, script, f"seed = {seed}")
        first, second = (run_simulated(scenario) for _ in range(2))
        assert first.passed
        assert (first.seed, first.ended_us) == (second.seed, second.ended_us)
