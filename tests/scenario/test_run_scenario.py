"""Running scenarios: live and simulated, many at once, without leaving anything behind."""

import contextlib
import re
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import psutil
import pytest

from lab.cli.junit import format_junit
from lab.cli.scenario_check import junit_suites
from lab.recording.reader import open_recording
from lab.recording.records import Captioned, Header, Link
from lab.scenario.file import Scenario
from lab.scenario.report import ScenarioFinding, ScenarioReport
from lab.scenario.run_scenario import Job, LiveRun, config_of, jobs_of, run_all, run_simulated
from lab.text import sanitize
from lab.worlds.simulated import execution
from tests.scenario.recorded_runs import run_live
from tests.scenario.writing import written
from tests.waiting import wait_for

SCRIPT = """
when all normal: kill coordinator
then when 4 leads: say "4 leads now"
expect all.coordinator == 4 within 2s
expect no violation
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Scenario:
    """The coordinator dies, and 4 follows."""
    return written(tmp_path, SCRIPT, 'for = "2500ms"')


def _records(file: str) -> tuple[Header, list[str]]:
    with contextlib.closing(open_recording(Path(file))) as lines:
        return lines.header, [each.text for each in lines.records() if isinstance(each, Captioned)]


@pytest.mark.live
def test_live_and_simulated(scenario: Scenario, tmp_path: Path) -> None:
    """It passes in both; the recording has the title, the text of the file, and the caption."""
    for run, world in (run_simulated, "simulated"), (run_live, "live"):
        report = run(scenario, tmp_path / f"{world}.jsonl")
        assert report.passed, report.findings
        assert (report.world, report.took_s > 0) == (world, True)
        header, captions = _records(report.recording)
        assert (header.world, header.remark, header.scenario) == (world, scenario.title, scenario.text)
        assert captions == ["4 leads now"]


MULTIPLIES = """
from lab.protocols import Bully
from lab.kernel import Payload, on


class Again(Payload, frozen=True):
    pass


class Multiplies(Bully):
    def started(self) -> None:
        self.again(self.id, Again())

    @on(Again)
    def again(self, sender: int, message: Again) -> None:
        for peer in self.peers[:2]:
            self.send(peer, Again())
"""


def test_a_run_whose_messages_multiply_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the same record each time; the report says why it ended, and where."""
    (tmp_path / "broken.py").write_text(MULTIPLIES)
    grows = written(
        tmp_path, 'at 1ms: say "begun"', 'protocol = "broken.py:Multiplies"', 'nodes = "3"', 'for = "10m"'
    )
    monkeypatch.setattr(execution, "_RECORDS", 4_000)
    found = []
    for file in (tmp_path / "1.jsonl", tmp_path / "2.jsonl"):
        (finding,) = run_simulated(grows, file).findings
        assert finding.expected == "the run lasts 600s"
        assert re.search(
            r": its messages multiply: more than 12,000 records within .* of a run of 3 nodes$", finding.was
        )
        found.append(finding)
    assert found[0] == found[1]
    monkeypatch.setattr(execution, "_RECORDS", 20_000)
    monkeypatch.setattr(execution, "_MEGABYTES", 1)
    (finding,) = run_simulated(grows, tmp_path / "3.jsonl").findings
    assert re.search(r": its recording grows: more than 3 MB within .* of a run of 3 nodes$", finding.was)


@pytest.mark.live
def test_a_live_run_fails_for_the_same_reason(tmp_path: Path) -> None:
    """The report depends only on the records, not on the world."""
    failing = written(tmp_path, "when all normal: kill 5\nexpect 3 leads within 1s", 'for = "5s"')
    findings = run_live(failing, tmp_path / "run.jsonl").findings
    assert [(each.line, each.expected) for each in findings] == [(8, "expect 3 leads within 1s")]
    assert findings[0].was.startswith("timed out: 3 was ")


def test_the_default_latency_is_that_of_lab_run(scenario: Scenario, tmp_path: Path) -> None:
    """In simulation a quarter of Tm; live none."""
    tm_us = scenario.timing.tm_us
    assert config_of(scenario, "simulated", tmp_path).link == Link(tm_us // 4, tm_us // 8)
    assert config_of(scenario, "live", tmp_path).link == Link()
    given = msgspec.structs.replace(scenario, link=Link(1, 2))
    assert config_of(given, "live", tmp_path).link == Link(1, 2)


def test_jobs(scenario: Scenario, tmp_path: Path) -> None:
    """Each run has the next seed and its own file; only worlds that the scenario supports."""
    alone = written(tmp_path, SCRIPT, 'worlds = ["simulated"]', name="alone")
    jobs = jobs_of([scenario, alone], ("simulated", "live"), 2, tmp_path)
    assert [(job.scenario.name, job.world, job.scenario.seed) for job in jobs] == [
        ("tested", "simulated", 1),
        ("alone", "simulated", 1),
        ("tested", "simulated", 2),
        ("alone", "simulated", 2),
        ("tested", "live", 1),
        ("tested", "live", 2),
    ]
    assert len({job.recording for job in jobs}) == len(jobs)


@pytest.mark.live
def test_many_at_once(scenario: Scenario, tmp_path: Path) -> None:
    """On two processes the simulated runs have the same reports, in order; then the live runs."""
    jobs = jobs_of([scenario], ("simulated", "live"), 2, tmp_path)
    reports = list(run_all(jobs, 2))
    assert [report.world for report in reports] == ["simulated", "simulated", "live", "live"]
    assert all(report.passed for report in reports), reports
    here = list(run_all(jobs[:2], 1))
    assert [(each.seed, each.ended_us) for each in here] == [(each.seed, each.ended_us) for each in reports[:2]]


@pytest.mark.live
def test_one_that_cannot_run_is_reported(scenario: Scenario, tmp_path: Path) -> None:
    """Its folder does not exist; the others run."""
    jobs = [Job(scenario, world, str(tmp_path / "gone" / "run.jsonl")) for world in ("simulated", "live")]
    for report in run_all(jobs, 1):
        (finding,) = report.findings
        assert finding.expected == "the run completes"
        assert "gone/run.jsonl" in finding.was


@pytest.mark.live
def test_closing_the_iterator_ends_the_live_runs(scenario: Scenario, tmp_path: Path) -> None:
    """Their hosts and nodes end."""
    short = msgspec.structs.replace(scenario, ends_us=100_000)
    jobs = [Job(short, "live", str(tmp_path / "1.jsonl")), Job(scenario, "live", str(tmp_path / "2.jsonl"))]
    before = {process.pid for process in psutil.Process().children(recursive=True)}

    def started() -> list[psutil.Process]:
        return [each for each in psutil.Process().children(recursive=True) if each.pid not in before]

    reports = run_all(jobs, 2)
    next(reports)
    assert started()
    reports.close()
    assert started() == []


@pytest.mark.live
def test_a_live_run_can_be_ended_early(scenario: Scenario, tmp_path: Path) -> None:
    """Its recording is complete, and the report has the time of its end."""
    run = LiveRun(scenario, tmp_path / "run.jsonl")
    wait_for((tmp_path / "run.jsonl").exists, "the run has begun")
    assert not run.is_over
    run.end()
    with contextlib.closing(open_recording(tmp_path / "run.jsonl")) as lines:
        assert lines.header.remark == scenario.title


def test_junit(tmp_path: Path) -> None:
    """A suite per world, a case per run, and the failures as text."""
    failing = written(tmp_path, "when all normal: kill 5\nexpect 3 leads within 1s")
    failed = run_simulated(failing, tmp_path / "run.jsonl")
    passed = ScenarioReport("good", "good.scenario", "live", 3, (), 2_500_000, took_s=2.5)
    top = ElementTree.fromstring(format_junit(junit_suites([failed, passed])))
    live, simulated = top
    assert [(suite.get("name"), suite.get("tests"), suite.get("failures")) for suite in top] == [
        ("live", "1", "0"),
        ("simulated", "1", "1"),
    ]
    case = live[1]
    assert (case.get("classname"), case.get("name"), case.get("time")) == ("scenarios.good", "seed 3", "2.500")
    assert [each.get("value") for each in case[0]] == ["3"], "the seed"
    assert [each.tag for each in case] == ["properties"]
    failure = simulated[1][1]
    message = f"{failing.path}:8: expect 3 leads within 1s: timed out: 3 was Election"
    assert failure.get("message") == message
    assert failure.text == f"{message}\nrecorded: {failed.recording}"


def test_junit_of_any_name() -> None:
    """The name of a file may have characters that XML cannot hold, and need not be text."""
    finding = ScenarioFinding(1, "kill 5", "5 is down")
    for name in ("a\x1b[31mb", "a\x7f", "a\udcff"):
        report = ScenarioReport(name, f"{name}.scenario", "live", 3, (finding,), 1, recording=f"{name}.jsonl")
        (((_, case),)) = ElementTree.fromstring(format_junit(junit_suites([report])).encode())
        shown = sanitize(name)
        assert (case.get("classname"), case.get("file")) == (f"scenarios.{shown}", f"{shown}.scenario")
        assert (case[1].text or "").endswith(f"recorded: {shown}.jsonl")
