"""The comparison with another recording."""
