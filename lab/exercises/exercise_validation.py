"""Check that an exercise can be solved, but not without understanding it.

The solution must earn all points. Doing nothing, and each script that is known to be wrong, must earn none. Random
commands must not solve it.
"""

from collections.abc import Iterator
from pathlib import Path
from random import Random

from lab.exercises.assessment import Assessment
from lab.exercises.exercise import Exercise
from lab.exercises.repair_grading import repair_problems
from lab.exercises.sandbox import read_commands, run_in_sandbox
from lab.script import CommandError
from lab.text import sanitize

__all__ = ["RANDOM_TRIALS", "SEEDS", "check_exercise", "random_commands"]

SEEDS = 5
"""Seeds that the solution is tried with; live runs vary more than these."""
RANDOM_TRIALS = 20
_SOLUTION = "solution.script"
_WRONG = "wrong-*.script"
_TIMES = ("100ms", "300ms", "600ms", "2s")


def check_exercise(exercise: Exercise, with_seeds: int = SEEDS, at_random: int = RANDOM_TRIALS) -> Iterator[str]:
    """Yield the exercise's problems.

    ``with_seeds``: the number of seeds for the solution; ``at_random``: the number of random scripts.
    """
    if exercise.repairs is not None:
        yield from repair_problems(exercise)
        return
    folder = exercise.folder
    if not (folder / _SOLUTION).is_file():
        yield f"{_SOLUTION} is missing: nothing shows that the exercise can be solved"
        return
    seeds: list[int | None] = [None]
    if "live" in exercise.setup.worlds:
        seeds += range(1, with_seeds + 1)
    for seed in seeds:
        yield from _solution_problems(exercise, seed)
    if idle := run_in_sandbox(exercise, []).status.points:
        yield f"doing nothing earns {idle} of {exercise.points} points"
    wrong = sorted(folder.glob(_WRONG))
    if not wrong:
        yield f"{_WRONG} is missing: nothing shows that wrong attempts earn nothing"
    for path in wrong:
        found = _run_script(exercise, path)
        if isinstance(found, str):
            yield found
        elif points := found.status.points:
            yield f"{path.name} earns {points} of {exercise.points} points"
    yield from _random_problems(exercise, at_random)


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
            "slow": f"slow {one} {draw.choice(_TIMES)}",
            "delay": f"delay {link} {draw.choice(_TIMES)}",
            "lose": f"lose {link} 100%",
            "duplicate": f"duplicate {link} 100%",
            "reorder": f"reorder {link} 100%",
            "partition": f"partition {' '.join(map(str, draw.sample(nodes, draw.randint(1, len(nodes) - 1))))}",
        }
        plain = {"kill", "restart", "pause", "resume", "wipe"}, {"hold", "cut", "join", "release"}, {"heal"}
        command = templates.get(verb) or next(
            (
                f"{verb} {what}".strip()
                for verbs, what in zip(plain, (one, link, ""), strict=True)
                if verb in verbs
            ),
            "",
        )
        if command:
            found.append(f"at {draw.randint(500, 15_000)}ms: {command}")
    return found


def _solution_problems(exercise: Exercise, seed: int | None) -> Iterator[str]:
    found = _run_script(exercise, exercise.folder / _SOLUTION, seed)
    if isinstance(found, str):
        yield found
        return
    for task, result in zip(exercise.tasks, found.results, strict=True):
        if result.state != "done" or (task.way != "explain" and result.points < task.points):
            with_seed = "" if seed is None else f" with seed {seed}"
            yield f"{_SOLUTION}{with_seed}: task {task.number} is {result.state}: {sanitize(result.why, 100)}"


def _run_script(exercise: Exercise, path: Path, seed: int | None = None) -> Assessment | str:
    try:
        return run_in_sandbox(exercise, read_commands(exercise, path.read_text("utf-8")), seed)
    except CommandError as error:
        return f"{path.name}: {error}"


def _random_problems(exercise: Exercise, trials: int) -> Iterator[str]:
    for seed in range(trials):
        commands = random_commands(exercise, seed)
        if run_in_sandbox(exercise, commands).status.is_solved:
            yield f"random commands solve it: {'; '.join(commands)}"
            return
