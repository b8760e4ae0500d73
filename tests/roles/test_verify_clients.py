"""The verification of runs with clients: their source is not recorded, so its lines may have moved."""

import json
from pathlib import Path

import lab
from lab.recording.reader import open_recording
from lab.replay.reexecution import ReexecutionReport, reexecute
from lab.worlds.loading.targets import load_protocol

REGISTER = str(Path(lab.__file__).with_name("guide") / "build" / "register.py")


def verified(path: Path) -> ReexecutionReport:
    protocol = load_protocol(REGISTER)
    store = open_recording(path)
    return reexecute(store, protocol, store.header.protocol.source)


def with_lines_moved(path: Path, nodes: range) -> Path:
    """Return a copy of the recording in which these nodes wait ten lines further down."""
    lines, moved = path.read_text().splitlines(), 0
    for number, line in enumerate(lines):
        record = json.loads(line)
        for wait in record.get("began", []) if record.get("node") in nodes else []:
            wait["line"] += 10
            moved += 1
        lines[number] = json.dumps(record, separators=(",", ":"), ensure_ascii=False)
    assert moved
    copy = path.with_name(f"moved-{nodes.start}.jsonl")
    copy.write_text("\n".join(lines) + "\n")
    return copy


def test_the_lines_of_clients_are_not_compared(tmp_path: Path) -> None:
    """Those of the cluster are: its source is in the recording."""
    lab.simulate(REGISTER, 3, seed=1, for_="4s", workload="lin-kv").save(tmp_path / "run.jsonl")
    assert verified(tmp_path / "run.jsonl").holds
    assert verified(with_lines_moved(tmp_path / "run.jsonl", range(4, 7))).holds
    report = verified(with_lines_moved(tmp_path / "run.jsonl", range(1, 4)))
    assert not report.holds
    assert "differs in waits" in report.differences[0].text
