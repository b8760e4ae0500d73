"""The live world: a host process, and a real process for every node, on 127.0.0.1."""
