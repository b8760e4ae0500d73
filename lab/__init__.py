"""A laboratory for coordinator election and atomic commit, in the terminal."""

__version__ = "0.1.0"
