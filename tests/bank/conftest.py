"""Give the live runs among these tests a folder of their own, as in tests/worlds."""

from tests.worlds.conftest import runs

__all__ = ["runs"]
