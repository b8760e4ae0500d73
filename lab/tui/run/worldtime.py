"""Virtual time as the interface shows it and turns it: what the keys of time do at the end of a simulated run."""

from lab.script import FASTEST, SLOWEST
from lab.tui.run.player import SPEEDS, Player
from lab.worlds.orders import Clock

__all__ = ["WORLD_SPEEDS", "pace_said", "time_command"]

WORLD_SPEEDS = (SLOWEST, 0.02, 0.05, *SPEEDS, 200.0, 500.0, FASTEST, None)
"""Virtual over real time; None: as fast as it can be computed."""


def pace_said(clock: Clock) -> str:
    """How fast time goes."""
    return "max" if clock.factor is None else f"{clock.factor:g}x"


def time_command(word: str, clock: Clock | None, player: Player) -> str:
    """The command that a key of time gives to the world; empty where it only moves the cursor.

    The keys are the world's where the cursor is at the end of the run, and the cursor's in its past.
    """
    if clock is None or not player.live:
        return ""
    if clock.frozen and player.number >= len(player.lines) - 1:
        player.to_end()
    if not player.following:
        return ""
    if word == "play":
        return "go" if clock.frozen else "freeze"
    if word == "step":
        return "step"
    if word in ("slower", "faster"):
        return f"speed {_other(clock.factor, 1 if word == 'faster' else -1)}"
    return ""


def _other(factor: float | None, by: int) -> str:
    """The next speed up, or down."""
    fastest = len(WORLD_SPEEDS) - 1
    place = fastest
    if factor is not None:
        place = min(range(fastest), key=lambda i: abs((WORLD_SPEEDS[i] or 0) - factor))
    other = WORLD_SPEEDS[max(0, min(place + by, fastest))]
    return "max" if other is None else f"{other:g}"
