"""Confine this process before it executes a stranger's code: no files, no network, no processes, little memory.

Three layers, each of which is enough for what it covers:

- limits of resources (``setrlimit``), on every system;
- a list of the system calls that remain (seccomp, through libseccomp), on Linux: none that opens a file for
  writing, makes a socket or a process, or reaches another one;
- a list of the files that remain readable (Landlock, Linux 5.13 or newer).

What is not available is returned, so that the user can be informed. A confined process keeps its open files: give
it none but its channel. Nothing of this needs or drops privileges; it binds the administrator, too.

``confine`` is for a process that goes on in Python; ``program_confinement`` has what other programs need.
"""

import contextlib
import ctypes
import errno
import fcntl
import os
import resource
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from ctypes import c_int, c_uint, c_uint32, c_uint64, c_void_p
from pathlib import Path

from msgspec import Struct

_MEMORY = 1 << 30
OPEN_FILES = 64

FILES_READABLE = "files of this machine are readable (no Landlock)"
CALLS_ALLOWED = "network and processes are not closed off (no seccomp)"
MEMORY_UNLIMITED = "memory is not limited"


class CallRule(Struct, frozen=True):
    """A system call that is allowed if an argument, masked, has this value; or fails then, with ``refusal``."""

    name: str
    argument: int
    mask: int
    value: int
    refusal: int = 0


class Confinement(Struct, frozen=True):
    """The rights that remain to a process: limits of resources, calls of the system, and files.

    ``memory`` is the limit that bounds its memory, one of ``limits``.
    """

    limits: Mapping[int, int]
    memory: int
    calls: tuple[str, ...]
    calls_if: tuple[CallRule, ...]
    files: Iterable[tuple[Path, int]]


def confine(folder: Path) -> tuple[str, ...]:
    """Confine this process, for good; return what could not be.

    The files in this folder remain readable, and Python's standard library; not the installed packages, nor this
    program: what it needs of these must have been imported.
    """
    return impose(Confinement(_LIMITS, resource.RLIMIT_AS, CALLS, CALLS_IF, _access(folder)))


def impose(confinement: Confinement) -> tuple[str, ...]:
    """Impose this on the process that calls, for good; return what could not be."""
    missing = []
    with contextlib.suppress(OSError):  # if memory runs out, Linux ends this process first
        Path("/proc/self/oom_score_adj").write_text("1000", "ascii")
    in_force = {kind: _set_limit(kind, most) for kind, most in confinement.limits.items()}
    if not in_force[confinement.memory]:
        missing.append(MEMORY_UNLIMITED)
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        files, calls = _restrict_files(libc, confinement.files), _restrict_calls(confinement)
    else:
        files = calls = False
    if not files:
        missing.append(FILES_READABLE)
    if not calls:
        missing.append(CALLS_ALLOWED)
    return tuple(missing)


def unavailable() -> tuple[str, ...]:
    """Return what ``confine`` cannot do on this system, without doing it."""
    if sys.platform != "linux":
        return MEMORY_UNLIMITED, FILES_READABLE, CALLS_ALLOWED
    has_landlock = _landlock_version(ctypes.CDLL(None)) >= 1
    return (*(() if has_landlock else (FILES_READABLE,)), *(() if _libseccomp() else (CALLS_ALLOWED,)))


_LIMITS = {
    resource.RLIMIT_CORE: 0,
    resource.RLIMIT_FSIZE: 0,
    resource.RLIMIT_NPROC: 0,
    resource.RLIMIT_NOFILE: OPEN_FILES,
    resource.RLIMIT_AS: _MEMORY,
}


def _set_limit(kind: int, most: int) -> bool:
    _, hard = resource.getrlimit(kind)
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    # at the hard limit of processor time the system kills without a reason; a second earlier it says why
    highest = most + 1 if kind == resource.RLIMIT_CPU and hard == resource.RLIM_INFINITY else most
    try:
        resource.setrlimit(kind, (most, highest))
    except (OSError, ValueError):
        return False
    return True


# system calls

_NO_NEW_PRIVILEGES = 38
_ALLOW = 0x7FFF0000
_REFUSE = 0x00050000
_MASKED_EQUAL = 7
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_FUTEX_PRIVATE = 128

CALLS = (
    "access",
    "brk",
    "clock_getres",
    "clock_gettime",
    "clock_nanosleep",
    "close",
    "dup",
    "epoll_pwait",
    "epoll_wait",
    "exit",
    "exit_group",
    "faccessat",
    "faccessat2",
    "fstat",
    "fstat64",
    "getcwd",
    "getdents64",
    "getegid",
    "geteuid",
    "getgid",
    "getitimer",
    "getpid",
    "getppid",
    "getrandom",
    "getrusage",
    "gettid",
    "gettimeofday",
    "getuid",
    "lseek",
    "lstat",
    "madvise",
    "mmap",
    "mprotect",
    "mremap",
    "munmap",
    "nanosleep",
    "newfstatat",
    "poll",
    "ppoll",
    "pread64",
    "pselect6",
    "read",
    "readlink",
    "readlinkat",
    "readv",
    "recvfrom",
    "recvmsg",
    "restart_syscall",
    "rseq",
    "rt_sigaction",
    "rt_sigprocmask",
    "rt_sigreturn",
    "sched_getaffinity",
    "sched_yield",
    "select",
    "sendmsg",
    "sendto",
    "set_robust_list",
    "setitimer",
    "sigaltstack",
    "stat",
    "statx",
    "time",
    "times",
    "uname",
    "write",
    "writev",
)
"""All that Python needs to import modules, to compute, and to talk on an open channel, besides these:"""

ANY = (1 << 64) - 1
CALLS_IF = (
    CallRule("open", 1, _WRITES, 0),
    CallRule("openat", 2, _WRITES, 0),
    *(
        CallRule("fcntl", 1, ANY, act)
        for act in (fcntl.F_GETFD, fcntl.F_SETFD, fcntl.F_GETFL, fcntl.F_DUPFD_CLOEXEC)
    ),
    CallRule("futex", 1, _FUTEX_PRIVATE, _FUTEX_PRIVATE),
)
"""The calls allowed under a condition.

Other acts of ``fcntl`` have the kernel signal any process of the user's, or lock a file where others see it. A
``futex`` that is not private wakes other processes.
"""


class _Comparison(ctypes.Structure):
    """``scmp_arg_cmp`` of libseccomp: (argument & mask) == value."""

    _fields_ = (("argument", c_uint), ("operator", c_int), ("mask", c_uint64), ("value", c_uint64))


def _libseccomp() -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL("libseccomp.so.2")
    except OSError:
        return None


def _restrict_calls(confinement: Confinement) -> bool:
    """Allow no system calls but these; return whether that is in force."""
    library = _libseccomp()
    if library is None:
        return False
    library.seccomp_init.restype = c_void_p
    context = c_void_p(library.seccomp_init(c_uint32(_REFUSE | errno.EPERM)))
    if not context:
        return False
    numbers = [library.seccomp_syscall_resolve_name(name.encode()) for name in confinement.calls]
    added = [library.seccomp_rule_add(context, c_uint32(_ALLOW), n, 0) for n in numbers if n >= 0]
    for rule in confinement.calls_if:
        number = library.seccomp_syscall_resolve_name(rule.name.encode())
        only = ctypes.byref(_Comparison(rule.argument, _MASKED_EQUAL, rule.mask, rule.value))
        action = c_uint32(_REFUSE | rule.refusal if rule.refusal else _ALLOW)
        if number >= 0:
            added.append(library.seccomp_rule_add_array(context, action, number, 1, only))
    return not any(added) and library.seccomp_load(context) == 0


# files

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
"""System calls that have these numbers on every architecture."""
_PATH_BENEATH = 1
_VERSION = 1
EXECUTE, WRITE, READ, LIST = 1 << 0, 1 << 1, 1 << 2, 1 << 3
"""Rights to files."""
_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
"""The number of rights of files that Landlock knows, by its version."""
_NEWEST = 5
_PACKAGES = ("site-packages", "dist-packages")
_SHARED_LIBRARIES = (
    "/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/lib64",
    "/etc/ld.so.cache",
    "/dev/urandom",
)
"""The files that compiled modules of the standard library need."""


class _Ruleset(ctypes.Structure):
    """``landlock_ruleset_attr``, as far as files go."""

    _fields_ = (("handled_access_fs", c_uint64),)


class _PathBeneath(ctypes.Structure):
    """``landlock_path_beneath_attr``."""

    _pack_ = 1
    _fields_ = (("allowed_access", c_uint64), ("parent_fd", c_int))


def _landlock_version(libc: ctypes.CDLL) -> int:
    """Return the version of Landlock; less than 1 if there is none."""
    version: int = libc.syscall(_CREATE_RULESET, None, 0, _VERSION)
    return version


def _restrict_files(libc: ctypes.CDLL, files: Iterable[tuple[Path, int]]) -> bool:
    """Make no files accessible but these; return whether that is in force."""
    version = _landlock_version(libc)
    if version < 1:
        return False
    handled = _Ruleset((1 << _FILE_RIGHTS[min(version, _NEWEST)]) - 1)
    rules = libc.syscall(_CREATE_RULESET, ctypes.byref(handled), ctypes.sizeof(handled), 0)
    if rules < 0:
        return False
    for path, rights in files:
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
        rule = _PathBeneath(rights, opened)
        failed = libc.syscall(_ADD_RULE, rules, _PATH_BENEATH, ctypes.byref(rule), 0)
        os.close(opened)
        if failed:
            return False
    restricted: int = libc.syscall(_RESTRICT_SELF, rules, 0)
    os.close(rules)
    return restricted == 0


def _access(folder: Path) -> Iterator[tuple[Path, int]]:
    """Yield the files and folders that remain accessible, each with the rights to it and to what is in it."""
    yield folder, READ | LIST
    for library in {Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib")}:
        yield library, LIST
        for path in library.iterdir():
            if path.name not in _PACKAGES:
                yield path, READ | LIST if path.is_dir() else READ
    for path in map(Path, _SHARED_LIBRARIES):
        if path.exists():
            yield path, READ | LIST if path.is_dir() else READ
