"""A recording executes nothing: neither its source text, nor a file that it names."""

import json
from pathlib import Path

import pytest

from tests.cli.invocation import SHIPPED, Lab
from tests.profile import sampled

COMMANDS = [
    ("show", "r.jsonl"),
    ("verify", "r.jsonl"),
    ("history", "r.jsonl"),
    ("diff", "r.jsonl", str(SHIPPED)),
    ("branches", "r.jsonl"),
    ("branch", "r.jsonl", "--at", "1s", "--for", "3s", "--headless"),
    ("scenario", "from", "r.jsonl"),
    ("export", "r.jsonl", "--to", "html", "--out", "r.html"),
    ("export", "r.jsonl", "--to", "svg", "--out", "r.svg"),
    ("exercise", "grade", "r.jsonl"),
]
"""The first one reads the recording; the profile ``quick`` calls one in three of the others for each name."""
NAMES = ["bully", "evil.py:Evil", "./evil.py:Evil", "bully with evil.py", "field above evil.py:Evil", "evil"]


@pytest.mark.parametrize("name", NAMES)
def test_no_code_of_a_recording_is_executed(lab: Lab, name: str) -> None:
    """Whatever its header calls the protocol, its file, its election and its exercise."""
    trace = lab.folder / "trace"
    evil = f"open({str(trace)!r}, 'w').close()\nfrom lab.protocols import Bully\nclass Evil(Bully): pass\n"
    (lab.folder / "evil.py").write_text(evil, "utf-8")
    head, *lines = SHIPPED.read_text("utf-8").splitlines()
    header = json.loads(head)
    header["protocol"] |= {"name": name, "file": str(lab.folder / "evil.py"), "source": evil}
    header["protocol"]["parameters"] |= {"election": "evil.py:Evil"}
    header["exercise"] = {"name": "../evil", "student": "anna", "attempt": 1}
    (lab.folder / "r.jsonl").write_text("\n".join([json.dumps(header), *lines, ""]), "utf-8")
    ended = [lab(*command) for command in (COMMANDS[0], *sampled(COMMANDS[1:], 3, NAMES.index(name) % 3))]
    assert not trace.exists()
    assert all(each.status in (0, 1, 2) and "Traceback" not in each.err for each in ended), ended
    assert ended[0].status == 0, "the recording is read"


def test_the_file_would_leave_a_trace(lab: Lab, tmp_path: Path) -> None:
    """Named by the user, the same file is executed."""
    trace = tmp_path / "trace"
    (lab.folder / "evil.py").write_text(f"open({str(trace)!r}, 'w').close()\n", "utf-8")
    lab("verify", str(SHIPPED), "--protocol", "evil.py:Evil")
    assert trace.exists()
