"""Exercises written for a test whose setup names a file of properties."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from lab.exercises.exercise import Exercise
from lab.exercises.exercise_reader import read_exercise
from lab.properties.assertions import ASSERTIONS
from tests.exercises.exercise_files import HEAD, SETUP, write_exercise

PROPERTIES = '''\
from lab.properties import LocalState, Memory, Outcome, over_history


@over_history(noun="term", done="led")
def one_leader_per_term(leaders: Memory, before: LocalState, after: LocalState) -> Outcome:
    """At most one node leads a term, which is a version of the definition."""
    if after.status != "Normal" or after.coordinator != after.id:
        return None
    return leaders.claim(f"term {after.definition.version}", after.id)


@over_history(noun="coordinator", done="elected", short="only the first leads")
def the_first_leads(leaders: Memory, before: LocalState, after: LocalState) -> Outcome:
    """No node leads but the one that led first."""
    if after.status != "Normal" or after.coordinator != after.id:
        return None
    return leaders.claim("the cluster", after.id)
'''
TASKS = """
[[task]]
points = 2
script = "expect no violation one_leader_per_term"

[[task]]
points = 3
reach = "violation the_first_leads under pause"

[[task]]
points = 1
question = "At which record is it violated?"
record = "violation the_first_leads"

[[task]]
points = 1
script = "expect one_leader_per_term\\nexpect violation the_first_leads"
"""


def make_own(folder: Path, tasks: str = TASKS, properties: str = PROPERTIES) -> Exercise:
    """Write an exercise with a file of properties, and read it."""
    folder.mkdir(parents=True)
    (folder / "leading.py").write_text(properties)
    head = HEAD.replace('["A1.1"]', '["one_leader_per_term", "the_first_leads", "A1.1"]')
    setup = SETUP.replace('nodes = "5"', 'properties = "leading.py"\nnodes = "5"')
    return read_exercise(write_exercise(folder, tasks, head=head, setup=setup))


BROKEN = '''\
"""Nodes that hand out tickets."""

from typing import ClassVar

from lab.kernel import Safe, command
from lab.protocols import Algorithm


class Tickets(Algorithm):
    """A node hands out tickets that no other has handed out."""

    workload: ClassVar[tuple[str, ...]] = ("take",)

    count: Safe[int] = 0
    ticket: int = 0

    @command
    def take(self) -> None:
        """Take a ticket."""
        self.count += 1
        self.ticket = self.count
'''
REPAIRED = BROKEN.replace("self.ticket = self.count", "self.ticket = 1000 * self.count + self.id")
TICKETS = '''\
from lab.properties import LocalState, Memory, Outcome, over_history


@over_history(noun="ticket", done="taken")
def no_ticket_twice(taken: Memory, before: LocalState, after: LocalState) -> Outcome:
    """No ticket is taken twice, ever."""
    if after.ticket < 1 or after.ticket == before.ticket:
        return None
    return taken.claim(after.ticket, after.id)
'''
REPAIR_HEAD = """\
title = "Tickets"
kind = "repair"
level = 1
teaches = ["no_ticket_twice"]
repairs = "broken.py"
"""
REPAIR = """\
[[task]]
points = 4
repair = { promises = ["no_ticket_twice"], faults = ["kill"], runs = 20, nodes = [2, 4] }
"""
REPAIR_SETUP = """\
title = "Tickets"
protocol = "broken.py:Tickets"
properties = "ticket_properties.py"
nodes = 3
worlds = ["simulated"]
for = "10s"
---
at 1s: tell 1 2 take
"""


def make_repair(folder: Path) -> Exercise:
    """Write an exercise to repair a protocol, with a file of properties, and read it."""
    folder.mkdir(parents=True)
    (folder / "broken.py").write_text(BROKEN)
    (folder / "ticket_properties.py").write_text(TICKETS)
    return read_exercise(write_exercise(folder, REPAIR, head=REPAIR_HEAD, setup=REPAIR_SETUP))


@contextlib.contextmanager
def assertions_restored() -> Iterator[None]:
    """Forget, at the end, the properties that were loaded in this process meanwhile."""
    before = dict(ASSERTIONS)
    yield
    ASSERTIONS.clear()
    ASSERTIONS.update(before)
