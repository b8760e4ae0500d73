"""Tables of a run hold what is in the records, as spreadsheets and programs take it."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from lab.export.excerpt import ExportError, Table, Wanted
from lab.export.tables import COLUMNS, write_csv, write_jsonl
from lab.kernel import Received
from tests.export.struck import SHIPPED, excerpt_in, exported, runs, windows
from tests.harness import T_US, Rig

TABLES: tuple[Table, ...] = ("messages", "statuses", "faults", "events")


def _csv(path: Path, wanted: Wanted) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(exported(write_csv, path, wanted))))


def _json(path: Path, wanted: Wanted) -> list[dict[str, Any]]:
    return [json.loads(line) for line in exported(write_jsonl, path, wanted).splitlines()]


def _as_cell(value: object) -> str:
    if value is None:
        return ""
    text = " ".join(map(str, value)) if isinstance(value, list) else f"{value}"
    return f"'{text}" if isinstance(value, str | list) and text[:1] in tuple("=+-@") else text


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_both_formats_have_the_same_rows(path: Path, table: Table) -> None:
    """Of every shipped recording; each row has all columns, and no line is part of a cell."""
    wanted = Wanted(table=table, heartbeats=True)
    rows, objects = _csv(path, wanted), _json(path, wanted)
    assert [{name: _as_cell(value) for name, value in each.items()} for each in objects] == rows
    assert all(tuple(each) == tuple(COLUMNS[table]) for each in objects)
    assert exported(write_csv, path, wanted).count("\n") == len(rows) + 1
    assert rows or table == "faults"


@given(runs(), windows())
@settings(max_examples=30)
def test_a_row_is_what_the_records_tell(
    tmp_path_factory: pytest.TempPathFactory, rig: Rig, wanted: Wanted
) -> None:
    """Whatever the window: messages are sent and met their fates where the rows have it."""
    path = rig.write(tmp_path_factory.mktemp("run") / "run.jsonl")
    try:
        rows = _json(path, wanted)
    except ExportError as error:
        if "nothing was recorded" not in str(error):
            raise
        return
    lines = excerpt_in(path).lines
    for row in rows:
        if row["record"] is not None and row["serial"] > 0:
            step = lines.record(row["record"])
            assert row["serial"] in [message.serial for message in step.sent]  # type: ignore[union-attr]
            assert (step.node, step.at_us) == (row["source"], row["sent_us"])  # type: ignore[union-attr]
        if row["fate"] == "delivered":
            step = lines.record(row["end_record"])
            assert step.input == Received(row["source"], row["serial"])  # type: ignore[union-attr]
            assert step.node == row["target"]  # type: ignore[union-attr]
            assert row["latency_us"] == row["end_us"] - row["sent_us"]


def test_every_message_is_a_row(tmp_path: Path) -> None:
    """With its fate and the faults that touched it; heartbeats where they are asked for."""
    rig = Rig([1, 2, 3]).started()
    rig.do("duplicate all 40%", "at 1s: lose all 30%")
    rig.run(40 * T_US)
    path = rig.write(tmp_path / "run.jsonl")
    rows = _json(path, Wanted(heartbeats=True))
    assert [(row["source"], row["serial"]) for row in rows] == list(rig.messages)
    assert {row["arrivals"] for row in rows} == {0, 1, 2}
    assert all(row["faults"] for row in rows if row["fate"] == "lost")
    beats = rig.header.protocol.heartbeats
    assert len(_json(path, Wanted())) == sum(row["kind"] not in beats for row in rows)


def test_statuses_and_faults_have_their_times(tmp_path: Path) -> None:
    """What is not over when the export ends has no end."""
    rig = Rig([1, 2]).started()
    rig.do("at 2s: kill 2", "at 4s: restart 2", "at 5s: cut 1->2")
    rig.run_to(6_000_000)
    path = rig.write(tmp_path / "run.jsonl")
    killed, cut = _json(path, Wanted(table="faults"))
    assert (killed["text"], killed["nodes"], killed["since_us"], killed["until_us"]) == (
        "kill 2",
        [2],
        2_000_000,
        4_000_000,
    )
    assert (cut["links"], cut["until_us"], cut["until_record"]) == (["1->2"], None, None)
    dead = [row for row in _json(path, Wanted(table="statuses")) if row["process"] == "killed"]
    assert [(row["node"], row["since_us"], row["lasted_us"]) for row in dead] == [(2, 2_000_000, 2_000_000)]


def test_no_cell_is_a_formula(tmp_path: Path) -> None:
    """A cell that begins with = + - or @ gets an apostrophe; numbers below 0 stay numbers; JSON stays as it is."""
    rig = Rig([1, 2]).started()
    rig.do('say "=1+1"', 'say "+1"', 'say "-1"', 'say "@now"', "say \"a, 'b'\"", "inject 1->2 AreYouUp")
    rig.run(3 * T_US)
    path = rig.write(tmp_path / "run.jsonl")
    said = [row["text"] for row in _csv(path, Wanted(table="events")) if row["what"] == "caption"]
    assert said == ["'=1+1", "'+1", "'-1", "'@now", "a, 'b'"]
    told = [row["text"] for row in _json(path, Wanted(table="events")) if row["what"] == "caption"]
    assert told == ["=1+1", "+1", "-1", "@now", "a, 'b'"]
    assert [row["serial"] for row in _csv(path, Wanted()) if row["fate"] == "forged"] == ["-1"]


def test_no_codes_nor_line_ends_come_from_a_foreign_recording(tmp_path: Path) -> None:
    """They are shown as what they are."""
    rig = Rig([1]).started()
    rig.do('say "x"')
    rig.run(T_US)
    path = rig.write(tmp_path / "run.jsonl")
    path.write_bytes(path.read_bytes().replace(b'"text":"x"', b'"text":"\\u001b[2J\\n\\u2028"'))
    for write in (write_csv, write_jsonl):
        file = exported(write, path, Wanted(table="events"))
        assert "\x1b" not in file
        assert "\u2028" not in file
        assert "\\x1b[2J" in file.replace("\\\\", "\\")
