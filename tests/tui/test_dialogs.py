"""The forms of dialogs: Enter confirms, Esc leaves, digits select, typing filters, the last line has the keys."""

import asyncio
import importlib
import pkgutil
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
from rich.text import Text
from textual.app import App
from textual.pilot import Pilot

from lab import tui
from lab.glyphs import UNICODE
from lab.styles import ThemeStyles
from lab.tui.widgets.dialogs import (
    AnswerDialog,
    ChoiceDialog,
    Dialog,
    FilterableList,
    FinalAnswerDialog,
    FinalLineDialog,
    LineDialog,
    ListDialog,
    TextDialog,
    TypedNumber,
)

BODY = [Text("Who leads next?")]
STYLES = ThemeStyles(UNICODE)
Test = Callable[[Pilot[None]], Awaitable[None]]


class Fruits(ListDialog[str]):
    """A list of three."""

    def __init__(self) -> None:
        super().__init__("fruits", "Enter eats it · Esc closes")

    def on_mount(self) -> None:
        self.put((Text(each), each) for each in ("apple", "pear", "quince"))


class Asks(App[None]):
    """An application that shows a dialog, and keeps its result."""

    def __init__(self, dialog: Dialog[Any]) -> None:
        super().__init__()
        self.dialog = dialog
        self.results: list[Any] = []

    def on_mount(self) -> None:
        self.push_screen(self.dialog, self.results.append)


def _results(dialog: Dialog[Any], *keys: str) -> list[Any]:
    """Return the results of the dialog after these keys; none if it is still open."""

    async def run() -> list[Any]:
        app = Asks(dialog)
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.pause()
            await pilot.press(*keys)
            await pilot.pause()
            return list(app.results)

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("options", "keys", "result"),
    [
        (["yes", "no"], ["enter"], ["yes"]),
        (["yes", "no"], ["2"], []),
        (["yes", "no"], ["2", "enter"], ["no"]),
        (["yes", "no"], ["3", "enter"], ["yes"]),
        (["4", "5", "both"], ["2"], []),
        (["4", "5", "both"], ["2", "enter"], ["5"]),
        (["4", "5", "both"], ["3", "enter"], ["both"]),
        (["9", "12", "2"], ["2", "enter"], ["12"]),
        (["4", "5", "both"], [*"both", "enter"], ["both"]),
        ([f"answer {n}" for n in range(1, 13)], ["1", "2", "enter"], ["answer 12"]),
        (["yes", "no"], ["n"], []),
        (["yes", "no"], ["n", "enter"], ["no"]),
        (["yes", "no"], ["n", "escape"], []),
        (["yes", "no"], ["n", "escape", "escape"], [None]),
        (["yes", "no"], ["escape"], [None]),
    ],
)
def test_a_digit_selects_typing_filters_and_enter_confirms(
    options: list[str], keys: list[str], result: list[str | None]
) -> None:
    """A digit selects the option at this place, even if the options are numbers."""
    assert _results(ChoiceDialog("a choice", BODY, options), *keys) == result


def test_each_row_has_its_digit_and_a_key_without_effect_is_explained() -> None:
    async def run() -> list[str]:
        app, lines = Asks(AnswerDialog("a question", BODY, ["4", "5"])), []
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.pause()
            listed = app.screen.query_one(FilterableList)
            assert [str(each.prompt) for each in listed.options] == [" 1  4", " 2  5"]
            for key in ("5", "enter", "2", "7", "up"):
                await pilot.press(key)
                await pilot.pause()
                lines.append(str(app.dialog.box.border_subtitle))
        return lines

    keys = "arrows or the digit of a row select · Enter answers · Esc closes"
    assert asyncio.run(run()) == [
        "there is no row 5; the rows are 1 to 2",
        "nothing is selected: arrows or a digit select · Enter answers",
        keys,
        "there is no row 7; the rows are 1 to 2",
        keys,
    ]


def test_an_answer_is_not_preselected() -> None:
    """An Enter meant for something else answers nothing."""
    assert _results(AnswerDialog("a question", BODY, ["yes", "no"]), "enter", "enter") == []
    assert _results(AnswerDialog("a question", BODY, ["yes", "no"]), "down", "enter") == ["yes"]


def test_typing_in_a_list_filters_it() -> None:
    assert _results(Fruits(), *"pe") == []
    assert _results(Fruits(), *"pe", "enter") == ["pear"]
    assert _results(Fruits(), "slash", *"quin", "enter") == ["quince"]
    assert _results(Fruits(), "down", "down", "enter") == ["quince"]
    assert _results(Fruits(), *"zz", "enter") == []
    assert _results(Fruits(), "q") == [None]


def test_a_click_selects_and_a_double_click_chooses() -> None:
    """Two slow clicks do not."""

    async def run() -> list[list[str]]:
        app, seen = Asks(Fruits()), []
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.pause()
            for times in (1, 1, 2):
                await pilot.click(FilterableList, offset=(2, 1), times=times)
                await pilot.pause()
                seen.append(list(app.results))
                app._click_chain_last_time = 0.0  # long ago
        return seen

    assert asyncio.run(run()) == [[], [], ["pear"]]


def test_a_filtered_list_shows_its_filter_in_the_last_line() -> None:
    async def run() -> list[str]:
        app, lines = Asks(Fruits()), []
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.pause()
            for key in ("p", "escape"):
                await pilot.press(key)
                await pilot.pause()
                lines.append(str(app.dialog.box.border_subtitle))
        return lines

    assert asyncio.run(run()) == ["filter: p · Enter selects · Esc clears", "Enter eats it · Esc closes"]


def test_digits_typed_quickly_make_one_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """Digits typed slowly do not; a number need not have its first digits among the numbers."""
    now_s = 0.0
    monkeypatch.setattr("time.monotonic", lambda: now_s)
    typed = TypedNumber()
    assert [typed.enter(digit, (1, 2, 12)) for digit in "12"] == [1, 12]
    now_s = 1.0
    assert typed.enter("1", (1, 2, 12)) == 1
    now_s = 2.0
    assert typed.enter("2", (1, 2, 12)) == 2
    now_s = 3.0
    assert [typed.enter(digit, (30, 31)) for digit in "31"] == [None, 31]


def _dialogs() -> Iterator[type[Dialog[Any]]]:
    for module in pkgutil.walk_packages(tui.__path__, f"{tui.__name__}."):
        importlib.import_module(module.name)
    found = list(Dialog.__subclasses__())
    while found:
        each = found.pop()
        found += each.__subclasses__()
        if each.__module__.startswith(tui.__name__):
            yield each


def test_only_enter_chooses_in_a_dialog_with_a_list() -> None:
    """No other key is bound to what closes it with a result; letters that are bound do not filter."""
    for dialog in _dialogs():
        for binding in dialog.BINDINGS:
            keys, action = (
                (binding[0], binding[1]) if isinstance(binding, tuple) else (binding.key, binding.action)
            )
            if action in ("take", "apply", "close_vote"):
                assert keys == "enter", dialog
            if issubclass(dialog, ListDialog):
                assert all(len(key) > 1 or key in dialog.letters for key in keys.split(",")), dialog


@pytest.mark.parametrize(
    "dialog",
    [
        ChoiceDialog("a choice", BODY, ["yes", "no"]),
        AnswerDialog("a question", BODY, ["yes", "no"]),
        FinalAnswerDialog("a question", BODY, ["yes", "no"]),
        LineDialog("a line", BODY),
        FinalLineDialog("a line", BODY, STYLES),
        TextDialog("a text", BODY),
        Fruits(),
    ],
    ids=lambda dialog: type(dialog).__name__,
)
def test_the_last_line_has_the_keys(dialog: Dialog[Any]) -> None:
    """In full, at 80 columns."""

    async def run() -> str:
        app = Asks(dialog)
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.pause()
            strips = app.screen._compositor.render_strips(app.size)
            return next(strip.text for strip in reversed(strips) if strip.text.strip())

    last = asyncio.run(run())
    assert "Enter " in last
    assert "Esc " in last
    assert "…" not in last


def test_choosing_by_filter_leaves_the_numbers_in_place() -> None:
    """A filtered option keeps its number."""

    async def run() -> list[str]:
        app = Asks(ChoiceDialog("a choice", BODY, ["apple", "pear"]))
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.pause()
            await pilot.press("p", "e")
            return [str(option.prompt) for option in app.screen.query_one(FilterableList).options]

    assert asyncio.run(run()) == [" 2  pear"]


def test_a_final_answer_takes_enter_twice() -> None:
    """And is asked for again if it has changed in between."""

    def line() -> FinalLineDialog:
        return FinalLineDialog("a question", BODY, STYLES)

    def choice() -> FinalAnswerDialog:
        return FinalAnswerDialog("a question", BODY, ["yes", "no"])

    assert _results(line(), *"ab", "enter") == []
    assert _results(line(), *"ab", "enter", "enter") == ["ab"]
    assert _results(line(), *"ab", "enter", "c", "enter") == []
    assert _results(LineDialog("a question", BODY), *"ab", "enter") == ["ab"]
    assert _results(choice(), "2", "enter") == []
    assert _results(choice(), "2", "enter", "enter") == ["no"]
    assert _results(choice(), "2", "enter", "1", "enter") == []
    assert _results(AnswerDialog("a question", BODY, ["yes", "no"]), "2", "enter") == ["no"]


def test_a_suggestion_is_replaced_by_the_first_key_and_what_is_impossible_is_refused() -> None:
    def line() -> FinalLineDialog:
        return FinalLineDialog(
            "a question", BODY, STYLES, lambda answer: "no such" * (answer == "9"), "614", "where"
        )

    assert _results(line(), *"614", "enter", "enter") == ["614"]
    assert _results(line(), "enter", "enter") == ["614"]
    assert _results(line(), "9", "enter", "enter", "enter") == []
    assert _results(line(), "9", "enter", "backspace", "8", "enter", "enter") == ["8"]
