"""Commands of a protocol's own: how they are declared, what their usage is, and that bad words fail no node."""

from collections.abc import Sequence
from typing import Any

import pytest

from lab.kernel import CommandInput, Protocol, command
from tests.harness import Solo


class Jar(Protocol):
    """It has coins, as many as it is told."""

    coins: int = 0

    @classmethod
    def objection(cls, command: str, words: tuple[str, ...], nodes: Sequence[int], parameters: Any) -> str:
        """Coins are counted in numbers."""
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
    """A jar is on it."""

    name = "shelf"
    carries = Jar

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
def test_a_command_says_how_it_is_written_and_who_it_is_for(name: str, usage: str, to: str, example: str) -> None:
    """The layer above has its own."""
    own = Shelf.commands[name]
    assert (own.usage, own.to, own.example) == (usage, to, example)


@pytest.mark.parametrize(
    ("name", "words", "said"),
    [
        ("put", (), "the words of put are COINS [more]; got none: put 3"),
        ("put", ("1", "2", "3\x1b"), r"the words of put are COINS [more]; got 1 2 3\x1b: put 3"),
        ("put", ("1", "2"), ""),
        ("put", ("a",), "a is no number; nodes [4, 7]"),
        ("shake", ("1",), "shake takes no words; got 1: tell NODES shake"),
        ("tip", ("1", "2", "3", "4"), ""),
        ("dust", ("1",), "dust takes no words; got 1: tell NODES dust"),
    ],
)
def test_what_is_wrong_with_its_words_is_known_before_any_node_has_them(
    name: str, words: tuple[str, ...], said: str
) -> None:
    """First how many there are, then what the layer that has the command says of them."""
    assert Shelf.against(name, words, (4, 7), Shelf.Parameters()) == said


@pytest.mark.parametrize("words", [(), ("x",), ("1", "2", "3")])
def test_a_node_that_is_told_bad_words_remarks_on_it_and_goes_on(words: tuple[str, ...]) -> None:
    """They came past whoever should have looked: it does nothing, and does not fail."""
    solo = Solo(Shelf)
    solo.start()
    step = solo.node.step(CommandInput("put", words), 5)
    assert (step.failed, step.changed) == ("", {})
    assert step.notes == (f"put is refused: {Shelf.against('put', words, (1, 2, 3), None)}",)
    assert solo.node.step(CommandInput("put", ("3",)), 6).changed == {"coins": 3}
