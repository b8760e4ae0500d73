"""A digest chain for recordings of exercises: each keyframe, and the end, hold the digest of all earlier lines.

A line that is changed, inserted or removed later shows in the next digest. The chain does not protect against
somebody who recomputes the digests; nothing inside a file can. Recordings of other runs have no digests, which
would cost a twentieth of the time of a simulation.
"""

import hashlib

from lab.recording.records import Header

__all__ = ["KEYFRAME_EVERY", "Chain"]

KEYFRAME_EVERY = 1000
_DIGITS = 16


class Chain:
    """The lines added so far, each with its newline: ``count`` lines, ``size`` bytes.

    ``keyframe_at`` is the offset of the last keyframe, or 0. ``is_keyframe_due``: the next line must be a
    keyframe. Keyframes of hundreds of nodes are large and come less often, so that they never take more than half
    of the file.
    """

    def __init__(self, header: Header) -> None:
        self.count = 0
        self.size = 0
        self.keyframe_at = 0
        self.is_keyframe_due = False
        self._keyframe_size = 0
        self._hash = None if header.exercise is None else hashlib.sha256()

    @property
    def digest(self) -> str:
        """Digest of all lines so far; empty if the run belongs to no exercise."""
        return "" if self._hash is None else self._hash.hexdigest()[:_DIGITS]

    def add(self, line: bytes, is_keyframe: bool = False) -> None:
        """Add the next line."""
        if is_keyframe:
            self.keyframe_at, self._keyframe_size = self.size, len(line)
        if self._hash is not None:
            self._hash.update(line)
        self.count += 1
        self.size += len(line)
        self.is_keyframe_due = (
            self.count % KEYFRAME_EVERY == 0 and self.size - self.keyframe_at >= 2 * self._keyframe_size
        )
