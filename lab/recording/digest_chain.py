"""The chain of a recording that is handed in: its keyframes and its end have the digest of all lines before them.

So a line that was changed, put in or taken out afterwards shows in the next of these. Against who makes the
digests anew it is no help: nothing in a file can be. Recordings of other runs have none, as digests would cost a
twentieth of a simulation.
"""

import hashlib

from lab.recording.records import Header

__all__ = ["KEYFRAME_EVERY", "Chain"]

KEYFRAME_EVERY = 1000
_DIGITS = 16


class Chain:
    """Shown the lines of a recording in their order, each with its newline: ``count`` of them, ``size`` bytes.

    ``keyframe_at`` is where the last keyframe begins, or 0. ``is_keyframe_due``: the next line is to be one. Of
    hundreds of nodes they are large, and come less often: they are never more than half of the file.
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
        """That of all lines by now; empty where the run is of no exercise."""
        return "" if self._hash is None else self._hash.hexdigest()[:_DIGITS]

    def add(self, line: bytes, is_keyframe: bool = False) -> None:
        """The next line."""
        if is_keyframe:
            self.keyframe_at, self._keyframe_size = self.size, len(line)
        if self._hash is not None:
            self._hash.update(line)
        self.count += 1
        self.size += len(line)
        self.is_keyframe_due = (
            self.count % KEYFRAME_EVERY == 0 and self.size - self.keyframe_at >= 2 * self._keyframe_size
        )
