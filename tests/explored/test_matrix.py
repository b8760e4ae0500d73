"""The matrix of readings and repairs: what fails where the text is read otherwise, or a repair is left out.

The table is pinned, and printed in ``lab guide errata``.
"""

from collections.abc import Callable

import pytest

from lab.protocols import Algorithm, Bully, BullyTanenbaum, InvitationElection, Ring
from tests.explored.matrix import MOST_STATES, Bounds, all_departures, explored, format_matrix, single_departures

MATRICES = [
    (Bully, Bounds(2, 2, 1, settled=True)),
    (Bully, Bounds(3, 2, 0, settled=False)),
    (Bully, Bounds(3, 2, 1, settled=True)),
    (BullyTanenbaum, Bounds(3, 2, 0, settled=False)),
    (BullyTanenbaum, Bounds(3, 1, 1, settled=True)),
    (Ring, Bounds(3, 2, 0, settled=True)),
    (InvitationElection, Bounds(2, 1, 1, settled=False)),
]
LARGE = [
    (Ring, Bounds(2, 2, 1, settled=False)),
    (Ring, Bounds(3, 1, 0, settled=False)),
    (InvitationElection, Bounds(3, 1, 1, settled=True)),
]
MANY_STATES = 200_000
"""Enough for the invitation with three nodes."""
Transcript = Callable[[str, str], None]


@pytest.mark.parametrize(
    ("protocol", "bounds"),
    [*MATRICES, *(pytest.param(*each, marks=pytest.mark.soak) for each in LARGE)],
    ids=lambda each: getattr(each, "name", str(each)).replace(" ", "-"),
)
def test_the_matrix(protocol: type[Algorithm], bounds: Bounds, transcript: Transcript) -> None:
    """As it is, nothing fails; what fails otherwise is as pinned."""
    most = MANY_STATES if (protocol, bounds) in LARGE else MOST_STATES
    rows = [explored(protocol, parameters, bounds, most) for parameters in single_departures(protocol)]
    assert rows[0].is_complete
    assert not rows[0].violated
    text = f"{protocol.name}, {bounds}\n\n{format_matrix(rows)}\n"
    transcript(f"matrix_{protocol.name}_{bounds.nodes}_{bounds.kills}_{bounds.restarts}", text)


@pytest.mark.parametrize("protocol", [Bully, BullyTanenbaum])
def test_a_gap_is_open_in_every_reading(protocol: type[Algorithm]) -> None:
    """What a repair closes fails without it, however the text is read; else the reading would be the repair."""
    gaps = {repair.name: repair.fails for repair in protocol.repairs() if repair.kind == "gap"}
    shown = set()
    for parameters in all_departures(protocol):
        for name in {*parameters.get("without", ())} & gaps.keys():
            for bounds in (bounds for of, bounds in MATRICES if of is protocol):
                if gaps[name] in explored(protocol, parameters, bounds).violated:
                    break
            else:
                pytest.fail(f"{parameters}: {gaps[name]} holds")
            shown.add(name)
    assert shown == gaps.keys()


@pytest.mark.soak
@pytest.mark.parametrize("bounds", [bounds for protocol, bounds in MATRICES if protocol is Bully])
def test_the_whole_matrix(bounds: Bounds, transcript: Transcript) -> None:
    """All readings with each other, with all repairs and without each one."""
    rows = [explored(Bully, parameters, bounds) for parameters in all_departures(Bully)]
    text = f"{Bully.name}, {bounds}\n\n{format_matrix(rows)}\n"
    transcript(f"whole_matrix_{bounds.nodes}_{bounds.kills}_{bounds.restarts}", text)
