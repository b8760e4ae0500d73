"""``lab run --headless``: the report, for programs and for people."""

import json
import re
from typing import Any

import pytest

from lab.properties.assertions import ASSERTIONS
from tests.cli.invocation import Called, Lab

KEYS = [
    *("format", "world", "protocol", "settings", "nodes", "elections", "messages", "faults", "notes", "figures"),
    *("duration_us", "recording", "verdicts", "scenario", "workload"),
]
NODE_KEYS = ["alive", "process", "status", "coordinator", "up", "definition_version", "group"]
ELECTION_KEYS = ["lost_at_us", "settled_at_us", "coordinator"]
FAULT_KEYS = ["command", "touched", "messages", "assumptions"]
VERDICT_KEYS = ["assertion", "verdict", "rests_on", "failures", "excused", "first"]


def _json(done: Called) -> dict[str, Any]:
    assert (done.status, done.err) == (0, "")
    assert done.out.count("\n") == 1
    found: dict[str, Any] = json.loads(done.out)
    assert list(found) == KEYS
    assert [list(node) for node in found["nodes"].values()] == [NODE_KEYS] * len(found["nodes"])
    assert [list(election) for election in found["elections"]] == [ELECTION_KEYS] * len(found["elections"])
    assert [list(fault) for fault in found["faults"]] == [FAULT_KEYS] * len(found["faults"])
    assert [list(verdict) for verdict in found["verdicts"]] == [VERDICT_KEYS] * len(found["verdicts"])
    return found


@pytest.mark.live
def test_kill_and_restart_as_json(lab: Lab) -> None:
    """One object with the documented keys."""
    done = lab(
        *("run", "bully", "--headless", "--for", "5s", "--json"),
        *("--do", "at 1s kill 5", "--do", "at 3s restart 5", "--do", "at 4.5s cut 1->2"),
    )
    found = _json(done)
    assert (found["world"], found["protocol"]) == ("live", "bully")
    assert 5_000_000 <= found["duration_us"] < 6_000_000
    assert list(found["nodes"]) == ["1", "2", "3", "4", "5"]
    version = found["nodes"]["5"]["definition_version"]
    for name, node in found["nodes"].items():
        others = [other for other in range(1, 6) if other != int(name)]
        assert node == {
            "alive": True,
            "process": "running",
            "status": "Normal",
            "coordinator": 5,
            "up": others,
            "definition_version": version,
            "group": None,
        }
    first, second, third = found["elections"]
    assert first["lost_at_us"] is None
    assert [first["coordinator"], second["coordinator"], third["coordinator"]] == [5, 4, 5]
    assert 1_000_000 <= second["lost_at_us"] < second["settled_at_us"] < 3_000_000 < third["settled_at_us"]
    kill, cut = found["faults"]
    assert (kill["command"], kill["touched"], kill["assumptions"]) == ("kill 5", 1, [])
    assert cut["command"] == "cut 1->2"
    assert cut["touched"] == cut["messages"]
    assert cut["assumptions"]
    assert all(count > 0 for count in found["messages"].values())
    assert found["messages"]["EnterElection"] >= 4
    assert [verdict["assertion"] for verdict in found["verdicts"]] == [
        "A1.1",
        "A1.2",
        "A2",
        "highest",
        "M7",
        "stages",
        "B10",
        "spreads",
        "defined",
    ]
    assert [verdict["failures"] for verdict in found["verdicts"]] == [0] * 9
    assert lab("verify", found["recording"]).status == 0


@pytest.mark.live
def test_a_killed_node_as_json(lab: Lab) -> None:
    """It is not alive; a paused one is."""
    done = lab(
        *("run", "bully", "--headless", "--for", "1500ms", "--json", "--nodes", "0-2"),
        *("--do", "at 1s kill 2", "--do", "at 1s pause 1"),
    )
    found = _json(done)
    assert list(found["nodes"]) == ["0", "1", "2"]
    killed, paused = found["nodes"]["2"], found["nodes"]["1"]
    assert (killed["alive"], killed["process"], killed["status"]) == (False, "killed", "Down")
    assert (killed["coordinator"], killed["up"]) == (None, [])
    assert (paused["alive"], paused["process"]) == (True, "paused")
    assert [fault["assumptions"] for fault in found["faults"]] == [[], [9]]


@pytest.mark.live
def test_the_report_as_text(lab: Lab) -> None:
    """Nodes, elections, faults and the recording; inert faults and commands that were never due are named."""
    done = lab(
        *("run", "bully", "--headless", "--for", "1500ms", "--nodes", "3", "--record", "a.jsonl"),
        *("--do", "when all normal delay 3->1  1ms", "--do", "wipe 1", "--do", "on send  NewState 1->2 kill 2"),
    )
    assert (done.status, done.err) == (1, "lab: never due: on send NewState 1->2 kill 2\n")
    output = re.sub(r" \((\d+ (?:states|stages|definitions)|agreed|held)[^\n]*\)\n", " (…)\n", done.out)
    output = re.sub(r"\d+ messages", "N messages", re.sub(r"\d\.\d+ ?s\b", "N s", output))
    assert output.replace(str(lab.folder), "FOLDER") == (
        "bully, live, N s\n"
        "  node 1  running  Normal under 3\n"
        "  node 2  running  Normal under 3\n"
        "  node 3  running  Normal under 3\n"
        "  N s  all under 3\n"
        "  fault: wipe 1, N messages  (inert: no effect)\n"
        "  fault: delay 3->1 1ms, N messages\n"
        "  without effect: wipe 1 (nothing is stored on 1)\n"
        "  N messages; recorded in FOLDER/a.jsonl\n"
        f"  A1.1 holds: {ASSERTIONS['A1.1'].statement} (…)\n"
        f"  A1.2 holds: {ASSERTIONS['A1.2'].statement} (…)\n"
        f"  A2 holds: {ASSERTIONS['A2'].statement} (…)\n"
        f"  highest holds: {ASSERTIONS['highest'].statement} (…)\n"
        f"  M7 holds: {ASSERTIONS['M7'].statement} (…)\n"
        f"  stages holds: {ASSERTIONS['stages'].statement} (…)\n"
        f"  B10 holds: {ASSERTIONS['B10'].statement} (…)\n"
        f"  spreads holds: {ASSERTIONS['spreads'].statement} (…)\n"
        f"  defined holds: {ASSERTIONS['defined'].statement} (…)\n"
    )


@pytest.mark.live
def test_timing_and_parameters_are_recorded(lab: Lab) -> None:
    """Tm, Tp, the seed and the parameters."""
    done = lab(
        *("run", "bully", "--headless", "--for", "1s", "--record", "a.jsonl", "--tm", "40ms", "--tp", "20ms"),
        *("--set", "check_every=100ms", "--set", "coordinator_timeout=500ms"),
        *("--seed", "7", "--latency", "3ms", "--jitter", "1ms"),
    )
    assert done.status == 0, done
    header = json.loads((lab.folder / "a.jsonl").read_bytes().split(b"\n")[0])
    assert header["timing"] == {"tm_us": 40_000, "tp_us": 20_000}
    assert header["protocol"]["parameters"] == {"check_every_us": 100_000, "coordinator_timeout_us": 500_000}
    assert (header["seed"], header["link"]) == (7, {"latency_us": 3_000, "jitter_us": 1_000})


@pytest.mark.parametrize("words", [(), ("--for", "3s")])
def test_the_interface_needs_a_terminal(lab: Lab, words: tuple[str, ...]) -> None:
    """Nothing is started without one."""
    assert "requires a terminal; without one: lab run" in lab("run", "bully", *words).refused()
    assert not list(lab.recordings.glob("*"))


@pytest.mark.live
def test_a_refused_command_is_reported(lab: Lab) -> None:
    """1, with the reason: at the start no node is coordinator."""
    done = lab("run", "bully", "--headless", "--for", "2s", "--do", "at 0s kill coordinator", "--json")
    result = "at 0s kill coordinator: nobody is coordinator at present; name a node by its number"
    assert (done.status, done.line()) == (1, result)


def test_transactions_are_reported(lab: Lab) -> None:
    """The numbers of commits and aborts, and how long nodes were blocked; nothing without transactions."""
    words = ("run", "2pc", "--sim", "--headless", "--seed", "1", "--for", "9s", "--record", "r.jsonl")
    commands = ("--do", "at 1s tell 5 withdraw 350", "--do", "at 2s tell 5 withdraw 9000")
    strikes = ("--do", "at 2990ms tell 5 withdraw 100", "--do", "on send Vote 1->5 #2 kill 5")
    done = lab(*words, *commands, *strikes)
    assert "  transactions: 1 committed, 1 aborted, 1 undecided; nodes blocked for " in done.out
    calm = lab(*words[:-1], "calm.jsonl", *commands)
    assert "  transactions: 1 committed, 1 aborted, 0 undecided\n" in calm.out
    found = _json(lab(*words[:-1], "json.jsonl", "--json", *commands))
    assert found["figures"]["transactions"] == {"committed": 1, "aborted": 1, "open": 0, "blocked_us": 0}
    assert _json(lab("run", "bully", *words[2:-1], "b.jsonl", "--json"))["figures"] is None


def test_many_notes_are_shortened(lab: Lab) -> None:
    """The first and the last ones are printed."""
    load = ("--seed", "1", "--do", "transactions 60 at 30/s", "--record", "a.jsonl")
    done = lab("run", "2pc", "--sim", "--headless", "--for", "5s", *load)
    assert done.status == 0, done
    notes = [line for line in done.out.splitlines() if re.search(r"^  [\d.]+ s  node |notes? more: ", line)]
    assert len(notes) == 21
    assert notes[15].endswith("a.jsonl --only note")
    assert re.search(r"the load of 60 has ended: \d+ committed, \d+ aborted$", notes[-1])
    shown = lab("show", "a.jsonl", "--only", "log", "--node", "5").out.splitlines()
    assert shown[1].endswith(" log: begin 5.1 of 1, 4, 5")
    assert all(" log: " in line for line in shown[1:-1])


def test_an_exercise_is_no_protocol(lab: Lab) -> None:
    """Its name leads to the command that starts it."""
    assert (
        "two-coordinators is an exercise: lab exercise start two-coordinators"
        in lab("run", "two-coordinators").refused()
    )
