"""The report: what makes a scenario fail, with the messages for the user; and what does not."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from lab.cli.junit import format_junit
from lab.cli.scenario_check import format_report, junit_suites
from lab.recording.records import Expected, Stall
from lab.scenario.report import ScenarioReport, ScriptChecker
from lab.scenario.run_scenario import report_on, run_simulated
from lab.script.parse import parse, read_script
from lab.script.statements import Expect
from tests.properties.recorded import Records
from tests.scenario.writing import written

BROKEN = '''"""Protocols that fail."""

from lab.kernel import on
from lab.protocols import Bully, Election, Status
from lab.protocols.bully import NewState, NewStateAnswer


class Brittle(Bully):
    """Node 2 raises when it is to be led by node 4."""

    def on_new_state(self, sender: int, message: NewState) -> NewStateAnswer | None:
        """Break."""
        if (self.id, sender) == (2, 4):
            raise RuntimeError("node 2 does not like node 4")
        return super().on_new_state(sender, message)


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
    "an expectation at a time": """
        when all normal: kill 5
        then expect all normal
        at 2s expect 1.coordinator == 3 or groups > 2
    """,
    "an expectation at the end": """
        when all normal: kill 5
        expect all.coordinator == 5 and live == 5
        expect not all normal
        expect all.up == 4.up
        expect 5 up
    """,
    "an inert fault whose record triggers another line": """
        when faults == 1: lose 5->1 100%
        at 2s: lose 3->4 0%
        after 200ms: heal
    """,
    "an expectation that all are normal, and the nodes that are not": """
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
    "a violation that does not happen": """
        when all normal: kill 5
        expect violation A1.1
    """,
    "a violation with another cause": """
        when all normal: partition 1 2 | 3 4 5
        expect violation A1.1 under pause
    """,
    "a violation that must not happen": """
        when all normal: partition 1 2 | 3 4 5
        expect no violation A1.1
    """,
    "an inert fault": """
        when all normal: lose 4->3 EnterElection 100%
        expect all normal
    """,
    "a trigger that never fires, and the lines after it": """
        when 4.coordinator == 3: kill 3
        then expect all.coordinator == 4 within 1s
        then say "over"
        on send EnterElection 4->1: kill 4
        at 3s: after 2s: restart 3
    """,
    "the lines after an expectation that is not met": """
        when all normal: kill 5
        expect 1 leads within 1s
        restart 5
    """,
    "a line that is not due before the end": """
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


def _format_report(report: ScenarioReport) -> str:
    return "\n".join(format_report(report)).replace(str(Path(report.path).parent) + "/", "")


def test_failures(tmp_path: Path, transcript: Callable[[str, str], None]) -> None:
    """Each with the line, what was expected, what was, and the record that shows it."""
    texts = []
    for what, script in CASES.items():
        report = run_simulated(written(tmp_path, script.replace("\n        ", "\n")))
        assert not report.passed
        texts.append(f"# {what}\n{script.strip().replace('        ', '')}\n\n{_format_report(report)}\n")
    transcript("scenario_reports", "\n".join(texts))


def test_a_node_that_fails(tmp_path: Path) -> None:
    """An error in the protocol makes the scenario fail, and is reported with its place in the file."""
    (tmp_path / "broken.py").write_text(BROKEN)
    script = "when all normal: kill 5\nexpect 4 leads within 2s"
    scenario = written(tmp_path, script, 'protocol = "broken.py:Brittle"')
    (finding,) = run_simulated(scenario).findings
    assert (finding.line, finding.expected) == (0, "no node fails because of an error in its own code")
    assert finding.was.startswith("node 2 failed at 1.")
    assert finding.was.endswith(
        "RuntimeError: node 2 does not like node 4 (broken.py:14 in on_new_state: "
        'raise RuntimeError("node 2 does not like node 4"))'
    )
    expected = written(tmp_path, f"{script}\nexpect violation raises", 'protocol = "broken.py:Brittle"')
    assert run_simulated(expected).passed


def test_a_failure_that_no_line_expects(tmp_path: Path) -> None:
    """A violation of A1.1 with all assumptions intact is a failure, unless a line expects it."""
    (tmp_path / "broken.py").write_text(BROKEN)
    own = 'protocol = "broken.py:Everyone"'
    (finding,) = run_simulated(written(tmp_path, 'at 1s say "all lead"', own)).findings
    assert (finding.line, finding.expected) == (0, "A1.1 holds")
    assert finding.was.startswith("A1.1 fails with all assumptions intact: node 1 is Normal under 1")
    assert run_simulated(written(tmp_path, "expect violation A1.1", own)).passed
    (finding,) = run_simulated(written(tmp_path, "expect no violation", own)).findings
    assert finding.line > 0, "reported once, at the line"


def test_an_excused_violation_is_no_failure(tmp_path: Path) -> None:
    """Even if no line expects it."""
    script = "when all normal: partition 1 2 | 3 4 5\nexpect 2 leads within 2s"
    assert run_simulated(written(tmp_path, script)).passed
    assert run_simulated(written(tmp_path, f"{script}\nexpect violation A1.1 under partition")).passed


def test_the_record_of_a_finding(tmp_path: Path) -> None:
    """It is the record of the unmet expectation."""
    file = tmp_path / "run.jsonl"
    report = run_simulated(written(tmp_path, "when all normal: kill 5\nexpect 3 leads within 1s"), file)
    assert report.recording == str(file)
    (finding,) = report.findings
    assert finding.line_of_recording is not None
    line = file.read_text().splitlines()[finding.line_of_recording - 1]
    assert line.startswith('{"record":"expected"')
    assert f'"line":{finding.line}' in line


def test_a_machine_that_is_too_slow_is_reported(tmp_path: Path) -> None:
    """In the last line on a failed live run; not if a fault or the head is the cause."""
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
        format_report(report)[-1],
    )
    assert report.too_slow in format_junit(junit_suites([report]))

    script = "when all normal: delay all 100ms\nexpect 3 leads within 1s"
    delayed = written(tmp_path, script, 'latency = "0s"', 'jitter = "0s"')
    run_simulated(delayed, file)
    header, *records = file.read_text().splitlines()
    file.write_text("\n".join([json.dumps(json.loads(header) | {"world": "live"}), *records, ""]))
    report = report_on(delayed, file, 0)
    assert report.findings
    assert report.too_slow == "", "it was the script that did it"


def test_reports_on_a_recording_are_the_same(tmp_path: Path) -> None:
    """From the file alone, repeatedly; a truncated one fails for that reason."""
    scenario = written(tmp_path, "when all normal: kill 5\nexpect 4 leads within 2s\nexpect all normal")
    file = tmp_path / "run.jsonl"
    assert run_simulated(scenario, file).passed
    assert report_on(scenario, file, 0).passed
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(lines[: len(lines) // 2]))
    was = [finding.was for finding in report_on(scenario, file, 0).findings]
    assert was == ["the run ended before its result was known", "the recording is truncated"]


def test_only_values_of_the_offending_nodes_are_reported(tmp_path: Path) -> None:
    assert isinstance(parse("expect all.coordinator == 4").command, Expect)
    report = run_simulated(written(tmp_path, "at 1s expect all.coordinator == 5 and live < 5 and 3 down"))
    assert report.findings[0].was == "live was 5, 3 was running"


@pytest.mark.parametrize(
    ("script", "seeds"),
    [("when all normal: kill 5\nexpect 4 leads within 2s\nexpect no violation", range(1, 6))],
)
def test_scenarios_that_pass(tmp_path: Path, script: str, seeds: range) -> None:
    """With any seed; the same seed gives the same report."""
    for seed in seeds:
        scenario = written(tmp_path, script, f"seed = {seed}")
        first, second = (run_simulated(scenario) for _ in range(2))
        assert first.passed
        assert (first.seed, first.ended_us) == (second.seed, second.ended_us)


def test_a_time_limit_names_the_stall_of_the_machine() -> None:
    """So does the message that it was too slow, in a live run."""
    script = read_script("at 100ms expect 3 leads within 500ms")
    records = Records().after(11_600_000)
    header = replace(records.header, world="live")
    checker = ScriptChecker(script, 12_000_000, header)
    expected = Expected(records.at_us, script[0].source, False, "timed out", script[0].line)
    for record in (header, *records.add(Stall(records.at_us, 11_400_000)).add(expected).records[1:]):
        checker.observe(record)
    (found, *_) = checker.findings()
    assert found.was.endswith("; the machine stood still for 11.4s")
    assert "(the machine stood still for 11.4s): run it again" in checker.too_slow
