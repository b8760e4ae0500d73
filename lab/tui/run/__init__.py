"""The run that is looked at, and where in it: nothing here draws."""
