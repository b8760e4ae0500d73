"""Confine a process that becomes a stranger's program, in whatever language: what an interpreter needs, no more.

It may read and execute the system's programs and libraries, its interpreter, and the folder with its own file. It
may have threads, but neither processes nor sockets, so that it ends as a whole when it is killed. It writes no
file: what it has to say goes to its standard output and standard error, which are open already.

Interpreters do more than Python needs to compute, and each does it in its own way. So the list of calls is longer
than that of ``confinement``, and a call that is missing from it fails as on an older system.
"""

import errno
import fcntl
import os
import resource
import signal
import socket
import termios
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from lab.worlds.loading.confinement import (
    ANY,
    CALLS,
    CALLS_IF,
    EXECUTE,
    LIST,
    READ,
    WRITE,
    CallRule,
    Confinement,
    impose,
)

MEMORY_BYTES = 512 << 20
"""Bounds what a program may write to, not the addresses that it reserves: some interpreters reserve a terabyte."""
_OPEN_FILES, _THREADS_OF_USER = 256, 4096
_SPARE_PROCESSOR_S = 3

_THREAD = 0x00010000
_SHARED_ANONYMOUS = 0x21
_WAIT, _WAIT_BITSET, _OPERATION = 0, 9, 0x7F
_PRCTL_NAMES = (15, 16, 0x53564D41)  # of this thread, and of its memory
_IOCTLS = (termios.FIONBIO, termios.FIOCLEX, termios.FIONCLEX, termios.FIONREAD, termios.TCGETS)
_PROGRAM_CALLS = (
    "alarm",
    "arch_prctl",
    "chdir",
    "close_range",
    "dup2",
    "dup3",
    "epoll_create",
    "epoll_create1",
    "epoll_ctl",
    "epoll_pwait2",
    "eventfd2",
    "execve",
    "fadvise64",
    "fchdir",
    "fdatasync",
    "fstatfs",
    "fsync",
    "getgroups",
    "getpgrp",
    "getpriority",
    "getresgid",
    "getresuid",
    "getrlimit",
    "getpeername",
    "getsid",
    "getsockname",
    "getsockopt",
    "membarrier",
    "mincore",
    "mlock",
    "munlock",
    "pause",
    "pipe",
    "pipe2",
    "pwrite64",
    "rt_sigpending",
    "rt_sigsuspend",
    "rt_sigtimedwait",
    "sched_get_priority_max",
    "sched_get_priority_min",
    "sched_getparam",
    "sched_getscheduler",
    "set_tid_address",
    "shutdown",
    "signalfd4",
    "statfs",
    "sysinfo",
    "timer_create",
    "timer_delete",
    "timer_getoverrun",
    "timer_gettime",
    "timer_settime",
    "timerfd_create",
    "timerfd_gettime",
    "timerfd_settime",
    "umask",
)
_WITHOUT_CONDITION = ("mmap",)

_SYSTEM_FOLDERS = (
    "/bin",
    "/lib",
    "/lib64",
    "/usr/bin",
    "/usr/lib",
    "/usr/lib64",
    "/usr/libexec",
    "/usr/share",
    "/usr/local/bin",
    "/usr/local/lib",
    "/etc/alternatives",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/ssl",
)
_DEVICES = {"/dev/null": READ | WRITE, "/dev/random": READ, "/dev/urandom": READ}
ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": "/"}
"""The environment of a confined program."""


class ConfinedProgram(Struct, frozen=True):
    """A program whose file lies alone in ``folder``, and to which the files and folders ``hidden`` are closed."""

    folder: str
    hidden: tuple[str, ...] = ()


def processor_s(end_us: int | None) -> int:
    """Return the seconds of processor time that a program has, in a run that ends then."""
    return _SPARE_PROCESSOR_S + (end_us or 0) // 4_000_000


def confine_program(confined: ConfinedProgram, interpreter: str, end_us: int | None) -> tuple[str, ...]:
    """Confine this process, which then executes the program; return what could not be confined."""
    limits = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_CPU: processor_s(end_us),
        resource.RLIMIT_DATA: MEMORY_BYTES,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_NOFILE: _OPEN_FILES,
        resource.RLIMIT_NPROC: _THREADS_OF_USER,
    }
    calls = (*(name for name in CALLS if name not in _WITHOUT_CONDITION), *_PROGRAM_CALLS)
    files = _access(confined, Path(interpreter))
    return impose(Confinement(limits, resource.RLIMIT_DATA, calls, (*CALLS_IF, *_rules()), files))


def _rules() -> Iterator[CallRule]:
    """Yield the calls that are allowed under a condition, besides those of Python."""
    own = os.getpid()
    yield CallRule("clone", 0, _THREAD, _THREAD)
    yield CallRule("clone3", 0, 0, 0, errno.ENOSYS)  # its flags cannot be seen; without it, clone is tried
    yield CallRule("kill", 0, ANY, own)
    yield CallRule("tgkill", 0, ANY, own)
    yield CallRule("socketpair", 0, ANY, socket.AF_UNIX)
    yield CallRule("prlimit64", 2, ANY, 0)  # no new limits: an administrator could raise them
    # memory that is shared without a file is under no limit
    yield CallRule("mmap", 3, _SHARED_ANONYMOUS, 0x00)
    yield CallRule("mmap", 3, _SHARED_ANONYMOUS, 0x01)
    yield CallRule("mmap", 3, _SHARED_ANONYMOUS, 0x20)
    for operation in (_WAIT, _WAIT_BITSET):  # the end of a thread is waited for without the private flag
        yield CallRule("futex", 1, _OPERATION, operation)
    for act in (fcntl.F_SETFL, fcntl.F_DUPFD):
        yield CallRule("fcntl", 1, ANY, act)
    for request in _IOCTLS:
        yield CallRule("ioctl", 1, ANY, request)
    for option in _PRCTL_NAMES:
        yield CallRule("prctl", 0, ANY, option)


def _access(confined: ConfinedProgram, interpreter: Path) -> Iterator[tuple[Path, int]]:
    """Yield the files and folders that remain accessible, each with the rights to it and to what is in it."""
    hidden = [Path(each).resolve() for each in confined.hidden]
    libraries = (interpreter.parent.parent / name for name in ("lib", "lib64"))
    for path in (*map(Path, _SYSTEM_FOLDERS), *libraries, interpreter, Path(confined.folder)):
        for shown in _without(path.resolve(), hidden):
            yield shown, EXECUTE | READ | LIST if shown.is_dir() else EXECUTE | READ
    for name, rights in _DEVICES.items():
        if Path(name).exists():
            yield Path(name), rights


def _without(path: Path, hidden: list[Path]) -> Iterator[Path]:
    """Yield the path, if it exists; if something hidden is in it, what else it contains."""
    if path in hidden or not path.exists():
        return
    if any(path in each.parents for each in hidden):
        for child in path.iterdir():
            if not child.is_symlink():  # a link is followed by its own path
                yield from _without(child, hidden)
    else:
        yield path


ERRORS = {
    -number
    for number in (
        *(signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL),
        *(signal.SIGSEGV, signal.SIGSYS, signal.SIGTRAP),
    )
}
"""The exit statuses of programs that a signal has ended for an error of their own."""


def describe_end(status: int, end_us: int | None) -> str:
    """Describe why a confined program ended, from its exit status; empty if it was killed, as by a command."""
    if status >= 0:
        return f"the program ended by itself, with status {status}"
    if status == -signal.SIGXCPU:
        return f"the program used up its {processor_s(end_us)} s of processor time"
    return "" if status == -signal.SIGKILL else f"the program was ended by {signal.Signals(-status).name}"
