"""The table of actions: everything in it can be done by key, by click and by word."""

import string
from collections import Counter

from textual.binding import Binding

from lab.script.verbs import VERBS
from lab.tui.actions import ACTIONS, find_action, footer_actions
from lab.tui.screen import RunScreen
from lab.tui.widgets.prompts import CommandLine
from tests.tui.seen import Seen, replay


def test_no_word_or_key_occurs_twice() -> None:
    words = Counter(action.word for action in ACTIONS)
    keys = Counter(key for action in ACTIONS for key in action.keys.split(",") if key)
    shown = Counter(action.shown for action in ACTIONS if action.shown)
    for counted in (words, keys, shown):
        assert [each for each, count in counted.items() if count > 1] == []


def test_only_a_word_names_an_action() -> None:
    assert [find_action(action.word) for action in ACTIONS] == list(ACTIONS)
    assert find_action("no-such-word") is None


def test_cluster_actions_are_script_commands_too() -> None:
    for action in ACTIONS:
        assert (action.where == "driver") == (action.group == "cluster"), action.word
        assert action.group != "cluster" or action.word in VERBS, action.word


def test_every_action_is_bound_to_its_keys() -> None:
    bound = {binding.action: binding for binding in RunScreen.BINDINGS if isinstance(binding, Binding)}
    expected = {action.keys for action in ACTIONS if action.keys}
    assert {each.key for each in bound.values()} == expected | set(string.digits)
    for action in filter(lambda each: each.keys, ACTIONS):
        binding = bound[f"do('{action.word}')"]
        assert (binding.key, binding.show) == (action.keys, bool(action.footer))


def test_cluster_actions_can_be_clicked_in_the_footer() -> None:
    unseen = {action.word for action in ACTIONS if not action.footer and action.group == "cluster"}
    assert unseen == {"wipe"}


def test_the_footer_begins_with_the_most_needed_actions() -> None:
    """In 80 columns it shows how to enter a command, get help, quit, move in time and search, uncut."""

    async def test(seen: Seen) -> None:
        footer = seen.text.split("\n")[-1]
        shown = [": command", "? help", "q quit", "space play", ". step", ", back", "/ search", "v witness"]
        assert [footer.index(label) for label in shown] == sorted(footer.index(label) for label in shown)
        assert "palette" not in footer

    replay(test, size=(80, 24))


def test_the_footer_has_all_actions() -> None:
    """Their order differs from the table, and views have tabs instead of labels."""
    ordered = footer_actions()
    assert sorted(action.word for action in ordered) == sorted(action.word for action in ACTIONS)
    assert not any(action.footer for action in ordered if action.group == "views")


def test_every_action_has_a_handler() -> None:
    """A word without a handler would raise here."""

    async def do_all(seen: Seen) -> None:
        for action in ACTIONS:
            seen.run.action_do(action.word)
            await seen.pilot.pause()
            if action.word == "branch":
                await seen.until(lambda: len(seen.app.screen_stack) > 2, "the branch is over it")
                await seen.press("q")
            if seen.top is not seen.run or seen.of("CommandLine", CommandLine).has_class("open"):
                await seen.press("escape")
        await seen.until(lambda: seen.app.return_code == 0, "the last action, quit, is done")

    assert replay(do_all).return_code == 0, "the last action, quit, was done"
