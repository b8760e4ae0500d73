"""The checkers of Maelstrom's workloads: what each finds, in words, and what it does not judge."""

import random
from itertools import chain, combinations, pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.histories.counters import acceptable_sums, check_g_counter, check_pn_counter, format_spans
from lab.histories.kafka import check_kafka
from lab.histories.operations import ErrorReply, History, HistoryBuilder, HistoryError, Outcome
from lab.histories.results import CheckResult
from lab.histories.sets import check_broadcast, check_g_set
from lab.histories.workloads import WORKLOADS, check_echo, check_unique_ids
from tests.histories.building import history_of
from tests.profile import amount

FAILED = ErrorReply(11)


def kinds(result: CheckResult) -> list[str]:
    assert result.word == ("fails" if result.findings else result.word)
    return [each.kind for each in result.findings]


@pytest.mark.parametrize("name", WORKLOADS)
def test_nothing_is_not_judged(name: str) -> None:
    """Neither a history without operations, nor one in which nobody knows any outcome."""
    assert WORKLOADS[name].check(History(())).word == "not judged"


def test_echo() -> None:
    """The value itself, or the reply that has it; what was not answered is no echo, neither right nor wrong."""
    right = history_of(
        ("a", 0, 1, "echo", [1, "x"], {"echo": [1, "x"], "type": "echo_ok"}), ("b", 0, 2, "echo", 5, 5)
    )
    assert check_echo(right).word == "holds"
    wrong = history_of(("a", 0, 1, "echo", "hello", {"echo": "hullo"}), ("b", 0, None, "echo", 5, None))
    (finding,) = check_echo(wrong).findings
    assert finding.text == "a sent hello, and got hullo"
    assert check_echo(wrong).statistics == {"called": 2, "answered": 1, "wrong": 1}
    assert check_echo(history_of(("a", 0, None, "echo", 5, None))).word == "not judged"


def test_unique_ids() -> None:
    """Of any JSON type: true is not 1."""
    calls = [(f"c{n}", n, n + 1, "generate", None, value) for n, value in enumerate([1, True, "1", [1], {"a": 1}])]
    assert check_unique_ids(history_of(*calls)).word == "holds"
    (finding,) = check_unique_ids(history_of(*calls, ("d", 9_000, 12_000, "generate", None, {"a": 1}))).findings
    assert finding.text == "{a 1} was given 2 times: to c4 (0 ms to 0 ms) and d (9 ms to 12 ms)"


def sets(*calls: tuple[str, int, int | None, str, Any, Any]) -> CheckResult:
    return check_g_set(history_of(*calls))


def test_an_element_that_later_reads_have_is_stable() -> None:
    """At once, or late: then some reads were stale, and the latency counts from the acknowledgement."""
    history = history_of(
        ("a", 0, 10_000, "add", 1, None),
        ("b", 20_000, 30_000, "read", None, []),
        ("c", 40_000, 50_000, "read", None, [1]),
    )
    result = check_g_set(history)
    assert result.word == "holds"
    assert result.evidence == "1 element in 2 reads"
    assert (result.statistics["stable"], result.statistics["stale"]) == (1, 1)
    assert result.statistics["stable_latency_p100_us"] == 10_000
    (finding,) = check_g_set(history, linearizable=True).findings
    assert finding.text == "1 was known at 10 ms; b still reads without it (20 ms to 30 ms)"


def test_the_last_stale_read_ends_the_latency() -> None:
    result = sets(
        ("a", 0, 10_000, "add", 1, None),
        ("b", 20_000, 21_000, "read", None, []),
        ("b", 22_000, 23_000, "read", None, [1]),
        ("b", 35_000, 36_000, "read", None, []),
        ("b", 40_000, 41_000, "read", None, [1]),
        ("b", 42_000, 43_000, "read", None, [1]),
    )
    assert (result.word, result.statistics["stable_latency_p50_us"]) == ("holds", 25_000)


def test_an_element_is_lost_if_the_last_read_lacks_it() -> None:
    """Acknowledged and never seen, or seen and gone again; also one that was only seen, without an outcome."""
    gone = sets(
        ("a", 0, None, "add", 1, None),
        ("b", 1_000, 2_000, "read", None, [1]),
        ("c", 3_000, 4_000, "read", None, []),
    )
    (finding,) = gone.findings
    assert finding.kind == "lost"
    assert finding.text == (
        "1, added by a, was known at 2 ms; c reads without it (3 ms to 4 ms), and nobody reads it later"
    )
    assert kinds(sets(("a", 0, 1, "add", 1, None), ("b", 2, 3, "read", None, []))) == ["lost"]
    assert not sets(("a", 0, 5, "add", 1, None), ("b", 2, 7, "read", None, [])).findings, "they overlap"


def test_an_element_without_a_later_read_is_no_evidence() -> None:
    result = sets(("b", 0, 1, "read", None, []), ("a", 2, 3, "add", 1, None))
    assert (result.word, result.evidence) == ("not judged", "no read was called after an element was known")
    mixed = sets(("a", 0, 1, "add", 1, None), ("b", 2, 3, "read", None, [1]), ("c", 4, 5, "add", 2, None))
    assert (mixed.word, mixed.evidence) == ("holds", "1 element in 1 read; 1 never read")


@pytest.mark.parametrize(
    ("calls", "kind"),
    [
        ([("b", 0, 1, "read", None, [7])], "garbage read"),
        ([("b", 0, 1, "read", None, [1]), ("a", 2, 3, "add", 1, None)], "garbage read"),
        ([("a", 0, 1, "add", 1, None), ("b", 2, 3, "read", None, [1, 1])], "duplicate element"),
        ([("a", 0, 1, "add", 1, FAILED), ("b", 2, 3, "read", None, [1])], "failed add"),
    ],
)
def test_reads_of_what_is_not_there(calls: Any, kind: str) -> None:
    assert kinds(sets(*calls)) == [kind]


@pytest.mark.parametrize("missing", [0, 1])
def test_each_final_read_must_have_what_was_acknowledged(missing: int) -> None:
    """In whichever order they are called: one node that never gets a message is enough."""
    builder = HistoryBuilder()
    builder.invoke("a", "broadcast", 7, 0)
    builder.complete("a", "ok", None, 5_000)
    for number in range(2):
        builder.invoke(f"c{number}", "read", None, 10_000 * (number + 1), is_final=True)
        builder.complete(f"c{number}", "ok", [] if number == missing else [7], 10_000 * (number + 1) + 1_000)
    result = check_broadcast(builder.history())
    (finding,) = result.findings
    begins, ends = 10 * (missing + 1), 10 * (missing + 1) + 1
    assert finding.text == (
        f"7, added by a, was known at 5 ms; c{missing} reads without it ({begins} ms to {ends} ms), in the end"
    )
    assert (result.word, result.statistics["lost"], result.statistics["stable"]) == ("fails", 1, 0)


@pytest.mark.parametrize("value", [5, "abc", None, {"1": 2}])
def test_a_read_of_a_set_is_a_list(value: Any) -> None:
    with pytest.raises(HistoryError, match="expected a list of elements"):
        check_g_set(history_of(("a", 0, 1, "add", 1, None), ("b", 2, 3, "read", None, value)))


def test_what_a_set_lacks_is_not_lost_if_all_last_reads_failed() -> None:
    """It may be on its way: nobody can know any more."""
    builder = HistoryBuilder()
    builder.invoke("a", "add", 1)
    builder.complete("a", "ok")
    builder.invoke("b", "read")
    builder.complete("b", "ok", [])
    builder.invoke("b", "read", is_final=True)
    builder.complete("b", "fail")
    assert check_g_set(builder.history()).word == "not judged"


def test_broadcast_is_the_same_with_another_word() -> None:
    history = history_of(("a", 0, 1, "broadcast", 1, None), ("b", 2, 3, "read", None, []))
    assert kinds(check_broadcast(history)) == ["lost"]


def counter(adds: list[tuple[int, Outcome]], read: Any, other: Any = None, grows: bool = False) -> CheckResult:
    """Judge adds, one after the other, then a read, then a final read."""
    builder = HistoryBuilder()
    for number, (delta, outcome) in enumerate(adds):
        builder.invoke(f"c{number}", "add", delta)
        builder.complete(f"c{number}", outcome)
    if other is not None:
        builder.invoke("e", "read")
        builder.complete("e", "ok", other)
    builder.invoke("f", "read", is_final=True)
    builder.complete("f", "ok", read)
    return (check_g_counter if grows else check_pn_counter)(builder.history())


def test_a_final_read_must_have_an_acceptable_sum() -> None:
    """Each add without a known outcome counts once or not at all; a failed one does not."""
    adds: list[tuple[int, Outcome]] = [(5, "ok"), (10, "info"), (1, "info"), (100, "fail")]
    for value in (5, 6, 15, 16):
        assert counter(adds, value).word == "holds"
    (finding,) = counter(adds, 8).findings
    assert finding.kind == "wrong sum"
    assert finding.text == (
        "f reads 8 in the end (0 ms to 0 ms); expected 5 to 6 or 15 to 16: 5 was acknowledged, and 2 adds may "
        "have happened"
    )
    assert counter([(-3, "ok"), (2, "info")], -3).word == "holds"
    assert kinds(counter(adds, None)) == ["wrong sum", "impossible sum"]


def test_a_final_read_is_judged_by_what_was_called_before_it_returned() -> None:
    """An add called later cannot be in it; one that was still under way when it was called may be."""
    builder = HistoryBuilder()
    builder.invoke("slow", "add", 2)
    builder.invoke("f", "read", is_final=True)
    builder.complete("slow", "ok")
    builder.complete("f", "ok", 0)
    builder.invoke("late", "add", 5)
    builder.complete("late", "ok")
    builder.invoke("g", "read", is_final=True)
    builder.complete("g", "ok", 2)
    (finding,) = check_g_counter(builder.history()).findings
    assert finding.text.startswith("g reads 2 in the end (0 ms to 0 ms); expected 7: 7 was acknowledged")


@pytest.mark.parametrize(
    ("check", "called"),
    [
        (check_g_set, [("add", 7, None), ("read", None, [7])]),
        (
            check_kafka,
            [
                ("send", [["send", "k", 7]], [["send", "k", [0, 7]]]),
                ("poll", [["poll"]], [["poll", {"k": [[0, 7]]}]]),
            ],
        ),
    ],
)
@pytest.mark.parametrize("outcome", ["ok", "fail"])
def test_last_reads_that_all_fail_are_no_evidence(check: Any, called: Any, outcome: Outcome) -> None:
    """Though an earlier one succeeded."""
    builder = HistoryBuilder()
    for f, value, result in called:
        builder.invoke("a", f, value)
        builder.complete("a", "ok", result)
    f, value, result = called[-1]
    builder.invoke("b", f, value, is_final=True)
    builder.complete("b", outcome, result if outcome == "ok" else None)
    found = check(builder.history())
    assert found.word == ("holds" if outcome == "ok" else "not judged"), str(found)
    assert outcome == "ok" or found.evidence == f"no last {f} succeeded"


def test_another_read_may_miss_adds_and_invent_none() -> None:
    assert counter([(5, "ok"), (-2, "ok")], 3, other=-2).word == "holds"
    assert kinds(counter([(5, "ok"), (-2, "ok")], 3, other=6)) == ["impossible sum"]
    assert kinds(counter([(5, "ok"), (-2, "fail")], 5, other=-1)) == ["impossible sum"]


def test_a_read_may_count_what_is_called_before_it_returns() -> None:
    overlapping = history_of(("r", 0, 5, "read", None, 3), ("a", 1, 9, "add", 3, None))
    assert not check_g_counter(overlapping).findings
    later = history_of(("r", 0, 5, "read", None, 3), ("a", 6, 9, "add", 3, None))
    assert kinds(check_g_counter(later)) == ["impossible sum"]


def test_without_a_final_read_a_counter_is_not_judged() -> None:
    result = check_g_counter(history_of(("a", 0, 1, "add", 1, None), ("b", 2, 3, "read", None, 1)))
    assert (result.word, result.evidence) == ("not judged", "there is no final read")


def test_a_counter_that_grows_refuses_less_than_nothing() -> None:
    with pytest.raises(HistoryError, match="event 0: c0 add -1: expected 0 or more"):
        counter([(-1, "ok")], 0, grows=True)
    with pytest.raises(HistoryError, match="expected an integer to add"):
        check_pn_counter(history_of(("a", 0, 1, "add", "x", None)))


@given(st.integers(-5, 5), st.lists(st.integers(-6, 6), max_size=6))
def test_acceptable_sums_are_those_of_all_subsets(definite: int, perhaps: list[int]) -> None:
    subsets = chain.from_iterable(combinations(perhaps, count) for count in range(len(perhaps) + 1))
    expected = {definite + sum(each) for each in subsets}
    spans = acceptable_sums(definite, perhaps)
    assert {value for span in spans for value in span} == expected
    assert all(one.stop < other.start for one, other in pairwise(spans)), "no two touch"


@pytest.mark.parametrize("read", [-1, "x", True, None, 10**30])
def test_no_number_is_too_large_for_a_counter(read: Any) -> None:
    """Nor does what is no number take long."""
    adds: list[tuple[int, Outcome]] = [(10**18 * 2**each, "info") for each in range(19)]
    assert kinds(counter(adds, read))[0] == "wrong sum"


def test_too_many_sums_are_one_range() -> None:
    assert acceptable_sums(1, [1 << place for place in range(30)]) == [range(1, (1 << 30) + 1)]
    assert format_spans([range(1, 2), range(4, 9)]) == "1 or 4 to 8"


def log(*operations: tuple[str, Any, Any]) -> CheckResult:
    """Judge operations (client, called, done), one after the other; done None has no known outcome."""
    builder = HistoryBuilder()
    for client, called, done in operations:
        builder.invoke(
            client, called[0] if called[0] == "assign" else "txn", called if called[0] == "assign" else [called]
        )
        if done is None:
            builder.complete(client, "info")
        elif isinstance(done, ErrorReply):
            builder.complete(client, "fail", error=done)
        else:
            builder.complete(client, "ok", done if called[0] == "assign" else [done])
    return check_kafka(builder.history())


def send(client: str, message: int, offset: int) -> tuple[str, Any, Any]:
    return client, ["send", "k", message], ["send", "k", [offset, message]]


def poll(client: str, *pairs: tuple[int, int], asked: int | None = None) -> tuple[str, Any, Any]:
    called = ["poll"] if asked is None else ["poll", {"k": asked}]
    return client, called, ["poll", {"k": [list(pair) for pair in pairs]} if pairs else {}]


def test_logs_in_order_hold() -> None:
    """With gaps between offsets, messages not seen yet, and a client that is placed anew."""
    result = log(
        send("a", 10, 0),
        send("b", 11, 2),
        poll("c", (0, 10)),
        poll("c", (2, 11)),
        send("a", 12, 5),
        ("c", ["assign", "k"], ["assign", "k"]),
        poll("c", (0, 10), (2, 11)),
    )
    assert result.word == "holds"
    assert result.evidence == "3 messages acknowledged, 4 polled on 1 key; 1 not seen yet"
    assert log(send("a", 10, 0)).word == "not judged"


@pytest.mark.parametrize(
    ("operations", "kind", "text"),
    [
        (
            [send("a", 10, 0), send("b", 11, 0), poll("c", (0, 11))],
            "inconsistent offset",
            "offset 0 of k has 10 (a, 0 ms to 0 ms) and 11 (b, 0 ms to 0 ms)",
        ),
        ([send("a", 10, 0), poll("c", (0, 10), (1, 10))], "duplicate", "10 is in k at the offsets 0, 1"),
        (
            [send("a", 10, 0), send("a", 11, 1), poll("c", (1, 11))],
            "lost write",
            "a sent 10 to k, acknowledged at offset 0; c polled up to 1, and nobody polled it",
        ),
        (
            [send("a", 10, 0), send("a", 11, 1), poll("c", (1, 11)), poll("c", (0, 10))],
            "nonmonotonic poll",
            "c polls k at 1 and next at 0",
        ),
        (
            [send("a", 10, 0), send("a", 11, 1), poll("c", (1, 11), (0, 10))],
            "nonmonotonic poll",
            "c polls k at 1 and next at 0",
        ),
        (
            [
                send("a", 1, 0),
                send("a", 2, 1),
                send("a", 3, 2),
                poll("b", (1, 2)),
                poll("c", (0, 1)),
                poll("c", (2, 3)),
            ],
            "poll skip",
            "c polls k at 0 and next at 2, past 1",
        ),
        (
            [send("a", 10, 3), send("a", 11, 2), poll("c", (2, 11), (3, 10))],
            "nonmonotonic send",
            "a sent 10 to k at offset 3, and then 11 at 2",
        ),
        ([poll("c", (0, 9))], "garbage read", "c polls 9 from k at 0, which nobody sent"),
        (
            [("a", ["send", "k", 9], FAILED), poll("c", (0, 9))],
            "aborted read",
            "c polls 9 from k at 0, the send of which by a failed",
        ),
    ],
)
def test_what_goes_wrong_with_logs(operations: list[tuple[str, Any, Any]], kind: str, text: str) -> None:
    findings = log(*operations).findings
    assert [str(each) for each in findings if each.kind == kind] == [f"{kind}: {text}"]
    assert {each.kind for each in findings} - {kind, "lost write"} <= {"inconsistent offset"}


@pytest.mark.parametrize(
    ("polls", "finding"),
    [
        (
            [poll("c", (1, 11), asked=0), poll("d", (0, 10), (1, 11))],
            "poll skip: c polls k from 0 on, and gets 1 first, past 0",
        ),
        ([poll("c", (0, 10), asked=1)], "nonmonotonic poll: c polls k from 1 on, and gets 0 first"),
        ([poll("c", (0, 10), asked=0), poll("c", (0, 10), (1, 11), asked=0)], None),
        ([poll("c", (1, 11), asked=1), poll("d", (0, 10))], None),
    ],
)
def test_a_poll_begins_where_it_is_asked_to(polls: list[tuple[str, Any, Any]], finding: str | None) -> None:
    """Not where the client's last one ended."""
    found = log(send("a", 10, 0), send("a", 11, 1), *polls)
    assert [str(each) for each in found.findings] == ([] if finding is None else [finding])


@pytest.mark.parametrize(
    ("last", "word", "evidence"),
    [
        ([poll("c", (1, 11), asked=1), poll("c", asked=2)], "holds", "on 1 key"),
        ([poll("c", asked=1)], "fails", "on 1 key"),
        (
            [poll("c", asked=1), poll("d", (0, 10), asked=0)],
            "not judged",
            "1 message not seen yet, and the last polls",
        ),
        ([poll("c", asked=1), poll("d", asked=0)], "fails", "on 1 key"),
        ([poll("c")], "not judged", "1 message not seen yet, and the last polls"),
    ],
    ids=[
        "all is seen",
        "the end is told too early",
        "one client is not done",
        "by both",
        "from nobody knows where",
    ],
)
def test_in_the_end_all_that_was_acknowledged_is_polled(
    last: list[tuple[str, Any, Any]], word: str, evidence: str
) -> None:
    builder = HistoryBuilder()
    earlier = [send("a", 10, 0), send("a", 11, 1), poll("c", (0, 10), asked=0)]
    for place, (client, called, done) in enumerate([*earlier, *last]):
        builder.invoke(client, called[0], [called], is_final=place >= len(earlier))
        builder.complete(client, "ok", [done])
    found = check_kafka(builder.history())
    assert found.word == word, str(found)
    assert evidence in found.evidence
    assert [str(each) for each in found.findings] == [
        "unobserved: a sent 11 to k, acknowledged at offset 1; in the end all clients polled until nothing more "
        "came, and nobody polled it"
    ] * (word == "fails")


def test_what_is_acknowledged_after_the_last_polls_need_not_be_polled() -> None:
    builder = HistoryBuilder()
    builder.invoke("a", "send", [["send", "k", 10]])
    builder.invoke("c", "poll", [["poll", {"k": 0}]], is_final=True)
    builder.complete("a", "ok", [["send", "k", [0, 10]]])
    builder.complete("c", "ok", [["poll", {}]])
    assert not check_kafka(builder.history()).findings


def test_a_message_without_a_known_outcome_may_be_polled() -> None:
    assert log(("a", ["send", "k", 9], None), poll("c", (0, 9))).word == "holds"


@pytest.mark.parametrize("called", ["poll", [3], [["send", "k"]], [["poll", 3]], [["poll", {"k": "x"}]]])
def test_what_is_no_operation_of_logs_is_refused(called: Any) -> None:
    with pytest.raises(HistoryError, match=r"event 0: send of client a has .*: expected a list"):
        check_kafka(history_of(("a", 0, 1, "send", called, [])))


def test_a_log_that_works_is_never_blamed() -> None:
    """Drawn runs of one correct log: clients send, poll, lose answers and start anew."""
    for seed in range(amount(30, 2_000)):
        rng = random.Random(f"log/{seed}")
        assert not check_kafka(_run_of_a_log(rng)).findings, seed


def _run_of_a_log(rng: random.Random) -> History:
    builder = HistoryBuilder()
    logs: dict[str, list[tuple[int, int]]] = {"x": [], "y": []}
    places: dict[str, dict[str, int]] = {}
    names = ["a", "b", "c"]
    asks_from = rng.random() < 0.5
    for number in range(60):
        client = rng.choice(names)
        place = places.setdefault(client, {"x": 0, "y": 0})
        key = rng.choice("xy")
        outcome: Outcome = "ok" if rng.random() < 0.9 else "info"
        result: Any = None
        if rng.random() < 0.5:
            builder.invoke(client, "send", [["send", key, number]])
            offset = logs[key][-1][0] + rng.randint(1, 3) if logs[key] else 0
            if outcome == "ok" or rng.random() < 0.5:
                logs[key].append((offset, number))
            result = [["send", key, [offset, number]]]
        else:
            builder.invoke(client, "poll", [["poll", {key: place[key]}] if asks_from else ["poll"]])
            found = [pair for pair in logs[key] if pair[0] >= place[key]][: rng.randint(0, 3)]
            if found and outcome == "ok":
                place[key] = found[-1][0] + 1
            result = [["poll", {key: found}]]
        builder.complete(client, outcome, result if outcome == "ok" else None)
        if outcome == "info":
            names[names.index(client)] = f"{client}{number}"
    for client in names if asks_from else ():
        place = places.setdefault(client, {"x": 0, "y": 0})
        while True:
            builder.invoke(client, "poll", [["poll", dict(place)]], is_final=True)
            rest = {key: [pair for pair in log if pair[0] >= place[key]] for key, log in logs.items()}
            some = {key: pairs[: rng.randint(1, 9)] for key, pairs in rest.items() if pairs}
            builder.complete(client, "ok", [["poll", some]])
            if not some:
                break
            place.update({key: pairs[-1][0] + 1 for key, pairs in some.items()})
    return builder.history()
