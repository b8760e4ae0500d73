"""``lab run --program``: the page of the guide, as printed; the mistakes; and what a program cannot do."""

import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.analysis.elections import agreed_coordinator
from lab.guide.contents import find_page
from tests.cli.invocation import Lab
from tests.profile import amount
from tests.worlds.live import Tail

TALKER = Path(__file__).parents[1] / "programs" / "talker.py"
FAULTY = TALKER.with_name("faulty.py")
RUN_S = amount(quick=9, soak=40)
PAGE = find_page("programs").text
MAELSTROM = os.environ.get("LAB_MAELSTROM_DEMO", "")
"""The folder ``demo`` of a copy of Maelstrom, whose licence keeps it out of this repository."""


def _blocks(language: str) -> list[str]:
    found: list[str] = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return found


def _save(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.fixture
def run(lab: Lab) -> Path:
    """Return the recording of programs that talk."""
    path = lab.folder / "run.jsonl"
    done = lab(
        *("run", "--program", f"{sys.executable} {TALKER} echo", "--nodes", "2", "--t", "1s", "--headless"),
        *("--for", "3s", "--do", 'when all.status == Normal tell 1 rpc {"type":"ask_all"}', "--record", str(path)),
    )
    assert "status" not in done.err
    return path


def _all_follow(leader: int) -> Callable[[Tail], bool]:
    """Return whether all nodes that are up follow this one."""
    return lambda tail: agreed_coordinator(tail.cluster.nodes) == leader


@pytest.mark.live
def test_the_first_node_of_the_page(lab: Lab) -> None:
    """In Python: the leader is killed, and the next one takes over."""
    python, _ = _blocks("python")
    _save(lab.folder, "elect.py", python)
    _, headless, _ = _blocks("sh")
    lab_, run, *words = shlex.split(headless.replace("--headless --for 9s", ""))
    assert (lab_, run) == ("lab", "run")
    done = lab.until(_all_follow(4), "4 leads", *words)
    shown, _, a2 = _blocks("text")[0].rstrip().partition("\n  A1.1")
    for line in shown.splitlines():
        assert line in done.out, done.out
    assert "\n  A2 holds" in done.out
    assert a2


@pytest.mark.live
@pytest.mark.parametrize(
    ("language", "name", "needs", "program"),
    [
        ("js", "elect.js", "node", "./elect.js"),
        ("go", "elect.go", "go", "go run elect.go"),
    ],
)
def test_the_other_nodes_of_the_page(lab: Lab, language: str, name: str, needs: str, program: str) -> None:
    """Where the machine has their language: the highest leads, and after its death the next one."""
    if shutil.which(needs) is None:
        pytest.skip(f"this machine has no {needs}")
    (text,) = _blocks(language)
    _save(lab.folder, name, text)
    done = lab.until(
        _all_follow(2),
        "2 leads",
        *("--program", program, "--lens", "election", "--nodes", "3", "--t", "1s"),
        *("--do", "when all.coordinator == 3 kill 3"),
    )
    assert "all under 3" in done.out
    assert "all under 2" in done.out


@pytest.mark.live
def test_the_lens_of_the_page(lab: Lab) -> None:
    """Its property is judged over what it reads; verify executes it again."""
    _, lens = _blocks("python")
    _save(lab.folder, "raft_lens.py", lens)
    code = (
        "import json, sys, time\n"
        "me = json.loads(input())['body']['node_id']\n"
        "say = lambda to, **b: print(json.dumps(dict(src=me, dest=to, body=b)), flush=True)\n"
        "say('c0', type='init_ok', in_reply_to=1)\n"
        "other = 'n2' if me == 'n1' else 'n1'\n"
        "say(other, type='append_entries', term=1)\n"
        "sys.stdin.read()\n"
    )
    _save(lab.folder, "two.py", f"#!{sys.executable}\n{code}")
    done = lab(
        *("run", "--program", "./two.py", "--lens", "raft_lens.py", "--nodes", "2", "--t", "4s", "--headless"),
        *("--for", "5s"),
        *("--record", "two.jsonl"),
    )
    assert done.status == 1
    assert re.search(r"one_leader_per_term fails .*: [12] and [12] lead term 1", done.out), done.out
    verified = lab("verify", "two.jsonl", "--protocol", "raft_lens.py")
    assert verified.status == 1
    assert "what the programs did to write their lines is taken as given" in verified.out
    assert "one_leader_per_term fails" in verified.out
    assert "differs" not in verified.out


@pytest.mark.live
def test_a_run_of_programs_is_a_recording_like_any_other(lab: Lab, run: Path) -> None:
    """It is verified, shown, exported as table and picture; an edited line is found."""
    verified = lab("verify", str(run))
    assert "run.jsonl: as recorded; " in verified.out
    shown = lab("show", str(run), "--only", "stderr")
    assert re.search(r"stderr: n1 is process \d+", shown.out)
    assert "AreYouThere" in lab("show", str(run)).out
    steps = lab("export", str(run), "--table", "steps", "--out", "-").out
    assert ",wrote," in steps
    assert "AreYouThere" in lab("export", str(run), "--to", "svg", "--out", "-").out
    edited = lab.folder / "edited.jsonl"
    text = run.read_text()
    assert text.count('"status":"Normal"') > 1
    edited.write_text(text.replace('"status":"Normal"', '"status":"Election"', 1))
    found = lab("verify", str(edited))
    assert found.status == 1
    assert "step of node" in found.out


@pytest.mark.live
def test_what_cannot_be_executed_again_is_refused(lab: Lab, run: Path) -> None:
    """Branches; and all commands that execute a protocol many times."""
    refusal = "runs programs, which cannot be simulated, nor executed again from a recording"
    for words in (
        ("branch", str(run), "--at", "1s", "--headless", "--for", "1s"),
        ("check", "program-raft", "--runs", "1"),
        ("mutate", "program-raft", "--runs", "1"),
        ("compare", "program-raft", "bully", "--runs", "1"),
        ("scale", "program-raft"),
        ("explore", "program-raft"),
        ("run", "--program", "cat", "--sim", "--headless", "--for", "1s"),
    ):
        done = lab(*words)
        assert done.status == 2, words
        assert refusal in done.err, words


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (
            ("--program", "./nothing"),
            "lab: --program ./nothing: there is no such file; name a program, such as --program ./my_node",
        ),
        (("--program", "no-such-word"), "lab: --program no-such-word: it is not in the PATH; name a program"),
        (("--program", ""), "lab: --program: name a program, such as --program ./my_node"),
        (("--program", "'"), "lab: --program ': No closing quotation; write it as a shell would read it"),
        (
            ("--program", "./plain.txt"),
            "./plain.txt cannot be executed; make it executable (chmod +x ./plain.txt)",
        ),
        (("--program", "plain.txt"), "plain.txt cannot be executed; write ./plain.txt, or name its interpreter"),
        (("--lens", "raft"), "lab: --lens requires --program: lab run --program ./my_node --lens raft"),
        (
            ("--program", "cat", "--lens", "rafd"),
            "unknown lens; known: election, raft, bully, ring, invitation, or FILE.py:CLASS for your own; "
            "did you mean raft?",
        ),
        (
            ("--program", "cat", "--lens", "own.py"),
            "own.py: Own is a protocol, not a lens: write class Own(Program)",
        ),
        (("--program", "cat", "--sandbox"), "a program runs with your rights, so trust it"),
        (("program-raft",), "lab: program-raft shows what programs do: add --program ./my_node"),
        (("bully", "more"), "lab: more: expected one protocol or scenario; only --program has arguments"),
        ((), "lab: name a protocol or a scenario: lab run bully; or a program: lab run --program ./my_node"),
        (
            ("--program", "cat", "--headless", "--for", "1s", "--do", "slow-disk 1 5ms"),
            "slow-disk: programs keep their own files",
        ),
        (
            ("--program", "cat", "--headless", "--for", "1s", "--do", "wipe 1"),
            "wipe: programs keep their own files",
        ),
        (
            ("--program", "cat", "--headless", "--for", "1s", "--do", 'inject 1->2 Hello {"type":"hi"}'),
            "Hello: write its type in the body",
        ),
        (
            ("--program", "cat", "--headless", "--for", "1s", "--do", "tell 1 rpc read"),
            "write the body of a request as JSON",
        ),
    ],
)
def test_mistakes(lab: Lab, words: tuple[str, ...], error: str) -> None:
    """Each says what was got, and what to write."""
    (lab.folder / "plain.txt").write_text("text")
    (lab.folder / "own.py").write_text(
        "from lab.protocols import Election\n\n\nclass Own(Election):\n    name = 'own'\n"
    )
    done = lab("run", *words)
    assert done.status == 2
    assert error in done.err


@pytest.mark.live
def test_a_program_has_arguments(lab: Lab) -> None:
    """In quotes, or after two hyphens; the recording has the whole command, with the program's whole path."""
    code = "import sys; sys.stderr.write(' '.join(sys.argv[1:]) + chr(10)); sys.stderr.flush(); sys.stdin.read()"
    _save(lab.folder, "words.py", f"#!{sys.executable}\n{code}\n")
    done = lab(
        *(
            "run",
            "--program",
            "./words.py one",
            "--nodes",
            "1",
            "--headless",
            "--for",
            "3s",
            "--record",
            "w.jsonl",
        ),
        *("--", "two words", "--three"),
    )
    assert "recorded in" in done.out
    header = json.loads((lab.folder / "w.jsonl").read_text().partition("\n")[0])
    command = shlex.split(header["protocol"]["parameters"]["program"])
    assert command == [str(lab.folder / "words.py"), "one", "two words", "--three"]
    assert "stderr: one two words --three" in lab("show", "w.jsonl").out


@pytest.mark.live
@pytest.mark.skipif(not MAELSTROM, reason="LAB_MAELSTROM_DEMO names no folder with Maelstrom's demo nodes")
@pytest.mark.parametrize(
    ("node", "request_", "answer"),
    [
        ("python/echo.py", '{"type":"echo","echo":"hi"}', '"echo":"hi"'),
        ("python/broadcast.py", '{"type":"broadcast","message":7}', '"type":"broadcast_ok"'),
        ("js/echo.js", '{"type":"echo","echo":"hi"}', '"echo":"hi"'),
        ("js/echo_minimal.js", '{"type":"echo","echo":"hi"}', '"echo":"hi"'),
        ("js/gossip.js", '{"type":"read"}', '"type":"read_ok"'),
        ("js/crdt_gset.js", '{"type":"add","element":7}', '"type":"add_ok"'),
        ("js/crdt_pn_counter.js", '{"type":"add","delta":7}', '"type":"add_ok"'),
    ],
)
def test_nodes_of_maelstrom(lab: Lab, node: str, request_: str, answer: str) -> None:
    """Unmodified: they start, and answer a request."""
    if node.startswith("js/") and shutil.which("node") is None:
        pytest.skip("this machine has no node")
    interpreter = "node" if node.startswith("js/") else sys.executable
    done = lab(
        *("run", "--program", f"{interpreter} {MAELSTROM}/{node}", "--nodes", "3", "--headless", "--for", "9s"),
        *("--do", "when all.status == Normal tell all rpc " + request_, "--record", "m.jsonl"),
    )
    assert done.out.count(answer) >= 3, done.out


@pytest.mark.live
@pytest.mark.skipif(not MAELSTROM, reason="LAB_MAELSTROM_DEMO names no folder with Maelstrom's demo nodes")
def test_raft_of_maelstrom(lab: Lab) -> None:
    """Unmodified: it elects, and elects again after its leader was killed."""
    done = lab(
        *("run", "--program", f"{sys.executable} {MAELSTROM}/python/raft.py", "--lens", "raft", "--nodes", "3"),
        *("--t", "2s", "--headless", "--for", "40s", "--do", "when all normal kill coordinator"),
    )
    assert len(re.findall(r"all under \d", done.out)) >= 2


@pytest.mark.live
def test_a_scenario_of_programs(lab: Lab) -> None:
    """The program and the lens lie beside the scenario; it runs live, and its expectations are checked."""
    folder = lab.folder / "course"
    folder.mkdir()
    python, _ = _blocks("python")
    _save(folder, "elect.py", python)
    (folder / "takeover.scenario").write_text(
        'title = "The next one takes over"\nprogram = "./elect.py"\nnodes = 3\nt = "1s"\n'
        f'for = "{RUN_S}s"\n---\nwhen all.coordinator == 3 kill 3\n'
        f"then expect 2.coordinator == 2 within {RUN_S - 3}s\n"
    )
    done = lab("run", "course/takeover.scenario", "--headless")
    assert done.status == 0, done.out
    assert "all under 2" in done.out
    assert "takeover, live, seed 1: passed" in done.out
    sandboxed = lab("run", "course/takeover.scenario", "--sandbox", "--headless")
    assert sandboxed.status == 2
    assert "a program cannot be confined to a sandbox" in sandboxed.err


CRASHES = """
import json, os, sys
for line in sys.stdin:
    message = json.loads(line)
    body = message["body"]
    if body["type"] == "init":
        name = body["node_id"]
    elif name == "n2":
        {end}
    answer = dict(body, type=body["type"] + "_ok", in_reply_to=body["msg_id"])
    print(json.dumps(dict(src=name, dest=message["src"], body=answer)), flush=True)
"""


def _save_crashing(folder: Path, end: str) -> None:
    _save(folder, "crashes.py", f"#!{sys.executable}\n{CRASHES.format(end=end)}")


@pytest.mark.live
def test_a_program_that_crashes_is_not_green(lab: Lab) -> None:
    """What its clients were answered is right, and yet the run fails; so does whoever judges the recording."""
    _save_crashing(lab.folder, "os.abort()")
    run = ("run", "--program", "./crashes.py", "--workload", "echo", "--nodes", "2", "--headless", "--for", "3s")
    done = lab(*run, "--record", "run.jsonl")
    assert done.status == 1
    assert "echo holds" in done.out
    assert "raises fails with all assumptions intact: the program was ended by SIGABRT" in done.out
    assert re.fullmatch(r"lab: node 2 failed at \d\.\d+ s: the program was ended by SIGABRT\n", done.err)
    verified = lab("verify", "run.jsonl")
    assert verified.status == 1
    assert "raises fails" in verified.out


@pytest.mark.live
def test_a_scenario_fails_if_a_program_ends(lab: Lab) -> None:
    """Whatever its status is: a program has to go on."""
    _save_crashing(lab.folder, "sys.exit()")
    (lab.folder / "ends.scenario").write_text(
        'title = "Ends"\nprogram = "./crashes.py"\nworkload = "echo"\nnodes = 2\nt = "1s"\nfor = "3s"\n---\n'
        "expect live >= 1 within 2s\n"
    )
    done = lab("run", "ends.scenario", "--headless")
    assert done.status == 1
    assert re.search(r"node 2 failed at \d\.\d+ s: the program ended by itself, with status 0", done.out), done.out


@pytest.mark.parametrize(
    ("head", "error"),
    [
        ('lens = "raft"\nprotocol = "bully"', ":2:1: lens requires a program"),
        ('program = "cat"\nprotocol = "bully"', ":3:1: protocol: leave it out; a program has a lens instead"),
        ('program = "./nothing"', ':2:1: program = "./nothing": there is no such file'),
        ('program = "cat"\nlens = "rafd"', ':3:1: lens = "rafd": unknown lens'),
        ('program = "cat"\nlens = "lens.py"', ":3:1: "),
        ('program = "cat"\nworlds = ["simulated"]', ":3:1: worlds: programs run only live"),
        ("program = 3", "program = 3 has the wrong type"),
        ('protocol = "program"\nset = { program = "cat" }', ":2:1: program shows what programs do: leave it out"),
    ],
)
def test_mistakes_in_the_head(lab: Lab, head: str, error: str) -> None:
    """With their places."""
    (lab.folder / "s.scenario").write_text(f'title = "x"\n{head}\nfor = "2s"\n---\nat 1s kill 1\n')
    done = lab("run", "s.scenario", "--headless")
    assert done.status == 2
    assert error in done.err


@pytest.mark.live
@pytest.mark.parametrize(
    ("fault", "seconds", "expected"),
    [
        ("another-type", 3, "malformed: c2 echo was answered banana: expected echo_ok or error"),
        ("no-field", 3, "malformed: c2 echo was answered echo_ok without echo"),
        (
            "code-as-text",
            3,
            'malformed: c2 echo was answered an error whose code is "abort": expected a whole number',
        ),
        ("long-line", 3, "wrote a line of more than 1,048,576 bytes"),
        ("no-init", 12, "did not answer init with init_ok within 10s"),
        ("crash", 3, "the program ended by itself, with status 1; its last line of stderr: the last words"),
        (
            "init-error",
            3,
            'answered init with an error: {"type":"error","in_reply_to":1,"code":13,"text":"no disk"}',
        ),
        ("reply-as-text", 3, "to a client, and no answer to a request: its in_reply_to is"),
    ],
)
def test_a_program_that_answers_wrongly_is_not_green(lab: Lab, fault: str, seconds: int, expected: str) -> None:
    """It is blamed, and neither the client nor the laboratory."""
    done = lab(
        *("run", "--program", f"{sys.executable} {FAULTY} {fault}", "--nodes", "1", "--workload", "echo"),
        *("--t", "1s", "--headless", "--for", f"{seconds}s"),
    )
    assert done.status == 1, done.out
    assert expected in " ".join((done.out + done.err).split()), done.out + done.err
    assert "Traceback" not in done.err
    assert "c2 failed" not in done.out


@pytest.mark.live
def test_a_short_run_names_programs_that_did_not_answer_init(lab: Lab) -> None:
    """It is named in the report."""
    program = ("--program", f"{sys.executable} {FAULTY} no-init", "--nodes", "2")
    done = lab("run", *program, "--headless", "--for", "3s")
    assert "nodes 1 2 did not answer init with init_ok before the end" in done.out


@pytest.mark.live
def test_a_recording_is_judged_as_the_run_was(lab: Lab) -> None:
    """By ``lab consistency``, too: malformed answers, and the model that was chosen."""
    program = f"{sys.executable} {FAULTY} another-type"
    path = str(lab.folder / "run.jsonl")
    lab(
        *("run", "--program", program, "--nodes", "1", "--workload", "echo", "--t", "1s", "--headless"),
        *("--for", "3s", "--record", path),
    )
    done = lab("consistency", path)
    assert done.status == 1
    assert "malformed: c2 echo was answered banana: expected echo_ok or error" in done.out


@pytest.mark.live
def test_a_script_without_its_first_line_fails_with_a_hint(lab: Lab) -> None:
    """As the system cannot execute it."""
    _save(lab.folder, "node.py", "import sys\n")
    done = lab("run", "--program", "./node.py", "--nodes", "1", "--headless", "--for", "2s")
    assert done.status == 1
    assert "Exec format error; a script has a first line such as #!/usr/bin/env python3" in done.out


def test_a_program_in_place_of_a_protocol(lab: Lab) -> None:
    """It is named with --program."""
    _save(lab.folder, "node.py", "#!/usr/bin/env python3\n")
    assert "if it is a program of your own, run it with --program" in lab("run", "./node.py").err


@pytest.mark.live
def test_an_answer_may_be_passed_on_in_the_name_of_another(lab: Lab) -> None:
    """As a node does that speaks for others: its body is the one that was written."""
    done = lab(
        *("run", "--program", f"{sys.executable} {FAULTY} another-sender", "--nodes", "1", "--workload", "echo"),
        *("--t", "1s", "--headless", "--for", "3s"),
    )
    assert done.status == 0, done.out + done.err


@pytest.mark.live
def test_a_line_that_looks_like_one_of_ours_is_no_message(lab: Lab) -> None:
    """The program goes on."""
    program = f"{sys.executable} {FAULTY} not-started"
    done = lab(
        *("run", "--program", program, "--nodes", "1", "--workload", "echo"),
        *("--t", "1s", "--headless", "--for", "3s"),
    )
    assert done.status == 0, done.out + done.err
    assert '1 line of node 1 left out; the first, of node 1: not a message: {"record":"not_started"' in done.out
