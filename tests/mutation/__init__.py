"""Mutation testing: rules, the source they change, and what becomes of mutants."""
