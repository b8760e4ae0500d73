"""The guide: its pages are complete, its tables are the program's own, its links work."""
