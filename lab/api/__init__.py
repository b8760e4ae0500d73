"""The interface for programs: runs and campaigns. ``lab`` names its parts, and loads each when it is used."""
