"""Check that an exercise can be solved, but not without understanding it, and that its answers are right.

What the answers follow from is simulated: see ``answer_keys``. That is tried with several draws, as each student
has values of their own. The solution must earn all points. Doing nothing, and each script that is known to be
wrong, must earn none. Random commands must not solve it. Scripts run in a sandbox, as if a student gave their
commands: simulated, in memory.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from msgspec.structs import replace

from lab.exercises.answer_keys import LONGEST_US, key_problems
from lab.exercises.assessment import Assessment, Result
from lab.exercises.attempts import attempt_config
from lab.exercises.draws import describe_draw, draw, first_values
from lab.exercises.exercise import Exercise
from lab.exercises.exercise_reader import ExerciseError, drawn_for
from lab.exercises.file_grading import grade_file, try_stages
from lab.exercises.handout import fill
from lab.foreign_file import read_foreign_text
from lab.script.parse import numbered_lines, parse
from lab.script.scope import CommandError, Scope
from lab.text import sanitize
from lab.worlds.loading.config import header_of
from lab.worlds.loading.programs import words_that_execute
from lab.worlds.loading.settings import usual_link
from lab.worlds.loading.targets import load_protocol
from lab.worlds.loading.user_module import TargetError
from lab.worlds.simulated.execution import simulate_in_memory

SEEDS = 5
"""Seeds that the solution is tried with; live runs vary more than these."""
RANDOM_TRIALS = 20
DRAWS = 4
"""Students whose draws are tried, besides the first values."""
_SEED = 1
_SOLUTION = "solution.script"
_WRONG = "wrong-*.script"
_FILE_SOLUTION = "solution.py"
_RECORD = "{record_"
_TIMES = ("100ms", "300ms", "600ms", "2s")
_SLICE_US = 1_000_000


def check_exercise(
    exercise: Exercise,
    with_seeds: int = SEEDS,
    at_random: int = RANDOM_TRIALS,
    with_draws: int = DRAWS,
    report_progress: Callable[[float], None] = lambda share: None,
) -> Iterator[str]:
    """Yield the exercise's problems.

    ``with_seeds``: the number of seeds for the solution; ``at_random``: the number of random scripts;
    ``with_draws``: the number of students for whom it is drawn.
    ``report_progress`` is called with the share of the work done.
    """
    if exercise.starting_file is not None:
        problems = _stage_problems if exercise.is_in_stages else _repair_problems
        yield from problems(exercise, report_progress)
        return
    folder = exercise.folder
    if not (folder / _SOLUTION).is_file():
        yield f"{_SOLUTION} is missing: nothing shows that the exercise can be solved"
        return
    seeds: list[int | None] = [None]
    if "live" in exercise.setup.worlds:
        seeds += range(1, with_seeds + 1)
    wrong = sorted(folder.glob(_WRONG))
    draws = with_draws if exercise.draws else 0
    trials = len(exercise.tasks) + len(seeds) + draws + 1 + len(wrong) + at_random
    done = count(1)

    def report() -> None:
        report_progress(next(done) / trials)

    yield from key_problems(exercise, [exercise.setup.seed if seed is None else seed for seed in seeds], report)
    for seed in seeds:
        yield from _solution_problems(exercise, seed)
        report()
    for student in _different_students(exercise, draws):
        yield from _draw_problems(exercise, student)
        report()
    if idle := run_in_sandbox(exercise, []).status.points:
        yield f"doing nothing earns {idle} of {exercise.points} points"
    if not wrong:
        yield f"{_WRONG} is missing: nothing shows that wrong attempts earn nothing"
    for path in wrong:
        yield from _wrong_problems(exercise, path)
        report()
    for number in range(at_random):
        commands = random_commands(exercise, number)
        if run_in_sandbox(exercise, commands).status.is_solved:
            yield f"random commands solve it: {'; '.join(commands)}"
            return
        report()


def _repair_problems(exercise: Exercise, report_progress: Callable[[float], None]) -> Iterator[str]:
    """Yield the problems of a repair exercise: its solution must earn all points, nothing else any."""
    untouched = exercise.starting_files[0]
    solution, wrong = exercise.folder / _FILE_SOLUTION, sorted(exercise.folder.glob("wrong-*.py"))
    if not wrong:
        yield "wrong-*.py is missing: nothing shows that wrong repairs earn nothing"
    if not solution.is_file():
        yield "solution.py is missing: nothing shows that the exercise can be solved"
        return
    for result in grade_file(exercise, solution, _SEED).results:
        if result.state != "done":
            yield f"solution.py: task {result.task} is {result.state}: {result.why}"
    for number, path in enumerate((untouched, *wrong), 1):
        report_progress(number / (2 + len(wrong)))
        if points := grade_file(exercise, path, _SEED).points:
            which = "the unchanged file" if path == untouched else path.name
            yield f"{which} earns {points} of {exercise.points} points"


def _stage_problems(exercise: Exercise, report_progress: Callable[[float], None]) -> Iterator[str]:
    """Yield the problems of an exercise in stages.

    ``solution-2.py`` must earn the points of stages 1 and 2, and no more; ``wrong-2-….py`` those of stage 1. A
    program may have solutions in other languages, too, ``solution.js``, which are tried where the machine has the
    language.
    """
    folder, last = exercise.folder, len(exercise.tasks)
    expected = dict.fromkeys(exercise.starting_files, 0) | {folder / _FILE_SOLUTION: last}
    expected |= {folder / f"solution-{number}.py": number for number in range(1, last)}
    if exercise.is_program:
        expected |= dict.fromkeys(filter(_has_interpreter, sorted(folder.glob("solution.*"))), last)
        for path in [path for path in exercise.starting_files if not _has_interpreter(path)]:
            del expected[path]
    suffix = "*" if exercise.is_program else "py"
    wrong = {path: _stage_of(path) - 1 for path in sorted(folder.glob(f"wrong-*.{suffix}"))}
    for path in [path for path in expected if not path.is_file()]:
        yield f"{path.name} is missing: nothing shows that the stages up to {expected.pop(path)} can be passed"
    for path in [path for path, passed in wrong.items() if not 0 <= passed < last]:
        rest = path.name.removeprefix("wrong-")
        yield f"{path.name}: name the stage that it fails, 1 to {last}: wrong-2-{rest}"
        del wrong[path]
    if not wrong:
        yield "wrong-*.py is missing: nothing shows that wrong attempts fail: wrong-2-….py fails stage 2"
    every = [*expected.items(), *wrong.items()]
    for number, (path, passed) in enumerate(every, 1):
        yield from _stages_passed_problems(path.name, grade_file(exercise, path, _SEED).results, passed)
        if path.name == _FILE_SOLUTION:
            yield from _visible_problems(exercise, path)
        report_progress(number / len(every))


def _has_interpreter(file: Path) -> bool:
    """Return whether this machine can execute the program."""
    try:
        words_that_execute(file)
    except TargetError:
        return False
    return True


def _stages_passed_problems(name: str, results: Sequence[Result], passed: int) -> Iterator[str]:
    done = sum(result.state == "done" for result in results)
    if done > passed:
        yield f"{name} passes stage {passed + 1}, but it should pass {passed or 'none'} of {len(results)}"
    elif done < passed:
        yield f"{name} fails stage {done + 1}: {results[done].why}"


def _visible_problems(exercise: Exercise, solution: Path) -> Iterator[str]:
    """Yield what the visible campaigns find in the solution."""
    with TemporaryDirectory() as folder:
        for stage in try_stages(exercise, solution, _SEED, Path(folder)):
            if stage.result is not None and stage.result.shortfall is not None:
                yield f"{solution.name} fails the visible stage {stage.task.number}: {stage.result.shortfall.why}"


def _stage_of(path: Path) -> int:
    """Return the number in ``wrong-2-….py``; 0 if there is none."""
    number = path.name.removeprefix("wrong-").partition("-")[0]
    return int(number) if number.isdecimal() and number.isascii() else 0


def _solution_problems(exercise: Exercise, seed: int | None) -> Iterator[str]:
    found = _run_script(exercise, exercise.folder / _SOLUTION, seed)
    if isinstance(found, str):
        yield found
        return
    for task, result in zip(exercise.tasks, found.results, strict=True):
        if result.state != "done" or (task.way != "explain" and result.points < task.points):
            with_seed = "" if seed is None else f" with seed {seed}"
            yield f"{_SOLUTION}{with_seed}: task {task.number} is {result.state}: {sanitize(result.why, 100)}"


def _different_students(exercise: Exercise, count: int) -> Iterator[str]:
    """Yield so many students: each time one who gets the most values that none before has got."""
    tried = set(first_values(exercise.draws).items())
    students = {
        name: draw(exercise.draws, exercise.name, name, b"") for name in map("student-{}".format, range(40))
    }
    for _ in range(count):
        student = max(students, key=lambda name: len(students[name].items() - tried))
        tried |= students.pop(student).items()
        yield student


def _draw_problems(exercise: Exercise, student: str) -> Iterator[str]:
    """Yield the problems that this student would have."""
    try:
        drawn = drawn_for(exercise, student)
    except ExerciseError as error:
        yield from error.mistakes
        return
    values = f", with {describe_draw(drawn.drawn)}"
    yield from (problem + values for problem in key_problems(drawn, (drawn.setup.seed,)))
    yield from (problem + values for problem in _solution_problems(drawn, None))
    for path in sorted(exercise.folder.glob(_WRONG)):
        yield from (problem + values for problem in _wrong_problems(drawn, path))


def _wrong_problems(exercise: Exercise, path: Path) -> Iterator[str]:
    found = _run_script(exercise, path)
    if isinstance(found, str):
        yield found
    elif points := found.status.points:
        yield f"{path.name} earns {points} of {exercise.points} points"


def _run_script(exercise: Exercise, path: Path, seed: int | None = None) -> Assessment | str:
    try:
        return run_in_sandbox(
            exercise, read_commands(exercise, fill_script(exercise, read_foreign_text(path))), seed
        )
    except CommandError as error:
        return f"{path.name}: {error}"
    except OSError as error:
        return f"{path.name}: {error.strerror}"


def fill_script(exercise: Exercise, text: str) -> str:
    """Put the values of this exercise in place of their names.

    Besides ``script_values``, ``{record_2}`` is the record that task 2 asks for.
    """
    values = exercise.script_values
    if _RECORD in text:
        found = run_in_sandbox(exercise, []).expected_records
        values |= {f"record_{task}": str(record) for task, record in found.items()}
    return fill(text, values)


def random_commands(exercise: Exercise, seed: int) -> list[str]:
    """Draw some of the allowed commands, on random nodes and links, at random times."""
    draw = Random(f"{exercise.name}/{seed}")
    nodes = exercise.setup.nodes
    found = []
    for _ in range(draw.randint(1, 6)):
        verb = draw.choice(exercise.may) if exercise.may else "mark"
        one, other = draw.sample(nodes, 2) if len(nodes) > 1 else (nodes[0], nodes[0])
        link = f"{one}->{other}"
        templates = {
            **dict.fromkeys(
                ("kill", "restart", "pause", "resume", "wipe", "unwrite", "tear", "flip"), f"{verb} {one}"
            ),
            **dict.fromkeys(("hold", "cut", "join", "release"), f"{verb} {link}"),
            "heal": "heal",
            "slow-disk": f"slow-disk {one} {draw.choice(_TIMES)}",
            "slow": f"slow {one} {draw.choice(_TIMES)}",
            "delay": f"delay {link} {draw.choice(_TIMES)}",
            "lose": f"lose {link} 100%",
            "duplicate": f"duplicate {link} 100%",
            "reorder": f"reorder {link} 100%",
            "partition": f"partition {' '.join(map(str, draw.sample(nodes, draw.randint(1, len(nodes) - 1))))}",
        }
        if command := templates.get(verb):
            found.append(f"at {draw.randint(500, 15_000)}ms: {command}")
    return found


# the sandbox


def read_commands(exercise: Exercise, text: str) -> list[str]:
    """Return the commands in a script of a student's actions: each line is independent, with its own triggers.

    Raises CommandError if one is not allowed in this exercise.
    """
    setup = exercise.setup
    protocol = load_protocol(setup.protocol)
    scope = Scope(protocol, setup.nodes, setup.parameters)
    lines = [line for _, line in numbered_lines(text)]
    for source in lines:
        line = parse(source, protocol)
        line.check(scope)
        verb = line.text.partition(" ")[0]
        if verb not in exercise.allowed:
            raise CommandError(
                f"{verb} is not allowed in this exercise; allowed are {', '.join(exercise.allowed)}"
            )
    return lines


def run_in_sandbox(exercise: Exercise, commands: Sequence[str], seed: int | None = None) -> Assessment:
    """Simulate an attempt with these commands, in memory, and return its assessment.

    ``seed`` replaces the setup's. The run ends when all tasks are decided, or after ``LONGEST_US``.
    """
    setup = exercise.setup
    config = replace(
        attempt_config(exercise, "nobody", 1, Path()),
        commands=tuple(commands),
        world="simulated",
        link=setup.link or usual_link(setup.timing, True),
        seed=setup.seed if seed is None else seed,
    )
    header = header_of(config, load_protocol(config.protocol))
    assessment = Assessment(exercise, header)
    end_us = min(setup.ends_us, LONGEST_US)
    simulate_in_memory(config, header, assessment.observe, lambda: assessment.status.is_decided, end_us, _SLICE_US)
    return assessment
