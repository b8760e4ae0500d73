"""``lab`` with an interface that raises in its tenth frame: ``python -m tests.tui.broken run bully``."""

from lab.cli import main
from lab.tui.screen import RunScreen

draw = RunScreen.draw
_drawn = 0


def _raising(self: RunScreen) -> None:
    global _drawn
    _drawn += 1
    if _drawn > 10:
        raise RuntimeError("broken on purpose")
    draw(self)


if __name__ == "__main__":
    RunScreen.draw = _raising  # type: ignore[method-assign]
    main()
