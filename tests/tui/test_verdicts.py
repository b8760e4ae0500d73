"""The verdict line, and the way from it to a violation's witness."""

from pathlib import Path

import pytest
from msgspec.structs import replace

import lab
from lab.properties.verdicts import Broken, Violation, WitnessState
from lab.tui.verdict_text import format_witness, next_violation
from lab.tui.views.assertions_view import AssertionsView
from lab.tui.views.log_view import MessageLog
from lab.tui.widgets.node_panes import NodePanes
from lab.tui.widgets.status_lines import VerdictLine
from tests.tui.seen import Seen, replay

NOT_JUDGED = "A1.1, A1.2, A2, highest, M7, B10 are not judged yet"
HOLDS = "A1.1, A1.2, A2, highest, M7, B10 hold so far"


async def _judged(seen: Seen) -> None:
    await seen.until(lambda: seen.source.judge.number == len(seen.source.store) - 1, "the recording is judged")


def _marked(seen: Seen) -> tuple[frozenset[int], frozenset[int]]:
    """Return (marked nodes, marked records)."""
    return seen.run.query_one(NodePanes)._marked, seen.run.query_one(MessageLog)._marked


def test_the_line_shows_the_verdicts_at_the_cursor() -> None:
    """At first nothing is judged; until the pause nothing is violated; after it A1.1 and A1.2 are."""

    async def test(seen: Seen) -> None:
        await _judged(seen)
        assert NOT_JUDGED in seen.text
        seen.player.go(seen.source.judge.violations[0].record - 1)
        await seen.until(lambda: HOLDS in seen.text, "the verdicts before the pause")
        await seen.press("end")
        assert "A1.1, A1.2 violated, excused: assumption 9 broken (pause of 5) (v)" in seen.text
        assert "A2, highest, M7, B10 hold so far" in seen.text
        await seen.press("home")
        assert NOT_JUDGED in seen.text

    replay(test)


def test_one_key_goes_to_each_witness_in_turn() -> None:
    """It marks nodes and records, and wraps around."""

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
            assert seen.message == format_witness(violation)
        await seen.press("escape")
        assert _marked(seen) == (frozenset(), frozenset())

    replay(test)


LONG = "a message of 2 to 3 has been on its way for 120ms"


@pytest.mark.parametrize(
    ("broken", "line_at_80"),
    [
        ((Broken(9, "pause of 5", 1),), "assumption 9 broken (v)  ·  5 hold"),
        ((Broken(8, LONG, 1),), "assumption 8 broken (v)  ·  5 hold"),
        ((Broken(8, LONG, 1), Broken(9, "node 5 was 130ms late", 1)), "assumptions 8, 9 broken (v)  ·  5 hold"),
    ],
)
def test_a_narrow_line_of_verdicts_shortens_the_reasons(broken: tuple[Broken, ...], line_at_80: str) -> None:
    """And then the other verdicts; the key's hint stays. The witness fits into three lines."""

    async def test(seen: Seen) -> None:
        await _judged(seen)
        violations = seen.source.judge.violations
        violations[:] = [replace(violations[0], broken=broken)]
        await seen.press("end")
        line = seen.of("#verdicts", VerdictLine).plain
        assert line.strip() == f"A1.1 excused: {line_at_80}"
        await seen.press("v")
        text = "".join(format_witness(violations[0]).split())
        assert text in "".join(seen.text.split())

    replay(test, size=(80, 28))


def test_a_witness_has_its_states_with_their_records() -> None:
    """For disagreement, missing agreement, and an exception."""
    states = (WitnessState(5, 166, 0, "Normal under 5"), WitnessState(4, 223, 0, "Reorganization under 4"))
    pair = Violation("A1.1", 223, 0, states, {}, (Broken(8, "cut 1", 1), Broken(9, "pause of 5", 1)), "")
    assert format_witness(pair) == (
        "A1.1 (one coordinator) violated, excused: assumptions 8 and 9 broken (cut 1; pause of 5): "
        "at record 166 node 5 was Normal under 5 while node 4 is Reorganization under 4 (record 223)"
    )
    late = replace(pair, assertion="A2", broken=(), text="3s after the last fault the nodes have not agreed: …")
    assert format_witness(late) == (
        "A2 (elects in time) violated with all assumptions intact: "
        "3s after the last fault the nodes have not agreed: "
        "5 Normal under 5 (record 166); 4 Reorganization under 4 (record 223)"
    )
    merge = replace(late, assertion="A4", other_broken=(Broken(8, "partition 4 | 5", 1),))
    assert format_witness(merge).startswith(
        "A4 (merges in time) violated with all assumptions intact but 8, on which it does not rely: 3s after"
    )
    raised = Violation("raises", 7, 0, (WitnessState(3, 7, 0, "raised KeyError: 1"),), {}, (), "KeyError: 1")
    assert format_witness(raised) == (
        "raises (no error raised) violated with all assumptions intact: node 3 raised KeyError: 1 (record 7)"
    )


def test_without_a_violation_the_key_shows_a_message() -> None:
    """The cursor stays."""

    async def test(seen: Seen) -> None:
        await _judged(seen)
        seen.source.judge.violations.clear()
        await seen.press("v")
        assert seen.message == "no violation so far"
        assert seen.player.number == 0

    replay(test)


def test_the_next_violation_from_anywhere() -> None:
    assert next_violation([], 5, None) is None

    async def test(seen: Seen) -> None:
        await _judged(seen)
        violations = seen.source.judge.violations
        assert next_violation(violations, 0, None) == violations[0]
        assert next_violation(violations, violations[-1].record, None) == violations[0]
        assert next_violation(violations, violations[0].record, violations[0]) == violations[1]

    replay(test)


SERVERS = Path(__file__).parents[1] / "roles" / "servers.py"


@pytest.mark.parametrize(("server", "word"), [("Separate", "fails"), ("AtTheLowest", "holds")])
def test_the_history_of_clients_is_one_more_assertion(server: str, word: str, tmp_path: Path) -> None:
    """It is judged when all records are there; its violation is shown where the operation was over."""
    run = lab.simulate(f"{SERVERS}:{server}", nodes=3, workload="lin-kv", clients=3, rate=10, for_="10s")
    assert run.workload is not None
    assert run.workload.word == word
    path = tmp_path / "run.jsonl"
    run.save(path)

    async def test(seen: Seen) -> None:
        await seen.until(lambda: seen.source.is_complete, "the history is judged")
        await seen.press("end")
        if word == "holds":
            await seen.until(lambda: "lin-kv" in seen.text, "the verdict")
            assert "VIOLATED" not in seen.text
        else:
            await seen.until(lambda: "lin-kv VIOLATED whatever the faults" in seen.text, "the verdict")
            await seen.press("v")
            (violation,) = seen.source.judge.violations
            assert seen.player.number == violation.record < len(seen.source.store) - 1
            assert seen.message.startswith("lin-kv (valid history) violated whatever the faults: ")
            seen.player.go(violation.record - 1)
            await seen.until(lambda: "VIOLATED" not in seen.text, "it was not violated yet")
        await seen.press("a")
        assert "the history of the clients is valid" in "\n".join(seen.of("#assertions", AssertionsView).texts())

    replay(test, path, size=(120, 60))
