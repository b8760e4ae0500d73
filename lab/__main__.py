"""``python -m lab``: the same as ``lab``."""

from lab.cli import main

main()
