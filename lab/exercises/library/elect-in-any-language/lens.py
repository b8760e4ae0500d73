"""A lens for nodes that report their state themselves, and agree within 10 T: T has room for a busy machine."""

from typing import Any, ClassVar

from lab.kernel import Timing
from lab.protocols.lenses import ElectionLens


class Elected(ElectionLens):
    """Programs that elect a coordinator, and say whom they follow."""

    name: ClassVar[str] = "elect-in-any-language"

    @classmethod
    def settles_within_us(cls, timing: Timing, parameters: Any, nodes: int) -> int:
        return 10 * timing.t_us
