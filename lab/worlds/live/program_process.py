"""The process of a program that is a node: it becomes the program, which speaks with the host itself.

The connection to the host is the program's standard input and output, and a second one is its log, standard
error. So a signal of the host's strikes the program, and nothing stands between.
"""

import os
import shlex
import signal
import socket

from lab.worlds.json_lines import to_line
from lab.worlds.live.wire import WELCOME, Hello, NodeJob, NotStarted


def become_program(command: str, job: NodeJob) -> int:
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
        os.execvp(words[0], words)
    except (OSError, ValueError, IndexError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        talk.sendall(to_line(NotStarted(f"the program {command!r} cannot be executed: {reason}")))
    return 1


def _connect(job: NodeJob, is_log: bool) -> socket.socket:
    connection = socket.socket()
    connection.connect(("127.0.0.1", job.port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.sendall(to_line(Hello(job.node, job.incarnation, job.token, is_log)))
    if connection.recv(1) != WELCOME:  # from now on, all that is written is the program's
        raise ConnectionRefusedError
    return connection
