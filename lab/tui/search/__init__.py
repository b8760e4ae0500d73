"""Search and filter."""
