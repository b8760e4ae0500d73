"""The texts of an exercise: Markdown, taken apart at its headings."""

import re

from lab.exercises.exercise import Hint

__all__ = ["TextError", "hints_in", "instructions_in"]

_HEADING = re.compile(r"^(#{1,2})[ \t]+(.+?)[ \t]*$", re.MULTILINE)
_TASK = re.compile(r"(\d+)\.\s+(.+)")
_HINTS_FOR = re.compile(r"Task (\d+)")
_COSTS = re.compile(r"Costs (\d+)")


class TextError(Exception):
    """What is wrong in a text, for the user; ``line`` from 1."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(text)
        self.line = line


def instructions_in(text: str) -> tuple[str, list[tuple[str, str]]]:
    """(what comes before the tasks, (title, text) of each task). TextError.

    The tasks are the headings ``## 1. Make it so``, numbered from 1; a heading ``# Title`` before is left out.
    """
    intro, tasks = "", list[tuple[str, str]]()
    for line, depth, heading, below in _sections(text):
        found = _TASK.fullmatch(heading) if depth == 2 else None
        if found is None:
            if tasks or depth == 2:
                raise TextError(line, f"'{heading}' is no task; write ## {len(tasks) + 1}. What is to be done")
            intro = "\n\n".join(filter(None, [intro, below]))
        elif int(found[1]) != len(tasks) + 1:
            raise TextError(line, f"this is task {len(tasks) + 1}: write ## {len(tasks) + 1}. {found[2]}")
        else:
            tasks.append((found[2], below))
    return intro, tasks


def hints_in(text: str) -> dict[int, list[Hint]]:
    """The hints for each task, by its number, in the order in which they are given. TextError.

    Under a heading ``# Task 1`` each has one of its own: ``## Free``, or ``## Costs 1``.
    """
    hints: dict[int, list[Hint]] = {}
    task = 0
    for line, depth, heading, below in _sections(text):
        of, costs = _HINTS_FOR.fullmatch(heading), _COSTS.fullmatch(heading)
        if depth == 0:
            if below:
                raise TextError(line, "hints begin with a heading: # Task 1")
        elif depth == 1 and of is not None:
            task = int(of[1])
        elif depth == 2 and task and (heading == "Free" or costs is not None):
            if not below:
                raise TextError(line, "there is nothing in this hint")
            hints.setdefault(task, []).append(Hint(0 if costs is None else int(costs[1]), below))
        else:
            raise TextError(line, f"'{heading}': write # Task 1, and below it ## Free or ## Costs 1")
    return hints


def _sections(text: str) -> list[tuple[int, int, str, str]]:
    """(line, depth, heading, text below it) of each; the first is what comes before any, of depth 0."""
    shown = _without_code(text)
    found = list(_HEADING.finditer(shown))
    starts = [0, *(each.end() for each in found)]
    ends = [*(each.start() for each in found), len(text)]
    below = [text[start:end].strip() for start, end in zip(starts, ends, strict=True)]
    rest = [
        (text.count("\n", 0, each.start()) + 1, len(each[1]), each[2], said)
        for each, said in zip(found, below[1:], strict=True)
    ]
    return [(1, 0, "", below[0]), *rest]


def _without_code(text: str) -> str:
    """With blanks in the place of what is between fences: a # there is a remark."""
    return re.sub(
        r"^```.*?^```", lambda code: re.sub(r"[^\n]", " ", code[0]), text, flags=re.MULTILINE | re.DOTALL
    )
