"""``--table`` of ``lab compare`` and ``lab scale``: a row for each run, in every format; and its mistakes."""

import csv
import json
from typing import Any

import pyarrow.parquet
import pytest

from tests.cli.invocation import Lab

COMPARISONS = {
    "elections": ("compare", "bully", "ring", "--runs", "2", "--task", "none", "--workers", "1"),
    "field": ("compare", "bully", "ring", "--runs", "2", "--workers", "1"),
    "commits": ("compare", "2pc", "3pc", "--runs", "2", "--workers", "1"),
}


def _rows(lab: Lab) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (lab.folder / "runs.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("kind", COMPARISONS)
def test_a_comparison(lab: Lab, kind: str) -> None:
    """The rows add up to the document."""
    document = json.loads(lab(*COMPARISONS[kind], "--table", "runs.jsonl", "--json").out)
    rows = _rows(lab)
    names = [each["protocol"] for each in document["protocols"]]
    assert [(row["seed"], row["protocol"]) for row in rows] == [(seed, name) for seed in (1, 2) for name in names]
    assert len({row["run"] for row in rows}) == 4
    for each in document["protocols"]:
        figures, own = each["figures"], [row for row in rows if row["protocol"] == each["protocol"]]
        assert sum(row["excused"] for row in own) == sum(one["excused"] for one in each["violations"].values())
        assert {name for row in own for name in json.loads(row["violations"])} == each["violations"].keys()
        if kind == "commits":
            assert sum(row["committed"] for row in own) == figures["committed"] > 0
            assert sum(row["blocked_us"] for row in own) == figures["blocked"]["total_us"]
            continue
        assert sum(row["elections"] for row in own) == figures["elections"]["count"] > 0
        assert sum(row["outages"] for row in own) == figures["without_coordinator"]["count"]
        if kind == "field":
            assert sum(row["readings_made"] for row in own) == figures["readings"]["made"] > 0


def test_a_scaling(lab: Lab) -> None:
    """In all formats the same; the file is named at the end of a comparison only."""
    document = json.loads(lab("scale", "bully", "--nodes", "3,5", "--table", "runs.jsonl", "--json").out)
    rows = _rows(lab)
    (bully,) = document["protocols"]
    keys = ("nodes", "noticed", "messages", "formula", "virtual_us")
    assert [[row[key] for key in keys] for row in rows] == [
        [each[key] for key in keys] for each in bully["elections"]
    ]
    assert [json.loads(row["kinds"]) for row in rows] == [each["kinds"] for each in bully["elections"]]
    for name in ("runs.csv", "runs.parquet"):
        assert lab("scale", "bully", "--nodes", "3,5", "--table", name).status == 0
    with (lab.folder / "runs.csv").open() as file:
        assert [int(row["messages"]) for row in csv.DictReader(file)] == [row["messages"] for row in rows]
    columns = pyarrow.parquet.read_table(lab.folder / "runs.parquet").to_pydict()
    assert columns["messages"] == [row["messages"] for row in rows]


@pytest.mark.parametrize("command", [("compare", "bully", "ring"), ("scale", "bully")], ids=" ".join)
def test_mistakes(lab: Lab, command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the work begins."""
    assert lab.within(*command, "--table", "runs.xlsx").refused() == (
        "--table runs.xlsx: name a file that ends in .csv, .jsonl, .parquet"
    )
    assert "does not exist" in lab.within(*command, "--table", "nowhere/runs.csv").refused()
    monkeypatch.setattr("lab.table_files.find_spec", lambda name: None)
    assert lab.within(*command, "--table", "runs.parquet").refused() == (
        "Parquet requires the extra: pip install 'coordinator-lab[data]'; or write CSV or JSON Lines"
    )
