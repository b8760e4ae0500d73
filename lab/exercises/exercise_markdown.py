"""Parse the texts of an exercise: Markdown, split at its headings."""

import re

from lab.exercises.exercise import Hint

__all__ = ["TextError", "hints_in", "instructions_in"]

_HEADING = re.compile(r"^(#{1,2})[ \t]+(.+?)[ \t]*$", re.MULTILINE)
_TASK = re.compile(r"(\d+)\.\s+(.+)")
_HINTS_FOR = re.compile(r"Task (\d+)")
_COSTS = re.compile(r"Costs (\d+)")


class TextError(Exception):
    """A mistake in a text, described for the user; ``line`` starts at 1."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(text)
        self.line = line


def instructions_in(text: str) -> tuple[str, list[tuple[str, str]]]:
    """Return the text before the tasks, and (title, text) of each task. Raises TextError.

    The tasks are the headings ``## 1. Make it so``, numbered from 1. A heading ``# Title`` before them is left
    out.
    """
    intro, tasks = "", list[tuple[str, str]]()
    for line, depth, heading, body in _sections(text):
        found = _TASK.fullmatch(heading) if depth == 2 else None
        if found is None:
            if tasks or depth == 2:
                raise TextError(line, f"'{heading}' is not a task; expected: ## {len(tasks) + 1}. TITLE")
            intro = "\n\n".join(filter(None, [intro, body]))
        elif int(found[1]) != len(tasks) + 1:
            raise TextError(line, f"tasks are numbered in order; expected: ## {len(tasks) + 1}. {found[2]}")
        else:
            tasks.append((found[2], body))
    return intro, tasks


def hints_in(text: str) -> dict[int, list[Hint]]:
    """Return the hints of each task, by its number, in order. Raises TextError.

    Under a heading ``# Task 1`` each hint has its own heading: ``## Free``, or ``## Costs 1``.
    """
    hints: dict[int, list[Hint]] = {}
    task = 0
    for line, depth, heading, body in _sections(text):
        of, costs = _HINTS_FOR.fullmatch(heading), _COSTS.fullmatch(heading)
        if depth == 0:
            if body:
                raise TextError(line, "hints start with a heading: # Task 1")
        elif depth == 1 and of is not None:
            task = int(of[1])
        elif depth == 2 and task and (heading == "Free" or costs is not None):
            if not body:
                raise TextError(line, "this hint is empty")
            hints.setdefault(task, []).append(Hint(0 if costs is None else int(costs[1]), body))
        else:
            raise TextError(line, f"'{heading}': expected # Task 1, and below it ## Free or ## Costs 1")
    return hints


def _sections(text: str) -> list[tuple[int, int, str, str]]:
    """Split the text into (line, depth, heading, body); the first section, of depth 0, has no heading."""
    shown = _without_code(text)
    found = list(_HEADING.finditer(shown))
    starts = [0, *(each.end() for each in found)]
    ends = [*(each.start() for each in found), len(text)]
    bodies = [text[start:end].strip() for start, end in zip(starts, ends, strict=True)]
    rest = [
        (text.count("\n", 0, each.start()) + 1, len(each[1]), each[2], body)
        for each, body in zip(found, bodies[1:], strict=True)
    ]
    return [(1, 0, "", bodies[0]), *rest]


def _without_code(text: str) -> str:
    """Blank out fenced code, in which a # starts a comment, not a heading."""
    return re.sub(
        r"^```.*?^```", lambda code: re.sub(r"[^\n]", " ", code[0]), text, flags=re.MULTILINE | re.DOTALL
    )
