"""What one takes away: exports, films, scenarios."""
