#!/usr/bin/env python3
"""A program that is not to be trusted: each of its nodes tries one thing that no program of a stranger's may do.

Node 1 does the first of ``INTRUSIONS``. The argument is a file that it must not read. A node that succeeds says so
in its log.
"""

import ctypes
import json
import mmap
import os
import socket
import subprocess
import sys


def reconnect() -> None:
    """Use the connection to the host for another one."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.connect(0, bytes(16), 16):
        raise OSError(ctypes.get_errno(), "connect")


def flood() -> None:
    """Write lines without end."""
    while True:
        print("{}", file=sys.stderr)


def write_endless_line() -> None:
    """Write a line without end."""
    while True:
        os.write(1, b"x" * 65536)


INTRUSIONS = {
    "fork": os.fork,
    "execute another program beside it": lambda: subprocess.run(["/bin/true"], check=True),
    "connect": lambda: socket.create_connection(("127.0.0.1", 1)),
    "reconnect": reconnect,
    "read a solution": lambda: os.open(sys.argv[1], os.O_RDONLY),
    "list its folder": lambda: os.listdir(os.path.dirname(sys.argv[1])),
    "write a file": lambda: os.open("written", os.O_WRONLY | os.O_CREAT),
    "change a mode": lambda: os.chmod("/etc/hostname", 0o644),
    "kill its parent": lambda: os.kill(os.getppid(), 9),
    "fill the memory": lambda: bytearray(1 << 30),
    "fill shared memory": lambda: mmap.mmap(-1, 1 << 30),
    "flood": flood,
    "write an endless line": write_endless_line,
}


def main() -> None:
    """Do what this node is for, and then nothing."""
    init = json.loads(sys.stdin.readline())["body"]
    number = int(init["node_id"][1:])
    intrusion = list(INTRUSIONS.values())[number - 1]
    intrusion()
    print(f"done: {number}", file=sys.stderr)
    sys.stdin.read()


if __name__ == "__main__":
    main()
