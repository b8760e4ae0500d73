"""``lab check --workload``: what is found, the command that runs it again, campaign files, and the mistakes."""

import json
import shlex
from pathlib import Path

import pytest

import lab as api
from lab.api.run import Run
from tests.cli.invocation import ROOT, Lab

REGISTER = ROOT / "lab" / "guide" / "build" / "register.py"
SERVERS = ROOT / "tests" / "roles" / "servers.py"
CHECK = ("check", str(REGISTER), "--workload", "lin-kv", "--workers", "1", "--nodes", "3", "--t", "100ms")
PARTITION = ("--faults", "partition", "--runs", "25")


@pytest.fixture
def found(lab: Lab) -> Path:
    """Return the recording of a lost write."""
    done = lab(*CHECK, *PARTITION, "--out", "found.jsonl")
    assert done.status == 1, done.err
    assert "lin-kv fails: not linearizable" in done.out
    assert "history:  lab consistency found.jsonl" in done.out
    assert "availability" in done.out
    return lab.folder / "found.jsonl"


def test_the_command_that_runs_it_again_shows_the_same(lab: Lab, found: Path) -> None:
    """With the ids and seeds of the recording: the same history, record for record."""
    script = found.with_suffix(".script").read_text()
    again = next(line for line in script.splitlines() if line.startswith("# lab run")).removeprefix("# lab ")
    done = lab(*shlex.split(again), "--json", "--record", "again.jsonl")
    document = json.loads(done.out)
    assert done.status == 1
    assert document["workload"]["verdict"] == "fails"
    first = Run(found).workload
    assert first is not None
    assert document["workload"]["findings"] == list(map(str, first.findings))
    one, other = (path.read_text().splitlines()[1:] for path in (found, lab.folder / "again.jsonl"))
    assert other[: len(one) - 1] == one[:-1]


def test_its_recording_is_read_by_the_other_commands(lab: Lab, found: Path) -> None:
    """``lab consistency`` draws it, ``lab verify`` executes it again."""
    checked = lab("consistency", str(found))
    assert (checked.status, "linearizability fails" in checked.out) == (1, True)
    verified = lab("verify", str(found), "--protocol", str(REGISTER))
    assert "differs" not in verified.out
    assert "linearizability fails" in verified.out


def test_a_campaign_of_a_right_store_reports_what_it_judged(lab: Lab) -> None:
    """The operations and their outcomes, in the report's document; green."""
    done = lab(
        *("check", f"{SERVERS}:Backed", "--workload", "lin-kv", "--service", "lin-kv", "--clients", "2", "--rate"),
        *("10", "--runs", "4", "--nodes", "3", "--faults", "kill", "--workers", "1", "--json"),
    )
    document = json.loads(done.out)
    assert done.status == 0, done.err
    clients = document["clients"]
    assert clients["workload"] == "lin-kv"
    assert clients["called"] == clients["ok"] + clients["failed"] + clients["unknown"] > 100
    assert clients["availability"] == clients["ok"] / clients["called"]
    judged = {each["assertion"]: each for each in document["judged"]}
    assert judged["lin-kv"]["runs"] == 4
    assert judged["lin-kv"]["noun"] == "operation"


def test_what_was_judged_in_no_run_is_not_green(lab: Lab) -> None:
    """Without the service that its nodes ask, no operation has an answer."""
    done = lab(
        *("check", f"{SERVERS}:Backed", "--workload", "lin-kv", "--runs", "2", "--nodes", "3", "--faults", "kill"),
        *("--workers", "1", "--find", "lin-kv"),
    )
    assert done.status == 1
    assert "no run" in done.out


def test_a_campaign_goes_on_from_its_file(lab: Lab) -> None:
    """The file has the clients; other clients do not fit it. Its findings are grouped, and recorded on demand."""
    whole = (*CHECK, "--faults", "partition", "--keep-going", "--find", "lin-kv", "--json")
    lab(*whole, "--runs", "4", "--record", "whole.jsonl")
    lines = (lab.folder / "whole.jsonl").read_text().splitlines(keepends=True)
    (lab.folder / "torn.jsonl").write_text("".join(lines[:3]))
    resumed = lab(*whole, "--runs", "4", "--resume", "torn.jsonl")
    shown = [json.loads(lab("campaign", "show", f"{name}.jsonl", "--json").out) for name in ("whole", "torn")]
    assert resumed.status == 1
    assert {**shown[0], "took_us": 0} == {**shown[1], "took_us": 0}
    assert shown[0]["clients"]["called"] > 0
    assert {each["assertion"] for each in shown[0]["groups"]} == {"lin-kv"}
    refused = lab(*whole, "--runs", "4", "--resume", "torn.jsonl", "--clients", "2")
    assert refused.status == 2
    assert "the clients and services is lin-kv by as many as nodes, 5/s each there" in refused.err
    recorded = lab(
        *("campaign", "show", "whole.jsonl", "--group", "1", "--out", "one.jsonl", "--protocol", str(REGISTER))
    )
    assert recorded.status == 0, recorded.err
    assert lab("consistency", "one.jsonl").status == 1


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("bully", "--workload", "lin-kv"), "bully does not handle Read, Write, Cas"),
        ((str(REGISTER), "--workload", "lin-kw"), "did you mean lin-kv"),
        ((str(REGISTER), "--clients", "3"), "--clients requires --workload"),
        ((str(REGISTER), "--service", "lin-kw"), "did you mean lin-kv"),
        ((str(REGISTER), "--workload", "lin-kv", "--find", "A9"), "B10, spreads, defined, lin-kv, raises"),
        ((str(REGISTER), "--workload", "lin-kv", "--sandbox"), "cannot reach a node in a sandbox"),
    ],
)
def test_mistakes(lab: Lab, options: tuple[str, ...], expected: str) -> None:
    """Each is named, with what can be done."""
    done = lab("check", *options, "--runs", "1")
    assert (done.status, expected in done.err) == (2, True), done.err


def test_in_python() -> None:
    """``lab.check(…, workload=…)`` finds it, and returns the run with its history."""
    found = api.check(
        f"{REGISTER}:Register", workload="lin-kv", faults="partition", nodes=3, t="100ms", runs=25, find="lin-kv"
    )
    assert found.finding is not None
    assert not found.holds
    assert found.judged["lin-kv"] > 0
    assert "--workload lin-kv --clients" in found.rerun
    run = found.run
    assert run is not None
    assert run.workload is not None
    assert run.workload.word == "fails"


def test_mutants_are_killed_by_the_history(lab: Lab) -> None:
    """``lab mutate --workload``: a wrong store is noticed by its clients alone."""
    done = lab(
        *(
            "mutate",
            f"{SERVERS}:AtTheLowest",
            "--workload",
            "lin-kv",
            "--nodes",
            "3",
            "--faults",
            "kill",
            "--runs",
        ),
        *("4", "--only", "comparison", "--no-explore", "--workers", "1", "--t", "100ms", "--json"),
    )
    assert done.out, done.err
    document = json.loads(done.out)
    assert any(each["by"] == "lin-kv" for each in document["mutants"]), document["killed_by"]
