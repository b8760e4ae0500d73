"""The assertions view: statements, verdicts at the cursor, assumptions, and the way to each witness."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from lab.properties.assertions import ASSERTIONS, ASSUMPTIONS
from lab.properties.judge import Judge
from lab.recording.reader import open_recording
from lab.tui.player import Cursor
from lab.tui.views.assertions_view import AssertionsView, judgements_at
from tests.tui.hostile import hostile_recording
from tests.tui.recorded import SHIPPED
from tests.tui.seen import Seen, replay

SCENARIOS = SHIPPED.parent / "scenarios"
HOLE = SHIPPED.parent / "holes" / "bully-two-leaders.jsonl"
COMMIT = SCENARIOS / "3pc-a-partition-breaks-it.jsonl"


def _text(seen: Seen) -> str:
    return "\n".join(row.rstrip() for row in seen.of("#assertions", AssertionsView).texts())


def _block(seen: Seen, name: str) -> str:
    """Return the rows of one assertion as one line."""
    blocks = [" ".join(each.split()) for each in _text(seen).split("\n\n")]
    return next(each for each in blocks if name in each.split()[:2])


def _judge(path: Path) -> tuple[Judge, list[dict[int | str, str]]]:
    """Return the judge of a recording, and the assumptions that it found broken after each record."""
    lines = open_recording(path)
    judge = Judge(lines.header)
    course = []
    for record in lines.records():
        judge.observe(record)
        course.append({number: broken.why for number, broken in judge._conditions.broken.items()})
    lines.close()
    return judge, course


@pytest.mark.parametrize("path", [SHIPPED, COMMIT, HOLE], ids=lambda each: each.stem)
def test_broken_assumptions_are_known_at_every_record(path: Path) -> None:
    """They are the ones that the judge found broken at that record."""
    judge, course = _judge(path)
    for number, broken in enumerate(course):
        assert judge.broken_at(number).keys() == broken.keys()
        assert all(each.record <= number for each in judge.broken_at(number).values())
    assert judge.broken_at(-1) == {}
    if path != HOLE:
        assert any(course)


def test_the_verdicts_are_those_at_the_cursor() -> None:
    """Promised assertions come first, in order, then those judged for every protocol."""
    judge, _ = _judge(COMMIT)
    lines = open_recording(COMMIT)
    header = lines.header
    lines.close()
    names = [*(name for name in ASSERTIONS if name in header.protocol.promises), "raises"]
    first = next(violation for violation in judge.violations if violation.assertion == "A6")
    for number, word, following in ((0, "not judged", first), (first.record, "excused", None)):
        found = judgements_at(judge, number)
        assert [each.assertion.id for each in found] == names
        a6 = next(each for each in found if each.assertion.id == "A6")
        assert a6.word == word
        assert a6.relies_on == header.protocol.relies_on["A6"]
        if following is not None:
            assert a6.next_violation == following
        else:
            assert a6.verdict.first == first
            assert {each.assumption for each in a6.broken} == {8}
    unknown = judgements_at(judge, judge.number + 1)
    assert {each.word for each in unknown} == {"unknown", "excused"}


def test_hidden_future_hides_the_next_violation() -> None:
    """Predict mode asks for the next leader; the next violation would give it away."""

    async def test(seen: Seen) -> None:
        await seen.press("a")
        view = seen.of("#assertions", AssertionsView)
        await seen.until(lambda: "after the cursor: violated by" in _text(seen), "what follows is judged")
        shown = Cursor(seen.player.cluster(), seen.player.now_us)
        view.show(replace(shown, hides_future=True))
        assert "after the cursor" not in _text(seen)
        view.show(shown)
        assert "after the cursor" in _text(seen)

    replay(test)


@pytest.mark.parametrize("size", [(80, 24), (200, 60)], ids=lambda size: f"{size[0]}x{size[1]}")
def test_statement_and_assumptions_are_shown(size: tuple[int, int]) -> None:
    """Assertions that are not promised are listed as not judged."""

    async def test(seen: Seen) -> None:
        await seen.press("end", "a")
        for name in seen.source.store.header.protocol.promises:
            assert ASSERTIONS[name].statement in _block(seen, name)
        assumptions = "4 stable storage is permanent and atomic, 8 messages arrive within Tm"
        assert f"while these assumptions hold: {assumptions}" in _block(seen, "A6")
        assert "while all nine assumptions hold" in _block(seen, "A1.1")
        assert "for every protocol" in _block(seen, "raises")
        assert "3pc above bully does not promise A3.1 (one coordinator per group)" in " ".join(_text(seen).split())

    replay(test, COMMIT, size)


def test_excused_violation_names_the_broken_assumption() -> None:
    """Before it, the cursor shows that a violation follows."""

    async def test(seen: Seen) -> None:
        await seen.press("a")
        first = next(each for each in seen.source.judge.violations if each.assertion == "A1.1")
        before = _block(seen, "A1.1")
        assert "not judged yet" in before
        assert "is broken here" not in before
        assert f"after the cursor: violated by record {first.record}, " in before
        seen.player.go(first.record - 1)
        seen.run.draw()
        assert "✓ holds so far" in _block(seen, "A1.1")
        seen.player.go(first.record)
        seen.run.draw()
        after = _block(seen, "A1.1")
        assert "✗ violated, excused" in after
        assert f"9 is broken here: {ASSUMPTIONS[9]} (pause of 5)" in after
        assert f"1 excused violation so far, first by record {first.record}, " in after
        assert "(assumption 9 broken: pause of 5)" in after
        for state in first.states:
            assert f"node {state.node}: {state.text} (record {state.record}, " in after

    replay(test)


def test_failure_shows_intact_assumptions() -> None:
    async def test(seen: Seen) -> None:
        await seen.press("end", "a")
        failed = next(each for each in seen.source.judge.violations if each.is_failure)
        text = _block(seen, failed.assertion)
        assert "✗ VIOLATED" in text
        assert "(all its assumptions intact)" in text

    replay(test, HOLE)


def test_enter_goes_to_the_next_violation_and_marks_it() -> None:
    """For the assertion under the cursor, wrapping around; without a violation, a message says so."""

    async def test(seen: Seen) -> None:
        await seen.press("a", "down")
        own = [each for each in seen.source.judge.violations if each.assertion == "A1.2"]
        assert len(own) > 1
        for violation in (*own, own[0]):
            await seen.press("enter")
            assert seen.player.number == violation.record
            assert seen.run.context.witness == violation
        assert "A1.2 (one definition) violated, excused: assumption 9 broken" in seen.message
        await seen.press("down", "enter")
        assert seen.message.strip() == "no violation of A2 so far"
        await seen.press("home", "v")
        assert seen.run.context.witness == seen.source.judge.violations[0]

    replay(test)


def test_the_cursor_is_scrolled_into_view() -> None:
    """By arrow keys, by page, and by mouse."""

    async def test(seen: Seen) -> None:
        await seen.press("end", "a")
        view = seen.of("#assertions", AssertionsView)
        last = len(view._judgements) - 1
        for place in (*range(1, last + 1), last):
            await seen.press("down")
            assert view.cursor == place
            rows = [y for y in range(view.size.height) if view._rows[view.scroll_offset.y + y].item == place]
            assert rows
        await seen.press(*["up"] * (last + 3))
        assert (view.cursor, view.scroll_offset.y) == (0, 0)
        await seen.press("pagedown")
        assert view.scroll_offset.y > 0
        await seen.press("pageup")
        place = next(place for place, row in enumerate(view._rows) if row.item == 1)
        if place < view.size.height:
            await seen.pilot.click(AssertionsView, offset=(4, place))
            assert view.cursor == 1

    replay(test, COMMIT, (80, 24))


def test_a_hostile_recording_is_judged_and_does_no_harm(tmp_path: Path) -> None:
    """No escape sequence reaches the screen, and nothing raises."""
    path = hostile_recording(tmp_path / "hostile.jsonl")

    async def test(seen: Seen) -> None:
        await seen.press("a")
        for number in (2, 61, 250):
            seen.player.go(number)
            await seen.press("down", "enter")
            assert all(letter.isprintable() or letter == "\n" for letter in seen.text)

    replay(test, path)
