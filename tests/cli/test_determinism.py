"""A user's protocol that is not a function of its inputs: refused when it is loaded, or found by running twice."""

import re
import textwrap

import pytest

from tests.cli.invocation import Lab

ODD = """{head}
from lab.kernel import Payload, on, procedure
from lab.protocols import Algorithm


class Seen(Payload, frozen=True):
    text: str


class Odd(Algorithm):
    words: str = ""
    count: int = 0

    def started(self) -> None:
        self.begin(self.talk)

    @procedure
    async def talk(self) -> None:
        while self.count < 5:
            await self.sleep(100_000, "the next word")
            self.count += 1
            {body}

    @on(Seen)
    def on_seen(self, sender: int, message: Seen) -> None:
        pass
"""
LINE = 22


def _write(lab: Lab, body: str, head: str = "") -> None:
    text = textwrap.indent(body, " " * 12).lstrip()
    (lab.folder / "odd.py").write_text(ODD.format(head=head, body=text))


@pytest.mark.parametrize(
    ("head", "body", "text"),
    [
        (
            "import random",
            "self.words = str(random.random())",
            "random.random is not the same in every execution: use se",
        ),
        (
            "from random import uniform",
            "uniform(1, 2)",
            "uniform is not the same in every execution: use self.random",
        ),
        ("import random as r", "r.choice([1])", "r.choice is not the same in every execution: use self.random"),
        (
            "import time",
            "time.time()",
            "time.time is not the same in every execution: use self.now_us, the time of",
        ),
        (
            "from datetime import datetime",
            "datetime.now()",
            "datetime.now is not the same in every execution: use",
        ),
        ("import os", "os.getpid()", "os.getpid is not the same in every execution: use self.id"),
        (
            "import threading",
            "threading.Thread(target=print)",
            "threading.Thread is not the same in every execution: a",
        ),
        (
            "",
            "self.words = str(id(self))",
            "id() is not the same in every execution: it is the address of an object",
        ),
        ("", "open('x')", "open() is not the same in every execution: a node keeps what it must not forget in"),
        (
            "SEEN = []",
            "SEEN.append(1)",
            "SEEN in the module outlives a crash of the node, and is shared by the nodes",
        ),
        (
            "",
            "Odd.total = 1",
            "Odd.total outlives a crash of the node, and is shared by the nodes of a simulation: de",
        ),
        ("", "type(self).total = 1", "type(self).total outlives a crash of the node, and is shared by the nodes"),
        ("", "__import__('random')", "__import__() is not the same in every execution: import it at the top"),
        ("SEEN = {}", "SEEN[1] = 2", "SEEN in the module outlives a crash of the node"),
        ("SEEN = 0", "global SEEN\nSEEN += 1", "SEEN in the module outlives a crash of the node"),
        ("", "self.__dict__['x'] = 1", "what is kept in __dict__ is not recorded: declare a field"),
        (
            "",
            "object.__setattr__(self, 'x', 1)",
            "what is set by object.__setattr__ is not recorded: declare a field",
        ),
    ],
)
@pytest.mark.parametrize("command", ["run", "check", "explore"])
def test_it_is_refused_when_it_is_loaded(lab: Lab, head: str, body: str, text: str, command: str) -> None:
    """With the line, and what to use instead; by each command."""
    _write(lab, body, head)
    words = ("--sim", "--headless", "--for", "1s") if command == "run" else ()
    line = lab(command, "odd.py", *words).refused()
    assert re.match(rf"odd\.py:{LINE}: {re.escape(text)}", line), line


def test_what_is_allowed(lab: Lab) -> None:
    """Own lists, a method of a class, a seeded generator, a clock in a script's own part, and self.random."""
    body = "seen = []\nseen.append(1)\nSum.add(1)\n"
    body += "self.words = str(random.Random(3).random() + self.random.randint(1, 6))"
    sums = "class Sum:\n    @staticmethod\n    def add(number):\n        return number"
    _write(lab, body, f"import random\nimport time\n\nBEGAN = time.time()\nKNOWN = {{1: 2}}\n\n{sums}")
    done = lab.fresh("check", "odd.py", "--runs", "3")
    assert done.status == 0, done


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ('self.words = "".join({"alpha", "beta", "gamma", "delta"})', r'"words":"[a-z]+","count":1\}, then \{'),
        ("self.words = repr(object())", r'"words":"<object object at '),
    ],
)
def test_it_is_reported_when_it_runs_twice(lab: Lab, body: str, what: str) -> None:
    """The order of a set of strings, and an address: the second process has another hash seed."""
    _write(lab, body)
    done = lab.fresh("check", "odd.py", "--runs", "3")
    assert done.status != 0
    assert re.match(
        r"not deterministic: in the run with seed 1, step \d+, of node \d at 100ms, differs when it is execu",
        done.line(),
    )
    assert re.search(what, done.line())


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ('self.send(99, Seen("x"))', "there is no node 99 to send to; the nodes are 1 2 3"),
        ('await self.sleep(-5, "a")', "us is -5: nothing can wait for less than no time"),
        ('await self.sleep(1.5, "a")', "us is 1.5: write a whole number of microseconds, such as round"),
        ("self.words = 3", "Odd.words is 3, and is declared as str"),
        ('self.words = float("nan")', "Odd.words is nan, which differs from itself"),
    ],
)
def test_a_value_that_means_nothing(lab: Lab, body: str, error: str) -> None:
    """It fails its node, with the line of the user's file unless it is found at the end of the step."""
    _write(lab, body)
    done = lab("run", "odd.py", "--nodes", "3", "--sim", "--headless", "--for", "1s")
    assert done.status == 1
    place = "" if error.startswith("Odd.") else rf".* \(odd\.py:{LINE} in talk"
    assert re.search(rf"ProtocolError: {re.escape(error)}{place}", done.err), done.err
    assert "Traceback" not in done.err


def test_an_instant_that_changes(lab: Lab) -> None:
    """A periodic procedure that is due at another time whenever it is asked for fails its node."""
    (lab.folder / "odd.py").write_text(
        "import itertools\n"
        "from lab.kernel import periodic\n"
        "from lab.protocols import Algorithm\n"
        "class Odd(Algorithm):\n"
        "    ticks = itertools.count()\n"
        "    beaten: int = 0\n"
        "    def due_us(self):\n"
        "        return self.begun_us(self.beat) + 100_000 + next(self.ticks)\n"
        "    @periodic(due_us)\n"
        "    async def beat(self):\n"
        "        self.beaten += 1\n"
    )
    done = lab("run", "odd.py", "--nodes", "2", "--sim", "--headless", "--for", "1s")
    assert done.status == 1
    assert "ProtocolError: beat was due at 10" in done.err
    assert "compute the instant from the state alone" in done.err
    assert "DriverError" not in done.out + done.err


def test_an_endless_import(lab: Lab) -> None:
    (lab.folder / "odd.py").write_text("while True:\n    pass\n")
    line = lab("run", "odd.py").refused()
    assert re.match(r"odd\.py:[12]: TimeoutError: the file was not loaded within 3 s of computing", line)
