"""A host that also knows the protocols of the tests: ``python -m tests.worlds.launcher``."""

import sys

from lab.protocols import PROTOCOLS
from lab.worlds.__main__ import main
from tests.worlds.protocols import ALL

if __name__ == "__main__":
    PROTOCOLS.update({protocol.name: protocol for protocol in ALL})
    sys.exit(main())
