"""``lab export``: files, formats, and errors."""

import shlex
import shutil
from collections.abc import Callable
from xml.etree import ElementTree

import pytest

from lab.cli.export import complete_format
from lab.tui.apps.export_formats import ALL_FORMATS
from tests.cli.invocation import ROOT, SHIPPED, Lab
from tests.recording.samples import eventful_lines, write_lines

MISTAKES = """
run.jsonl --to tiff
run.jsonl --to svgg
run.jsonl --out run.bmp
run.jsonl --out run
run.jsonl --to svg --from soon
run.jsonl --to svg --until 5
run.jsonl --to svg --from 3s --until 2s
run.jsonl --to svg --from 100s
run.jsonl --to svg --from 1us --until 2us
run.jsonl --to svg --nodes 1,9
run.jsonl --to svg --nodes 1;2
run.jsonl --to svg --nodes ''
run.jsonl --to svg --time up
run.jsonl --to svg --out there.svg
run.jsonl --to svg --out run.jsonl
run.jsonl --to svg --out run.jsonl --force
run.jsonl --to svg --out folder
run.jsonl --to svg --out bound.svg --until 500ms --force
run.jsonl --to dot
run.jsonl --to mermaid --heartbeats
run.jsonl --to svg --theme papr
run.jsonl --to svg --scale brken
run.jsonl --to svg --labels none
run.jsonl --to svg --width 3cm
run.jsonl --to svg --width wide
run.jsonl --to svg --zoom 0s
run.jsonl --to svg --zoom 500ms --scale broken
gone.jsonl --to svg
there.svg --to svg
empty.jsonl
"""


@pytest.fixture
def folder(lab: Lab) -> Lab:
    """Return a folder with a recording, an existing picture, an empty file and a folder."""
    shutil.copy(SHIPPED, lab.folder / "run.jsonl")
    (lab.folder / "there.svg").write_text("mine")
    (lab.folder / "empty.jsonl").touch()
    (lab.folder / "folder").mkdir()
    return lab


def test_mistakes(folder: Lab, transcript: Callable[[str, str], None]) -> None:
    """The error has what was given, what was expected, the next step; nothing is written."""
    (folder.folder / "bound.svg").symlink_to(folder.folder / "folder")
    before = sorted(path.name for path in folder.folder.iterdir())
    result = [
        f"{call}\n  {folder.within('export', *shlex.split(call)).refused()}"
        for call in MISTAKES.strip().split("\n")
    ]
    transcript("export_errors", "\n".join(result))
    assert sorted(path.name for path in folder.folder.iterdir()) == before
    assert (folder.folder / "there.svg").read_text() == "mine"


def test_without_a_format_the_formats_are_listed(folder: Lab) -> None:
    """Each with its suffix and its purpose, and an example."""
    shown = folder("export", "run.jsonl")
    assert (shown.status, shown.err) == (0, "")
    rows = shown.out.splitlines()
    for each, row in zip(ALL_FORMATS, rows, strict=False):
        assert row.split(maxsplit=2)[:2] == [each.name, each.suffix]
        assert each.help in row
    assert rows[-1] == "Example: lab export run.jsonl --to svg"


def test_the_default_file(folder: Lab) -> None:
    """The name of the recording, in the working directory; the size is printed."""
    (folder.folder / "run.jsonl").rename(folder.folder / "folder" / "run.jsonl")
    shown = folder("export", "folder/run.jsonl", "--to", "svg")
    size = (folder.folder / "run.svg").stat().st_size
    assert (shown.status, shown.out, shown.err) == (0, f"run.svg: {size:,} bytes\n", "")
    assert ElementTree.parse(folder.folder / "run.svg").getroot().tag.endswith("svg")
    assert list(folder.folder.glob(".*")) == []


@pytest.mark.parametrize("each", ALL_FORMATS, ids=lambda each: str(each.name))
def test_the_format_follows_from_the_suffix(folder: Lab, each: object) -> None:
    """Every format's suffix gives the same file as --to."""
    chosen = next(one for one in ALL_FORMATS if one is each)
    source = "run.jsonl"
    if chosen.name == "mp4" and shutil.which("ffmpeg") is None:
        pytest.skip("no ffmpeg: apt-get install ffmpeg")
    if chosen.name == "dot":
        source = str(ROOT / "recordings" / "scenarios" / "invitation-partition-in-two.jsonl")
    words = ["export", source, "--from", "1s", "--until", "1200ms"]
    if chosen.is_diagram_film:
        words += ["--size", "480x270", "--fps", "5"]
    named = folder(*words, "--out", f"one{chosen.suffix}")
    result = folder(*words, "--to", chosen.name, "--out", "other")
    assert (named.status, result.status) == (0, 0), (named, result)
    assert (folder.folder / f"one{chosen.suffix}").read_bytes() == (folder.folder / "other").read_bytes()


def test_a_file_is_overwritten_only_by_force(folder: Lab) -> None:
    """Otherwise the error names both options."""
    words = ("export", "run.jsonl", "--out", "there.svg", "--until", "500ms")
    assert folder.within(*words).refused() == (
        "there.svg exists already; name another with --out, or overwrite it with --force"
    )
    assert folder(*words, "--force").status == 0
    assert (folder.folder / "there.svg").read_text().startswith("<?xml")


def test_standard_output(folder: Lab) -> None:
    """It gets the same text as the file, and nothing else."""
    shown = folder("export", "run.jsonl", "--to", "text", "--out", "-")
    assert (shown.status, shown.err) == (0, "")
    folder("export", "run.jsonl", "--to", "text")
    assert shown.out == (folder.folder / "run.txt").read_text("utf-8")
    assert "5 → 4 EnterElection" in shown.out


def test_a_terminal_without_unicode_gets_ascii(folder: Lab) -> None:
    """Standard output is converted like all other output."""
    words = ("export", "run.jsonl", "--to", "text", "--out", "-")
    assert folder(*words, environment={"LC_ALL": "C", "LANG": "C"}).out.isascii()
    assert folder(*words, "--ascii").out.isascii()


def test_a_damaged_recording_is_exported(lab: Lab) -> None:
    """The damage is reported, and the exit status is 1."""
    lines = list(eventful_lines())
    lines[40] = b'{"record":"step",'
    write_lines(lab.folder / "run.jsonl", lines)
    shown = lab("export", "run.jsonl", "--to", "text")
    assert shown.status == 1
    assert shown.line().startswith("run.jsonl:41: unreadable:")
    assert (lab.folder / "run.txt").stat().st_size > 1000


def test_the_shell_completes_formats() -> None:
    """Each with its purpose."""
    assert [name for name, _ in complete_format("")] == [each.name for each in ALL_FORMATS]
    assert [name for name, _ in complete_format("sh")] == ["shiviz"]
    assert all(help_ for _, help_ in complete_format(""))


def test_the_help_names_every_format(lab: Lab) -> None:
    """The help of the command lists all of them."""
    words = lab("export", "--help").out.replace(",", " ").replace(".", " ").replace(":", " ").split()
    assert {each.name for each in ALL_FORMATS} <= set(words)


def test_a_truncated_recording(folder: Lab) -> None:
    """Its readable part is exported."""
    whole = (folder.folder / "run.jsonl").read_bytes()
    (folder.folder / "cut.jsonl").write_bytes(whole[: len(whole) * 2 // 3])
    shown = folder("export", "cut.jsonl", "--to", "csv")
    assert (shown.status, shown.err) == (0, "lab: cut.jsonl: the last line is truncated, and was skipped\n")
    assert (folder.folder / "cut.messages.csv").exists()
