"""The line of verdicts, and the way from it to a violation's witness."""

import re

from lab.tui.messagelog import MessageLog
from lab.tui.panes import NodePanes
from lab.tui.verdicts import next_violation, witness_said
from tests.tui.seen import Seen, replay

HOLDS = "A1.1, A1.2, A2 hold"


async def _judged(seen: Seen) -> None:
    await seen.until(lambda: seen.source.judge.number == len(seen.source.lines) - 1, "the recording is judged")


def _marked(seen: Seen) -> tuple[frozenset[int], frozenset[int]]:
    """(the nodes that are marked, the records that are)."""
    return seen.run.query_one(NodePanes)._marked, seen.run.query_one(MessageLog)._marked


def test_the_line_says_what_holds_at_the_cursor() -> None:
    """Before the pause all hold; after it A1.1 is violated; back before it, it holds again."""

    async def test(seen: Seen) -> None:
        await _judged(seen)
        assert HOLDS in seen.text
        await seen.press("end")
        assert "A1.1, A1.2 violated outside the promise: 9 (pause of 5)" in seen.text
        assert "A2 holds" in seen.text
        await seen.press("home")
        assert HOLDS in seen.text

    replay(test)


def test_one_key_goes_to_each_witness_in_turn() -> None:
    """The cursor is at the record that shows it, both nodes and records are marked; after the last the first."""

    async def test(seen: Seen) -> None:
        await _judged(seen)
        violations = seen.source.judge.violations
        for violation in [*violations, violations[0]]:
            await seen.press("v")
            assert seen.player.number == violation.record
            assert _marked(seen) == (
                frozenset(violation.nodes),
                frozenset(state.record for state in violation.states),
            )
            assert re.sub(r"\s", "", witness_said(violation)).startswith(re.sub(r"\s", "", seen.said)[:150])
        await seen.press("escape")
        assert _marked(seen) == (frozenset(), frozenset())

    replay(test)


def test_where_nothing_is_violated_the_key_says_so() -> None:
    """And the cursor stays."""

    async def test(seen: Seen) -> None:
        await _judged(seen)
        seen.source.judge.violations.clear()
        await seen.press("v")
        assert seen.said == "no violation so far"
        assert seen.player.number == 0

    replay(test)


def test_the_next_violation_from_anywhere() -> None:
    """None of none; from a record the next one; from the last of all the first."""
    assert next_violation([], 5, None) is None

    async def test(seen: Seen) -> None:
        await _judged(seen)
        violations = seen.source.judge.violations
        assert next_violation(violations, 0, None) == violations[0]
        assert next_violation(violations, violations[-1].record, None) == violations[0]
        assert next_violation(violations, violations[0].record, violations[0]) == violations[1]

    replay(test)
