"""A hostile recording: the views must draw it, and draw it safely."""

import json
from pathlib import Path
from typing import Any

from tests.tui.recorded import SHIPPED

__all__ = ["hostile_recording"]

_SOURCES = {
    "escapes": "\x1b[2Jdef election(self):\x1b]0;title\x07\n\tawait \x9b31mself\x9c\n" * 40,
    "words": "this is no Python (((\n" * 50,
    "long": f"x = '{'a' * 5000}'\n" * 3 + "\u202eright to left\n" + "\u4e16\u754c" * 400 + "\n",
    "nothing": " \n",
}


def hostile_recording(path: Path, source: str = "escapes") -> Path:
    """Write the shipped recording with impossible waits, and escape sequences in every text."""
    header, *records = (json.loads(line) for line in SHIPPED.read_text("utf-8").splitlines())
    header["protocol"]["source"] = _SOURCES[source]
    bloated: set[int] = set()
    for number, record in enumerate(records):
        if record["record"] == "step":
            _spoil(record, number)
            if "status" in record.get("changed", {}) and record["node"] not in bloated:
                bloated.add(record["node"])  # the state of a node keeps the values from then on
                record["changed"] |= {"long": "word " * 3000, "many": [[1, {}]] * 3000}
    lines = [json.dumps(each) for each in (header, *(each for each in records if each["record"] != "keyframe"))]
    # keyframes are left out: they hold the state before it was spoiled
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def _spoil(step: dict[str, Any], number: int) -> None:
    nested: Any = "\x1b[31m"
    for _ in range(200):
        nested = {"\x1b[1m": [nested]}
    line = (-5, 0, 2, 10**18, 190)[number % 5]
    until = (None, -(10**18), 10**18)[number % 3]
    step["waits"] = [
        {
            "procedure": "election \x1b[2J",
            "line": line,
            "what": "\x1b]0;x\x07answers",
            "since_us": 5,
            "until_us": until,
        },
        {"procedure": "", "line": 1, "what": "", "since_us": -(10**18), "peers": list(range(300))},
    ]
    if "status" in step.get("changed", {}):
        step["changed"] |= {"nested": nested, "\x1b[5m": "\x1b[5m"}
        step["stored"] = {"version": "\x9b2J", "nested": nested}
        step["logged"] = {"log": [{"\x1b": number}] * 3}
        step["notes"] = ["\x1b[2J"]
