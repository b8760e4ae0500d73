"""The clock of the machine may jump: durations come from a monotonic one, dates are only shown or compared."""

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

from lab.recording.records import End
from tests.siege import jumping_clock
from tests.worlds.live import STEADY, LiveRun

LAB = Path(__file__).parents[2] / "lab"
_READINGS = {"time", "time_ns", "now", "utcnow", "today", "localtime", "gmtime", "ctime", "fromtimestamp"}
_OWNERS = {"time", "datetime", "date"}
_OF_FILES = {"st_mtime", "st_mtime_ns", "st_ctime", "st_ctime_ns", "getmtime", "getctime"}
_MAY_READ = re.compile(rf"\b({'|'.join(_OWNERS)})\s*\.\s*({'|'.join(_READINGS)})\b|\b({'|'.join(_OF_FILES)})\b")

USES = {
    "cli/home.py": (5, "the dates and ages of recordings and campaigns in a list, and their order"),
    "cli/serve_class.py": (1, "how much time remains until a deadline"),
    "cli/serve_lecture.py": (1, "the date of a lecture, and whether one was interrupted lately"),
    "exercises/attempts.py": (5, "the date of an attempt or a grade, and of a task that is done"),
    "places.py": (1, "which recordings without a name are the oldest"),
    "script/parser_tables.py": (1, "which tables of the parser are the oldest"),
    "serve/admin_server.py": (2, "how long ago, for the teacher; whether a file has changed"),
    "serve/comments.py": (2, "the date of a comment, and since when it is read"),
    "serve/data_folder.py": (2, "the date of a line of the log; whether a file has changed"),
    "serve/gradebook.py": (1, "the date of a seal"),
    "serve/server_context.py": (3, "the date of a start; which recordings are newer than the progress"),
    "serve/student_lists.py": (5, "until when an invitation is valid; dates of keys and removals"),
    "tui/apps/classroom_app.py": (1, "the date of a solution"),
    "tui/apps/exercise_list.py": (1, "how much time remains until a deadline"),
    "worlds/campaign/campaign_recording.py": (1, "the date of a campaign"),
    "worlds/host/host.py": (1, "the date of a run"),
    "worlds/loading/config.py": (2, "the date of a run, and in its name"),
    "worlds/loading/user_module.py": (1, "whether a file has changed"),
}
"""By file, how often the wall clock is read, and what for: never for a duration, a timeout or an order."""


def _readings(path: Path) -> int:
    text = path.read_text("utf-8")
    if not _MAY_READ.search(text):  # parsing takes much longer
        return 0
    return sum(
        isinstance(node, ast.Attribute)
        and (
            node.attr in _OF_FILES
            or (node.attr in _READINGS and isinstance(node.value, ast.Name) and node.value.id in _OWNERS)
        )
        for node in ast.walk(ast.parse(text))
    )


def test_every_use_of_the_wall_clock_is_listed() -> None:
    """For a new one, think of what becomes of it when the clock is set back an hour."""
    found = Counter({path.relative_to(LAB).as_posix(): _readings(path) for path in sorted(LAB.rglob("*.py"))})
    assert {name: count for name, count in found.items() if count} == {
        name: count for name, (count, _) in USES.items()
    }


@pytest.mark.live
def test_a_run_while_the_clock_jumps(tmp_path: Path) -> None:
    """Elections, a kill, a pause and the end of the run come when they are due."""
    with LiveRun(tmp_path, nodes=(1, 2, 3), timing=STEADY, module=jumping_clock.__name__, end_us=6_000_000) as run:
        run.settled(3)
        run.order("kill 3")
        run.settled(2)
        run.order("pause 1")
        run.process_is(1, "paused")
        run.order("resume 1")
        run.process_is(1, "running")
        run.ended()
        end = run.tail.read().records[-1]
        assert isinstance(end, End)
        assert 6_000_000 <= end.at_us < 8_000_000
