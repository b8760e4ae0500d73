"""The mutants of a protocol: which source is mutated, and files that run as a user's protocol does."""

import ast
import inspect
import sys
from pathlib import Path

import pytest

from lab.protocols import Algorithm
from lab.worlds.loading.targets import load_protocol
from lab.worlds.mutation.mutable_source import ProtocolSource
from lab.worlds.mutation.mutants import Mutant, mutants_of, write_mutant

BEACON = f"{Path(__file__).with_name('beacon.py')}:Beacon"


@pytest.fixture(autouse=True)
def path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Undo the changes of the search path by loading."""
    monkeypatch.setattr(sys, "path", [*sys.path])


def _source(target: str) -> ProtocolSource:
    return ProtocolSource(load_protocol(target))


def _used(target: str) -> dict[str, set[str]]:
    return {module.path.name: module.used for module in _source(target).modules.values()}


def test_what_a_protocol_in_a_file_is_made_of() -> None:
    """Not the other protocols in its file, and no property."""
    assert _used(BEACON) == {"beacon.py": {"Beacon", "Count", "MOST"}}


def test_what_a_built_in_protocol_is_made_of() -> None:
    """Not the classes that all protocols share, and nothing that reads commands."""
    assert set(_used("bully")) == {"bully.py", "timeout_election.py"}
    assert set(_used("invitation")) == {"invitation.py", "timeout_election.py"}
    assert set(_used("ring")) == {"ring.py"}
    bank = {"bank.py", "committing.py", "participant_storage.py", "ledger.py", "transaction.py"}
    assert set(_used("2pc")) == {"two_phase.py", *bank}
    assert {"StateAnswer", "next_state"} <= _used("3pc")["three_phase.py"]
    assert set(_used("3pc")) == {"three_phase.py", *bank, *_used("bully")}
    assert set(_used("e3pc")) == {"e3pc.py", *_used("3pc")}


def test_the_difference_is_the_change_alone() -> None:
    mutants = list(mutants_of(_source(BEACON)))
    assert [mutant.number for mutant in mutants] == [*range(1, len(mutants) + 1)]
    (guard,) = [mutant for mutant in mutants if mutant.rule == "guard"]
    assert guard.diff == (
        "--- beacon.py\n+++ beacon.py, mutated\n@@ -33,6 +33,4 @@\n"
        "     @on(Count)\n     def on_count(self, sender: int, message: Count) -> None:\n"
        "-        if message.number <= self.count:\n-            return\n"
        "         self.count = message.number\n "
    )
    assert (guard.file, guard.line, guard.place) == ("beacon.py", 35, "Beacon.on_count")
    assert guard.summary == "without: if message.number <= self.count:"
    texts = [mutant.text for mutant in mutants]
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize("target", [BEACON, "ring", "2pc"])
def test_lines_stay_where_they_are(target: str) -> None:
    """Waits are recorded with their lines: a mutant that does the same must have the same records."""
    source = _source(target)
    removed = 0
    for mutant in mutants_of(source):
        before, after = source.module(mutant.module).text.splitlines(), mutant.text.splitlines()
        if mutant.rule != "send-first":
            assert len(after) == len(before), mutant.diff
        changed = [place for place, (one, other) in enumerate(zip(before, after, strict=False)) if one != other]
        assert changed[0] == mutant.line - 1 or mutant.rule in ("send-first", "guard", "call", "body", "reset")
        removed += "" in [after[place] for place in changed]
        ast.parse(mutant.text)
    assert removed >= 2


def _loaded(source: ProtocolSource, mutant: Mutant, folder: Path) -> type[Algorithm]:
    folder.mkdir(exist_ok=True)
    return load_protocol(write_mutant(source, mutant, folder / str(mutant.number)))


@pytest.mark.parametrize("target", ["bully", "ring", "2pc", "3pc", "field", "token"])
def test_a_mutant_of_each_module_is_loaded(target: str, tmp_path: Path) -> None:
    """Its class, or the one that it rests on, has the changed line; each line has the number of the original."""
    source = _source(target)
    mutants = list(mutants_of(source))
    seen = set()
    for mutant in mutants:
        if mutant.module in seen or not mutant.reach or "." not in mutant.place:
            continue
        seen.add(mutant.module)
        found = _loaded(source, mutant, tmp_path)
        layers = [found, found.upper_protocol]
        classes = [klass for layer in layers if layer is not None for klass in layer.__mro__]
        owner, _, method = mutant.place.partition(".")
        for klass in classes:
            if klass.__name__ == owner:
                changed = getattr(klass, method.partition(".")[0])
                function = getattr(changed, "func", None) or getattr(changed, "fget", None) or changed
                assert Path(inspect.getfile(function)).is_relative_to(tmp_path)
        file = tmp_path / str(mutant.number) / mutant.file
        lines = file.read_text().splitlines()
        assert lines[: mutant.line - 1] == mutant.text.splitlines()[: mutant.line - 1] or _only_imports_differ(
            lines, mutant.text.splitlines()[: mutant.line - 1]
        )
    assert len(seen) >= 1


def _only_imports_differ(lines: list[str], others: list[str]) -> bool:
    return all(one == other or "load_module" in one for one, other in zip(lines, others, strict=False))


HELPER = """LIMIT = 3


def is_small(number: int) -> bool:
    return number < LIMIT


def unused(number: int) -> bool:
    return number < LIMIT
"""
MINE = """import helper as other
from helper import (
    is_small,
)
from lab.protocols import Bully


class Mine(Bully):
    seen: int = 0

    def started(self) -> None:
        if is_small(self.seen) and other.is_small(self.seen):
            self.seen += 1
        super().started()
"""


def test_files_in_its_folder_are_mutated_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it imports from them, by name or as a module; the built-in protocol below it is not."""
    monkeypatch.delitem(sys.modules, "helper", raising=False)
    (tmp_path / "helper.py").write_text(HELPER)
    (tmp_path / "mine.py").write_text(MINE)
    source = _source(f"{tmp_path}/mine.py:Mine")
    assert {module.path.name: module.used for module in source.modules.values()} == {
        "mine.py": {"Mine"},
        "helper.py": {"is_small", "LIMIT"},
    }
    (turned,) = [mutant for mutant in mutants_of(source) if mutant.rule == "comparison"]
    assert turned.summary == "return number < LIMIT → return number <= LIMIT"
    mutant = _loaded(source, turned, tmp_path / "mutants")
    used = inspect.getmodule(mutant.started)
    assert used is not None
    assert used.is_small(3)
    assert used.other.is_small(3)
    assert not sys.modules["helper"].is_small(3)
    monkeypatch.delitem(sys.modules, "helper")


def test_a_task_is_mutated_on_its_election(tmp_path: Path) -> None:
    """Of both layers; the other layer is the original, unless it is built on what was changed."""
    source = _source("3pc above ring")
    assert [layer.name for layer in source.layers] == ["ThreePhaseCommit", "Ring"]
    mutants = list(mutants_of(source))
    of_task = next(mutant for mutant in mutants if mutant.file == "three_phase.py")
    found = _loaded(source, of_task, tmp_path)
    assert found.upper_protocol is not None
    assert (found.name, found.fixed_parameters) == ("3pc-mutant", {"election": "ring"})
    of_election = next(mutant for mutant in mutants if mutant.file == "ring.py")
    found = _loaded(source, of_election, tmp_path)
    assert (found.name, found.fixed_parameters) == ("3pc-mutant", {"election": "ring-mutant"})
