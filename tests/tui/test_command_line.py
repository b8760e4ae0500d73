"""The ``:`` line, the help, and the messages about unavailable actions."""

import re

import pytest
from rich.console import Console
from textual.events import Key

from lab.glyphs import glyphs_for
from lab.script.parse import parse
from lab.script.verbs import VERBS
from lab.styles import ThemeStyles
from lab.tui.actions import ACTIONS, ActionTable
from lab.tui.apps.export_formats import ALL_FORMATS
from lab.tui.source import FileSource
from lab.tui.views.views import Views
from lab.tui.widgets.help import HelpDialog
from lab.tui.widgets.key_lines import KeyLine
from lab.tui.widgets.prompts import CommandLine, RunWords, complete
from tests.profile import sampled
from tests.tui.recorded import SHIPPED
from tests.tui.seen import Seen, replay, replay_in_sizes


def _line(seen: Seen) -> CommandLine:
    return seen.of("CommandLine", CommandLine)


@pytest.mark.parametrize(
    ("typed", "history", "expected"),
    [
        ("", [], None),
        ("ki", [], "kill"),
        ("kill", [], None),
        ("kill c", [], "kill coordinator"),
        ("hea", [], "heal"),
        ("he", ["help", "heal 1->2"], "heal 1->2"),
        ("wh", [], "when all normal "),
        ("when all normal par", [], "when all normal partition"),
        ("when all n", [], "when all normal "),
        ("at 2s res", [], "at 2s restart"),
        ("on st", [], "on status "),
        ("exp", [], "expect "),
        ("expect al", [], "expect always "),
        ("expect always gr", [], "expect always groups"),
        ("expect violation A1.1 un", [], "expect violation A1.1 under"),
        ("when 4 sus", [], "when 4 suspects"),
        ("when 4 reo", [], "when 4 reorganization"),
        ("when all.coo", [], "when all.coordinator"),
        ("when all normal: he", [], "when all normal: heal"),
        ("kill ", [], None),
        ("zz", [], None),
        ("transf", [], "transfer"),
        ("transfer 50 sav", [], "transfer 50 savings"),
        ("tell 1 transfer 50 savings che", [], "tell 1 transfer 50 savings checking"),
        ("transactions 1", [], None),
        ("transactions 100 a", [], "transactions 100 at"),
        ("expect 3.cash", [], "expect 3.cash_out"),
        ("expect mon", [], "expect money"),
    ],
)
def test_completion(typed: str, history: list[str], expected: str | None) -> None:
    assert next(iter(complete(typed, history)), None) == expected


def test_a_word_acts_like_its_key() -> None:
    async def test(seen: Seen) -> None:
        await seen.press("colon")
        await seen.type("next-f")
        await seen.press("tab")
        assert _line(seen).value == "next-fault"
        await seen.press("enter")
        at_fault = seen.player.number
        await seen.press("home", "right_curly_bracket")
        assert seen.player.number == at_fault > 0
        assert not _line(seen).has_class("open")

    replay(test)


def test_keys_that_arrive_with_the_colon_are_typed() -> None:
    """As when pasting or over a slow connection: no key is lost, and none acts as an action."""

    async def test(seen: Seen) -> None:
        for key in ("colon", "r", "e", "q", "u"):
            seen.app.post_message(Key(key, ":" if key == "colon" else key))
        await seen.paused_at_start()
        assert _line(seen).value == "requ"
        assert seen.app.is_running

    replay(test)


def _all_at_once(seen: Seen, *keys: str) -> None:
    """Press keys so that all are queued before the first is handled."""
    characters = {"colon": ":", "space": " "}
    for key in keys:
        seen.app.post_message(Key(key, characters.get(key, key if len(key) == 1 else None)))


def test_a_key_after_enter_acts_as_an_action() -> None:
    async def test(seen: Seen) -> None:
        _all_at_once(seen, "colon", *"end", "enter", "i")
        await seen.until(lambda: seen.of("Views", Views).chosen == "inspect", "i has shown it")
        assert _line(seen).history == ["end"]
        assert seen.player.number > 0, "the line was done"
        _all_at_once(seen, "colon", *"end", "enter", "colon", *"kill", "space", "1")
        await seen.until(lambda: _line(seen).value == "kill 1", "the second line")
        assert seen.selected() is None
        assert seen.run.focused is _line(seen)
        assert not seen.run.query_one("#message").display
        await seen.press("escape", "5")
        assert seen.run.query_one("#message").display

    replay(test)


def test_a_second_colon_right_after_enter_opens_the_line_again() -> None:
    """None of the letters acts as a key."""

    async def test(seen: Seen) -> None:
        for _ in range(3):
            _all_at_once(seen, *("colon", *"start", "enter") * 2, "colon", *"4kq")
            await seen.until(lambda: _line(seen).value == "4kq", "the last line")
            assert seen.app.is_running
            assert seen.selected() is None
            _all_at_once(seen, "escape", "4")
            await seen.until(lambda: seen.selected() == 4, "4 is a key again")
            await seen.press("escape")

    replay(test)


def test_the_line_is_edited_in_the_order_of_the_keys() -> None:
    """Backspace deletes the letter before it, however fast the next key comes."""

    async def test(seen: Seen) -> None:
        _all_at_once(seen, "colon", *"endd", "backspace", "home", "x", "delete", "x", "backspace", "enter")
        await seen.until(lambda: _line(seen).history == ["xnd"], "x, and d is gone")

    replay(test)


def test_typed_letters_are_not_actions() -> None:
    async def test(seen: Seen) -> None:
        await seen.press("colon")
        await seen.type("q5,.:")
        assert _line(seen).value == "q5,.:"
        assert (seen.player.number, seen.selected()) == (0, None)
        assert seen.app.is_running

    replay(test)


def test_up_and_down_walk_through_the_history() -> None:
    async def test(seen: Seen) -> None:
        for word in ("end", "start", "start"):
            await seen.press("colon")
            await seen.type(word)
            await seen.press("enter")
        await seen.press("colon", "up")
        assert _line(seen).value == "start"
        await seen.press("up")
        assert _line(seen).value == "end", "the same twice in a row is kept once"
        await seen.press("up")
        assert _line(seen).value == "end"
        await seen.press("down", "down")
        assert _line(seen).value == ""

    replay(test)


def test_escape_closes_the_line_without_effect() -> None:
    async def test(seen: Seen) -> None:
        await seen.press("3", "colon")
        await seen.type("end")
        await seen.press("escape")
        assert not _line(seen).has_class("open")
        assert not seen.run.query_one("#message").display
        assert (seen.player.number, seen.selected()) == (0, 3)
        await seen.press("colon", "enter")
        assert not _line(seen).has_class("open")
        await seen.press("full_stop")
        assert seen.player.number == 1, "the keys are keys again"

    replay(test)


def test_a_replay_refuses_commands() -> None:
    async def test(seen: Seen) -> None:
        for line in ("kill 5", "heal", "delay"):
            await seen.press("colon")
            await seen.type(line)
            await seen.press("enter")
            assert "this is a recording; b branches from here into a new run" in seen.message
            assert "this is a recording; b branches from here into a new run" in seen.text

    replay(test)


@pytest.mark.parametrize(
    ("line", "near"),
    sampled(
        [
            ("quti", "quit (q)"),
            ("exprt", "export"),
            ("untill 4 leads", "until (u)"),
            ("kil 5", "kill"),
            ("KILL 5", "kill"),
        ],
        2,
    ),
)
def test_an_unknown_word_gets_the_nearest_word(line: str, near: str) -> None:
    """Among those of the actions too; it does not sound as if it were forbidden."""

    async def test(seen: Seen) -> None:
        await seen.press(f":{line}")
        word = line.partition(" ")[0]
        expected = f"unknown word '{word}'; did you mean {near}"
        assert seen.message.startswith(expected)
        assert "this is a recording" not in seen.message

    replay(test)


@pytest.mark.parametrize(
    "line", sampled(["write my w.scenario", "quit now", "diagram foo", "branch 5", "follow me"], 2)
)
def test_words_after_an_action_that_takes_none(line: str) -> None:
    """No other word is suggested, and nothing is done."""
    word = line.partition(" ")[0]

    async def test(seen: Seen) -> None:
        await seen.press(f":{line}")
        assert seen.message.startswith(f"{word} takes no words after it; alone: ")
        assert seen.app.return_code is None

    replay(test)


def test_a_word_that_resembles_no_other_is_unknown() -> None:
    async def test(seen: Seen) -> None:
        await seen.press(":xyzzy")
        assert seen.message == "unknown word 'xyzzy'; Tab completes a word, ? lists all"

    replay(test)


@pytest.mark.parametrize("word", ["q", "exit"])
def test_other_words_for_quit(word: str) -> None:
    async def test(seen: Seen) -> None:
        await seen.press(f":{word}")
        await seen.until(lambda: seen.app.return_code == 0, "it has quit")

    replay(test)


def test_tab_cycles_through_the_completions() -> None:
    """Shift+Tab goes back; the hint shows them, the one taken in brackets. A letter begins anew."""

    async def test(seen: Seen) -> None:
        await seen.press("colon")
        await seen.type("on ")
        assert seen.message == "Tab: send · deliver · drop · status · store"
        await seen.press("tab", "tab")
        assert _line(seen).value == "on deliver "
        await seen.until_message("send · [deliver] · drop · status · store")
        await seen.press("shift+tab")
        assert _line(seen).value == "on send "
        await seen.press("shift+tab")
        assert _line(seen).value == "on store "
        await seen.press("tab", "backspace", "space")
        assert _line(seen).value == "on send "
        await seen.until_message("Tab: AreYouNormal")
        await seen.press("tab")
        assert _line(seen).value == "on send AreYouNormal"

    replay(test)


def test_kinds_and_links_complete_a_trigger_and_formats_an_export() -> None:
    run = RunWords(kinds=("Ack", "Vote"), nodes=(1, 2))
    for trigger in ("on send", "on deliver", "on drop", "before send", "at 2s before deliver"):
        assert complete(f"{trigger} ", [], run) == [f"{trigger} Ack", f"{trigger} Vote"]
        assert complete(f"{trigger} V", [], run) == [f"{trigger} Vote"]
        assert complete(f"{trigger} Vote ", [], run) == [f"{trigger} Vote 1->2", f"{trigger} Vote 2->1"]
    assert complete("on send Vote k", [], run)[0] == "on send Vote kill"
    assert complete("export ", [], run) == [f"export {each.name}" for each in ALL_FORMATS]
    assert complete("export sh", [], run) == ["export shiviz"]
    assert complete("export svg ", [], run) == []


def test_where_nobody_is_elected_no_coordinator_completes_a_command() -> None:
    assert complete("kill c", [])[:2] == ["kill coordinator", "kill coordinators"]
    assert not any("coordinator" in each for each in complete("kill c", [], RunWords(elects=False)))


def test_a_replay_refuses_the_keys_of_cluster_actions() -> None:
    async def test(seen: Seen) -> None:
        for action in ACTIONS:
            if action.group == "cluster":
                await seen.press("5", action.keys or f":{action.word}")
                assert "this run takes no commands" in seen.message, action.word
                assert seen.top is seen.run

    replay(test)


def test_the_footer_shows_only_available_actions() -> None:
    async def test(seen: Seen) -> None:
        await seen.press("5")
        footer = seen.text.split("\n")[-1]
        assert "q quit" in footer
        assert ": command" in footer
        assert "kill" not in footer

    replay(test)


def test_a_click_in_the_footer_acts_like_the_key() -> None:
    async def test(seen: Seen) -> None:
        footer = seen.text.split("\n")[-1]
        await seen.pilot.click("KeyLine", offset=(footer.index(". step") + 1, 0))
        await seen.until(lambda: seen.player.number == 1, "one record on")

    replay(test)


def test_the_footer_has_tooltips() -> None:
    """To the right of all keys there is none, and nothing to click."""

    async def test(seen: Seen) -> None:
        line = seen.of("KeyLine", KeyLine)
        await seen.pilot.hover("KeyLine", offset=(seen.text.split("\n")[-1].index(". step"), 0))
        assert str(line.tooltip).startswith("go one record forward")
        await seen.pilot.hover("KeyLine", offset=(319, 0))
        assert line.tooltip is None

    replay(test, size=(320, 60))


def _help(driver: bool, width: int = 200, *classes: str) -> list[str]:
    dialog = HelpDialog(ActionTable(FileSource(SHIPPED)), driver, ThemeStyles(glyphs_for()))
    dialog.add_class(*classes)
    console = Console(width=width, no_color=True)
    with console.capture() as capture:
        console.print(dialog.content())
    return [line.rstrip() for line in capture.get().splitlines()]


def test_the_help_has_every_key_and_every_command() -> None:
    """With the word of each action and its argument, also of actions without a key."""
    lines = _help(driver=True)
    for action in ActionTable(FileSource(SHIPPED)).values():
        word = f"{action.help}  :{action.word} {action.takes}".rstrip()
        assert [line.strip() for line in lines if line.endswith(word)] == [f"{action.shown:11} {word}".strip()]
    for verb in VERBS.values():
        assert verb.example in lines[lines.index(verb.usage) + 1], verb.usage


def test_the_help_of_a_replay_leaves_out_cluster_actions() -> None:
    lines = "\n".join(_help(driver=False))
    for action in ACTIONS:
        is_listed = re.search(rf"  :{action.word}( [A-Z\[]|$)", lines, re.MULTILINE) is not None
        assert is_listed == (action.where == "all"), action.word
    assert "change the cluster" not in lines


def test_the_examples_of_the_help_are_commands() -> None:
    for verb in VERBS.values():
        assert parse(verb.example).text == verb.example


def test_the_help_uses_the_available_width() -> None:
    """In 80 columns no column is narrower than half of them; in 200 there are two columns."""
    narrow = _help(driver=True, width=74)
    assert "    crash: kill the process; only its stable storage survives  (kill 5)" in narrow
    assert max(len(line) - len(line.lstrip()) for line in narrow) < 40
    assert len(narrow) < 290
    wide = _help(True, 164, "wide")
    assert len(wide) < len(narrow) * 0.6
    assert next(line for line in wide if "change the cluster" in line).endswith(" display, search and save")


def test_a_filter_of_the_help_without_a_match() -> None:
    async def test(seen: Seen) -> None:
        await seen.press("question_mark")
        await seen.type("xyzzy")
        await seen.until(lambda: "no match for xyzzy; Esc clears the filter" in seen.text, "it says so")

    replay(test)


@pytest.mark.parametrize(
    ("typed", "text"),
    sampled(
        [
            ("group", "the nodes that work together under one coordinator"),
            ("status", "Normal: the node works"),
            ("coordinator", "the node that leads the nodes of its group"),
            ("order", "in the order in which the host received them"),
        ],
        3,
    ),
)
def test_the_help_explains_the_words_of_the_screen(typed: str, text: str) -> None:
    async def test(seen: Seen) -> None:
        await seen.press("question_mark")
        await seen.type(typed)
        await seen.press("end")
        await seen.until(lambda: text in " ".join(seen.text.replace("│", "").split()), "the word")

    replay(test)


def test_the_help_opens_and_closes() -> None:
    async def test(seen: Seen) -> None:
        await seen.press("question_mark")
        await seen.until(lambda: "keys and commands" in seen.text, "the help")
        assert "go one record forward" in seen.text
        await seen.press("end")
        await seen.until(lambda: "a few ms" in seen.text, "its end, by scrolling")
        await seen.press("escape")
        assert seen.top is seen.run
        await seen.press("f1")
        await seen.until(lambda: "keys and commands" in seen.text, "the help")
        await seen.press("q")
        assert seen.top is seen.run, "q closes the help, not the program"

    replay_in_sizes(test, [(80, 24), (120, 40)])


def test_the_help_begins_with_what_can_be_done_now() -> None:
    """In a recording nothing can be killed; filtering is by all keys."""

    async def test(seen: Seen) -> None:
        await seen.press("question_mark")
        await seen.until(lambda: "what you can do now" in seen.text, "the help")
        now, _, _ = seen.text.partition("everything")
        assert ":play" in now
        assert ":kill" not in now
        await seen.type("boo")
        await seen.until(lambda: "what you can do now" not in seen.text, "filtered")

    replay(test)
