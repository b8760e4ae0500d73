"""``lab history``: the groups of a recording in the terminal, as SVG, as a graph and as JSON (rule I10)."""

import re
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest

from lab.analysis.group_history import GroupLog
from lab.export.group_pictures import format_graph, group_picture
from lab.recording.records import Fault
from tests.cli.invocation import SHIPPED, Lab
from tests.properties.synthetic import header
from tests.tui.grouped import partitioned_file, partitioned_run


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a recording in which groups split and merge."""
    return partitioned_file(tmp_path_factory.mktemp("groups") / "run.jsonl")


def test_text(lab: Lab, recording: Path) -> None:
    """In 80 columns too, without escape codes if the output is not a terminal."""
    for columns in ("80", "120"):
        shown = lab("history", str(recording), environment={"COLUMNS": columns})
        assert (shown.status, shown.err) == (0, "")
        lines = shown.out.splitlines()
        assert max(map(len, lines)) <= int(columns)
        assert "\x1b" not in shown.out
        assert any(
            re.search(r"9\.\d+ +5\.4 ━ 5\.4 ━ 5\.4 ━ 5\.4 ━★5\.4  5 leads 1-4, of 2\.3 5\.3", line)
            for line in lines
        )


def test_a_terminal_without_unicode_gets_ascii(lab: Lab, recording: Path) -> None:
    """With the same information."""
    shown = lab("history", str(recording), environment={"LC_ALL": "C", "LANG": "C"})
    assert shown.out.isascii()
    assert "5.4 = 5.4 = 5.4 = 5.4 =^5.4" in shown.out
    assert "?" not in shown.out


def test_svg(lab: Lab, recording: Path) -> None:
    """It has every group, and the terminal output is printed too."""
    shown = lab("history", str(recording), "--svg", "out.svg")
    assert shown.status == 0
    assert shown.out.endswith("drawn: out.svg\n")
    root = ElementTree.parse(lab.folder / "out.svg").getroot()
    texts = ["".join(text.itertext()) for text in root.iter("{http://www.w3.org/2000/svg}text")]
    log = GroupLog.of(partitioned_run().records)
    assert {group.name for group in log.groups} <= {text.removeprefix("★ ") for text in texts}
    assert texts.count("★ 5.4") == 1
    assert texts.count("5.4") == 4
    assert "5 leads 3 4, of 5.2, all Normal after 211ms" in texts


def test_dot(lab: Lab, recording: Path) -> None:
    """An arrow from each group to its successors; labels with coordinator, members and times."""
    assert lab("history", str(recording), "--dot", "out.dot").status == 0
    text = (lab.folder / "out.dot").read_text("utf-8")
    names = dict(re.findall(r'(g\d+) \[label="([\d.]+)\\n', text))
    arrows = {(names[of], names[group]) for of, group in re.findall(r"(g\d+) -> (g\d+);", text)}
    assert {("2.3", "5.4"), ("5.3", "5.4"), ("5.2", "5.3"), ("5.2", "1.2")} <= arrows
    assert re.search(r'label="5\.3\\n5 leads 3 4\\n3\.353 s to 9\.\d+ s"', text)


def test_json(lab: Lab, recording: Path) -> None:
    """Times are in microseconds, as their names say."""
    shown = lab("history", str(recording), "--json", "--svg", "out.svg")
    result = msgspec.json.decode(shown.out)
    group = next(group for group in result["groups"] if group["group"] == "5.4")
    assert (group["coordinator"], group["members"]) == (5, [1, 2, 3, 4, 5])
    assert sorted(group["of"]) == ["2.3", "5.3"]
    assert group["formed_us"] < group["defined_us"] < group["normal_us"] < group["all_normal_us"] < 10_000_000
    assert group["ended_us"] > 12_000_000
    assert {stay["node"] for stay in group["stays"]} == {1, 2, 3, 4, 5}
    killed = next(stay for stay in group["stays"] if stay["node"] == 5)
    assert killed["normal"][0]["since_us"] == killed["normal_us"]
    assert killed["normal"][-1]["until_us"] == killed["until_us"]
    assert result["groups"][-1]["ended_us"] is None
    assert (lab.folder / "out.svg").exists()


def test_the_report_of_a_run_has_the_group_of_each_node(lab: Lab) -> None:
    """As text, and as JSON; None for a node without a group."""
    words = [
        "run",
        "invitation",
        "--sim",
        "--headless",
        "--nodes",
        "3",
        "--for",
        "4s",
        "--seed",
        "1",
        "--do",
        "at 3s kill 1",
    ]
    report = lab(*words)
    assert "node 2  running  Normal under 3 in group 3." in report.out
    summary = msgspec.json.decode(lab(*words, "--json").out)
    groups = [summary["nodes"][node]["group"] for node in "123"]
    assert groups[0] is None
    assert groups[1] == groups[2]
    assert groups[1].startswith("3.")


def test_a_recording_without_groups(lab: Lab) -> None:
    """One line, and no file is written."""
    output = lab.within("history", str(SHIPPED), "--svg", "out.svg").refused()
    assert "this run of bully has no groups" in output
    assert "lab run invitation" in output
    assert not (lab.folder / "out.svg").exists()


def test_the_recording_is_not_overwritten(lab: Lab, recording: Path) -> None:
    """With any option."""
    before = recording.read_bytes()
    for option in ("--svg", "--dot"):
        assert "is the recording itself" in lab.within("history", str(recording), option, str(recording)).refused()
    assert recording.read_bytes() == before


def test_foreign_text_is_escaped() -> None:
    """The name of a protocol and the text of a fault may be anything."""
    evil = '"]; <b>&\\\x1b[2J\n'
    head = header((1, 2))
    head = msgspec.structs.replace(head, protocol=msgspec.structs.replace(head.protocol, name=evil))
    log = GroupLog.of([*partitioned_run().records, Fault(1, 9, "cut", evil, links=((1, 2),))])
    svg, dot = group_picture(head, log), format_graph(head, log)
    assert "".join(ElementTree.fromstring(svg).itertext()).count("<b>&") == 2
    assert "\x1b" not in svg + dot
    label = dot.splitlines()[1]
    assert label.startswith(r'  label="\"]; <b>&\\\\x1b[2J ')
