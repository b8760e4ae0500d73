"""``lab check``: its options, its table, its findings and their reproduction."""

import contextlib
import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.cli.campaign_report import format_no_findings
from lab.properties.judge import Judge
from lab.protocols import Bully, source_of
from lab.recording.reader import open_recording
from lab.replay.reexecution import reexecute
from lab.worlds.campaign.campaign import CampaignTotals
from tests.cli.invocation import ROOT, Called, Lab
from tests.worlds.live import is_gone

MUTANTS = ROOT / "tests" / "campaign" / "mutants.py"
PAUSED = ("check", "bully", "--runs", "200", "--faults", "kill,pause", "--find", "A1.1", "--workers", "1")


def _written(lab: Lab) -> list[str]:
    return sorted(path.name for path in lab.folder.iterdir())


def _untimed(report: str) -> str:
    """Return the report without the time that it took."""
    return re.sub(r"in [\d,.]+ s$", "in … s", report, count=1, flags=re.MULTILINE)


def test_nothing_is_found(lab: Lab, transcript: Callable[[str, str], None]) -> None:
    """The table of a campaign without a finding; nothing is written."""
    called = lab("check", "bully", "--runs", "20", "--faults", "kill,loss", "--workers", "1")
    assert (called.status, called.err) == (0, "")
    transcript("check_nothing", _untimed(called.out))
    assert _written(lab) == []


def test_a_finding(lab: Lab, transcript: Callable[[str, str], None]) -> None:
    """Issue 3: the paused coordinator, shrunk to a few events, recorded and explained."""
    called = lab(*PAUSED)
    assert (called.status, called.err) == (1, "")
    transcript("check_finding", _untimed(called.out))
    assert [Path(name).suffix for name in _written(lab)] == [".jsonl", ".script"]


def test_a_finding_is_a_recording(lab: Lab) -> None:
    """It re-executes, has the same verdict, and the printed command gives the same bytes."""
    found = json.loads(lab(*PAUSED, "--json", "--out", "it is.jsonl").out)["finding"]
    path = lab.folder / "it is.jsonl"
    assert found["recording"] == path.name
    with contextlib.closing(open_recording(path)) as lines:
        judge = Judge(lines.header)
        for record in lines.records():
            judge.observe(record)
        assert found["text"] in map(str, judge.violations)
        assert reexecute(lines, Bully, source_of(Bully)[1]).differences == []
    words = shlex.split(found["rerun"])
    assert words[0] == "lab"
    again = lab(*words[1:], "--record", "again.jsonl")
    assert again.status == 0, again
    assert (lab.folder / "again.jsonl").read_bytes() == path.read_bytes()


def test_a_failure_of_a_mutant(lab: Lab) -> None:
    """A protocol in a file: the output calls it a failure, and --strict changes nothing."""
    called = lab("check", f"{MUTANTS}:NoHalt", "--workers", "1", "--out", "found.jsonl")
    assert called.status == 1
    assert "fails with all assumptions intact" in called.out
    assert "FAILURES: all relevant assumptions intact" in called.out
    words = shlex.split(called.out.rpartition("again:")[2])
    again = lab(*words[1:], "--record", "again.jsonl")
    assert again.status == 1, "a run is judged too"
    assert (lab.folder / "again.jsonl").read_bytes() == (lab.folder / "found.jsonl").read_bytes()


def test_json(lab: Lab) -> None:
    """One object with everything in the table; the same from one worker and from two."""
    one = lab("check", "bully", "--runs", "4", "--faults", "kill,partition", "--json", "--workers", "1")
    two = lab("check", "bully", "--runs", "4", "--faults", "kill,partition", "--json", "--workers", "2")
    assert one == two
    assert (one.status, one.err) == (0, "")
    result = json.loads(one.out)
    assert result["runs"] == 4
    assert result["finding"] is None
    assert set(result["faults"]) == {"kill", "partition"}
    assert all(each["broken"] == [8] for each in result["violations"])
    assert 0 < len(result["lines"]["not_reached"]) < result["lines"]["all"]


def test_what_was_at_once(lab: Lab) -> None:
    """Concurrent pairs, by assertion; the states of participants, of which some pairs must never be."""
    found = json.loads(lab("check", "3pc", "--runs", "4", "--faults", "kill", "--json").out)
    judged = {each["assertion"]: each for each in found["judged"]}
    assert judged["A1.1"]["at_once"] > 0
    assert judged["A6"]["at_once"] is None
    assert judged["A6"]["noun"] == "transaction"
    never = found["situations"]["never_at_once"]
    assert "committed and aborted" in never
    assert "uncertain and uncertain" not in never
    assert json.loads(lab("check", "bully", "--runs", "2", "--json").out)["situations"]["never_at_once"] == []


def test_transactions_are_counted(lab: Lab) -> None:
    """Without any transactions, the absence of findings would mean nothing. Elections have none."""
    words = ("--runs", "3", "--workers", "1")
    (line,) = [line for line in lab("check", "2pc", *words).out.splitlines() if " transactions: " in line]
    counted = json.loads(lab("check", "2pc", *words, "--json").out)["outcomes"]
    assert counted["noun"] == "transaction"
    result = counted["outcomes"]
    assert line.strip() == (
        f"{sum(result.values())} transactions: {result['committed']} committed, {result['aborted']} aborted, "
        f"{result.get('open', 0)} still open"
    )
    assert result["committed"] > 2
    assert json.loads(lab("check", "bully", *words, "--json").out)["outcomes"] is None


def test_keep_going(lab: Lab) -> None:
    """All runs are made, and the first finding is the same."""
    one = json.loads(lab(*PAUSED, "--json").out)
    all_ = json.loads(lab(*PAUSED[:3], "8", *PAUSED[4:], "--keep-going", "--json").out)
    assert one["runs"] < all_["runs"] == 8
    assert one["finding"] == all_["finding"]


def test_systematic(lab: Lab, transcript: Callable[[str, str], None]) -> None:
    """All crash points of two nodes; or what is left, if it is stopped; the smallest finding of a mutant."""
    called = lab("check", "bully", "--systematic", "2", "--nodes", "2", "--workers", "1")
    assert (called.status, called.err) == (0, "")
    transcript("check_systematic", _untimed(called.out))
    called = lab("check", "bully", "--systematic", "2", "--runs", "30")
    assert called.status == 0
    (left,) = re.findall(r"left: (\d+) runs with at most 2 events, and those that follow from these", called.out)
    assert int(left) > 30
    called = lab("check", f"{MUTANTS}:NoHalt", "--systematic", "2", "--workers", "1", "--json")
    assert called.status == 1
    assert len(json.loads(called.out)["finding"]["commands"]) <= 2


def test_strict(lab: Lab) -> None:
    """An excused violation counts as a finding."""
    options = ("check", "bully", "--runs", "8", "--faults", "pause", "--workers", "1")
    lax, strict = lab(*options), lab(*options, "--strict")
    assert (lax.status, strict.status) == (0, 1)
    assert "excused violations: see --strict, --find" in lax.out


def test_all_faults_have_a_short_table(lab: Lab) -> None:
    """However many sets of broken assumptions there are."""
    called = lab("check", "bully", "--runs", "60", "--faults", "all", "--workers", "1")
    rows = [line for line in called.out.splitlines() if "excused: " in line or "none" in line]
    assert len(rows) <= 15
    assert "more sets of assumptions" in called.out


@pytest.mark.parametrize(
    ("words", "output"),
    [
        (("--runs", "many"), "--runs many: write a whole number, 0 or more"),
        (("--seed", "-1"), "--seed -1: write a whole number, 0 or more"),
        (("--workers", "0"), "--workers 0: write a whole number, 1 or more"),
        (("--minutes", "0"), "--minutes 0: write a whole number, 1 or more"),
        (("--nodes", "3-x"), "--nodes 3-x: write a number (5) or a range (3-7)"),
        (("--nodes", "7-3"), "--nodes 7-3: expected 1 to 100 nodes, the lower number first: 3-7"),
        (("--nodes", "3-101"), "--nodes 3-101: expected 1 to 100 nodes, the lower number first: 3-7"),
        (
            ("--faults", "kill,pest"),
            "--faults kill,pest: unknown fault 'pest'; expected kill, pause, partition, delay, loss, duplicate, "
            "reorder, slow-disk, disk, wipe, or all",
        ),
        (("--systematic", "0"), "--systematic 0: write a whole number, 1 or more"),
        (("--systematic", "2", "--blind"), "--systematic 2 draws nothing: leave out --blind"),
        (
            ("--systematic", "2", "--faults", "kill,loss"),
            "--faults kill,loss: --systematic tries kill, pause, partition; the other kinds have no point at "
            "which they strike",
        ),
        (
            ("--find", "A9"),
            "--find A9: the assertions of bully are A1.1, A1.2, A2, highest, M7, stages, B10, spreads, "
            "defined, raises",
        ),
        (("--out", "found.txt"), "--out found.txt: name a .jsonl file; the script is written next to it"),
        (("--out", "mine.jsonl"), "--out mine.jsonl exists and is not a recording; name another file"),
        (("--t", "soon"), "--t: 'soon' is not a duration: write a number and a unit, such as 200ms, 1.5s or 2m"),
        (
            ("--set", "x=1"),
            "--set x=1: bully has no parameter 'x'; its parameters are check_every, coordinator_timeout, "
            "halting, silence, answering, without",
        ),
    ],
)
def test_mistakes(lab: Lab, words: tuple[str, ...], output: str) -> None:
    """One line each, before anything runs."""
    (lab.folder / "mine.jsonl").write_text("mine\n")
    assert lab.within("check", "bully", *words).refused() == output
    assert (lab.folder / "mine.jsonl").read_text() == "mine\n"


def test_no_cluster(lab: Lab) -> None:
    """An address without a scheduler."""
    pytest.importorskip("distributed")
    output = lab("check", "bully", "--runs", "1", "--cluster", "tcp://127.0.0.1:1")
    assert output.status == 2
    assert output.err.splitlines()[-1].startswith("lab: --cluster tcp://127.0.0.1:1: ")


def test_a_worker_that_dies(lab: Lab) -> None:
    """One line, and exit status 1."""
    called = lab("check", f"{MUTANTS.with_name('stubborn.py')}:Dies", "--runs", "40", "--workers", "2")
    assert called.status == 1
    assert called.line().startswith("a worker process died (killed, or out of memory)")


def test_ctrl_c(lab: Lab) -> None:
    """On a terminal with a progress line: the table so far, status 130, and no worker left."""
    called, process = lab.interrupted("check", "bully", "--runs", "0", "--workers", "2", when=rb"[1-9] runs in ")
    assert called.status == 130, called
    assert " runs from seed 1 on" in called.out
    assert is_gone(process, 5) == []


@pytest.mark.parametrize(
    ("text", "output"),
    [
        ("at 1s kill 1\n\nat 1s kil 2  # typo\n", "s.script:3: "),
        ("kill 9\n", "s.script:1: there is no node 9"),
    ],
)
def test_a_script_with_a_mistake(lab: Lab, text: str, output: str) -> None:
    """The error names the file and the line."""
    (lab.folder / "s.script").write_text(text)
    assert _run(lab, "--script", "s.script").refused().startswith(output)


def test_a_script_and_listed_nodes(lab: Lab) -> None:
    """``--script`` and ``--nodes 1,3,5``; a missing script."""
    (lab.folder / "s.script").write_text("# two of three\nat 1s kill 5\n")
    result = json.loads(_run(lab, "--script", "s.script", "--json").out)
    assert set(result["nodes"]) == {"1", "3", "5"}
    assert result["nodes"]["5"]["process"] == "killed"
    assert "no.script" in _run(lab, "--script", "no.script").refused()


def _run(lab: Lab, *words: str) -> Called:
    return lab("run", "bully", "--sim", "--headless", "--for", "3s", "--nodes", "1,3,5", "--seed", "1", *words)


def test_the_conclusion_of_an_interrupted_campaign() -> None:
    """None without a finished run; otherwise the number of runs."""
    table = CampaignTotals()
    assert (
        format_no_findings(Bully.promises, table, None, True)
        == "stopped before the first run was finished: no result"
    )
    table.runs = 1_200
    assert (
        format_no_findings(Bully.promises, table, "A2", True)
        == "stopped after 1,200 runs; no violation of A2 was found"
    )
    assert (
        format_no_findings(Bully.promises, table, None, False)
        == "no failure; judged in no run: A1.1, A1.2, A2, highest, M7, stages, B10, spreads, defined"
    )
    table.judged_runs.update({"A1.1": 1_200, "A2": 7})
    text = format_no_findings(Bully.promises, table, None, False)
    assert text.startswith("no failure: A1.1, A2 held in every")
    assert text.endswith("; judged in no run: A1.2, highest, M7, stages, B10, spreads, defined")
