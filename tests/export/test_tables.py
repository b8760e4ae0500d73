"""Tables have the contents of the records, in a form for spreadsheets and programs."""

import csv
import io
import json
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from hypothesis import given, settings

import lab
from lab.export.excerpt import ExportError, ExportOptions
from lab.export.tables import (
    COLUMNS,
    table_of,
    tables_of,
    write_csv_table,
    write_jsonl_table,
    write_parquet_table,
)
from lab.kernel import Received, Step
from lab.table_files import Table, write_table
from tests.export.fault_recordings import SHIPPED, excerpt_in, exported, runs, windows
from tests.harness import T_US, Rig
from tests.profile import amount, sampled

ROOT = Path(__file__).parents[2]
TABLES = (*COLUMNS, "transactions")
TYPES: dict[str, tuple[type, ...]] = {
    "integer": (int,),
    "number": (float, int),
    "text": (str,),
    "boolean": (bool,),
    "json": (str,),
}
BANK = next(path for path in sorted((ROOT / "recordings").rglob("*.jsonl")) if "2pc" in path.name)


def _csv(path: Path, options: ExportOptions) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(exported(write_csv_table, path, options))))


def _json(path: Path, options: ExportOptions) -> list[dict[str, Any]]:
    return [json.loads(line) for line in exported(write_jsonl_table, path, options).splitlines()]


def _as_cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return f"'{value}" if isinstance(value, str) and value[:1] in tuple("=+-@") else f"{value}"


@pytest.mark.parametrize(
    ("path", "table"),
    sampled([*product((*SHIPPED, BANK), TABLES)], 3),
    ids=lambda each: getattr(each, "stem", each),
)
def test_all_formats_have_the_same_rows(path: Path, table: str, tmp_path: Path) -> None:
    """For every shipped recording; each row has all columns, and no cell spans lines."""
    options = ExportOptions(table=table, heartbeats=True)
    excerpt = excerpt_in(path, options)
    if table not in (tables := tables_of(excerpt.header)):
        with pytest.raises(ExportError, match="has no table 'transactions'"):
            exported(write_csv_table, path, options)
        return
    rows, objects = _csv(path, options), _json(path, options)
    assert [{name: _as_cell(value) for name, value in each.items()} for each in objects] == rows
    assert all(tuple(each) == tuple(column.name for column in tables[table]) for each in objects)
    assert exported(write_csv_table, path, options).count("\n") == len(rows) + 1
    assert rows or table in ("faults", "elections")
    write_table(tmp_path / "table.parquet", table_of(excerpt))
    assert pyarrow.parquet.read_table(tmp_path / "table.parquet").to_pylist() == objects


@pytest.mark.parametrize("table", TABLES)
def test_a_column_has_one_type(table: str, tmp_path: Path) -> None:
    """In every run; lists and payloads are JSON text; Parquet has the type without any row, too."""
    objects = []
    for path in [*SHIPPED, BANK]:
        if table in tables_of(excerpt_in(path).header):
            objects += _json(path, ExportOptions(table=table, heartbeats=True))
    excerpt = excerpt_in(BANK, ExportOptions(table=table))
    columns = tables_of(excerpt.header)[table]
    assert [column.name for column in columns[:3]] == ["run", "seed", "protocol"]
    for column in columns:
        cells = [each[column.name] for each in objects if each[column.name] is not None]
        assert {type(cell) for cell in cells} <= set(TYPES[column.type]), column.name
        if column.type == "json":
            assert {type(json.loads(cell)) for cell in cells} <= {list, dict}, column.name
    write_table(tmp_path / "none.parquet", Table(columns, ()))
    write_table(tmp_path / "some.parquet", table_of(excerpt))
    none, some = (pyarrow.parquet.read_schema(tmp_path / f"{name}.parquet") for name in ("none", "some"))
    assert none == some
    assert some.field("seed").type == pyarrow.int64()


def test_tables_of_a_bank() -> None:
    """Its transactions, elections and verdicts are those of the analyses."""
    transactions = _json(BANK, ExportOptions(table="transactions"))
    assert {each["outcome"] for each in transactions} <= {"committed", "aborted", None}
    assert all(each["transaction"].startswith(f"{each['coordinator']}.") for each in transactions)
    run = lab.load(BANK)
    verdicts = _json(BANK, ExportOptions(table="verdicts"))
    assert [(each["assertion"], each["verdict"]) for each in verdicts] == [
        (verdict.assertion, verdict.word) for verdict in run.verdicts
    ]
    steps = _json(BANK, ExportOptions(table="steps"))
    assert [each["record"] for each in steps] == [
        number for number, record in enumerate(run.records) if isinstance(record, Step)
    ]


def test_elections_and_violations(tmp_path: Path) -> None:
    """When the coordinator was lost, and on whom all agreed; the record that shows the first violation."""
    run = lab.simulate("bully", script="at 2s pause 5\nat 4s resume 5")
    frames = run.frames()
    lost, settled = frames["elections"]["lost_us"], frames["elections"]["settled_us"]
    assert list(zip(lost, settled, frames["elections"]["coordinator"], strict=True)) == [
        (each.lost_at_us, each.settled_at_us, each.coordinator) for each in run.elections
    ]
    first = {verdict.assertion: verdict.first for verdict in run.verdicts}
    verdicts = frames["verdicts"]
    assert "excused" in verdicts["verdict"]
    for assertion, record in zip(verdicts["assertion"], verdicts["first_record"], strict=True):
        found = first[assertion]
        assert record == (None if found is None else found.record)


def test_parquet_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names it, and the other formats."""
    monkeypatch.setattr("lab.table_files.find_spec", lambda name: None)
    with pytest.raises(
        ExportError, match=r"^Parquet requires the extra: pip install 'coordinator-lab\[data\]'; or"
    ):
        write_parquet_table(excerpt_in(BANK), io.TextIOWrapper(io.BytesIO()))


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
    store, first = excerpt_in(path).store, excerpt_in(path, options).first
    for row in rows:
        if row["record"] is not None and row["serial"] > 0:
            step = store.record(row["record"])
            bodies = {each.serial: bytes(each.body) for each in step.sent}  # type: ignore[union-attr]
            in_window = row["record"] >= first
            assert row["body"] == (bodies[row["serial"]].decode() if in_window else None)
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
    assert all(json.loads(row["faults"]) for row in rows if row["fate"] == "lost")
    beats = rig.header.protocol.heartbeats
    assert len(_json(path, ExportOptions())) == sum(row["kind"] not in beats for row in rows)


def test_statuses_and_faults_have_their_times(tmp_path: Path) -> None:
    """An interval that continues after the export has no end."""
    rig = Rig([1, 2]).started()
    rig.do("at 2s: kill 2", "at 4s: restart 2", "at 5s: cut 1->2")
    rig.run_to(6_000_000)
    path = rig.write(tmp_path / "run.jsonl")
    killed, cut = _json(path, ExportOptions(table="faults"))
    assert (killed["text"], json.loads(killed["nodes"]), killed["since_us"], killed["until_us"]) == (
        "kill 2",
        [2],
        2_000_000,
        4_000_000,
    )
    assert (cut["links"], cut["until_us"], cut["until_record"]) == ("[[1,2]]", None, None)
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
    for write in (write_csv_table, write_jsonl_table):
        file = exported(write, path, ExportOptions(table="events"))
        assert "\x1b" not in file
        assert "\u2028" not in file
        assert "\\x1b[2J" in file.replace("\\\\", "\\")
