"""Every parser of what users hand in: a mutated text is read, or refused with a message. Nothing else is raised.

Each draw has a number, which is in the message of a failure. The profile ``soak`` makes 20,000 for each parser and
prints how many of them were refused: ``LAB_PROFILE=soak pytest -rP tests/siege``.
"""

import resource
import shutil
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import msgspec
import pytest
from msgspec import Struct

from lab.analysis.bookmarks import Bookmarks, bookmarks_file
from lab.exercises.attempts import PROGRESS, StudentFolder
from lab.exercises.exercise_reader import SHIPPED, ExerciseError, read_exercise
from lab.kernel import Timing
from lab.protocols import PROTOCOLS, TASKS, Bully
from lab.recording.lineage import read_recording_info
from lab.recording.reader import NotARecordingError
from lab.scenario.file import ScenarioError, scenario_in
from lab.script.parse import parse_predicate, read_script, read_watch
from lab.script.query import FIELDS, read_query
from lab.script.scope import CommandError, Scope
from lab.serve.admission import parse_keys
from lab.serve.gradebook import SealBook
from lab.serve.student_lists import InvitationError, Invitations, ListError
from lab.text import sanitize
from lab.tui.controllers.layout import LayoutSettings, read_layout_settings
from lab.worlds.campaign.guidance import CorpusError, load_corpus
from lab.worlds.campaign.schedule import draw, plan_of
from lab.worlds.loading.settings import SettingError, Settings, parameters_of
from lab.worlds.loading.targets import load_properties, load_protocol
from lab.worlds.loading.user_module import TargetError
from tests.harness import simulated_header
from tests.profile import amount
from tests.recording.samples import eventful_lines
from tests.siege.mutated_texts import mutate

ROOT = Path(__file__).parents[2]
DRAWS = amount(quick=15, soak=20_000)
BATCH = 1_000
LIMIT_S = 5.0
MEMORY = 4 << 30
"""Of address space: a text of a few kilobytes that needs more has done harm."""
HEADER = simulated_header(Bully, (1, 2, 3, 4), Timing(50_000, 20_000))
KEYS = """# the class of this year
ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHmzYaqDmSvXhRkMYpMt3QxTcpYV2WRZa9cWZIVK3GvX anna
ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHmzYaqDmSvXhRkMYpMt3QxTcpYV2WRZa9cWZIVK3GvY ben
"""
PREDICATES = (
    "all.coordinator == 4",
    "4 normal and not (3.status == Election or groups > 1)",
    "count Accept >= 2 and up == 5",
    "any.coordinator != 5",
)
WATCHES = ("4.coordinator", "all.status", "groups > 1", "coordinator.definition")
SETTINGS = ("check_every=400ms", "coordinator_timeout=1.5s", "check_every=2s", "x=1,2,3")
TIMES = ("200ms", "1.5s", "2m", "0s", "40us", "5", "0-7", "1,3,5", "12")
OWN_PROTOCOL = str(ROOT / "tests/properties/own/ballot.py")
OWN_PROPERTIES = str(ROOT / "tests/properties/own/ballot_properties.py")
TARGETS = (
    *PROTOCOLS,
    *(f"{task} above {election}" for task in TASKS for election in ("bully", "ring")),
    f"{OWN_PROTOCOL}:Ballot",
    f"{OWN_PROTOCOL}:Ballot with {OWN_PROPERTIES}",
    f"bully with {OWN_PROPERTIES}",
)


SENDING = """
from lab.kernel import periodic
from lab.protocols import Election

class Mine(Election):
"""


class Parser(Struct, frozen=True):
    """``read`` gets a text and a new folder, and raises only ``errors``. ``samples`` returns valid texts."""

    read: Callable[[str, Path], object]
    errors: tuple[type[Exception], ...]
    samples: Callable[[], tuple[str, ...]]


def _texts_in(folder: Path, pattern: str) -> tuple[str, ...]:
    return tuple(path.read_text("utf-8") for path in sorted(folder.glob(pattern)))


def _write(text: str, path: Path) -> Path:
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    return path


@cache
def _scripts() -> tuple[str, ...]:
    return _texts_in(SHIPPED, "*/*.script")


def _read_script(text: str, folder: Path) -> None:
    for line in read_script(text, Bully):
        line.check(Scope(Bully, (1, 2, 3, 4, 5)))


def _read_predicate(text: str, folder: Path) -> None:
    parse_predicate(text, Bully).check(Scope(Bully, (1, 2, 3, 4, 5)))


def _exercise(exercise: str, name: str) -> Parser:
    """Return the parser of that exercise with another text in this file."""

    def read(text: str, folder: Path) -> object:
        whole = shutil.copytree(SHIPPED / exercise, folder / exercise)
        return read_exercise(_write(text, whole / name).parent)

    return Parser(read, (ExerciseError,), lambda: _texts_in(SHIPPED, f"{exercise}/{name}"))


def _read_setting(text: str, folder: Path) -> None:
    """Read the text as every setting; the first that refuses it must not hide the next."""
    given = Settings(protocol="bully", nodes=text, t=text, latency=text, jitter=text, seed=text, for_=text)
    refused: list[SettingError] = []
    for read in (given.node_ids, given.timing, given.link, lambda: given.seed_or(0), given.end_us):
        try:
            read()
        except SettingError as error:
            _check_message(error)
            refused.append(error)
    if refused:
        raise refused[-1]


def _corpus() -> tuple[str, ...]:
    plan = plan_of(Bully, (3, 5), ("kill", "pause", "partition", "loss"), Timing(50_000, 20_000))
    return tuple(msgspec.json.encode(draw(plan, seed)).decode() for seed in range(20))


def _load_corpus(text: str, folder: Path) -> None:
    _write(text, folder / "1.schedule.json")
    load_corpus(folder)


def _read_bookmarks(text: str, folder: Path) -> None:
    recording = folder / "run.jsonl"
    _write(text, bookmarks_file(recording))
    Bookmarks(HEADER, recording).put(7, 1_000, "a note")


def _read_seals(text: str, folder: Path) -> None:
    SealBook(_write(text, folder / "seals")).read()


PARSERS: dict[str, Parser] = {
    "scenario": Parser(
        lambda text, folder: scenario_in(text, folder / "drawn.scenario"),
        (ScenarioError,),
        cache(lambda: _texts_in(ROOT / "scenarios", "*.scenario")),
    ),
    "script": Parser(_read_script, (CommandError,), _scripts),
    "predicate": Parser(_read_predicate, (CommandError,), lambda: PREDICATES),
    "watch": Parser(
        lambda text, folder: read_watch(text, Scope(Bully, (1, 2, 3, 4))), (CommandError,), lambda: WATCHES
    ),
    "query": Parser(
        lambda text, folder: read_query(text, HEADER),
        (CommandError,),
        lambda: (*FIELDS.values(), f"node:3 -kind:AreYouUp when {PREDICATES[0]}", '"timed out" -fate:lost'),
    ),
    "exercise": _exercise("they-invite-each-other", "exercise.toml"),
    "repair exercise": _exercise("mend-the-commit", "exercise.toml"),
    "setup of an exercise": _exercise("they-invite-each-other", "setup.scenario"),
    "instructions": _exercise("they-invite-each-other", "instructions.md"),
    "hints": _exercise("they-invite-each-other", "hints.md"),
    "properties": Parser(
        lambda text, folder: load_properties(str(_write(text, folder / "drawn.py"))),
        (TargetError,),
        cache(lambda: (Path(OWN_PROPERTIES).read_text("utf-8"),)),
    ),
    "protocol file": Parser(
        lambda text, folder: load_protocol(str(_write(text, folder / "drawn.py"))),
        (TargetError,),
        cache(lambda: _texts_in(SHIPPED, "*/my_*.py")),
    ),
    "target": Parser(lambda text, folder: load_protocol(text), (TargetError,), lambda: TARGETS),
    "setting": Parser(_read_setting, (SettingError,), lambda: TIMES),
    "parameter": Parser(lambda text, folder: parameters_of(Bully, [text]), (SettingError,), lambda: SETTINGS),
    "class list": Parser(lambda text, folder: parse_keys(text, "class.txt"), (ListError,), lambda: (KEYS,)),
    "invitations": Parser(
        lambda text, folder: Invitations(_write(text, folder / "invites")).waiting(),
        (InvitationError,),
        lambda: ('[{"name":"anna","code":"ab12","until":"2030-01-01T00:00:00Z","used":""}]',),
    ),
    "seals": Parser(
        _read_seals,
        (),
        lambda: (
            '{"file":"anna/a-001.jsonl","student":"anna","at":"2026-01-01T00:00:00+00:00",'
            '"measured":{"size":9,"sha256":"ab"},"witnessed":true,"before":""}\n',
        ),
    ),
    "schedules": Parser(_load_corpus, (CorpusError,), cache(_corpus)),
    "bookmarks": Parser(
        _read_bookmarks,
        (),
        lambda: ('{"bookmarks":1,"run":"test"}\n{"record":3,"at_us":5,"note":"a note"}\n',),
    ),
    "layout": Parser(
        lambda text, folder: read_layout_settings(_write(text, folder / "layout.json")),
        (),
        lambda: (msgspec.json.encode(LayoutSettings(nodes=30, watches={"bully": WATCHES})).decode(),),
    ),
    "progress": Parser(
        lambda text, folder: StudentFolder(_write(text, folder / PROGRESS).parent, "anna").current,
        (),
        lambda: (
            '{"standings":{"first-election":{"attempts":2,"best":[],"first_solved":""}},'
            '"doing":{"exercise":"first-election","attempt":2,"done":1,"tasks":3,"since":"2026-01-01"}}',
        ),
    ),
    "header": Parser(
        lambda text, folder: read_recording_info(_write(text, folder / "run.jsonl")),
        (NotARecordingError,),
        cache(lambda: (eventful_lines()[0].decode() + "\n",)),
    ),
}


FOUND = (
    ("target", "b" * 300),
    ("target", "/\x1b[2J.py"),
    ("parameter", "\x1b[2J=1"),
    ("scenario", 'title = "x"\nprotocol = "\\u0000.py"\nproperties = "\\u0000.py"\nfor = "1s"\n---\nkill 5\n'),
    ("script", 'inject 1->3 AreYouUp {"a":"\udcff"}'),
    ("setting", "\x1d7"),
    ("schedules", '{"seed":"\udcff"}'),
    ("layout", '{"view":"\udcff"}'),
    ("protocol file", f"{SENDING}    @periodic(1.5)\n    async def check(self):\n        await self.sleep(1)\n"),
)
"""What earlier draws have found."""


def _limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def read_draws(name: str, first: int, last: int) -> tuple[int, float]:
    """Let the parser read these draws; return how many it refused, and the longest processor time in seconds."""
    samples = PARSERS[name].samples()
    refused, longest_s = 0, 0.0
    for number in range(first, last):
        text = mutate(samples, Random(f"{name}/{number}"))
        began_s = time.process_time()
        refused += is_refused(name, text, f"draw {number} of {name}")
        took_s = time.process_time() - began_s
        assert took_s < LIMIT_S, f"draw {number} of {name} took {took_s:.1f} s"
        longest_s = max(longest_s, took_s)
    return refused, longest_s


def is_refused(name: str, text: str, shown: str) -> bool:
    """Let the parser read this text; return whether it refused it. ``shown`` is for the message of a failure."""
    parser = PARSERS[name]
    with TemporaryDirectory(prefix="drawn") as folder:
        try:
            parser.read(text, Path(folder))
        except parser.errors as error:
            _check_message(error)
            return True
        except Exception as error:
            raise AssertionError(f"{shown}: {type(error).__name__}: {error}") from error
    return False


def _check_message(error: Exception) -> None:
    lines = str(error).split("\n")
    assert all(lines), f"a line without a text: {error!r}"
    assert [sanitize(line) for line in lines] == lines, f"not sanitized: {error!r}"


@pytest.mark.parametrize(("name", "text"), FOUND)
def test_texts_that_were_found(name: str, text: str) -> None:
    with ProcessPoolExecutor(1, get_context("fork")) as pool:
        assert pool.submit(is_refused, name, text, "found").result() == (name != "layout")


@pytest.mark.parametrize("first", range(0, DRAWS, BATCH))
@pytest.mark.parametrize("name", PARSERS)
def test_mutated_texts_are_read_or_refused(name: str, first: int) -> None:
    """In a process of its own, since files of properties and protocols are executed, and register themselves."""
    last = min(first + BATCH, DRAWS)
    with ProcessPoolExecutor(1, get_context("fork"), _limit_memory) as pool:
        refused, longest_s = pool.submit(read_draws, name, first, last).result()
    print(f"{name}: {last - first:,} draws, {refused:,} refused, at most {longest_s * 1000:.0f} ms")
    assert 0 <= refused <= last - first
