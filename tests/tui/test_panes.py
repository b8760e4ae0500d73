"""The nodes' boxes can be drawn in any state and at any height."""

import asyncio
from collections.abc import Iterator
from functools import partial

import pytest
from textual.app import App, ComposeResult

from lab.glyphs import glyphs_for
from lab.protocols import Algorithm, Bully, Field, ThreePhaseCommit, TwoPhaseCommit, stacked
from lab.styles import ThemeStyles
from lab.tasks.extension import extension_of
from lab.tui.widgets.node_panes import NodePanes
from lab.tui.widgets.pane import Pane, panes_of
from tests.harness import T_US, Rig
from tests.profile import SOAK

Panes = tuple[Pane, ...]
SIZES = [(80, 24), (120, 40), (200, 60)]
PROTOCOLS: list[type[Algorithm]] = [
    TwoPhaseCommit,
    stacked(ThreePhaseCommit, Bully),
    Bully,
    stacked(Field, Bully),
]


class _Drawn(App[None]):
    def compose(self) -> ComposeResult:
        yield NodePanes(ThemeStyles(glyphs_for()))


def _drawn(seen: list[Panes], size: tuple[int, int]) -> Iterator[list[str]]:
    """Return the lines of the widget for each state, before and after a new layout."""
    drawn: list[list[str]] = []

    async def draw() -> None:
        app = _Drawn()
        async with app.run_test(size=size) as pilot:
            panes = app.query_one(NodePanes)
            panes.most_height = size[1] * 45 // 100
            for each in seen:
                panes.show(each, None)
                drawn.append([panes.render_line(y).text for y in range(panes.size.height)])
                await pilot.pause(0)
                drawn.append([panes.render_line(y).text for y in range(panes.size.height)])

    asyncio.run(draw())
    yield from drawn


def _panes_in(rig: Rig, now_us: int) -> Panes:
    """Return the panes as the interface draws them, with what the protocol brings."""
    styles = ThemeStyles(glyphs_for({"LC_ALL": "C.UTF-8"}))
    describe = partial(extension_of(rig.header).describe_node, styles=styles)
    return panes_of(rig.cluster.snapshot(), now_us, task=describe)


def _prefixes(protocol: type[Algorithm], nodes: int) -> list[Panes]:
    """Yield the panes after each record of a run in which nodes start late, die early and are wiped."""
    rig = Rig(range(1, nodes + 1), protocol=protocol)
    seen: list[Panes] = []

    def add_panes() -> None:
        panes = _panes_in(rig, 0)
        if not seen or panes != seen[-1]:
            seen.append(panes)

    rig.watchers.append(add_panes)
    rig.started(1)
    rig.do("kill 1", "wipe 1")
    rig.started(2, 1)
    rig.do("pause 2")
    rig.run(T_US)
    rig.do("resume 2", "kill 1")
    rig.started(*range(3, nodes + 1))
    rig.do(f"kill {nodes}")
    rig.run(2 * T_US)
    rig.do("wipe 1")
    rig.run(T_US)
    return seen


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: protocol.name)
def test_every_prefix_of_a_run_can_be_drawn(protocol: type[Algorithm], size: tuple[int, int]) -> None:
    """Also if only some nodes have a bank."""
    for nodes in (3, 5) if SOAK else (5,):
        seen = _prefixes(protocol, nodes)
        shown = {pane.process for panes in seen for pane in panes}
        assert shown >= {"absent", "killed", "running", "paused"}
        lines = list(_drawn(seen, size))
        assert len(lines) == 2 * len(seen)
        for panes, drawn in zip(seen, lines[1::2], strict=True):
            text = "\n".join(drawn)
            assert all(f" {pane.id} " in text for pane in panes), text
            assert all(len(line) == size[0] for line in drawn)


def test_a_coordinator_that_does_not_fit_after_the_balances_is_left_out() -> None:
    """No word is cut off."""
    rig = Rig(range(1, 4), protocol=stacked(ThreePhaseCommit, Bully)).started()
    rig.run_until_agreed()
    seen = [_panes_in(rig, rig.now_us)]
    *_, narrow = _drawn(seen, (80, 24))
    assert "savings 1,000" in "\n".join(narrow)
    assert "coo" not in "\n".join(narrow)
    *_, wide = _drawn(seen, (120, 40))
    assert "savings 1,000  coordinator 3" in "\n".join(wide)
