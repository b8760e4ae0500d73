"""Keys that the user chooses in a file: what they change, and how mistakes are reported."""

from pathlib import Path

import pytest

from lab.foreign_file import LARGEST_TEXT
from lab.tui.actions import ACTIONS
from lab.tui.user_keys import UserKeys, read_user_keys
from lab.tui.views.views import Views
from tests.tui.seen import Seen, replay
from tests.tui.test_actions import footer

CHOSEN = {"diagram": "D", "heartbeats": "ctrl+b", "search": "f6", "full": "", "back": "_"}


def _read(folder: Path, text: str) -> UserKeys:
    file = folder / "keys.toml"
    file.write_text(text, "utf-8")
    return read_user_keys(file)


def test_without_a_file_all_keys_are_those_of_the_table(tmp_path: Path) -> None:
    assert read_user_keys(tmp_path / "keys.toml") == UserKeys()


def test_keys_are_letters_signs_and_names(tmp_path: Path) -> None:
    text = 'diagram = "D"\nheartbeats = "Ctrl+B"\nback = "_"\nplay = "f5"\nstep = " "\ndelay = ""\n' + "wipe = 'W'"
    keys = {"diagram": "D", "heartbeats": "ctrl+b", "back": "_", "play": "f5", "step": "space", "delay": ""}
    assert _read(tmp_path, text) == UserKeys(keys | {"wipe": "W"})


def test_keys_can_be_exchanged(tmp_path: Path) -> None:
    assert _read(tmp_path, 'code = "s"\ndiagram = "c"\n') == UserKeys({"code": "s", "diagram": "c"})


@pytest.mark.parametrize(
    ("text", "line", "expected"),
    [
        ('\nlinks = "L"', 2, "links = 'L': no action is called links; lab guide keys lists the words"),
        ('diagrams = "D"', 1, "no action is called diagrams; did you mean diagram?"),
        ('wipe = "f99"', 1, "wipe = 'f99': no key is called that; expected a letter, a sign, or a name"),
        ('wipe = "WW"', 1, "no key is called that"),
        ("wipe = 3", 1, 'wipe = 3: expected a key in quotes, such as wipe = "f5"'),
        ('[wipe]\nkey = "W"', 1, "expected a key in quotes"),
        ('wipe = "1"', 1, "1 cannot be given to an action, as digits select nodes; take another key"),
        ('wipe = "tab"', 1, "Tab cannot be given to an action"),
        ('wipe = "ctrl+h"', 1, "as terminals send it as Backspace"),
        ('open = "o"', 1, "the key of open is the same everywhere and cannot be changed"),
        ('wipe = "k"', 1, "wipe = 'k': that is the key of kill, too; give kill another key, or \"\" for none"),
        ('wipe = "W"\nlose = "W"', 2, "lose = 'W': that is the key of wipe, too"),
        ('wipe = "?"', 1, "that is the key of help, too"),
        ('wipe = ","', 1, "wipe = ',': that is the key of back, too"),
    ],
)
def test_a_mistake_costs_its_own_line(tmp_path: Path, text: str, line: int, expected: str) -> None:
    """It is reported with its place."""
    found = _read(tmp_path, f'cards = "C"\n{text}\n')
    (mistake,) = found.mistakes
    assert mistake.startswith(f"{tmp_path / 'keys.toml'}, line {line + 1}: ")
    assert expected in mistake
    assert "\n" not in mistake
    assert found.trouble == mistake
    assert found.keys.pop("cards") == "C"
    assert found.keys in ({}, {"wipe": "W"})


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"diagram = D", "Invalid value (at line 1, column 11); expected lines such as diagram = "),
        (b"diagram", "expected lines such as"),
        (b"\xff\xfe", "not a text file"),
        (b"a = 1" + b"0" * 10_000, "expected lines such as"),
        (b"a = " + b"[" * 100_000, "expected lines such as"),
        (b"#" * (LARGEST_TEXT + 1), "larger than 1 MB"),
    ],
    ids=["no string", "no value", "no text", "a long number", "deep", "large"],
)
def test_a_file_that_cannot_be_read_changes_nothing(tmp_path: Path, content: bytes, expected: str) -> None:
    file = tmp_path / "keys.toml"
    file.write_bytes(content)
    found = read_user_keys(file)
    assert not found.keys
    (mistake,) = found.mistakes
    assert mistake.startswith(f"{file}: ")
    assert expected.lower() in mistake.lower()
    assert mistake.endswith("all keys are as usual")
    assert len(mistake) < 400


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    assert read_user_keys(tmp_path).mistakes == (f"{tmp_path}: Is a directory; all keys are as usual",)


def test_of_several_mistakes_the_first_is_shown(tmp_path: Path) -> None:
    found = _read(tmp_path, 'nothing = "a"\nwipe = "no"\nlose = 1\n')
    assert len(found.mistakes) == 3
    assert found.trouble == f"{found.mistakes[0]} (and 2 more, printed when lab ends)"


def test_everything_shows_the_keys_of_the_user() -> None:
    """Bindings, footer, tabs, help and messages; the old keys are free."""

    async def test(seen: Seen) -> None:
        await seen.press("s")
        assert seen.of("Views", Views).chosen == "log"
        await seen.press("D")
        assert seen.of("Views", Views).chosen == "diagram"
        assert "D diagram" in seen.text
        await seen.press("D", "tab", "full_stop", "underscore")
        assert "_ back" in footer(seen)
        assert "F6 search" in footer(seen)
        await seen.press("ctrl+b")
        await seen.until_message("heartbeats shown")
        await seen.press("z")
        assert not seen.run.has_class("full")
        await seen.press(":full")
        await seen.until_message("only this view; :full shows everything again")
        await seen.press(":full", "question_mark")
        await seen.until(lambda: seen.top is not seen.run, "the help")
        await seen.type("space-time")
        await seen.until(lambda: "D           show or hide the space-time diagram" in seen.text, "its key")

    replay(test, keys=UserKeys(CHOSEN))


def test_mistakes_are_shown_when_a_run_opens() -> None:
    async def test(seen: Seen) -> None:
        assert seen.message == "keys.toml, line 1: a mistake"

    replay(test, keys=UserKeys(mistakes=("keys.toml, line 1: a mistake",)))


def test_every_word_of_the_table_can_have_another_key(tmp_path: Path) -> None:
    words = [action.word for action in ACTIONS if action.word not in ("open", "deselect")]
    keys = {word: chr(0x100 + place) for place, word in enumerate(words)}
    assert _read(tmp_path, "".join(f'{word} = "{key}"\n' for word, key in keys.items())) == UserKeys(keys)
