"""A host that also knows the protocols of the tests: ``python -m tests.worlds.launcher``."""

import sys

from lab.protocols import PROTOCOLS
from lab.worlds.__main__ import main as run_host
from tests.worlds.protocols import ALL


def main() -> int:
    """Run the host; return the exit status of its process."""
    PROTOCOLS.update({protocol.name: protocol for protocol in ALL})
    return run_host()


if __name__ == "__main__":
    sys.exit(main())
