"""Reading lectures: the parts of a file, and each mistake with its line and the next step."""

from pathlib import Path

import pytest

from lab.lectures.lecture_reader import VIEWS, LectureError, find_lecture, names, read_lecture
from lab.tui.views.views import VIEWS as SHOWN_VIEWS
from tests.lectures.lecture_files import TEXT, line_of, make_lecture, write_lecture


def _mistakes(folder: Path, before: str, after: str) -> list[str]:
    path = write_lecture(folder, before, after)
    with pytest.raises(LectureError) as raised:
        read_lecture(path)
    return [each.removeprefix(f"{path}:") for each in raised.value.mistakes]


def test_the_parts_of_a_lecture(tmp_path: Path) -> None:
    lecture = make_lecture(tmp_path)
    text, paused, two = lecture.steps
    assert (lecture.name, lecture.title, lecture.intro) == ("pause", "A pause", "For a test.")
    assert (text.title, text.text, text.notes) == (
        "Only a text",
        "Silence proves *nothing*.",
        "A minute, at most.",
    )
    assert (text.run, text.shows_run) == (None, False)
    assert (paused.run, paused.view, paused.node, paused.text) == (0, "diagram", 4, "Five nodes.")
    assert paused.question is not None
    assert paused.question.accepts("Only 5.")
    assert not paused.question.accepts("4 and 5")
    assert (two.run, two.view, two.node) == (0, "diagram", 4), "as in the step before it"
    assert lecture.questions == (paused,)
    assert lecture.steps_of(0) == (paused, two)


def test_notes_begin_in_any_case(tmp_path: Path) -> None:
    text = make_lecture(tmp_path, "### Notes", "### NOTES").steps[0]
    assert (text.text, text.notes) == ("Silence proves *nothing*.", "A minute, at most.")


def test_stops_are_the_last_lines_of_the_script(tmp_path: Path) -> None:
    """At the lines of the file, so that a report on the run names these."""
    (run,) = make_lecture(tmp_path).runs
    lines = run.scenario.lines
    assert [str(line) for line in lines] == [
        "when all normal: pause 5",
        'when 5 paused after 1s: say "Nobody has noticed"',
        'then when 4 leads: mark "Two coordinators"',
    ]
    assert lines[0].line == line_of(TEXT, "pause 5")
    assert run.scenario.title == "The coordinator is paused"


def test_code_in_a_text_is_no_block(tmp_path: Path) -> None:
    """And a heading in it begins no step."""
    lecture = make_lecture(tmp_path, "Five nodes.", "```python\n## no step\n```\n\nFive nodes.")
    assert len(lecture.steps) == 3
    assert "## no step" in lecture.steps[1].text


def test_a_scenario_by_name(tmp_path: Path) -> None:
    block = TEXT[TEXT.index("```scenario") : TEXT.index("```show")]
    lecture = make_lecture(
        tmp_path,
        f'{block}```show\nstop = "when 5 paused after 1s"',
        '```show\nrun = "paused-coordinator-wakes"\nstop = "when 5 down or 5 paused"',
    )
    assert lecture.runs[0].named == "paused-coordinator-wakes"
    assert lecture.runs[0].scenario.lines[-1].line > lecture.runs[0].scenario.first_line


@pytest.mark.parametrize(
    ("before", "after", "place", "message"),
    [
        ("# A pause\n", "", "", "there is no title; begin with: # What an election is for"),
        ('view = "diagram"', 'view = "diagrm"', 'view = "diagram"', "unknown view diagrm; did you mean diagram?"),
        ("node = 4", "node = 7", "node = 4", "there is no node 7; the nodes are 1, 2, 3, 4, 5"),
        ('view = "diagram"', 'vew = "log"', 'view = "diagram"', "unknown key vew; did you mean view?"),
        ("node = 4", 'node = "4"', "node = 4", "show: Expected `int | null`, got `str` - at `$.node`"),
        ("node = 4", "node = ", "node = 4", "show is TOML, with texts in quotes; Invalid value"),
        ('stop = "when 4 leads"', 'stop = "when 7 leads"', 'stop = "when 4', "stop: there is no node 7"),
        ('stop = "when 4 leads"', 'stop = "4 leads"', 'stop = "when 4', "stop: "),
        ('stop = "when 4 leads"', 'stop = "at 30s"', 'stop = "when 4', "stop: at 30s is after the end of the run"),
        ('stop = "when 4 leads"', 'stop = "every 1s"', 'stop = "when 4', "stop: a run stops once"),
        ('stop = "when 4 leads"', 'caption = "x"', '```show\nstop = "when 4', "show has no stop; for example"),
        ("pause 5\n", "pausee 5\n", "pause 5", "pausee"),
        ("```question", "```qestion", "```question", "unknown block qestion; did you mean question?"),
        ('answer = "only 5"', 'answer = "5"', 'answer = "only 5"', "the answer '5' is not one of the choices"),
        ('answer = "only 5"\n', "", "```question", "this question has no answer; its keys are question, choices"),
        ('["only 5", "4 and 5"]', '["only 5"]', "choices", "a question has 2 to 9 choices, each another answer"),
        ('["only 5", "4 and 5"]', '["only 5", "Only 5.", "x"]', "choices", "another answer; got 'only 5'"),
        ('at = "when 5', 'att = "when 5', 'at = "when 5', "unknown key att; did you mean at?"),
        ("node = 4", f"node = {'9' * 5000}", "```show", "in quotes; a number has too many digits"),
        ("node = 4", f"node = {'[' * 5000}", "```show", "in quotes; it is nested too deeply"),
        ('stop = "when 4 leads"', "stop = “when 4 leads”", 'stop = "when 4', "curly; write straight ones"),
        ("### Notes", "### Remarks", "### Notes", "students would read what is below ### Remarks"),
        ("### Notes", "### notes for me", "### Notes", "your notes stand below: ### Notes"),
        ("### Notes", "#### Notes", "### Notes", "your notes stand below: ### Notes"),
        ("### Notes", "## Notes", "### Notes", "## Notes would be a step for students"),
        ("## Only a text\n", "## \n", "## Only a text", "this step has no title; write one: ## TITLE"),
    ],
)  # fmt: skip
def test_a_mistake_has_its_line(tmp_path: Path, before: str, after: str, place: str, message: str) -> None:
    line = TEXT.count("\n", 0, TEXT.index(place)) + 1
    found = _mistakes(tmp_path, before, after)
    assert any(each.startswith(f"{line}:") and message in each for each in found), found


def test_all_mistakes_are_reported_together(tmp_path: Path) -> None:
    text = TEXT.replace("node = 4", "node = 7").replace('stop = "when 4 leads"', 'stop = "when 8 leads"')
    path = write_lecture(tmp_path, text=text)
    with pytest.raises(LectureError) as raised:
        read_lecture(path)
    assert len(raised.value.mistakes) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# One\n\nText.\n", "there are no steps; each begins with a heading: ## TITLE"),
        ("# One\n\n## Two\n\nText.\n", "no step has a run"),
        ('# One\n\n## Two\n\n```show\nstop = "at 1s"\n```\n', "no run has begun; write a ```scenario block"),
        ('# One\n\n```show\nstop = "at 1s"\n```\n\n## Two\n', "show belongs to a step"),
        ('```show\nstop = "at 1s"\n```\n\n# One\n\n## Two\n', "show belongs to a step"),
        ("# One\n\n# Two\n", "a second title; a step begins with ## Two"),
        (
            '# One\n\n## Two\n\n```show\nrun = "figure-10-7"\nstop = "at 1s"\n```\n',
            "unknown scenario figure-10-7; did you mean",
        ),
    ],
)
def test_what_is_missing(tmp_path: Path, text: str, message: str) -> None:
    path = write_lecture(tmp_path, text=text)
    with pytest.raises(LectureError, match=r"pause\.md:\d+: ") as raised:
        read_lecture(path)
    assert any(message in each for each in raised.value.mistakes), raised.value.mistakes


def test_a_lecture_is_found_by_name_or_path(tmp_path: Path) -> None:
    assert find_lecture("bully-and-its-price").is_file()
    assert find_lecture("mine.md") == Path("mine.md")
    with pytest.raises(LectureError, match="did you mean bully-and-its-price"):
        find_lecture("bully-and-its-prize")
    with pytest.raises(LectureError, match=r"No such file.*name a lecture, NAME\.md"):
        read_lecture(tmp_path / "none.md")


def test_the_views_are_those_of_the_interface() -> None:
    """But the ones that an exercise or a second recording has."""
    assert set(VIEWS) <= set(SHOWN_VIEWS)
    assert {"exercise", "compare"}.isdisjoint(VIEWS)


def test_the_course_is_complete() -> None:
    assert len(names()) == 6


def test_a_scenario_that_cannot_be_read_makes_no_other_mistakes(tmp_path: Path) -> None:
    """The stops after it are not judged by another run."""
    second = '\n## Again\n\n```scenario\nprotocol = "bulli"\nfor = "9s"\n---\nat 1s: kill 9\n```\n\n'
    stop = '```show\nstop = "when 9 down"\n```\n\n## On\n\n```show\nstop = "when 8 leads"\n```\n'
    path = write_lecture(tmp_path, text=f"{TEXT}{second}{stop}")
    with pytest.raises(LectureError) as raised:
        read_lecture(path)
    (mistake,) = raised.value.mistakes
    assert mistake.startswith(f"{path}:{line_of(path.read_text('utf-8'), 'bulli')}:1: unknown protocol")


def test_quotation_marks_in_a_caption(tmp_path: Path) -> None:
    lecture = make_lecture(tmp_path, 'caption = "Nobody has noticed"', "caption = 'Nobody \"knows\"'")
    assert lecture.runs[0].scenario.lines[1].text == "say \"Nobody 'knows'\""


def test_a_scenario_in_a_file_of_its_own(tmp_path: Path) -> None:
    scenario = TEXT[TEXT.index("```scenario\n") + 12 : TEXT.index("```\n\n```show")]
    (tmp_path / "pause.scenario").write_text(f'title = "Mine"\n{scenario}', "utf-8")
    lecture = make_lecture(
        tmp_path,
        f'```scenario\n{scenario}```\n\n```show\nstop = "when 5',
        '```show\nrun = "pause.scenario"\nstop = "when 5',
    )
    assert (lecture.runs[0].named, lecture.runs[0].scenario.title) == ("pause.scenario", "Mine")


def test_a_question_about_a_tool_needs_no_run(tmp_path: Path) -> None:
    """Its answer follows from explorations, so it may stand before the first run."""
    question = TEXT[TEXT.index("```question") : TEXT.index("[key]")]
    asked = f'{question}[key.explore]\nprotocol = "bully"\nnodes = "3"\nasks = "states"\n```\n'
    lecture = make_lecture(tmp_path, "### Notes", f"{asked}\n### Notes")
    assert [step.number for step in lecture.questions] == [1, 2]
