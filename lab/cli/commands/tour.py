"""``lab tour``: a run to look around in, and the tour through it."""

from lab.cli.app import app

__all__ = ["tour"]

_T = "500ms"
"""Slow enough to be watched, and for a machine that has much else to do."""


@app.command()
def tour() -> int:
    """Be shown around in five steps: kill a coordinator, find the moment when the next was set, and export it.

    Five nodes run the bully algorithm. Every step can be skipped, and what is done is a run like any other.
    """
    from lab.cli.running import run_with_interface  # noqa: PLC0415
    from lab.cli.settings import run_config, world_of  # noqa: PLC0415

    world = world_of(sim=False, speed=None, headless=False)
    no = None
    config = run_config("bully", "5", _T, no, no, no, no, [], [], no, no, no, no, world)
    return run_with_interface(config, tour=True)
