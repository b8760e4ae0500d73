"""The inspector of one node."""
