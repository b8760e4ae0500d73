"""A host without features of Linux alone: ``python -m tests.worlds.portable``."""

import sys

from lab.worlds.__main__ import main
from lab.worlds.live import node_process


class _AsElsewhere:
    platform = "elsewhere"
    stderr = sys.stderr


if __name__ == "__main__":
    vars(node_process)["sys"] = _AsElsewhere
    sys.exit(main())
