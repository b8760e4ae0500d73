"""Linearizability: against every order of small histories, and on histories whose verdict is known."""

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.histories.linearizability import LinearizabilityResult, check_linearizability
from lab.histories.models import Counter, KeyValue, Model, Register, State, TimestampOracle
from lab.histories.operations import ErrorReply, History, HistoryBuilder, Operation
from tests.histories.brute import is_linearizable
from tests.profile import amount

MISSING_KEY, OTHER_VALUE = ErrorReply(20), ErrorReply(22)


class Queue(Model):
    """One's own model: first in, first out."""

    initial: State = ()

    def step(self, state: State, operation: Operation) -> State | None:
        assert isinstance(state, tuple)
        if operation.f == "enqueue":
            return (*state, operation.value)
        if operation.outcome == "info":
            return state[1:]
        return state[1:] if state[:1] == (operation.result,) else None


def _drawn(rng: random.Random, kind: str) -> History:
    """Return a small history of guesses: some right, most wrong, clients overlapping."""
    builder = HistoryBuilder()
    clients = ["a", "b", "c"][: rng.randint(1, 3)]
    pending: dict[str, tuple[str, Any]] = {}
    born = 0
    for now in range(rng.randint(2, 13)):
        client = rng.choice(clients)
        if client not in pending:
            if now < 10:
                pending[client] = _called(rng, kind)
                builder.invoke(client, *pending[client], now)
            continue
        f, value = pending.pop(client)
        chance = rng.random()
        if chance < 0.15:
            builder.complete(client, "info", None, now)
            born += 1
            clients[clients.index(client)] = f"{client}{born}"
        elif chance < 0.35:
            builder.complete(client, "fail", None, now, rng.choice([MISSING_KEY, OTHER_VALUE, ErrorReply(11)]))
        else:
            builder.complete(client, "ok", _guessed(rng, kind, f, value), now)
    return builder.history()


def _called(rng: random.Random, kind: str) -> tuple[str, Any]:
    if kind == "queue":
        return rng.choice([("enqueue", rng.randint(1, 3)), ("dequeue", None)])
    if kind == "oracle":
        return "ts", None
    if kind == "counter":
        return rng.choice([("add", rng.randint(-1, 2)), ("read", None)])
    f, value = rng.choice(
        [
            ("read", None),
            ("write", rng.randint(1, 2)),
            ("cas", [rng.randint(1, 2), rng.randint(1, 2)]),
            ("cas", [1, 2, True]),
        ]
    )
    return (f, [rng.choice("xy"), value]) if kind == "kv" else (f, value)


def _guessed(rng: random.Random, kind: str, f: str, value: Any) -> Any:
    guess = rng.randint(1, 2)
    if kind == "kv" and f == "read":
        return [value[0], guess]
    if kind in ("oracle", "counter"):
        return rng.randint(0, 3)
    return guess if f in ("read", "dequeue") else value


MODELS: dict[str, Model] = {
    "register": Register(),
    "kv": KeyValue(),
    "oracle": TimestampOracle(),
    "counter": Counter(),
    "queue": Queue(),
}


@pytest.mark.parametrize("kind", MODELS)
def test_agrees_with_every_order(kind: str) -> None:
    """Of histories that were drawn, right and wrong; witnesses and counterexamples are what they should be."""
    rng = random.Random(f"orders/{kind}")
    right = wrong = 0
    for _ in range(amount(400, 20_000)):
        history = _drawn(rng, kind)
        if len(history.operations) > 7:
            continue
        result = check_linearizability(history, MODELS[kind])
        expected = is_linearizable(history, MODELS[kind])
        if result.word == "not judged":
            assert expected
            continue
        assert result.word == ("holds" if expected else "fails"), history
        if expected:
            _check_witness(result, MODELS[kind])
            right += 1
        else:
            _check_counterexample(history, result, MODELS[kind])
            wrong += 1
    assert right > 30
    assert wrong > 30


@given(st.randoms(use_true_random=False), st.sampled_from(sorted(MODELS)))
def test_agrees_with_every_order_of_any_history(rng: random.Random, kind: str) -> None:
    """And where hypothesis draws, it makes the history small."""
    history = _drawn(rng, kind)
    if len(history.operations) <= 6:
        result = check_linearizability(history, MODELS[kind])
        assert result.word in ("holds" if is_linearizable(history, MODELS[kind]) else "fails", "not judged")


def _check_witness(result: LinearizabilityResult, model: Model) -> None:
    """The witness keeps precedence, holds all that happened, and the model accepts it."""
    order = result.witness
    assert not any(order[b].precedes(order[a]) for b in range(len(order)) for a in range(b))
    states: dict[Any, State] = {}
    for operation in order:
        after = model.step(states.get(model.key(operation), model.initial), operation)
        assert after is not None
        states[model.key(operation)] = after
    judged = [each for part in result.keys for each in part.order]
    assert sorted(judged, key=id) == sorted(order, key=id)


def _check_counterexample(history: History, result: LinearizabilityResult, model: Model) -> None:
    """Up to the return of the misfit there is no order; just before it there is."""
    for part in result.keys:
        if part.misfit is not None:
            returned = part.misfit.returned_index
            assert returned is not None
            of_key = _of_key(history, model, part.key)
            assert not is_linearizable(of_key, model, upto=returned)
            assert is_linearizable(of_key, model, upto=returned - 1)
            assert part.possible


def _of_key(history: History, model: Model, key: Any) -> History:
    return History(tuple(each for each in history.operations if model.key(each) == key))
