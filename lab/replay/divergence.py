"""Find where two recordings diverge: the first record in which they differ.

Only events are compared. Of the headers, only what determines a run is compared, not when and where it ran.
Keyframes, which only sum up the records before them, are skipped. So is a line that cannot be read, together with
its counterpart in the other recording: its content is unknown. Recordings of different formats are compared step
by step with whole values and all waits.
"""

from bisect import bisect_right
from collections.abc import Callable
from itertools import zip_longest

from msgspec import Struct

from lab.kernel import Step
from lab.recording.reader import RecordStore
from lab.recording.records import Header, decode_fields, differing_fields, encode
from lab.recording.step_fold import StepFold
from lab.recording.timeline import Timeline

_EVERY = 10_000


class Divergence(Struct, frozen=True):
    """The result of a comparison. ``same``: how many records are equal.

    ``one`` and ``other``: the number of the next record in each recording, None at its end.
    """

    same: int
    one: int | None
    other: int | None

    @property
    def diverges(self) -> bool:
        """True if the recordings differ."""
        return self.one is not None or self.other is not None


class RecordingComparison:
    """A comparison of two recordings, a piece at a time. Either may still grow.

    ``same`` records are equal so far; ``divergence`` is None until it is found.
    """

    def __init__(self, one: RecordStore, other: RecordStore) -> None:
        self.one = one
        self.other = other
        self.same = 0
        self.divergence: Divergence | None = None
        self._skipped = 0
        self._folds = None if one.header.format == other.header.format else (StepFold(), StepFold())

    def advance(self, most: int) -> bool:
        """Compare at most ``most`` records; return whether there is nothing more to compare at present."""
        for _ in range(most):
            here, there = self._next(self.one), self._next(self.other)
            if here is None or there is None:
                return True
            if self._is_same(here, there):
                self.same += 1
            elif _is_damaged(self.one, here) | _is_damaged(self.other, there):
                self._skipped += 1
            else:
                self.divergence = Divergence(self.same, here, there)
                return True
        return False

    def so_far(self) -> Divergence:
        """Return the divergence or, if none is found yet, the end of the shorter recording."""
        return self.divergence or Divergence(self.same, self._next(self.one), self._next(self.other))

    def counterpart(self, number: int) -> int | None:
        """Return the number of the same record in the other recording; None after the divergence."""
        place = number - bisect_right(self.one.keyframes, number)
        return None if place > self.same + self._skipped else _number_at(self.other, place)

    def _is_same(self, here: int, there: int) -> bool:
        if self._folds is None:
            return self.one.raw(here) == self.other.raw(there)
        return _whole(self.one, here, self._folds[0]) == _whole(self.other, there, self._folds[1])

    def _next(self, store: RecordStore) -> int | None:
        number = _number_at(store, self.same + self._skipped + 1)
        return number if number < len(store) else None


def find_divergence(
    one: RecordStore, other: RecordStore, progress: Callable[[int], None] = lambda done: None
) -> Divergence:
    """Compare two whole recordings. ``progress`` is called with the number of records done, now and then.

    Lines that were skipped because they cannot be read are in ``damage`` of ``one`` or ``other`` afterwards.
    """
    comparison = RecordingComparison(one, other)
    progress(0)
    while not comparison.advance(_EVERY):
        progress(comparison.same)
    return comparison.so_far()


def lines_that_differ(one: RecordStore, here: int, other: RecordStore, there: int) -> tuple[bytes, bytes]:
    """Return the lines of two records; if they differ in format, both with whole values and all waits."""
    if one.header.format == other.header.format:
        return one.raw(here), other.raw(there)
    sides = ((one, here), (other, there))
    left, right = (_whole(store, at, StepFold(Timeline(store).at(at - 1).nodes.values())) for store, at in sides)
    return left, right


def _whole(store: RecordStore, number: int, fold: StepFold) -> bytes:
    record = store.record(number)
    if record is None:
        return store.raw(number)
    return encode(fold.whole(record) if isinstance(record, Step) else record)


def _number_at(store: RecordStore, place: int) -> int:
    """Return the number of the record at a place in the order without keyframes; the header is at 0."""
    number = place
    while (ahead := place + bisect_right(store.keyframes, number)) != number:
        number = ahead
    return number


def _is_damaged(store: RecordStore, number: int) -> bool:
    store.record(number)
    return number in store.damage


def header_differences(one: Header, other: Header) -> list[tuple[str, str, str]]:
    """Return (name, value in one, value in the other) for the differences in what determines the run.

    These are the world, the protocol, the nodes, the timing, the links and the seed.
    """
    left, right = _run_parameters(one), _run_parameters(other)
    sources = one.protocol.source.splitlines(), other.protocol.source.splitlines()
    for number, (here, there) in enumerate(zip_longest(*sources, fillvalue=""), 1):
        if here != there:
            line = f"the protocol's source, first in line {number}"
            return [*differing_fields(left, right), (line, here.strip(), there.strip())]
    return differing_fields(left, right)


def _run_parameters(header: Header) -> dict[str, object]:
    fields = decode_fields(encode(header))
    protocol = fields["protocol"]
    return {
        "world": fields["world"],
        "protocol": protocol["name"],
        "parameters": protocol["parameters"],
        **{name: fields[name] for name in ("nodes", "timing", "link", "seed")},
    }
