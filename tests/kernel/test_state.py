"""The declared state: changes are found by comparison, safe fields are stored, and mutable values are refused."""

from enum import Enum

import pytest
from msgspec import Struct

from lab.kernel import Log, Payload, Protocol, ProtocolError, Safe, on
from lab.protocols.operations import Read
from tests.harness import Solo


class Set(Payload, frozen=True):
    """Sets a field to a value, by name."""

    name: str
    value: object


class Colour(Enum):
    """A value that is not JSON."""

    RED = "red"


class Pair(Payload, frozen=True):
    """A struct in the state vector."""

    left: int = 0
    right: tuple[int, ...] = ()


class Keeper(Protocol):
    """A protocol with one field of each kind."""

    count: int = 0
    colour: Colour | None = None
    group: frozenset[int] = frozenset()
    pair: Pair = Pair()
    epoch: Safe[int] = 0
    last: Safe[Pair] = Pair()

    @on(Set)
    def set(self, sender: int, message: Set) -> None:
        value = {
            "red": Colour.RED,
            "group": frozenset({3, 1, 2}),
            "pair": Pair(1, (2,)),
            "list": [1],
            "nested": (1, frozenset(), ({},)),
        }.get(str(message.value), message.value)
        setattr(self, message.name, value)

    @on(Pair)
    def back(self, sender: int, message: Pair) -> None:
        self.count = 99
        self.count = 0


def _keeper() -> Solo:
    solo = Solo(Keeper)
    solo.start()
    return solo


def test_the_first_step_reports_the_whole_state() -> None:
    """A reader does not need to know the defaults."""
    step = Solo(Keeper).start()
    assert step.changed == {"count": 0, "colour": None, "group": [], "pair": {"left": 0, "right": []}}
    assert step.stored == {"epoch": 0, "last": {"left": 0, "right": []}}


@pytest.mark.parametrize(
    ("name", "value", "reported"),
    [
        ("count", 5, 5),
        ("colour", "red", "red"),
        ("group", "group", [1, 2, 3]),
        ("pair", "pair", {"left": 1, "right": [2]}),
        ("count", True, True),
    ],
)
def test_changes_are_reported_as_plain_json(name: str, value: object, reported: object) -> None:
    """Only changes are reported, as a reader of the recording gets them; sets in ascending order."""
    solo = _keeper()
    step = solo.hear(1, Set(name, value))
    assert step.changed == {name: reported}
    assert step.stored == {}
    assert solo.hear(1, Set(name, value)).changed == {}


def test_state_is_compared_not_reported() -> None:
    """A field that was changed and changed back within a step has not changed."""
    assert _keeper().hear(1, Pair()).changed == {}


def test_M3_safe_fields_are_stored() -> None:
    """M3: changes of safe fields are for the driver to make durable, and not among the other changes."""
    step = _keeper().hear(1, Set("epoch", 4))
    assert (step.changed, step.stored) == ({}, {"epoch": 4})


def test_M3_safe_fields_are_restored_and_all_else_is_lost() -> None:
    """M3: the next incarnation begins with the contents of stable storage, in the proper types."""
    solo = Solo(Keeper)
    step = solo.start({"epoch": 4, "last": {"left": 7, "right": [8]}})
    assert (solo.protocol.epoch, solo.protocol.last) == (4, Pair(7, (8,)))
    assert solo.protocol.count == 0
    assert step.stored == {}, "what storage holds already is not written again"
    assert set(step.changed) == {"count", "colour", "group", "pair"}


def test_only_safe_fields_are_restored() -> None:
    """A stored value with the name of an unsafe field is ignored."""
    solo = Solo(Keeper)
    assert solo.start({"count": 9, "gone": 1}).changed["count"] == 0


def test_storage_that_does_not_fit_fails_the_node() -> None:
    """The error has the stored value and the expected type."""
    step = Solo(Keeper).start({"epoch": "four"})
    assert "ValidationError: Expected `int`, got `str`" in step.failed


@pytest.mark.parametrize(("value", "what"), [("list", "list"), ("nested", "dict")])
def test_a_mutable_value_is_refused(value: str, what: str) -> None:
    """It could be changed unnoticed; the error names the field and the types to use instead."""
    step = _keeper().hear(1, Set("group", value))
    assert step.failed.endswith(
        f"ProtocolError: Keeper.group is a {what}, which could be changed unnoticed: "
        "use a tuple, a frozenset or a frozen struct"
    )


def test_a_struct_that_holds_something_mutable_is_refused() -> None:
    """A frozen struct is only as immutable as its contents."""
    step = _keeper().hear(1, Set("pair", "pair"))
    assert not step.failed

    class Box(Struct, frozen=True):
        content: list[int]

    with pytest.raises(ProtocolError, match=r"Boxed\.box is a list"):

        class Boxed(Protocol):
            box: Box = Box([])


def test_a_message_with_a_field_left_out_can_be_kept() -> None:
    """A request that waits: what its sender left out is left out."""

    class Waiting(Protocol):
        read: Read | None = Read()

    assert Solo(Waiting).start().changed == {"read": {}}


def test_a_mutable_default_is_refused_when_the_class_is_made() -> None:
    """The error comes before anything runs."""
    with pytest.raises(ProtocolError, match=r"Loose\.seen is a list, which could be changed unnoticed"):

        class Loose(Protocol):
            seen: list[int] = []  # noqa: RUF012 - this is what is refused


def test_a_field_without_a_value_is_refused_when_the_class_is_made() -> None:
    """Otherwise two fresh nodes could differ."""
    with pytest.raises(ProtocolError, match=r"Bare.seen is declared without a value: seen: … = …"):

        class Bare(Protocol):
            seen: int


def test_an_undeclared_attribute_is_refused() -> None:
    """Undeclared state would be missing in the recording."""
    step = _keeper().hear(1, Set("secret", 1))
    assert "Keeper has no declared state 'secret': declare it as secret: … = … in the class" in step.failed
    assert "in set: setattr(self, message.name, value)" in step.failed


def test_a_subclass_inherits_state_handlers_and_procedures() -> None:
    """Fields are in order of declaration, those of the base first."""

    class Child(Keeper):
        more: int = 1

    step = Solo(Child).start()
    assert list(step.changed)[-1] == "more"
    assert "Set" in Child.handlers
    assert "more" not in Solo(Keeper).start().changed


class Grow(Payload, frozen=True):
    """Sets the log to these entries."""

    log: tuple[str, ...]


class Diary(Protocol):
    """A protocol with a log in stable storage."""

    log: Log[str] = Log()

    @on(Grow)
    def grow(self, sender: int, message: Grow) -> None:
        self.log = Log(message.log)


def test_only_new_entries_of_a_log_are_written() -> None:
    """Each step has the entries that it appended; a restarted node has all of them, and continues."""
    solo = Solo(Diary)
    assert solo.start().logged == {"log": []}
    first, second = solo.hear(1, Grow(("a", "b"))), solo.hear(1, Grow(("a", "b", "c")))
    assert (first.logged, first.stored, second.logged) == ({"log": ["a", "b"]}, {}, {"log": ["c"]})
    assert second.storage_after(first.storage_after({"x": 1})) == {"x": 1, "log": ["a", "b", "c"]}
    again = Solo(Diary)
    assert again.start({"log": ["a", "b", "c"]}).logged == {}
    assert again.hear(1, Grow(("a", "b", "c", "d"))).logged == {"log": ["d"]}


def test_a_log_must_start_as_a_log() -> None:
    """The class is refused, and the error shows the syntax."""
    with pytest.raises(ProtocolError, match=r"Wrong\.log is a log and must start as one: log: Log\[…\] = Log\(\)"):

        class Wrong(Protocol):
            log: Log[str] = ()  # type: ignore[assignment]


@pytest.mark.parametrize("log", [(), ("a",), ("b", "a"), ("x", "b", "c")])
def test_a_log_only_grows(log: tuple[str, ...]) -> None:
    """Removing or changing an entry fails, and the error shows how to append."""
    solo = Solo(Diary)
    solo.start()
    solo.hear(1, Grow(("a", "b")))
    assert "which can only be appended to: self.log += (entry,)" in solo.hear(1, Grow(log)).failed
