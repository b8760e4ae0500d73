"""The lines and bars around the views, and who gets how much room."""
