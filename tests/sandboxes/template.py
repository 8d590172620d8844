"""The process whose copies are the sandboxes of the tests: `python -m tests.sandboxes.template SOCKET`.

Importing the sandbox and telling the sample world cost seconds of a processor, a copy of a process that has done so
costs next to nothing. Whoever connects to SOCKET writes one line, a JSON object with the fields of `asked`, and reads
the line `ready REGISTRY`, or what went wrong. The copy ends when the connection does; the template when its standard
input does. Neither has threads.
"""

from __future__ import annotations

import json
import select
import signal
import socket
import sys
from functools import cache, partial
from typing import Any

from tests.sandboxes.forking import end_all, fork, reap

Asked = dict[str, Any]


def main(path: str) -> None:
    """Serves until standard input ends. Nothing heavy is imported before the first sandbox is asked for."""
    telling: dict[str, socket.socket] = {}
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(16)
        print("ready", flush=True)
        while listener in select.select([listener, sys.stdin.buffer], [], [])[0]:
            connection = listener.accept()[0]
            with connection:
                asked: Asked = json.loads(connection.makefile("rb").readline())
                _warm()
                if asked["empty"] or not asked["settled"]:
                    fork(partial(_fresh, asked, connection))
                    continue
                world = json.dumps([asked["clusters"], asked["fleet"]])
                if world not in telling:
                    telling[world], ours = socket.socketpair()
                    fork(partial(_told, asked, ours, (listener, connection, *telling.values())))
                    ours.close()
                socket.send_fds(telling[world], [json.dumps(asked).encode()], [connection.fileno()])
            reap()
    for told in telling.values():
        told.close()
    end_all()


@cache
def _warm() -> None:
    from tests.sandboxes.copies import warm

    warm()


def _fresh(asked: Asked, connection: socket.socket) -> None:
    from tests.sandboxes.copies import serve_fresh

    serve_fresh(asked, connection)


def _told(first: Asked, requests: socket.socket, inherited: tuple[socket.socket, ...]) -> None:
    for one in inherited:
        one.close()
    from tests.sandboxes.copies import TellingTemplate

    template = TellingTemplate(first["clusters"], first["fleet"])
    while True:
        data, descriptors, _, _ = socket.recv_fds(requests, 65_536, 1)
        if not data:
            break
        asked: Asked = json.loads(data)
        with socket.socket(fileno=descriptors[0]) as connection:
            fork(partial(template.serve, asked, connection))
        reap()
    template.close()
    end_all()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for pytest, which then ends this
    main(sys.argv[1])
