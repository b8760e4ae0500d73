"""``lab explore``: its report, its recordings and its exit statuses."""

import json
import re

import pytest

from tests.cli.invocation import ROOT, Called, Lab
from tests.profile import SOAK

COUNTS = re.compile(
    r"^  [\d,]+ states, [\d,]+ transitions, depth \d+ moves; [\d.]+ s, [\d,]+ states/s$",
    re.MULTILINE,
)


def test_nothing_is_found_under_the_assumptions(lab: Lab) -> None:
    """The defaults, three nodes of bully and one kill: all that is distinguished, and no file."""
    done = lab("explore", "bully")
    assert (done.status, done.err) == (0, "")
    assert COUNTS.search(done.out)
    assert "exhaustive" not in done.out
    text = "\n  explored completely, except for differences that the search ignores: ages beyond 1.2s of messages "
    assert text in done.out
    assert "arrivals between two instants" in done.out
    assert re.search(r"^  A1\.1 +no violation in 4,085 states  \(one coordinator\)$", done.out, re.MULTILINE)
    assert list(lab.folder.iterdir()) == []


def test_two_coordinators_are_found(lab: Lab) -> None:
    """With arbitrary timeouts: status 1, and a recording with two coordinators that verifies."""
    done = lab("explore", "bully", "--timeouts", "any", "--states", "5000", "--out", "two.jsonl")
    assert (done.status, done.err) == (1, "")
    assert COUNTS.search(done.out)
    assert "  not exhaustive: stopped at 5,000 states, with " in done.out
    assert re.search(r"^  A1\.1 +violated in [\d,]+ states, the first after 3 moves, ", done.out, re.MULTILINE)
    assert "recorded: two.jsonl, the shortest counterexample to A1.1\n" in done.out
    assert [path.name for path in lab.folder.iterdir()] == ["two.jsonl"]
    verified = lab("verify", "two.jsonl")
    assert verified.status == 0
    assert "holds" in verified.out
    assert "A1.1" in verified.out
    assert "coordinator 1" in lab("show", "two.jsonl", "--only", "status").out


def test_two_coordinators_are_found_under_a_pause(lab: Lab) -> None:
    """The bully under a pause violates A1.1, excused by 9; and the recording verifies."""
    words = ("--kills", "0", "--pauses", "1", "--timeouts", "prompt")
    done = lab("explore", "bully", *words, "--out", "two.jsonl")
    assert (done.status, done.err) == (1, "")
    assert "at most 0 kills, 0 restarts, 1 pause and 0 cuts\n" in done.out
    assert "procedures begun; pauses longer than 1.2s\n" in done.out
    assert re.search(
        r"^  A1\.1 +violated in [\d,]+ states, .*excused: assumption 9 broken", done.out, re.MULTILINE
    )
    assert re.search(r"^  A2 +no violation in [\d,]+ states  \(elects in time\)$", done.out, re.MULTILINE)
    verified = lab("verify", "two.jsonl")
    assert verified.status == 0
    assert "excused: A1.1 under broken assumption 9 (pause of 3)" in verified.out
    assert "process: paused" in lab("show", "two.jsonl", "--only", "process").out
    assert json.loads(lab("explore", "bully", *words, "--depth", "2", "--json").out)["pauses"] == 1


def test_pauses_are_part_of_any(lab: Lab) -> None:
    """There, a node may take its time anyway; as it may with a budget."""
    for timeouts in ("any", "budget"):
        done = lab("explore", "bully", "--pauses", "1", "--timeouts", timeouts)
        assert done.status == 2
        assert f"--pauses with --timeouts {timeouts}: there a node may take its time anyway" in done.err


def test_a_budget_of_wrong_suspicions(lab: Lab) -> None:
    """Two wrong timeouts break A1.2, excused; with none, all that is distinguished holds."""
    words = ("explore", "bully", "--nodes", "2", "--kills", "0", "--timeouts", "budget")
    done = lab(*words, "--suspicions", "2", "--out", "two.jsonl")
    assert (done.status, done.err) == (1, "")
    assert "timeouts budget, at most 0 kills, 0 restarts, 2 wrong suspicions and 0 cuts\n" in done.out
    assert re.search(r"^  A1\.2 +violated in .*, excused: assumptions 8 and 9 broken", done.out, re.MULTILINE)
    verified = lab("verify", "two.jsonl")
    assert verified.status == 0
    assert "excused: A1.2 under broken assumption" in verified.out
    document = json.loads(lab(*words, "--json").out)
    assert (document["suspicions"], document["states"], document["recording"]) == (0, 3, None)


def test_set_ups_with_budgets(lab: Lab) -> None:
    """A row for each budget; in other models of time there is one row, as no budget counts."""
    words = ("--nodes", "2", "--kills", "0", "--timeouts", "budget,prompt", "--suspicions", "0-1")
    done = lab("explore", "bully", *words)
    assert (done.status, done.err) == (0, "")
    rows = [line.strip() for line in done.out.splitlines() if line.startswith(" 2 nodes")]
    assert [re.split(r" {2,}", row)[:2] for row in rows] == [
        ["2 nodes, budget", "3"],
        ["2 nodes, prompt", "17"],
        ["2 nodes, 1 wrong suspicion, budget", "32"],
    ]


def test_suspicions_without_a_budget_are_a_mistake(lab: Lab) -> None:
    """Only the model budget counts them."""
    done = lab("explore", "bully", "--suspicions", "1")
    assert done.status == 2
    assert "--suspicions with --timeouts synchronous: only budget counts them; add --timeouts budget" in done.err


def test_a_failure_is_recorded_under_a_default_name(lab: Lab) -> None:
    """A mutated bully, without --out; ``lab verify`` finds the same failure."""
    target = f"{ROOT}/tests/campaign/mutants.py:NoTimeout"
    done = lab("explore", target, "--nodes", "2", environment={"PYTHONPATH": str(ROOT)})
    assert done.status == 1, done
    assert "recorded: no-timeout-A2-synchronous.jsonl, the shortest counterexample to A2\n" in done.out
    verified = lab("verify", "no-timeout-A2-synchronous.jsonl", "--protocol", target)
    assert verified.status == 1, verified
    assert "A2" in verified.out


def test_a_cut_network(lab: Lab) -> None:
    """Violations that rely on the network are excused, as the report says; the recording has the commands."""
    done = lab("explore", "bully", "--nodes", "2", "--kills", "0", "--cuts", "1", "--out", "cut.jsonl")
    assert done.status == 1, done
    assert "at most 0 kills, 0 restarts and 1 cut\n" in done.out
    output = r"^  A1\.1 +violated in [\d,]+ states, the first after \d+ moves, excused: assumption 8 broken  \("
    assert re.search(output, done.out, re.MULTILINE)
    verified = lab("verify", "cut.jsonl")
    assert verified.status == 0, verified
    assert "excused: " in verified.out
    assert "partition 1 | 2" in lab("show", "cut.jsonl").out
    branched = lab("branch", "cut.jsonl", "--at", "20", "--headless", "--for", "5s", "--do", "heal")
    assert branched.status == 0, branched


def test_a_transaction(lab: Lab) -> None:
    """A command is given first; a kill may follow, and the node recovers."""
    words = ("explore", "2pc", "--restarts", "1", "--timeouts", "prompt", "--do")
    done = lab(*words, "tell 3 withdraw 350")
    assert (done.status, done.err) == (0, "")
    assert "2pc, 3 nodes, from the start, tell 3 withdraw 350, timeouts prompt" in done.out
    assert "\n  exhaustive: the whole state space was explored\n" in done.out
    for name in ("A6", "A7", "A8", "ends"):
        assert re.search(rf"^  {name} +holds  ", done.out, re.MULTILINE)
    for line, result in (
        ("at 1s tell 3 withdraw 350", "lab explore takes only commands of the protocol, without trigger"),
        ("kill 3", "lab explore takes only commands of the protocol, without trigger"),
        ("withdraw 350", "lab explore takes only commands of the protocol, without trigger"),
        ("tell 4 withdraw 350", "there is no node 4"),
        ("tell 3 withdraw", "usage: withdraw AMOUNT"),
    ):
        assert lab.within(*words, line).refused().startswith(f"--do {line!r}: {result}")


def test_without_do_there_is_a_transaction(lab: Lab) -> None:
    """Without transactions, A6 would hold trivially: the first command is the default, as the report says."""
    for name in ("2pc", "3pc"):
        done = lab("explore", name, "--kills", "0", "--timeouts", "prompt")
        assert (done.status, done.err) == (0, "")
        assert ", tell 3 withdraw 350 (the default of --do), timeouts prompt" in done.out
        asked = lab(
            "explore", name, "--kills", "0", "--timeouts", "prompt", "--do", "tell 3 withdraw 350", "--json"
        )
        result = json.loads(asked.out)
        assert f"\n  {result['states']:,} states, " in done.out
        assert result["do"] == ["tell 3 withdraw 350"]
        none = lab("explore", name, "--kills", "0", "--timeouts", "prompt", "--do", "none")
        assert ", no command, timeouts prompt" in none.out
        assert json.loads(lab("explore", name, "--nodes", "2", "--states", "1", "--json").out)["do"] == [
            "tell 2 withdraw 350"
        ]


def test_json(lab: Lab) -> None:
    """One object with everything in the report, and nothing else."""
    done = lab(
        "explore", "bully", "--nodes", "2", "--cuts", "1", "--timeouts", "prompt", "--json", "--out", "cut.jsonl"
    )
    assert (done.status, done.err) == (1, "")
    result = json.loads(done.out)
    assert result.pop("seconds") > 0
    verdicts = {each.pop("assertion"): each for each in result.pop("assertions")}
    assert result.pop("states") < result.pop("transitions")
    assert result.pop("depth") > 10
    assert result == {
        "format": 1,
        "protocol": "bully",
        "nodes": 2,
        "begin": "normal",
        "do": [],
        "timeouts": "prompt",
        "kills": 1,
        "restarts": 0,
        "cuts": 1,
        "pauses": 0,
        "suspicions": 0,
        "roles": [],
        "workload": None,
        "clients": [],
        "exhaustive": False,
        "not_distinguished": ["ages beyond 1.2s of messages heard and procedures begun"],
        "stopped_at": None,
        "waiting": 0,
        "recording": "cut.jsonl",
    }
    assert verdicts["A1.1"]["violated"] > 0
    assert verdicts["A1.1"]["moves"] > 1
    assert verdicts["A1.1"]["broken"] == [8]
    assert verdicts["A2"] == {"violated": 0, "moves": None, "broken": [], "verdict": "no violation in 844 states"}
    cut = json.loads(lab("explore", "bully", "--states", "10", "--json").out)
    assert (cut["exhaustive"], cut["stopped_at"], cut["recording"]) == (False, "10 states", None)
    assert cut["waiting"] > 0
    assert cut["assertions"][0]["verdict"] == "no violation in 10 states"


REGISTER = str(ROOT / "lab" / "guide" / "build" / "register.py")
STATES = () if SOAK else ("--states", "60000")
"""The first of the violations is found within so many."""
CLIENTS = ("--workload", "lin-kv", "--client", "write 0 1", "--client", "read 0")


def test_clients(lab: Lab) -> None:
    """The report names them; their history is judged, and kept with the shortest counterexample to it."""
    words = ("explore", REGISTER, "--nodes", "2", "--kills", "0", "--timeouts", "prompt", *CLIENTS)
    calm = lab(*words)
    assert calm.status == 0
    assert "a client calls write 0 1, a client calls read 0, at most 0 kills" in calm.out
    assert re.search(r"^  lin-kv +no violation in [\d,]+ states  \(a store: ", calm.out, re.MULTILINE)
    cut = lab(*words, "--cuts", "1", *STATES, "--out", "lost.jsonl")
    assert cut.status == 1
    assert re.search(r"^  lin-kv +violated in [\d,]+ states, the first after 20 moves  ", cut.out, re.MULTILINE)
    assert "recorded: lost.jsonl, the shortest counterexample to lin-kv" in cut.out
    shown = lab("consistency", "lost.jsonl")
    assert shown.status == 1
    assert "2 operations of 2 clients" in shown.out
    unjudged = lab(*words[:-1], "read 0", "--states", "3")
    assert unjudged.status == 1
    assert re.search(r"^  lin-kv +not judged: no operation was answered in any state", unjudged.out, re.MULTILINE)


def test_clients_in_several_set_ups(lab: Lab) -> None:
    """The campaign is kept with its clients, and resumed with them alone."""
    words = ("explore", REGISTER, "--nodes", "1-2", "--kills", "0", "--timeouts", "prompt", *CLIENTS)
    done = lab(*words, "--record", "all.jsonl")
    assert done.status == 0
    assert "from all nodes Normal, a client calls write 0 1, a client calls read 0: 2 of 2 set-ups" in done.out
    others = (*words[:-1], "read 1", "--resume", "all.jsonl")
    assert "--client" in lab(*others).refused()
    again = lab(*words, "--resume", "all.jsonl", "--json")
    assert json.loads(again.out)["clients"] == ["write 0 1", "read 0"]


def test_two_protocols(lab: Lab) -> None:
    """Assumption 1 is broken, which excuses what is violated; without a file, there is no code to execute."""
    (lab.folder / "mine.py").write_text(
        "from lab.protocols import Bully, Status\n"
        "from lab.kernel import procedure\n"
        "class Mine(Bully):\n"
        "    name = 'my-bully'\n"
        "    @procedure\n"
        "    async def election(self):\n"
        "        self.status, self.coordinator = Status.NORMAL, self.id\n"
    )
    words = ("explore", "bully", "--nodes", "2", "--from", "start", "--timeouts", "prompt", "--role", "1=mine.py")
    done = lab(*words)
    assert done.status == 1
    assert "timeouts prompt, 1=my-bully, at most 1 kill" in done.out
    assert "the first after 0 moves, excused: assumption 1 broken" in done.out
    assert json.loads(lab(*words, "--states", "9", "--json").out)["roles"][0]["protocol"] == "my-bully"
    assert lab(*words, "--record", "mix.jsonl").status == 1
    assert "no code that a recording names is executed" in lab.fresh("explore", "--resume", "mix.jsonl").refused()
    assert lab(*words, "--resume", "mix.jsonl").status == 1


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--workload", "lin-kv"), "say what each client calls: --client 'write 0 1; read 0'"),
        (("--client", "read 0"), "--client 'read 0' requires --workload lin-kv"),
        (("--workload", "lin-kw", "--client", "read 0"), "known: echo, unique-ids, lin-kv, lin-tso, txn-list"),
        (("--workload", "lin-kv", "--client", "read 0 1"), "expected read KEY, not read 0 1"),
        (("--workload", "lin-kv", "--client", f"write 0 {'[' * 30}{']' * 30}"), "lists in lists, deeper than 20"),
        (("--workload", "lin-kv", "--client", "read \ud800"), "write plain text, of 2,000 characters at most"),
        (("--workload", "lin-kv", "--client", "read " + "0" * 3_000), "write plain text, of 2,000 characters"),
        (("--workload", "lin-kv", "--client", "read 0;;read 0"), "nothing is no operation of lin-kv"),
        (("--workload", "broadcast", "--client", "read"), "it is judged by last reads"),
        (
            ("--workload", "lin-kv", "--client", "wrte 0 1"),
            "--client 'wrte 0 1': wrte is no operation of lin-kv; write read KEY; write KEY VALUE; cas KEY FROM",
        ),
        (("--workload", "lin-kv", "--client", "read 0; write 0"), "expected write KEY VALUE, not write 0"),
        (("--role", "9=ring"), "there is no node 9"),
        (("--role", "2=./elect --verbose"), "there is no such file"),
        (("--role", f"2={ROOT}/lab/guide/build/nodes/elect.py x"), "a program cannot be explored"),
    ],
)
def test_mistakes_in_clients_and_roles(lab: Lab, words: tuple[str, ...], why: str) -> None:
    assert why in lab.within("explore", REGISTER, *words).refused()


SERVER = """
from lab.kernel import Payload, Request, on, procedure
from lab.protocols import Algorithm
from lab.protocols.operations import Cas, Error, Read, ReadOk, Txn, TxnOk, Write, WriteOk


class Mute(Algorithm):
    def silent(self, sender, message) -> ReadOk | Error | None:
        return None

    @on(Read)
    def on_read(self, sender: int, message: Read) -> ReadOk | Error | None:
        return None

    @on(Write)
    def on_write(self, sender: int, message: Write) -> WriteOk | Error | None:
        return None

    @on(Txn)
    def on_txn(self, sender: int, message: Txn) -> TxnOk | Error | None:
        return TxnOk(message.txn)


class Echoing(Mute):
    value: object = None

    @on(Read)
    def on_read(self, sender: int, message: Read) -> ReadOk | Error | None:
        return Error(20) if self.value is None else ReadOk(self.value)

    @on(Write)
    def on_write(self, sender: int, message: Write) -> WriteOk | Error | None:
        self.value = message.value
        return WriteOk()


class Ask(Request[ReadOk], frozen=True):
    pass


class Kept(Payload, frozen=True):
    sender: int
    handled: int
    number: int


class Late(Echoing):
    asked: int = 0

    @on(Read)
    def on_read(self, sender: int, message: Read) -> ReadOk | Error | None:
        self.restart(self.find, Kept(sender, self.handled, self.asked))
        return None

    @procedure
    async def find(self, read: Kept) -> None:
        for _ in range(2):
            self.asked += 1
            answer = await self.ask(self.peers[0], Ask(), within=2 * self.timing.t_us)
        self.reply(read.sender, read.handled, answer or Error(11))

    @on(Ask)
    def on_ask(self, sender: int, message: Ask) -> ReadOk | None:
        self.asked += 1
        self.begin(self.answer_late, Kept(sender, self.handled, self.asked))
        return None

    @procedure
    async def answer_late(self, ask: Kept) -> None:
        await self.sleep(3 * self.timing.t_us, "the asker to give up")
        self.reply(ask.sender, ask.handled, ReadOk(ask.number))
"""


def explored(lab: Lab, name: str, *clients: str, workload: str = "lin-kv", nodes: int = 1) -> Called:
    (lab.folder / "server.py").write_text(SERVER)
    given = [word for each in clients for word in ("--client", each)]
    setting = ("--nodes", str(nodes), "--kills", "0", "--timeouts", "prompt", "--workload", workload)
    return lab("explore", f"server.py:{name}", *setting, *given)


def test_what_nobody_answers_is_not_judged(lab: Lab) -> None:
    """However long the clients wait: a timeout is no answer."""
    done = explored(lab, "Mute", "write 0 1; read 0")
    assert done.status == 1
    assert re.search(r"^  lin-kv +not judged: no operation was answered in any state", done.out, re.MULTILINE)


def test_values_are_what_is_sent(lab: Lab) -> None:
    """What JSON has no number for is text, and quotes may hold blanks and semicolons."""
    for value in ("NaN", "1e999", "-Infinity", "true", '"1"'):
        done = explored(lab, "Echoing", f"write 0 {value}; read 0")
        assert done.status == 0, done.out
        assert f"a client calls write 0 {value}; read 0, at most" in " ".join(done.out.split())
    assert explored(lab, "Echoing", 'write 0 "a; b"; read 0').status == 0


@pytest.mark.parametrize(
    ("clients", "why"),
    [
        (["txn hello"], "make no history"),
        (['txn [["append",1,2]]', 'txn [["append",1,2]]'], "both write 2"),
        (['txn [["foo",1,2]]'], "make no history"),
    ],
)
def test_operations_that_make_no_history_are_the_users_mistake(lab: Lab, clients: list[str], why: str) -> None:
    assert why in explored(lab, "Mute", *clients, workload="txn-list-append").refused()


def test_a_counterexample_that_its_recording_does_not_show(lab: Lab) -> None:
    """An answer that comes after its request was given up is none to the next one, whatever the search does."""
    done = explored(lab, "Late", "read 0; read 0", "write 0 9", nodes=2)
    assert done.status == 1
    assert "late-lin-kv-prompt.jsonl does not show that lin-kv is violated" in done.err


def test_a_stopped_search_proves_nothing(lab: Lab) -> None:
    """It reports only what it has covered."""
    done = lab("explore", "bully", "--states", "10")
    assert (done.status, done.err) == (0, "")
    assert "\n  10 states, " in done.out
    assert re.search(r"^  A1\.1 +no violation in 10 states  \(one coordinator\)$", done.out, re.MULTILINE)
    assert " holds " not in done.out


def test_nobody_left_to_agree(lab: Lab) -> None:
    """If all nodes fail at once, A2 is not judged."""
    (lab.folder / "mine.py").write_text(
        "from lab.protocols import Election\n"
        "class Mine(Election):\n"
        "    promises = ('A2',)\n"
        "    def started(self):\n"
        "        raise ValueError('enough')\n"
    )
    done = lab("explore", "mine.py", "--from", "start")
    assert done.status == 1
    assert "\n  explored completely, except for differences " in done.out
    assert re.search(r"^  A2 +not judged: no running node is left to agree", done.out, re.MULTILINE)


def test_mistakes(lab: Lab) -> None:
    """One line each, before anything is explored."""
    unknown = lab.within("explore", "bulli").refused()
    assert unknown.startswith("unknown protocol 'bulli'")
    assert unknown.endswith("; did you mean bully?")
    assert lab.within("explore", "bully", "--out", "two.txt").refused() == "--out two.txt: name a .jsonl file"
    there = lab.within("explore", "bully", "--out", "nowhere/two.jsonl").refused()
    assert there == f"--out nowhere/two.jsonl: the folder {lab.folder}/nowhere does not exist"
    assert (
        lab.within("explore", "bully", "--set", "speed=1s")
        .refused()
        .startswith("--set speed=1s: bully has no parameter 'speed'; its parameters are ")
    )
    for words, result in (
        ("--nodes 0", "--nodes 0: write a whole number, from 1 to 7"),
        ("--nodes 8", "--nodes 8: write a whole number, from 1 to 7"),
        ("--states many", "--states many: write a whole number, 1 or more"),
        ("--kills -1", "--kills -1: write a whole number, 0 or more"),
        ("--cuts one", "--cuts one: write a whole number, 0 or more"),
        (
            "--timeouts sinchronous",
            "--timeouts sinchronous: write synchronous, prompt, ordered, budget or any; did you mean synchronous?",
        ),
        ("--from here", "--from here: write normal or start"),
    ):
        assert lab.within("explore", "bully", *words.split()).refused() == result
    astray = lab("explore", f"{ROOT}/tests/campaign/mutants.py:NoRecovery", environment={"PYTHONPATH": str(ROOT)})
    assert astray.refused().endswith("by itself: add --from start")


def test_ctrl_c_reports_what_was_covered(lab: Lab) -> None:
    """On a terminal it shows progress; interrupted, it reports and exits with 130."""
    words = ("explore", "bully", "--timeouts", "any", "--states", "100000000")
    called, _ = lab.interrupted(*words, when=rb"\d,\d{3} states in .* frontier")
    assert called.status == 130
    assert COUNTS.search(called.out)
    assert "not exhaustive: stopped at Ctrl-C, with " in called.out
    assert re.search(
        r"exploring bully: [\d,]+ states in 0:\d\d, [\d,]+/s, depth \d+, [\d,]+ in the frontier", called.err
    )
