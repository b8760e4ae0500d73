"""Execute runs a second time, in a process with another hash seed, and compare them.

What a user's protocol does may depend on the order of a set of strings, on an address, or on what an earlier run
left behind. Then no recording of it can be re-executed, and no finding shrunk.
"""

import os
import pickle
import subprocess
import sys
from collections.abc import Sequence

from lab.kernel import Step
from lab.recording.records import Header, Record, decode_fields, differing_fields, encode
from lab.text import UserError
from lab.units import format_us
from lab.worlds.campaign.campaign import run_trial
from lab.worlds.campaign.schedule import Schedule
from lab.worlds.loading.targets import load_protocol


class NotDeterministicError(UserError):
    """A run was not the same when it was executed again; the text is for the user."""


def require_repeatable(target: str, base: Header, schedules: Sequence[Schedule]) -> None:
    """Execute these runs here and in another process. Raises NotDeterministicError if they differ."""
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "lab.worlds.campaign.repetition"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONHASHSEED": _other_hash_seed()},
    )
    assert process.stdin is not None
    with process.stdin as channel:
        pickle.dump((target, base, tuple(schedules)), channel)
    protocol = load_protocol(target)
    mine = [run_trial(protocol, base, schedule, extend=False).records for schedule in schedules]
    process.stdin = None
    out, errors = process.communicate()
    if process.returncode:
        last = errors.decode(errors="replace").strip().rpartition("\n")[2]
        raise NotDeterministicError(f"not deterministic: executed again, in another process, it fails: {last}")
    others: list[list[bytes]] = pickle.loads(out)  # it comes from this program's own process
    for schedule, records, again in zip(schedules, mine, others, strict=True):
        difference = _difference(records, again)
        if difference:
            raise NotDeterministicError(f"not deterministic: in the run with seed {schedule.seed}, {difference}")


def _other_hash_seed() -> str:
    return "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"


def _difference(records: list[Record], again: list[bytes]) -> str:
    """Return what differs first; empty if nothing does."""
    steps = 0
    for record, other in zip(records, again, strict=False):
        steps += isinstance(record, Step)
        line = encode(record)
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
    return "" if len(records) == len(again) else "the number of steps differs when it is executed again"


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
