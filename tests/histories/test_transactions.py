"""Anomalies of transactions: the forms of the literature, and agreement with every serial order."""

import random
from typing import Any

import pytest

from lab.histories.anomalies import MODELS, ConsistencyModel
from lab.histories.list_append import check_list_append
from lab.histories.operations import History, HistoryBuilder, HistoryError, Outcome
from lab.histories.rw_register import check_rw_register
from lab.histories.transactions import read_transactions, real_time_pairs
from tests.histories.brute import is_serializable
from tests.histories.building import concurrent_transactions, micro_operations, transactions_of
from tests.profile import amount

LISTS: dict[str, tuple[list[Any], list[str]]] = {
    "serial": (["ax1", "rx1 ax2", "rx12"], []),
    "write skew": (["rx ry ax1", "rx ry ay1", "rx1 ry1"], ["G2-item"]),
    "lost update": (["ax1", "rx1 ax2", "rx1 ax3", "rx123"], ["lost update"]),
    "dirty write": (["ax1 ay2", "ax2 ay1", "rx12 ry12"], ["G0"]),
    "aborted read": ([("ax1", "fail"), "rx1"], ["G1a"]),
    "intermediate read": (["ax1 ax2", "rx1", "rx12"], ["G1b", "G-single"]),
    "circular information flow": (["ax1 ry1", "ay1 rx1"], ["G1c"]),
    "read skew": (["ax1 ay1", "rx ry1", "rx1"], ["G-single"]),
    "long fork": (["ax1", "ay1", "rx1 ry", "rx ry1"], ["G-nonadjacent"]),
    "a long fork, and a write skew in it": (["ax1", "ay1", "rx1 ry rz aw1", "rx ry1 rw az1"], ["G-nonadjacent"]),
    "read-only anomaly": (["rx ry ax1", "ay1", "ry1 rx", "rx1 ry1"], ["G2-item"]),
    "incompatible orders": (["ax1", "ax2", "ax3", "rx12", "rx132"], ["incompatible order"]),
    "no order where reads disagree": (["ax1 ay1", "ax2 ay2", "rx12", "rx21", "ry21"], ["incompatible order"]),
    "its own appends turned around": (["ax1 ax2", "rx21"], ["G1b", "incompatible order"]),
    "duplicate": (["ax1", "rx11"], ["duplicate element"]),
    "garbage": (["ax1", "rx19"], ["garbage read"]),
    "garbage seen twice": (["ax1", "rx19", "rx19"], ["garbage read"]),
    "dirty update": (["ax1", ("ax2", "fail"), "ax3", "rx123"], ["G1a", "dirty update"]),
    "not its own write": (["ax1", "rx1 ax2 rx1", "rx12"], ["internal"]),
    "unrepeatable read": (["ax1", "rx rx1"], ["internal", "G-single"]),
    "its own future write": (["rx1 ax1"], ["future read"]),
    "an append nobody saw": (["ax2 ay1", "ry1 ax1", "rx1"], ["G1c"]),
    "an unknown outcome, seen": ([("ax1 ay1", "info"), "rx1 ry"], ["G-single"]),
    "an unknown outcome, not seen": ([("ax1 ay1", "info"), "rx ry", "az1", "rz1"], []),
}


@pytest.mark.parametrize("name", LISTS)
def test_the_anomalies_of_lists(name: str) -> None:
    """At the level of serializability; real time is not judged."""
    transactions, kinds = LISTS[name]
    result = check_list_append(transactions_of(*transactions))
    assert sorted(each.kind for each in result.findings) == sorted(kinds), result
    assert result.word == ("fails" if kinds else "holds")


REGISTERS: dict[str, tuple[list[Any], list[str]]] = {
    "serial": (["wx1", "rx1 wx2", "rx2"], []),
    "write skew": (["rx_ ry_ wx1", "rx_ ry_ wy1"], ["G2-item"]),
    "lost update": (["wx1", "rx1 wx2", "rx1 wx3"], ["lost update"]),
    "lost update of nil": (["rx_ wx2", "rx_ wx3"], ["lost update"]),
    "aborted read": ([("wx1", "fail"), "rx1"], ["G1a"]),
    "intermediate read": (["wx1 wx2", "rx1"], ["G1b"]),
    "circular information flow": (["wx1 ry1", "wy1 rx1"], ["G1c"]),
    "read skew": (["wx1 wy1", "rx1 ry1 wx2 wy2", "rx1 ry2"], ["G-single"]),
    "read skew of nil": (["wx1 wy1", "rx_ ry1"], ["G-single"]),
    "long fork": (["wx1", "wy1", "rx1 ry_", "rx_ ry1"], ["G-nonadjacent"]),
    "not its own write": (["wx1", "wx2 rx1"], ["internal"]),
    "garbage": (["wx1", "rx9"], ["garbage read"]),
    "garbage seen twice": (["wx1", "rx9", "rx9"], ["garbage read"]),
    "nil is before a write after garbage, too": (["rx9 wx1 wy1", "rx_ ry1"], ["garbage read", "G-single"]),
    "its own future write": (["rx1 wx1"], ["future read"]),
    "an unknown outcome, seen": ([("wx1 wy1", "info"), "rx1 ry_"], ["G-single"]),
}


@pytest.mark.parametrize("name", REGISTERS)
def test_the_anomalies_of_registers(name: str) -> None:
    transactions, kinds = REGISTERS[name]
    result = check_rw_register(transactions_of(*transactions, write="w"))
    assert sorted(each.kind for each in result.findings) == sorted(kinds), result
    assert result.word == ("fails" if kinds else "holds")


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("dirty write", "read uncommitted"),
        ("garbage", "read uncommitted"),
        ("aborted read", "read committed"),
        ("intermediate read", "read committed"),
        ("circular information flow", "read committed"),
        ("incompatible orders", "read committed"),
        ("lost update", "snapshot isolation"),
        ("read skew", "snapshot isolation"),
        ("long fork", "snapshot isolation"),
        ("write skew", "serializable"),
        ("read-only anomaly", "serializable"),
    ],
)
def test_the_weakest_model_ruled_out(name: str, model: ConsistencyModel) -> None:
    """As Adya, Berenson et al., Fekete et al. and Cerone & Gotsman have it; weaker models allow the history."""
    history = transactions_of(*LISTS[name][0])
    words = [check_list_append(history, each).word for each in MODELS]
    place = MODELS.index(model)
    assert words[place:] == ["fails"] * (len(MODELS) - place)
    assert set(words[:place]) <= {"holds", "not judged"}
    result = check_list_append(history, MODELS[0])
    assert result.ruled_out == MODELS[place:]
    assert len(result.allowed) == (0 if place == 0 else len(check_list_append(history).findings))


def test_a_cycle_in_words() -> None:
    """Each edge says which of two came first, and why."""
    (anomaly,) = check_list_append(transactions_of("ax1 ay1", "rx ry1", "rx1")).findings
    assert anomaly.text == (
        "T2 read x before T0's append of 1 (rw); T2 read y with T0's append of 1 (wr); "
        "so T2 would come before itself"
    )
    assert str(anomaly) == f"G-single: {anomaly.text} (rules out snapshot isolation)"
    assert [each.index for each in anomaly.operations] == [2, 0]


def test_a_stale_read_is_wrong_in_real_time_alone() -> None:
    """A read of a state that was over is serializable, not strictly so."""
    history = transactions_of("ax1", "ax2", "rx12", "rx1")
    assert check_list_append(history).word == "holds"
    (anomaly,) = check_list_append(history, "strict serializable").findings
    assert anomaly.kind == "G-single-real-time"
    assert anomaly.text == (
        "T6 read x before T2's append of 2 (rw); T2 was over before T6 was called (real-time); "
        "so T6 would come before itself"
    )
    assert (
        check_list_append(concurrent_transactions("ax1", "ax2", "rx12", "rx1"), "strict serializable").word
        == "holds"
    )


def test_real_time_has_no_more_edges_than_it_needs() -> None:
    """Each transaction leads to those that overlap its successors, not to all after it."""
    serial = read_transactions(transactions_of(*[f"a{key}1" for key in "abcdefgh"]), "append")
    assert list(real_time_pairs(serial)) == [(number, number + 1) for number in range(7)]


def test_a_client_that_goes_back_breaks_its_session() -> None:
    builder = HistoryBuilder()
    for client, called, done in [
        ("c1", [["append", "x", 1]], [["append", "x", 1]]),
        ("c2", [["r", "x", None]], [["r", "x", [1]]]),
        ("c2", [["r", "x", None]], [["r", "x", []]]),
    ]:
        builder.invoke(client, "txn", called)
        builder.complete(client, "ok", done)
    history = builder.history()
    assert check_list_append(history).word == "holds"
    (anomaly,) = check_list_append(history, "strong session serializable").findings
    assert anomaly.kind == "G-single-process"
    assert "c2 called T4 after T2" in anomaly.text
    strict = check_list_append(history, "strict serializable")
    assert [each.kind for each in strict.findings] == ["G-single-process"], "not only in real time"
    assert strict.ruled_out == ("strong session serializable", "strict serializable")


def test_an_acknowledged_append_that_no_later_read_has_is_lost() -> None:
    history = transactions_of("ax1", "ax2", "rx1", "rx1")
    assert check_list_append(history).word == "holds"
    assert check_list_append(history).statistics["appends never read"] == 1
    (anomaly,) = check_list_append(history, "strict serializable").findings
    assert anomaly.kind == "lost append"
    assert anomaly.text == "T2 appended 2 to x, and was over before T4 and 1 more read it without that element"


def test_what_is_lost_in_real_time_hides_nothing_worse() -> None:
    """Write skew in transactions that are over, one after the other, so that the second lost the first."""
    history = transactions_of("rx ry ax1", "rx ry ay1")
    assert check_list_append(history).ruled_out == (
        "serializable",
        "strong session serializable",
        "strict serializable",
    )
    result = check_list_append(history, "strict serializable")
    assert result.ruled_out == check_list_append(history).ruled_out
    assert sorted(each.kind for each in result.findings) == ["G2-item", "lost append"]


def test_nothing_seen_is_not_judged() -> None:
    """No transactions; none that depends on another; only failed ones."""
    for history in (History(()), transactions_of("ax1", "ay1"), transactions_of(("ax1", "fail"), "rx")):
        result = check_list_append(history)
        assert result.word == "not judged"
        assert "no transaction is seen to depend on another" in str(result)


def test_a_search_that_ends_early_decides_nothing() -> None:
    """It holds nowhere; a cycle is still a cycle, though a worse one may be there."""
    skew = transactions_of(*LISTS["write skew"][0])
    assert check_list_append(skew, "snapshot isolation", max_steps=1).word == "undecided"
    assert check_list_append(skew, "serializable", max_steps=2).word == "fails"
    assert "cycles ended after 2 steps" in check_list_append(skew, "serializable", max_steps=2).evidence
    assert check_list_append(skew, "serializable").word == "fails"


@pytest.mark.parametrize(
    ("transactions", "message"),
    [
        (["ax1", "ax1"], "T0 and T2 both write 1 to x: expected a value of its own"),
        (["ax1 ax1"], "T0 and T0 both write 1 to x"),
        (["wx1"], "expected a transaction, a list of"),
    ],
)
def test_what_is_no_such_transaction_is_refused(transactions: list[str], message: str) -> None:
    write = "w" if transactions == ["wx1"] else "append"
    with pytest.raises(HistoryError, match=message):
        check_list_append(transactions_of(*transactions, write=write))


def test_a_result_of_another_transaction_is_refused() -> None:
    builder = HistoryBuilder()
    builder.invoke("c1", "txn", [["r", "x", None]])
    builder.complete("c1", "ok", [["r", "y", [1]]])
    with pytest.raises(HistoryError, match=r"event 1: the result .* is of another transaction"):
        check_list_append(builder.history())


def test_registers_whose_order_of_writes_is_unknown() -> None:
    """Two write x and y, and each x is read with the other y: nothing shows the order of the writes."""
    result = check_rw_register(transactions_of("wx1 wy1", "wx2 wy2", "rx1 ry2", "rx2 ry1", write="w"))
    assert result.word == "holds"
    assert result.evidence.endswith("; no anomaly follows, as far as reads show the order")


STALE: dict[str, tuple[list[str], str]] = {
    "after the next write": (["wx1", "wx2", "rx1"], "G-single-real-time"),
    "after another read": (["wx1", "wx2", "rx2", "rx1"], "G-single-real-time"),
    "two writes behind": (["wx1", "wx2", "wx3", "rx1 ry_", "wy1"], "G-single-real-time"),
    "of a transaction seen in part": (["wx1", "wx2", "wx3 wy3", "rx1 ry3"], "G-single-real-time"),
}


@pytest.mark.parametrize("name", STALE)
def test_real_time_orders_the_writes_of_a_register(name: str) -> None:
    """One after the other: what was overwritten before is not read later. Weaker models may well allow it."""
    transactions, kind = STALE[name]
    history = transactions_of(*transactions, write="w")
    result = check_rw_register(history, "strict serializable")
    assert [each.kind for each in result.findings] == [kind]
    assert result.ruled_out == ("strict serializable",)
    assert check_rw_register(history, "strong session serializable").word == "holds"


def test_a_later_read_shows_which_of_two_writes_at_once_came_last() -> None:
    """T0 read what T1 wrote, so T1 came first; and yet it overwrote T0's x, as a later read shows."""
    builder = HistoryBuilder()
    at_once = [micro_operations(text.split(), "w") for text in ("wx1 ry2", "wx2 wy2")]
    for number, (called, _) in enumerate(at_once):
        builder.invoke(f"c{number}", "txn", called)
    for number, (_, done) in enumerate(at_once):
        builder.complete(f"c{number}", "ok", done)
    called, done = micro_operations(["rx2"], "w")
    builder.invoke("c2", "txn", called)
    builder.complete("c2", "ok", done)
    result = check_rw_register(builder.history(), "strict serializable")
    assert [each.kind for each in result.findings] == ["G1c-real-time"]
    assert check_rw_register(builder.history(), "strong session serializable").word == "holds"


def test_a_client_orders_the_writes_of_a_register() -> None:
    """It reads what it has overwritten itself."""
    builder = HistoryBuilder()
    for text in ("wx1", "wx2", "rx1"):
        called, done = micro_operations([text], "w")
        builder.invoke("c0", "txn", called)
        builder.complete("c0", "ok", done)
    result = check_rw_register(builder.history(), "strong session serializable")
    assert str(result.findings[0]) == (
        "G-single-process: T4 read x = 1 before T2 wrote 2: T0 left 1 there and came before T2, which wrote the "
        "other (rw); c0 called T4 after T2 (process); so T4 would come before itself (rules out strong session "
        "serializable)"
    )
    assert check_rw_register(builder.history(), "serializable").word == "holds"


def test_nil_cannot_be_written_to_a_register() -> None:
    builder = HistoryBuilder()
    builder.invoke("c1", "txn", [["w", "x", None]])
    with pytest.raises(HistoryError, match="event 0: a transaction writes nil to x"):
        check_rw_register(builder.history())


def _drawn_lists(rng: random.Random, full: bool) -> History:
    """Return transactions that read some beginning of a list as it is in the end, each wrong or right by chance.

    ``full``: the last reads all of both lists, and no outcome is unknown, so that nothing is hidden.
    """
    finals = {"x": list(range(rng.randint(0, 3))), "y": list(range(rng.randint(0, 3)))}
    left = {key: list(values) for key, values in finals.items()}
    for values in left.values():
        if rng.random() < 0.3:
            rng.shuffle(values)
    specifications: list[list[Any]] = []
    while any(left.values()) or rng.random() < 0.6:
        steps = []
        for _ in range(rng.randint(1, 3)):
            key = rng.choice("xy")
            if left[key] and rng.random() < 0.6:
                steps.append(["append", key, left[key].pop(0)])
            else:
                cut = rng.randint(0, len(finals[key]))
                mine = [each[2] for each in steps if each[:2] == ["append", key]]
                if mine and mine[-1] in finals[key]:
                    cut = finals[key].index(mine[-1]) + 1
                steps.append(["r", key, finals[key][:cut]])
        specifications.append(steps)
    if full:
        specifications.append([["r", "x", finals["x"]], ["r", "y", finals["y"]]])
    return _called_at_random(
        rng, specifications[:6] if not full else [*specifications[:-1][:5], specifications[-1]], full
    )


def _called_at_random(rng: random.Random, specifications: list[list[Any]], certain: bool) -> History:
    builder = HistoryBuilder()
    waiting = list(enumerate(specifications))
    open_: list[tuple[int, list[Any]]] = []
    while waiting or open_:
        if waiting and (not open_ or rng.random() < 0.5):
            number, steps = waiting.pop(0)
            builder.invoke(f"c{number}", "txn", [[f, key, None if f == "r" else value] for f, key, value in steps])
            open_.append((number, steps))
        else:
            number, steps = open_.pop(rng.randrange(len(open_)))
            outcome: Outcome = "ok" if certain or rng.random() < 0.8 else rng.choice(["info", "fail"])
            builder.complete(f"c{number}", outcome, steps if outcome == "ok" else None)
    return builder.history()


@pytest.mark.parametrize("model", ["serializable", "strict serializable"])
def test_a_history_of_lists_in_which_all_is_seen_is_judged_exactly(model: ConsistencyModel) -> None:
    """No anomaly if and only if there is a serial order: with all versions known, the theory gives both."""
    rng = random.Random(f"full/{model}")
    right = wrong = 0
    for _ in range(amount(500, 40_000)):
        history = _drawn_lists(rng, full=True)
        transactions = read_transactions(history, "append")
        result = check_list_append(history, model)
        expected = is_serializable(transactions, lists=True, in_real_time=model == "strict serializable")
        if result.word == "not judged":
            continue
        assert result.word == ("holds" if expected else "fails"), (
            result,
            [str(each) for each in history.operations],
        )
        right += expected
        wrong += not expected
    assert right > 30
    assert wrong > 30


@pytest.mark.parametrize("model", ["serializable", "strict serializable"])
def test_no_anomaly_is_found_where_there_is_a_serial_order_of_lists(model: ConsistencyModel) -> None:
    """Also where outcomes are unknown, and appends were never read."""
    rng = random.Random(f"sound/{model}")
    ordered = 0
    for _ in range(amount(500, 40_000)):
        history = _drawn_lists(rng, full=False)
        transactions = read_transactions(history, "append")
        if is_serializable(transactions, lists=True, in_real_time=model == "strict serializable"):
            ordered += 1
            assert not check_list_append(history, model).findings, [str(each) for each in history.operations]
    assert ordered > 30


def _drawn_registers(rng: random.Random, updates_alone: bool) -> History:
    """Return transactions that read some value that somebody writes; with all writes after reads if wanted."""
    count = rng.randint(2, 5)
    written = [rng.sample(["x", "y"], rng.randint(0, 2)) for _ in range(count)]
    values = {key: [None, *(number for number, keys in enumerate(written) if key in keys)] for key in "xy"}
    specifications = []
    for number, keys in enumerate(written):
        steps: list[Any] = [
            ["r", key, rng.choice(values[key])] for key in "xy" if updates_alone or rng.random() < 0.7
        ]
        steps += [["w", key, number] for key in keys]
        if not updates_alone:
            rng.shuffle(steps)
        specifications.append(steps or [["r", "x", None]])
    return _called_at_random(rng, specifications, certain=updates_alone)


@pytest.mark.parametrize("model", ["serializable", "strict serializable"])
@pytest.mark.parametrize("updates_alone", [True, False])
def test_registers_agree_with_every_serial_order(model: ConsistencyModel, updates_alone: bool) -> None:
    """No anomaly where there is an order; none missed where every write follows a read of the same register."""
    rng = random.Random(f"registers/{model}/{updates_alone}")
    right = wrong = 0
    for _ in range(amount(500, 40_000)):
        history = _drawn_registers(rng, updates_alone)
        result = check_rw_register(history, model)
        transactions = read_transactions(history, "w")
        expected = is_serializable(transactions, lists=False, in_real_time=model == "strict serializable")
        if expected:
            assert not result.findings, (result, [str(each) for each in history.operations])
        elif updates_alone and result.word != "not judged":
            assert result.word == "fails", [str(each) for each in history.operations]
        right += expected
        wrong += result.word == "fails"
    assert right > 20
    assert wrong > 20
