"""What is said of nodes that failed by an error of their own code: which error, and where in the user's file."""

import re
from collections.abc import Iterable, Iterator

from lab.kernel import Step
from lab.recording.reader import FileRecords

__all__ = ["failed_steps", "failure_lines"]

_MOST = 5
_CHUNK = 1 << 22
_FRAME = re.compile(r"(\S+):\d+ in \w+: ")


def failed_steps(lines: FileRecords) -> Iterator[Step]:
    """The steps at which nodes failed, found without decoding the whole recording."""
    for _, numbers in lines.find((b'"failed":',), _CHUNK):
        for number in numbers:
            record = lines.record(number)
            if isinstance(record, Step) and record.failed:
                yield record


def failure_lines(failed: Iterable[Step], file: str) -> list[str]:
    """A line for each of the first steps that failed: the error, and the last place in ``file`` that led to it."""
    steps = list(failed)
    told = [
        f"node {step.node} failed at {step.at_us / 1e6:.3f} s: {_told(step.failed, file)}"
        for step in steps[:_MOST]
    ]
    if len(steps) > _MOST:
        told.append(f"and {len(steps) - _MOST} failures more")
    return told


def _told(failed: str, file: str) -> str:
    lines = failed.splitlines()
    places = [number for number, line in enumerate(lines) if _FRAME.match(line)]
    error = " ".join(lines[places[-1] + 1 :] if places else lines)
    own = [lines[number] for number in places if lines[number].startswith(f"{file}:")]
    return f"{error} ({own[-1]})" if own else error
