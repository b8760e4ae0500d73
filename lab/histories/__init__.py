"""Histories of client operations, and their checkers: linearizability, transactions, Maelstrom's workloads."""
