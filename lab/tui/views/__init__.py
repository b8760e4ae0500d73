"""The views below the nodes: each in the file or folder of the word that turns to it."""
