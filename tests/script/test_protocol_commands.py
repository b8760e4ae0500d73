"""Commands declared by protocols: part of the language by name, and checked before they reach a node."""

from enum import Enum

import pytest

from lab.kernel import CommandInput, Protocol, command
from lab.protocols import PROTOCOLS
from lab.script.commands import Nodes, ProtocolCommandLine
from lab.script.parse import parse
from lab.script.scope import CommandError, Scope
from lab.script.verbs import VERBS, bare_commands
from lab.tui.widgets.prompts import complete
from tests.worlds.protocols import Board


class Upper(Protocol):
    """A layer with commands."""

    @command
    def mark(self, region: str, colour: str = "red", *more: str) -> None:
        """Mark a region."""


class Stacked(Protocol):
    """A protocol whose commands are declared by the upper layer."""

    name = "stacked"
    upper_protocol = Upper


@pytest.fixture
def board(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the board one of the built-in protocols."""
    monkeypatch.setitem(PROTOCOLS, "board", Board)


def test_own_commands_take_their_default_recipients() -> None:
    """But for a name with which a line begins in every run."""

    class Own(Protocol):
        """Two commands."""

        name = "own-commands"

        @command(to="one")
        def propose(self, value: str) -> None:
            """Propose a value."""

        @command
        def heal(self) -> None:
            """Heal."""

    line = parse("at 1s propose x", Own).command
    assert isinstance(line, ProtocolCommandLine)
    assert (line.command, line.words, line.nodes) == ("propose", ("x",), None)
    assert not isinstance(parse("heal", Own).command, ProtocolCommandLine)
    with pytest.raises(CommandError, match="'propose' is not expected here"):
        parse("propose x", Board)


class Phase(Enum):
    """A status of one's own."""

    LEARNED = "Learned"


class Learner(Protocol):
    """A protocol with it."""

    name = "learner"
    status: Phase = Phase.LEARNED


def test_an_own_status_is_no_state_but_a_value() -> None:
    with pytest.raises(CommandError, match=r"did you mean 'all\.status == Learned'"):
        parse("expect all learned", Learner)


def _input(text: str, protocol: type[Protocol] = Board) -> CommandInput:
    line = parse(text).command
    assert isinstance(line, ProtocolCommandLine)
    return line.input(Scope(protocol, (1, 5)))


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
def test_commands_of_built_in_protocols_are_given_by_name(text: str, nodes: Nodes | None) -> None:
    """The nodes of a command that names none are resolved at its execution."""
    scripted = parse(f"at 2s {text}")
    assert scripted.command == ProtocolCommandLine(nodes, "clear")
    assert scripted.text == text


@pytest.mark.usefixtures("board")
def test_the_bare_command_is_completed_listed_and_suggested() -> None:
    assert bare_commands()["pin"].help.startswith("Pin a note to all boards.")
    assert complete("pi", [])[0] == "pin"
    assert complete("tell 5 cle", [])[0] == "tell 5 clear"
    with pytest.raises(CommandError, match=r"'claer' is not expected here \(did you mean 'clear'\?\)"):
        parse("claer")


def test_commands_of_other_protocols_are_not_given_by_name() -> None:
    assert "clear" not in bare_commands()
    with pytest.raises(CommandError, match="'clear' is not expected here"):
        parse("clear")


def test_no_protocol_command_is_named_like_a_command_or_trigger_of_the_language() -> None:
    """It could not be given without tell."""
    assert not {*VERBS, "at", "after", "when", "on"} & bare_commands().keys()


def test_arguments_are_passed_unchanged() -> None:
    assert _input("tell 5 pin 3%") == CommandInput("pin", ("3%",))
    assert _input("tell 5 mark 7 blue x y", Stacked) == CommandInput("mark", ("7", "blue", "x", "y"))


@pytest.mark.parametrize(
    ("text", "protocol", "message"),
    [
        ("tell 5 publish", Board, "board has no command publish; its commands are clear, pin"),
        ("tell 5 cler", Board, "board has no command cler; its commands are clear, pin; did you mean clear?"),
        ("tell 5 pin", PROTOCOLS["bully"], "bully has no command pin; it has no commands"),
        ("tell 5 started", Board, "board has no command started; its commands are clear, pin"),
        ("tell 5 pin", Board, "usage: pin TEXT; got none: tell NODES pin TEXT"),
        ("tell 5 pin a b", Board, "usage: pin TEXT; got a b: tell NODES pin TEXT"),
        ("tell 5 clear a\x1b", Board, r"clear takes no arguments; got a\x1b: tell NODES clear"),
        (
            "tell 5 mark",
            Stacked,
            "usage: mark REGION [COLOUR] [MORE…]; got none: tell NODES mark REGION [COLOUR] [MORE…]",
        ),
    ],
)
def test_unknown_commands_and_wrong_arguments_are_refused(
    text: str, protocol: type[Protocol], message: str
) -> None:
    """With the known commands, and the usage."""
    with pytest.raises(CommandError) as caught:
        _input(text, protocol)
    assert str(caught.value) == message
