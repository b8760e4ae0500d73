"""What can be known of a line before the run: which nodes, kinds, assertions and attributes there are."""

from collections.abc import Callable

import pytest

from lab.kernel import Protocol
from lab.protocols import PROTOCOLS
from lab.script import VERBS, CommandError, check_line, parse
from lab.script.explaining import EXPECTATIONS, TRIGGERS

BULLY, TOKEN = PROTOCOLS["bully"], PROTOCOLS["token"]
IDS = (1, 2, 3, 4, 5)

BAD = [
    "kill 9",
    "kill coordinator 9",
    "at 2s: slow 9 300ms",
    "cut coordinator->9",
    "cut 3->3",
    "partition 1 2 | 2 3",
    "lose all AreYouThere 100%",
    "hold 3->1 EnterElctoin",
    "fire 0",
    "deliver 3->3",
    "deliver 3->1 Foo",
    "tell 5 publish",
    "inject 1->9 AreYouUp",
    "inject 1->1 AreYouUp",
    "inject 1->3 Foo",
    "inject 1->3 AreYouUp {1}",
    'inject 1->3 AreYouUp {"a": 1}',
    'inject 1->3 NewState {"definitoin": {}}',
    'inject 1->3 NewState {"definition": 5}',
    "on send EnterElction 4->1: kill 5",
    "on send AreYouUp 4->4: kill 5",
    "on drop AreYouUp 4->9: kill 5",
    "on status 9 Normal: kill 5",
    "when 9 normal: kill 5",
    "at 2s when all normal and 9 suspects 4: kill 5",
    "when not (4 up or 2->9 cut): kill 5",
    "when 3->3 cut: kill 5",
    "when messages(Acept) > 2: kill 5",
    "expect flying(1->9) == 0",
    "when all.coordnator == 3: kill 5",
    "expect never 9.coordinator == 3",
    "expect all.status == Nromal",
    "when 4.process == Down: kill 4",
    "when 4.leads == Yes: kill 4",
    "expect all.coordinator == any.coordinator",
    "expect all.version + any.version == 2",
    "expect all.status < Normal",
    "expect Normal + 1 == 2",
    "expect violation A1.9",
    "expect no violation A7",
]

ELECTS_NOBODY = [
    "kill coordinator",
    "when 4 leads: kill 4",
    "when coordinator up: kill 4",
    "on status any Normal: kill 4",
    "expect coordinator.status == Idle within 2s",
]


def _said_of(text: str, protocol: type[Protocol]) -> str:
    with pytest.raises(CommandError) as caught:
        check_line(parse(text), protocol, IDS)
    assert str(caught.value).isprintable()
    return str(caught.value)


def test_what_is_said_of_what_there_is_not(transcript: Callable[[str, str], None]) -> None:
    """Which there are, and the nearest of them."""
    said = [f"{text}\n    {_said_of(text, BULLY)}" for text in BAD]
    said += [f"{text}\n    {_said_of(text, TOKEN)}" for text in ELECTS_NOBODY]
    transcript("command_checks", "\n".join(said))


@pytest.mark.parametrize("text", ELECTS_NOBODY[:4])
def test_where_somebody_is_elected_all_that_is_in_order(text: str) -> None:
    """Who leads is seen when the time comes."""
    check_line(parse(text), BULLY, IDS)


KINDS = {"Accept", "NewState"}


def test_examples_are_in_order() -> None:
    """Those of commands whose messages the protocol has."""
    for verb in VERBS.values():
        if not KINDS & set(verb.example.split()) and not verb.example.startswith("tell"):
            check_line(parse(verb.example), BULLY, IDS)
    for text in (*EXPECTATIONS.values(), *(f"{trigger}: kill 5" for trigger in TRIGGERS.values())):
        check_line(parse(text), BULLY, IDS)


@pytest.mark.parametrize(
    "text",
    [
        "when 4.process == running and 4.leads == false and 4.status != Down: kill 4",
        "expect all.halted == none",
        "expect always 2 * any.version + 1 <= groups - live / 2",
        "when all.coordinator == 4.coordinator: heal",
        "inject 1->3 SetCoordinator",
        "partition coordinator | 1 2 3",
        "fire 2",
        "expect violation raises under wipe",
    ],
)
def test_what_can_mean_something_is_in_order(text: str) -> None:
    """Nothing is said of it."""
    check_line(parse(text), BULLY, IDS)
