"""Running scenarios: live as in simulation, many at once, and nothing that is left of them."""

import contextlib
import re
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import psutil
import pytest

from lab.recording.reader import open_recording
from lab.recording.records import Captioned, Header, Link
from lab.scenario.file import Scenario
from lab.scenario.junit import as_junit
from lab.scenario.many import Job, jobs_of, run_all
from lab.scenario.report import Finding, Report
from lab.scenario.running import LiveRun, config_of, run_live, run_simulated
from lab.text import sanitize
from lab.worlds.simulated import runaway
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


def test_one_that_grows_without_end_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At a certain record, so at the same one each time; the report says why it ended, and where."""
    (tmp_path / "broken.py").write_text(MULTIPLIES)
    grows = written(
        tmp_path, 'at 1ms: say "begun"', 'protocol = "broken.py:Multiplies"', 'nodes = "3"', 'for = "10m"'
    )
    found = []
    for file in (tmp_path / "1.jsonl", tmp_path / "2.jsonl"):
        (finding,) = run_simulated(grows, file).findings
        assert finding.expected == "the run goes on for 600s"
        assert re.search(
            r": its messages multiply: more than 60,000 records within .* of a run of 3 nodes$", finding.was
        )
        found.append(finding)
    assert found[0] == found[1]
    monkeypatch.setattr(runaway, "_MEGABYTES", 1)
    (finding,) = run_simulated(grows, tmp_path / "3.jsonl").findings
    assert re.search(r": what it records grows: more than 3 MB within .* of a run of 3 nodes$", finding.was)


def test_live_it_fails_for_the_same_reason(tmp_path: Path) -> None:
    """The report is of the records, whatever world they are from."""
    failing = written(tmp_path, "when all normal: kill 5\nexpect 3 leads within 1s", 'for = "1600ms"')
    findings = run_live(failing).findings
    assert [(each.line, each.expected) for each in findings] == [(8, "expect 3 leads within 1s")]
    assert findings[0].was.startswith("its time is up: 3 was ")


def test_messages_take_as_long_as_lab_run_lets_them(scenario: Scenario, tmp_path: Path) -> None:
    """Where the head says nothing: in simulation a quarter of Tm; live no longer than they do."""
    tm_us = scenario.timing.tm_us
    assert config_of(scenario, "simulated", tmp_path).link == Link(tm_us // 4, tm_us // 8)
    assert config_of(scenario, "live", tmp_path).link == Link()
    given = msgspec.structs.replace(scenario, link=Link(1, 2))
    assert config_of(given, "live", tmp_path).link == Link(1, 2)


def test_jobs(scenario: Scenario, tmp_path: Path) -> None:
    """Each run of a scenario has the next seed, and a file of its own; only in worlds that it is for."""
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


def test_many_at_once(scenario: Scenario, tmp_path: Path) -> None:
    """On two processes the simulated ones come out as they do here, in their order; then the live ones."""
    jobs = jobs_of([scenario], ("simulated", "live"), 2, tmp_path)
    reports = list(run_all(jobs, 2))
    assert [report.world for report in reports] == ["simulated", "simulated", "live", "live"]
    assert all(report.passed for report in reports), reports
    here = list(run_all(jobs[:2], 1))
    assert [(each.seed, each.ended_us) for each in here] == [(each.seed, each.ended_us) for each in reports[:2]]


def test_one_that_cannot_run_is_reported(scenario: Scenario, tmp_path: Path) -> None:
    """No folder to record in: the others go on."""
    jobs = [Job(scenario, world, str(tmp_path / "gone" / "run.jsonl")) for world in ("simulated", "live")]
    for report in run_all(jobs, 1):
        (finding,) = report.findings
        assert finding.expected == "the run can be done"
        assert "gone/run.jsonl" in finding.was


def test_nothing_is_left_of_those_that_are_not_waited_for(scenario: Scenario, tmp_path: Path) -> None:
    """Closing the iterator ends the hosts and their nodes."""
    short = msgspec.structs.replace(scenario, ends_us=100_000)
    jobs = [Job(short, "live", str(tmp_path / "1.jsonl")), Job(scenario, "live", str(tmp_path / "2.jsonl"))]
    before = {process.pid for process in psutil.Process().children(recursive=True)}

    def started() -> list[psutil.Process]:
        return [each for each in psutil.Process().children(recursive=True) if each.pid not in before]

    reports = run_all(jobs, 2)
    next(reports)
    assert started()
    reports.close()  # type: ignore[attr-defined]
    assert started() == []


def test_a_live_run_can_be_ended_early(scenario: Scenario, tmp_path: Path) -> None:
    """Its recording is whole, and the report says how far it came."""
    run = LiveRun(scenario, tmp_path / "run.jsonl")
    wait_for((tmp_path / "run.jsonl").exists, "the run has begun")
    assert not run.is_over
    run.end()
    with contextlib.closing(open_recording(tmp_path / "run.jsonl")) as lines:
        assert lines.header.remark == scenario.title


def test_junit(tmp_path: Path) -> None:
    """A suite for each world, a case for each run, and what failed in words."""
    failing = written(tmp_path, "when all normal: kill 5\nexpect 3 leads within 1s")
    failed = run_simulated(failing, tmp_path / "run.jsonl")
    passed = Report("good", "good.scenario", "live", 3, (), 2_500_000, took_s=2.5)
    top = ElementTree.fromstring(as_junit([failed, passed]))
    live, simulated = top
    assert [(suite.get("name"), suite.get("tests"), suite.get("failures")) for suite in top] == [
        ("live", "1", "0"),
        ("simulated", "1", "1"),
    ]
    (case,) = live
    assert (case.get("classname"), case.get("name"), case.get("time")) == ("scenarios.good", "seed 3", "2.500")
    assert len(case) == 0
    ((failure,),) = simulated
    message = f"{failing.path}:8: expect 3 leads within 1s: its time is up: 3 was Election"
    assert failure.get("message") == message
    assert failure.text == f"{message}\nrecorded: {failed.recording}"


def test_junit_of_any_name() -> None:
    """The name of a file may have what XML cannot hold, and need not be text."""
    finding = Finding(1, "kill 5", "5 is down")
    for name in ("a\x1b[31mb", "a\x7f", "a\udcff"):
        report = Report(name, f"{name}.scenario", "live", 3, (finding,), 1, recording=f"{name}.jsonl")
        ((case,),) = ElementTree.fromstring(as_junit([report]).encode())
        shown = sanitize(name)
        assert (case.get("classname"), case.get("file")) == (f"scenarios.{shown}", f"{shown}.scenario")
        assert (case[0].text or "").endswith(f"recorded: {shown}.jsonl")
