"""Stable storage as a log: what its check finds, and what faults do to it, in memory as in a file."""

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import json

from lab.kernel import Fired, Step, storage
from lab.kernel.storage import (
    DamagedStorageError,
    Write,
    WriteLog,
    contents_of,
    encode_write,
    flip,
    read_log,
    tear,
    unwrite,
)

WRITES = [Write({"version": 1}), Write({}, {"log": ["x", "y"]}), Write({"name": "é"}, {"log": ["z"]})]
DATA = b"".join(map(encode_write, WRITES))
CONTENTS = [
    {},
    {"version": 1},
    {"version": 1, "log": ["x", "y"]},
    {"version": 1, "log": ["x", "y", "z"], "name": "é"},
]


def _contents(data: bytes) -> dict[str, Any]:
    return contents_of(read_log(data)[0])


def test_what_was_written_is_read() -> None:
    assert read_log(DATA) == (WRITES, len(DATA))
    assert _contents(DATA) == CONTENTS[3]
    assert read_log(b"") == ([], 0)


def test_every_flipped_bit_is_found() -> None:
    """In the checksum, the length, the content, or the end of a record: the record is named."""
    ends = [len(b"".join(map(encode_write, WRITES[:count]))) for count in (1, 2, 3)]
    for bit in range(8 * len(DATA)):
        damaged = bytearray(DATA)
        damaged[bit // 8] ^= 1 << bit % 8
        with pytest.raises(DamagedStorageError) as found:
            read_log(bytes(damaged))
        assert found.value.write == 1 + sum(bit // 8 >= end for end in ends), f"bit {bit}"


def test_a_record_torn_at_any_byte_is_discarded() -> None:
    """And no other: the rest is read as it was."""
    lengths = [0, *(len(b"".join(map(encode_write, WRITES[:count]))) for count in (1, 2, 3))]
    for length in range(len(DATA)):
        whole = sum(end <= length for end in lengths) - 1
        assert read_log(DATA[:length]) == (WRITES[:whole], lengths[whole])


def test_storage_without_checksums_is_read() -> None:
    """As versions before this one wrote it; new records follow the old ones."""
    old = b"".join(json.encode(write) + b"\n" for write in WRITES[:2])
    assert _contents(old) == CONTENTS[2]
    assert _contents(old + encode_write(WRITES[2])) == CONTENTS[3]
    assert _contents(old[:-3]) == CONTENTS[1]
    with pytest.raises(DamagedStorageError):
        read_log(old.replace(b'"version"', b'"version'))


@pytest.mark.parametrize(("count", "lost"), [(1, 1), (2, 2), (3, 3), (9, 3)])
def test_undone_writes(count: int, lost: int) -> None:
    """It says how many there were, and what is left of each log."""
    altered = unwrite(DATA, count)
    assert altered is not None
    assert _contents(altered.data) == CONTENTS[3 - lost]
    left = {1: {"log": 2}}.get(lost, {"log": 0})
    assert (altered.lost, altered.left) == (lost, left)
    assert unwrite(b"", 1) is None


def test_a_torn_write() -> None:
    """Its rest is in the file, and is discarded; there is nothing more to tear."""
    altered = tear(DATA)
    assert altered is not None
    assert len(b"".join(map(encode_write, WRITES[:2]))) < len(altered.data) < len(DATA)
    assert _contents(altered.data) == CONTENTS[2]
    assert (altered.lost, altered.left) == (1, {"log": 2})
    assert tear(altered.data) is None
    assert tear(b"") is None


def test_a_flipped_bit() -> None:
    """It is drawn; the same draw gives the same bit."""
    hit = set()
    for seed in range(60):
        altered = flip(DATA, Random(seed))
        assert altered == flip(DATA, Random(seed))
        assert altered is not None
        hit.add(altered.write)
        with pytest.raises(DamagedStorageError) as found:
            read_log(altered.data)
        assert found.value.write == altered.write
    assert hit == {1, 2, 3}
    assert flip(b"", Random(1)) is None
    assert flip(encode_write(WRITES[0])[:-3], Random(1)) is None, "a torn record is discarded anyway"
    torn = tear(DATA)
    assert torn is not None
    flipped = [flip(torn.data, Random(seed)) for seed in range(60)]
    assert {altered.write for altered in flipped if altered is not None} == {1, 2}


def test_the_words_for_the_user() -> None:
    """Which record, and what to do."""
    text = DamagedStorageError(2, 3).describe(5)
    assert text == "its stable storage is damaged: write 2 of 3 fails its check; wipe 5 before you restart it"


# in memory


def _step(stored: dict[str, Any], logged: dict[str, list[Any]]) -> Step:
    return Step(0, 1, 1, Fired("timer"), stored=stored, logged=logged)


_OPERATIONS = st.one_of(
    st.tuples(st.just("write"), st.integers(0, 9)),
    st.tuples(st.just("append"), st.integers(0, 9)),
    st.tuples(st.just("unwrite"), st.integers(1, 4)),
    st.tuples(st.just("tear"), st.just(0)),
    st.tuples(st.just("open"), st.just(0)),
)


@given(st.lists(_OPERATIONS, max_size=30), st.integers(0, 40))
def test_the_storage_in_memory_equals_the_file(operations: list[tuple[str, int]], older: int) -> None:
    """After any writes and faults, however many older writes there are: contents, losses, numbers."""
    log, data = WriteLog(), b""
    for what, value in [*(("append", n) for n in range(older)), *operations, ("open", 0)]:
        if what in ("write", "append", "open"):
            writes, length = read_log(data)
            data = data[:length]
            assert log.open() == contents_of(writes)
        if what in ("write", "append"):
            write = Write({"n": value}) if what == "write" else Write({}, {"log": [value]})
            log.append(_step(write.stored, write.logged))
            data += encode_write(write)
        elif what in ("unwrite", "tear"):
            ours = log.unwrite(value) if what == "unwrite" else log.tear()
            theirs = unwrite(data, value) if what == "unwrite" else tear(data)
            assert (ours is None) == (theirs is None)
            if ours is not None and theirs is not None:
                assert (ours.lost, ours.left) == (theirs.lost, theirs.left)
                data = theirs.data
    ours, theirs = log.flip(Random(1)), flip(data, Random(1))
    assert (ours and (ours.write, ours.bit)) == (theirs and (theirs.write, theirs.bit))


def test_older_writes_together_are_one_record(monkeypatch: pytest.MonkeyPatch) -> None:
    """They keep their contents, and the newest ones their numbers."""
    monkeypatch.setattr(storage, "_SEPARATE", 10)
    log = WriteLog()
    for number in range(99):
        log.append(_step({"n": number}, {"log": [number]}))
    altered = log.unwrite(9)
    assert altered is not None
    assert altered.lost == 9
    assert log.open() == {"n": 89, "log": list(range(90))}
    flipped = log.flip_bit(90, 7)
    assert flipped is not None
    assert flipped.write == 90
    with pytest.raises(DamagedStorageError, match="write 90 of 90 fails its check"):
        log.open()
