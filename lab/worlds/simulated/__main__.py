"""The simulated host's process: ``python -m lab.worlds.simulated``, started by ``lab run --sim``; see ``live``."""

import sys

from lab.worlds.host.host import run_host
from lab.worlds.host.startup import read_config
from lab.worlds.simulated.execution import build
from lab.worlds.simulated.simulated_host import SimulatedHost


def main() -> int:
    """Run the host; return the exit status of its process."""
    config = read_config()
    return 2 if config is None else run_host(config, build, SimulatedHost)


if __name__ == "__main__":
    sys.exit(main())
