"""Texts of strangers in every view: each is sanitized before it is laid out, and a filter guards the terminal."""

import asyncio
from pathlib import Path

import pytest
from rich.segment import Segment
from textual.app import ComposeResult
from textual.color import Color
from textual.strip import Strip
from textual.widget import Widget

from lab.tui.terminal.terminal_app import TerminalApp, WithoutControls
from lab.tui.views.views import LOG
from tests.hostile import PAYLOADS, controls_in, hostile_lines
from tests.profile import amount
from tests.tui.recorded import SHIPPED
from tests.tui.seen import Seen, replay

RECORDINGS = (SHIPPED, *sorted((SHIPPED.parent / "scenarios").glob("*.jsonl")))


@pytest.fixture
def leaks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What reaches the filter with control characters in it."""
    found: list[str] = []

    def apply(self: WithoutControls, segments: list[Segment], background: Color) -> list[Segment]:
        found.extend(text for text, _, _ in segments if controls_in(text))
        return segments

    monkeypatch.setattr(WithoutControls, "apply", apply)
    return found


@pytest.mark.parametrize("seed", range(amount(quick=1, soak=100)))
def test_hostile_recordings(tmp_path: Path, leaks: list[str], seed: int) -> None:
    """No view needs the filter: names, kinds, notes, sources and reasons are laid out sanitized."""
    path = tmp_path / "hostile.jsonl"
    lines = RECORDINGS[seed % len(RECORDINGS)].read_bytes().splitlines()
    path.write_bytes(b"\n".join(hostile_lines(lines, seed)) + b"\n")

    async def test(seen: Seen) -> None:
        await seen.paused_at_start()
        for view in (LOG, *(action.word for action in seen.run.actions() if action.word in seen.run.views.hints)):
            seen.run.layout_controller.show_view(view)
            for number in (2, len(seen.source.store) // 2, len(seen.source.store) - 1):
                seen.player.go(number)
                await seen.press("1", "down", "enter")
                await seen.press("escape")
                assert controls_in(seen.text) == [], (view, number)
        assert leaks == []

    replay(test, path)


class _Leaking(Widget):
    """A widget that draws what it was given."""

    def render_line(self, y: int) -> Strip:
        return Strip([Segment("before"), Segment(PAYLOADS[y] if y < len(PAYLOADS) else ""), Segment("after")])


class _LeakingApp(TerminalApp[None]):
    def compose(self) -> ComposeResult:
        yield _Leaking()


async def _text_of_leaking_app() -> str:
    app = _LeakingApp()
    async with app.run_test(size=(200, len(PAYLOADS))):
        return "\n".join(strip.text for strip in app.screen._compositor.render_strips(app.size))


def test_a_view_that_leaks_does_no_harm() -> None:
    """The filter removes what controls a terminal, and nothing else."""
    text = asyncio.run(_text_of_leaking_app())
    assert "before]0;titleafter" in text
    assert "before[2Jafter" in text
    assert controls_in(text) == []
