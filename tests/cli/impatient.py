"""The ``lab`` program, impatient: progress is shown at once, so that work need not be long. Run as a script."""

import lab.cli.progress
from lab.cli import main

if __name__ == "__main__":
    lab.cli.progress._APPEARS_AFTER_S = 0.0
    lab.cli.progress._DRAWN_EVERY_S = 0.01
    lab.cli.progress._LOGGED_EVERY_S = 0.1
    main()
