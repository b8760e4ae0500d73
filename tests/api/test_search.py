"""A campaign in Python: what it found, as a test of a protocol prints it."""

from pathlib import Path
from typing import Any

import pytest

import lab
from lab.api.search import Checked
from lab.text import UserError
from tests.profile import SOAK, amount

RUNS = amount(quick=5, soak=20)
FEW: dict[str, Any] = {} if SOAK else {"nodes": 2, "faults": "pause"}
"""With these, the first failure comes after three runs, and not after fifty-five."""


@pytest.fixture(scope="module")
def failed() -> Checked:
    """The text of the bully without its repairs."""
    return lab.check("bully", runs=200, parameters={"without": "all"}, **FEW)


def test_a_protocol_that_holds() -> None:
    found = lab.check("bully", runs=RUNS, faults="kill")
    assert found.holds, found
    assert found.runs == RUNS
    assert found.judged["A1.1"] == RUNS
    assert found.finding is None
    assert found.run is None
    assert str(found).startswith(f"bully: no failure in {RUNS} runs; A1.1, ")


def test_the_report_of_a_failure(failed: Checked) -> None:
    """The sentence, the nodes, the faults, and the command."""
    assert not failed.holds
    assert failed.finding is not None
    first, nodes, *faults, again = str(failed).splitlines()
    assert "fails with all assumptions intact" in first
    assert nodes == "  nodes " + " ".join(map(str, failed.finding.least.nodes))
    assert faults == [f"  {fault}" for fault in failed.finding.least.faults]
    assert again == f"again: {failed.rerun}"
    assert failed.rerun.startswith("lab run bully --sim ")


def test_the_run_of_a_failure(failed: Checked, tmp_path: Path) -> None:
    """It can be asked, and saved."""
    run = failed.run
    assert run is not None
    assert failed.finding is not None
    verdict = next(each for each in run.verdicts if each.assertion == failed.finding.violation.assertion)
    assert verdict.word == "fails"
    run.save(tmp_path / "found.jsonl")
    assert not lab.load(tmp_path / "found.jsonl").holds


def test_a_saved_finding_runs_again(failed: Checked, tmp_path: Path) -> None:
    """By the command, with the script beside the recording."""
    again = failed.save(tmp_path / "found.jsonl")
    assert f"--script {tmp_path}/found.script" in again
    assert again == failed.rerun_with(tmp_path / "found.jsonl")
    assert (tmp_path / "found.script").read_text().splitlines()[1] == f"# {again}"
    assert failed.rerun == again.replace(str(tmp_path / "found.script"), "finding.script")
    with pytest.raises(ValueError, match="there is no finding to save"):
        lab.check("bully", runs=2, faults="kill").save(tmp_path / "none.jsonl")


def test_a_notebook_shows_the_run_of_the_finding(failed: Checked) -> None:
    shown = failed._repr_html_()
    assert "fails with all assumptions intact" in shown
    assert "<svg" in shown


def test_the_number_of_workers_changes_nothing(failed: Checked) -> None:
    assert str(lab.check("bully", runs=200, parameters={"without": "all"}, workers=2, **FEW)) == str(failed)


def test_excused_violations_count_if_wanted() -> None:
    found = lab.check("bully", nodes=3, runs=20, faults="pause", find="A1.1", strict=True)
    assert "excused: A1.1 under broken assumption 9" in str(found)


def test_what_was_judged_in_no_run_does_not_hold() -> None:
    """One node alone has no partner that it could disagree with."""
    found = lab.check("bully", nodes=1, runs=3, faults="kill")
    assert not found.holds
    assert "A1.1" in str(found)
    assert str(found).endswith("was judged in none of 3 runs")


def test_wrong_arguments() -> None:
    with pytest.raises(UserError, match="unknown fault 'kil'"):
        lab.check("bully", faults="kil")
