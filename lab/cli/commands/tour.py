"""``lab tour``: a guided tour of the interface."""

from lab.cli.program import app

__all__ = ["tour"]

_T = "500ms"
"""Slow enough to watch, and for a busy machine."""


@app.command()
def tour() -> int:
    """Take a guided tour of the interface, in five steps.

    Five nodes run the bully algorithm. You kill the coordinator, find the moment when its successor was elected,
    and export the run. Every step can be skipped. The tour is an ordinary run, and is recorded.
    """
    from lab.cli.run_options import run_config, world_of  # noqa: PLC0415
    from lab.cli.runner import run_with_interface  # noqa: PLC0415

    world = world_of(sim=False, speed=None, headless=False)
    no = None
    config = run_config("bully", "5", _T, no, no, no, no, [], [], no, no, no, no, world)
    return run_with_interface(config, tour=True)
