"""``lab`` with a log of its frame costs: ``python -m tests.benchmarks.framed FILE run bully``.

A frame is all work of the interface's process from one drawing to the next: taking in records, folding them,
drawing what changed, writing it to the terminal. FILE gets its processor time in milliseconds, a line each.
"""

import os
import sys
import time

from lab.cli import main
from lab.tui.screen import RunScreen

_draw = RunScreen.draw
_file = -1
_last_s = 0.0


def _timed(self: RunScreen) -> None:
    global _last_s
    now_s = time.process_time()
    if _last_s:
        os.write(_file, f"{(now_s - _last_s) * 1000:.3f}\n".encode())
    _last_s = now_s
    _draw(self)


if __name__ == "__main__":
    _file = os.open(sys.argv.pop(1), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    RunScreen.draw = _timed  # type: ignore[method-assign]
    main()
