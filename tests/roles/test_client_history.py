"""The history of clients, from records that no client of ours has made, and from answers that are none."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from lab.analysis.client_history import ClientHistory, check_clients
from lab.histories.workloads import WORKLOADS
from lab.kernel import Fired, Message, Received, Step
from lab.protocols import Bully
from lab.protocols.workloads import WORKLOADS as CLIENT_WORKLOADS
from lab.recording.records import Fault, Header, Process, Role
from tests.harness import simulated_header

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 99) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abk"), inner, max_size=2),
    max_leaves=6,
)
KINDS = (
    "Add",
    "Broadcast",
    "Cas",
    "CommitOffsets",
    "Echo",
    "Generate",
    "Poll",
    "Read",
    "Send",
    "Ts",
    "Txn",
    "Write",
)
FIELDS = (
    "key",
    "value",
    "element",
    "delta",
    "message",
    "messages",
    "from",
    "to",
    "echo",
    "id",
    "ts",
    "txn",
    "msgs",
)


def _header(workload: str) -> Header:
    parameters = {"workload": workload, "until_us": 30, "final_us": 50}
    roles = (Role("clients", "client", {4: "c4"}, parameters),)
    return replace(simulated_header(Bully, (1, 2, 3)), roles=roles)


def _message(source: int, target: int, serial: int, kind: str, body: dict[str, Any], reply_to: int = 0) -> Message:
    return Message(source, target, serial, kind, msgspec.Raw(msgspec.json.encode(body)), reply_to)


def test_every_workload_of_clients_has_a_checker() -> None:
    """By the same name."""
    assert CLIENT_WORKLOADS.keys() <= WORKLOADS.keys()


@given(data=st.data(), workload=st.sampled_from([*CLIENT_WORKLOADS]))
def test_no_recording_can_break_it(data: st.DataObject, workload: str) -> None:
    """Calls before an answer, answers twice, to nobody, of another kind and form, times that go back."""
    clients = ClientHistory(_header(workload))
    bodies = st.dictionaries(st.sampled_from([*FIELDS, "offset", "offsets", "code", "msg"]), JSON, max_size=4)
    for serial in range(1, data.draw(st.integers(1, 12)) + 1):
        at_us = data.draw(st.integers(0, 99))
        what = data.draw(st.sampled_from(["call", "answer", "take", "timeout", "crash"]))
        if what == "call":
            sent = (_message(4, 1, serial, data.draw(st.sampled_from(KINDS)), data.draw(bodies)),)
            clients.observe(Step(at_us, 4, 1, Fired("operate"), sent=sent))
        elif what == "answer":
            kind, asked = data.draw(st.sampled_from(["ReadOk", "TxnOk", "Error"])), data.draw(st.integers(1, 12))
            sent = (_message(1, 4, serial, kind, data.draw(bodies), asked),)
            clients.observe(Step(at_us, 1, 1, Fired("x"), sent=sent))
        elif what == "take":
            clients.observe(Step(at_us, 4, 1, Received(1, data.draw(st.integers(1, 12)))))
        elif what == "timeout":
            clients.observe(Step(at_us, 4, 1, Fired("operate")))
        else:
            clients.observe(Process(at_us, 4, "killed", 1))
    found = check_clients(clients)
    assert found is not None
    assert found.word in ("holds", "fails", "undecided", "not judged")


@pytest.mark.parametrize(("answer", "word"), [({"txn": [["r", 1, [2]]]}, "fails"), ({"txn": "none"}, "fails")])
def test_a_malformed_answer_fails(answer: dict[str, Any], word: str) -> None:
    """The program is to blame, and the report says for what."""
    clients = ClientHistory(_header("txn-list-append"))
    clients.observe(Step(1, 4, 1, Fired("operate"), sent=(_message(4, 1, 1, "Txn", {"txn": [["r", 1, None]]}),)))
    clients.observe(Step(2, 1, 1, Received(4, 1), sent=(_message(1, 4, 7, "TxnOk", answer, 1),)))
    clients.observe(Step(3, 4, 1, Received(1, 7)))
    found = check_clients(clients)
    assert found is not None
    assert found.word == word, str(found)
    assert found.findings


_CUT = Fault(20, 1, "partition", "partition 1 2 | 3", links=((1, 3), (3, 1)))


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ((), "fails"),
        ((_CUT, replace(_CUT, at_us=28, lifted=True)), "fails"),
        ((replace(_CUT, at_us=60),), "fails"),
        ((Process(40, 2, "failed", 1),), "fails"),
        ((_CUT,), "still in force at the last reads: partition 1 2 | 3"),
        ((_CUT, replace(_CUT, at_us=40, lifted=True)), "a fault strikes while the cluster should come to rest"),
        ((Process(40, 2, "killed", 1),), "a fault strikes while the cluster should come to rest"),
        ((Process(20, 2, "paused", 1),), "still in force at the last reads: pause 2"),
        ((Process(20, 2, "paused", 1), Process(25, 2, "resumed", 1)), "fails"),
    ],
)
def test_last_reads_are_evidence_only_when_the_cluster_is_at_rest(
    events: tuple[Fault | Process, ...], expected: str
) -> None:
    """The element that was acknowledged is missing in the last read, as it is behind the fault."""
    clients = ClientHistory(_header("g-set"))
    records = [
        Step(1, 4, 1, Fired("operate"), sent=(_message(4, 1, 1, "Add", {"element": 7}),)),
        Step(2, 1, 1, Received(4, 1), sent=(_message(1, 4, 7, "AddOk", {}, 1),)),
        Step(3, 4, 1, Received(1, 7)),
        Step(50, 4, 1, Fired("operate"), sent=(_message(4, 1, 2, "Read", {}),)),
        Step(51, 1, 1, Received(4, 2), sent=(_message(1, 4, 8, "ReadOk", {"value": []}, 2),)),
        Step(52, 4, 1, Received(1, 8)),
    ]
    for record in sorted((*records, *events), key=lambda each: each.at_us):
        clients.observe(record)
    found = check_clients(clients)
    assert found is not None
    assert found.word == ("fails" if expected == "fails" else "not judged"), str(found)
    assert expected in ("fails", found.evidence)


@pytest.mark.parametrize(
    ("answer_kind", "answer", "word"), [("Error", {"code": 11}, "not judged"), ("WriteOk", {}, "holds")]
)
def test_a_run_in_which_nothing_was_changed_shows_nothing(
    answer_kind: str, answer: dict[str, Any], word: str
) -> None:
    """Though its reads are linearizable: nobody wrote a value that they should have."""
    clients = _called("lin-kv", "Write", {"key": 1, "value": 2}, answer_kind, answer)
    value = 2 if word == "holds" else None
    clients.observe(Step(50, 4, 1, Fired("operate"), sent=(_message(4, 1, 2, "Read", {"key": 1}),)))
    clients.observe(Step(51, 1, 1, Received(4, 2), sent=(_message(1, 4, 8, "ReadOk", {"value": value}, 2),)))
    clients.observe(Step(52, 4, 1, Received(1, 8)))
    found = check_clients(clients)
    assert found is not None
    assert found.word == word, str(found)
    assert word == "holds" or found.evidence == "no operation that changes something succeeded, of 1"


def test_what_nobody_added_is_wrong_whenever_it_is_read() -> None:
    """Though a fault is in force at the last reads, which may lack what was added."""
    clients = ClientHistory(_header("g-set"))
    for record in (
        Step(1, 4, 1, Fired("operate"), sent=(_message(4, 1, 1, "Add", {"element": 7}),)),
        Step(2, 1, 1, Received(4, 1), sent=(_message(1, 4, 7, "AddOk", {}, 1),)),
        Step(3, 4, 1, Received(1, 7)),
        _CUT,
        Step(50, 4, 1, Fired("operate"), sent=(_message(4, 1, 2, "Read", {}),)),
        Step(51, 1, 1, Received(4, 2), sent=(_message(1, 4, 8, "ReadOk", {"value": [9]}, 2),)),
        Step(52, 4, 1, Received(1, 8)),
    ):
        clients.observe(record)
    found = check_clients(clients)
    assert found is not None
    assert found.word == "fails"
    assert found.evidence == "the last reads are no evidence: still in force at the last reads: partition 1 2 | 3"
    assert [each.kind for each in found.findings] == ["garbage read"]


def _called(
    workload: str, kind: str, body: dict[str, Any], answer_kind: str, answer: dict[str, Any]
) -> ClientHistory:
    """Return the history of one operation that was answered so."""
    clients = ClientHistory(_header(workload))
    clients.observe(Step(1, 4, 1, Fired("operate"), sent=(_message(4, 1, 1, kind, body),)))
    clients.observe(Step(2, 1, 1, Received(4, 1), sent=(_message(1, 4, 7, answer_kind, answer, 1),)))
    clients.observe(Step(3, 4, 1, Received(1, 7)))
    return clients


@pytest.mark.parametrize(
    ("kind", "body", "answer_kind", "answer", "text"),
    [
        ("Read", {"key": 1}, "Banana", {"value": 3}, "c4 read was answered banana: expected read_ok or error"),
        ("Read", {"key": 1}, "WriteOk", {}, "c4 read was answered write_ok: expected read_ok or error"),
        ("Read", {"key": 1}, "ReadOk", {}, "c4 read was answered read_ok without value"),
        (
            "Write",
            {"key": 1, "value": 2},
            "ReadOk",
            {"value": 2},
            "c4 write was answered read_ok: expected write_ok",
        ),
        (
            "Write",
            {"key": 1, "value": 2},
            "Error",
            {"code": "11"},
            'an error whose code is "11": expected a whole',
        ),
        (
            "Write",
            {"key": 1, "value": 2},
            "Error",
            {"code": 11.0},
            "an error whose code is 11.0: expected a whole",
        ),
        ("Read", {"key": 1}, "ReadOk", {"type": "ReadOk", "value": 3}, "answered ReadOk: expected read_ok"),
        ("Read", {"key": 1}, "Message", {"value": 3}, "answered a message without a type: expected read_ok"),
        ("Write", {"key": 1, "value": 2}, "Error", {}, "an error whose code is null: expected a whole number"),
    ],
)
def test_an_answer_that_is_none_fails(
    kind: str, body: dict[str, Any], answer_kind: str, answer: dict[str, Any], text: str
) -> None:
    found = check_clients(_called("lin-kv", kind, body, answer_kind, answer))
    assert found is not None
    assert found.word == "fails"
    assert text in str(found)


@pytest.mark.parametrize(
    ("workload", "due"), [("broadcast", "messages"), ("g-set", "value"), ("pn-counter", "value")]
)
def test_a_read_has_the_field_of_its_workload(workload: str, due: str) -> None:
    """As in Maelstrom."""
    other = {"messages": "value", "value": "messages"}[due]
    right = _called(workload, "Read", {}, "ReadOk", {due: [7], other: "no"})
    assert (right.history.operations[0].result, right.malformed) == ([7], [])
    (wrong,) = _called(workload, "Read", {}, "ReadOk", {other: [7]}).malformed
    assert wrong.text == f"c4 read was answered read_ok without {due}"


@pytest.mark.parametrize(
    ("code", "outcome"),
    [
        (0, "info"),
        (5, "info"),
        (11, "fail"),
        (13, "info"),
        (14, "fail"),
        (40, "info"),
        (999, "info"),
        (1000, "info"),
    ],
)
def test_only_codes_that_the_protocol_knows_are_definite(code: int, outcome: str) -> None:
    """A read has failed in any case, as it changes nothing."""
    (write,) = _called("lin-kv", "Write", {"key": 1, "value": 2}, "Error", {"code": code}).history.operations
    assert write.outcome == outcome
    (read,) = _called("lin-kv", "Read", {"key": 1}, "Error", {"code": code}).history.operations
    assert read.outcome == "fail"


@pytest.mark.parametrize(
    ("model", "word"), [("", "fails"), ("snapshot isolation", "holds"), ("serializable", "fails")]
)
def test_transactions_are_judged_by_the_model_that_was_chosen(model: str, word: str) -> None:
    """Each reads what the other has not written yet: a write skew."""
    header = _header("txn-list-append")
    (role,) = header.roles
    role = replace(role, nodes={4: "c4", 5: "c5"}, parameters={**role.parameters, "model": model})
    clients = ClientHistory(replace(header, roles=(role,)))
    for client, txn in ((4, [["append", 1, 1], ["r", 2, None]]), (5, [["append", 2, 1], ["r", 1, None]])):
        clients.observe(Step(1, client, 1, Fired("operate"), sent=(_message(client, 1, 1, "Txn", {"txn": txn}),)))
    for client, txn in ((4, [["append", 1, 1], ["r", 2, []]]), (5, [["append", 2, 1], ["r", 1, []]])):
        answer = _message(1, client, client, "TxnOk", {"txn": txn}, 1)
        clients.observe(Step(2, 1, 1, Received(client, 1), sent=(answer,)))
        clients.observe(Step(3, client, 1, Received(1, client)))
    later = {"txn": [["r", 1, None], ["r", 2, None]]}
    clients.observe(Step(4, 4, 1, Fired("operate"), sent=(_message(4, 1, 2, "Txn", later),)))
    answer = _message(1, 4, 9, "TxnOk", {"txn": [["r", 1, [1]], ["r", 2, [1]]]}, 2)
    clients.observe(Step(5, 1, 1, Received(4, 2), sent=(answer,)))
    clients.observe(Step(6, 4, 1, Received(1, 9)))
    found = check_clients(clients)
    assert found is not None
    assert found.word == word, str(found)
