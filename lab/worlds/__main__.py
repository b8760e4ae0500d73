"""The host's process: ``python -m lab.worlds``, started by ``lab run``.

It reads its ``RunConfig`` from the first line of standard input and answers with one line, ``HostReady`` or
``HostRefused``. It runs until the run is over or standard input ends, which means that the process that started it
is gone.
"""

import os
import signal
import sys
from functools import partial

import msgspec

from lab.worlds.live.node_process import start_fork_server
from lab.worlds.loading.config import HostRefused, RunConfig, load_protocols, new_writer, send_reply
from lab.worlds.loading.user_module import TargetError


def main() -> int:
    """Run the host; return the exit status of its process."""
    config = _read_config()
    if config is None:
        return 2
    # the nodes' fork server has no event loop: fork it before this process loads one
    fork_server = start_fork_server(config, load_protocols(config)) if config.world == "live" else None
    from lab.worlds.host.host import run_host  # noqa: PLC0415

    if fork_server is not None:
        from lab.worlds.live.live_host import LiveHost  # noqa: PLC0415

        return run_host(config, new_writer, partial(LiveHost, fork_server=fork_server))
    from lab.worlds.simulated.execution import build  # noqa: PLC0415
    from lab.worlds.simulated.simulated_host import SimulatedHost  # noqa: PLC0415

    return run_host(config, build, SimulatedHost)


def _read_config() -> RunConfig | None:
    """Return the configuration on the first line of standard input, after loading its protocol.

    Return None if the process that started this one is gone, or has been told why the protocol cannot be loaded.
    From here on a signal ends the process, until the host's event loop takes over the signals.
    """
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(0, 1)  # unbuffered: the event loop reads the rest
        if not byte:
            return None
        line += byte
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(1))
    config = msgspec.json.decode(line, type=RunConfig)
    sys.stdout = sys.stderr  # standard output is for the host; a user's protocol may print
    try:
        load_protocols(config)
    except TargetError as error:
        send_reply(HostRefused(str(error)))
        return None
    return config


if __name__ == "__main__":
    sys.exit(main())
