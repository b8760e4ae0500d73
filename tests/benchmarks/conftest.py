"""Benchmarks start hosts as the tests of the live world do."""

from tests.worlds.conftest import runs

__all__ = ["runs"]
