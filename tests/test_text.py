"""Sanitized foreign text cannot control the terminal or change the direction of writing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.text import did_you_mean, sanitize

TURNS = (0x061C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A))
"""Marks, embeddings, overrides and isolates of direction, and the separators of lines and paragraphs."""


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ± ‖ ✖ 名", "plain ± ‖ ✖ 名"),
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("\x1b]52;c;aGk=\x07", "\\x1b]52;c;aGk=\\x07"),
        ("\x1b]0;title\x1b\\", "\\x1b]0;title\\x1b\\"),
        ("\x9b2J", "\\x9b2J"),
        ("\x90q\x9c", "\\x90q\\x9c"),
        ("a\rb\x08c\x7f", "a\\x0db\\x08c\\x7f"),
        ("two\nlines\tand", "two lines and"),
        ("\x00", "\\x00"),
        ("abc\u202edef", "abc\\x202edef"),
        ("\u2066x\u2069\u200f", "\\x2066x\\x2069\\x200f"),
        ("a\u061cb\u2028c\u2029d", "a\\x61cb\\x2028c\\x2029d"),
        ("\ud800", "\\xd800"),
    ],
)
def test_control_characters_are_escaped(text: str, shown: str) -> None:
    """ESC, OSC, CSI, C1 and directional overrides are shown as numbers."""
    assert sanitize(text) == shown


@given(st.text(st.characters(), max_size=60))
def test_no_control_characters_are_left(text: str) -> None:
    """No C0, DEL or C1, line separators, directional overrides or lone surrogates."""
    shown = sanitize(text)
    assert not any(ord(each) < 32 or 127 <= ord(each) < 160 for each in shown)
    assert not set(shown) & set(
        "\u2028\u2029\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
    )
    shown.encode()


@given(st.text(st.characters(), max_size=60), st.integers(1, 50))
def test_the_limit(text: str, limit: int) -> None:
    """Longer text ends in an ellipsis, and has exactly that length."""
    shown = sanitize(text, limit)
    whole = sanitize(text)
    assert len(shown) <= limit
    assert shown == whole if len(whole) <= limit else shown == whole[: limit - 1] + "…"


def test_did_you_mean() -> None:
    """The most similar word, if one is similar enough."""
    assert did_you_mean("kil", ["pause", "kill"]) == "; did you mean kill?"
    assert did_you_mean("weather", ["pause", "kill"]) == ""
