"""The students' edition of an exercise: what students need to work on it, without what solves it.

A teacher writes an exercise as one folder. The students' edition is made from it, for the package that students
install and for a folder that they are given: without solutions, without wrong attempts, without comments, and
without the explanations of what a teacher reads or a campaign grades. A task keeps the rest in two forms:

- **locked**: the explanation of a question. Only an accepted answer opens it, so the file shows whether an answer
  is right without containing it. A random key encrypts the explanation; the key itself is encrypted under each
  accepted answer, stretched by scrypt. This protects against reading, and makes each attempt to guess slow. It
  does not protect against trying: whoever tries all choices, or all small numbers, finds the right one.
- **encoded**: conditions, and the explanation of what they decide. The program needs them while a student works,
  so no key could protect them. Base64 only keeps them from being read by accident.

What differs from student to student is filled in when the exercise is read. So a locked explanation is one for all
students, and the answers that open it are encrypted together with what each was drawn for. Where a task itself
differs, by its ``case``, each case is locked for itself.

What a student finds out either way is what the interface shows to anyone who ends an attempt: the right answer and
the explanation. What needs a solution, and is not in these files at all, is how to earn the points.

The build of the package loads this file alone, so it uses the standard library only.
"""

import base64
import hashlib
import hmac
import itertools
import json
import re
import secrets
import shutil
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

HEAD = "exercise.toml"
_TEXTS = (HEAD, "setup.scenario", "instructions.md", "hints.md")
_ENCODED = ("reach", "script", "record", "before", "explains")
_KEY_BYTES = 32
_DIGITS = re.compile(r"([0-9a-f]{2})*")
_AMOUNT = re.compile(r"\$? ?([0-9]+|[0-9]{1,3}(,[0-9]{3})+)")


def normalize_answer(answer: str) -> str:
    """Strip what makes no difference to an answer: ``Node 8.`` equals 8, and ``$4,350`` equals 4350."""
    plain = _normalize_words(answer)
    return re.sub("[$, ]", "", plain) if _AMOUNT.fullmatch(plain) else plain


def _normalize_words(answer: str) -> str:
    plain = " ".join(answer.casefold().split()).strip(".")
    return plain.removeprefix("node ").removeprefix("nodes ").removeprefix("record ")


# drawn values


def fill(text: str, drawn: Mapping[str, str]) -> str:
    """Put the drawn values in place of their names in braces; other braces stay."""
    return re.sub(r"\{([a-z][a-z0-9_]*)\}", lambda name: drawn.get(name[1], name[0]), text) if drawn else text


def drawn_together(value: str | Sequence[str]) -> Sequence[str]:
    """Return the values of the names that are drawn together, in order."""
    return (value,) if isinstance(value, str) else value


def _draws_in(texts: Iterable[str], table: dict[str, Any]) -> tuple[str, list[dict[str, str]]]:
    """Return the names that these texts use, in braces, and all that may be drawn for them.

    Raises ValueError if one of them is a range of numbers: there are too many.
    """
    used = {name for text in texts for name in re.findall(r"\{([a-z][a-z0-9_]*)\}", text)}
    rows = []
    for names, values in table.items():
        if used.isdisjoint(names.split()):
            continue
        if isinstance(values, str):
            raise ValueError(f"an answer cannot have {{{names}}} in it, which is drawn from a range")
        rows.append([dict(zip(names.split(), drawn_together(value), strict=True)) for value in values])
    every = [dict(pair for row in each for pair in row.items()) for each in itertools.product(*rows)]
    return " ".join(f"{{{name}}}" for name in (every[0] if rows else {})), every


# locked texts


@dataclass(frozen=True)
class LockedText:
    """A text that each accepted answer opens; all fields are in hexadecimal digits.

    ``keys`` has the key of the text, encrypted under each accepted answer. ``tag`` authenticates the text. Where
    the answers are drawn, ``drawn`` is what this student's follow from.
    """

    salt: str
    keys: tuple[str, ...]
    text: str
    tag: str
    drawn: str = ""

    def __post_init__(self) -> None:
        """Raise ValueError if a field is damaged."""
        fields = self.salt, self.text, self.tag, *self.keys
        if not all(map(_DIGITS.fullmatch, fields)) or {len(key) for key in self.keys} != {2 * _KEY_BYTES}:
            raise ValueError("it is damaged; get a new copy of the exercise")

    def open_with(self, answer: str) -> str | None:
        """Return the text, or None if the answer is not an accepted one. The first time takes about 50 ms.

        Earlier editions are locked with amounts as they were written: ``$4350``.
        """
        spellings = dict.fromkeys((normalize_answer(answer), _normalize_words(answer)))
        opened = (_open(self, _with_draw(each, self.drawn)) for each in spellings)
        return next((text for text in opened if text is not None), None)


def _with_draw(answer: str, drawn: str) -> str:
    return f"{drawn}\n{answer}" if drawn else answer


def lock(text: str, accepted: Sequence[str], table: dict[str, Any] | None = None) -> LockedText:
    """Lock the text, so that each of these accepted answers opens it, whatever is drawn.

    ``table`` lists what may be drawn. Raises ValueError if the answers have too many values.
    """
    names, draws = _draws_in(accepted, table or {})
    opening = [
        _with_draw(normalize_answer(fill(each, drawn)), fill(names, drawn)) for drawn in draws for each in accepted
    ]
    salt, key = secrets.token_bytes(16), secrets.token_bytes(_KEY_BYTES)
    locked = _xor(text.encode(), _stream(key, len(text.encode())))
    return LockedText(
        salt.hex(),
        tuple(_xor(key, _stretch(answer, salt)).hex() for answer in dict.fromkeys(opening)),
        locked.hex(),
        _tag(key, locked).hex(),
        names,
    )


@lru_cache(maxsize=1024)
def _open(locked: LockedText, answer: str) -> str | None:
    text, stretched = bytes.fromhex(locked.text), _stretch(answer, bytes.fromhex(locked.salt))
    for encrypted in locked.keys:
        key = _xor(bytes.fromhex(encrypted), stretched)
        if hmac.compare_digest(_tag(key, text), bytes.fromhex(locked.tag)):
            return _xor(text, _stream(key, len(text))).decode("utf-8", "replace")
    return None


def _stretch(answer: str, salt: bytes) -> bytes:
    return hashlib.scrypt(answer.encode("utf-8", "replace"), salt=salt, n=2**14, r=8, p=1, dklen=_KEY_BYTES)


def _stream(key: bytes, length: int) -> bytes:
    """Return a key stream; each key is used for one text only."""
    return hashlib.shake_256(b"stream" + key).digest(length)


def _tag(key: bytes, text: bytes) -> bytes:
    return hmac.digest(key, text, "sha256")


def _xor(one: bytes, other: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(one, other, strict=True))


# exercise.toml


def student_edition(head: dict[str, Any]) -> dict[str, Any]:
    """Return the contents of ``exercise.toml`` as students get it. Raises ValueError if it is theirs already."""
    if "edition" in head:
        raise ValueError("it is the students' edition already")
    return {
        "edition": "student",
        **head,
        "task": [_with_cases_for_students(task, head.get("draw", {})) for task in head["task"]],
    }


def _with_cases_for_students(task: dict[str, Any], draws: dict[str, Any]) -> dict[str, Any]:
    if "case" not in task:
        return _for_students(task, draws)
    cases = {value: _for_students(in_case(task, value), draws) for value in task["case"]}
    return {"by": task["by"], "case": cases}


def in_case(task: dict[str, Any], value: str) -> dict[str, Any]:
    """Return the task as it is for those who have drawn this value: what its case says replaces the rest."""
    case: dict[str, Any] = task["case"][value]
    return {name: each for name, each in task.items() if name not in ("by", "case")} | case


def _for_students(task: dict[str, Any], draws: dict[str, Any]) -> dict[str, Any]:
    task = dict(task)
    if {"explain", "repair", "stage", "program"} & task.keys():
        task.pop("explains", None)  # a teacher reads the text, or the file is graded: it would be the solution
    if "answer" in task:
        answer = task.pop("answer")
        task.pop("key", None)
        accepted = [answer] if isinstance(answer, str) else answer
        task["locked"] = asdict(lock(task.pop("explains", ""), accepted, draws))
    hidden = {name: task.pop(name) for name in _ENCODED if name in task}
    if hidden:
        task["encoded"] = base64.b64encode(json.dumps(hidden).encode()).decode()
    return task


def decode_tasks(head: dict[str, Any]) -> dict[str, Any]:
    """Return the contents of ``exercise.toml`` with its encoded values in plain. Raises ValueError."""
    tasks = head.get("task")
    return {**head, "task": list(map(_decode_task, tasks))} if isinstance(tasks, list) else head


def _decode_task(task: Any) -> Any:
    if isinstance(task, dict) and isinstance(cases := task.get("case"), dict):
        return task | {"case": {value: _decode_task(each) for value, each in cases.items()}}
    if not isinstance(task, dict) or "encoded" not in task:
        return task
    try:
        decoded = json.loads(base64.b64decode(str(task["encoded"]), validate=True))
    except ValueError:
        decoded = None
    if not isinstance(decoded, dict) or not set(decoded) <= set(_ENCODED):
        raise ValueError("encoded: it is damaged; get a new copy of the exercise")
    return {name: value for name, value in task.items() if name != "encoded"} | decoded


def _to_toml(head: dict[str, Any]) -> str:
    tables = [("", {name: value for name, value in head.items() if name != "task"})]
    tables += [("\n[[task]]\n", task) for task in head["task"]]
    return "".join(heading + format_table(table) for heading, table in tables)


def format_table(table: dict[str, Any]) -> str:
    """Format a table of TOML, without its heading."""
    return "".join(f"{name} = {_toml_value(value)}\n" for name, value in table.items())


def _toml_value(value: Any) -> str:
    """Format a value; JSON's texts, numbers and lists are TOML's, but not its objects."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_toml_key(name)} = {_toml_value(each)}" for name, each in value.items()) + " }"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _toml_key(name: str) -> str:
    return name if re.fullmatch(r"[\w-]+", name, re.ASCII) else json.dumps(name, ensure_ascii=False)


# folders


def _is_given(path: Path, head: dict[str, Any]) -> bool:
    written = head.get("writes", ())
    is_begun = path.name in ([written] if isinstance(written, str) else written)
    return is_begun or (path.suffix == ".py" and not path.name.startswith(("solution", "wrong-")))


def write_handout(folder: Path, target: Path) -> None:
    """Write the students' edition of the exercise in ``folder`` to the new folder ``target``.

    Only the files of an exercise are copied, and Python files beside them: no notes, and no subfolders. A program
    remains executable. Raises
    OSError, and ValueError if the folder is not a teacher's edition.
    """
    head = student_edition(tomllib.loads((folder / HEAD).read_text("utf-8")))
    target.mkdir(parents=True)
    for path in sorted(folder.iterdir()):
        if path.name in _TEXTS or _is_given(path, head):
            shutil.copy(path, target / path.name)
    (target / HEAD).write_text(_to_toml(head), "utf-8")
