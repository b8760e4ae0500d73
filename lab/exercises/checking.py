"""Whether an exercise can be solved, and only by whoever understands it: what a teacher wants to know of it.

Its solution must bring all points, doing nothing and what is known to be wrong none at all, and commands given at
random must not solve it.
"""

from collections.abc import Iterator
from pathlib import Path
from random import Random

from lab.exercises.assessment import Assessment
from lab.exercises.exercise import Exercise
from lab.exercises.repairing import repair_amiss
from lab.exercises.trying import commands_in, try_commands
from lab.script import CommandError
from lab.text import sanitize

__all__ = ["RANDOM_TRIALS", "SEEDS", "check_exercise", "random_commands"]

SEEDS = 5
"""The solution is tried with so many seeds; live runs differ more than that."""
RANDOM_TRIALS = 20
_SOLUTION = "solution.script"
_WRONG = "wrong-*.script"
_TIMES = ("100ms", "300ms", "600ms", "2s")


def check_exercise(exercise: Exercise, with_seeds: int = SEEDS, at_random: int = RANDOM_TRIALS) -> Iterator[str]:
    """What is wrong with it, one after the other. The solution is tried ``with_seeds``, chance ``at_random``."""
    if exercise.repairs is not None:
        yield from repair_amiss(exercise)
        return
    folder = exercise.folder
    if not (folder / _SOLUTION).is_file():
        yield f"there is no {_SOLUTION}: nobody knows whether it can be solved"
        return
    seeds: list[int | None] = [None]
    if "live" in exercise.setup.worlds:
        seeds += range(1, with_seeds + 1)
    for seed in seeds:
        yield from _solution_amiss(exercise, seed)
    if idle := try_commands(exercise, []).stand.points:
        yield f"who does nothing gets {idle} of {exercise.points}"
    wrong = sorted(folder.glob(_WRONG))
    if not wrong:
        yield f"there is no {_WRONG}: nobody knows what it takes for right"
    for path in wrong:
        found = _tried(exercise, path)
        if isinstance(found, str):
            yield found
        elif points := found.stand.points:
            yield f"{path.name} gets {points} of {exercise.points}"
    yield from _random_amiss(exercise, at_random)


def random_commands(exercise: Exercise, seed: int) -> list[str]:
    """Some commands that are allowed, of nodes and links, at times drawn at random."""
    draw = Random(f"{exercise.name}/{seed}")
    nodes = exercise.setup.nodes
    found = []
    for _ in range(draw.randint(1, 6)):
        verb = draw.choice(exercise.may) if exercise.may else "mark"
        one, other = draw.sample(nodes, 2) if len(nodes) > 1 else (nodes[0], nodes[0])
        link = f"{one}->{other}"
        said = {
            "slow": f"slow {one} {draw.choice(_TIMES)}",
            "delay": f"delay {link} {draw.choice(_TIMES)}",
            "lose": f"lose {link} 100%",
            "duplicate": f"duplicate {link} 100%",
            "reorder": f"reorder {link} 100%",
            "partition": f"partition {' '.join(map(str, draw.sample(nodes, draw.randint(1, len(nodes) - 1))))}",
        }
        plain = {"kill", "restart", "pause", "resume", "wipe"}, {"hold", "cut", "join", "release"}, {"heal"}
        command = said.get(verb) or next(
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


def _solution_amiss(exercise: Exercise, seed: int | None) -> Iterator[str]:
    found = _tried(exercise, exercise.folder / _SOLUTION, seed)
    if isinstance(found, str):
        yield found
        return
    for task, result in zip(exercise.tasks, found.results, strict=True):
        if result.state != "done" or (task.way != "explain" and result.points < task.points):
            with_seed = "" if seed is None else f" with seed {seed}"
            yield f"{_SOLUTION}{with_seed}: task {task.number} is {result.state}: {sanitize(result.why, 100)}"


def _tried(exercise: Exercise, path: Path, seed: int | None = None) -> Assessment | str:
    try:
        return try_commands(exercise, commands_in(exercise, path.read_text("utf-8")), seed)
    except CommandError as error:
        return f"{path.name}: {error}"


def _random_amiss(exercise: Exercise, trials: int) -> Iterator[str]:
    for seed in range(trials):
        commands = random_commands(exercise, seed)
        if try_commands(exercise, commands).stand.is_solved:
            yield f"it was solved at random: {'; '.join(commands)}"
            return
