"""Reading commands: every verb and trigger, what is said of bad ones, and that nothing else is ever raised."""

import contextlib
import sys
import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.script import (
    VERBS,
    After,
    At,
    Command,
    CommandError,
    Heal,
    LinkFault,
    NodeCommand,
    OnMessage,
    Partition,
    Tell,
    Trigger,
    WhenNormal,
    WorldCommand,
    parse,
)
from lab.script.commands import LinkSet, Nodes
from lab.script.parse import LONGEST

PIN = ("a", "b|c", "3%", "#x")
ALL = Nodes((), ("all",))
ONE_TWO = LinkSet(Nodes((1,)), Nodes((2,)))


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("kill 5", NodeCommand("kill", Nodes((5,)))),
        ("restart 1 2", NodeCommand("restart", Nodes((1, 2)))),
        ("pause 1, 2,3", NodeCommand("pause", Nodes((1, 2, 3)))),
        ("resume all", NodeCommand("resume", ALL)),
        ("wipe coordinator 4", NodeCommand("wipe", Nodes((4,), ("coordinator",)))),
        ("delay 1->2 400ms", LinkFault("delay", ONE_TWO, 400_000)),
        ("delay 1->2 1.5s ±100ms", LinkFault("delay", ONE_TWO, 1_500_000, 100_000)),
        ("delay 1->2 1.5s +-100ms", LinkFault("delay", ONE_TWO, 1_500_000, 100_000)),
        ("lose all 30%", LinkFault("lose", LinkSet(ALL), probability=0.3)),
        ("lose 1 2 0.5%", LinkFault("lose", LinkSet(Nodes((1, 2))), probability=0.005)),
        ("cut 1<->2", LinkFault("cut", LinkSet(Nodes((1,)), Nodes((2,)), both=True))),
        ("cut 1 2->3,4", LinkFault("cut", LinkSet(Nodes((1, 2)), Nodes((3, 4))))),
        ("cut coordinator->all", LinkFault("cut", LinkSet(Nodes((), ("coordinator",)), ALL))),
        ("duplicate all 20%", LinkFault("duplicate", LinkSet(ALL), probability=0.2)),
        ("reorder 1->2 50%", LinkFault("reorder", ONE_TWO, 100_000, probability=0.5)),
        ("reorder 1->2 50% 7ms", LinkFault("reorder", ONE_TWO, 7_000, probability=0.5)),
        ("partition 1 2 | 3 4 5", Partition((Nodes((1, 2)), Nodes((3, 4, 5))))),
        ("partition 1", Partition((Nodes((1,)),))),
        ("partition 1|2|3", Partition((Nodes((1,)), Nodes((2,)), Nodes((3,))))),
        ("heal", Heal()),
        ("heal 1->2", Heal(ONE_TWO)),
        ("heal coordinator", Heal(LinkSet(Nodes((), ("coordinator",))))),
        ("kill coordinators", NodeCommand("kill", Nodes((), ("coordinators",)))),
        ("tell 5 publish", Tell(Nodes((5,)), "publish")),
        ("tell 1, 2 coordinators pin a b|c 3% #x", Tell(Nodes((1, 2), ("coordinators",)), "pin", PIN)),
        ("freeze", WorldCommand("freeze")),
        ("go", WorldCommand("go")),
        ("speed 0.1", WorldCommand("speed", factor=0.1)),
        ("speed 10x", WorldCommand("speed", factor=10.0)),
        ("speed max", WorldCommand("speed", factor=None)),
        ("step", WorldCommand("step")),
        ("step 12", WorldCommand("step", count=12)),
        ("deliver 3->1", WorldCommand("deliver", source=3, node=1)),
        ("deliver 3->1 AreYouUp", WorldCommand("deliver", source=3, node=1, kind="AreYouUp")),
        ("fire 2", WorldCommand("fire", node=2)),
    ],
)
def test_every_command(text: str, command: Command) -> None:
    """As a struct; the text is kept as it was written, with single spaces."""
    scripted = parse(f"  {text.replace(' ', '  ')} ")
    assert scripted.command == command
    assert scripted.trigger is None
    assert scripted.text == scripted.source == text


@pytest.mark.parametrize(
    ("text", "trigger"),
    [
        ("after 300ms", After(300_000)),
        ("at 2s", At(2_000_000)),
        ("at 1500us", At(1_500)),
        ("at 2m", At(120_000_000)),
        ("when all normal", WhenNormal()),
        ("on send EnterElection", OnMessage("send", "EnterElection")),
        ("on deliver NewState 4->1", OnMessage("deliver", "NewState", 4, 1)),
    ],
)
@pytest.mark.parametrize("colon", ["", ":", " :"])
def test_every_trigger(text: str, trigger: Trigger, colon: str) -> None:
    """With a colon or without; the command's own text does not have it."""
    scripted = parse(f"{text}{colon} kill 5")
    assert scripted.trigger == trigger
    assert scripted.command == NodeCommand("kill", Nodes((5,)))
    assert (scripted.text, scripted.source) == ("kill 5", f"{text}{colon} kill 5")


def test_time_can_be_frozen_by_a_trigger() -> None:
    """Which makes a breakpoint of any trigger; the other commands of time are for a hand on the keys."""
    scripted = parse("on send NewState 4->1: freeze")
    assert scripted.command == WorldCommand("freeze")
    assert scripted.trigger == OnMessage("send", "NewState", 4, 1)


@pytest.mark.parametrize("verb", VERBS)
def test_every_example_is_a_command(verb: str) -> None:
    """What help and errors show can be typed."""
    assert parse(VERBS[verb].example).text.startswith(verb)
    assert VERBS[verb].usage.startswith(verb)


BAD = (
    "",
    "   ",
    "kil 5",
    "kill",
    "kill five",
    "kill -5",
    "kill 5.5",
    "kill 5ms",
    "kill everyone",
    "KILL 5",
    "kill 5 and 6",
    "kill 5; heal",
    "stop 5",
    "restart nodes 5",
    "pause coordinatr",
    "resume al",
    "delay",
    "delay 1->2",
    "delay 1->2 400",
    "delay 1->2 400ms 100ms",
    "delay 1->2 -400ms",
    "delay 1=>2 400ms",
    "delay 2-3 400ms",
    "delay ->3 400ms",
    "delay 1->2 400ms ±",
    "lose 30%",
    "lose all",
    "lose all 30",
    "lose all 130%",
    "lose all thirty%",
    "cut",
    "cut 1->",
    "cut 1->2->3",
    "duplicate 1->2 101%",
    "reorder all 50% fast",
    "partition",
    "partition 1 2 |",
    "partition | 1",
    "partition 1 2 / 3 4",
    "heal everything",
    "tell",
    "tell publish",
    "tell 5",
    "tell 5 Publish",
    "tell 5 6",
    "freeze 5",
    "go on",
    "speed",
    "speed fast",
    "speed 5%",
    "speed 0",
    "speed 1001",
    "step back",
    "step 0",
    "step 1.5",
    "step 99999999999999",
    "deliver 3",
    "deliver 3<->1",
    "deliver all->1",
    "deliver 3->1 areYouUp",
    "fire",
    "fire all",
    "at 2s step",
    "at kill 5",
    "at 2 kill 5",
    "at 2s",
    "at 2s at kill 5",
    "when normal kill 5",
    "when all Normal kill 5",
    "on send kill 5",
    "on receive NewState kill 5",
    "on send newState kill 5",
    "on send NewState 1-> kill 5",
    "on send NewState 1->2",
    "kill \x1b[31m5",
    "kill 5 \u202e6",
    "töte 5",
    "?",
    "help",
)


def test_what_is_said_of_bad_commands(
    transcript: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it is wrong, what was expected, and an example; with no control character of the user's in it."""
    monkeypatch.setattr(sys.modules["lab.script.parse"], "own_commands", dict)  # there are none
    said = []
    for text in BAD:
        with pytest.raises(CommandError) as caught:
            parse(text)
        assert str(caught.value).isprintable()
        said.append(f"{text!a}\n    {caught.value}")
    transcript("command_errors", "\n".join(said))


@pytest.mark.parametrize("text", BAD)
def test_every_error_has_a_column_or_a_reason(text: str) -> None:
    """The column is within the text, or just behind its end."""
    with pytest.raises(CommandError) as caught:
        parse(text)
    said = str(caught.value)
    if said.startswith("column "):
        assert 1 <= int(said.split()[1].rstrip(":")) <= len(text) + 1
        assert "For example: " in said
    else:
        assert any(reason in said for reason in ("write 0% to 100%", ": from ", "; freeze can: ")), said


def test_a_column_points_at_what_is_wrong() -> None:
    """Counted from 1, in the line as it was given."""
    with pytest.raises(CommandError, match="column 10: 'x' is not expected here"):
        parse("  kill  5x")


ELSE = "publish at when on all normal coordinator send NewState 1 2 -> <-> | ± 2s 30% 400ms , : +- 1.5 1e9s % ² ٣"
WORDS = st.sampled_from([*VERBS, *ELSE.split(" ")])


@given(st.one_of(st.text(max_size=80), st.lists(WORDS, max_size=12).map(" ".join), st.lists(WORDS).map("".join)))
def test_nothing_else_is_raised(text: str) -> None:
    """Whatever is typed: a command, or a CommandError with a text that can be shown."""
    try:
        scripted = parse(text)
    except CommandError:
        return
    assert parse(scripted.source).command == scripted.command


@pytest.mark.parametrize(
    "text",
    [
        "kill " + "1 " * 490,
        "kill " + "9" * 990,
        "kill " * 199,
        "partition " + "1|" * 490,
        "(" * 1_000,
        "delay 1->2 " + "9" * 980 + "s",
        "delay 1->2 1." + "9" * 980 + "s",
        "x" * LONGEST,
        " " * LONGEST,
        "at " * 333,
    ],
)
def test_long_commands_take_no_time(text: str) -> None:
    """Up to the longest that is allowed: a second would be far too long."""
    began_s = time.process_time()
    with contextlib.suppress(CommandError):
        parse(text)
    assert time.process_time() - began_s < 1.0


def test_too_long_a_command_is_refused() -> None:
    """Whatever it says."""
    with pytest.raises(CommandError, match="a command has at most 1000 characters; this has 100000"):
        parse("x" * 100_000)
