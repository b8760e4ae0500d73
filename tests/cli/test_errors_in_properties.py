"""Errors in the code of properties and assumptions, on the command line."""

from pathlib import Path
from xml.etree import ElementTree

from tests.cli.invocation import Lab

FILE = Path(__file__).parents[1] / "explored" / "honest.py"


def test_an_error_in_an_assumption_is_one_of_the_run(lab: Lab) -> None:
    """In a run and in a campaign; and what relies on it is judged in no exploration."""
    options = ("--nodes", "2", "--sim", "--headless", "--for", "2s")
    done = lab("run", f"{FILE}:Turnstile", *options)
    assert done.status == 1
    assert "wrong is not judged: an error in its code: honest.py:" in done.err
    done = lab("check", f"{FILE}:Turnstile", "--nodes", "2", "--runs", "2", "--faults", "kill", "--workers", "1")
    assert done.status == 1
    assert "wrong is not judged: an error in its code: honest.py:" in done.err


def test_an_error_in_a_property_is_a_failure_of_the_build(lab: Lab) -> None:
    """In the report for build servers, as the exit status is 1; and below the table of several set-ups."""
    path = lab.folder / "report.xml"
    options = ("--kills", "0", "--timeouts", "prompt", "--junit", str(path))
    done = lab("explore", f"{FILE}:Clock", "--nodes", "2", *options)
    assert done.status == 1
    cases = {case.get("name"): [each.tag for each in case] for case in ElementTree.parse(path).iter("testcase")}
    assert "failure" in cases["soon"]
    assert "skipped" not in cases["soon"]
    done = lab("explore", f"{FILE}:Clock", "--nodes", "1-2", *options[:-2])
    assert done.status == 1
    assert "soon: not judged: an error in its code: honest.py:" in " ".join(done.out.split())
