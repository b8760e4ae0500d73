"""The live host's process: ``python -m lab.worlds.live``, started by ``lab run``.

It reads its ``RunConfig`` from the first line of standard input and answers with one line, ``HostReady`` or
``HostRefused``. It runs until the run is over or standard input ends, which means that the process that started it
is gone.
"""

import sys
from functools import partial

from lab.worlds.host.startup import new_writer, read_config
from lab.worlds.live.node_process import start_fork_server
from lab.worlds.loading.targets import load_protocol


def main() -> int:
    """Run the host; return the exit status of its process."""
    config = read_config()
    if config is None:
        return 2
    fork_server = start_fork_server(config, load_protocol(config.protocol))
    from lab.worlds.host.host import run_host  # noqa: PLC0415 - fork before the event loop is loaded
    from lab.worlds.live.live_host import LiveHost  # noqa: PLC0415

    return run_host(config, new_writer, partial(LiveHost, fork_server=fork_server))


if __name__ == "__main__":
    sys.exit(main())
