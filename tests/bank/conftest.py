"""The live runs among these tests have a folder of their own, like those of tests/worlds."""

from tests.worlds.conftest import runs

__all__ = ["runs"]
