"""The virtual time of a simulated run: how it is shown, and what the time keys do at the end of the run."""

from lab.script import FASTEST, SLOWEST
from lab.tui.run.player import SPEEDS, Player
from lab.worlds.feed_protocol import Clock

__all__ = ["WORLD_SPEEDS", "format_pace", "time_command"]

WORLD_SPEEDS = (SLOWEST, 0.02, 0.05, *SPEEDS, 200.0, 500.0, FASTEST, None)
"""Virtual time per real time. None: as fast as it can be computed."""


def format_pace(clock: Clock) -> str:
    """Return the speed of virtual time, such as ``2x`` or ``max``."""
    return "max" if clock.factor is None else f"{clock.factor:g}x"


def time_command(word: str, clock: Clock | None, player: Player) -> str:
    """Return the command that a time key gives to the world, or an empty string if it only moves the cursor.

    The keys control the world while the cursor is at the end of the run, and the cursor while it is in the past.
    """
    if clock is None or not player.live:
        return ""
    if clock.frozen and player.number >= len(player.store) - 1:
        player.to_end()
    if not player.following:
        return ""
    if word == "play":
        return "go" if clock.frozen else "freeze"
    if word == "step":
        return "step"
    if word in ("slower", "faster"):
        return f"speed {_next_speed(clock.factor, 1 if word == 'faster' else -1)}"
    return ""


def _next_speed(factor: float | None, by: int) -> str:
    """Return the next speed up or down, as the command takes it."""
    fastest = len(WORLD_SPEEDS) - 1
    place = fastest
    if factor is not None:
        place = min(range(fastest), key=lambda i: abs((WORLD_SPEEDS[i] or 0) - factor))
    other = WORLD_SPEEDS[max(0, min(place + by, fastest))]
    return "max" if other is None else f"{other:g}"
