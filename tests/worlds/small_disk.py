"""A simulated host that stands still after a megabyte: ``python -m tests.worlds.small_disk``."""

import sys

from lab.worlds.simulated import host
from lab.worlds.simulated.__main__ import main

if __name__ == "__main__":
    vars(host)["_MEGABYTES"] = 1
    sys.exit(main())
