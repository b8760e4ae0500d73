"""The lines and bars around the views, and the layout of the run screen."""
