"""The table of actions: everything in it can be done by key, by click and by word."""

import string
from collections import Counter
from functools import partial
from pathlib import Path

import pytest
from textual.widgets import OptionList

from lab.script.verbs import VERBS
from lab.tasks.extension import Extension, View, built_in_extensions
from lab.tui.actions import ACTIONS, TASK_VIEWS, actions_of
from tests.harness import Rig
from tests.tui.seen import Seen, replay

MOST_TO_KEEP_IN_MIND = 25
PAIRS = ("()", "{}", "[]", ",.", "<>")
"""Signs that mean *back* and *forward*, or *less* and *more*: one thing to keep in mind, and brackets none."""


def _keys() -> dict[str, str]:
    """Return the action of each key, a single one for a view of a task."""
    return {key: action.word for action in ACTIONS for key in action.shown.split() if key}


def test_no_word_or_key_occurs_twice() -> None:
    """But the views of tasks share a key, as no run has two of them."""
    words = Counter(action.word for action in ACTIONS)
    others = [action for action in ACTIONS if action.word not in TASK_VIEWS[1:]]
    keys = Counter(key for action in others for key in action.keys.split(",") if key)
    shown = Counter(action.shown for action in others if action.shown)
    for counted in (words, keys, shown):
        assert [each for each, count in counted.items() if count > 1] == []
    assert len({action.keys for action in ACTIONS if action.word in TASK_VIEWS}) == 1


def test_the_keys_to_keep_in_mind_are_few() -> None:
    """Without those that the screen names all the time: of views, in their tabs and in their footer."""
    kept = {
        action.shown
        for action in ACTIONS
        if action.group != "views" and not action.of_view and (len(action.shown) == 1 or action.shown == "space")
    }
    kept -= {letter for letter in kept if letter.isupper() and letter.lower() in kept}
    for pair in PAIRS:
        kept -= {pair[0]} if pair in (",.", "<>") else {*pair}
    assert len(kept) <= MOST_TO_KEEP_IN_MIND, sorted(kept)


def test_a_capital_is_the_stronger_or_backward_form_of_its_small_letter() -> None:
    keys = _keys()
    for key in filter(str.isupper, keys):
        if len(key) == 1:
            small, capital = keys[key.lower()], keys[key]
            assert capital in (f"{small}s", f"{small}es", f"{small}-back", small.replace("next-", "previous-")), (
                key
            )


def test_signs_that_pair_lead_back_and_forward() -> None:
    keys = _keys()
    for pair in ("()", "{}", "[]"):
        assert keys[pair[0]].replace("previous-", "next-") == keys[pair[1]]


def test_only_a_word_names_an_action() -> None:
    actions = actions_of(Extension, {})
    assert [actions[action.word].word for action in ACTIONS] == [*actions]
    assert [word for word, action in actions.items() if action not in ACTIONS] == [*TASK_VIEWS[1:]]


def test_the_view_of_the_run_has_the_key_of_the_views_of_tasks() -> None:
    for brought in built_in_extensions():
        for view in brought.views:
            actions = actions_of(brought, {})
            assert [word for word in TASK_VIEWS if actions[word].keys == view.key] == [view.word]


@pytest.mark.parametrize(("key", "given"), [("t", "t"), ("j", "j"), ("k", "")])
def test_a_view_of_an_own_protocol_has_its_key_if_that_is_free(key: str, given: str) -> None:
    class Own(Extension):
        views = (View("own", "a view", lambda frame: "", key=key),)

    actions = actions_of(Own, {})
    assert actions["own"].keys == given
    assert not given or [action.word for action in actions.values() if action.keys == given] == ["own"]


def test_cluster_actions_are_script_commands_too() -> None:
    for action in ACTIONS:
        assert (action.where == "driver") == (action.group == "cluster"), action.word
        assert action.group != "cluster" or action.word in VERBS, action.word


def test_every_action_is_bound_to_its_keys() -> None:
    async def test(seen: Seen) -> None:
        bound = [each for each in seen.run._bindings.shown_keys if each.action.startswith("do(")]
        assert bound == [], "the footer takes them from the table"
        actions = seen.run.context.actions
        for action in filter(lambda each: each.keys, actions.values()):
            for key in action.keys.split(","):
                found = seen.run._bindings.get_bindings_for_key(_name(key))
                assert f"do('{action.word}')" in [each.action for each in found]
        for digit in string.digits:
            assert seen.run._bindings.get_bindings_for_key(digit)[0].action == f"digit('{digit}')"

    replay(test)


def _name(key: str) -> str:
    """Return the key as Textual names it."""
    from textual.keys import _character_to_key

    return _character_to_key(key) if len(key) == 1 else key


def test_the_footer_begins_with_what_has_the_focus() -> None:
    """Then come how to enter a command, get help, quit, and move in time; in 80 columns, with whole words."""
    general = ": command ? help q quit space play . step , back"

    async def test(seen: Seen) -> None:
        assert footer(seen).startswith(f"1-5 select a node {general}")
        await seen.press("tab")
        assert footer(seen).startswith("Enter go there f follow message y copy & filter : command ? help q quit")
        await seen.press("s")
        assert footer(seen).startswith("Enter go there + zoom in - zoom out | turn : command ? help q quit")
        await seen.press("colon")
        assert footer(seen) == "Tab complete Enter do it Esc leave Up history"
        await seen.press("escape")
        await seen.press("l")
        assert footer(seen).startswith(general), "no link can be changed in a recording"

    replay(test, size=(80, 24))


def test_the_footer_of_the_scrub_bar_and_of_a_single_node(tmp_path: Path) -> None:
    async def test(seen: Seen) -> None:
        assert footer(seen).startswith("7 select a node : command")
        await seen.pilot.click("KeyLine", offset=(3, 0))
        assert seen.selected() == 7
        await seen.press("tab", "tab")
        assert footer(seen).startswith("0-9 tenths of the run")

    rig = Rig((7,)).started()
    replay(test, rig.write(tmp_path / "one.jsonl", end=False))


def footer(seen: Seen) -> str:
    return " ".join(seen.text.split("\n")[-1].split())


def _is_first(options: OptionList, word: str) -> bool:
    return bool(options.option_count) and str(options.get_option_at_index(0).prompt).startswith(word)


def test_what_has_no_key_is_done_by_its_word_in_the_palette_and_on_the_command_line() -> None:
    async def test(seen: Seen) -> None:
        for word in ("heartbeats", "theme", "next-message"):
            await seen.press("ctrl+p")
            await seen.until(lambda: seen.top is not seen.run, "the palette")
            await seen.type(word.replace("-", ""))
            options = seen.top.query_one(OptionList)
            await seen.until(partial(_is_first, options, word), "it is found")
            await seen.press("escape")
            await seen.until(lambda: seen.top is seen.run, "closed")
        await seen.press("colon")
        await seen.type("heartb")
        await seen.press("tab", "enter")
        await seen.until_message("heartbeats shown")

    replay(test)
