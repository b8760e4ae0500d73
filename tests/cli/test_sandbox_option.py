"""``--sandbox``: the commands that execute a file of a stranger's, without giving it the machine."""

import json
import re
from contextlib import closing
from pathlib import Path

import pytest

from lab.guide.contents import find_page
from lab.kernel import Step
from lab.recording.reader import open_recording
from lab.recording.records import Process
from tests.cli.invocation import Lab

MINE = '''"""A stranger's."""

from beside import act
from lab.protocols import Bully

act()


class Mine(Bully):
    """Bully, by another name."""
'''
ACT = "def act():\n    try:\n        open({path!r}, 'w').close()\n    except OSError:\n        pass\n"


@pytest.fixture
def trace(lab: Lab) -> Path:
    """A file that the stranger's file writes where it can; the stranger's file is mine.py."""
    path = lab.folder / "trace"
    (lab.folder / "mine.py").write_text(MINE, "utf-8")
    (lab.folder / "beside.py").write_text(ACT.format(path=str(path)), "utf-8")
    return path


def test_a_campaign_is_the_same(lab: Lab, trace: Path) -> None:
    """The same runs, the same verdicts; only the lines of the file are not measured."""
    call = ("check", "mine.py:Mine", "--runs", "4", "--nodes", "3", "--workers", "1", "--json")
    confined = json.loads(lab(*call, "--sandbox").out)
    assert not trace.exists()
    outside = json.loads(lab(*call).out)
    assert trace.exists()
    for name in ("lines", "branches", "rules"):
        assert not confined.pop(name)["all"]
        outside.pop(name)
    assert confined == outside


@pytest.mark.live
def test_a_live_run(lab: Lab, trace: Path) -> None:
    """Nodes are killed and restarted as ever, and leave nothing behind."""
    faults = ("--do", "when all normal kill 3", "--do", "when 3 down restart 3")
    lab.until(
        lambda tail: any(each.incarnation == 2 for each in tail.of(Step)),
        "3 is back",
        *("mine.py:Mine", "--sandbox", "--nodes", "3", "--t", "1s", *faults),
    )
    assert not trace.exists()
    with closing(open_recording(lab.folder / "until.jsonl")) as store:
        records = list(store.records())
    assert [each.node for each in records if isinstance(each, Process) and each.event == "killed"] == [3]
    assert {each.incarnation for each in records if isinstance(each, Step) and each.node == 3} == {1, 2}
    assert not [each.failed for each in records if isinstance(each, Step) and each.failed]


SCENARIO = 'title = "Theirs"\nprotocol = "mine.py:Mine"\nnodes = "3"\nfor = "3s"\nworlds = ["simulated"]\n---\n'


def test_a_scenario_that_names_a_file(lab: Lab, trace: Path) -> None:
    """It is a stranger's as well, and so is its file."""
    (lab.folder / "theirs.scenario").write_text(f"{SCENARIO}expect all normal within 3s\n", "utf-8")
    assert lab("scenario", "check", "./theirs.scenario", "--sandbox").status == 0
    assert lab("run", "./theirs.scenario", "--sandbox", "--headless").status == 0
    assert not trace.exists()
    assert lab("scenario", "check", "./theirs.scenario").status == 0
    assert trace.exists()


def test_properties_of_a_strangers_scenario_are_refused(lab: Lab, trace: Path) -> None:
    """The judge would execute them."""
    (lab.folder / "p.py").write_text("import beside\nbeside.act()\n", "utf-8")
    text = SCENARIO.replace("nodes", 'properties = "p.py"\nnodes', 1)
    (lab.folder / "theirs.scenario").write_text(text, "utf-8")
    called = lab("scenario", "check", "./theirs.scenario", "--sandbox")
    assert called.status == 2
    assert "properties are executed by the judge, and not in a sandbox" in called.err
    assert not trace.exists()


def test_a_finding_prints_the_command_that_repeats_it(lab: Lab, trace: Path) -> None:
    (lab.folder / "mine.py").write_text(
        f"{MINE}\n    def started(self):\n        if self.id == 2:\n            raise ValueError('no')\n", "utf-8"
    )
    called = lab("check", "mine.py:Mine", "--runs", "2", "--nodes", "3", "--workers", "1", "--sandbox")
    assert called.status == 1
    again = called.out.partition("again:")[2].split()
    assert "--sandbox" in again
    assert again[:3] == ["lab", "run", "mine.py:Mine"]


OWN = """

@invariant
def one_leader(state: GlobalState) -> Outcome:
    '''At most one node leads.'''
    return len([node for node in state.nodes.values() if node.coordinator == node.id]) < 2
"""


@pytest.mark.usefixtures("trace")
def test_properties_in_the_file_are_not_judged(lab: Lab) -> None:
    """The report says so, and how they could be. Nothing is green, unless other properties are asked for."""
    imports = "from lab.properties import GlobalState, Outcome, invariant\n"
    promises = MINE.replace('name."""', 'name."""\n\n    promises = ()')
    (lab.folder / "mine.py").write_text(promises.replace("from lab.p", f"{imports}from lab.p", 1) + OWN, "utf-8")
    call = ("check", "mine.py:Mine", "--runs", "2", "--nodes", "3", "--workers", "1", "--sandbox")
    done = lab(*call)
    assert done.status == 1
    assert done.out.endswith(
        "no failure; its own properties are not judged in a sandbox, so only its errors were judged\n"
    )
    assert "promises nothing" not in done.out
    remark = done.err.splitlines()[-1]
    assert remark.startswith("lab: mine: properties in its own file are not judged in a sandbox")
    assert remark.endswith("from a file of yours: --properties FILE.py")
    run = lab("run", "mine.py:Mine", "--sim", "--headless", "--for", "2s", "--nodes", "3", "--sandbox")
    assert (run.status, run.err.splitlines()[-1]) == (1, remark)
    (lab.folder / "trusted.py").write_text(imports + OWN.replace("one_leader", "one_chief"), "utf-8")
    asked = lab(*call, "--properties", "trusted.py")
    assert asked.status == 0, asked
    assert "no failure: one_chief held" in " ".join(asked.out.split())
    assert remark in asked.err


def test_properties_of_ones_own_judge_what_only_the_file_declares(lab: Lab) -> None:
    """Fields, messages and commands of its own: the verdicts of the guide's tickets are those outside."""
    protocol, properties, *_ = re.findall(r"^```python\n(.*?)^```$", find_page("properties").text, re.M | re.S)
    (lab.folder / "tickets.py").write_text(protocol, "utf-8")
    (lab.folder / "ticket_properties.py").write_text(properties, "utf-8")
    call = ("run", "tickets.py", "--properties", "ticket_properties.py", "--sim", "--headless", "--seed", "1")
    for lines in (("at 1s tell 1 take", "at 2s tell 2 take"), ("at 1s tell 1 2 take",)):
        given = [word for line in lines for word in ("--do", line)]
        outside, inside = (
            json.loads(lab(*call, "--for", "6s", "--json", *given, *more).out) for more in ((), ("--sandbox",))
        )
        assert inside["verdicts"] == outside["verdicts"]
        assert inside["nodes"] == outside["nodes"]
    assert {each["verdict"] for each in outside["verdicts"]} >= {"fails"}, outside


def test_a_built_in_protocol_needs_none(lab: Lab) -> None:
    assert "bully is built in, and needs no sandbox" in lab("check", "bully", "--sandbox").refused()
    assert "bully is built in" in lab("run", "bully", "--sandbox", "--headless", "--for", "1s").refused()
