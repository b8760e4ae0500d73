"""A small lecture for tests: a text, a run with two stops, and a question."""

from pathlib import Path

from lab.lectures.lecture import Lecture
from lab.lectures.lecture_reader import read_lecture

TEXT = """\
# A pause

For a test.

## Only a text

Silence proves *nothing*.

### Notes

A minute, at most.

## The coordinator is paused

Five nodes.

```scenario
protocol = "bully"
nodes = "5"
t = "500ms"
for = "20s"
---
when all normal: pause 5
```

```show
stop = "when 5 paused after 1s"
view = "diagram"
node = 4
caption = "Nobody has noticed"
```

```question
question = "Who leads now?"
choices = ["only 5", "4 and 5"]
answer = "only 5"
explains = "The others wait longer than a *second*."

[key]
at = "when 5 paused after 1s"

[key.holds]
"only 5" = "5 leads and not 4 leads"
"4 and 5" = "4 leads and 5 leads"
```

## Two coordinators

```show
stop = "when 4 leads"
```
"""


def line_of(text: str, part: str) -> int:
    """Return the number of the first line with this part."""
    return next(number for number, line in enumerate(text.split("\n"), 1) if part in line)


def write_lecture(folder: Path, before: str = "", after: str = "", text: str = TEXT) -> Path:
    """Write the lecture with one part of its text replaced."""
    assert before in text
    path = folder / "pause.md"
    path.write_text(text.replace(before, after, 1) if before else text, "utf-8")
    return path


def make_lecture(folder: Path, before: str = "", after: str = "") -> Lecture:
    """Write and read the lecture with one part of its text replaced."""
    return read_lecture(write_lecture(folder, before, after))
