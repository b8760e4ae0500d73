"""``lab run field``: a task on top of an election chosen with ``--set election=…``, in every world."""

import json
import re
from pathlib import Path

import pytest

from lab.kernel import CommandInput, Step
from lab.recording.reader import open_recording
from lab.recording.records import Header, Record
from tests.cli.invocation import Lab
from tests.profile import SOAK, sampled

MINE = '''"""Bully, by another name."""

from lab.protocols import Bully


class MyElection(Bully):
    """Bully."""
'''


def _records(path: Path) -> list[Record | None]:
    lines = open_recording(path)
    records = list(lines.records())
    lines.close()
    return records


def _header(path: Path) -> Header:
    (header, *_) = _records(path)
    assert isinstance(header, Header)
    return header


@pytest.mark.parametrize("election", ["bully", "bully-tanenbaum", "ring", "invitation"])
def test_on_each_election_in_simulation(lab: Lab, election: str) -> None:
    """Equal seeds give equal bytes in two processes, the recording verifies, and A9 holds."""
    run = ("run", "field", "--set", f"election={election}", "--sim", "--headless", "--for", "8s", "--seed", "3")
    do = ("--do", "at 3s publish", "--do", "at 5s kill 5", "--do", "at 7s publish coordinators")
    done = lab(*run, *do, "--record", "a.jsonl")
    assert (done.status, done.err) == (0, ""), done
    if SOAK or election == "invitation":
        done = lab(*run, *do, "--record", "b.jsonl", environment={"PYTHONHASHSEED": "2"})
        assert (done.status, done.err) == (0, ""), done
        assert (lab.folder / "a.jsonl").read_bytes() == (lab.folder / "b.jsonl").read_bytes()
    assert _header(lab.folder / "a.jsonl").protocol.parameters == {"election": election}
    done = lab("verify", "a.jsonl")
    assert done.status == 0, done
    assert "A9 holds" in done.out


@pytest.mark.live
@pytest.mark.parametrize("election", sampled(["bully", "invitation"], 2))
def test_live_on_real_processes(lab: Lab, election: str) -> None:
    """Every node surveys, the coordinator publishes and is killed, and the recording verifies."""
    done = lab(
        *("run", "field", "--set", f"election={election}", "--headless", "--for", "9s", "--t", "400ms"),
        *("--set", "reading_every=100ms"),
        *("--do", "when all normal after 3s publish", "--do", "at 6s kill 5", "--record", "live.jsonl"),
    )
    assert done.status == 0, done
    steps = [record for record in _records(lab.folder / "live.jsonl") if isinstance(record, Step)]
    assert [step.node for step in steps if isinstance(step.input, CommandInput)] == [5]
    surveys = [step for step in steps if "survey" in step.changed]
    assert {step.node for step in surveys} == {1, 2, 3, 4, 5}
    newest = {step.node: step.stored["published"][0] for step in steps if "published" in step.stored}
    assert newest == dict.fromkeys((1, 2, 3, 4, 5), 1)
    last = max(step.changed["survey"]["number"] for step in surveys if "number" in step.changed["survey"])
    assert last > 2
    assert lab("verify", "live.jsonl").status == 0


def test_a_branch_keeps_the_election(lab: Lab) -> None:
    """Instead of the default one."""
    lab("run", "field", "--set", "election=ring", "--sim", "--headless", "--for", "4s", "--record", "a.jsonl")
    done = lab("branch", "a.jsonl", "--at", "200", "--headless", "--for", "2s", "--record", "b.jsonl")
    assert done.status == 0, done
    header = _header(lab.folder / "b.jsonl")
    assert (header.protocol.name, header.protocol.parameters) == ("field", {"election": "ring"})
    assert lab("verify", "b.jsonl").status == 0


def test_on_a_users_election(lab: Lab) -> None:
    """Run, checked and branched by its file; ``lab verify`` needs the file."""
    (lab.folder / "mine.py").write_text(MINE)
    own = ("field", "--set", "election=mine.py:MyElection")
    done = lab("run", *own, "--sim", "--headless", "--for", "3s", "--record", "a.jsonl")
    assert done.status == 0, done
    assert _header(lab.folder / "a.jsonl").protocol.parameters == {"election": "my-election"}
    assert "my-election (under field), is not built in" in lab("verify", "a.jsonl").err
    assert lab("verify", "a.jsonl", "--protocol", "mine.py").status == 0
    branch = ("branch", "a.jsonl", "--at", "1s", "--protocol", "mine.py", "--headless", "--for", "1s")
    assert lab(*branch, "--record", "b.jsonl").status == 0
    done = lab("check", *own, "--set", "reading_every=4s", "--runs", "6", "--workers", "2", "--json")
    assert done.status == 0, done
    found = json.loads(done.out)
    assert found["protocol"] == "field"
    assert [each["assertion"] for each in found["judged"] if not each["runs"]] == []


def test_the_report_has_the_notes_on_publishing(lab: Lab) -> None:
    """Of the nodes that were told to publish; as text and as JSON."""
    run = ("run", "field", "--set", "reading_every=100ms", "--sim", "--headless", "--for", "8s", "--seed", "1")
    do = ("--do", "at 2s partition 1 2 | 3 4 5", "--do", "at 5s publish coordinators")
    done = lab(*run, *do)
    assert done.out.startswith("field above invitation, reading_every=100ms, simulated, 8s\n")
    assert "  5.000 s  node 2: refused: 2 of 5 nodes are not a majority\n" in done.out
    assert re.search(r"^  5\.\d+ s  node 5: edition 1 is published$", done.out, re.MULTILINE)
    result = json.loads(lab(*run, *do, "--json").out)
    assert result["settings"] == ["reading_every=100ms"]
    assert [(note["node"], note["text"]) for note in result["notes"]] == [
        (2, "refused: 2 of 5 nodes are not a majority"),
        (5, "edition 1 is published"),
    ]


def test_mistakes(lab: Lab) -> None:
    """One line each."""
    for setting, output in (
        ("election=nope", "unknown protocol 'nope'; known: "),
        ("election=token", "field runs above an election, and token is not one"),
        ("elections=ring", "--set elections=ring: field has no parameter 'elections'; its parameters are "),
        ("regions=many", "--set regions=many: "),
    ):
        done = lab("run", "field", "--set", setting, "--sim", "--headless", "--for", "1s")
        assert done.refused().startswith(output), done
