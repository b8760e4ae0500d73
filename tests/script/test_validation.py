"""Checks of a line before the run: unknown nodes, kinds of messages, assertions and attributes."""

from collections.abc import Callable

import pytest

from lab.kernel import Protocol
from lab.protocols import PROTOCOLS
from lab.script.parse import parse
from lab.script.parse_errors import EXPECTATIONS, TRIGGERS
from lab.script.scope import CommandError, Scope
from lab.script.verbs import VERBS

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
    "on store 9: kill 5",
    "before send EnterElction 4->1: kill 5",
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
    "expect always 4.coordinator != None",
    "expect always 4.coordinator == Foo",
    "expect never 4.coordinator == 9",
    "expect always 4.status != 5",
    "expect never 4.status == none",
    "expect always 4.leads != False",
    "expect never 4.processing == Yes",
    "expect always live != Normal",
    "expect always 4.group != 3",
    "expect never 4.status == 4.process",
    "expect always 4.halted != Foo",
    "expect never 4.group < 5.group",
    "expect never 4.status + 1 == 2",
    "expect always messages / 0 < 1",
    "expect never 1 == 2",
    "expect never coordinator down",
    "expect never 1 suspects 1",
    "expect violation A1.9",
    "expect violation raises under wipe",
    "expect violation A2 under pause",
    "expect no violation Z9",
]

ELECTS_NOBODY = [
    "kill coordinator",
    "when 4 leads: kill 4",
    "when coordinator up: kill 4",
    "on status any Normal: kill 4",
    "expect coordinator.status == Idle within 2s",
]
HAS_ITS_OWN = [
    "expect never 4.status == Normal",
    "expect never 4.guess == Waiting",
    "expect never 4.entries == none",
]


def _error_of(text: str, protocol: type[Protocol]) -> str:
    with pytest.raises(CommandError) as caught:
        parse(text).check(Scope(protocol, IDS))
    assert str(caught.value).isprintable()
    return str(caught.value)


def test_error_messages(transcript: Callable[[str, str], None]) -> None:
    """With the known names, and the closest of them."""
    messages = [f"{text}\n    {_error_of(text, BULLY)}" for text in BAD]
    messages += [f"{text}\n    {_error_of(text, TOKEN)}" for text in (*ELECTS_NOBODY, *HAS_ITS_OWN)]
    transcript("command_checks", "\n".join(messages))


@pytest.mark.parametrize("status", ["Idle", "Waiting", "Inside", "Down"])
def test_a_protocol_has_statuses_of_its_own(status: str) -> None:
    """The values of its field, and Down."""
    parse(f"when 4.status == {status}: kill 4").check(Scope(TOKEN, IDS))


@pytest.mark.parametrize("text", ELECTS_NOBODY[:4])
def test_predicates_about_coordinators_are_accepted_for_elections(text: str) -> None:
    """The coordinator is resolved at run time."""
    parse(text).check(Scope(BULLY, IDS))


KINDS = {"Accept", "NewState"}


def test_examples_are_accepted() -> None:
    """If the protocol has their messages."""
    for verb in VERBS.values():
        if not KINDS & set(verb.example.split()) and not verb.example.startswith("tell"):
            parse(verb.example).check(Scope(BULLY, IDS))
    for text in (*EXPECTATIONS.values(), *(f"{trigger}: kill 5" for trigger in TRIGGERS.values())):
        parse(text).check(Scope(BULLY, IDS))


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
        "expect always 4.status != Reorganization and 4.coordinator >= 3 and none == 4.halted",
        "expect never 4.definition == 5.definition",
        "expect never coordinator paused",
    ],
)
def test_valid_lines_are_accepted(text: str) -> None:
    parse(text).check(Scope(BULLY, IDS))
