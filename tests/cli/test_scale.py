"""``lab scale``: the table, the charts, the picture, and an interrupted measurement."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from msgspec.structs import replace

from lab.charts import Axis, Chart, Series, decades, whole_numbers
from lab.cli.chart import plot
from lab.cli.chart_svg import charts_as_svg
from lab.cli.scale import ScaleOptions, scale
from lab.protocols import Bully
from lab.worlds.campaign.scalability import NoAgreementError, ScalabilityTrial
from tests.cli.invocation import Lab

SVG = "{http://www.w3.org/2000/svg}"
CHART = Chart(
    "squares",
    Axis("number", (1, 10, 100), logarithmic=True),
    Axis("square", (1, 100, 10_000), logarithmic=True),
    (
        Series("counted", ((1, 1), (10, 100), (100, 10_000))),
        Series("by <formula>", ((1, 2), (10, 200), (100, 20_000)), curve=True),
    ),
)


def _options(output: Path | None = None, json: bool = False, nodes: str = "3,6,9") -> ScaleOptions:
    return ScaleOptions(["bully"], nodes=nodes, output=output, json=json)


def test_table_charts_and_picture(lab: Lab) -> None:
    """With output to a pipe: no colours, no progress line."""
    done = lab("scale", "bully", "--nodes", "100,3,10", "-o", "bully.svg")
    assert (done.status, done.err) == (0, "")
    assert "\x1b" not in done.out
    worst, best = done.out.split("\nonly the next coordinator notices\n")
    assert re.findall(
        r"^ *(\d+) +([\d,]+) +([\d,]+) +(\S+) +([\d,]+) +\S+ +\d.\d\d +\S+ s$", worst, re.MULTILINE
    ) == [
        ("3", "12", "12", "1.000", "6"),
        ("10", "138", "138", "1.000", "90"),
        ("100", "10,488", "10,488", "1.000", "9,900"),
    ]
    assert re.findall(r"^ *(\d+) +([\d,]+) +([\d,]+) +(\S+) +\S+ +\d.\d\d +\S+ s$", best, re.MULTILINE) == [
        ("3", "8", "8", "1.000"),
        ("10", "50", "50", "1.000"),
        ("100", "590", "590", "1.000"),
    ]
    for cost in Bully.costs:
        assert len(re.findall(re.escape(f"{cost.formula}, {cost.case}"), done.out)) == 1, "it is not in the legend"
        assert f"{cost.formula}  {cost.case}: " in done.out
    assert done.out.count("┌") == 2, "two charts"
    assert done.out.endswith("drawn: bully.svg\n")
    assert ElementTree.parse(lab.folder / "bully.svg").getroot().tag == f"{SVG}svg"


def test_json(lab: Lab) -> None:
    """One object with all measurements, and nothing else."""
    done = lab("scale", "bully", "--nodes", "5", "--seed", "3", "--t", "1s", "--json")
    document = json.loads(done.out)
    (result,) = document["protocols"]
    election, best = result["elections"]
    assert (result["protocol"], document["t_us"], document["seed"]) == ("bully", 1_000_000, 3)
    assert [each["formula"] for each in result["formulas"]] == [cost.formula for cost in Bully.costs]
    assert (election["nodes"], election["coordinator"], election["messages"]) == (5, 4, 38)
    assert [each["noticed"] for each in result["formulas"]] == ["by each", None, "in turn"]
    assert (election["formula"], election["formulas"]) == (38, [38, 20, 20])
    assert (best["noticed"], best["messages"], best["formula"]) == ("in turn", 20, 20)
    assert [each["case"] for each in (election, best)] == [Bully.costs[0].case, Bully.costs[2].case]
    assert sum(election["kinds"].values()) == 38
    assert 4_000_000 < election["virtual_us"] <= 5_000_000


def test_a_protocol_without_formulas(lab: Lab) -> None:
    """It is measured, without curves."""
    (lab.folder / "mine.py").write_text(
        "from lab.protocols import Bully\n\n\nclass Mine(Bully):\n    name = 'mine'\n    costs = ()\n"
    )
    done = lab("scale", "mine.py", "--nodes", "3,4")
    assert (done.status, done.err) == (0, "")
    assert re.search(r"^ +4 +24 +\d+ms", done.out, re.MULTILINE)
    assert "measured" not in done.out, "a legend of one"


def test_several_protocols_side_by_side(lab: Lab) -> None:
    """One table, one chart per measure, and every formula; a protocol without one is named."""
    (lab.folder / "mine.py").write_text(
        "from lab.protocols import Bully\n\n\nclass Mine(Bully):\n    name = 'mine'\n    costs = ()\n"
    )
    done = lab("scale", "bully", "mine.py", "--nodes", "3,10", "-o", "both.svg")
    assert (done.status, done.err) == (0, "")
    titles = r"nodes +bully +ratio +in T +mine +ratio +in T\n"
    result = done.out.replace("\xa0", " ")
    for title, three, ten in (
        ("best case: 6n − 10 of bully", 8, 50),
        ("worst case: n² + 5n − 12 of bully", 12, 138),
    ):
        assert re.search(
            rf"^{re.escape(title)}\n{titles}"
            rf" +3 +{three} +1\.000 +\d\.\d\d +12 +- +\d\.\d\d\n"
            rf" +10 +{ten} +1\.000 +\d\.\d\d +138 +- +\d\.\d\d$",
            result,
            re.MULTILINE,
        )
    assert "\nmine: no formula to compare with\n" in done.out
    assert done.out.count("┌") == 2
    for cost in (Bully.costs[0], Bully.costs[2]):
        assert done.out.count(f"{cost.formula}, bully") == 1, "it is not in the legend"
    assert "Tanenbaum's version, worst case: " in done.out
    circles = _circles((lab.folder / "both.svg").read_text("utf-8"))
    assert len(circles) == 2 * (2 * 2 + 2) + 2, "two points of each and both in the legend; both cases of messages"


def test_long_measurements_are_skipped(lab: Lab) -> None:
    """The row says so, and a note has the limit; a plain run is always measured."""
    (lab.folder / "mine.py").write_text(
        "from lab.protocols import Bully, Cost\n\n\nclass Mine(Bully):\n    name = 'mine'\n    costs = (\n"
        "        Cost('plain', 'n³', lambda n: n**3, 'a guess'),\n"
        "        Cost('one by one', 'n⁵', lambda n: n**5, 'another', detection='in turn'),\n    )\n"
    )
    done = lab("scale", "mine.py", "--nodes", "3,30")
    assert (done.status, done.err) == (0, "")
    plain, turn = done.out.split("\none by one\n")
    assert re.search(r"^ +30 +1,038 +27,000 +0\.038 ", plain, re.MULTILINE)
    assert re.search(r"^ +3 +8 +243 +0\.033 ", turn, re.MULTILINE)
    assert re.search(r"^ +30 +not measured +24,300,000( +-){4}$", turn, re.MULTILINE)
    assert "more than 10,000 messages" in " ".join(done.out.split())
    (result,) = json.loads(lab("scale", "mine.py", "--nodes", "30", "--json").out)["protocols"]
    assert [each["case"] for each in result["elections"]] == ["plain"]


def test_an_election_without_messages(lab: Lab) -> None:
    """A single survivor has nobody to merge with: no ratio, and no point on a logarithmic axis."""
    done = lab("scale", "invitation", "--nodes", "2", "-o", "two.svg")
    assert (done.status, done.err) == (0, "")
    assert len(re.findall(r"^ +2 +0 +0 +- +", done.out, re.MULTILINE)) == 2


def test_several_protocols_as_json(lab: Lab) -> None:
    """An object for each."""
    (lab.folder / "mine.py").write_text("from lab.protocols import Bully\nclass Mine(Bully): name = 'mine'\n")
    done = lab("scale", "bully", "mine.py", "--nodes", "5", "--json")
    result = json.loads(done.out)["protocols"]
    assert [each["protocol"] for each in result] == ["bully", "mine"]
    assert [[each["messages"] for each in one["elections"]] for one in result] == [[38, 20], [38, 20]]


def test_a_protocol_that_never_agrees_is_dropped(lab: Lab) -> None:
    """One line explains it; the status is 1."""
    (lab.folder / "silent.py").write_text("from lab.protocols import Election\nclass Silent(Election): pass\n")
    done = lab("scale", "bully", "silent.py", "--nodes", "3,4")
    assert done.status == 1
    assert done.line() == "silent: at the start 3 nodes did not agree within 6s"
    assert re.search(r"^ +4 +24 +24 +1\.000 ", done.out, re.MULTILINE)
    assert re.search(r"^ +4 +14 +14 +1\.000 ", done.out, re.MULTILINE)
    assert "silent" not in done.out


def test_an_interrupt_shows_the_results_so_far(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Ctrl-C during the third cluster: two rows per case, both charts, the picture, and status 130."""
    _cut_short(monkeypatch, KeyboardInterrupt())
    assert scale(_options(tmp_path / "two.svg")) == 130
    output = capsys.readouterr()
    assert len(re.findall(r"^ +\d .* s$", output.out, re.MULTILINE)) == 4
    assert output.out.count("┌") == 2
    assert len(_circles((tmp_path / "two.svg").read_text("utf-8"))) == 4 + 2 + 2, "and two in a legend"


def test_an_interrupt_before_the_first_measurement(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Nothing is shown or drawn."""
    _cut_short(monkeypatch, KeyboardInterrupt())
    assert scale(_options(tmp_path / "none.svg", nodes="9")) == 130
    assert capsys.readouterr().out == ""
    assert not (tmp_path / "none.svg").exists()


def test_nodes_that_never_agree(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """One line explains it, the measurements are shown, and the status is 1."""
    _cut_short(monkeypatch, NoAgreementError("9 nodes did not agree"))
    assert scale(_options(json=True)) == 1
    output = capsys.readouterr()
    assert output.err == "lab: bully: 9 nodes did not agree\n"
    assert [each["nodes"] for each in json.loads(output.out)["protocols"][0]["elections"]] == [3, 6, 3, 6]


def _cut_short(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def until_nine(protocol: object, nodes: int, *rest: object) -> ScalabilityTrial:
        if nodes == 9:
            raise error
        return ScalabilityTrial(Bully, nodes, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr("lab.worlds.campaign.scalability.ScalabilityTrial", until_nine)


def test_a_plot_has_the_given_width() -> None:
    """Narrow and wide, with all labels."""
    for width, height in ((80, 22), (40, 12), (120, 26)):
        lines = plot(CHART, width, height, colours=False).splitlines()
        assert len(lines) == height
        assert max(map(len, lines)) <= width
    drawn = plot(CHART, 80, 22, colours=False)
    for word in ("squares", "number", "counted", "by <formula>", "10,000"):
        assert word in drawn
    assert "\x1b" not in drawn
    assert "\x1b[38;5;" in plot(CHART, 80, 22, colours=True)


def test_a_picture_has_both_series() -> None:
    """Valid XML: a circle per point and one in the legend, a line through the points of the curve."""
    text = charts_as_svg([replace(CHART, height=300)])
    (x1, y1), (x2, y2), (x3, y3) = [place for place in _circles(text) if place[1] != _circles(text)[-1][1]]
    assert x2 - x1 == pytest.approx(x3 - x2, abs=0.2), "the axis is logarithmic"
    assert y1 - y2 == pytest.approx(y2 - y3, abs=0.2)
    assert x1 < x3
    assert y1 > y3
    root = ElementTree.fromstring(text)
    curves = [each for each in root.iter(f"{SVG}path") if each.get("stroke-width") == "2"]
    assert len(curves) == 2, "the curve, and its sample in the legend"
    written = ["".join(each.itertext()) for each in root.iter(f"{SVG}text")]
    assert {"squares", "number", "square", "counted", "by <formula>", "100", "10,000"} <= set(written)


def _circles(svg: str) -> list[tuple[float, float]]:
    root = ElementTree.fromstring(svg)
    return [(float(each.get("cx", "")), float(each.get("cy", ""))) for each in root.iter(f"{SVG}circle")]


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [(6, 10_488, (10, 100, 1_000, 10_000)), (10, 100, (10, 100)), (6, 12, (1, 10, 100)), (1, 1, (1,))],
)
def test_decades(low: float, high: float, ticks: tuple[int, ...]) -> None:
    """The powers between, or, if there are too few, those around."""
    assert decades(low, high) == ticks


@pytest.mark.parametrize(("high", "ticks"), [(4.3, (0, 1, 2, 3, 4, 5)), (0, (0,)), (20, (0, 4, 8, 12, 16, 20))])
def test_whole_numbers(high: float, ticks: tuple[int, ...]) -> None:
    """From 0, and not too many."""
    assert whole_numbers(high) == ticks


def test_ticks_do_not_overlap() -> None:
    """Ticks too close to the previous one are left out."""
    assert Axis("nodes", (3, 100, 101, 102, 300), logarithmic=True).spaced_ticks() == (3, 100, 300)
    assert Axis("nodes", (7,), logarithmic=True).spaced_ticks() == (7,)


def test_a_single_size_can_be_drawn() -> None:
    """No division by a zero range."""
    one = Chart("one", Axis("x", (5,), False), Axis("y", (5,), False), (Series("point", ((5, 5),)),))
    assert "5" in plot(one, 60, 12, colours=False)
    assert _circles(charts_as_svg([replace(one, height=200)]))[0][0] == pytest.approx(414, abs=1), "in the middle"


def test_a_terminal_without_unicode_gets_ascii(lab: Lab) -> None:
    """Other characters are replaced by similar ones."""
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = lab("scale", "bully", "--nodes", "3", environment=ascii_only)
    assert (done.status, done.err) == (0, "")
    assert "6n - 10" in done.out
    assert "n^2 + 5n - 12" in done.out
    assert done.out.isascii()
