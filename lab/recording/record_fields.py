"""Compare two records of one kind field by field, with texts for the user."""

from typing import Any

import msgspec

__all__ = ["decode_fields", "differing_fields"]

_LONGEST = 160


def decode_fields(line: bytes) -> dict[str, Any]:
    """Return the fields of an encoded record; the body of a message may hold any bytes.

    Raises msgspec.DecodeError.
    """
    found: dict[str, Any] = msgspec.json.decode(line.decode("utf-8", "replace"))
    return found


def differing_fields(one: dict[str, Any], other: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Return (name, value in one, value in the other) for each field that differs."""
    return [
        (name, _short(one.get(name)), _short(other.get(name)))
        for name in dict.fromkeys([*one, *other])
        if one.get(name) != other.get(name)
    ]


def _short(value: Any) -> str:
    text = "nothing" if value is None else msgspec.json.encode(value).decode()
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
