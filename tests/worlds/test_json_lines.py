"""The channel between processes: framing, limits, and what strangers send."""

import asyncio
import socket
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from lab.worlds.json_lines import (
    LONGEST_LINE,
    MOST_PENDING,
    Channel,
    LineBuffer,
    TooLongError,
    answer_requests,
    to_line,
)


class Question(Struct, tag="question"):
    """A request."""

    number: int


class Answer(Struct, tag="answer"):
    """Its answer."""

    text: str


@given(st.lists(st.binary().map(lambda line: line.replace(b"\n", b""))), st.data())
def test_lines_arrive_whole_however_the_stream_is_cut(lines: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(line + b"\n" for line in lines)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)))))
    buffer = LineBuffer()
    arrived = []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        arrived += buffer.feed(stream[start:end])
    assert arrived == lines


def test_an_endless_line_is_refused() -> None:
    """A line of the greatest length is not."""
    buffer = LineBuffer()
    assert buffer.feed(b"x" * LONGEST_LINE) == []
    assert buffer.feed(b"\n") == [b"x" * LONGEST_LINE]
    with pytest.raises(TooLongError):
        buffer.feed(b"x" * (LONGEST_LINE + 1))


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    """The two sockets of a channel."""
    one, other = socket.socketpair()
    with one, other:
        yield one, other


def test_a_channel_of_a_blocking_socket(ends: tuple[socket.socket, socket.socket]) -> None:
    one, other = ends
    channel = Channel(one)
    channel.send(Question(1))
    assert other.recv(100) == b'{"type":"question","number":1}\n'
    other.sendall(b"one\ntw")
    assert channel.receive() == [b"one"]
    other.sendall(b"o\nthree\n")
    assert channel.receive() == [b"two", b"three"]
    other.close()
    with pytest.raises(EOFError):
        channel.receive()


def test_files_arrive_with_their_message(ends: tuple[socket.socket, socket.socket]) -> None:
    """Two messages with files are never received by one call."""
    one, other = ends
    channel = Channel(one)
    far = Channel(other)
    for number in (1, 2):
        kept, passed = socket.socketpair()
        with kept, passed:
            far.send_files(Question(number), [passed.fileno()])
            kept.sendall(f"{number}".encode())
    for number in (1, 2):
        lines, (descriptor,) = channel.receive_files(1)
        assert lines == [to_line(Question(number))[:-1]]
        with socket.socket(fileno=descriptor) as received:
            assert received.recv(10) == f"{number}".encode()


def test_a_reader_that_does_not_read_costs_limited_memory(ends: tuple[socket.socket, socket.socket]) -> None:
    """Lines beyond the limit are refused; once the reader reads, the others arrive, whole and in order."""
    one, other = ends
    channel = Channel(one)
    one.setblocking(False)
    assert channel.receive() == []
    count = 0
    while channel.put(b"%08d" % count + b"x" * 65536):
        count += 1
    assert (count - 1) * 65536 <= MOST_PENDING <= count * 65545
    assert not channel.flush()
    far, arrived = Channel(other), list[bytes]()
    while len(arrived) < count:
        arrived += far.receive()
        channel.flush()
    assert channel.flush()
    assert [int(line[:8]) for line in arrived] == list(range(count))


def test_writing_to_one_who_has_gone_is_no_error(ends: tuple[socket.socket, socket.socket]) -> None:
    """It shows when reading."""
    one, other = ends
    channel = Channel(one)
    channel.put(b"unread")
    channel.flush()
    other.close()
    channel.put(b"never read")
    assert channel.flush()
    with pytest.raises(EOFError):
        channel.receive()


def test_requests_are_answered_until_an_endless_line() -> None:
    """What is no request gets an answer of its own, and deep nesting exhausts no stack."""

    async def answer(question: Question) -> Answer:
        return Answer(f"{question.number}")

    async def ask() -> list[bytes]:
        ours, its = socket.socketpair()
        reader, writer = await asyncio.open_unix_connection(sock=its, limit=LONGEST_LINE)
        answering = answer_requests(reader, writer, Question, answer, Answer("what?"))
        serving = asyncio.create_task(answering)
        replies, sender = await asyncio.open_unix_connection(sock=ours)
        sender.write(to_line(Question(7)) + b"[" * 100_000 + b"\n" + to_line(Answer("8")) + to_line(Question(9)))
        found = [await replies.readline() for _ in range(4)]
        sender.write(b"x" * (3 * LONGEST_LINE))
        await serving
        sender.close()
        return found

    expected = (Answer("7"), Answer("what?"), Answer("what?"), Answer("9"))
    assert asyncio.run(ask()) == [to_line(each) for each in expected]
