"""Keys of two students and a stranger, and a server with the two as its class, for tests that do not end it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import Struct

from tests.serve.lab_server import Client, Server, new_key


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
