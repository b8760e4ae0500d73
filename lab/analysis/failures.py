"""Describe the failures of nodes by errors of their own code: the error, and its place in the user's file."""

import re
from collections.abc import Iterable, Iterator

from lab.kernel import Step
from lab.recording.reader import FileRecords

__all__ = ["failed_steps", "failure_lines"]

_MOST = 5
_CHUNK = 1 << 22
_FRAME = re.compile(r"(\S+):\d+ in \w+: ")


def failed_steps(lines: FileRecords) -> Iterator[Step]:
    """Yield the steps at which nodes failed, without decoding the whole recording."""
    for _, numbers in lines.find((b'"failed":',), _CHUNK):
        for number in numbers:
            record = lines.record(number)
            if isinstance(record, Step) and record.failed:
                yield record


def failure_lines(failed: Iterable[Step], file: str) -> list[str]:
    """Return a line for each of the first failed steps: the error, and the last place in ``file``."""
    steps = list(failed)
    texts = [
        f"node {step.node} failed at {step.at_us / 1e6:.3f} s: {_describe_failure(step.failed, file)}"
        for step in steps[:_MOST]
    ]
    if len(steps) > _MOST:
        texts.append(f"and {len(steps) - _MOST} failures more")
    return texts


def _describe_failure(failed: str, file: str) -> str:
    lines = failed.splitlines()
    places = [number for number, line in enumerate(lines) if _FRAME.match(line)]
    error = " ".join(lines[places[-1] + 1 :] if places else lines)
    own = [lines[number] for number in places if lines[number].startswith(f"{file}:")]
    return f"{error} ({own[-1]})" if own else error
