"""The process of a program that is a node: it becomes the program, which speaks with the host itself.

The connection to the host is the program's standard input and output, and a second one is its log, standard
error. So a signal of the host's strikes the program, and nothing stands between.

A stranger's program is confined once its connections are made, as it cannot make any itself.
"""

import os
import shlex
import signal
import socket

from lab.worlds.json_lines import to_line
from lab.worlds.live.wire import WELCOME, Hello, NodeJob, NotStarted
from lab.worlds.loading.config import RunConfig
from lab.worlds.loading.program_confinement import ENVIRONMENT, confine_program

_MOST_FILES = 1 << 12


def become_program(command: str, job: NodeJob, config: RunConfig) -> int:
    """Connect to the host and execute the program; return only if that is not possible, an exit status."""
    try:
        log, talk = _connect(job, is_log=True), _connect(job, is_log=False)
    except OSError:
        return 1  # the host has gone, or does not want this node any more
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    try:
        words = shlex.split(command)
        for descriptor, standard in ((talk, 0), (talk, 1), (log, 2)):
            os.dup2(descriptor.fileno(), standard)
        if config.confined is None:
            os.execvp(words[0], words)
        os.chdir(config.confined.folder)
        os.closerange(3, _MOST_FILES)
        confine_program(config.confined, words[0], config.end_us)
        os.execve(words[0], words, ENVIRONMENT)
    except (OSError, ValueError, IndexError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        os.write(1, to_line(NotStarted(f"the program {command!r} cannot be executed: {reason}")))
    return 1


def _connect(job: NodeJob, is_log: bool) -> socket.socket:
    connection = socket.socket()
    connection.connect(("127.0.0.1", job.port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.sendall(to_line(Hello(job.node, job.incarnation, job.token, is_log)))
    if connection.recv(1) != WELCOME:  # from now on, all that is written is the program's
        raise ConnectionRefusedError
    return connection
