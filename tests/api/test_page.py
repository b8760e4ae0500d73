"""The examples of ``lab guide library`` run, and print what the page says."""

import json
import re
from pathlib import Path

import nbclient
import nbformat
import pytest

import lab
from lab.guide.contents import find_page
from tests.profile import SOAK, amount

PYTHON, TEXT = (
    re.findall(rf"^```{language}\n(.*?)^```$", find_page("library").text, re.MULTILINE | re.DOTALL)
    for language in ("python", "text")
)
RUN, NOTEBOOK, TEST, EXPLORATION, COUNTEREXAMPLE, CLIENTS, LIVE = PYTHON
RUN_TEXT, FAILURE, EXPLORATION_TEXT, COUNTEREXAMPLE_TEXT, LIVE_TEXT = TEXT


def test_one_run(capsys: pytest.CaptureFixture[str]) -> None:
    exec(RUN, {})
    assert capsys.readouterr().out == RUN_TEXT


def test_the_notebook(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Five lines, executed by Jupyter: two tables, and the picture of the run with its verdicts."""
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    assert len(NOTEBOOK.splitlines()) == 5
    cell = {"cell_type": "code", "source": NOTEBOOK, "metadata": {}, "outputs": [], "execution_count": None}
    text = json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 4})
    notebook = nbformat.reads(text, as_version=4)  # type: ignore[no-untyped-call]
    nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    printed, shown = notebook.cells[0].outputs
    assert "SetCoordinator" in printed.text
    assert "Reorganization" in printed.text
    assert "A1.1 holds" in shown.data["text/html"]
    assert "<svg" in shown.data["text/html"]


def test_a_test_of_a_protocol() -> None:
    """The test of the page; in the profile ``quick``, with fewer runs."""
    names: dict[str, object] = {}
    assert "runs=100" in TEST
    exec(TEST.replace("runs=100", f"runs={amount(quick=6, soak=100)}"), names)
    test = names["test_my_election_survives_crashes"]
    assert callable(test)
    test()


def test_a_test_that_fails() -> None:
    """The text that the page shows is that of the text without its repairs."""
    broken = TEST.replace('faults="kill"', 'parameters={"without": "all"}').replace("runs=100", "runs=200")
    names: dict[str, object] = {}
    exec(broken, names)
    test = names["test_my_election_survives_crashes"]
    assert callable(test)
    with pytest.raises(AssertionError) as failed:
        test()
    assert str(failed.value).startswith(FAILURE.rstrip("\n"))


def test_an_exploration(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, object] = {}
    exec(EXPLORATION, names)
    assert capsys.readouterr().out == EXPLORATION_TEXT
    exec(COUNTEREXAMPLE, names)
    assert capsys.readouterr().out == COUNTEREXAMPLE_TEXT


def test_an_exploration_of_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the register of the guide, in its folder; in the profile ``quick``, of a fifth of the states."""
    monkeypatch.chdir(find_page("workloads").path.parent)
    exec(
        CLIENTS if SOAK else CLIENTS.replace('timeouts="prompt"', 'timeouts="prompt", states=60_000'), {"lab": lab}
    )


@pytest.mark.live
def test_a_live_cluster(capsys: pytest.CaptureFixture[str]) -> None:
    exec(LIVE, {})
    assert capsys.readouterr().out == LIVE_TEXT
