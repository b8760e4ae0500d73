"""Resolving lines in records to the source of a protocol: files, functions, handlers."""

import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from lab.kernel import Step, Wait
from lab.protocols import PROTOCOLS, TASKS, Bully, Field, files_in, files_of, find_protocol, source_of, stacked
from lab.recording.reader import open_recording
from lab.recording.records import ProtocolInfo
from lab.replay.source_listing import Listing
from tests.harness import simulated_header

ROOT = Path(__file__).parents[2] / "recordings"
RECORDED = [ROOT / "two-coordinators.jsonl", *sorted((ROOT / "scenarios").glob("*.jsonl"))]
FIELD = stacked(Field, Bully)
EVERY = [*PROTOCOLS.values(), *map(find_protocol, TASKS)]


def _listing(source: str, file: str = "mine.py") -> Listing:
    return Listing(ProtocolInfo("mine", {}, file, source))


def _of(listing: Listing, name: str) -> int:
    """Return the line of the only ``await`` in that function."""
    function = listing.named(name)[0]
    return next(n for n in range(function.line, function.last + 1) if "await" in listing.lines[n - 1])


@pytest.mark.parametrize("protocol", EVERY, ids=lambda each: each.name)
def test_a_source_is_split_into_its_files(protocol: type) -> None:
    """With their names, their texts, and their offsets."""
    name, source = source_of(protocol)
    found, installed_protocol = files_in(name, source), files_of(protocol)
    assert [(each.name, each.before) for each in found] == [
        (each.name, each.before) for each in installed_protocol
    ]
    assert [each.text for each in found] == [each.text for each in installed_protocol]
    for file in installed_protocol:
        assert source.split("\n")[file.before :][:3] == file.text.split("\n")[:3]


@pytest.mark.parametrize("path", RECORDED, ids=lambda each: each.stem)
def test_every_wait_in_the_recordings_has_its_line(path: Path) -> None:
    """In tasks above an election too, where the number belongs to another file."""
    lines = open_recording(path)
    listing = Listing(lines.header.protocol)
    waits = [wait for record in lines.records() if isinstance(record, Step) for wait in record.began]
    for wait in dict.fromkeys(waits):
        line = listing.line_of(wait)
        assert line is not None
        file, number = listing.place_of(line)
        assert number == wait.line
        around = listing.function_at(line)
        assert around is not None
        assert around.file == file
        assert file in {function.file for function in listing.named(wait.procedure)}
    lines.close()


def test_a_line_of_a_task_is_in_the_file_of_the_task() -> None:
    """Not in that of the election, which comes first."""
    listing = Listing(simulated_header(FIELD, (1, 2)).protocol)
    line = _of(listing, "survey_regions")
    file, number = listing.place_of(line)
    assert (file, line - number) == ("field.py", next(f.before for f in listing.files if f.name == "field.py"))
    assert listing.line_of(Wait("survey_regions", number, "", 0)) == line
    assert listing.line_of(Wait("election", number, "", 0)) != line


def test_a_procedure_may_have_a_key() -> None:
    """The key is no part of the function's name."""
    listing = _listing("class A:\n    async def tell(self, what):\n        await self.sleep(1)\n")
    assert listing.line_of(Wait("tell 4.1", 3, "", 0)) == 3


def test_overrides_come_before_the_methods_of_bases() -> None:
    """Of two functions of one name, the one with the line counts; of two handlers, the first."""
    own = "class A(B):\n    def hear(self, sender, message):\n        return 1\n"
    base = "\n\n\nclass B:\n    @on(Hello)\n    def hear(self, sender, message):\n        return 2\n"
    listing = _listing(f"{own}\n# ---- base.py ----\n{base}")
    handler = listing.handler_of("Hello")
    assert handler is not None
    assert (handler.file, handler.line) == ("mine.py", 2)
    assert listing.line_of(Wait("hear", 3, "", 0)) == 3
    assert listing.line_of(Wait("hear", 7, "", 0)) == 12
    assert listing.place_of(12) == ("base.py", 7)


def test_functions_have_handled_kinds_and_rules() -> None:
    """The rules are those in the first paragraph of the docstring."""
    listing = Listing(simulated_header(Bully, (1, 2)).protocol)
    assert listing.named("election")[0].rules == ("B4-B7",)
    handler = listing.handler_of("EnterElection")
    assert handler is not None
    assert (handler.name, handler.rules) == ("on_enter_election", ("B8",))
    assert "@on(EnterElection)" in listing.lines[handler.first - 1]
    assert "def on_enter_election" in listing.lines[handler.line - 1]
    assert listing.handler_of("Nonsense") is None


@pytest.mark.parametrize("line", [0, -1, -5, 4, 10**9, -(10**30)])
def test_missing_lines(line: int) -> None:
    assert _listing("async def a():\n    pass\n").line_of(Wait("a", line, "", 0)) is None
    assert _listing("no Python\n\x1b[2J\n").line_of(Wait("a", line, "", 0)) is None


@pytest.mark.parametrize(
    "source",
    [
        "this is no Python",
        "def a(:\n",
        "\x00",
        "",
        "(" * 5000,
        "-" * 50_000 + "1",
        "'\\d'\n",
        "\ud800",
        "x = 1\r\n",
    ],
    ids=["words", "torn", "null", "nothing", "brackets", "minuses", "escape", "surrogate", "returns"],
)
def test_a_source_need_not_be_python(source: str) -> None:
    """It has lines, but no functions; in a single file, the number of a line is that in the file."""
    listing = _listing(source)
    assert listing.functions == ()
    assert listing.line_of(Wait("a", 1, "", 0)) == 1
    assert len(listing.lines) == source.count("\n") + 1


def test_nothing_of_a_source_is_executed() -> None:
    _listing("import sys\nsys.executed = True\nraise SystemExit\n")
    assert not hasattr(sys, "executed")


def test_a_broken_file_does_not_hide_the_others() -> None:
    """Only its own lines are not found."""
    info = simulated_header(FIELD, (1, 2)).protocol
    torn = replace(info, source="def (\n" + info.source)
    line = _of(Listing(torn), "survey_regions")
    assert Listing(torn).place_of(line)[0] == "field.py"
    assert Listing(torn).named("election") == ()
