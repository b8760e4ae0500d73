"""A laboratory for coordinator election, in the terminal."""

__version__ = "0.1.0"
