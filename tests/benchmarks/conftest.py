"""Benchmarks start hosts as the live tests do."""

from tests.worlds.conftest import runs

__all__ = ["runs"]
