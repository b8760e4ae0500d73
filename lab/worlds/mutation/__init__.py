"""Mutation testing: small faults put into the source of a protocol, to see whether its properties notice them."""
