"""The guide's page on JSON documents names every key that the commands print, and no key that none prints."""

import json
import re
from collections.abc import Iterator
from typing import Any

from lab.guide.contents import find_page
from tests.cli.invocation import ROOT, Lab

PAGE = find_page("json").text
DATA = {"nodes", "messages", "kinds", "faults", "transactions", "violations", "commands", "usages", "examples"}
"""Keys whose objects have data for keys: node ids, kinds of messages and faults, assertions, words."""


def _section(command: str) -> str:
    (text,) = [part for part in PAGE.split("\n## ") if part.startswith(command)]
    return text


def _keys(value: Any, of: str = "") -> Iterator[str]:
    if isinstance(value, list):
        for each in value:
            yield from _keys(each, of)
    elif isinstance(value, dict):
        is_data = of in DATA and not ({"committed", "id", "us_median"} & value.keys())
        for key, each in value.items():
            if not is_data:
                yield key
            yield from _keys(each, "" if is_data else key)


def _is_documented(section: str, document: Any) -> None:
    named = set(re.findall(r"`(\w+)`", section))
    keys = set(_keys(document))
    assert len(keys) > 3
    assert keys - named == set()


def test_a_run(lab: Lab) -> None:
    words = ("--do", "at 1s withdraw 350", "--do", "on send Vote 3->5: kill 5")
    done = lab("run", "3pc", "--sim", "--headless", "--for", "6s", "--json", *words)
    document = json.loads(done.out)
    assert document["open"]
    assert document["transactions"]
    _is_documented(_section("lab run"), document)


def test_a_scenario(lab: Lab) -> None:
    (lab.folder / "fails.scenario").write_text(
        'title = "It fails"\nshows = "A failure."\nprotocol = "bully"\nfor = "3s"\n---\nexpect 1 leads within 1s\n'
    )
    document = json.loads(lab("run", "fails.scenario", "--sim", "--headless", "--json").out)
    assert document["scenario"]["findings"]
    _is_documented(_section("lab run"), document)


def test_mutants(lab: Lab) -> None:
    beacon = ROOT / "tests" / "mutation" / "beacon.py"
    words = ("mutate", f"{beacon}:Beacon", "--only", "guard,unsafe,comparison", "--nodes", "3", "--runs", "4")
    document = json.loads(lab(*words, "--faults", "kill", "--workers", "1", "--json").out)
    assert [each["result"] for each in document["mutants"]]
    assert document["killed_by"]
    assert any(each["violated"] for each in document["mutants"])
    _is_documented(_section("lab mutate"), document)
    _is_documented(_section("lab mutate"), json.loads(lab(*words, "--list", "--json").out))


def test_a_campaign(lab: Lab) -> None:
    done = lab(
        "check", "bully", "--faults", "kill,pause", "--find", "A1.1", "--runs", "30", "--workers", "1", "--json"
    )
    document = json.loads(done.out)
    assert document["finding"]
    assert document["violations"]
    _is_documented(_section("lab check"), document)


def test_an_exploration(lab: Lab) -> None:
    document = json.loads(lab("explore", "bully", "--timeouts", "any", "--states", "3000", "--json").out)
    assert document["recording"]
    _is_documented(_section("lab explore"), document)


def test_a_measurement(lab: Lab) -> None:
    _is_documented(_section("lab scale"), json.loads(lab("scale", "bully", "--nodes", "3,5", "--json").out))


def test_comparisons(lab: Lab) -> None:
    """Of elections, and of commit protocols."""
    section = _section("lab compare")
    _is_documented(
        section, json.loads(lab("compare", "bully", "ring", "--runs", "1", "--workers", "1", "--json").out)
    )
    _is_documented(
        section, json.loads(lab("compare", "2pc", "3pc", "--runs", "1", "--workers", "1", "--json").out)
    )


def test_a_history(lab: Lab) -> None:
    assert lab("run", "invitation", "--sim", "--headless", "--for", "4s", "--record", "a.jsonl").status == 0
    _is_documented(_section("lab history"), json.loads(lab("history", "a.jsonl", "--json").out))


def test_lists(lab: Lab) -> None:
    _is_documented(_section("lab list"), json.loads(lab("list", "protocols", "2pc", "--json").out))
    section = _section("lab scenario list")
    _is_documented(section, json.loads(lab("scenario", "list", "--json").out))
    _is_documented(section, json.loads(lab("exercise", "list", "--json").out))
    _is_documented(section, json.loads(lab("exercise", "status", "--json").out))


def test_no_key_is_invented(lab: Lab) -> None:
    """Every key of the table of a run is in its document."""
    document = json.loads(lab("run", "bully", "--sim", "--headless", "--for", "2s", "--json").out)
    listed = re.findall(r"^\| `(\w+)` \|", _section("lab run"), re.MULTILINE)
    assert len(listed) > 10
    assert set(listed) - document.keys() == {"scenario"}
