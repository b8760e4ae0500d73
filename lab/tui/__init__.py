"""The interface: a separate process that reads a feed or a file; it knows no protocol.

From the top: ``apps`` open and leave runs; ``screen`` composes the widgets and controllers of a run, routes
messages and draws frames; each of the ``controllers`` owns the actions of one concern; ``views`` and ``widgets``
draw the run at the cursor in time; ``context`` is what controllers share; ``source`` and ``player`` are the
records and the position in them; ``actions`` is the one table behind keys, footer, help and guide, and says which
actions are available.
"""
