"""Predict mode: it asks where it is open who leads next, hides what comes, and keeps the score."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.analysis.leader_decisions import LeaderDecision
from lab.recording.records import Link
from lab.tui.frame.scrub_bar import ScrubBar
from lab.tui.navigation.predicting import NOBODY, PredictDialog, grade_answer
from lab.worlds.config import HostReady, RunConfig
from tests.harness import TIMING
from tests.tui.recorded import blocked_run
from tests.tui.seen import Seen, attached, replay, served

RECORDINGS = Path(__file__).parents[2] / "recordings"
TOLD = [(4, 1, 4, "SetCoordinator"), (4, 3, 4, "SetCoordinator"), (5, 2, 5, "SetCoordinator")]


@pytest.mark.parametrize(
    ("leaders", "said", "right", "told"),
    [
        ((4,), "4", True, "right: 4 leads; 4 informed 1 3 (SetCoordinator)"),
        ((4,), "5", False, "not 5: 4 leads; 4 informed 1 3 (SetCoordinator)"),
        ((4,), NOBODY, False, "not nobody: 4 leads; 4 informed 1 3 (SetCoordinator)"),
        (
            (4, 5),
            "5",
            True,
            "right: 4 and 5 lead, each its own; 4 informed 1 3 (SetCoordinator); 5 informed 2 (SetCoordinator)",
        ),
        ((), NOBODY, True, "right: nobody leads by the end of this run"),
        ((), "4", False, "not 4: nobody leads by the end of this run"),
    ],
)
def test_the_answer_is_judged_by_who_leads_in_the_end_and_the_reason_is_said(
    leaders: tuple[int, ...], said: str, right: bool, told: str
) -> None:
    """Whoever leads a group is right; who told others and leads nobody in the end is not named."""
    settled = 9 if leaders else None
    assert grade_answer(LeaderDecision(3, (5,), settled, leaders, TOLD), said) == (right, told)


async def _asked(seen: Seen) -> None:
    await seen.until(lambda: isinstance(seen.top, PredictDialog), "the question")


def test_it_stops_asks_and_goes_on_to_the_outcome() -> None:
    """At the end the score is in the title; what is after the cursor is hidden only while it asks."""

    async def test(seen: Seen) -> None:
        await seen.press("P")
        assert "predicted 0 of 0" in seen.line("#title")
        await seen.press(*["full_stop"] * 5)
        await _asked(seen)
        assert "who will lead next?" in seen.text
        assert "nobody led so far" in seen.text
        assert seen.player.number == 5
        await seen.press("5")
        await seen.says("right: 5 leads; 5 informed ")
        assert not seen.run.predicting.is_asking
        assert seen.player.number == 54
        await seen.until(lambda: "predicted 1 of 1" in seen.line("#title"), "the score")
        await seen.press("full_stop", "full_stop", "full_stop")
        await _asked(seen)
        assert "5 led so far" in seen.text
        await seen.press("right", "enter")
        await seen.says("not 2: 4 leads; 4 informed ")
        await seen.until(lambda: "predicted 1 of 2" in seen.line("#title"), "the score")

    replay(test)


def test_a_question_can_be_skipped_and_the_mode_left() -> None:
    """What was played plays on; without the mode nothing is asked."""

    async def test(seen: Seen) -> None:
        await seen.press("P", *["full_stop"] * 5)
        await _asked(seen)
        await seen.press("escape")
        assert "skipped" in seen.said
        assert "predicted 0 of 0" in seen.line("#title")
        await seen.press("P")
        assert "predicted" not in seen.line("#title")
        await seen.press(*["full_stop"] * 60)
        assert seen.top is seen.run

    replay(test)


def test_it_stops_while_playing() -> None:
    """However fast: with the record that opens the decision."""

    async def test(seen: Seen) -> None:
        seen.player.go(55)
        await seen.press("P")
        seen.player.faster(3)
        await seen.press("space")
        await _asked(seen)
        assert (seen.player.number, seen.player.playing) == (57, False)
        await seen.press("escape")
        await seen.until(lambda: seen.player.number > 57, "it plays on")

    replay(test)


def test_an_election_that_never_settles_is_nobodys() -> None:
    """Then the cursor is at the end of the recording."""

    async def test(seen: Seen) -> None:
        seen.player.go(88)
        await seen.press("P", "full_stop")
        await _asked(seen)
        assert "3 led so far" in seen.text
        await seen.press("n")
        await seen.says("right: nobody leads by the end of this run")
        assert seen.player.number == len(seen.player.store) - 1

    replay(test, RECORDINGS / "holes" / "ring-starter-dies.jsonl")


def test_in_groups_any_of_those_who_lead_is_right() -> None:
    async def test(seen: Seen) -> None:
        seen.player.go(195)
        await seen.press("P", "full_stop")
        await _asked(seen)
        await seen.press("2")
        await seen.says("right: 2 and 5 lead, each its own; 2 informed 1 (Invitation)")

    replay(test, RECORDINGS / "scenarios" / "invitation-partition-in-two.jsonl")


def test_where_nobody_is_elected_it_says_so(tmp_path: Path) -> None:
    """It is not offered there; a bully below a task elects all the same."""

    async def test(seen: Seen) -> None:
        await seen.press("P")
        assert "elects no coordinator, so there is nothing to predict" in seen.said
        assert "predict" not in {action.word for action in seen.run.actions()}
        assert "predicted" not in seen.line("#title")

    replay(test, blocked_run().write(tmp_path / "blocked.jsonl"))


def test_while_it_asks_the_scrub_bar_hides_what_comes() -> None:
    """The marks after the cursor, how much happens there, and what the mouse would tell of it."""

    async def test(seen: Seen) -> None:
        bar = seen.of("ScrubBar", ScrubBar)

        def after() -> set[str]:
            rows = bar.render().plain.split("\n")
            track = rows[-1][bar._bar()[0] :][: bar._bar()[1]]
            behind = track.index(seen.run.theme_styles.glyphs.cursor) + 1
            density = rows[0][bar._bar()[0] + behind :]
            return {*track[behind:], *density}

        seen.player.go(55)
        await seen.press("P")
        await seen.until(lambda: len(after()) > 2, "marks after the cursor")
        await seen.press("full_stop", "full_stop")
        await _asked(seen)
        await seen.until(lambda: after() <= {seen.run.theme_styles.glyphs.rest, " "}, "none of them")
        told = bar._describe(sum(bar._bar()) - 1)
        assert told is not None
        assert "\n" not in told.plain
        await seen.press("escape")
        await seen.until(lambda: len(after()) > 2, "all of them again")

    replay(test)


@pytest.fixture
def host(runs: Path) -> Iterator[HostReady]:
    """A simulated run of five nodes that is frozen when it begins."""
    config = RunConfig(
        *("open", "bully", (1, 2, 3, 4, 5), TIMING, {}, Link(8_000, 3_000), 1, str(runs.parent / "run.jsonl")),
        commands=("freeze",),
        world="simulated",
    )
    with served(config) as ready:
        yield ready


def test_in_a_simulated_run_it_asks_and_finds_the_outcome_as_that_goes_on(host: HostReady) -> None:
    """The first coordinator is yet to be elected: the highest of those that run, by this protocol."""

    async def test(seen: Seen) -> None:
        await seen.press("P")
        seen.run.execute("speed max")
        seen.run.execute("go")
        await _asked(seen)
        assert seen.run.predicting.is_asking
        await seen.press("5")
        await seen.says("right: 5 leads; 5 informed ")
        await seen.until(lambda: "predicted 1 of 1" in seen.line("#title"), "the score")

    attached(test, host.socket)
