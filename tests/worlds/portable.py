"""A host without what Linux alone offers it: ``python -m tests.worlds.portable``."""

import sys

from lab.worlds.live import spawner
from lab.worlds.live.__main__ import main


class _AsElsewhere:
    platform = "elsewhere"
    stderr = sys.stderr


if __name__ == "__main__":
    vars(spawner)["sys"] = _AsElsewhere
    sys.exit(main())
