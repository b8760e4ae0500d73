"""Sequential models: what a single copy of the object, with one client at a time, would do.

A model is all that the check of linearizability knows of an object. One's own is a class with an initial state and
a step::

    class Queue(Model):
        initial = ()

        def step(self, state, operation):
            if operation.f == "enqueue":
                return (*state, operation.value)
            if operation.outcome == "info":  # nobody knows what it returned
                return state[1:]
            return state[1:] if state[:1] == (operation.result,) else None

Here: the services of Maelstrom that are linearizable (lin-kv, lin-tso), a register as in Knossos, and a counter.
"""

from collections.abc import Hashable, Sequence
from typing import Any, Protocol

from lab.histories.operations import KEY_DOES_NOT_EXIST, PRECONDITION_FAILED, HistoryError, Operation
from lab.histories.values import format_value, freeze

State = Hashable

MISSING: tuple[()] = ()
"""The state of a key that does not exist; that of another is a tuple of its value."""
_ABSENT: tuple[State, ...] = (MISSING, (None,))
"""The states in which there is no value, or nil."""


class Model(Protocol):
    """An object with one copy and one client at a time. Inherit from it: all but ``step`` has a default."""

    initial: State = MISSING

    def step(self, state: State, operation: Operation) -> State | None:
        """Return the state after the operation, or None if it could not have had this outcome in this state.

        A state is hashable, never None, and never changed in place. An operation whose outcome is ``info`` has no
        result: the step is what it does if it happens; whether it does is left to the search.
        """

    def key(self, operation: Operation) -> Hashable:
        """Return the key of the object that the operation is about: each is checked by itself."""
        return None

    def is_observation(self, operation: Operation) -> bool:
        """Return whether the outcome of the operation, which is known, reports something of the state.

        One that *failed* must fit too if it does. Without any that reports something, nothing is judged.
        """
        return operation.outcome == "ok"

    def is_read(self, operation: Operation) -> bool:
        """Return whether the operation never changes the state, whatever it is: the search is shorter then."""
        return operation.outcome == "fail"

    def effect(self, operation: Operation) -> Hashable | None:
        """Return what an operation without a known outcome does, if another with the same effect can stand for it.

        None if the model cannot know. The search tries only the first called of those with the same effect.
        """
        return None

    def format_state(self, state: State) -> str:
        """Return a state as text."""
        return format_value(state)


class Register(Model):
    """A register: ``read`` returns its value, ``write`` has a value, ``cas`` a pair: from and to.

    Its errors, and the operations that failed, are Maelstrom's: ``key-does-not-exist`` of a read or a cas was
    given when there was no value, ``precondition-failed`` of a cas when there was another, or none. A server may
    answer nil where there is no value, and say that there is none where it is nil: Maelstrom judges lin-kv by the
    register of Knossos, which is nil from the start.
    """

    initial: State = MISSING

    def step(self, state: State, operation: Operation) -> State | None:
        """Read, write, or compare and set."""
        return _step(state, operation, operation.value, operation.result)

    def is_observation(self, operation: Operation) -> bool:
        """Return whether it is a read or a cas that succeeded, or that failed for the value there was."""
        if operation.outcome == "ok":
            return operation.f != "write"
        code = None if operation.error is None else operation.error.code
        return (operation.f == "cas" and code == PRECONDITION_FAILED) or (
            operation.f in ("read", "cas") and code == KEY_DOES_NOT_EXIST
        )

    def is_read(self, operation: Operation) -> bool:
        """Return whether it is a read, or failed."""
        return operation.f == "read" or operation.outcome == "fail"

    def effect(self, operation: Operation) -> Hashable | None:
        """Return the operation and its argument."""
        return operation.f, freeze(operation.value)

    def format_state(self, state: State) -> str:
        """Return the value as text."""
        return format_value(state[0]) if isinstance(state, tuple) and state else "missing"


class InitializedRegister(Register):
    """A register that has a value from the start, by default nil, as in Knossos."""

    def __init__(self, value: Any = None) -> None:
        self.initial = (freeze(value),)


class KeyValue(Register):
    """A store of registers by key, as lin-kv.

    The value of an operation is a pair: its key, and what the operation of a register has. So ``["x", nil]`` reads
    x, with the result ``["x", 3]``; ``["x", 3]`` writes it; ``["x", [3, 4]]`` is a cas, and ``["x", [3, 4,
    true]]`` one that also creates x, with the value 4, where it does not exist.
    """

    def step(self, state: State, operation: Operation) -> State | None:
        """Do what the register of this key does."""
        result = operation.result
        if operation.f == "read" and operation.outcome == "ok":
            result = _pair(operation, result)[1]
        return _step(state, operation, operation.value[1], result)

    def key(self, operation: Operation) -> Hashable:
        """Return the key."""
        return freeze(_pair(operation, operation.value)[0])


def _pair(operation: Operation, value: Any) -> Sequence[Any]:
    if isinstance(value, list | tuple) and len(value) == 2:
        return value
    raise HistoryError(f"event {operation.index}: {operation} has {format_value(value)}: expected [key value]")


def _unknown(operation: Operation, expected: str) -> HistoryError:
    return HistoryError(f"event {operation.index}: {operation}: expected {expected}")


def _step(state: State, operation: Operation, argument: Any, result: Any) -> State | None:
    f, outcome = operation.f, operation.outcome
    if f == "read":
        if outcome == "info":
            return state
        is_seen = state == (freeze(result),) if outcome == "ok" and result is not None else state in _ABSENT
        return state if is_seen else None
    if f == "write":
        return (freeze(argument),)
    if f != "cas":
        raise _unknown(operation, "read, write or cas")
    if not isinstance(argument, list | tuple) or len(argument) not in (2, 3):
        raise _unknown(operation, "a cas with two values, from and to")
    expected, new, *creates = argument
    must_set = state == (freeze(expected),) or (state == MISSING and any(creates))
    may_set = must_set or (state in _ABSENT and (expected is None or any(creates)))
    if outcome == "fail":
        failed_for = operation.error.code if operation.error is not None else None
        fits = failed_for == PRECONDITION_FAILED or (failed_for == KEY_DOES_NOT_EXIST and state in _ABSENT)
        return state if fits and not must_set else None
    if may_set:
        return (freeze(new),)
    return state if outcome == "info" else None


class TimestampOracle(Model):
    """An oracle whose ``ts`` returns each number once, in order, from 0: lin-tso.

    With ``gapless=False`` it may skip numbers.
    """

    initial: State = 0

    def __init__(self, gapless: bool = True) -> None:
        self._gapless = gapless

    def step(self, state: State, operation: Operation) -> State | None:
        """Return the next number that is free."""
        assert isinstance(state, int)
        if operation.f != "ts":
            raise _unknown(operation, "ts")
        if operation.outcome == "info":
            return state + 1
        result = operation.result
        if type(result) is not int or result < state or (self._gapless and result != state):
            return None
        return result + 1

    def effect(self, operation: Operation) -> Hashable | None:
        """Return the operation: each takes the next number."""
        return operation.f

    def format_state(self, state: State) -> str:
        """Return the next number as text."""
        return f"{state} next"


class Counter(Model):
    """A counter: ``add`` has a number, ``read`` returns the sum."""

    initial: State = 0

    def step(self, state: State, operation: Operation) -> State | None:
        """Add, or read."""
        assert isinstance(state, int)
        if operation.f == "add":
            if type(operation.value) is not int:
                raise _unknown(operation, "an integer to add")
            return state + operation.value
        if operation.f != "read":
            raise _unknown(operation, "add or read")
        is_seen = operation.outcome == "info" or freeze(operation.result) == freeze(state)
        return state if is_seen else None

    def is_observation(self, operation: Operation) -> bool:
        """Return whether it is a read that succeeded."""
        return operation.f == "read" and operation.outcome == "ok"

    def is_read(self, operation: Operation) -> bool:
        """Return whether it is a read."""
        return operation.f == "read"

    def effect(self, operation: Operation) -> Hashable | None:
        """Return the operation and its number."""
        return operation.f, freeze(operation.value)
