"""Lists of public keys in the format of OpenSSH's ``authorized_keys``; the comment is the student's name.

Options are refused: a ``command=`` would promise something that this server does not do.
"""

import asyncssh

from lab.serve.listfile import ListError
from lab.serve.sanitizer import NAME_RULE, is_name
from lab.text import sanitize

__all__ = ["read_keys"]

_KINDS = ("ssh-", "ecdsa-", "sk-")


def read_keys(text: str, file: str) -> dict[bytes, str]:
    """Return the student of each public key. A student may have several keys.

    Raises ListError for the first wrong line, with the numbers of the others.
    """
    students: dict[bytes, str] = {}
    mistakes: dict[int, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            key, name = _key_and_name(line.split(None, 2))
        except ListError as error:
            mistakes[number] = str(error)
            continue
        if students.setdefault(key, name) != name:
            mistakes[number] = f"this key already belongs to {students[key]}; a key identifies one student"
    if mistakes:
        (number, mistake), *others = mistakes.items()
        more = f" (also wrong: {', '.join(f'line {other}' for other, _ in others)})" if others else ""
        raise ListError(f"{file}:{number}: {mistake}{more}")
    return students


def _key_and_name(words: list[str]) -> tuple[bytes, str]:
    expected = "expected KIND KEY NAME, as in ssh-ed25519 AAAA… anna"
    if not words[0].startswith(_KINDS):
        raise ListError(f"{sanitize(words[0], 40)} is not a kind of key; options are refused; {expected}")
    if len(words) < 3:
        raise ListError(f"the student's name is missing; {expected}")
    name = words[2].strip()
    if not is_name(name):
        raise ListError(f"{sanitize(name, 40)!r} is not a valid student name: {NAME_RULE}")
    try:
        key = asyncssh.import_public_key(" ".join(words[:2]))
    except asyncssh.KeyImportError:
        raise ListError(f"the key of {name} cannot be read; copy the whole line of the .pub file") from None
    return key.public_data, name
