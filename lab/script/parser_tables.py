"""The tables of the parser, kept in the user's cache folder, because making them takes a fifth of a second.

A file is a digest and what it is the digest of: lark's own form of a parser, which is a pickle. So a torn or
damaged file is made anew, never loaded. To load a pickle is to execute it: so a folder in which anybody else may
write is not used.
"""

import hashlib
import io
import os
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import lark
import platformdirs

from lab.durable import write_durably

_KEPT = 20
"""The number of files that are kept; each protocol with words of its own needs one."""
_DIGEST_BYTES = 32


def parser_of(grammar: str, **options: Any) -> lark.Lark:
    """Return the parser of a grammar: ``lark.Lark(grammar, **options)``."""
    version = repr((lark.__version__, *sys.version_info[:2], sorted(options.items()), grammar))
    name = hashlib.sha256(version.encode()).hexdigest()[:32]
    path = platformdirs.user_cache_path("lab") / "grammars" / name
    with suppress(OSError):
        written = path.read_bytes() if _is_private(path.parent) else b""
        digest, tables = written[:_DIGEST_BYTES], written[_DIGEST_BYTES:]
        if hashlib.sha256(tables).digest() == digest:
            return lark.Lark.load(io.BytesIO(tables))
    parser = lark.Lark(grammar, **options)
    made = io.BytesIO()
    parser.save(made)
    with suppress(OSError):  # it works without, only slower
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if _is_private(path.parent):
            _delete_oldest(path.parent)
            write_durably(path, hashlib.sha256(made.getvalue()).digest() + made.getvalue())
    return parser


def _is_private(folder: Path) -> bool:
    """Return whether only this user can write in the folder. Raises OSError."""
    found = folder.lstat()
    return found.st_uid == os.getuid() and stat.S_ISDIR(found.st_mode) and not found.st_mode & 0o022


def _delete_oldest(folder: Path) -> None:
    files = sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
    for old in files[_KEPT - 1 :]:
        old.unlink(missing_ok=True)
