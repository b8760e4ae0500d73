"""The server: students log in with ``ssh`` or a browser, and get the laboratory and nothing else.

    server               listens, admits and supervises; asyncio and asyncssh only; it owns all clusters
    web                  the same for browsers; both lead to a ``terminal_session``
    session_fork_server  a process that has imported what sessions and hosts need, and forks them on request
    session              a child process with its own terminal, running the interface; it asks the server for its
                         cluster over a socket (``control_client``), so a cluster survives a dropped connection
    host                 a child process as ``lab run`` starts it; it ends when the server closes its input

Nothing from a client is trusted before ``admission`` has identified the key that signed for it. The user name
proves nothing, the environment is ignored, and terminal names and sizes pass through ``sanitizer``. However the
server ends, even by SIGKILL, each of these processes sees a pipe or terminal close, and ends.
"""
