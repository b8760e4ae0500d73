"""The live host's process: ``python -m lab.worlds.live``, started by ``lab run``.

It reads its ``RunConfig`` from the first line of its standard input, answers with one line, ``Ready`` or
``Refused``, and runs until the run is over or its standard input ends, which is how it notices that whoever
started it has gone.
"""

import sys
from functools import partial

from lab.worlds.host.starting import new_writer, read_config
from lab.worlds.live.spawner import fork_spawner
from lab.worlds.targets import load_protocol


def main() -> int:
    """Run the host; the exit status of its process."""
    config = read_config()
    if config is None:
        return 2
    spawner = fork_spawner(config, load_protocol(config.protocol))
    from lab.worlds.host.host import run_host  # noqa: PLC0415 - the fork comes before the event loop
    from lab.worlds.live.host import LiveHost  # noqa: PLC0415

    return run_host(config, new_writer, partial(LiveHost, spawner=spawner))


if __name__ == "__main__":
    sys.exit(main())
