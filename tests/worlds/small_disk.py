"""A simulated host that freezes after one megabyte: ``python -m tests.worlds.small_disk``."""

import sys

from lab.worlds.__main__ import main
from lab.worlds.simulated import simulated_host

if __name__ == "__main__":
    vars(simulated_host)["_MEGABYTES"] = 1
    sys.exit(main())
