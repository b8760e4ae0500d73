"""``lab lecture``: lists, prints, checks, exports; every refusal names the next step."""

import shutil
from pathlib import Path

import pytest

from tests.cli.invocation import Lab
from tests.lectures.lecture_files import TEXT, line_of, write_lecture
from tests.profile import SOAK

SHORT = """\
# Two

For a video.

## Two nodes

```scenario
protocol = "bully"
nodes = "2"
t = "100ms"
for = "2s"
---
at 100ms: say "They have begun"
```

```show
stop = "at 1ms"
```
"""


def test_the_list_has_the_course(lab: Lab) -> None:
    done = lab("lecture", "list")
    assert done.status == 0
    assert done.out.index("what-an-election-is-for") < done.out.index("what-a-majority-buys")


def test_a_lecture_is_printed_with_its_notes(lab: Lab, tmp_path: Path) -> None:
    path = write_lecture(tmp_path)
    done = lab("lecture", "show", str(path))
    assert done.status == 0
    for text in (
        "2. The coordinator is paused",
        "Notes: A minute, at most.",
        "asks     Who leads now?",
        "answer   only 5",
    ):
        assert text in done.out
    assert "shows    bully, diagram, node 4" in done.out


def test_a_check_exits_with_what_it_found(lab: Lab, tmp_path: Path) -> None:
    """0 if all is correct, 1 if a run shows a mistake, 2 if the file has one."""
    path = write_lecture(tmp_path)
    done = lab("lecture", "check", str(path))
    assert (done.status, done.out) == (
        0,
        "pause: correct (1 run, 3 steps, 1 question)\n1 lecture, none incorrect\n",
    )
    write_lecture(tmp_path, '"4 and 5" = "4 leads and 5 leads"\n')
    done = lab("lecture", "check", str(path))
    assert (done.status, "not judged: holds has no condition for '4 and 5'" in done.out) == (0, True)
    write_lecture(tmp_path, 'answer = "only 5"', 'answer = "4 and 5"')
    done = lab("lecture", "check", str(path))
    assert done.status == 1
    assert (
        f"{path}:{line_of(TEXT, '```question')}: step 2: the answer given is '4 and 5', but with seed 1"
        in done.out
    )
    write_lecture(tmp_path, "node = 4", "node = 9")
    done = lab("lecture", "check", str(path))
    assert (done.status, done.out) == (2, "")
    assert (
        done.err == f"lab: {path}:{line_of(TEXT, 'node = 4')}: there is no node 9; the nodes are 1, 2, 3, 4, 5\n"
    )


def test_slides_and_hand_outs_are_written_once(lab: Lab, tmp_path: Path) -> None:
    path, slides, handout = write_lecture(tmp_path), tmp_path / "a.html", tmp_path / "a.md"
    for out in (slides, handout):
        done = lab("lecture", "export", str(path), "-o", str(out))
        assert (done.status, done.out) == (0, f"{out}: {out.stat().st_size:,} bytes\n")
    assert slides.read_text("utf-8").startswith("<!DOCTYPE html>")
    assert handout.read_text("utf-8").startswith("# A pause\n")
    done = lab("lecture", "export", str(path), "-o", str(slides))
    assert (done.status, "exists already; name another with --out, or overwrite it with --force" in done.err) == (
        2,
        True,
    )
    assert "A minute" in slides.read_text("utf-8")
    assert lab("lecture", "export", str(path), "-o", str(slides), "--force", "--no-notes").status == 0
    assert "A minute" not in slides.read_text("utf-8")


def test_a_film_is_written(lab: Lab, tmp_path: Path) -> None:
    film = tmp_path / "a.cast"
    done = lab("lecture", "export", str(write_lecture(tmp_path)), "-o", str(film), "--json")
    assert done.status == 0, done.err
    assert '"kind":"film"' in done.out.replace(" ", "")
    assert film.read_text("utf-8").startswith('{"version":2,"width":120,"height":40,"title":"A pause"}')


def test_a_video_is_written(lab: Lab, tmp_path: Path) -> None:
    """With ffmpeg as MP4; without, the error says what to do, before anything is drawn."""
    film = tmp_path / "a.mp4"
    path = write_lecture(tmp_path, text=TEXT if SOAK else SHORT)
    words = ("lecture", "export", str(path), "-o", str(film))
    without = lab(*words, environment={"PATH": str(tmp_path)})
    assert without.status == 2
    assert "this requires the program ffmpeg" in without.err
    assert not film.exists()
    if shutil.which("ffmpeg") is not None:
        assert lab(*words).status == 0
        assert film.read_bytes()[4:8] == b"ftyp"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("show", "bully-and-its-prize"),
            "unknown lecture bully-and-its-prize; did you mean bully-and-its-price?",
        ),
        (("check", "none.md"), "none.md: No such file or directory; name a lecture, NAME.md"),
        (
            ("export", "pause.md", "-o", "x.pdf"),
            "--out x.pdf: name a file that ends in .html for slides, .md for a hand-out, or .mp4, .gif or .cast",
        ),
        (("export", "pause.md", "-o", "pause.md"), "--out pause.md is the lecture itself; name another file"),
        (("export", "pause.md", "-o", "x.md", "--no-notes"), "--no-notes: a hand-out has no notes; leave it out"),
        (("export", "pause.md", "-o", "x.cast", "--no-notes"), "--no-notes: a film has no notes; leave it out"),
        (("rehearse", "pause.md", "--step", "9"), "--step 9: this lecture has the steps 1 to 3"),
        (("rehearse", "pause.md"), "lab lecture show NAME"),
    ],
)
def test_what_is_refused(lab: Lab, arguments: tuple[str, ...], message: str) -> None:
    write_lecture(lab.folder)
    done = lab("lecture", *arguments)
    assert (done.status, done.out) == (2, "")
    assert message in done.err


def test_a_step_that_cannot_be_shown_is_not_exported(lab: Lab) -> None:
    write_lecture(lab.folder, 'stop = "when 4 leads"', 'stop = "when 1 leads"')
    done = lab("lecture", "export", "pause.md", "-o", "x.html")
    assert done.status == 1
    assert "step 3 never stops" in done.err
    assert not (lab.folder / "x.html").exists()
