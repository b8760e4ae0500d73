"""``lab export``: the options of tables and casts, and their errors."""

import json
import shlex
import shutil
import struct
from collections.abc import Callable

import pytest

from tests.cli.invocation import SHIPPED, Lab

MISTAKES = """
--to csv --table message
--to jsonl --table ''
--to svg --table faults
--table transactions
--table faults --out faults.xlsx
--to cast --size 120
--to cast --size 10x10
--to cast --size 999x999
--to cast --speed fast
--to cast --speed 0
--to cast --fps 0
--to cast --fps 100
--to cast --idle 2
--to cast --idle 1ms
--to cast --view logs
--to cast --view bank
--to cast --nodes 1,2
--to gif --size 120x40
--to gif --size 1281x720
--to gif --width 16cm
--to gif --fps 60
--to gif --speed 0.01 --idle 100000s
--to mp4 --fps 61
--to shiviz --from 1us --until 2us
"""


@pytest.fixture
def folder(lab: Lab) -> Lab:
    """Return a folder with a recording."""
    shutil.copy(SHIPPED, lab.folder / "run.jsonl")
    return lab


def test_mistakes(folder: Lab, transcript: Callable[[str, str], None]) -> None:
    """The error has what was given, what was expected, the next step; no file is written."""
    calls = MISTAKES.strip().split("\n")
    result = [f"{call}\n  {folder.within('export', 'run.jsonl', *shlex.split(call)).refused()}" for call in calls]
    transcript("export_options_errors", "\n".join(result))
    assert [path.name for path in folder.folder.iterdir()] == ["run.jsonl"]


def test_a_table_needs_no_format(folder: Lab) -> None:
    """It is CSV, or what the suffix of the file says; its name is in that of the default file."""
    assert folder("export", "run.jsonl", "--table", "elections").status == 0
    assert folder("export", "run.jsonl", "--table", "elections", "--out", "e.jsonl").status == 0
    rows = [json.loads(line) for line in (folder.folder / "e.jsonl").read_text().splitlines()]
    assert [row["coordinator"] for row in rows] == [5, 4, 5, 4, 5]
    assert (folder.folder / "run.elections.csv").read_text().count("\n") == len(rows) + 1


@pytest.mark.parametrize("name", ["shiviz", "perfetto", "csv", "jsonl"])
def test_standard_output(folder: Lab, name: str) -> None:
    """Every format, and nothing else."""
    done = folder("export", "run.jsonl", "--to", name, "--until", "500ms", "--out", "-")
    assert done.status == 0
    assert done.out.startswith({"shiviz": "(?<event>", "csv": "run,seed,protocol,record,"}.get(name, "{"))
    assert not done.err


def test_the_size_of_a_cast(folder: Lab) -> None:
    """It is written to the default file."""
    options = "--size 60x20 --fps 2 --speed 2 --idle 1s --view diagram --from 4s --until 5s"
    done = folder("export", "run.jsonl", "--out", "film.cast", *options.split())
    assert done.status == 0
    head, *events = map(json.loads, (folder.folder / "film.cast").read_text("utf-8").splitlines())
    assert (head["width"], head["height"]) == (60, 20)
    assert events[-1][0] == 0.5


@pytest.mark.parametrize("name", ["gif", "mp4"])
def test_an_interrupted_film_leaves_no_file(folder: Lab, name: str) -> None:
    """On a terminal it shows its progress; Ctrl-C ends it, and the program that encodes it."""
    if name == "mp4" and shutil.which("ffmpeg") is None:
        pytest.skip("no ffmpeg: apt-get install ffmpeg")
    called, _ = folder.interrupted("export", "run.jsonl", "--to", name, when=rb"\d+ of \d,?\d* frames in .*filmed")
    assert called.status == 130
    assert [path.name for path in folder.folder.iterdir()] == ["run.jsonl"]


def test_a_film_of_a_window(folder: Lab) -> None:
    """In the format that the suffix says, of the size and at the speed asked for."""
    options = "--from 1.6s --until 1.7s --size 640x360 --fps 4 --speed 0.1 --theme dark --title Election"
    done = folder("export", "run.jsonl", "--out", "film.gif", *options.split())
    assert (done.status, done.err) == (0, "")
    film = (folder.folder / "film.gif").read_bytes()
    assert film[:6] == b"GIF89a"
    assert struct.unpack("<HH", film[6:10]) == (640, 360)


def test_the_options_of_pictures_apply_to_a_page(folder: Lab) -> None:
    options = [
        "--theme",
        "dark",
        "--title",
        "A <title>",
        "--caption",
        "Below.",
        "--time",
        "right",
        "--zoom",
        "20ms",
    ]
    assert folder("export", "run.jsonl", "--to", "html", *options).status == 0
    page = (folder.folder / "run.html").read_text("utf-8")
    assert "<h1>A &lt;title&gt;</h1>" in page
    assert '<p class="caption">Below.</p>' in page
    assert "color-scheme: dark" in page
    assert '<div id="diagram" class="right"' in page
    assert "a row is 20ms" in page
