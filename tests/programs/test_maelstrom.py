"""Maelstrom's protocol: lines of a program, and the messages that they stand for."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from lab.kernel import Message
from lab.protocols.maelstrom import Maelstrom, NotAMessageError, body_of, kind_of


def _line(source: str, target: str, **body: Any) -> str:
    return json.dumps({"src": source, "dest": target, "body": body})


def _message(source: int, target: int, serial: int, body: Raw, kind: str = "Echo") -> Message:
    return Message(source, target, serial, kind, body)


def test_the_first_line_names_the_node_and_all_nodes() -> None:
    """Maelstrom's init, from a client that nobody else is."""
    line = json.loads(Maelstrom(2, (1, 2, 7)).init_line())
    assert line == {
        "src": "c0",
        "dest": "n2",
        "body": {"type": "init", "msg_id": 1, "node_id": "n2", "node_ids": ["n1", "n2", "n7"]},
    }


def test_a_message_keeps_its_body_byte_for_byte() -> None:
    """Numbers that no other language writes so, blanks, any order of keys, and characters beyond ASCII."""
    body = '{"b": 1.50,  "type":"echo","a":12345678901234567890123,"é":"\\u00e9"}'
    written = Maelstrom(1, (1, 2)).read(f'{{"src":"n1","dest":"n2","body":{body}}}')
    assert (written.target, written.kind, bytes(written.encoded).decode()) == (2, "Echo", body)
    line = Maelstrom(2, (1, 2)).message_line(_message(1, 2, 9, written.encoded))
    assert line == f'{{"src":"n1","dest":"n2","body":{body}}}'


def test_an_answer_names_the_request_that_it_answers() -> None:
    """By the msg_id of the request and its sender; msg_ids of two senders are two numbers."""
    talk = Maelstrom(1, (1, 2, 3))
    for source, serial in ((2, 40), (3, 50)):
        talk.message_line(_message(source, 1, serial, Raw(b'{"type":"read","msg_id":7}')))
    assert talk.read(_line("n1", "n3", type="read_ok", in_reply_to=7)).reply_to == 50
    assert talk.read(_line("n1", "n2", type="read_ok", in_reply_to=7)).reply_to == 40
    assert talk.read(_line("n1", "n2", type="read_ok", in_reply_to=8)).reply_to == 0


def test_a_message_passed_on_keeps_its_sender() -> None:
    """As Raft nodes pass a client's request on to the leader: the leader answers the client."""
    first, leader = Maelstrom(1, (1, 2)), Maelstrom(2, (1, 2))
    written = first.read(_line("c1", "n2", type="write", msg_id=3))
    assert (written.target, written.kind) == (2, "Write")
    passed_on = _message(1, 2, 5, written.encoded, "Write")
    assert body_of(passed_on) == {"type": "write", "msg_id": 3}
    assert json.loads(leader.message_line(passed_on)) == json.loads(_line("c1", "n2", type="write", msg_id=3))


def test_requests_are_not_remembered_for_ever() -> None:
    """A program that never answers fills no memory; the newest requests are known."""
    talk = Maelstrom(1, (1, 2))
    for number in range(12_000):
        talk.message_line(_message(2, 1, number + 1, Raw(b'{"type":"read","msg_id":%d}' % number)))
    assert talk.read(_line("n1", "n2", type="read_ok", in_reply_to=11_999)).reply_to == 12_000
    assert talk.read(_line("n1", "n2", type="read_ok", in_reply_to=1_999)).reply_to == 0
    assert talk.read(_line("n1", "n2", type="read_ok", in_reply_to=2_000)).reply_to == 2_001


@pytest.mark.parametrize(
    ("type_", "kind"),
    [
        ("request_vote", "RequestVote"),
        ("RequestVote", "RequestVote"),
        ("read_ok", "ReadOk"),
        ("read-ok", "ReadOk"),
        ("a b.c", "ABC"),
        ("", "Message"),
        ("3x", "Message3x"),
        (None, "None"),
        ("é", "Message"),
        ("x" * 99, "X" + "x" * 39),
    ],
)
def test_kinds_can_be_named_in_scripts(type_: object, kind: str) -> None:
    """One word of letters and digits that begins with a capital letter, whatever the program writes."""
    assert kind_of({"type": type_}) == kind


def test_a_message_without_a_type_has_a_kind() -> None:
    """Nodes may say to each other what they like."""
    assert kind_of({}) == "Message"


@pytest.mark.parametrize(
    "line",
    [
        "",
        "hello",
        "[]",
        "{}",
        "3",
        '{"src": "n1", "dest": "n2"}',
        '{"src": "n1", "dest": "n2", "body": 3}',
        '{"src": 1, "dest": "n2", "body": {}}',
        '{"src": "n1", "dest": "n2", "body": {}, "more": 1}',
        '{"src": "n1", "dest": "n2", "body": {}',
        "[" * 100_000,
        '{"src":"n1","dest":"n2","body":' + '{"a":' * 5_000 + "1" + "}" * 5_001,
    ],
)
def test_other_lines_are_no_messages(line: str) -> None:
    """The error quotes the beginning of the line, and shows what was expected."""
    with pytest.raises(NotAMessageError, match=r"^not a message: .*expected a line such as") as error:
        Maelstrom(1, (1, 2)).read(line)
    assert len(str(error.value)) < 400


@given(st.text(max_size=200) | st.binary(max_size=200).map(lambda data: data.decode("utf-8", "replace")))
def test_no_line_does_more_than_that(line: str) -> None:
    """Whatever a program writes, it is a message, or it is told what was expected."""
    with suppress(NotAMessageError):
        assert Maelstrom(1, (1, 2)).read(line).kind
