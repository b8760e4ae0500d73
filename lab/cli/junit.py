"""JUnit XML, the form of test results that servers for continuous integration read.

A suite names the version, the command and, of runs that are drawn, the seed, so that a failure can be run again.
"""

import codecs
import re
import shlex
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct

from lab import __version__
from lab.foreign_file import open_foreign
from lab.text import sanitize

_LARGEST, _MOST_BEFORE = 1 << 30, 1 << 16
_FIRST_TAG = re.compile(rb"^(?:<\?.*?\?>|<!--.*?-->|\s)*<testsuites?[\s>/]", re.DOTALL)
"""Declarations and comments may come before it."""


class JUnitCase(Struct, frozen=True):
    """A test case. ``failure`` are the lines that say what failed, ``skipped`` says why nothing was tested.

    ``file`` is the file that was tested, if it is one; ``properties`` are names and values.
    """

    classname: str
    name: str
    failure: tuple[str, ...] = ()
    skipped: str = ""
    seconds: float = 0.0
    file: str = ""
    properties: tuple[tuple[str, str], ...] = ()


class JUnitSuite(Struct, frozen=True):
    """The cases of a command, or of one world; ``seconds`` is their duration if the cases have none."""

    name: str
    cases: Sequence[JUnitCase]
    seconds: float = 0.0
    properties: tuple[tuple[str, str], ...] = ()


def write_junit(path: Path | None, suites: Iterable[JUnitSuite]) -> None:
    """Write the file that ``--junit`` names, if it is given. Raises OSError."""
    if path is not None:
        path.write_text(format_junit(suites), "utf-8")


def is_junit_report(file: Path) -> bool:
    """Return whether the file is a report of tests, of this program or another. Raises OSError."""
    with open_foreign(file, _LARGEST) as reading:
        start = reading.read(_MOST_BEFORE).removeprefix(codecs.BOM_UTF8).lstrip()
    return start.startswith(b"<") and _FIRST_TAG.search(start) is not None


def format_junit(suites: Iterable[JUnitSuite]) -> str:
    """Return the document, with the version and the command that is running."""
    from xml.etree import ElementTree  # noqa: PLC0415 - few results are written as XML

    again = (("version", __version__), ("command", shlex.join(["lab", *sys.argv[1:]])))

    def add(parent: ElementTree.Element, tag: str, **attributes: str) -> ElementTree.Element:
        given: dict[str, str] = {name: sanitize(value) for name, value in attributes.items() if value}
        return ElementTree.SubElement(parent, tag, given)

    def add_properties(parent: ElementTree.Element, properties: Iterable[tuple[str, str]]) -> None:
        if found := list(properties):
            group = add(parent, "properties")
            for name, value in found:
                add(group, "property", name=name, value=value)

    top = ElementTree.Element("testsuites")
    for each in suites:
        seconds = sum(case.seconds for case in each.cases) or each.seconds
        counts = {
            "tests": len(each.cases),
            "failures": sum(bool(case.failure) for case in each.cases),
            "skipped": sum(bool(case.skipped) for case in each.cases),
            "errors": 0,
        }
        suite = add(top, "testsuite", name=each.name, **{name: str(count) for name, count in counts.items()})
        suite.set("time", f"{seconds:.3f}")
        add_properties(suite, (*again, *each.properties))
        for case in each.cases:
            element = add(suite, "testcase", classname=case.classname, name=case.name, file=case.file)
            element.set("time", f"{case.seconds:.3f}")
            add_properties(element, case.properties)
            if case.failure:
                lines = list(map(sanitize, case.failure))
                add(element, "failure", message=lines[0]).text = "\n".join(lines)
            elif case.skipped:
                add(element, "skipped", message=case.skipped)
    ElementTree.indent(top)
    return ElementTree.tostring(top, "unicode", xml_declaration=True) + "\n"
