"""Results of tasks, judgement of answers, and the cost of hints."""

from pathlib import Path

from lab.exercises.assessment import Assessment, Result
from lab.exercises.exercise_validation import run_in_sandbox
from lab.recording.records import Stall
from tests.exercises.exercise_files import make_exercise
from tests.properties.recorded import Records

PAUSE = "when all normal: pause 5"
QUESTION = '[[task]]\npoints = 2\nquestion = "Who leads?"\nanswer = ["4", "node 4"]\n'


def results(tmp_path: Path, tasks: str, *commands: str, hints: str = "") -> tuple[Result, ...]:
    """Assess a simulated attempt with these commands."""
    return run_in_sandbox(make_exercise(tmp_path, tasks, hints=hints), commands).results


def test_a_predicate_that_becomes_true_is_enough(tmp_path: Path) -> None:
    """It need not stay true."""
    task = '[[task]]\npoints = 2\nreach = "coordinators == 2"\n'
    (done,) = results(tmp_path, task, PAUSE, "at 3s: resume 5")
    assert (done.state, done.points) == ("done", 2)
    assert done.record > 0
    (missed,) = results(tmp_path, task)
    assert (missed.state, missed.points, missed.why) == ("missed", 0, "the run is over")


def test_a_violation_can_be_the_condition(tmp_path: Path) -> None:
    (found,) = results(tmp_path, '[[task]]\npoints = 2\nreach = "violation A1.1 under pause"\n', PAUSE)
    assert found.state == "done"


def test_too_many_commands_lose_the_task(tmp_path: Path) -> None:
    """Refused commands and free ones are not counted; a command without effect is."""
    task = '[[task]]\npoints = 2\nreach = "coordinators == 2"\nat_most = 1\n'
    (done,) = results(tmp_path, task, "at 1ms: kill coordinator", 'when all normal: mark "x"', PAUSE)
    assert done.state == "done"
    for command in ("kill 1", "resume 1"):
        (missed,) = results(tmp_path, task, f"when all normal: {command}", PAUSE)
        assert (missed.state, missed.why) == ("missed", "it took more than 1 command")


def test_lines_of_a_script_are_met_in_order(tmp_path: Path) -> None:
    script = "when 5 paused: expect 4 leads within 3s\\nthen when 5 running: expect 5 leads within 5s"
    task = f'[[task]]\npoints = 1\nscript = "{script}"\n'
    (done,) = results(tmp_path, task, PAUSE, "at 3s: resume 5")
    assert done.state == "done"
    (late,) = results(tmp_path, task, PAUSE)
    assert (late.state, late.why) == ("missed", "it did not happen")


def test_expect_never_is_met_at_the_end(tmp_path: Path) -> None:
    """A violation is decided at once."""
    task = '[[task]]\npoints = 1\nscript = "expect never coordinators == 2"\n'
    (done,) = results(tmp_path, task, "when all normal: kill 5")
    assert done.state == "done"
    (missed,) = results(tmp_path, task, PAUSE)
    assert (missed.state, missed.why) == ("missed", "the run took another course")


def test_a_message_can_trigger_a_condition(tmp_path: Path) -> None:
    """When it is sent, delivered, or dropped."""
    for moment in ("send", "deliver"):
        task = f'[[task]]\npoints = 1\nscript = "on {moment} SetCoordinator 4->1: expect 4.coordinator == 4"\n'
        (done,) = results(tmp_path, task, "when all normal: kill 5")
        assert done.state == "done"
    task = '[[task]]\npoints = 1\nscript = "on drop AreYouUp 1->5: expect 5 down"\n'
    (dropped,) = results(tmp_path, task, "when all normal: kill 5")
    assert dropped.state == "done"


def test_the_first_answer_counts(tmp_path: Path) -> None:
    """Case, blanks and a full stop make no difference."""
    (right,) = results(tmp_path, QUESTION, 'at 1s: answer 1 " Node  4. "', 'at 2s: answer 1 "5"')
    assert (right.state, right.points, right.answer) == ("done", 2, "Node  4.")
    (wrong,) = results(tmp_path, QUESTION, 'at 1s: answer 1 "5"', 'at 2s: answer 1 "4"')
    assert (wrong.state, wrong.points, wrong.why) == ("missed", 0, "you answered 5; correct is 4")


def test_a_prediction_must_precede_the_event(tmp_path: Path) -> None:
    """An answer after the event, or about an event that never happens, earns nothing."""
    task = QUESTION + 'before = "4 leads"\n'
    kill = "when all normal: kill 5"
    (seen,) = results(tmp_path, task, 'at 200ms: answer 1 "4"', kill)
    assert seen.state == "done"
    (late,) = results(tmp_path, task, kill, 'when 4 leads: answer 1 "4"')
    assert (late.state, late.why) == ("missed", "it happened before you answered")
    (never,) = results(tmp_path, task, 'at 200ms: answer 1 "4"')
    assert (never.state, never.why) == ("missed", "the event in question did not happen")


def test_a_record_number_is_looked_up_in_the_run(tmp_path: Path) -> None:
    task = '[[task]]\npoints = 1\nquestion = "Which?"\nrecord = "coordinators == 2"\n'
    (wrong,) = results(tmp_path, task, PAUSE, 'at 8s: answer 1 "1"')
    number = wrong.why.removeprefix("you answered 1; correct is ")
    assert int(number) > 10
    (right,) = results(tmp_path, task, PAUSE, f'at 8s: answer 1 "{number}"')
    assert right.state == "done"


def test_hints_cost_at_most_the_points_of_the_task(tmp_path: Path) -> None:
    """Hints beyond the last one, or after the task is decided, cost nothing."""
    task = '[[task]]\npoints = 3\nreach = "coordinators == 2"\n'
    hints = "# Task 1\n\n## Free\n\nx\n\n## Costs 2\n\ny\n"
    costs = {0: 3, 1: 3, 2: 1, 5: 1}
    for taken, points in costs.items():
        commands = [f"at {100 + n}ms: hint 1" for n in range(taken)]
        (found,) = results(tmp_path, task, *commands, PAUSE, hints=hints)
        assert (found.points, found.hints) == (points, min(taken, 2))
    (after,) = results(tmp_path, task, PAUSE, "at 9s: hint 1", "at 9s: hint 1", hints=hints)
    assert after.points == 3


def test_an_explanation_is_kept_for_the_teacher(tmp_path: Path) -> None:
    """The task is done, and earns no points by itself."""
    (found,) = results(tmp_path, '[[task]]\npoints = 3\nexplain = "Why?"\n', 'at 1s: answer 1 "As T is short."')
    assert (found.state, found.points, found.answer) == ("done", 0, "As T is short.")


def test_an_answer_to_no_question_is_ignored(tmp_path: Path) -> None:
    task = '[[task]]\npoints = 2\nreach = "coordinators == 2"\n'
    (found,) = results(tmp_path, task, 'at 100ms: answer 9 "x"', 'at 100ms: answer 1 "x"', "at 1s: hint 8", PAUSE)
    assert (found.state, found.points) == ("done", 2)


def test_a_time_limit_is_not_judged_on_a_machine_that_stood_still(tmp_path: Path) -> None:
    """The student is not told that the run took another course."""
    task = '[[task]]\npoints = 1\nscript = "at 100ms: expect 3 leads within 500ms"\n'

    def missed(us: int) -> str:
        records = Records().after(100_000).fires(1).after(us)
        if us > 1_000_000:
            records.add(Stall(records.at_us, us))
        assessment = Assessment(make_exercise(tmp_path, task), records.header)
        for record in records.fires(1).records:
            assessment.observe(record)
        (result,) = assessment.results
        assert result.state == "missed"
        return result.why

    assert missed(700_000) == "the run took another course"
    assert missed(11_400_000) == "not judged: the machine stood still for 11.4s"
