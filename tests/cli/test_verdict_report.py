"""Verdicts on the command line: ``lab verify`` and ``lab run --headless``."""

import json
from pathlib import Path

import pytest

from tests.cli.invocation import Lab
from tests.harness import Rig

SELFISH = '''
from lab.protocols import Election, Status


class Selfish(Election):
    """Everybody leads."""

    name = "selfish"
    promises = ("A1.1",)

    def started(self) -> None:
        self.status = Status.NORMAL
        self.coordinator = self.id


class Modest(Selfish):
    """Nobody promised anything."""

    name = "modest"
    promises = ()
'''


@pytest.fixture
def paused(lab: Lab) -> Path:
    """Return ``paused.jsonl``: two coordinators, because one was paused."""
    rig = Rig([1, 2, 3]).started()
    rig.do("at 2s pause 3", "at 4s resume 3")
    return rig.run(6_000_000).write(lab.folder / "paused.jsonl")


@pytest.fixture
def selfish(lab: Lab) -> Path:
    """Return ``mine.py``, with faulty protocols."""
    path = lab.folder / "mine.py"
    path.write_text(SELFISH)
    return path


@pytest.mark.usefixtures("paused")
def test_an_excused_violation(lab: Lab) -> None:
    """It is explained with line numbers; the status is 0, and 1 with ``--strict``."""
    done = lab("verify", "paused.jsonl")
    assert (done.status, done.err) == (0, "")
    lines = done.out.splitlines()
    result = "node 3 is Normal under 3, definition 1 while node 2 is Reorganization under 2 (2 excused)"
    assert f"  excused: A1.1 under broken assumption 9 (pause of 3): {result}" in lines
    place = lines.index("  events that led to A1.1 (line, seconds, event):")
    assert lines[place + 1].split(maxsplit=2)[2] == "3 starts, becomes Election and sends EnterElection to 2"
    number = next(line.split()[0] for line in lines if line.endswith("pause of 3: breaks assumption 9"))
    record = json.loads((lab.folder / "paused.jsonl").read_bytes().splitlines()[int(number) - 1])
    assert (record["record"], record["event"], record["node"]) == ("process", "paused", 3)
    strict = lab("verify", "--strict", "paused.jsonl")
    assert (strict.status, strict.out) == (1, done.out)


@pytest.mark.usefixtures("selfish")
def test_a_failure(lab: Lab) -> None:
    """1, for the run itself and for its recording, which re-executes; as JSON and as text."""
    run = ("run", "mine.py:Selfish", "--sim", "--headless", "--for", "1s", "--nodes", "2", "--record", "a.jsonl")
    done = lab(*run, "--json")
    assert done.status == 1
    result = "A1.1 fails with all assumptions intact: node 1 is Normal under 1 while node 2 is Normal under 2"
    rests_on = "2 states of 2 nodes, 1 pair of them concurrent"
    assert json.loads(done.out)["verdicts"] == [
        {
            "assertion": "A1.1",
            "verdict": "fails",
            "rests_on": rests_on,
            "failures": 1,
            "excused": 0,
            "first": result,
        }
    ]
    done = lab(*run[:-1], "b.jsonl")
    assert (done.status, done.out.splitlines()[-1]) == (1, f"  {result}")
    done = lab("verify", "--protocol", "mine.py:Selfish", "a.jsonl")
    assert done.status == 1
    first, second, third, *account = done.out.splitlines()
    assert first.startswith("a.jsonl: as recorded; 2 steps re-executed")
    assert second == f"  {result}"
    assert third == "  events that led to A1.1 (line, seconds, event):"
    assert [line.split(maxsplit=2)[2] for line in account] == [
        "1 starts and becomes Normal under 1",
        "2 starts and becomes Normal under 2",
    ]


@pytest.mark.usefixtures("selfish")
def test_nothing_promised(lab: Lab) -> None:
    """The output says so, and the status is 0."""
    run = ("run", "mine.py:Modest", "--sim", "--headless", "--for", "1s", "--record", "a.jsonl")
    done = lab(*run)
    assert (done.status, done.out.splitlines()[-1]) == (
        0,
        "  the protocol promises nothing, so nothing was judged",
    )


@pytest.mark.usefixtures("paused")
def test_the_rest_is_judged_after_too_many_differences(lab: Lab) -> None:
    """Re-execution stops; the verdicts are those of the whole recording."""
    data = (lab.folder / "paused.jsonl").read_bytes()
    (lab.folder / "edited.jsonl").write_bytes(data.replace(b'"until_us":', b'"until_us":1'))
    whole, edited = lab("verify", "paused.jsonl"), lab("verify", "edited.jsonl")
    assert edited.status == 1
    assert "NOT AS RECORDED (20 differences)" in edited.out
    assert "A1.2 under broken assumption 9 (pause of 3)" in edited.out
    assert whole.out.splitlines()[-1] == edited.out.splitlines()[-1]
