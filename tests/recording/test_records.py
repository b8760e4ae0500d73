"""The format: every kind of record survives a round trip, and its schema does not change by accident."""

import typing
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from msgspec import Raw

from lab.kernel import Fired, Message, Received, Started, Step, Timing, Wait
from lab.kernel.edits import Piece
from lab.recording.records import (
    FORMAT,
    Captioned,
    Commanded,
    End,
    Expected,
    Fault,
    Header,
    Injected,
    Keyframe,
    Link,
    Process,
    ProtocolInfo,
    Record,
    Routed,
    Stall,
    decode,
    encode,
)
from lab.recording.snapshot import (
    ActiveFault,
    InFlightMessage,
    NodeDifference,
    NodeState,
    Snapshot,
    SnapshotDifference,
)

WAIT = Wait("election", 172, "AreYouUp answers", 5, 9, (3, 4))
STATE = {"status": "Normal", "up": [1, 2], "definition": {"version": 3, "coordinator": None, "members": []}}
SNAPSHOT = Snapshot(
    7,
    99,
    (NodeState(1, "paused", 2, 4711, STATE, (WAIT,), 88, "line\nend"), NodeState(2)),
    (InFlightMessage(1, 6, 2, "NewState", 80, 2, True),),
    (ActiveFault(3, "cut", "cut 1->2", 50, (), (8,), ((1, 2),), 4, 0),),
    {"AreYouUp": 5},
    12,
)
EXAMPLES: dict[str, Record] = {
    "header": Header(
        FORMAT,
        "1.2.3",
        "a run",
        "2024-01-01T00:00:00+00:00",
        "live",
        ProtocolInfo("bully", {"check_every_us": 5}, "bully.py", "# ± ‖\n", ("AreYouNormal",), ("A1.1",)),
        (1, 2, 3),
        Timing(50_000, 20_000),
        Link(10, 5),
        -7,
    ),
    "step started": Step(0, 1, 1, Started({"version": 4}, 2, 17), STATE, {"version": 5}),
    "step received": Step(
        5,
        1,
        1,
        Received(2, 9),
        {},
        {},
        (Message(1, 2, 3, "Pong", Raw(b'{"a":[1,"\xc2\xb1"]}'), 9),),
        (WAIT,),
        ("hm",),
    ),
    "step late": Step(5, 1, 1, Received(2, 9), late=True),
    "step failed": Step(5, 1, 1, Fired("check"), failed="a\nValueError: b"),
    "routed": Routed(5, 1, 3, "dropped", "cut", (1, 2), 77),
    "process": Process(5, 2, "resumed", 3, 4711, 250_000),
    "stall": Stall(12_000_000, 11_400_000),
    "stall of a node": Stall(400_000, 352_000, 3, 7),
    "fault": Fault(5, 3, "pause", "pause 1", (1,), (9,), ((1, 2), (2, 1))),
    "fault lifted": Fault(5, 3, "pause", lifted=True),
    "command": Commanded(5, "kill 5", "5: already down, nothing changed", False),
    "caption": Captioned(5, "look ± here", True, 3),
    "expected": Expected(5, "expect all normal", False, "timed out", 4),
    "injected": Injected(5, Message(1, 2, -3, "Pong", Raw(b"{}"))),
    "keyframe": Keyframe(99, SNAPSHOT),
    "keyframe with a difference": Keyframe(
        99,
        difference=SnapshotDifference(
            98,
            99,
            (NodeDifference(NodeState(1, "running"), {"log": (Piece(0, 1, ["a"]),)}, ("up",)),),
            (),
            (),
            {"AreYouUp": 4},
            7,
        ),
    ),
    "end": End(5, "its time limit was reached"),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_record_survives_a_round_trip(name: str) -> None:
    """It is one line that names its kind first."""
    record = EXAMPLES[name]
    line = encode(record)
    assert b"\n" not in line
    assert line.startswith(b'{"record":"%s"' % name.split(maxsplit=1)[0].encode())
    assert encode(decode(line)) == line
    if not (isinstance(record, Injected) or (isinstance(record, Step) and record.sent)):
        assert decode(line) == record


def test_a_message_keeps_its_body_byte_for_byte() -> None:
    """The network never decodes it."""
    step = EXAMPLES["step received"]
    assert isinstance(step, Step)
    again = decode(encode(step))
    assert isinstance(again, Step)
    assert bytes(again.sent[0].body) == bytes(step.sent[0].body)


def test_every_kind_of_record_has_an_example() -> None:
    """Otherwise the round trip would miss one."""
    assert {type(record) for record in EXAMPLES.values()} == set(typing.get_args(Record))


def test_unknown_fields_are_ignored() -> None:
    """A new field does not make a recording unreadable."""
    assert decode(b'{"record":"end","at_us":5,"why":"x","mood":[1,{"a":2}]}') == End(5, "x")


def test_default_values_are_not_written() -> None:
    """The step of a heartbeat is short."""
    assert encode(Step(5, 1, 1, Fired("check"))) == (
        b'{"record":"step","at_us":5,"node":1,"life":1,"input":{"type":"fired","procedure":"check"}}'
    )


def test_the_schema(transcript: Callable[[str, str], None]) -> None:
    """A failure means a change of the format. A field never changes its meaning: a new meaning gets a new name.

    If released versions would misread what is written now, raise FORMAT. Then run pytest --rewrite.
    """
    lines = [f"format {FORMAT}"]
    seen: set[Any] = set()
    todo: list[Any] = list(typing.get_args(Record))
    while todo:
        kind = todo.pop(0)
        if kind in seen:
            continue
        seen.add(kind)
        config = kind.__struct_config__
        tag = f" ({config.tag_field}: {config.tag})" if config.tag else ""
        lines.append(f"\n{kind.__name__}{tag}")
        for field in msgspec.structs.fields(kind):
            shown = field.type.__name__ if isinstance(field.type, type) else str(field.type)
            default = "" if field.required else f" = {_default(field)!r}"
            lines.append(f"    {field.encode_name}: {shown.replace('typing.', '')}{default}")
            todo += _structs(field.type)
    transcript("schema", "\n".join(lines))


def _default(field: msgspec.structs.FieldInfo) -> object:
    return field.default if field.default is not msgspec.NODEFAULT else field.default_factory()


def _structs(kind: Any) -> list[Any]:
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return [kind]
    return [struct for argument in typing.get_args(kind) for struct in _structs(argument)]


def test_settings_have_the_form_of_set() -> None:
    """Times with their unit, words unchanged, and no election, which is in the title."""
    parameters = {
        "informed_answers": True,
        "check_every_us": 600_000,
        "by_itself": None,
        "name": "x",
        "without": ["one", "other"],
        "election": "ring",
    }
    info = ProtocolInfo("field", parameters, "field.py", "")
    assert info.settings == (
        "informed_answers=true",
        "check_every=600ms",
        "by_itself=null",
        "name=x",
        "without=one,other",
    )
    assert info.title == "field above ring"
    assert ProtocolInfo("own", {"kinds": [1, 2], "names": ["a", "b"]}, "", "").settings == (
        "kinds=1,2",
        "names=a,b",
    )
    assert ProtocolInfo("odd", {"a": [[1]], "b_us": "soon"}, "", "").settings == ("a=…", "b=soon")
