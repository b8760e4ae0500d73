"""The same laboratory in a browser, for those without ``ssh``: a page, and a terminal in it.

    site        listens, and closes
    connection  one TCP connection, bounded in time and number as long as no terminal is at its end
    doors       what can be asked for: the page, log-in and log-out, and the socket of a terminal
    caller      whose request it is, and from where
    line        that socket as the line to a seat, which knows no difference between it and SSH
    pages       the two pages, and the headers that keep all others out of them

What ``static`` holds is served to anybody, and no other file is. The terminal is drawn by xterm.js, which is there
too: a classroom may have no other network than its own.
"""
