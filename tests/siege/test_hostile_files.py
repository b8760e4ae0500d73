"""Every command that reads a file, on every hostile file: it ends within five seconds, with a message.

In the profile ``quick``, of the commands that read a file of the same kind, one reads each hostile one.
"""

import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.exercises.exercise_reader import SHIPPED as LIBRARY
from lab.text import sanitize
from tests.cli.invocation import SHIPPED, Called, Lab
from tests.profile import SOAK, amount

LIMIT_S = 5
_LONG, _MANY = amount(quick=10_000_000, soak=100_000_000), amount(quick=1_000_000, soak=10_000_000)
_HEADER = b'{"record":"header","format":1,"program":"lab","run":"'


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(5 << 30)


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        here = os.getcwd()
        os.chdir(path.parent)  # the path of a socket must be short
        made.bind(path.name)
        os.chdir(here)


HOSTILE: dict[str, Callable[[Path], object]] = {
    "pipe": os.mkfifo,
    "endless device": lambda path: path.symlink_to("/dev/zero"),
    "folder": Path.mkdir,
    "sparse": _sparse,
    "empty": Path.touch,
    "binary": lambda path: path.write_bytes(bytes(range(256)) * 1_000),
    "escapes": lambda path: path.write_bytes(b"\x1b]0;owned\x07\x1b[2J\xc2\x9b31m\n\xe2\x80\xae" * 9),
    "deeply nested": lambda path: path.write_bytes(b'{"record":"header","format":1,"x":' + b"[" * 1_000_000),
    "one long line": lambda path: path.write_bytes(_HEADER + b"a" * _LONG + b'"}'),
    "many short lines": lambda path: path.write_bytes(b"1\n" * _MANY),
    "dangling link": lambda path: path.symlink_to("nowhere"),
    "link to itself": lambda path: path.symlink_to(path.name),
    "socket": _socket,
}

_SHORT = ("--headless", "--for", "100ms", "--sim")
COMMANDS: dict[str, tuple[str, ...]] = {
    ".jsonl": (
        *("show F", "verify F", "history F", "export F --to text --out new.txt", "replay F", "branches F"),
        *("branch F --at 1s --do heal --for 1s --record new.jsonl", "diff F S", "diff S F", "scenario from F"),
        *("exercise grade F", "exercise grade inbox", "replay S --compare F", "convert F"),
    ),
    ".scenario": ("scenario check F", "scenario check inbox", "scenario show F", "run F --headless"),
    ".py": (
        *("run F SHORT", "run bully --properties F SHORT", "verify S --properties F", "verify S --protocol F"),
        *("check F --runs 1", "explore F", "mutate F", "mutate bully --properties F", "scale F"),
        *("compare F bully", "list protocols F", "exercise grade F --exercise mend-the-bully"),
        "scenario check inbox/own.scenario",
    ),
    ".script": ("run bully --script F SHORT", "compare bully ring --runs 1 --workers 1 --script F"),
    ".keys": ("serve --class F --listen 203.0.113.1 --port 0",),
    ".schedule.json": ("check bully --runs 1 --workers 1 --corpus inbox",),
    "exercise.toml": ("exercise show ./inbox", "exercise check ./inbox", "exercise list --exercises ."),
    "instructions.md": ("exercise show ./inbox", "exercise check ./inbox"),
    "setup.scenario": ("exercise show ./inbox", "exercise check ./inbox"),
}
"""By the end of the file's name. ``F`` is the file, ``inbox`` its folder, ``S`` a sound recording."""

SCENARIO = """\
title = "A scenario of a stranger's"
protocol = "made.py"
properties = "made.py"
for = "1s"
---
kill 5
"""


def _arguments(command: str, file: str) -> tuple[str, ...]:
    replaced = {"F": (file,), "S": (str(SHIPPED),), "SHORT": _SHORT}
    return tuple(word for each in command.split() for word in replaced.get(each, (each,)))


def _mistake(done: Called) -> str:
    """Return what is wrong with how a command has ended; empty if nothing is."""
    if done.status in (-signal.SIGALRM, -signal.SIGXCPU, -signal.SIGKILL):
        return f"takes longer than {LIMIT_S} s"
    if done.status not in (0, 1, 2):
        return f"ends with status {done.status}"
    if "Traceback" in done.err + done.out:
        return f"has a traceback: {done.err.splitlines()[-1]}"
    if done.status and not done.err + done.out:
        return "gives no reason"
    if any(sanitize(text) != text.replace("\n", " ").replace("\t", " ") for text in (done.out, done.err)):
        return "prints control characters"
    return "" if len(done.err) < 2_000 else f"has a message of {len(done.err):,} characters"


def _commands(suffix: str, kind: str) -> tuple[str, ...]:
    commands = COMMANDS[suffix]
    one_in = 1 if SOAK else len(commands)
    return commands[list(HOSTILE).index(kind) % one_in :: one_in]


@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.parametrize("suffix", COMMANDS)
def test_hostile_files(lab: Lab, kind: str, suffix: str) -> None:
    """The file is refused, or read as far as it makes sense."""
    inbox = lab.folder / "inbox"
    inbox.mkdir()
    if suffix == ".py":
        (inbox / "own.scenario").write_text(SCENARIO)
    for name in ("exercise.toml", "instructions.md", "setup.scenario"):
        if not suffix.startswith("."):
            (inbox / name).write_bytes((LIBRARY / "first-election" / name).read_bytes())
    file = inbox / (f"made{suffix}" if suffix.startswith(".") else suffix)
    file.unlink(missing_ok=True)
    HOSTILE[kind](file)
    found = []
    for command in _commands(suffix, kind):
        words = _arguments(command, str(file.relative_to(lab.folder)))
        if mistake := _mistake(lab(*words, limit_s=LIMIT_S)):
            found.append(f"lab {command} on a file that is {kind}: {mistake}")
    assert not found, "\n".join(found)
