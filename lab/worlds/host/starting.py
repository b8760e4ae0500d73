"""The first words between a host and whoever started it; nothing here needs an event loop, or brings one."""

import os
import signal
import sys
from pathlib import Path

import msgspec

from lab.recording.writer import Writer
from lab.worlds.config import Ready, Refused, RunConfig, header_of
from lab.worlds.targets import TargetError, load_protocol

__all__ = ["new_writer", "read_config", "say"]


def read_config() -> RunConfig | None:
    """The run, from the first line of standard input. Its protocol is loaded: to load it again costs nothing.

    None where whoever started this has gone already, or has been told why the protocol cannot be loaded. From
    here on a signal ends the process; the host's event loop takes them over.
    """
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(0, 1)  # unbuffered: what follows is for the event loop to see
        if not byte:
            return None
        line += byte
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(1))
    config = msgspec.json.decode(line, type=RunConfig)
    sys.stdout = sys.stderr  # what a user's protocol prints is not a word of the host's
    try:
        load_protocol(config.protocol)
    except TargetError as error:
        say(Refused(str(error)))
        return None
    return config


def new_writer(config: RunConfig) -> Writer:
    """The run's recording, with its header. OSError."""
    if config.exercise is not None:
        Path(config.recording).touch(0o644, exist_ok=False)  # what was recorded of an attempt stays
    return Writer(Path(config.recording), header_of(config, load_protocol(config.protocol)))


def say(first: Ready | Refused) -> None:
    """The answer, one line on standard output."""
    os.write(1, msgspec.json.encode(first) + b"\n")
