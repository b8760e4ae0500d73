"""``lab`` with an interface that raises in its tenth frame: ``python -m tests.tui.broken run bully``."""

from lab.cli import main
from lab.tui.screen import RunScreen

_frame = RunScreen._frame
_drawn = 0


def _raising(self: RunScreen) -> None:
    global _drawn
    _drawn += 1
    if _drawn > 10:
        raise RuntimeError("broken on purpose")
    _frame(self)


if __name__ == "__main__":
    RunScreen._frame = _raising  # type: ignore[method-assign]
    main()
