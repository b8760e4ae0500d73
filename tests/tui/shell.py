"""A minimal shell: the leader of the terminal's session, with the program in the foreground. Run as a script.

``python -m tests.tui.shell OUT IN COMMAND…`` writes the program's process id and then its exit status (negative:
the signal that ended it) to the file descriptor OUT, and holds the terminal until IN ends. Without it the program
would lead the session itself, and its end alone would restore the terminal.
"""

import contextlib
import fcntl
import os
import signal
import sys
import termios
from collections.abc import Callable


def main(out: int, until: int, run: Callable[[], object]) -> None:
    """Run the program in a child, which ``run`` becomes; report its process id and exit status."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        os.tcsetpgrp(0, os.getpid())
        os.closerange(3, 64)
        for number in (signal.SIGTTOU, signal.SIGPIPE, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        run()
        os._exit(1)
    os.write(out, f"{child}\n".encode())
    _, status = os.waitpid(child, 0)
    with contextlib.suppress(OSError):
        os.tcsetpgrp(0, os.getpgrp())
    os.write(out, f"{os.waitstatus_to_exitcode(status)}\n".encode())
    os.read(until, 1)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), lambda: os.execvp(sys.argv[3], sys.argv[3:]))
