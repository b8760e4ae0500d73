"""Clients of logs: what they poll at the end shows whether each log has kept what it acknowledged."""

import pytest

import lab
from lab.protocols import Algorithm
from tests.profile import amount
from tests.roles.servers import Logs, LogsInPieces, LogsWithoutBeginnings, LogsWithoutEnds


@pytest.mark.parametrize(
    ("server", "kinds"),
    [(Logs, set()), (LogsWithoutEnds, {"unobserved"}), (LogsWithoutBeginnings, {"poll skip"})],
)
def test_logs_are_judged_from_where_they_are_asked_to_the_end(server: type[Algorithm], kinds: set[str]) -> None:
    """Clients poll until nothing more comes: two messages at a time."""
    for seed in range(1, 1 + amount(4, 100)):
        run = lab.simulate(server, 1, seed=seed, for_="12s", workload="kafka", clients=2, rate=8)
        assert run.workload is not None
        assert {each.kind for each in run.workload.findings} == kinds, str(run.workload)
        assert run.workload.word == ("fails" if kinds else "holds"), str(run.workload)


def test_what_a_client_could_not_poll_to_the_end_is_not_judged() -> None:
    """Nor is it *unobserved*: with a message at a time, there is no time left for all."""
    run = lab.simulate(LogsInPieces, 1, seed=1, for_="12s", workload="kafka", clients=4, rate=40)
    assert run.workload is not None
    assert (run.workload.word, run.workload.findings) == ("not judged", ()), str(run.workload)
    assert "not seen yet, and the last polls did not come to the end" in run.workload.evidence
