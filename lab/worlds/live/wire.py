"""What the host and the processes of its nodes send each other, besides inputs and steps; one line each."""

from msgspec import Struct

COMMAND_PREFIX = b'{"type":"told"'
"""The line of a ``CommandInput`` begins so, and that of a message never does."""


class Hello(Struct, frozen=True):
    """From a node process: it is ready. ``token`` was given to it at its fork.

    ``is_log``: this connection is the log of a program.
    """

    node: int
    incarnation: int
    token: str
    is_log: bool = False


WELCOME = b"\n"
"""The host's answer to the ``Hello`` of a program, before the first line that the program reads."""


class Start(Struct, frozen=True):
    """From the host: the node begins; see ``kernel.Started``. ``slow_disk_us`` as in ``SlowDisk``."""

    incarnation: int
    serial: int
    slow_disk_us: int = 0


class SlowDisk(Struct, frozen=True, tag="slow_disk", tag_field="type"):
    """From the host, among the inputs: each write to stable storage takes this much longer from now on."""

    us: int


SLOW_DISK_PREFIX = b'{"type":"slow_disk"'
"""The line of a ``SlowDisk`` begins so, and that of an input never does."""


class NotStarted(Struct, frozen=True, tag="not_started", tag_field="record"):
    """From a node process, instead of its first step: it cannot start."""

    why: str


NOT_STARTED_PREFIX = b'{"record":"not_started"'
"""The line of a ``NotStarted`` begins so, and that of a step never does."""


STALL_PREFIX = b'{"record":"stall"'
"""The line of a ``Stall``, which a node process sends before the steps that come after it."""


class NodeJob(Struct, frozen=True):
    """Run this incarnation of a node, which says Hello to the host on this port, with this token.

    ``origin_ns`` is the run's time 0 on the machine's monotonic clock, ``storage`` the folder of stable storage.
    """

    node: int
    incarnation: int
    port: int
    token: str
    origin_ns: int
    storage: str
