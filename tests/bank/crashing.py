"""Runs of one transaction in which nodes crash at chosen steps, and the conditions once all nodes are back.

A crash strikes at a step of the run, counted from the command on, after a given number of the step's messages has
been sent. Nothing happens to a node between two of its steps, so these are all possible crashes.
"""

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from lab.kernel import CommandInput, Fired, Received, Step
from lab.properties.judge import Judge
from lab.properties.verdicts import Violation
from lab.protocols import Algorithm
from lab.recording.records import Record
from tests.harness import T_US, Rig

__all__ = ["AT_ONCE_US", "LATER_US", "Crash", "Crashed", "every_run", "second_crashes"]

AT_ONCE_US = 0
LATER_US = 12 * T_US
"""By then all that wait for a node that is down have asked everybody; or elected another, and ended it."""

_NODES = (1, 2, 3)
_CENTS = 3 * 1000 * 100
_OVER_WITHIN_US = 100 * T_US
_GOES_ON_US = 10 * T_US


class Crash(NamedTuple):
    """A crash at ``step`` after ``sent`` of its messages; the node restarts ``away_us`` later."""

    step: int
    sent: int
    away_us: int


class Crashed(Rig):
    """A run of three nodes with a ``command`` to one of them and ``crashes``, in the order of their steps.

    ``course`` holds the steps from the command until all nodes are up and nothing of the transaction is left.
    """

    def __init__(self, protocol: type[Algorithm], command: str, crashes: tuple[Crash, ...] = ()) -> None:
        super().__init__(_NODES, protocol=protocol)
        self.tried, self.command, self.crashes = protocol, command, crashes
        self.course: list[Step] = []
        self._to_come = {crash.step: crash for crash in crashes}
        self._coordinator = int(command.split()[1])
        self._is_under_way = False
        self.started().run(_GOES_ON_US)
        self._is_under_way = True
        self.do(command)
        end_us = self.now_us + _OVER_WITHIN_US
        while not self._is_over() and (self.next_us() or end_us) < end_us:
            self.step()
        assert not self._to_come, f"the run has no such step: {self._to_come}"
        self._is_under_way = False
        self.run(_GOES_ON_US)

    def record(self, record: Record) -> None:
        """Record it; if it is a step with a crash, crash the node."""
        super().record(record)
        if self._is_under_way and isinstance(record, Step):
            crash = self._to_come.pop(len(self.course), None)
            self.course.append(record)
            if crash is not None:
                self._crash(record, crash)

    def _crash(self, step: Step, crash: Crash) -> None:
        left = step.sent[: crash.sent]
        if left:
            alike = [each for each in left if (each.kind, each.target) == (left[-1].kind, left[-1].target)]
            self.do(f"on send {left[-1].kind} {step.node}->{left[-1].target} #{len(alike)} kill {step.node}")
        else:
            self.do(f"kill {step.node}")
        self.do(f"at {self.now_us + crash.away_us}us restart {step.node}")

    def _is_over(self) -> bool:
        return not self._to_come and len(self.incarnations) == len(_NODES) and not any(self._left())

    def _left(self) -> Iterator[str]:
        for node, view in self.cluster.nodes.items():
            for name in ("open", "locks", "work"):
                if view.state[name]:
                    yield f"{node} has {name} left: {view.state[name]}"

    def places(self, begin: int) -> Iterator[tuple[int, int]]:
        """Yield (step, number of messages sent) for all possible crashes from the step ``begin`` on."""
        for place, step in enumerate(self.course[begin:], begin):
            yield from ((place, sent) for sent in range(len(step.sent) + 1))

    def struck(self, place: int) -> tuple[str, str]:
        """Return the step's input and the node's role."""
        step = self.course[place]
        role = "coordinator" if step.node == self._coordinator else "participant"
        match step.input:
            case Received(source, serial):
                return self.messages[source, serial].kind, role
            case Fired(procedure):
                return procedure.partition(" ")[0], role
            case CommandInput(command):
                return command, role
            case _:
                return "started", role

    # what must hold

    @property
    def logs(self) -> dict[int, list[tuple[str, tuple[int, ...]]]]:
        """Return the log entries of each node with their participants."""
        return {
            node: [(entry["what"], tuple(entry.get("participants", ()))) for entry in view.state["log"]]
            for node, view in self.cluster.nodes.items()
        }

    @property
    def committed(self) -> bool:
        return any(what == "committed" for log in self.logs.values() for what, _ in log)

    def faults(self) -> list[str]:
        """Return all violated conditions; there is none if everything has ended well."""
        down = [f"{node} is down" for node in _NODES if node not in self.incarnations]
        broken = [f"{name}: {text}" for name, text in self.broken().items()]
        judged = [f"{violation.assertion}: {violation.text}" for violation in self.violations()]
        return [*down, *self._left(), *broken, *judged]

    def broken(self) -> dict[str, str]:
        """Return the violations of A6, A7 and A8 in the final logs and balances."""
        found = {}
        logs = self.logs
        transaction_ends = {node: [what for what, _ in log] for node, log in logs.items()}
        participants = {node for log in logs.values() for _, named in log for node in named}
        if self.committed and any("aborted" in ends for ends in transaction_ends.values()):
            found["A6"] = f"{transaction_ends}"
        if self.committed and any("prepared" not in transaction_ends[node] for node in participants):
            found["A7"] = f"{transaction_ends}"
        states = [view.state for view in self.cluster.nodes.values()]
        cents = sum(state["cash_out"] + sum(cents for _, cents in state["balances"]) for state in states)
        if cents != _CENTS:
            found["A8"] = f"{cents} cents"
        return found

    def violations(self) -> list[Violation]:
        """Return the judge's violations over all states of the run."""
        judge = Judge(self.header)
        for record in self.records:
            judge.observe(record)
        return judge.violations


def every_run(protocol: type[Algorithm], command: str) -> Iterator[Crashed]:
    """Yield the run without a crash, and all runs with one."""
    run = Crashed(protocol, command)
    yield run
    yield from _with_another_crash(run, run.places(0))


def second_crashes(run: Crashed, one_in: int) -> Iterator[Crashed]:
    """Yield runs with the crash of this run and one at a later step; of those places one in ``one_in``."""
    for crash in run.crashes:
        places = islice(run.places(crash.step + 1), (crash.step + crash.sent) % one_in, None, one_in)
        yield from _with_another_crash(run, places)


def _with_another_crash(run: Crashed, places: Iterator[tuple[int, int]]) -> Iterator[Crashed]:
    for step, sent in places:
        for away_us in (AT_ONCE_US, LATER_US):
            yield Crashed(run.tried, run.command, (*run.crashes, Crash(step, sent, away_us)))
