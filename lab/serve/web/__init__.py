"""The laboratory in a browser, for those without ``ssh``: a page with a terminal.

    site                listens, and closes
    browser_connection  one TCP connection, limited in time and number until a terminal is open
    routes              what can be requested: the page, log-in and log-out, and the terminal's WebSocket
    caller              the origin of a request
    socket_stream       the WebSocket as the stream of a terminal session
    pages               the two pages, and the headers that isolate them

The files in ``static`` are served to anybody, no other file is. xterm.js, which draws the terminal, is among them:
a classroom may have no internet access.
"""
