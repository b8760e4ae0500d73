"""Parameters with which a protocol cannot keep its promises are refused, before anything runs."""

import pytest

from lab.kernel import Timing
from lab.protocols import PROTOCOLS, find_protocol
from lab.worlds.loading.config import NotRunnableError, simulation_header

TIMING = Timing(80_000, 40_000)
WITH_TIMEOUT = [
    name for name in PROTOCOLS if "coordinator_timeout_us" in find_protocol(name).Parameters.__struct_fields__
]


@pytest.mark.parametrize("name", [*WITH_TIMEOUT, "3pc"])
def test_a_timeout_shorter_than_T_is_refused(name: str) -> None:
    """An answer takes up to T: a coordinator that is up would be presumed failed."""
    protocol = find_protocol(name)
    simulation_header(protocol, (1, 2), TIMING, {"coordinator_timeout_us": TIMING.t_us})
    with pytest.raises(NotRunnableError, match=r"coordinator_timeout=199\.999ms is less than T, 200ms"):
        simulation_header(protocol, (1, 2), TIMING, {"coordinator_timeout_us": TIMING.t_us - 1})


def test_both_elections_that_have_the_timeout_are_tested() -> None:
    """A renamed parameter would leave no case above."""
    assert {"bully", "invitation"} <= {*WITH_TIMEOUT}
