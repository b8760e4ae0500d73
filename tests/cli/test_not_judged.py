"""Commands by which nothing, or not everything, was judged: their words and their exit statuses."""

import re
from xml.etree import ElementTree

import pytest

from tests.cli.invocation import Lab

NEVER = '''from lab.protocols import Election, Status


class Never(Election):
    """Begins an election, and does nothing else."""

    name = "never"
    promises = ("A1.1", "A2")

    def started(self) -> None:
        self.status = Status.ELECTION
'''


@pytest.fixture
def never(lab: Lab) -> str:
    """A protocol that never elects anybody."""
    (lab.folder / "never.py").write_text(NEVER)
    return "never.py"


def test_a_run_that_judges_nothing_fails(lab: Lab, never: str) -> None:
    done = lab("run", never, "--sim", "--headless", "--for", "5s")
    assert done.status == 1
    assert "A1.1 is not judged: no node was ever in Reorganization or Normal\n" in done.out
    assert "A2 is not judged: the nodes never agreed, and the bound of 6s is not over\n" in done.out
    assert "holds" not in done.out
    assert "nothing was judged, so nothing holds" in done.err


def test_a_longer_run_of_it_is_a_failure(lab: Lab, never: str) -> None:
    done = lab("run", never, "--sim", "--headless", "--for", "7s")
    assert done.status == 1
    assert "A2 fails with all assumptions intact" in done.out


def test_a_campaign_counts_the_runs_that_were_judged(lab: Lab) -> None:
    """An assertion that was judged in no run fails it: a node alone has nobody to disagree with."""
    done = lab("check", "bully", "--runs", "3", "--workers", "1", "--nodes", "1")
    assert done.status == 1
    assert re.search(r"^ A2 +3 of 3 runs", done.out, re.MULTILINE)
    assert re.search(r"^ A1\.1 +no run", done.out, re.MULTILINE)
    assert " ".join(done.out.split()).endswith("; judged in no run: A1.1, A1.2")


def test_an_exploration_without_a_decision(lab: Lab) -> None:
    done = lab("explore", "2pc", "--nodes", "2", "--do", "none", "--kills", "0")
    assert done.status == 1
    assert "not judged: no transaction was decided in any state" in done.out


def test_a_scenario_expects_no_violation_of_what_was_judged(lab: Lab) -> None:
    (lab.folder / "a.script").write_text("expect no violation A6\n")
    done = lab("run", "2pc", "--sim", "--headless", "--for", "2s", "--script", "a.script")
    assert done.status == 1
    assert "A6 is not judged: no transaction was decided" in done.err


def test_a_node_that_ends_its_program_fails_alone(lab: Lab) -> None:
    """A handler that calls ``sys.exit`` is an error of the protocol, found as any other."""
    (lab.folder / "exits.py").write_text(
        "import sys\n\nfrom lab.protocols import Bully\n\n\nclass Exits(Bully):\n"
        '    """Exits."""\n\n    name = "exits"\n\n    def recovery(self) -> None:\n        sys.exit(0)\n'
    )
    done = lab("check", "exits.py", "--runs", "3", "--workers", "1")
    assert done.status == 1
    assert "raises fails with all assumptions intact: SystemExit: 0" in " ".join(done.out.split())
    done = lab("run", "exits.py", "--sim", "--headless", "--for", "2s")
    assert done.status == 1
    assert "raised SystemExit: 0" in done.out or "SystemExit: 0" in done.err


def test_junit_has_its_own_word(lab: Lab) -> None:
    """A run that proves nothing is *skipped*; what was not judged in another is a property of its case."""
    head = 'title = "Soon over"\nprotocol = "bully"\nnodes = 3\nfor = "10ms"\nworlds = ["simulated"]\n---\n'
    (lab.folder / "nothing.scenario").write_text(f'{head}say "it begins"\n')
    (lab.folder / "something.scenario").write_text(f"{head}expect 3 up\n")
    done = lab("scenario", "check", "nothing.scenario", "something.scenario", "--junit", "report.xml")
    assert done.status == 0, done
    (suite,) = ElementTree.parse(lab.folder / "report.xml").getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("2", "0", "1")
    nothing, something = sorted(suite.iter("testcase"), key=lambda case: case.get("classname", ""))
    skipped = nothing.find("skipped")
    assert skipped is not None
    assert skipped.get("message") == "nothing was judged, so nothing holds"
    assert something.find("skipped") is None
    texts = [each.get("value", "") for each in something.iter("property")]
    assert any(text.startswith("A2 is not judged: ") for text in texts)


OWED = '''"""A node that does nothing; and properties of it."""

from lab.properties import GlobalState, Outcome, eventually, invariant
from lab.protocols import Algorithm


class Idle(Algorithm):
    """Does nothing."""

    name = "idle"
    level: int = 0


@invariant
def low(state: GlobalState) -> Outcome:
    """No level is high."""
    return all(node.level < 3 for node in state)


@eventually(within="60T")
def somebody_rises(state: GlobalState) -> Outcome:
    """Some level is above zero."""
    return any(node.level for node in state)
'''


def test_a_recording_lasts_as_long_as_its_property_has_time(lab: Lab) -> None:
    """Its own bound, and not that of the protocol: so the recording of an exploration shows what was found."""
    (lab.folder / "idle.py").write_text(OWED)
    done = lab(
        "explore", "idle.py", "--nodes", "2", "--kills", "0", "--timeouts", "prompt", "--out", "found.jsonl"
    )
    assert done.status == 1
    assert "do not trust" not in done.err
    assert "somebody_rises fails" in lab("verify", "found.jsonl", "--protocol", "idle.py").out


@pytest.mark.parametrize(
    "words",
    [
        ("check", "idle.py", "--runs", "3", "--workers", "1", "--faults", "kill"),
        ("explore", "idle.py", "--nodes", "2", "--kills", "0", "--timeouts", "prompt"),
        ("run", "idle.py", "--sim", "--headless", "--for", "2s"),
        ("verify", "right.jsonl", "--protocol", "idle.py"),
        ("run", "idle.scenario", "--headless"),
    ],
    ids=["check", "explore", "run", "verify", "scenario"],
)
def test_an_error_in_a_property_is_no_success(lab: Lab, words: tuple[str, ...]) -> None:
    """Though the others hold; and it is printed, with its line."""
    file = lab.folder / "idle.py"
    right = OWED.replace("any(node.level for", "any(not node.level for")
    file.write_text(right)
    scenario = 'title = "Idle"\nprotocol = "idle.py"\nnodes = 2\nworlds = ["simulated"]\nfor = "2s"\n---\n'
    (lab.folder / "idle.scenario").write_text(f'{scenario}say "nothing"\n')
    record = (*words, "--record", "right.jsonl") if words[:2] == ("run", "idle.py") else words
    if words[0] == "verify":
        lab("run", "idle.py", "--sim", "--headless", "--for", "2s", "--record", "right.jsonl")
    assert lab(*record).status == 0, "without the error"
    file.write_text(right.replace("node.level < 3", "node.levle < 3"))
    done = lab(*words)
    assert done.status == 1, done
    printed = " ".join((done.out + done.err).split())
    assert "an error in its code: " in printed
    assert "has no levle" in printed
