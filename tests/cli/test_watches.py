"""``--watch``: columns of ``lab show``, and what is refused before the interface starts."""

import re

import pytest

from lab.recording.reader import open_recording
from lab.recording.timeline import Timeline
from lab.script.parse import parse_watch
from tests.cli.invocation import SHIPPED, Lab


def _columns(output: str, heads: list[str]) -> list[list[str]]:
    """Return the texts in these columns, whose heading must be there, line by line."""
    heading = next(line for line in output.splitlines() if line.startswith("#     time"))
    starts = [heading.index(head) for head in heads]
    ends = [*(start - 2 for start in starts[1:]), None]
    lines = [line for line in output.splitlines() if not line.startswith("#")]
    return [[line[start:end].strip() for start, end in zip(starts, ends, strict=True)] for line in lines]


def test_columns_in_the_log(lab: Lab) -> None:
    """Each line has the values after its record; without watches, the log is as it was."""
    watches = ["all.coordinator", "4.version - 1.version", "coordinators > 1", "live"]
    done = lab("show", str(SHIPPED), "--heartbeats", *(word for text in watches for word in ("--watch", text)))
    plain = lab("show", str(SHIPPED), "--heartbeats")
    assert (done.status, done.err) == (0, "")
    lines = [line for line in done.out.splitlines() if not line.startswith("#     time")]
    for line, before in zip(lines, plain.out.splitlines(), strict=True):
        assert line[:10] == before[:10]
        assert line.endswith(before[10:])
    columns = _columns(done.out, watches)
    store = open_recording(SHIPPED)
    possible = set()
    timeline = Timeline(store)
    for number in range(len(store)):
        cluster = timeline.at(number)
        possible.add(tuple(" ".join(map(str, parse_watch(text).read(cluster))) for text in watches))
    shown = {(*line[:3], line[3].split()[0]) for line in columns}
    assert len(shown) > 5
    assert shown <= possible
    assert columns[0][:3] == ["1:- 2:- 3:- 4:- 5:-", "-", "false"]
    assert {line[2] for line in columns} == {"false", "true"}


def test_columns_with_filters(lab: Lab) -> None:
    """The values are those of the whole cluster all the same."""
    done = lab("show", str(SHIPPED), "--node", "4", "--only", "status", "--watch", "4.status")
    lines = [line for line in done.out.splitlines() if not line.startswith("#")]
    assert len(lines) > 3
    for line in lines:
        shown, text = re.findall(r"^ +[\d.]+ +(\S+) +4 +status: (\w+)", line)[0]
        assert shown == text


def test_a_wide_column_is_cut(lab: Lab) -> None:
    """At eighty cells, heading and values."""
    text = " + ".join(f"{node}.version" for node in (*range(1, 6), *range(1, 6)))
    nodes = " and ".join(["all.status != Normal"] * 5)
    done = lab("show", str(SHIPPED), "--only", "end", "--watch", text, "--watch", nodes, "--watch", "all.status")
    _, heading, line, _ = done.out.splitlines()
    assert heading == f"#     time  {text[:79]}…  {nodes[:79]}…  all.status"
    start = heading.rindex("all.status")
    assert line[start:].startswith("1:Normal 2:Normal 3:Normal 4:Normal 5:Normal ")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("--watch", "4.cordinator"),
            "--watch '4.cordinator': a node of bully has no attribute cordinator; it has ",
        ),
        (
            ("--watch", "live", "--watch", "9.status"),
            "--watch '9.status': there is no node 9; the nodes are 1 2 3 4 5",
        ),
        (
            ("--watch", "foo"),
            "--watch 'foo': column 1: 'foo' is not expected here; expected a value or a predicate",
        ),
        (("--watch", "live", "--blocked"), "--watch adds columns to the log lines, and --blocked prints none; "),
        (("--watch", "live", "--view", "bank"), "--watch adds columns to the log lines, and --view prints none; "),
    ],
    ids=" ".join,
)
def test_what_show_refuses(lab: Lab, words: tuple[str, ...], message: str) -> None:
    assert lab.within("show", str(SHIPPED), *words).refused().startswith(message)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("run", "bully", "--headless", "--for", "1s", "--watch", "live"),
            "--watch requires the interface; of a headless run, lab show FILE --watch EXPRESSION prints the ",
        ),
        (
            ("run", "bully", "--watch", "6.status"),
            "--watch '6.status': there is no node 6; the nodes are 1 2 3 4 5",
        ),
        (
            ("run", "coordinator-dies", "--watch", "money"),
            "--watch 'money': bully keeps no accounts, so it has no money",
        ),
        (
            ("replay", str(SHIPPED), "--watch", "4 suspects 5"),
            "--watch '4 suspects 5': 4 suspects 5 depends on earlier ",
        ),
        (("run", "bully", "--watch", "live"), "the interface requires a terminal; without one: lab run "),
        (("replay", str(SHIPPED), "--watch", "live"), "the interface requires a terminal; without one: lab show "),
    ],
    ids=lambda each: " ".join(each[:4]) if isinstance(each, tuple) else "",
)
def test_what_is_refused_before_the_interface_starts(lab: Lab, words: tuple[str, ...], message: str) -> None:
    assert lab.within(*words).refused().startswith(message)
