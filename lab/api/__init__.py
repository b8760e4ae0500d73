"""What programs import: runs, and what was found in them. ``lab`` names it all, and loads it when it is used."""
