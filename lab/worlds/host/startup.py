"""The start of a host: its configuration and first reply. Nothing here needs or loads an event loop."""

import os
import signal
import sys
from pathlib import Path

import msgspec

from lab.recording.writer import Writer
from lab.worlds.loading.config import HostReady, HostRefused, RunConfig, header_of
from lab.worlds.loading.targets import TargetError, load_protocol


def read_config() -> RunConfig | None:
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
        load_protocol(config.protocol)
    except TargetError as error:
        send_reply(HostRefused(str(error)))
        return None
    return config


def new_writer(config: RunConfig) -> Writer:
    """Begin the run's recording, with its header. Raises OSError."""
    if config.exercise is not None:
        Path(config.recording).touch(0o644, exist_ok=False)  # never overwrite the recording of an attempt
    return Writer(Path(config.recording), header_of(config, load_protocol(config.protocol)))


def send_reply(first: HostReady | HostRefused) -> None:
    """Write the reply, one line, to standard output."""
    os.write(1, msgspec.json.encode(first) + b"\n")
