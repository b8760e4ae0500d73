"""The commands of a protocol: declaration, usage, and bad words, which fail no node."""

from collections.abc import Sequence
from typing import Any

import pytest

from lab.kernel import CommandInput, Protocol, command
from tests.harness import Solo


class Jar(Protocol):
    """A jar of coins."""

    coins: int = 0

    @classmethod
    def objection(cls, command: str, words: tuple[str, ...], nodes: Sequence[int], parameters: Any) -> str:
        """Refuse amounts that are not numbers."""
        return "" if all(word.isdecimal() for word in words) else f"{words[-1]} is no number; nodes {list(nodes)}"

    @command(to="one", words="COINS [more]", example="put 3")
    def put(self, coins: str, more: str = "0") -> None:
        """Put in so many."""
        self.coins += int(coins) + int(more)

    @command(to="named")
    def shake(self) -> None:
        """Make a noise."""

    @command
    def tip(self, *coins: str) -> None:
        """Put in some."""
        self.coins += sum(map(int, coins))


class Shelf(Protocol):
    """A shelf with a jar on it."""

    name = "shelf"
    upper_protocol = Jar

    @command
    def dust(self) -> None:
        """Wipe the dust off."""


@pytest.mark.parametrize(
    ("name", "usage", "to", "example"),
    [
        ("put", "put COINS [more]", "one", "put 3"),
        ("shake", "shake NODES", "named", ""),
        ("tip", "tip [COINS…]", "leaders", ""),
        ("dust", "dust [NODES]", "leaders", ""),
    ],
)
def test_a_command_declares_its_usage_and_recipients(name: str, usage: str, to: str, example: str) -> None:
    """Commands of the upper layer are included."""
    own = Shelf.commands[name]
    assert (own.usage, own.to, own.example) == (usage, to, example)


@pytest.mark.parametrize(
    ("name", "words", "message"),
    [
        ("put", (), "usage: put COINS [more]; got none: put 3"),
        ("put", ("1", "2", "3\x1b"), r"usage: put COINS [more]; got 1 2 3\x1b: put 3"),
        ("put", ("1", "2"), ""),
        ("put", ("a",), "a is no number; nodes [4, 7]"),
        ("shake", ("1",), "shake takes no arguments; got 1: tell NODES shake"),
        ("tip", ("1", "2", "3", "4"), ""),
        ("dust", ("1",), "dust takes no arguments; got 1: tell NODES dust"),
    ],
)
def test_bad_words_are_refused_before_any_node_gets_them(name: str, words: tuple[str, ...], message: str) -> None:
    """First the number of words is checked, then the layer that has the command checks the words."""
    assert Shelf.refusal(name, words, (4, 7), Shelf.Parameters()) == message


@pytest.mark.parametrize("words", [(), ("x",), ("1", "2", "3")])
def test_a_node_notes_bad_words_and_goes_on(words: tuple[str, ...]) -> None:
    """If nobody checked the words, the command has no effect, and the node does not fail."""
    solo = Solo(Shelf)
    solo.start()
    step = solo.node.step(CommandInput("put", words), 5)
    assert (step.failed, step.changed) == ("", {})
    assert step.notes == (f"put is refused: {Shelf.refusal('put', words, (1, 2, 3), None)}",)
    assert solo.node.step(CommandInput("put", ("3",)), 6).changed == {"coins": 3}
