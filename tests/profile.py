"""How much the tests do: bounded in CI and while one works, at length when asked.

pytest                       the profile ``quick``: every test, with few seeds and examples
LAB_PROFILE=soak pytest      the profile ``soak``: the same tests, with many, and without a time limit
LAB_PROFILE=soak LAB_RUNS=10000 pytest tests/campaign/test_ring.py     as many runs as one likes
"""

import os
from collections.abc import Sequence
from typing import Literal, TypeVar, get_args

T = TypeVar("T")
Profile = Literal["quick", "soak"]


def _chosen() -> Profile:
    name = os.environ.get("LAB_PROFILE", "quick")
    for profile in get_args(Profile):
        if name == profile:
            found: Profile = profile
            return found
    raise SystemExit(f"unknown profile LAB_PROFILE={name}; the profiles are {', '.join(get_args(Profile))}")


PROFILE = _chosen()
SOAK = PROFILE == "soak"


def amount(quick: int, soak: int) -> int:
    """Return a number of seeds, runs or rounds: ``LAB_RUNS`` replaces that of the profile ``soak``."""
    return int(os.environ.get("LAB_RUNS", soak)) if SOAK else quick


def sampled(cases: Sequence[T], one_in: int, first: int = 0) -> Sequence[T]:
    """Return one in so many of these cases, from the one at ``first`` on; in the profile ``soak`` all of them.

    For cases of one kind, which go the same way through the code: a mistake in the code shows in any of them.
    """
    return cases if SOAK else cases[first::one_in]


def load_hypothesis_profile() -> None:
    """Use the same examples in every run, and no database: the failing example is in the message."""
    from hypothesis import HealthCheck, settings  # slow, and not needed in the processes that tests start

    for name, examples in (("quick", 12), ("soak", 300)):
        settings.register_profile(
            name,
            deadline=None,
            derandomize=name == "quick",
            database=None,
            max_examples=examples,
            suppress_health_check=[HealthCheck.too_slow],
        )
    settings.load_profile(PROFILE)
