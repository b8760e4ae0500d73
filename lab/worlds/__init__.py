"""Run nodes: live, simulated, explored. Import submodules directly: a host forks before it loads the rest."""
