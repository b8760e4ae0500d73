"""``lab consistency``: the page of the guide, as printed; every workload; the mistakes."""

import json
import re
import shlex
from pathlib import Path

import pytest

from lab.guide.contents import find_page
from lab.histories.anomalies import WEAKEST_RULED_OUT
from lab.histories.workloads import WORKLOADS
from tests.cli.invocation import Lab

PAGE = find_page("histories").text


def _blocks(language: str) -> list[str]:
    found: list[str] = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return found


@pytest.fixture
def histories(lab: Lab) -> Lab:
    """Save the histories of the page."""
    for name, text in zip(("register.edn", "transactions.edn"), _blocks("edn"), strict=True):
        (lab.folder / name).write_text(text)
    return lab


def _commands() -> list[list[str]]:
    return [shlex.split(line)[1:] for block in _blocks("sh") for line in block.splitlines()]


def test_the_page(histories: Lab) -> None:
    """Its commands print what it shows, with these exit statuses."""
    register, transactions, weaker = _commands()
    first, second = _blocks("text")
    for words, text in ((register, first), (transactions, second)):
        done = histories(*words)
        assert done.status == 1
        for line in text.splitlines():
            assert line in done.out.splitlines(), done.out
    done = histories(*weaker)
    assert done.status == 0
    assert "txn-list-append holds (snapshot isolation: " in done.out
    assert "allowed by this model: G2-item" in done.out


def test_every_workload_and_anomaly_is_on_the_page() -> None:
    """Under the name that the command takes, or prints."""
    for name in WORKLOADS:
        assert f"`{name}`" in PAGE
    for name in WEAKEST_RULED_OUT:
        if name.startswith("G"):
            assert name in PAGE


def test_one_form_is_converted_to_the_other(histories: Lab) -> None:
    """And back, without a change; the verdict is the same."""
    check = ("--workload", "register")
    assert histories("consistency", "register.edn", *check, "--out", "register.jsonl").status == 1
    assert histories("consistency", "register.jsonl", *check, "--out", "again.edn").status == 1
    assert histories("consistency", "again.edn", *check, "--out", "again.jsonl").status == 1
    assert (histories.folder / "again.jsonl").read_text() == (histories.folder / "register.jsonl").read_text()


def test_json(histories: Lab) -> None:
    """One object; the operations are named by the indexes of their invocations."""
    done = histories("consistency", "transactions.edn", "--workload", "txn-list-append", "--json")
    found = json.loads(done.out)
    assert (done.status, found["verdict"], found["format"]) == (1, "fails", 1)
    assert found["operations"] == {"called": 3, "ok": 3, "fail": 0, "info": 0}
    assert found["ruled_out"] == ["serializable", "strong session serializable", "strict serializable"]
    assert [each["kind"] for each in found["findings"]] == ["G2-item"]
    assert found["findings"][0]["operations"] == [0, 1]


def test_nothing_judged_is_not_green(lab: Lab) -> None:
    """An empty history, one of writes alone, and one whose search came to its bound."""
    (lab.folder / "empty.edn").write_text("")
    (lab.folder / "writes.edn").write_text(
        "{:process 0, :type :invoke, :f :write, :value 1}\n{:process 0, :type :ok, :f :write, :value 1}\n"
    )
    for name in ("empty.edn", "writes.edn"):
        done = lab("consistency", name, "--workload", "register")
        assert done.status == 1
        assert "linearizability is not judged" in done.out
    calls = [f"{{:process {n}, :type :invoke, :f :write, :value {n}}}" for n in range(12)]
    returns = [f"{{:process {n}, :type :ok, :f :write, :value {n}}}" for n in range(12)]
    read = ["{:process 20, :type :invoke, :f :read}", "{:process 20, :type :ok, :f :read, :value 99}"]
    (lab.folder / "wide.edn").write_text("\n".join([*calls, read[0], read[1], *returns]) + "\n")
    done = lab("consistency", "wide.edn", "--workload", "register", "--states", "100")
    assert done.status == 1
    assert "linearizability is undecided" in done.out
    assert "not decided within 100 states" in done.out


def test_a_torn_history(histories: Lab) -> None:
    """It is refused, and read without its last line if that is wanted."""
    text = (histories.folder / "register.edn").read_text()
    (histories.folder / "torn.edn").write_text(text[:-10])
    refused = histories("consistency", "torn.edn", "--workload", "register")
    assert refused.status == 2
    assert refused.err.endswith("was its writer interrupted?; --accept-torn leaves it out\n")
    done = histories("consistency", "torn.edn", "--workload", "register", "--accept-torn")
    assert "3 operations of 3 clients: 2 ok, 0 failed, 1 without a known outcome" in done.out
    assert done.status == 1


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("no.edn", "--workload", "register"), "lab: no.edn: No such file or directory; name a history"),
        (("register.edn", "--workload", "regster"), "did you mean register?"),
        (("register.edn", "--workload", "register", "--model", "serializable"), "applies to transactions"),
        (
            ("register.edn", "--workload", "txn-list-append", "--model", "best"),
            "--model best: unknown model; known: read uncommitted",
        ),
        (
            ("register.edn", "--workload", "register", "--states", "0"),
            "--states 0: write a whole number, 1 or more",
        ),
        (("register.edn", "--workload", "register", "--out", "x.txt"), "name a file that ends in .edn or .jsonl"),
        (("transactions.edn", "--workload", "register"), "is its workload register?"),
        (("text.edn", "--workload", "register"), "lab: text.edn: line 1: hello is no value: expected nil"),
        (("text.jsonl", "--workload", "register"), "lab: text.jsonl: line 1: "),
        (("two.edn", "--workload", "register"), "client 0 invokes read while it waits for read (event 0)"),
    ],
)
def test_mistakes(histories: Lab, words: tuple[str, ...], error: str) -> None:
    """With the line, what was got, and what was expected."""
    folder: Path = histories.folder
    (folder / "text.edn").write_text("hello\n")
    (folder / "text.jsonl").write_text("hello\n")
    (folder / "two.edn").write_text("{:process 0, :type :invoke, :f :read}\n" * 2)
    done = histories("consistency", *words)
    assert done.status == 2
    assert error in done.err
