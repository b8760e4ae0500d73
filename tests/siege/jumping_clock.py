"""A live host with a wall clock that jumps at every reading: ``python -m tests.siege.jumping_clock``."""

import sys
import time
from random import Random

from lab.worlds.__main__ import main

if __name__ == "__main__":
    chance = Random(1)
    vars(time)["time"] = lambda: chance.uniform(0, 4e9)
    vars(time)["time_ns"] = lambda: int(time.time() * 1e9)
    sys.exit(main())
