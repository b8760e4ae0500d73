"""Histories as EDN and JSON Lines: written, read back, and refused where they are neither."""

import contextlib
import random
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.histories.edn import EdnError, Keyword, format_edn, read_edn
from lab.histories.history_files import (
    HistoryFileError,
    edn_lines,
    has_keys_lost_in_json,
    jsonl_lines,
    read_edn_history,
    read_jsonl_history,
)
from lab.histories.list_append import check_list_append
from lab.histories.operations import ErrorReply, Event, History, HistoryBuilder, Outcome

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


def edn(text: str) -> Any:
    ((_, value),) = read_edn(text)
    return value


@given(VALUES)
def test_any_value_survives_edn(value: Any) -> None:
    assert edn(format_edn(value)) == value
    assert "\n" not in format_edn(value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("nil", None),
        ("[1 -2 +3 4N 1.5 1e3 2.5M]", [1, -2, 3, 4, 1.5, 1000.0, 2.5]),
        ('(1, [:a/b "c\\n\\u0041"])', [1, ["a/b", "c\nA"]]),
        ('{:a 1 "b" {2 3}}', {"a": 1, "b": {2: 3}}),
        ("#{1 [2]}", {1, (2,)}),
        ("#jepsen.history.Op{:index 3}", {"index": 3}),
        ("#_ {:not 1} ; nor this\n [\\a \\space true]", ["a", " ", True]),
        ("[##Inf ##-Inf]", [float("inf"), float("-inf")]),
        ("{[1 2] :x}", {(1, 2): "x"}),
        ("[]", []),
        ("#_ 1 2 #_ 3", 2),
    ],
)
def test_edn_is_read(text: str, value: Any) -> None:
    assert edn(text) == value
    assert isinstance(edn("[:a]")[0], Keyword)


@pytest.mark.parametrize(
    ("text", "line", "message", "is_torn"),
    [
        ("[1 2", 1, "the text ends: expected ] for the [ in line 1", True),
        ("1\n{:a [1 2\n}", 3, "} stands alone: expected a value", False),
        ('\n"abc', 2, "the text ends within a string", True),
        ("{:a}", 1, "a map has a key without a value", False),
        ("[1/2]", 1, "1/2 is no value: expected nil, true", False),
        ("foo", 1, "foo is no value", False),
        ("]", 1, "] stands alone", False),
        ('"\\q"', 1, "\\q in a string: expected one of", False),
        ("#_", 1, "the text ends: expected a value", True),
        ("9" * 5000, 1, "a number of 5,000 digits: expected at most 4,000", False),
        ("[" * 100_000, 1, "more than 200 deep", False),
        ("#a " * 100_000 + "1", 1, "more than 200 deep", False),
        ("#_" * 100_000 + "1", 1, "more than 200 deep", False),
        ("12abc", 1, "12abc is no value", False),
    ],
)
def test_what_is_no_edn_is_refused(text: str, line: int, message: str, is_torn: bool) -> None:
    with pytest.raises(EdnError) as caught:
        list(read_edn(text))
    assert message in str(caught.value)
    assert (caught.value.line, caught.value.is_torn) == (line, is_torn)


@given(st.text(max_size=40) | st.text(alphabet='[]{}()#_:"\\; \n,1aN.', max_size=40))
def test_garbage_is_read_or_refused_and_nothing_else(text: str) -> None:
    with contextlib.suppress(EdnError):
        list(read_edn(text))
    for read in (read_edn_history, read_jsonl_history):
        with contextlib.suppress(HistoryFileError):
            read(text)


def example() -> History:
    builder = HistoryBuilder()
    builder.invoke("c1", "read", ["x", None], 1_000)
    builder.invoke("c2", "cas", ["x", [1, 2]], 1_500)
    builder.complete("c1", "ok", ["x", 1], 2_000)
    builder.complete("c2", "fail", None, 3_000, ErrorReply(22, "it is 1"))
    builder.invoke("c1", "write", ["x", 3], 4_000)
    builder.complete("c1", "info", None, 9_000, ErrorReply("net-timeout"))
    builder.invoke("c3", "read", ["x", None], 9_500, is_final=True)
    return builder.history()


def test_edn_is_that_of_jepsen() -> None:
    assert list(edn_lines(example())) == [
        '{:index 0, :time 1000000, :process 0, :type :invoke, :f :read, :value ["x" nil], :client "c1"}',
        '{:index 1, :time 1500000, :process 1, :type :invoke, :f :cas, :value ["x" [1 2]], :client "c2"}',
        '{:index 2, :time 2000000, :process 0, :type :ok, :f :read, :value ["x" 1], :client "c1"}',
        '{:index 3, :time 3000000, :process 1, :type :fail, :f :cas, :value ["x" [1 2]], '
        ':error [:precondition-failed "it is 1"], :client "c2"}',
        '{:index 4, :time 4000000, :process 0, :type :invoke, :f :write, :value ["x" 3], :client "c1"}',
        '{:index 5, :time 9000000, :process 0, :type :info, :f :write, :value ["x" 3], :error :net-timeout, '
        ':client "c1"}',
        '{:index 6, :time 9500000, :process 2, :type :invoke, :f :read, :value ["x" nil], :final? true, '
        ':client "c3"}',
    ]


def test_transactions_have_keywords_as_elle_expects() -> None:
    builder = HistoryBuilder()
    builder.invoke("0", "txn", [["r", "x", None], ["append", "x", 1]])
    assert list(edn_lines(builder.history())) == [
        '{:index 0, :time 0, :process 0, :type :invoke, :f :txn, :value [[:r "x" nil] [:append "x" 1]]}'
    ]


def test_both_forms_are_read_back() -> None:
    """JSON Lines exactly; EDN too, but for the results of operations that return nothing."""
    history = example()
    assert read_jsonl_history("\n".join(jsonl_lines(history))) == history
    again = read_edn_history("\n".join(edn_lines(history)))
    assert again == history
    assert list(edn_lines(again)) == list(edn_lines(history))


@given(st.randoms(use_true_random=False), VALUES)
def test_any_history_survives(rng: random.Random, value: Any) -> None:
    builder = HistoryBuilder()
    waiting: list[str] = []
    for number in range(8):
        if waiting and rng.random() < 0.5:
            outcome = rng.choice(get_args(Outcome))
            error = None if outcome == "ok" else rng.choice([None, ErrorReply(14), ErrorReply(1001, "own")])
            builder.add(
                Event(outcome, waiting.pop(0), "f", value if outcome == "ok" else None, number * 1000, error)
            )
        else:
            waiting.append(f"client {number}")
            builder.invoke(waiting[-1], "f", rng.choice([value, None]), number * 1000)
    history = builder.history()
    assert read_jsonl_history("\n".join(jsonl_lines(history))) == history
    text = "\n".join(edn_lines(history))
    again = read_edn_history(text)
    assert [each.index for each in again.operations] == [each.index for each in history.operations]
    assert read_edn_history("\n".join(edn_lines(again))) == again
    assert [str(each.error) for each in again.operations] == [str(each.error) for each in history.operations]


def test_a_history_of_jepsen_is_read() -> None:
    """One vector or a map a line, with a nemesis, crashed processes, and records."""
    text = """
    [{:type :invoke, :f :txn, :value [[:append 9 1]], :process 0, :time 100000, :index 0}
     {:type :info, :f :start-partition, :value nil, :process :nemesis, :time 100500, :index 1}
     #jepsen.history.Op{:index 2, :time 200000, :type :ok, :process 0, :f :txn, :value [[:append 9 1]]}
     {:type :invoke, :f :txn, :value [[:r 9 nil]], :process 1, :time 300000, :index 3}
     {:type :info, :f :txn, :value [[:r 9 nil]], :process 1, :time 400000, :index 4, :error :timeout}
     {:type :invoke, :f :txn, :value [[:r 9 nil]], :process 11, :time 500000, :index 5}
     {:type :ok, :f :txn, :value [[:r 9 [1]]], :process 11, :time 600000, :index 6}]
    """
    history = read_edn_history(text)
    assert [(each.process, each.outcome, each.index) for each in history.operations] == [
        ("0", "ok", 0),
        ("1", "info", 3),
        ("11", "ok", 5),
    ]
    assert history.operations[1].error == ErrorReply(0)
    assert history.operations[2].invoked_at_us == 500
    assert check_list_append(history, "strict serializable").word == "holds"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{:type :invoke, :f :read}", "line 1: :process is nil: expected the number of a client"),
        ("\n{:process 1, :f :read}", "line 2: :type is nil: expected :invoke, :ok, :fail or :info"),
        ("{:process 1, :type :invoke}", "line 1: :f is nil: expected the name of an operation"),
        ("{:process 1, :type :invoke, :f :r, :time 1.5}", "line 1: :time is 1.5: expected an integer"),
        ("3", "line 1: 3: expected a map such as"),
        ("{:process 1, :type :ok, :f :read}", "line 1: event 0: ok of client 1, which waits for nothing"),
        ("{:process 1, :type :invoke, :f :read", "line 1: the text ends: .*; was its writer interrupted"),
    ],
)
def test_what_is_no_edn_history_is_refused(text: str, message: str) -> None:
    with pytest.raises(HistoryFileError, match=message):
        read_edn_history(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}\n", "line 1: .*missing required field `type`.*: expected an event, such as"),
        ("\nhello\n", "line 2: .*: expected an event, such as"),
        ('{"type":"began","process":"a","f":"x"}\n', "line 1: .*'began'.*"),
        ('{"type":"ok","process":"a","f":"x"}\n', "line 1: event 0: ok of client a, which waits for nothing"),
        ('{"type":"invoke","process":"a","f":"x","when":3}\n', "line 1: .*unknown field `when`"),
        ('{"type":"invoke","process":"a","f"', "line 1: .*the line is the last, and has no end"),
        ("[" * 100_000, "line 1: .*"),
    ],
)
def test_what_is_no_history_in_json_lines_is_refused(text: str, message: str) -> None:
    with pytest.raises(HistoryFileError, match=message):
        read_jsonl_history(text)


def test_json_lines_may_have_what_jepsen_writes() -> None:
    """Clients that are numbers, times in nanoseconds, errors that are names, and what a nemesis did."""
    lines = (
        '{"type":"invoke","process":0,"f":"cas","value":[1,2],"time":5000,"index":0}',
        '{"type":"info","process":"nemesis","f":"start-partition","index":1}',
        '{"type":"fail","process":0,"f":"cas","value":[1,2],"time":9000,"index":2,"error":"precondition-failed"}',
    )
    (read,) = read_jsonl_history("\n".join(lines)).operations
    assert (read.process, read.invoked_at_us, read.completed_at_us, read.error) == ("0", 5, 9, ErrorReply(22))


@pytest.mark.parametrize(("key", "lost"), [("1", True), ('"1"', False)])
def test_keys_that_json_has_not(key: str, lost: bool) -> None:
    """A log with the key 1 would become one with the key "1"."""
    text = (
        "{:process 0, :type :invoke, :f :poll, :value [[:poll]]}\n"
        f"{{:process 0, :type :ok, :f :poll, :value [[:poll {{{key} [[0 7]]}}]]}}"
    )
    assert has_keys_lost_in_json(read_edn_history(text)) == lost


def test_the_exception_of_an_operation_is_passed_over() -> None:
    """As Jepsen writes it: with names of classes and methods, which are symbols."""
    text = """
    {:index 0, :process 0, :type :invoke, :f :read}
    {:index 1, :process 0, :type :info, :f :read, :exception {:via [{:type java.lang.RuntimeException,
     :message "no", :at [lab.core$f invoke "core.clj" 7]}], :trace [[clojure.lang.AFn run "AFn.java" 22]
     [jepsen.util/timeout* doInvoke nil -1]]}}
    """
    (read,) = read_edn_history(text).operations
    assert read.outcome == "info"


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_a_torn_history_is_accepted_if_asked_for(cut: int) -> None:
    """All lines but the last; what waited for it has no known outcome."""
    history = example()
    whole = History.of_events(list(history.events())[:-1])
    for lines, read in ((edn_lines, read_edn_history), (jsonl_lines, read_jsonl_history)):
        text = "\n".join(lines(history))[:-cut]
        with pytest.raises(HistoryFileError, match="line 7: "):
            read(text)
        assert read(text, accept_torn=True) == whole
