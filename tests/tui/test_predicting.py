"""Predict mode: it asks whenever the next leader is open, hides the future, and keeps the score."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.analysis.elections import LeaderDecision
from lab.recording.records import Link
from lab.tui.controllers.predicting import NOBODY, PredictDialog, grade_answer
from lab.tui.widgets.scrub_bar import ScrubBar
from lab.worlds.loading.config import HostReady, RunConfig
from tests.harness import TIMING
from tests.tui.recorded import blocked_run
from tests.tui.seen import Seen, attached, replay, served

RECORDINGS = Path(__file__).parents[2] / "recordings"
ANNOUNCEMENTS = [(4, 1, 4, "SetCoordinator"), (4, 3, 4, "SetCoordinator"), (5, 2, 5, "SetCoordinator")]


@pytest.mark.parametrize(
    ("leaders", "answer", "right", "outcome"),
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
def test_the_answer_is_graded_with_a_reason(
    leaders: tuple[int, ...], answer: str, right: bool, outcome: str
) -> None:
    """Any leader of a group is right; informers who do not lead in the end are left out."""
    settled = 9 if leaders else None
    assert grade_answer(LeaderDecision(3, (5,), settled, leaders, ANNOUNCEMENTS), answer) == (right, outcome)


async def _asked(seen: Seen) -> None:
    await seen.until(lambda: isinstance(seen.top, PredictDialog), "the question")


def test_it_stops_asks_and_goes_on_to_the_outcome() -> None:
    """The score is in the title; the future is hidden only during the question."""

    async def test(seen: Seen) -> None:
        await seen.press(":predict")
        assert "predicted 0 of 0" in seen.line("#title")
        await seen.press(*["full_stop"] * 5)
        await _asked(seen)
        assert "who will lead next?" in seen.text
        assert "nobody led so far" in seen.text
        assert seen.player.number == 5
        await seen.press("enter", "5")
        assert isinstance(seen.top, PredictDialog), "only Enter answers, and only once something is selected"
        await seen.press("enter")
        await seen.until_message("right: 5 leads; 5 informed ")
        assert not seen.run.context.hides_future
        assert seen.player.number == 54
        await seen.until(lambda: "predicted 1 of 1" in seen.line("#title"), "the score")
        await seen.press("full_stop", "full_stop", "full_stop")
        await _asked(seen)
        assert "5 led so far" in seen.text
        await seen.press("right", "right", "enter")
        await seen.until_message("not 2: 4 leads; 4 informed ")
        await seen.until(lambda: "predicted 1 of 2" in seen.line("#title"), "the score")

    replay(test)


def test_a_question_can_be_skipped_and_the_mode_left() -> None:
    """Playback continues; without the mode there are no questions."""

    async def test(seen: Seen) -> None:
        await seen.press(":predict", *["full_stop"] * 5)
        await _asked(seen)
        await seen.press("escape")
        assert "skipped" in seen.message
        assert "predicted 0 of 0" in seen.line("#title")
        await seen.press(":predict")
        assert "predicted" not in seen.line("#title")
        await seen.press(*["full_stop"] * 60)
        assert seen.top is seen.run

    replay(test)


def test_it_stops_while_playing() -> None:
    """At the record that opens the decision, at any speed."""

    async def test(seen: Seen) -> None:
        seen.player.go(55)
        await seen.press(":predict")
        seen.player.faster(3)
        await seen.press("space")
        await _asked(seen)
        assert (seen.player.number, seen.player.playing) == (57, False)
        await seen.press("escape")
        await seen.until(lambda: seen.player.number > 57, "it plays on")

    replay(test)


def test_without_a_decision_nobody_leads() -> None:
    """The cursor is then at the end of the recording."""

    async def test(seen: Seen) -> None:
        seen.player.go(311)
        await seen.press(":predict", "full_stop")
        await _asked(seen)
        assert "4 led so far" in seen.text
        await seen.press("n", "enter")
        await seen.until_message("right: nobody leads by the end of this run")
        assert seen.player.number == len(seen.player.store) - 1

    replay(test, RECORDINGS / "holes" / "ring-starter-dies.jsonl")


def test_in_groups_any_of_those_who_lead_is_right() -> None:
    async def test(seen: Seen) -> None:
        seen.player.go(195)
        await seen.press(":predict", "full_stop")
        await _asked(seen)
        await seen.press("2", "enter")
        await seen.until_message("right: 2 and 5 lead, each its own; 2 informed 1 (Invitation)")

    replay(test, RECORDINGS / "scenarios" / "invitation-partition-in-two.jsonl")


def test_a_protocol_without_election_has_no_predict_mode(tmp_path: Path) -> None:
    """But an election below a task has."""

    async def test(seen: Seen) -> None:
        await seen.press(":predict")
        assert "elects no coordinator, so there is nothing to predict" in seen.message
        assert "predict" not in {action.word for action in seen.run.actions()}
        assert "predicted" not in seen.line("#title")

    replay(test, blocked_run().write(tmp_path / "blocked.jsonl"))


def test_the_scrub_bar_hides_the_future_during_a_question() -> None:
    """Its marks, its density, and its tooltip."""

    async def test(seen: Seen) -> None:
        bar = seen.of("ScrubBar", ScrubBar)

        def after() -> set[str]:
            rows = bar.render().plain.split("\n")
            track = rows[-1][bar._bar()[0] :][: bar._bar()[1]]
            behind = track.index(seen.run.context.styles.glyphs.cursor) + 1
            density = rows[0][bar._bar()[0] + behind :]
            return {*track[behind:], *density}

        seen.player.go(55)
        await seen.press(":predict")
        await seen.until(lambda: len(after()) > 2, "marks after the cursor")
        await seen.press("full_stop", "full_stop")
        await _asked(seen)
        await seen.until(lambda: after() <= {seen.run.context.styles.glyphs.rest, " "}, "none of them")
        outcome = bar._describe(sum(bar._bar()) - 1)
        assert outcome is not None
        assert "\n" not in outcome.plain
        await seen.press("escape")
        await seen.until(lambda: len(after()) > 2, "all of them again")

    replay(test)


@pytest.fixture
def host(runs: Path) -> Iterator[HostReady]:
    """A simulated run of five nodes, frozen at the start."""
    config = RunConfig(
        *("open", "bully", (1, 2, 3, 4, 5), TIMING, {}, Link(8_000, 3_000), 1, str(runs.parent / "run.jsonl")),
        commands=("freeze",),
        world="simulated",
    )
    with served(config) as ready:
        yield ready


def test_a_simulated_run_continues_to_the_outcome(host: HostReady) -> None:
    """The first coordinator is the highest running node."""

    async def test(seen: Seen) -> None:
        await seen.press(":predict")
        seen.run.context.execute("speed 20")
        seen.run.context.execute("go")
        await _asked(seen)
        assert seen.run.context.hides_future
        await seen.press("5", "enter")
        await seen.until_message("right: 5 leads; 5 informed ")
        await seen.until(lambda: "predicted 1 of 1" in seen.line("#title"), "the score")

    attached(test, host.socket)
