"""The diagram as plain text and as Mermaid: transcripts, and properties of every recording."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.export.excerpt import ExportError
from lab.export.text_diagram import write_mermaid, write_text
from lab.recording.reader import open_recording
from tests.export.windows import RECORDINGS, eventful_recording, evil_recording, excerpt_in, written

SHORT = RECORDINGS / "scenarios" / "token-lost-on-its-way.jsonl"
LONG = RECORDINGS / "two-coordinators.jsonl"


def test_text_transcripts(transcript: Callable[[str, str], None]) -> None:
    """A run in which a message is lost, and a window in which a node is paused."""
    paused = excerpt_in(open_recording(LONG), from_us=4_400_000, until_us=5_720_000, nodes=(2, 4, 5))
    transcript("export_text", written(write_text, excerpt_in(open_recording(SHORT))))
    transcript("export_text_window", written(write_text, paused))


def test_mermaid_transcripts(transcript: Callable[[str, str], None]) -> None:
    """Of the same two recordings."""
    paused = excerpt_in(open_recording(LONG), from_us=4_400_000, until_us=5_720_000, nodes=(2, 4, 5))
    transcript("export_mermaid", written(write_mermaid, excerpt_in(open_recording(SHORT))))
    transcript("export_mermaid_window", written(write_mermaid, paused))


@pytest.mark.parametrize("ascii_only", [False, True])
def test_every_message_has_a_row(tmp_path: Path, ascii_only: bool) -> None:
    """With its nodes, kind and outcome; one that takes longer than Tm has a second row for its end."""
    excerpt = excerpt_in(eventful_recording(tmp_path), ascii=ascii_only)
    rows = written(write_text, excerpt).splitlines()
    way = "->" if ascii_only else "→"
    slow_us = excerpt.header.timing.tm_us
    slow = [edge for edge in excerpt.messages if edge.end and edge.end.at_us - edge.line.at_us > slow_us]
    found = [row for row in rows if re.search(rf" \d {way} \d [A-Z]", row)]
    assert len(found) == len(excerpt.messages) + len(slow)
    assert slow
    assert all(row.isascii() for row in rows) == ascii_only


def test_lost_messages_end_before_their_target(tmp_path: Path) -> None:
    """With a symbol that nothing else has."""
    excerpt = excerpt_in(eventful_recording(tmp_path))
    rows = written(write_text, excerpt).splitlines()[5:]
    lost = [edge for edge in excerpt.messages if edge.end is not None and not edge.arrived]
    assert sum("×" in row for row in rows) == len(lost) > 10
    heads = sum("▶" in row or "◀" in row for row in rows)
    assert heads == sum(edge.arrived for edge in excerpt.messages)


def test_mermaid_has_an_arrow_for_each_message(tmp_path: Path) -> None:
    """Dashed for answers, with a cross for lost messages."""
    excerpt = excerpt_in(eventful_recording(tmp_path), until_us=2_000_000)
    lines = written(write_mermaid, excerpt).splitlines()
    ways = [found[1] for line in lines if (found := re.match(r"  n\d(--?(?:>>|x|\)))n\d: ", line))]
    assert len(ways) == len(excerpt.messages) > 50
    assert {"->>", "-->>", "-x"} <= set(ways)
    assert sum("x" in way for way in ways) == sum(
        edge.end is not None and not edge.arrived for edge in excerpt.messages
    )


def test_foreign_text_is_escaped(tmp_path: Path) -> None:
    """It contains no syntax of Mermaid, no line end, no keyword and no escape codes."""
    excerpt = excerpt_in(open_recording(evil_recording(tmp_path)), until_us=1_000_000)
    for line in written(write_mermaid, excerpt).splitlines()[1:]:
        assert re.match(r"  (participant n\d as|n\d-|Note over n|acc(Title|Descr): )", line)
        output = line.partition(": ")[2]
        assert not re.search(r"[<>;%{}\"]", re.sub(r"#\d+;", "", output))
        assert not re.search(r"\bend\b", output)
    text = written(write_text, excerpt)
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_mermaid_is_for_short_windows() -> None:
    """Too many messages are refused."""
    with pytest.raises(ExportError, match=r"302 messages are too many for a sequence diagram \(200 at most\)"):
        written(write_mermaid, excerpt_in(open_recording(LONG), heartbeats=True))
