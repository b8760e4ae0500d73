"""``lab lecture``: list, print, check, rehearse and export lectures."""

import io
import os
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Struct
from rich.table import Table
from typer import Argument, Option

from lab.cli.documents import Document, Json, print_json
from lab.cli.options import command_group, is_same_file, writable, write_whole
from lab.cli.progress import Progress
from lab.cli.terminal import (
    EXIT_NOT_AS_EXPECTED,
    UsageError,
    print_facts,
    print_table,
    require_terminal,
)
from lab.export.excerpt import ExportError, Film
from lab.export.film_files import GIF_FRAMES_PER_S, MP4_FRAMES_PER_S, encode_gif, encode_mp4, find_ffmpeg
from lab.lectures.lecture import Lecture, LectureStep, Question
from lab.lectures.lecture_film import LectureFilm
from lab.lectures.lecture_handout import format_handout
from lab.lectures.lecture_reader import find_lecture, names, read_lecture
from lab.lectures.recorded_lecture import (
    RecordedLecture,
    choices_without_condition,
    lecture_problems,
    record_lecture,
    run_problems,
)
from lab.lectures.slides import format_slides
from lab.output import print_error, print_line, print_text
from lab.text import sanitize
from lab.tui.terminal.guard import run_guarded
from lab.units import format_count

group = command_group(
    "lecture",
    "Rehearse, check and export lectures.\n\nA lecture is a Markdown file with steps: a text, a run that stops "
    "where there is something to see, and questions whose answers are computed. "
    "[bold]lab lecture list[/bold] shows those that are built in; [bold]lab guide lecture[/bold] explains how to "
    "write one.",
)


def complete_lecture(incomplete: str) -> list[str]:
    """Return the names of the built-in lectures."""
    return [name for name in names() if name.startswith(incomplete)]


Named = Annotated[
    str,
    Argument(
        metavar="NAME|FILE", help="A lecture by name, or your own: FILE.md.", autocompletion=complete_lecture
    ),
]


class LectureSummary(Struct, frozen=True):
    """A lecture in a list."""

    name: str
    title: str
    steps: int
    questions: int


class LectureListDocument(Document, frozen=True):
    """The built-in lectures, in the order of a course."""

    lectures: tuple[LectureSummary, ...]


@group.command("list")
def list_(json: Json = False) -> int:
    """List the built-in lectures, in the order of a course."""
    found = [read_lecture(find_lecture(name)) for name in names()]
    if json:
        listed = (LectureSummary(each.name, each.title, len(each.steps), len(each.questions)) for each in found)
        print_json(LectureListDocument(tuple(listed)))
        return 0
    table = Table(box=None, pad_edge=False, expand=os.isatty(1))
    table.add_column("name", no_wrap=True)
    table.add_column("title", no_wrap=True, overflow="ellipsis", ratio=1)
    for column in ("steps", "questions"):
        table.add_column(column, no_wrap=True, justify="right")
    for each in found:
        table.add_row(each.name, sanitize(each.title), str(len(each.steps)), str(len(each.questions)))
    print_table(table)
    return 0


class QuestionSummary(Struct, frozen=True):
    """A question, its options and its answer; ``explanation`` is Markdown."""

    text: str
    options: tuple[str, ...]
    answer: str
    explanation: str


class StepSummary(Struct, frozen=True):
    """A step; ``text`` and ``notes``, which are for the teacher alone, are Markdown.

    ``run`` is the number of the run that it shows, from 1, ``source`` the scenario that it is taken from, or its
    protocol; both are null if the step shows its text alone.
    """

    step: int
    title: str
    text: str
    notes: str
    run: int | None
    source: str | None
    view: str
    node: int | None
    question: QuestionSummary | None


class LectureShowDocument(Document, frozen=True):
    """A lecture and its steps; ``intro`` is Markdown."""

    name: str
    title: str
    file: str
    intro: str
    steps: tuple[StepSummary, ...]


@group.command()
def show(name: Named, json: Json = False) -> int:
    """Print a lecture: its steps with their texts, questions and notes, for the teacher."""
    lecture = read_lecture(find_lecture(name))
    if json:
        print_json(_describe(lecture))
        return 0
    print_line(lecture.title)
    print_line()
    _print_markdown(lecture.intro)
    for step in lecture.steps:
        _print_step(lecture, step)
    counts = format_count(len(lecture.steps), "step"), format_count(len(lecture.questions), "question")
    print_facts([("length", ", ".join(counts)), ("file", lecture.path)])
    return 0


def _print_step(lecture: Lecture, step: LectureStep) -> None:
    print_line(f"{step.number}. {step.title}")
    print_line()
    _print_markdown(step.text)
    shown = [word for word in (step.view, "" if step.node is None else f"node {step.node}") if word]
    facts = [("shows", f"{_describe_run(lecture, step)}{', '.join(['', *shown])}")] if step.shows_run else []
    if step.question is not None:
        facts.append(("asks", step.question.text))
        facts += (("", option) for option in step.question.options)
        facts.append(("answer", step.question.answer))
        facts.append(("explains", step.question.explanation))
    for name, text in facts:
        print_line(f"    {name:8} {' '.join(text.split())}")
    if facts:
        print_line()
    if step.notes:
        _print_markdown(f"Notes: {step.notes}")


def _print_markdown(text: str) -> None:
    """Print a text as it is written, so that its lists stay lists, and an empty line."""
    if text:
        print_text(text)
        print_line()


def _describe_run(lecture: Lecture, step: LectureStep) -> str:
    run = lecture.runs[step.run or 0]
    return run.named or run.scenario.protocol.rpartition("/")[2]


def _describe(lecture: Lecture) -> LectureShowDocument:
    return LectureShowDocument(
        name=lecture.name,
        title=lecture.title,
        file=lecture.path,
        intro=lecture.intro,
        steps=tuple(
            StepSummary(
                step=step.number,
                title=step.title,
                text=step.text,
                notes=step.notes,
                run=None if step.run is None or not step.shows_run else step.run + 1,
                source=_describe_run(lecture, step) if step.shows_run else None,
                view=step.view,
                node=step.node,
                question=None if step.question is None else _summarize(step.question),
            )
            for step in lecture.steps
        ),
    )


def _summarize(question: Question) -> QuestionSummary:
    return QuestionSummary(question.text, question.options, question.answer, question.explanation)


class CheckedLecture(Struct, frozen=True):
    """A lecture that was checked: what was looked at, and the ``mistakes``, each with file and line.

    ``unjudged`` are the choices that have no condition, so nothing shows that they are wrong.
    """

    name: str
    correct: bool
    runs: int
    steps: int
    questions: int
    mistakes: tuple[str, ...]
    unjudged: tuple[str, ...]


class LectureCheckDocument(Document, frozen=True):
    """The lectures that were checked."""

    lectures: tuple[CheckedLecture, ...]


@group.command(
    epilog="""Examples:\n
    lab lecture check\n
    lab lecture check bully-and-its-price\n
    lab lecture check my-lecture.md"""
)
def check(
    named: Annotated[
        list[str] | None,
        Argument(
            metavar="[NAME|FILE]…",
            help="Lectures, by name or as files. Default: all built-in lectures.",
            autocompletion=complete_lecture,
        ),
    ] = None,
    json: Json = False,
) -> int:
    """Simulate lectures and report what is wrong with them.

    Each run must pass as a scenario does, and every step must stop: what it waits for happens, and later than
    where the step before stopped. The answer of each question must follow from the run that it names, under
    several seeds; a choice without a condition is listed as not judged. Unknown views and nodes, and whatever else
    cannot be read, are refused with their lines.

    Exit status: 0 all are correct, 1 one is not, 2 usage error or a mistake in a file, 130 Ctrl-C.
    """
    checked = []
    for each in named or names():
        lecture = read_lecture(find_lecture(each))
        mistakes = _check(lecture)
        counts = len(lecture.runs), len(lecture.steps), len(lecture.questions)
        unjudged = tuple(choices_without_condition(lecture))
        checked.append(CheckedLecture(lecture.name, not mistakes, *counts, mistakes, unjudged))
        if not json:
            _print_checked(checked[-1])
    incorrect = sum(not each.correct for each in checked)
    if json:
        print_json(LectureCheckDocument(tuple(checked)))
    else:
        print_line(f"{format_count(len(checked), 'lecture')}, {incorrect or 'none'} incorrect")
    return EXIT_NOT_AS_EXPECTED if incorrect else 0


def _check(lecture: Lecture) -> tuple[str, ...]:
    work = len(lecture.runs), len(lecture.questions)
    with tempfile.TemporaryDirectory(prefix="lab-") as folder:
        with Progress(f"simulating {lecture.name}", "run", work[0]) as progress:
            recorded = record_lecture(lecture, Path(folder), progress)
        with Progress(f"checking {lecture.name}", "question", work[1]) as progress:
            return tuple(lecture_problems(recorded, progress))


def _print_checked(checked: CheckedLecture) -> None:
    counts = (
        format_count(checked.runs, "run"),
        format_count(checked.steps, "step"),
        format_count(checked.questions, "question"),
    )
    print_line(f"{checked.name}: {'correct' if checked.correct else 'INCORRECT'} ({', '.join(counts)})")
    for each in (*checked.mistakes, *checked.unjudged):
        print_line(f"  {each}")


@group.command(
    epilog="""Examples:\n
    lab lecture rehearse bully-and-its-price\n
    lab lecture rehearse my-lecture.md --step 4"""
)
def rehearse(
    name: Named,
    step: Annotated[int, Option("--step", metavar="NUMBER", help="Begin with this step.")] = 1,
) -> int:
    """Go through a lecture alone: its steps, runs, questions and notes.

    Page Down goes on: the run plays to where the step stops, its question is asked, the next step comes. Page Up
    goes back, F3 lists the steps, F2 shows the notes. All other keys are those of any recording, so you can look
    at other views, and branch from where the lecture stands; q then comes back to it.
    """
    lecture = read_lecture(find_lecture(name))
    if not 1 <= step <= len(lecture.steps):
        raise UsageError(f"--step {step}: this lecture has the steps 1 to {len(lecture.steps)}")
    require_terminal("lab lecture show NAME")
    with tempfile.TemporaryDirectory(prefix="lab-") as folder:
        recorded = simulate_runs(lecture, Path(folder))
        if recorded is None:
            return EXIT_NOT_AS_EXPECTED
        from lab.tui.apps.rehearsal import rehearse as show_rehearsal  # noqa: PLC0415 - loads the interface

        return run_guarded(lambda: show_rehearsal(recorded.presentation, step - 1))


def simulate_runs(lecture: Lecture, folder: Path) -> RecordedLecture | None:
    """Simulate the runs of a lecture; print why its steps cannot be shown, and return None, if they cannot."""
    with Progress(f"simulating {lecture.name}", "run", len(lecture.runs)) as progress:
        recorded = record_lecture(lecture, folder, progress)
    problems = list(run_problems(recorded))
    for problem in problems:
        print_error(problem)
    return None if problems else recorded


LectureKind = Literal["slides", "handout", "film"]


class LectureExportDocument(Document, frozen=True):
    """The file that was written, and whether it has the notes for the teacher."""

    lecture: str
    file: str
    kind: LectureKind
    notes: bool
    bytes: int


_KINDS: dict[str, LectureKind] = {
    ".html": "slides",
    ".md": "handout",
    ".cast": "film",
    ".gif": "film",
    ".mp4": "film",
}


@group.command(
    epilog="""Examples:\n
    lab lecture export bully-and-its-price -o bully.html\n
    lab lecture export bully-and-its-price -o bully.html --no-notes\n
    lab lecture export my-lecture.md -o handout.md\n
    lab lecture export my-lecture.md -o film.mp4\n
    lab lecture export my-lecture.md -o film.cast   (asciinema play film.cast)"""
)
def export(
    name: Named,
    out: Annotated[
        Path,
        Option(
            "--out",
            "-o",
            metavar="FILE",
            help="FILE.html: slides. FILE.md: a hand-out. FILE.mp4, .gif, .cast: a film.",
        ),
    ],
    no_notes: Annotated[
        bool, Option("--no-notes", help="Slides: leave out the notes, if students get the file.")
    ] = False,
    force: Annotated[bool, Option("--force", help="Overwrite an existing file.")] = False,
    json: Json = False,
) -> int:
    """Write the slides of a lecture, a hand-out, or a film.

    Slides are one HTML file, for use offline: arrow keys turn them, a shows the answer of a question, n the notes.
    Each step that shows a run has its space-time diagram. A hand-out is Markdown: texts, questions, and how to see
    each run, with the answers at the end. A film has the text of each step, its run up to where it stops, its
    question and the answer: as video (mp4, gif) the run is a space-time diagram that grows; an asciicast (cast) is
    the interface, for asciinema. Videos require pip install 'coordinator-lab[figures]', mp4 also ffmpeg.

    Exit status: 0 written, 1 a step cannot be shown, 2 usage error, 130 Ctrl-C.
    """
    kind = _KINDS.get(out.suffix)
    if kind is None:
        raise UsageError(
            f"--out {out}: name a file that ends in .html for slides, .md for a hand-out, or .mp4, .gif or .cast "
            "for a film"
        )
    if no_notes and kind != "slides":
        raise UsageError(f"--no-notes: a {'film' if kind == 'film' else 'hand-out'} has no notes; leave it out")
    lecture = read_lecture(find_lecture(name))
    file = writable("--out", out)
    if is_same_file(file, Path(lecture.path)):
        raise UsageError(f"--out {out} is the lecture itself; name another file")
    if file.exists() and not force:
        raise UsageError(f"{out} exists already; name another with --out, or overwrite it with --force")
    match kind:
        case "slides":
            data = _export_runs(lecture, "drawing", partial(_slides, not no_notes))
        case "handout":
            data = format_handout(lecture).encode()
        case "film":
            data = _export_runs(lecture, "filming", partial(_film, out.suffix))
    if data is None:
        return EXIT_NOT_AS_EXPECTED
    write_whole(file, data, is_private=False)
    if json:
        has_notes = kind == "slides" and not no_notes
        print_json(LectureExportDocument(lecture.name, str(out), kind, has_notes, len(data)))
    else:
        print_line(f"{out}: {len(data):,} bytes")
    return 0


def _export_runs(
    lecture: Lecture, work: str, render: Callable[[RecordedLecture, Progress], bytes]
) -> bytes | None:
    """Return what is exported of the runs; None if a step cannot be shown, which is printed. Raises UsageError."""
    with tempfile.TemporaryDirectory(prefix="lab-") as folder:
        recorded = simulate_runs(lecture, Path(folder))
        if recorded is None:
            return None
        try:
            with Progress(f"{work} {lecture.name}", "step", len(lecture.steps)) as progress:
                return render(recorded, progress)
        except ExportError as error:
            raise UsageError(f"{lecture.path}: {error}") from None


def _slides(with_notes: bool, recorded: RecordedLecture, progress: Progress) -> bytes:
    return format_slides(recorded, with_notes, progress).encode()


def _film(suffix: str, recorded: RecordedLecture, progress: Progress) -> bytes:
    if suffix == ".cast":
        return _cast(recorded, progress)
    out = io.BytesIO()
    if suffix == ".gif":
        encode_gif(LectureFilm(recorded, GIF_FRAMES_PER_S, progress), out)
    else:
        ffmpeg = find_ffmpeg()
        encode_mp4(ffmpeg, LectureFilm(recorded, MP4_FRAMES_PER_S, progress), MP4_FRAMES_PER_S, out)
    return out.getvalue()


def _cast(recorded: RecordedLecture, progress: Progress) -> bytes:
    from lab.tui.apps.cast import write_lecture_cast  # noqa: PLC0415 - loads the interface

    out = io.StringIO()
    write_lecture_cast(recorded.presentation, out, Film(), progress)
    return out.getvalue().encode()
