"""Files written from the interface: exports, films, scenarios."""
