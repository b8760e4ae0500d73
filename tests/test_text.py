"""Sanitized foreign text cannot control the terminal or change the direction of writing; only it is printed."""

import ast
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.output import print_error, print_line, print_text
from lab.text import did_you_mean, remove_controls, sanitize, sanitize_json
from tests.hostile import PAYLOADS, controls_in

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


@pytest.mark.parametrize("payload", PAYLOADS, ids=ascii)
def test_what_is_printed_is_sanitized(payload: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A line stays a line, and a text of several lines is as many."""
    print_line(payload)
    print_error(payload)
    print_text(f"one\n{payload.replace(chr(10), '')}\ntwo\n")
    out, err = capsys.readouterr()
    assert (controls_in(out), controls_in(err)) == ([], [])
    assert (out.count("\n"), err.count("\n")) == (4, 1)


@given(st.text(max_size=60))
def test_sanitized_json_has_the_same_value(text: str) -> None:
    shown = sanitize_json(json.dumps(text, ensure_ascii=False).encode())
    assert controls_in(shown) == []
    assert json.loads(shown) == text


def test_the_rest_of_a_text_stays_in_its_place() -> None:
    assert remove_controls("a\x1b[2J\tb\x9b\nc") == "a[2J\tb\nc"


ROOT = Path(__file__).parent.parent
PRINTS = {
    "lab/output.py": "the one that writes lines",
    "lab/worlds/loading/user_module.py": "what a user's code prints, as it is, on standard error",
}
CONSOLES = {
    "lab/cli/terminal.py": "the console without control characters",
    "lab/styles.py": "one to measure with, which prints nothing",
    "lab/tui/apps/cast.py": "one that renders what the interface has filtered",
}
MAKES_SANITIZED = {"lab/text.py": "the sanitizer"}


def test_there_is_no_other_way_out() -> None:
    """Everything is printed, and made printable, in these modules."""
    found = _called_or_inherited()
    for name, where in (("print", PRINTS), ("Console", CONSOLES), ("Sanitized", MAKES_SANITIZED)):
        assert {path for path, names in found.items() if name in names} == set(where), name


def _called_or_inherited() -> dict[str, set[str]]:
    """Return, by module with one of the three, the names that it calls, and that its classes inherit from."""
    found = dict[str, set[str]]()
    for path in (ROOT / "lab").rglob("*.py"):
        text = path.read_text("utf-8")
        if not re.search(r"\b(print|Console|Sanitized)\b", text):  # parsing takes much longer
            continue
        names = found[str(path.relative_to(ROOT))] = set()
        for node in ast.walk(ast.parse(text)):
            uses = [*node.bases] if isinstance(node, ast.ClassDef) else [getattr(node, "func", None)]
            names.update(each.id for each in uses if isinstance(each, ast.Name))
    return found
