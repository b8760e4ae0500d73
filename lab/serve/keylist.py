"""Lists of public keys, as OpenSSH's ``authorized_keys`` has them; the comment is the student's name.

A line may carry no options: a ``command=`` there would promise something that this server does not do.
"""

import asyncssh

from lab.serve.border import NAME_RULE, is_name
from lab.serve.listfile import ListError
from lab.text import sanitize

__all__ = ["read_keys"]

_KINDS = ("ssh-", "ecdsa-", "sk-")


def read_keys(text: str, file: str) -> dict[bytes, str]:
    """From public key to student. A student may have several keys; a key has one student.

    ListError, of the first line that is wrong, with the numbers of the others.
    """
    students: dict[bytes, str] = {}
    wrong: dict[int, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            key, name = _key_and_name(line.split(None, 2))
        except ListError as error:
            wrong[number] = str(error)
            continue
        if students.setdefault(key, name) != name:
            wrong[number] = f"this key is {students[key]}'s already; a key says who somebody is"
    if wrong:
        (number, said), *others = wrong.items()
        more = f" (wrong, too: {', '.join(f'line {other}' for other, _ in others)})" if others else ""
        raise ListError(f"{file}:{number}: {said}{more}")
    return students


def _key_and_name(words: list[str]) -> tuple[bytes, str]:
    expected = "write KIND KEY NAME, as in ssh-ed25519 AAAA… anna"
    if not words[0].startswith(_KINDS):
        raise ListError(f"{sanitize(words[0], 40)} is no kind of key, and options are refused; {expected}")
    if len(words) < 3:
        raise ListError(f"the student's name is missing; {expected}")
    name = words[2].strip()
    if not is_name(name):
        raise ListError(f"{sanitize(name, 40)!r} cannot be a student's name: {NAME_RULE}")
    try:
        key = asyncssh.import_public_key(" ".join(words[:2]))
    except asyncssh.KeyImportError:
        raise ListError(f"the key of {name} cannot be read; copy the line of the .pub file whole") from None
    return key.public_data, name
