"""Keys of two students and a stranger, a server with the two as its class, and the teacher beside it."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import Struct

from lab.exercises.exercise_reader import find_exercise
from tests.exercises.attempts import run_attempt, solution_of
from tests.serve.forked_servers import fork_shell
from tests.serve.lab_server import Client, Server, new_key
from tests.tui.terminal import Terminal


class School(Struct):
    """A class file, and the keys in it; ``stranger`` is in no list."""

    anna: Path
    ben: Path
    stranger: Path
    class_file: Path


@pytest.fixture(scope="package")
def school(tmp_path_factory: pytest.TempPathFactory) -> School:
    folder = tmp_path_factory.mktemp("school")
    keys = [new_key(folder / name) for name in ("anna", "ben", "stranger")]
    class_file = folder / "class.keys"
    lines = [f"{' '.join(key.with_suffix('.pub').read_text().split()[:2])} {key.name}\n" for key in keys[:2]]
    class_file.write_text("# the class\n\n" + "".join(lines))
    anna, ben, stranger = keys
    return School(anna, ben, stranger, class_file)


@pytest.fixture(scope="package")
def solved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Anna's first attempt at two-coordinators, on processes, solved."""
    exercise = find_exercise("two-coordinators")
    return run_attempt(exercise, solution_of(exercise), tmp_path_factory.mktemp("solved") / "run.jsonl")


@pytest.fixture(scope="module")
def server(school: School, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server for the tests of one file."""
    with Server(
        tmp_path_factory.mktemp("serve") / "data", "--log-ins", "1000", class_file=school.class_file
    ) as serving:
        yield serving


@pytest.fixture
def anna(server: Server, school: School) -> Client:
    return Client(server, school.anna)


class Teacher:
    """Runs ``lab serve COMMANDS`` in terminals, with folders of its own."""

    def __init__(self, server: Server, home: Path, sockets: str) -> None:
        self._server = server
        self._environment = {
            **{f"XDG_{name}_HOME": str(home) for name in ("DATA", "CONFIG", "STATE", "CACHE")},
            "XDG_RUNTIME_DIR": sockets,
        }

    def __call__(self, *words: str) -> Terminal:
        """Run this command beside the server."""
        data = ("--data", str(self._server.data))
        return Terminal("serve", *words, *data, environment=self._environment, start_shell=fork_shell)


@pytest.fixture
def teacher(server: Server, tmp_path: Path) -> Iterator[Teacher]:
    with tempfile.TemporaryDirectory(prefix="lab-") as sockets:  # a short path, as sockets need
        yield Teacher(server, tmp_path, sockets)
