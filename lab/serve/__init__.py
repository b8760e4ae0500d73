"""The server: students log in with ``ssh`` or a browser, and get the laboratory and nothing else.

    server       listens, admits and supervises; asyncio and asyncssh only; it owns all clusters
    web_site     the same for browsers; both lead to a ``terminal_session``
    child        a process that has imported what sessions and hosts need, and forks them on request:
        session  has its own terminal, and runs the interface; it asks the server for its cluster over a socket
                 (``session_control``), so a cluster survives a dropped connection
        host     as ``lab run`` starts it; it ends when the server closes its input

Nothing from a client is trusted before ``admission`` has identified the key that signed for it. The user name
proves nothing, the environment is ignored, and what a client says of its terminal is validated. However
the server ends, even by SIGKILL, each of these processes sees a pipe or terminal close, and ends.
"""
