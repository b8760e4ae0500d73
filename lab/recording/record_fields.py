"""How two records of one kind differ, field by field, in words for the user."""

from typing import Any

import msgspec

__all__ = ["differing_fields", "plain"]

_LONGEST = 160


def plain(line: bytes) -> dict[str, Any]:
    """The fields of an encoded record; a message's body may hold any bytes. msgspec.DecodeError."""
    found: dict[str, Any] = msgspec.json.decode(line.decode("utf-8", "replace"))
    return found


def differing_fields(one: dict[str, Any], other: dict[str, Any]) -> list[tuple[str, str, str]]:
    """(name, its value in one, in the other) for each field in which they differ."""
    return [
        (name, _short(one.get(name)), _short(other.get(name)))
        for name in dict.fromkeys([*one, *other])
        if one.get(name) != other.get(name)
    ]


def _short(value: Any) -> str:
    text = "nothing" if value is None else msgspec.json.encode(value).decode()
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
