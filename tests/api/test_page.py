"""The examples of ``lab guide library`` run, and print what the page says."""

import re

import pytest

from lab.guide.contents import find_page

PYTHON, TEXT = (
    re.findall(rf"^```{language}\n(.*?)^```$", find_page("library").text, re.MULTILINE | re.DOTALL)
    for language in ("python", "text")
)


def test_one_run(capsys: pytest.CaptureFixture[str]) -> None:
    exec(PYTHON[0], {})
    assert capsys.readouterr().out == TEXT[0]


def test_a_test_of_a_protocol() -> None:
    names: dict[str, object] = {}
    exec(PYTHON[1], names)
    test = names["test_my_election_survives_crashes"]
    assert callable(test)
    test()


def test_a_test_that_fails() -> None:
    """The text that the page shows is that of the text without its repairs."""
    broken = PYTHON[1].replace('faults="kill"', 'parameters={"without": "all"}').replace("runs=100", "runs=200")
    names: dict[str, object] = {}
    exec(broken, names)
    test = names["test_my_election_survives_crashes"]
    assert callable(test)
    with pytest.raises(AssertionError) as failed:
        test()
    assert str(failed.value).startswith(TEXT[1].rstrip("\n"))
