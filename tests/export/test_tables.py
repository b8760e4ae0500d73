"""Tables have the contents of the records, in a form for spreadsheets and programs."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from lab.export.excerpt import ExportError, ExportOptions, TableName
from lab.export.tables import COLUMNS, write_csv, write_jsonl
from lab.kernel import Received
from tests.export.fault_recordings import SHIPPED, excerpt_in, exported, runs, windows
from tests.harness import T_US, Rig
from tests.profile import amount

TABLES: tuple[TableName, ...] = ("messages", "statuses", "faults", "events")


def _csv(path: Path, options: ExportOptions) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(exported(write_csv, path, options))))


def _json(path: Path, options: ExportOptions) -> list[dict[str, Any]]:
    return [json.loads(line) for line in exported(write_jsonl, path, options).splitlines()]


def _as_cell(value: object) -> str:
    if value is None:
        return ""
    text = " ".join(map(str, value)) if isinstance(value, list) else f"{value}"
    return f"'{text}" if isinstance(value, str | list) and text[:1] in tuple("=+-@") else text


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_both_formats_have_the_same_rows(path: Path, table: TableName) -> None:
    """For every shipped recording; each row has all columns, and no cell spans lines."""
    options = ExportOptions(table=table, heartbeats=True)
    rows, objects = _csv(path, options), _json(path, options)
    assert [{name: _as_cell(value) for name, value in each.items()} for each in objects] == rows
    assert all(tuple(each) == tuple(COLUMNS[table]) for each in objects)
    assert exported(write_csv, path, options).count("\n") == len(rows) + 1
    assert rows or table == "faults"


@given(runs(), windows())
@settings(max_examples=amount(quick=15, soak=300))
def test_rows_agree_with_the_records(
    tmp_path_factory: pytest.TempPathFactory, rig: Rig, options: ExportOptions
) -> None:
    """In any window, messages are sent and delivered at the records that the rows name."""
    path = rig.write(tmp_path_factory.mktemp("run") / "run.jsonl")
    try:
        rows = _json(path, options)
    except ExportError as error:
        if "nothing was recorded" not in str(error):
            raise
        return
    store = excerpt_in(path).store
    for row in rows:
        if row["record"] is not None and row["serial"] > 0:
            step = store.record(row["record"])
            assert row["serial"] in [message.serial for message in step.sent]  # type: ignore[union-attr]
            assert (step.node, step.at_us) == (row["source"], row["sent_us"])  # type: ignore[union-attr]
        if row["fate"] == "delivered":
            step = store.record(row["end_record"])
            assert step.input == Received(row["source"], row["serial"])  # type: ignore[union-attr]
            assert step.node == row["target"]  # type: ignore[union-attr]
            assert row["latency_us"] == row["end_us"] - row["sent_us"]


def test_every_message_is_a_row(tmp_path: Path) -> None:
    """With its outcome and the faults that affected it; heartbeats if asked for."""
    rig = Rig([1, 2, 3]).started()
    rig.do("duplicate all 40%", "at 1s: lose all 30%")
    rig.run(40 * T_US)
    path = rig.write(tmp_path / "run.jsonl")
    rows = _json(path, ExportOptions(heartbeats=True))
    assert [(row["source"], row["serial"]) for row in rows] == list(rig.messages)
    assert {row["arrivals"] for row in rows} == {0, 1, 2}
    assert all(row["faults"] for row in rows if row["fate"] == "lost")
    beats = rig.header.protocol.heartbeats
    assert len(_json(path, ExportOptions())) == sum(row["kind"] not in beats for row in rows)


def test_statuses_and_faults_have_their_times(tmp_path: Path) -> None:
    """An interval that continues after the export has no end."""
    rig = Rig([1, 2]).started()
    rig.do("at 2s: kill 2", "at 4s: restart 2", "at 5s: cut 1->2")
    rig.run_to(6_000_000)
    path = rig.write(tmp_path / "run.jsonl")
    killed, cut = _json(path, ExportOptions(table="faults"))
    assert (killed["text"], killed["nodes"], killed["since_us"], killed["until_us"]) == (
        "kill 2",
        [2],
        2_000_000,
        4_000_000,
    )
    assert (cut["links"], cut["until_us"], cut["until_record"]) == (["1->2"], None, None)
    dead = [row for row in _json(path, ExportOptions(table="statuses")) if row["process"] == "killed"]
    assert [(row["node"], row["since_us"], row["lasted_us"]) for row in dead] == [(2, 2_000_000, 2_000_000)]


def test_no_cell_is_a_formula(tmp_path: Path) -> None:
    """A cell that begins with = + - or @ gets an apostrophe; negative numbers and JSON stay as they are."""
    rig = Rig([1, 2]).started()
    rig.do('say "=1+1"', 'say "+1"', 'say "-1"', 'say "@now"', "say \"a, 'b'\"", "inject 1->2 AreYouUp")
    rig.run(3 * T_US)
    path = rig.write(tmp_path / "run.jsonl")
    output = [row["text"] for row in _csv(path, ExportOptions(table="events")) if row["what"] == "caption"]
    assert output == ["'=1+1", "'+1", "'-1", "'@now", "a, 'b'"]
    result = [row["text"] for row in _json(path, ExportOptions(table="events")) if row["what"] == "caption"]
    assert result == ["=1+1", "+1", "-1", "@now", "a, 'b'"]
    assert [row["serial"] for row in _csv(path, ExportOptions()) if row["fate"] == "forged"] == ["-1"]


def test_foreign_text_is_sanitized(tmp_path: Path) -> None:
    """Escape codes and line ends are shown as text."""
    rig = Rig([1]).started()
    rig.do('say "x"')
    rig.run(T_US)
    path = rig.write(tmp_path / "run.jsonl")
    path.write_bytes(path.read_bytes().replace(b'"text":"x"', b'"text":"\\u001b[2J\\n\\u2028"'))
    for write in (write_csv, write_jsonl):
        file = exported(write, path, ExportOptions(table="events"))
        assert "\x1b" not in file
        assert "\u2028" not in file
        assert "\\x1b[2J" in file.replace("\\\\", "\\")
