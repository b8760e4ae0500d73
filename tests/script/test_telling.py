"""Commands of a protocol's own: in the language by name, and refused before they reach a node."""

import pytest

from lab.kernel import CommandInput, Protocol, command
from lab.protocols import PROTOCOLS
from lab.script import VERBS, CommandError, Tell, own_commands, parse, told_by
from lab.script.commands import Nodes
from lab.tui.commandline import complete
from tests.worlds.protocols import Board


class Upper(Protocol):
    """A layer with commands."""

    @command
    def mark(self, region: str, colour: str = "red", *more: str) -> None:
        """Mark a region."""


class Stacked(Protocol):
    """A protocol that has its commands from the layer above."""

    name = "stacked"
    carries = Upper


@pytest.fixture
def board(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the board were one of the program's protocols."""
    monkeypatch.setitem(PROTOCOLS, "board", Board)


def _told(text: str, protocol: type[Protocol] = Board) -> CommandInput:
    tell = parse(text).command
    assert isinstance(tell, Tell)
    return told_by(tell, protocol, (1, 5))


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        ("clear", None),
        ("clear 5", Nodes((5,))),
        ("clear 1, 2 coordinator", Nodes((1, 2), ("coordinator",))),
        ("clear all", Nodes((), ("all",))),
    ],
)
@pytest.mark.usefixtures("board")
def test_a_protocol_of_the_programs_needs_no_tell(text: str, nodes: Nodes | None) -> None:
    """Which nodes are meant, if none is named, is seen when it is carried out."""
    scripted = parse(f"at 2s {text}")
    assert scripted.command == Tell(nodes, "clear")
    assert scripted.text == text


@pytest.mark.usefixtures("board")
def test_the_bare_command_is_completed_listed_and_suggested() -> None:
    """As the commands of the language are."""
    assert own_commands()["pin"].help.startswith("Pin a note to all boards.")
    assert complete("pi", []) == "pin"
    assert complete("tell 5 cle", []) == "tell 5 clear"
    with pytest.raises(CommandError, match=r"'claer' is not expected here \(did you mean 'clear'\?\)"):
        parse("claer")


def test_without_such_a_protocol_it_is_no_command() -> None:
    """Only *tell* knows it then."""
    assert "clear" not in own_commands()
    with pytest.raises(CommandError, match="'clear' is not expected here"):
        parse("clear")


def test_no_own_command_has_the_name_of_one_of_the_language() -> None:
    """Nor of a trigger: it could not be given by its name alone."""
    assert not {*VERBS, "at", "after", "when", "on"} & own_commands().keys()


def test_words_are_handed_over_as_they_were_written() -> None:
    """Every one of them."""
    assert _told("tell 5 pin 3%") == CommandInput("pin", ("3%",))
    assert _told("tell 5 mark 7 blue x y", Stacked) == CommandInput("mark", ("7", "blue", "x", "y"))


@pytest.mark.parametrize(
    ("text", "protocol", "said"),
    [
        ("tell 5 publish", Board, "board has no command publish; it has clear, pin"),
        ("tell 5 cler", Board, "board has no command cler; it has clear, pin; did you mean clear?"),
        ("tell 5 pin", PROTOCOLS["bully"], "bully has no command pin; it has none of its own"),
        ("tell 5 started", Board, "board has no command started; it has clear, pin"),
        ("tell 5 pin", Board, "the words of pin are TEXT; got none: tell NODES pin TEXT"),
        ("tell 5 pin a b", Board, "the words of pin are TEXT; got a b: tell NODES pin TEXT"),
        ("tell 5 clear a\x1b", Board, r"clear takes no words; got a\x1b: tell NODES clear"),
        (
            "tell 5 mark",
            Stacked,
            "the words of mark are REGION [COLOUR] [MORE…]; got none: tell NODES mark REGION [COLOUR] [MORE…]",
        ),
    ],
)
def test_what_the_protocol_has_not_or_does_not_take_is_refused(
    text: str, protocol: type[Protocol], said: str
) -> None:
    """With what it has, and what it takes."""
    with pytest.raises(CommandError) as caught:
        _told(text, protocol)
    assert str(caught.value) == said
