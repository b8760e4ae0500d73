"""The students' edition: right answers are recognized, and neither they nor solutions are in its files."""

import tomllib
from pathlib import Path

import pytest

from lab.exercises.assessment import Assessment
from lab.exercises.exercise_reader import ExerciseError, read_exercise
from lab.exercises.exercise_validation import run_in_sandbox
from lab.exercises.handout import LockedText, lock, normalize_answer, write_handout
from tests.exercises.exercise_files import HEAD, TASK, write_exercise

LOCKED = lock("Because it is silent.", ["Node 4", "four"])

QUESTIONS = """
[[task]]
points = 2
question = "Who leads?"  # 4, of course
answer = ["4", "four"]
explains = "4 is the highest node that is up."

[[task]]
points = 2
question = "Why?"
choices = ["it is silent", "it is slow"]
answer = "it is silent"
explains = "Silence is taken for a crash."

[[task]]
points = 2
reach = "coordinators == 2"
explains = "Pause the highest node."

[[task]]
points = 2
explain = "Why is this so?"
explains = "A model text."
"""


@pytest.mark.parametrize("answer", ["4", "node 4", "  Node   4. ", "FOUR"])
def test_an_accepted_answer_opens_the_text(answer: str) -> None:
    """In any form that is judged equal."""
    assert LOCKED.open_with(answer) == "Because it is silent."


@pytest.mark.parametrize("answer", ["5", "", "44", "four nodes", "\ud800"])
def test_another_answer_does_not(answer: str) -> None:
    assert LOCKED.open_with(answer) is None


@pytest.mark.parametrize("accepted", ["4350", "$4350", "$4,350"])
@pytest.mark.parametrize("answer", ["4350", "$4350", "4,350", "$4,350", "$ 4350."])
def test_an_amount_is_accepted_as_it_is_printed(accepted: str, answer: str) -> None:
    assert lock("A8.", [accepted]).open_with(answer) == "A8."


@pytest.mark.parametrize("answer", ["1,2,3", "4,35", "1,2345", "$", "$4,350 in cash", "1 234"])
def test_only_an_amount_loses_its_commas(answer: str) -> None:
    assert normalize_answer(answer) == answer


def test_an_edition_that_was_locked_with_the_sign_is_still_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as earlier:
        earlier.setattr("lab.exercises.handout.normalize_answer", str.casefold)
        locked = lock("A8.", ["$4350"])
    assert locked.open_with("$4350") == "A8."


def test_locked_texts_have_nothing_in_common() -> None:
    """Equal texts and answers are locked differently each time; an empty text is a text, too."""
    again = lock("Because it is silent.", ["Node 4", "four"])
    assert {again.salt, *again.keys, again.text, again.tag}.isdisjoint(
        {LOCKED.salt, *LOCKED.keys, LOCKED.text, LOCKED.tag}
    )
    assert (lock("", ["4"]).open_with("4"), lock("", ["4"]).open_with("5")) == ("", None)


def test_a_changed_text_is_not_opened() -> None:
    """Its tag shows the change."""
    changed = LockedText(LOCKED.salt, LOCKED.keys, f"00{LOCKED.text[2:]}", LOCKED.tag)
    assert changed.open_with("4") is None


@pytest.fixture
def handout(tmp_path: Path) -> Path:
    """The students' edition of an exercise with every kind of file."""
    folder = write_exercise(tmp_path / "mine", QUESTIONS, head=f"# the secret: four\n{HEAD}")
    for name in ("solution.script", "wrong-one.script", "solution.py", "wrong-two.py", "notes.md", "helper.py"):
        (folder / name).write_text("# the secret: four\n")
    (folder / "old").mkdir()
    (folder / "old" / "exercise.toml").write_text('answer = "four"\n')
    write_handout(folder, tmp_path / "given" / "mine")
    return tmp_path / "given" / "mine"


def test_only_what_students_need_is_copied(handout: Path) -> None:
    """No solution, no wrong attempt, no notes, no subfolder."""
    files = ["exercise.toml", "helper.py", "hints.md", "instructions.md", "setup.scenario"]
    assert sorted(path.name for path in handout.iterdir()) == files


def test_neither_answers_nor_explanations_can_be_read(handout: Path) -> None:
    """Nor comments; what a teacher reads has no explanation at all."""
    text = (handout / "exercise.toml").read_text()
    for secret in ("four", "4", "highest", "Silence", "coordinators == 2", "Pause", "model text"):
        tasks = "".join(
            line
            for line in text.replace("it is silent", "").splitlines(keepends=True)
            if not line.startswith(("locked", "encoded"))
        )
        assert secret not in tasks, secret
    document = tomllib.loads(text)
    assert not [task for task in document["task"] if "answer" in task or "explains" in task]
    assert "encoded" not in document["task"][3]


def test_students_work_as_with_the_teacher_s_edition(handout: Path) -> None:
    """Results and points are equal. A wrong answer is explained if it was a choice."""
    teacher, student = read_exercise(handout.parents[1] / "mine"), read_exercise(handout)
    assert (teacher.edition, student.edition) == ("teacher", "student")
    for texts in (("Node 4", "it is silent"), ("5", "it is slow"), ("four", "nothing")):
        commands = [f'when all normal: answer {task} "{text}"' for task, text in enumerate(texts, 1)]
        one, other = (run_in_sandbox(each, [*commands, "when all normal: pause 5"]) for each in (teacher, student))
        assert _states(one) == _states(other)
    for number, given in ((0, "FOUR"), (1, "it is silent"), (1, "it is slow"), (2, "")):
        assert student.tasks[number].explanation_after(given) == teacher.tasks[number].explanation
    assert "your teacher has it" in student.tasks[0].explanation_after("5")


def _states(assessment: Assessment) -> list[tuple[str, int]]:
    return [(result.state, result.points) for result in assessment.results]


def test_a_wrong_answer_is_called_wrong(handout: Path) -> None:
    """The right one is named only where it was a choice."""
    commands = ['when all normal: answer 1 "5"', 'when all normal: answer 2 "it is slow"']
    first, second, *_ = run_in_sandbox(read_exercise(handout), commands).results
    assert first.why == "you answered 5, which is wrong"
    assert second.why == "you answered it is slow; correct is it is silent"


def test_an_edition_of_students_has_no_other(handout: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="students' edition already"):
        write_handout(handout, tmp_path / "again")


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ('encoded = "', 'encoded = "!', "encoded: it is damaged; get a new copy"),
        ('encoded = "', 'encoded = "W10=', "encoded: it is damaged"),
        ('salt = "', 'salt = "x', "it is damaged; get a new copy"),
        ('keys = ["', 'keys = ["00', "it is damaged; get a new copy"),
        ("locked = {", 'answer = "5"\nlocked = {', "either an answer, or record"),
        ('edition = "student"', 'edition = "of 1982"', "Invalid enum value"),
    ],
)
def test_a_damaged_copy_is_reported(handout: Path, old: str, new: str, error: str) -> None:
    """With its file, and what to do."""
    head = handout / "exercise.toml"
    text = head.read_text()
    assert old in text
    head.write_text(text.replace(old, new, 1))
    with pytest.raises(ExerciseError, match=r"exercise\.toml") as found:
        read_exercise(handout)
    assert error in str(found.value)


def test_odd_texts_survive(tmp_path: Path) -> None:
    """Quotes, umlauts, emoji, backslashes and control characters in titles and choices."""
    head = HEAD.replace('"A test"', r'"A \"quoted\" \\ ünïcode 🎓 \u007f\u0001\n"')
    folder = write_exercise(tmp_path / "odd", TASK, head=head)
    write_handout(folder, tmp_path / "given")
    assert read_exercise(tmp_path / "given").title == read_exercise(folder).title
