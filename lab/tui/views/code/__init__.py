"""The protocol's source, as it runs."""
