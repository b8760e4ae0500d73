"""The interface: a process of its own that reads a feed or a file; it knows no protocol."""
