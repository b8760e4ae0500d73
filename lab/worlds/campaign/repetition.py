"""Execute runs a second time, in a process with another hash seed, and compare them.

What a user's protocol does may depend on the order of a set of strings, on an address, or on what an earlier run
left behind. Then no recording of it can be re-executed, and no finding shrunk.
"""

import contextlib
import os
import pickle
import subprocess
import sys
from collections.abc import Sequence

from lab.kernel import Step
from lab.recording.records import Header, decode, decode_fields, differing_fields, encode
from lab.text import UserError
from lab.units import format_us
from lab.worlds.campaign.schedule import Schedule
from lab.worlds.campaign.trial import run_trial
from lab.worlds.loading.targets import load_protocol


class NotDeterministicError(UserError):
    """A run was not the same when it was executed again; the text is for the user."""


def require_repeatable(target: str, base: Header, schedules: Sequence[Schedule]) -> None:
    """Execute these runs in two processes. Raises NotDeterministicError if they differ.

    If both processes die, nothing is said: the campaign's own workers will die as well, and it reports that.
    """
    job = pickle.dumps((target, base, tuple(schedules)))
    one, other = (_begin(hash_seed, job) for hash_seed in ("1", "2"))
    found, again = _runs_of(one), _runs_of(other)
    if found is None and again is None:
        return
    if found is None or again is None:
        raise NotDeterministicError("not deterministic: executed twice, it ended its process once")
    for schedule, lines, others in zip(schedules, found, again, strict=True):
        difference = _difference(lines, others)
        if difference:
            raise NotDeterministicError(f"not deterministic: in the run with seed {schedule.seed}, {difference}")


def _begin(hash_seed: str, job: bytes) -> "subprocess.Popen[bytes]":
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "lab.worlds.campaign.repetition"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
    )
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError), process.stdin as channel:
        channel.write(job)
    process.stdin = None
    return process


def _runs_of(process: "subprocess.Popen[bytes]") -> list[list[bytes]] | None:
    """Return the records of the runs, as lines; None if the process died."""
    out, _ = process.communicate()
    found: list[list[bytes]] | None = None if process.returncode else pickle.loads(out)
    return found


def _difference(lines: list[bytes], again: list[bytes]) -> str:
    """Return what differs first; empty if nothing does."""
    steps = 0
    for line, other in zip(lines, again, strict=False):
        record = decode(line)
        steps += isinstance(record, Step)
        if line == other:
            continue
        if not isinstance(record, Step):
            return f"what follows step {steps} differs when it is executed again"
        parts = differing_fields(decode_fields(line), decode_fields(other))
        what = "; ".join(f"{name}: {one}, then {two}" for name, one, two in parts)
        when = format_us(round(record.at_us, -3))
        return (
            f"step {steps}, of node {record.node} at {when}, differs when it is executed again: {what}. It "
            "depends on something else than state and messages, such as the order of a set of strings or a value "
            "kept outside of the declared fields"
        )
    return "" if len(lines) == len(again) else "the number of steps differs when it is executed again"


def _execute_again() -> None:
    """Execute the runs described on standard input; write their records to standard output."""
    target, base, schedules = pickle.load(sys.stdin.buffer)  # from this program's own process
    out = os.dup(1)
    os.dup2(2, 1)  # a user's print goes to standard error
    protocol = load_protocol(target)
    runs = [run_trial(protocol, base, schedule, extend=False).records for schedule in schedules]
    with os.fdopen(out, "wb") as channel:
        pickle.dump([[encode(record) for record in records] for records in runs], channel)


if __name__ == "__main__":
    _execute_again()
