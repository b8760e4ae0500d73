"""The host's process: ``python -m lab.worlds.live``, started by ``lab run``.

It reads its ``RunConfig`` from the first line of its standard input, answers with one line, ``Ready`` or
``Refused``, and runs until the run is over or its standard input ends, which is how it notices that whoever
started it has gone.
"""

import os
import signal
import sys

import msgspec

from lab.protocols import find_protocol
from lab.worlds.config import RunConfig
from lab.worlds.live.spawner import fork_spawner


def main() -> int:
    """Run the host; the exit status of its process."""
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(0, 1)  # unbuffered: what follows is for the event loop to see
        if not byte:
            return 2
        line += byte
    config = msgspec.json.decode(line, type=RunConfig)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(1))
    spawner = fork_spawner(config, find_protocol(config.protocol))
    from lab.worlds.live.host import run_host  # noqa: PLC0415 - the fork comes before the event loop

    return run_host(config, spawner)


if __name__ == "__main__":
    sys.exit(main())
