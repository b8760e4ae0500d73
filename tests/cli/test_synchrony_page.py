"""The commands of the page on synchrony: each runs, and gives the verdict on the page."""

import re
import shlex

import pytest

from lab.guide.contents import find_page
from tests.cli.invocation import Lab

COMMANDS = re.findall(r"^    lab (.*)$", find_page("synchrony").text, re.MULTILINE)
VERDICTS = (
    "A1.1 holds",
    "excused: A1.1 under broken assumption 9",
    "excused: A1.1 under broken assumption 8",
    "A4 holds",
    "in group 5.2",
    "A3.1 no violation in 20,000 states",
    "node 1: refused: 1 of 5 nodes are not a majority",
    "excused: A6 under broken assumption 8",
    "A6 holds",
    "K2 holds",
    "running Waiting",
)


def test_every_statement_has_a_run() -> None:
    """And each run is checked below."""
    assert len(COMMANDS) == len(VERDICTS)


@pytest.mark.parametrize(("command", "verdict"), zip(COMMANDS, VERDICTS, strict=False))
def test_its_verdict_is_on_the_page(lab: Lab, command: str, verdict: str) -> None:
    """Simulated, or explored: the same each time."""
    done = lab(*shlex.split(command))
    assert done.status == 0
    assert verdict in re.sub(" +", " ", done.out)
