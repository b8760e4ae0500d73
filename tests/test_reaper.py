"""What the tests start gets default signals, and ends with them, even if they are killed."""

import signal
import subprocess
import sys
from pathlib import Path

import psutil

from tests.waiting import wait_for

ROOT = Path(__file__).parent.parent
STARTS = """
import subprocess, sys, time
from tests import reaper
reaper.default_signals()
reaper.start()
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
print(child.pid, flush=True)
time.sleep(600)
"""


def test_what_a_killed_test_run_leaves_behind_is_killed() -> None:
    """A child in a session of its own, which no hangup and no process group reaches."""
    tests = subprocess.Popen([sys.executable, "-c", STARTS], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert tests.stdout is not None
    with tests, tests.stdout:
        child = psutil.Process(int(tests.stdout.readline()))
        assert child.is_running()
        tests.kill()
    wait_for(lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE, "the child is killed")


def test_children_of_a_background_job_can_be_interrupted() -> None:
    """A shell lets its background jobs ignore SIGINT, and they would pass that on."""
    code = "import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    parent = f"import subprocess, sys; from tests import reaper; reaper.default_signals(); \
subprocess.run([sys.executable, '-c', {code!r}])"
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        done = subprocess.run([sys.executable, "-c", parent], cwd=ROOT, capture_output=True, text=True, check=True)
    finally:
        signal.signal(signal.SIGINT, before)
    assert done.stdout.strip() == "True"
