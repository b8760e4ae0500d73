"""Linearizability: against every order of small histories, and on histories whose verdict is known."""

import random
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.histories.linearizability import LinearizabilityResult, check_linearizability
from lab.histories.models import Counter, InitializedRegister, KeyValue, Model, Register, State, TimestampOracle
from lab.histories.operations import ErrorReply, Event, History, HistoryBuilder, HistoryError, Operation
from tests.histories.brute import is_linearizable
from tests.histories.building import history_of
from tests.histories.runs import run_of_a_store
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


READ, WRITE = "read", "write"
PUBLISHED: dict[str, tuple[History, bool]] = {
    "a read within a write may be before or after it": (
        history_of(("0", 0, 100, WRITE, 100, None), ("1", 25, 75, READ, None, 100), ("2", 30, 60, READ, None, 0)),
        True,
    ),
    "once the new value was read, the old is gone": (
        history_of(("0", 0, 100, WRITE, 200, None), ("1", 10, 30, READ, None, 200), ("2", 40, 90, READ, None, 0)),
        False,
    ),
    "operations that take no time": (
        history_of(("0", 0, 10, WRITE, 7, None), ("1", 20, 20, READ, None, 7), ("2", 20, 20, READ, None, 7)),
        True,
    ),
    "a crashed write is read late, and once": (
        history_of(("0", 0, None, WRITE, 5, None), ("1", 10, 20, READ, None, 0), ("1", 30, 40, READ, None, 5)),
        True,
    ),
    "a crashed write does not happen twice": (
        history_of(
            ("0", 0, None, WRITE, 5, None),
            ("1", 10, 20, READ, None, 5),
            ("1", 30, 40, WRITE, 6, None),
            ("1", 50, 60, READ, None, 5),
        ),
        False,
    ),
    "two values that were never there at once": (
        history_of(
            ("9", 0, 10, WRITE, 4, None),
            ("20", 11, None, WRITE, 1, None),
            ("22", 12, 40, READ, None, 3),
            ("21", 13, 30, READ, None, 1),
        ),
        False,
    ),
    "a cas from another value": (
        history_of(("0", 0, 10, WRITE, 1, None), ("1", 20, 30, "cas", [2, 3], [2, 3])),
        False,
    ),
    "a crashed cas explains a value": (
        history_of(
            ("0", 0, 10, WRITE, 1, None), ("1", 5, None, "cas", [1, 3], None), ("2", 20, 30, READ, None, 3)
        ),
        True,
    ),
    "a write that failed is not read": (
        history_of(("0", 0, 10, WRITE, 1, ErrorReply(11)), ("1", 20, 30, READ, None, 1)),
        False,
    ),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_verdicts_that_are_known(name: str) -> None:
    """Forms of the histories with which Porcupine and Knossos are tested; the register begins with 0."""
    history, expected = PUBLISHED[name]
    result = check_linearizability(history, InitializedRegister(0))
    assert result.word == ("holds" if expected else "fails")


@pytest.mark.parametrize(
    ("f", "value", "result", "states"),
    [
        (READ, ["x", None], ["x", 1], ["1"]),
        (READ, ["x", None], MISSING_KEY, ["missing"]),
        ("cas", ["x", [1, 2]], ["x", [1, 2]], ["1"]),
        (READ, ["x", None], ["x", None], ["missing"]),
        ("cas", ["x", [1, 2]], OTHER_VALUE, ["missing", "2"]),
        ("cas", ["x", [None, 2]], ["x", [None, 2]], ["missing"]),
        ("cas", ["x", [1, 2]], MISSING_KEY, ["missing"]),
        ("cas", ["x", [1, 2, True]], ["x", [1, 2]], ["1", "missing"]),
        ("cas", ["x", [1, 2, True]], OTHER_VALUE, ["2"]),
        ("cas", ["x", [1, 2, True]], MISSING_KEY, []),
    ],
)
def test_what_an_answer_of_lin_kv_reports(f: str, value: Any, result: Any, states: list[str]) -> None:
    """Also errors 20 and 22, which come of the value there was: the states in which each is right."""
    for state in ("missing", "1", "2"):
        calls = [] if state == "missing" else [("a", 0, 1, WRITE, ["x", int(state)], None)]
        history = history_of(*calls, ("b", 2, 3, f, value, result))
        assert check_linearizability(history, KeyValue()).word == ("holds" if state in states else "fails"), state


def test_nil_and_no_value_are_the_same_to_a_register() -> None:
    """As a store does that begins empty, where Knossos begins with nil."""
    read, other = ("a", 0, 1, READ, None, MISSING_KEY), ("b", 2, 3, "cas", [1, 2], OTHER_VALUE)
    written = ("c", 4, 5, WRITE, 1, None), ("d", 6, 7, READ, None, 1)
    assert check_linearizability(history_of(read, other, *written), InitializedRegister()).word == "holds"
    late = history_of(*written, ("a", 8, 9, READ, None, MISSING_KEY))
    assert check_linearizability(late, InitializedRegister()).word == "fails"


@pytest.mark.parametrize(
    ("model", "crashed", "read"),
    [(Counter(), ("add", 1, None), (READ, None, 4)), (TimestampOracle(), ("ts", None, None), ("ts", None, 4))],
)
def test_operations_that_crashed_and_do_the_same_are_interchangeable(
    model: Model, crashed: tuple[str, Any, Any], read: tuple[str, Any, Any]
) -> None:
    """Of 60 without a known outcome, the search tries how many happened, not which."""
    history = history_of(*((f"a{each}", each, None, *crashed) for each in range(60)), ("b", 70, 80, *read))
    assert check_linearizability(history, model, max_states=1_000).word == "holds"


def test_true_is_no_number() -> None:
    """Neither as a timestamp, nor in a counter."""
    stamps = history_of(("a", 0, 1, "ts", None, False), ("a", 2, 3, "ts", None, True))
    assert check_linearizability(stamps, TimestampOracle()).word == "fails"
    read = history_of(("a", 0, 1, "add", 1, None), ("b", 2, 3, READ, None, True))
    assert check_linearizability(read, Counter()).word == "fails"
    with pytest.raises(HistoryError, match="an integer to add"):
        check_linearizability(history_of(("a", 0, 1, "add", True, None)), Counter())


def test_true_is_not_1() -> None:
    for value, word in ((1, "fails"), (True, "holds")):
        history = history_of(("a", 0, 1, WRITE, ["x", True], None), ("b", 2, 3, READ, ["x", None], ["x", value]))
        assert check_linearizability(history, KeyValue()).word == word


def test_an_oracle_gives_each_number_once() -> None:
    given_twice = history_of(("a", 0, 1, "ts", None, 0), ("b", 2, 3, "ts", None, 0))
    assert check_linearizability(given_twice, TimestampOracle()).word == "fails"
    skipped = history_of(("a", 0, 1, "ts", None, 0), ("b", 2, 3, "ts", None, 2))
    assert check_linearizability(skipped, TimestampOracle()).word == "fails"
    assert check_linearizability(skipped, TimestampOracle(gapless=False)).word == "holds"
    crashed = history_of(("c", 0, None, "ts", None, None), ("a", 0, 1, "ts", None, 0), ("b", 2, 3, "ts", None, 2))
    assert check_linearizability(crashed, TimestampOracle()).word == "holds"


def test_a_counterexample_in_words() -> None:
    """The operation that does not fit, and what the state could be."""
    history = history_of(
        ("a", 0, 9_000, WRITE, ["x", 1], None),
        ("b", 10_000, 40_000, WRITE, ["x", 2], None),
        ("c", 20_000, 30_000, READ, ["x", None], ["x", 3]),
        ("a", 20_000, 50_000, READ, ["y", None], MISSING_KEY),
    )
    result = check_linearizability(history, KeyValue())
    (finding,) = result.findings
    assert finding.text == (
        "c read [x nil] → [x 3] (20 ms to 30 ms) fits in no order: however the operations called before its "
        "return are ordered, the state of x is 2 or 1 then"
    )
    assert [str(each) for each in finding.operations] == [
        "a write [x 1]",
        "b write [x 2]",
        "c read [x nil] → [x 3]",
    ]
    assert result.evidence == "4 operations of 3 clients on 2 keys"
    assert result.witness == ()


def test_writes_alone_are_not_judged() -> None:
    """Any order fits them."""
    result = check_linearizability(history_of(("a", 0, 1, WRITE, ["x", 1], None)), KeyValue())
    assert (result.word, result.statistics["judged"]) == ("not judged", 1)
    assert "reports anything of the state" in result.evidence


def test_a_search_that_ends_early_is_undecided() -> None:
    """It never holds; and a key that is wrong is found all the same."""
    rng = random.Random(5)
    history = run_of_a_store(rng, operations=200, clients=5, keys=2)
    result = check_linearizability(history, KeyValue(), max_states=20)
    assert result.word == "undecided"
    assert "not decided within 20 states on k" in result.evidence
    assert result.witness == ()
    wrong = history_of(("a", 0, 1, READ, ["z", None], ["z", 1]))
    both = [*history.events(), *[msgspec.structs.replace(each, index=None) for each in wrong.events()]]
    assert check_linearizability(_with_new_clients(both), KeyValue(), max_states=20).word == "fails"


def _with_new_clients(events: Sequence[Event]) -> History:
    return History.of_events([*events[:-2], *[msgspec.structs.replace(each, process="z") for each in events[-2:]]])


def test_the_search_does_not_try_what_makes_no_difference() -> None:
    """Reads at once in every order; and crashed writes of the same value, each in the place of another."""
    reads = [(f"r{number}", 2, 90, READ, None, 1) for number in range(14)]
    history = history_of(("a", 0, 1, WRITE, 1, None), *reads, ("b", 3, 80, READ, None, 2))
    assert check_linearizability(history, Register()).statistics["states"] < 20
    writes = [(f"w{number}", 2, None, WRITE, number % 2, None) for number in range(16)]
    history = history_of(("a", 0, 1, WRITE, 3, None), *writes, ("b", 3, 80, READ, None, 2))
    assert check_linearizability(history, Register()).statistics["states"] < 100


def test_a_store_that_works_is_never_blamed() -> None:
    """Hundreds of operations, answers lost; one wrong answer is found."""
    for seed in range(amount(8, 300)):
        rng = random.Random(f"store/{seed}")
        operations, clients, keys = rng.randint(50, 400), rng.randint(1, 8), rng.randint(1, 3)
        right = run_of_a_store(rng, operations, clients, keys, lost_answers=0.02)
        assert check_linearizability(right, KeyValue()).word == "holds", seed
        wrong = run_of_a_store(rng, operations, clients, keys, lost_answers=0.02, wrong=True)
        (finding,) = check_linearizability(wrong, KeyValue()).findings
        assert finding.operations[-1].result[1] == 99, seed


@pytest.mark.parametrize(
    ("f", "value", "message"),
    [
        ("read", None, r"event 0: a read → 1 has nil: expected \[key value\]"),
        ("cas", ["x", 3], r"event 0: .*: expected a cas with two values, from and to"),
        ("swap", ["x", 3], r"event 0: .*: expected read, write or cas"),
        ("read", ["x", None], r"event 0: .* has 1: expected \[key value\]"),
    ],
)
def test_what_the_store_does_not_know_is_refused(f: str, value: Any, message: str) -> None:
    with pytest.raises(HistoryError, match=message):
        check_linearizability(history_of(("a", 0, 1, f, value, 1)), KeyValue())
