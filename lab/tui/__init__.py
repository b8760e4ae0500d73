"""The interface: a separate process that reads a feed or a file; it knows no protocol."""
