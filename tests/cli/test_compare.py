"""``lab compare``: the table, the charts, the picture, scripts, and an interrupted comparison."""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest

from lab.cli.compare import CompareOptions, compared, report, run_compare
from lab.protocols import Bully, InvitationElection, Ring
from lab.protocols.field import Field
from lab.protocols.stack import stacked
from lab.tasks.comparison import ProtocolTotals, cumulative_steps
from lab.tasks.election_comparison import ElectionComparison, ElectionMeasurement
from lab.tasks.field_map import ReadingCounts
from lab.worlds.campaign.comparison import ProtocolComparison, RunMeasurement, run_comparison
from tests.cli.invocation import Lab

MINE = """from lab.protocols import Bully


class Mine(Bully):
    name = "mine"
    promises = ("A1.1",)
"""
SCRIPT = """# the coordinator dies
at 3s kill coordinator
at 5s restart 5   # and comes back
"""


def _options(output: Path | None = None, runs: str = "3") -> CompareOptions:
    return CompareOptions(["bully"], faults="kill", runs=runs, nodes="3", task="none", workers="1", output=output)


def _rows(out: str) -> dict[str, list[str]]:
    """Return the cells of the table by row title."""
    table = out.partition("\n\n")[2].partition("\n\n")[0].splitlines()
    rows = (re.split(r" {2,}", line.strip()) for line in table[1:])
    return {title: cells for title, *cells in rows}


def test_table_charts_and_picture(lab: Lab) -> None:
    """With output to a pipe: no colours, no progress line."""
    (lab.folder / "mine.py").write_text(MINE)
    words = (
        "compare",
        "bully",
        "mine.py",
        "--runs",
        "4",
        "--faults",
        "kill,pause",
        "--workers",
        "2",
        "-o",
        "c.svg",
    )
    done = lab(*words)
    assert (done.status, done.err) == (0, "")
    assert "\x1b" not in done.out
    assert done.out.startswith("5 nodes, kill, pause, the field on top of each; 4 runs each, from seed 1 on\n\n")
    assert re.search(r"^ +bully +mine$", done.out, re.MULTILINE)
    rows = _rows(done.out)
    assert all(len(cells) == 2 for cells in rows.values()), rows
    promised = {title: cells for title, cells in rows.items() if title.startswith("violations of")}
    assert promised["violations of A1.2"][1] == "-", "mine does not promise it"
    same = {title: cells for title, cells in rows.items() if title not in promised}
    assert all(one == other for one, other in same.values()), "they are the same, under the same faults"
    assert int(rows["elections"][0]) >= 4
    assert int(rows["readings of the field"][0].replace(",", "")) > 100
    assert done.out.count("┌") >= 2
    assert done.out.endswith("drawn: c.svg\n")
    root = ElementTree.parse(lab.folder / "c.svg").getroot()
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert {"bully", "mine"} <= {
        "".join(each.itertext()) for each in root.iter("{http://www.w3.org/2000/svg}text")
    }


def test_a_script_runs_in_every_run(lab: Lab) -> None:
    """Comments are ignored; without the field task there are no readings."""
    (lab.folder / "lecture.script").write_text(SCRIPT)
    words = ("compare", "bully", "--script", "lecture.script", "--task", "none", "--runs", "3", "--workers", "1")
    done = lab(*words, "--json")
    assert (done.status, done.err) == (0, "")
    result = json.loads(done.out)
    (bully,) = result["protocols"]
    assert (result["t_us"], result["seed"], bully["protocol"], bully["runs"]) == (200_000, 1, "bully", 3)
    figures = bully["figures"]
    assert figures["without_coordinator"]["count"] == 3 * 2, "when 5 dies, and when it takes over again"
    assert figures["elections"]["count"] == 3 * 3, "the first, and one each time"
    assert figures["of"] == "elections"
    assert bully["violations"]["A1.1"] == {"failures": 0, "excused": 0}
    assert lab(*words).out.startswith("5 nodes, lecture.script; 3 runs each")


def test_an_interrupt_shows_the_results_so_far(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Ctrl-C during the third run: table, charts and picture of two, and status 130."""
    _cut_short(monkeypatch, 2)
    assert run_compare(_options(tmp_path / "two.svg")) == 130
    output = capsys.readouterr().out
    assert "; interrupted after 2 of 3 runs, from seed 1 on" in output
    assert output.count("┌") >= 1
    assert (tmp_path / "two.svg").exists()


def test_an_interrupt_before_the_first_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Nothing is shown or drawn."""
    _cut_short(monkeypatch, 0)
    assert run_compare(_options(tmp_path / "none.svg")) == 130
    assert capsys.readouterr().out == ""
    assert not (tmp_path / "none.svg").exists()


def _cut_short(monkeypatch: pytest.MonkeyPatch, runs: int) -> None:
    def some(
        comparison: ProtocolComparison, workers: int, numbers: Sequence[int]
    ) -> Iterator[tuple[RunMeasurement, ...]]:
        coming = run_comparison(comparison, workers, numbers)
        for _ in range(runs):
            yield next(coming)
        raise KeyboardInterrupt

    monkeypatch.setattr("lab.cli.compare.run_comparison", some)


def test_a_protocol_whose_messages_multiply(lab: Lab) -> None:
    """One line explains it, and the status is 1."""
    stubborn = f"{Path(__file__).parents[1] / 'campaign' / 'stubborn.py'}:Multiplies"
    done = lab("compare", "bully", stubborn, "--runs", "2", "--nodes", "3", "--task", "none", "--workers", "1")
    assert (done.status, done.out) == (1, "")
    assert re.search(r"^multiplies, seed 1: its messages multiply: more than ", done.line())


def test_sums_over_runs() -> None:
    """All measurements added up, and the worst run."""
    sums = ProtocolTotals("ring", stacked(Field, Ring))
    sums.add(ElectionMeasurement((4, 8), (1_000_000,), 0, ReadingCounts(10, 1, 2)), {"A1.1": (0, 2)})
    sums.add(
        ElectionMeasurement((), (3_000_000,), 500_000, ReadingCounts(5, 0, 1)), {"A1.1": (1, 0), "raises": (1, 0)}
    )
    assert msgspec.to_builtins(compared(sums)) == {
        "protocol": "ring",
        "runs": 2,
        "figures": {
            "of": "elections below the field",
            "elections": {"count": 2, "messages_median": 4, "messages_95th": 8},
            "without_coordinator": {"count": 2, "us_median": 1_000_000, "us_95th": 3_000_000},
            "several_coordinators": {"runs": 1, "total_us": 500_000, "worst_run_us": 500_000},
            "readings": {"made": 15, "lost": 1, "twice": 3},
        },
        "violations": {"A1.1": {"failures": 1, "excused": 2}, "raises": {"failures": 1, "excused": 0}},
    }


def test_a_cumulative_curve_is_a_step_function() -> None:
    """A third of three values is at most the first of them, until the second value is reached."""
    points = cumulative_steps([1, 2, 4], 1)
    assert {share for x, share in points if x == 2} == set(range(33, 67))
    assert [(x, share) for x, share in points if share in (33, 66)] == [(1, 33), (2, 33), (2, 66), (4, 66)]
    assert (points[0], points[-1]) == ((1, 0), (4, 100))


def test_groups_have_a_coordinator_each(capsys: pytest.CaptureFixture[str]) -> None:
    """A footnote says so, only for protocols that form groups."""
    bully, invitation = ProtocolTotals("bully", Bully), ProtocolTotals("invitation", InvitationElection)
    bully.add(ElectionMeasurement((4,), (), 0), {"A1.1": (0, 0)})
    report([bully], ElectionComparison, 200_000)
    assert "*" not in capsys.readouterr().out
    invitation.add(ElectionMeasurement((4,), (), 900_000), {"A4": (0, 0)})
    report([bully, invitation], ElectionComparison, 200_000)
    output = capsys.readouterr().out
    assert _rows(f"\n\n{output}")["runs with several coordinators *"] == ["0", "1"]
    assert "\n* Each group of invitation has its own coordinator, as specified.\n" in output


def test_singular_and_plural(capsys: pytest.CaptureFixture[str]) -> None:
    """``1 run``, not ``1 runs``."""
    assert run_compare(_options(runs="1")) == 0
    assert capsys.readouterr().out.startswith("3 nodes, kill; 1 run each, from seed 1 on\n")


def test_where_nothing_was_measured_there_is_a_dash(capsys: pytest.CaptureFixture[str]) -> None:
    """Without any election or coordinator; then there is no chart either."""
    sums = ProtocolTotals("silent", Bully)
    sums.add(ElectionMeasurement((), (), 0), {"A2": (3, 0)})
    report([sums], ElectionComparison, 200_000)
    output = capsys.readouterr().out
    rows = _rows(f"\n\n{output}")
    assert rows["messages of one, median"] == rows["length, median"] == ["-"]
    assert rows["violations of A2"] == ["3 failures"]
    assert "┌" not in output
