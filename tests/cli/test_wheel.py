"""The built wheel, installed into an empty environment, works as the checkout does."""

import importlib.util
import json
import site
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from tests.cli.invocation import ROOT, SHIPPED, Lab

pytestmark = pytest.mark.skipif(importlib.util.find_spec("pip") is None, reason="there is no pip")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel with pip."""
    folder = tmp_path_factory.mktemp("wheel")
    words = ["-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT)]
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an environment with the wheel; its dependencies come from the present one."""
    folder = tmp_path_factory.mktemp("installed") / "env"
    venv.EnvBuilder(symlinks=True).create(folder)
    python = folder / "bin" / "python"
    words = ["--python", str(python), "install", "--quiet", "--no-index", "--no-deps", str(wheel)]
    subprocess.run([sys.executable, "-m", "pip", *words], check=True)
    paths = sysconfig.get_paths("venv", {"base": str(folder), "platbase": str(folder)})
    others = {*site.getsitepackages(), sysconfig.get_paths()["purelib"]}
    # of a .pth file's folders no .pth files are read, so an editable installation of lab there does not count
    (Path(paths["purelib"]) / "others.pth").write_text("\n".join(sorted(others)) + "\n")
    return folder


@pytest.fixture
def lab(tmp_path: Path, home: Path, installed: Path) -> Lab:
    """Yield the command of that environment."""
    return Lab(tmp_path, home, (str(installed / "bin" / "lab"),))


def test_contents_of_the_wheel(wheel: Path) -> None:
    """The package, the grammar, the recordings, the scenarios; no tests or leftovers."""
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    package = {str(path.relative_to(ROOT)) for path in (ROOT / "lab").rglob("*.py")}
    assert package <= names
    assert {
        "lab/guide/teach/class.md",
        "lab/guide/build/your-own-protocol.md",
        "lab/serve/static/xterm/LICENSE",
        "lab/script/grammar.lark",
        "lab/py.typed",
        f"lab/recordings/{SHIPPED.name}",
        "lab/recordings/holes/bully-two-leaders.jsonl",
        "lab/scenarios/coordinator-dies.scenario",
    } <= names
    assert {name.split("/")[0] for name in names} == {"lab"}
    assert not [name for name in names if "__pycache__" in name]


def test_it_is_the_wheel_that_runs(installed: Path, lab: Lab) -> None:
    """Not the checkout."""
    code = "import lab.places as it; print(it.__file__, *it.shipped_recordings(), sep='\\n')"
    done = subprocess.run(
        [str(installed / "bin" / "python"), "-I", "-c", code],
        cwd=lab.folder,
        capture_output=True,
        text=True,
        check=True,
    )
    module, *recordings = map(Path, done.stdout.splitlines())
    assert module.is_relative_to(installed)
    assert SHIPPED.name in [path.name for path in recordings]
    assert all(path.is_relative_to(installed) for path in recordings)


@pytest.mark.live
def test_it_runs(lab: Lab, installed: Path) -> None:
    """Headless, with a command; it verifies its own recording, and shows the shipped one."""
    done = lab("run", "bully", "--headless", "--for", "1s", "--json", "--do", "when all normal cut 1->2")
    assert (done.status, done.err) == (0, "")
    found = json.loads(done.out)
    assert [fault["command"] for fault in found["faults"]] == ["cut 1->2"]
    (shipped,) = installed.rglob(f"recordings/{SHIPPED.name}")
    for words in ("verify", found["recording"]), ("show", str(shipped)):
        done = lab(*words)
        assert (done.status, done.err) == (0, ""), done
    assert lab.left() == []


def test_it_has_the_scenarios(lab: Lab) -> None:
    """By name, and they run."""
    done = lab("run", "coordinator-dies", "--sim", "--headless")
    assert (done.status, done.err) == (0, "")
    assert "coordinator-dies, simulated, seed 1: passed" in done.out


def test_its_help_needs_the_grammar_and_the_protocols(lab: Lab) -> None:
    """Both are in the wheel."""
    assert "kill NODES" in lab("ctl", "--help").out
    assert "Garcia-Molina" in lab("list").out
