"""The code of two pages, as printed: properties of one's own, and Raft. It runs, and its output is as printed."""

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.guide.contents import find_page
from tests.cli.invocation import Called, Lab
from tests.profile import amount

RIGHT = amount(quick=6, soak=100)
COMPARED = amount(quick=2, soak=20)
"""How many runs of those on the page are made."""
RAFT = Path(__file__).parents[2] / "lab" / "guide" / "build" / "raft.py"


def _blocks(page: str, language: str) -> list[str]:
    found: list[str] = re.findall(rf"^```{language}\n(.*?)^```$", find_page(page).text, re.MULTILINE | re.DOTALL)
    return found


def _commands(page: str) -> Iterator[list[str]]:
    """Yield the words of each command of the page, without ``lab``."""
    for block in _blocks(page, "sh"):
        for line in block.splitlines():
            yield shlex.split(line)[1:]


def _shows(done: Called, text: str) -> None:
    for line in text.splitlines():
        assert line in done.out, f"{line}\n{done.out}"


def test_properties(lab: Lab) -> None:
    """The two runs of the page, and the campaign."""
    for name, text in zip(("tickets.py", "ticket_properties.py"), _blocks("properties", "python"), strict=True):
        (lab.folder / name).write_text(text)
    one_by_one, at_once, campaign = _commands("properties")
    first, second = _blocks("properties", "text")
    _shows(lab(*one_by_one), first)
    _shows(lab(*at_once), second)
    found = lab(*campaign)
    assert found.status == 1
    assert "recorded: twice.jsonl" in found.out
    assert "no_number_twice fails" in found.out


def test_each_kind_is_on_the_page() -> None:
    """The table names every decorator that a user's file can import."""
    from lab import properties

    text = find_page("properties").text
    for name in ("agreement", "assumption", "eventually", "invariant", "leads_to", "over_history", "pairwise"):
        assert name in properties.__all__
        assert f"| `@{name}" in text


@pytest.fixture
def raft(lab: Lab) -> Lab:
    (code,) = _blocks("raft", "python")
    assert code == RAFT.read_text("utf-8")
    (lab.folder / "raft.py").write_text(code)
    (lab.folder / "partition.script").write_text(_blocks("raft", "text")[-1])
    return lab


def test_raft_runs(raft: Lab) -> None:
    _, partitioned, *_ = _commands("raft")
    done = raft(*partitioned)
    assert done.status == 0, done
    _shows(done, _blocks("raft", "text")[0])


def test_raft_is_checked(raft: Lab) -> None:
    """The right one holds; the wrong one is found and shrunk to two nodes."""
    _, _, right, wrong, *_ = _commands("raft")
    done = raft(*right, "--runs", str(RIGHT))
    assert done.status == 0, done
    assert "no failure: A2, one_leader_per_term, a_leader_is_elected held in every consistent state" in done.out
    found = raft(*wrong)
    assert found.status == 1
    _shows(found, _blocks("raft", "text")[1])
    assert re.search(r"shrunk in \d+ runs, from \d nodes and \d+ commands to 2 and 4", found.out)


def test_raft_is_explored(raft: Lab) -> None:
    *_, right, _, _ = _commands("raft")
    holds, _ = _blocks("raft", "text")[2].splitlines()
    done = raft(*right)
    assert done.status == 0, done
    assert holds in done.out
    assert "random numbers other than the least and the greatest" in done.out


@pytest.mark.soak
def test_wrong_raft_is_explored(raft: Lab) -> None:
    *_, wrong, _ = _commands("raft")
    _, violated = _blocks("raft", "text")[2].splitlines()
    found = raft(*wrong)
    assert found.status == 1
    assert violated in found.out
    (recording,) = raft.folder.glob("forgetful-raft-*.jsonl")
    verified = raft("verify", recording.name, "--protocol", "raft.py:ForgetfulRaft")
    assert "one_leader_per_term fails" in verified.out


def test_raft_and_bully(raft: Lab) -> None:
    """Under a partition bully has several coordinators in every run, and Raft in none."""
    *_, compared = _commands("raft")
    done = raft(*compared, "--runs", str(COMPARED), "--json")
    assert done.status == 0, done
    protocols = json.loads(done.out)["protocols"]
    several = {each["protocol"]: each["figures"]["several_coordinators"]["runs"] for each in protocols}
    assert several == {"bully": COMPARED, "raft": 0}
