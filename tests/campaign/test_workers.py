"""The totals and the first finding depend on the target and the options alone, not on the workers."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

from lab.kernel import Timing
from lab.properties.assertions import RAISES
from lab.worlds.campaign import cluster
from lab.worlds.campaign.campaign import Campaign, CampaignTotals, RunOutcome, run_campaign, run_chunk
from lab.worlds.campaign.guidance import Assignment
from lab.worlds.campaign.schedule import draw, plan_of
from lab.worlds.campaign.trial import RunawayError, SearchGoal
from lab.worlds.campaign.workers import WorkerDiedError
from lab.worlds.loading.targets import load_protocol, user_files
from tests.campaign.trials import learn_sooner
from tests.harness import simulated_header
from tests.profile import amount
from tests.waiting import wait_for
from tests.worlds.live import is_gone

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1]
RUNS = amount(quick=12, soak=400)
"""More than the first chunks, which are drawn before anything is known."""
RUNS_ON_CLUSTER = amount(quick=3, soak=400)
NO_HALT = f"{FOLDER / 'mutants.py'}:NoHalt"
HASHED = """
import pytest
from tests.campaign.trials import learn_sooner
learn_sooner(pytest.MonkeyPatch())
from tests.campaign.test_workers import NO_HALT, campaign, described
from lab.worlds.campaign.campaign import run_campaign
for outcome in run_campaign(campaign(NO_HALT)):
    print(described(outcome))
"""
OWN = """
from lab.properties import invariant
from lab.protocols import Bully

class Own(Bully):
    pass

@invariant
def nobody_is_normal(state):
    '''No node is Normal.'''
    return not any(node.status == "Normal" for node in state)
"""
ENDLESS = """
from tests.campaign.test_workers import FOLDER, campaign
from lab.worlds.campaign.campaign import run_campaign
if __name__ == "__main__":
    for outcome in run_campaign(campaign("bully", 0), workers=2):
        print(outcome.schedule.seed, flush=True)
"""


def campaign(target: str, runs: int = RUNS, *faults: str) -> Campaign:
    """Return a campaign with failures, if the target has any."""
    protocol = load_protocol(target)
    timing = Timing(80_000, 40_000)
    base = simulated_header(protocol, (1,), timing)
    return Campaign(target, base, plan_of(protocol, (3, 5), faults or ("kill",), timing), SearchGoal(), 1, runs)


def described(outcome: RunOutcome) -> str:
    """Return an outcome as text, with sets in order."""
    reached = sorted(outcome.situations.all), sorted(outcome.situations.deliveries), sorted(outcome.ways)
    counted = outcome.steps, outcome.virtual_us, sorted(outcome.violations), outcome.judged
    return f"{outcome.schedule} {outcome.found} {reached} {outcome.struck} {counted}"


@pytest.fixture(scope="module", autouse=True)
def guided_sooner() -> Iterator[None]:
    """So that few runs are enough."""
    with pytest.MonkeyPatch.context() as patch:
        learn_sooner(patch)
        yield


def _stubborn(name: str) -> str:
    return f"{FOLDER / 'stubborn.py'}:{name}"


def _sums(found: list[RunOutcome]) -> dict[str, Any]:
    table = CampaignTotals()
    for outcome in found:
        table.add(outcome)
    return vars(table)


@cache
def alone() -> list[RunOutcome]:
    """Return the outcomes of a campaign in this process; others are compared to them."""
    return list(run_campaign(campaign(NO_HALT)))


def test_two_workers_find_the_same() -> None:
    """Every outcome is the same, in the order of the seeds."""
    assert [outcome.schedule.seed for outcome in alone()] == list(range(1, RUNS + 1))
    assert any(outcome.found for outcome in alone())
    assert list(run_campaign(campaign(NO_HALT), workers=2)) == alone()
    assert _sums(alone())["runs"] == RUNS


# distributed opens and closes its loop's sockets in threads of its own
@pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)
def test_a_cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its worker finds the same, with the user's file that came along; one with another program is refused."""
    distributed = pytest.importorskip("distributed")
    file = tmp_path / "own.py"
    file.write_text(OWN)
    wanted = campaign(str(file), RUNS_ON_CLUSTER)
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
    ) as local:
        address = local.scheduler_address
        here = list(run_campaign(wanted))
        assert any(outcome.violations for outcome in here)
        assert list(run_campaign(wanted, cluster=address)) == here
        files = user_files(wanted.target)
        assert list(files) == [str(file)]
        file.unlink()
        work, chunk = (
            partial(run_chunk, wanted),
            [Assignment(draw(wanted.plan, seed), traced=True) for seed in (1, 2, 3)],
        )
        assert list(cluster.on_cluster(work, iter([chunk]), address, files, 1)) == here[:3]
        monkeypatch.setattr(cluster, "identity", lambda: cluster.Identity("0123456789ab", "3.11.0"))
        with pytest.raises(WorkerDiedError) as caught:
            list(run_campaign(campaign("bully"), cluster=address))
    (worker,) = re.findall(r"^worker (tcp://127\.0\.0\.1:\d+) runs another program", str(caught.value))
    assert worker != address
    assert re.search(r"the digest of the package lab is \w{12} there, and 0123456789ab here", str(caught.value))


def test_hashes_do_not_matter() -> None:
    """A process with another hash seed finds the same."""
    done = subprocess.run(
        [sys.executable, "-c", HASHED],
        env=os.environ | {"PYTHONHASHSEED": "1", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == list(map(described, alone()))
    assert sys.flags.hash_randomization


def test_a_worker_that_dies() -> None:
    """It is an error, and nothing hangs."""
    with pytest.raises(WorkerDiedError, match="a worker process died"):
        list(run_campaign(campaign(_stubborn("Dies")), workers=2))


def test_a_protocol_that_raises() -> None:
    """It is a failure of its own kind, and the run continues without the node."""
    first = next(run_campaign(campaign(_stubborn("Raises"))))
    assert first.found
    assert first.violations[0][:2] == (RAISES.id, ())


def test_a_protocol_that_spins() -> None:
    """So is a procedure that loops without waiting."""
    first = next(run_campaign(campaign(_stubborn("Spins"))))
    assert first.violations[0][:2] == (RAISES.id, ())


def test_messages_that_multiply(monkeypatch: pytest.MonkeyPatch) -> None:
    """The run is given up; the error names the seed."""
    monkeypatch.setattr("lab.worlds.simulated.execution._RECORDS", 2_000)
    with pytest.raises(RunawayError, match=r"seed \d+: its messages multiply: more than \d+,000 records within "):
        list(run_campaign(campaign(_stubborn("Multiplies"))))


def test_messages_that_multiply_by_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broken assumption excuses it: the run ends early, and the campaign continues."""
    monkeypatch.setattr("lab.worlds.simulated.execution._RECORDS", 2_000)
    found = list(run_campaign(campaign(_stubborn("Forwards"), 3, "duplicate")))
    given_up = [outcome.schedule.seed for outcome in found if outcome.given_up]
    assert len(found) == 3
    assert given_up
    assert all(3 in outcome.broken for outcome in found if outcome.given_up)
    assert _sums(found)["given_up"] == given_up


def test_stopping_early_leaves_no_worker() -> None:
    """Even if workers are in a step that never ends."""
    going = run_campaign(campaign(NO_HALT, 0), workers=2)
    assert next(going).schedule.seed == 1
    going.close()
    from multiprocessing import active_children

    assert active_children() == []


def test_workers_end_with_a_campaign_that_is_killed() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", ENDLESS],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"1\n"
    process.kill()
    process.communicate()
    wait_for(lambda: not is_gone(process.pid), "all processes of the campaign are gone")
