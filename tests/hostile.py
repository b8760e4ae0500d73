"""Texts that would control a terminal, and recordings full of them."""

import json
import re
from collections.abc import Iterable
from random import Random
from typing import Any

__all__ = ["PAYLOADS", "controls_in", "hostile_lines"]

PAYLOADS = (
    "\x1b[2J",
    "\x1b]0;title\x07",
    "\x1b]52;c;aGk=\x1b\\",
    "\x1b]8;;http://example.org\x1b\\here\x1b]8;;\x1b\\",
    "\x1bP1$q\x1b\\",
    "\x9b31m",
    "\x9d0;title\x9c",
    "\x00",
    "\r\x08\x7f",
    "\nlab: another line",
    "a\u202eb\u2066c\u200f\u2028d\u061c",
    "[bold red]x[/] [link=http://example.org]y[/link]",
    "名" * 700,
)
_CONTROLS = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_FIXED = ("record", "world")
"""The fields without which a line is no record at all."""
_ENUMERATED = ("event", "fate", "type")
"""The fields with a few values only; a record with another cannot be read."""
_MAPPINGS = ("parameters", "changed", "stored", "logged", "edits", "stored_edits", "payload")
"""The fields with names that a protocol gave."""


def controls_in(output: str) -> list[str]:
    """Return the characters of the output that a terminal would obey, with the text around each."""
    hits = _CONTROLS.finditer(output)
    return [f"{hit.group()!r} in {output[max(0, hit.start() - 60) : hit.end() + 20]!r}" for hit in hits]


def hostile_lines(lines: Iterable[bytes], seed: int) -> list[bytes]:
    """Return the lines of a recording with payloads in some of its texts, or in all; the same text, the same way.

    Keyframes are left out, since they hold the state before.
    """
    rng = Random(seed)
    share = rng.choice([0.05, 0.3, 1.0])
    fixed = _FIXED if rng.random() < 0.2 else (*_FIXED, *_ENUMERATED)
    spoiled: dict[str, str] = {}

    def spoil_text(text: str) -> str:
        if text not in spoiled:
            at = rng.choice([0, len(text) // 2, len(text)])
            payload = rng.choice(PAYLOADS) if rng.random() < share else ""
            spoiled[text] = text[:at] + payload + text[at:]
        return spoiled[text]

    def spoil(value: Any, keys: bool = False) -> Any:
        if isinstance(value, str):
            return spoil_text(value)
        if isinstance(value, list):
            return [spoil(each, keys) for each in value]
        if isinstance(value, dict):
            return {
                spoil_text(key) if keys else key: each if key in fixed else spoil(each, keys or key in _MAPPINGS)
                for key, each in value.items()
            }
        return value

    records = [each for each in map(json.loads, lines) if each["record"] != "keyframe"]
    return [json.dumps(spoil(each), ensure_ascii=False).encode() for each in records]
