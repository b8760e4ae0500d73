"""The server: students log in with the ``ssh`` that they have, and get the laboratory, and nothing else.

    server    listens, admits and supervises: asyncio and asyncssh, no Textual, no trio. It owns every cluster.
    web       the same in a browser, for those without ``ssh``; both lead to a ``seat``, which knows no difference.
    zygote    a process that has imported what sessions and hosts need, and forks them when the server asks.
    session   a child at a terminal of its own, with the interface in it; it asks the server for its cluster
              over a socket (``portal``), so that a cluster outlives a connection that drops.
    host      a child as ``lab run`` starts it, whose standard input the server holds: it ends with that.

Whatever comes from a client is foreign until ``admission`` has said whose key signed for it: the user name says
nothing, the environment is not read, and the name of a terminal and its size go through ``border``. However the
server ends, also by SIGKILL, all of these processes see a pipe or a terminal close, and end.
"""
