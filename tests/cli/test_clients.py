"""Runs with clients: what they call is recorded, judged, executed again, and struck by faults like all else."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lab.analysis.client_history import ClientHistory
from lab.histories.operations import History
from lab.recording.reader import open_recording
from tests.cli.invocation import Lab

SERVERS = Path(__file__).parents[1] / "roles" / "servers.py"
Run = Callable[..., dict[str, Any]]


@pytest.fixture
def run(lab: Lab) -> Run:
    """Run a protocol of ``servers`` in simulation with clients; return the document, with the exit status."""

    def run_it(name: str, *options: str) -> dict[str, Any]:
        done = lab(
            *("run", f"{SERVERS}:{name}", "--sim", "--headless", "--seed", "1", "--json", "--record", "run.jsonl"),
            *("--workload", "lin-kv", "--nodes", "3", *options),
        )
        found: dict[str, Any] = json.loads(done.out)
        return {**found, "status": done.status}

    return run_it


def _history(lab: Lab) -> History:
    store = open_recording(lab.folder / "run.jsonl")
    clients = ClientHistory(store.header)
    for record in store.records():
        clients.observe(record)
    return clients.history


def test_stores_that_know_nothing_of_each_other_are_not_linearizable(run: Run) -> None:
    """What a client of one node writes, those of another do not see."""
    done = run("Separate", "--for", "10s")
    assert done["status"] == 1
    assert done["workload"]["verdict"] == "fails"
    assert done["workload"]["operations"]["called"] > 60
    assert "fits in no order" in done["workload"]["findings"][0]


def test_one_store_is_linearizable(run: Run) -> None:
    """The clients of the lowest node are served, the others refused: of these, nothing happened."""
    done = run("AtTheLowest", "--for", "10s")
    assert (done["status"], done["workload"]["verdict"]) == (0, "holds")
    operations = done["workload"]["operations"]
    assert operations["ok"] >= 10
    assert operations["fail"] > operations["ok"]
    assert operations["info"] == 0


def test_the_cluster_is_what_it_was_without_clients(run: Run) -> None:
    """They are no nodes of it: not in its summary, not among those that must agree."""
    done = run("AtTheLowest", "--for", "5s")
    assert [*done["nodes"]] == ["1", "2", "3"]
    assert done["elections"][-1]["coordinator"] == 3
    assert {each["verdict"] for each in done["verdicts"]} == {"holds"}


def test_a_dead_server_leaves_operations_without_an_outcome(run: Run, lab: Lab) -> None:
    """A write may have happened: its client goes on under a new name. A read has simply failed."""
    done = run("AtTheLowest", "--for", "12s", "--do", "at 4s kill 1", "--do", "at 8s restart 1")
    assert done["workload"]["verdict"] == "holds"
    history = _history(lab)
    lost = [each for each in history.operations if each.error is not None and each.error.code == 0]
    assert {each.outcome for each in lost if each.f == "read"} <= {"fail"}
    unknown = [each for each in lost if each.f != "read"]
    assert unknown
    assert {each.outcome for each in unknown} == {"info"}
    assert f"{unknown[0].process.partition('.')[0]}.1" in history.processes


def test_faults_strike_clients_and_their_links(run: Run, lab: Lab) -> None:
    """A crashed client calls nothing, and its operation has no outcome; a cut link loses requests."""
    done = run("AtTheLowest", "--for", "8s", "--do", "at 2s kill 4", "--do", "at 2s cut 5->2")
    assert {each["command"]: each["touched"] > 0 for each in done["faults"]} == {"kill c4": True, "cut 5->2": True}
    late = [each for each in _history(lab).operations if each.invoked_at_us > 2_100_000]
    assert not [each for each in late if each.process.startswith("c4")]
    assert [each for each in late if each.process.startswith("c5") and each.outcome != "ok"]


@pytest.mark.parametrize(
    "faults", [(), ("--do", "at 2s kill 4", "--do", "at 3s restart 4", "--do", "at 4s lose 5->2 50%")]
)
def test_it_is_executed_again(run: Run, lab: Lab, faults: tuple[str, ...]) -> None:
    """Every step of clients, too; verify gives the verdict on the history, and consistency the history itself."""
    first = run("Separate", "--for", "10s", *faults)
    verified = json.loads(lab("verify", "run.jsonl", "--protocol", f"{SERVERS}:Separate", "--json").out)[
        "recordings"
    ][0]
    assert verified["differences"] == []
    assert verified["workload"] == first["workload"]
    checked = lab("consistency", "run.jsonl", "--out", "history.edn", "--json")
    found = json.loads(checked.out)
    assert (found["workload"], found["verdict"]) == ("lin-kv", "fails")
    again = json.loads(lab("consistency", "history.edn", "--workload", "lin-kv", "--json").out)
    assert {**again, "file": ""} == {**found, "file": ""}


def test_an_edited_answer_is_found(run: Run, lab: Lab) -> None:
    """A client that claims to have asked for something else does not re-execute."""
    run("Separate", "--for", "4s")
    path = lab.folder / "run.jsonl"
    text = path.read_text()
    assert '"kind":"Write","body":{"key":' in text
    path.write_text(text.replace('"kind":"Write","body":{"key":', '"kind":"Write","body":{"Key":', 1))
    verified = lab("verify", "run.jsonl", "--protocol", f"{SERVERS}:Separate")
    assert verified.status == 1
    assert "differs" in verified.out


def test_a_branch_has_the_clients(run: Run, lab: Lab) -> None:
    """It goes on from the middle of a run, with what they had called."""
    run("Separate", "--for", "6s")
    done = lab(
        *("branch", "run.jsonl", "--at", "3s", "--for", "6s", "--headless", "--record", "branch.jsonl"),
        *("--protocol", f"{SERVERS}:Separate"),
    )
    assert done.status in (0, 1), done.err
    store = open_recording(lab.folder / "branch.jsonl")
    clients = ClientHistory(store.header)
    for record in store.records():
        clients.observe(record)
    assert max(each.invoked_at_us for each in clients.history.operations) > 3_500_000
    verified = json.loads(lab("verify", "branch.jsonl", "--protocol", f"{SERVERS}:Separate", "--json").out)
    assert verified["recordings"][0]["differences"] == []


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("bully", "--workload", "lin-kv"), "bully does not handle Read, Write, Cas"),
        ((f"{SERVERS}:Separate", "--workload", "lin-kw"), "did you mean lin-kv"),
        ((f"{SERVERS}:Separate", "--clients", "3"), "--clients requires --workload"),
        ((f"{SERVERS}:Separate", "--rate", "3"), "--rate requires --workload"),
        ((f"{SERVERS}:Separate", "--workload", "lin-kv", "--clients", "0"), "from 1 to 64"),
        ((f"{SERVERS}:Separate", "--service", "lin-kw"), "did you mean lin-kv"),
        ((f"{SERVERS}:Separate", "--workload", "lin-kv", "--sandbox"), "cannot reach a node in a sandbox"),
        (("coordinator-dies", "--workload", "lin-kv"), "--workload"),
    ],
)
def test_mistakes(lab: Lab, options: tuple[str, ...], expected: str) -> None:
    """Each is named, with what can be done."""
    done = lab("run", *options, "--sim", "--headless", "--for", "2s")
    assert done.status == 2
    assert expected in done.err, done.err


def test_a_recording_without_clients_has_no_history(lab: Lab) -> None:
    """``lab consistency`` says so."""
    lab("run", "bully", "--sim", "--headless", "--for", "2s", "--record", "none.jsonl")
    done = lab("consistency", "none.jsonl")
    assert (done.status, "this run has no clients" in done.err) == (2, True)


def test_an_unknown_node_is_refused_with_the_names(lab: Lab, run: Run) -> None:
    """Clients and services have names, by which they are shown."""
    run("Separate", "--for", "2s", "--clients", "2")
    refused = lab.within("show", "run.jsonl", "--node", "c9").refused()
    assert refused == "--node c9: no such node; the nodes of this run are 1-3 c4 c5"
    assert lab.within("show", "run.jsonl", "--node", "c4").status == 0


def test_a_run_that_is_too_short_for_clients_gives_the_reason(run: Run) -> None:
    """They begin a little after the start, and stop before the end, for the answers that are still due."""
    workload = run("Separate", "--for", "300ms", "--t", "200ms")["workload"]
    assert workload["verdict"] == "not judged"
    assert workload["evidence"] == (
        "no operation was called: the clients begin 200ms after the start, and stop before the end; "
        "let it run for longer"
    )
