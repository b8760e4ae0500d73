"""The command line, called as a user calls it: in a process of its own."""
