"""`kymatui` with a mishap at one of its requests, or at several: for the walk over the operator's requests.

    python -m tests.benchmarks.mortal_operator FOLDER MISHAP writes|reads NUMBER SPREAD LAST operator run …

The mishap is at the request with that number, and with SPREAD over 0 again at each SPREADth after it, up to the one
with number LAST; number 0 is none.
FOLDER remembers requests (`requests`, a line for each), mishaps (`met`), and when the operator ended by itself the
mishap before it (`ends`). MISHAP is kill-before, kill-after, error, conflict, throttle (429 with Retry-After), drop
(never sent), lose (sent, the connection breaks), hang (never sent, silence) or stall (sent, silence). A silence ends
after 5 seconds, as if the timeouts of requests were that short.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import urllib3

from kymatui.adapters.http.deadlines import answered_within
from kymatui.adapters.kube.transport import transport as module
from kymatui.adapters.kube.transport.streams import ApiReply
from kymatui.adapters.kube.transport.transport import is_read_only_request
from kymatui.errors import ConflictError, ServerError, UnreachableError

MISHAPS = ("kill-before", "kill-after", "error", "conflict", "throttle", "drop", "lose", "hang", "stall")
SILENCE = 5.0
_ONCE = module.Transport._once


class Mishap:
    """Takes the place of `Transport._once`; counts requests of all connections, but not those of Lease and Events.

    Both are asked for beside the reconciliations, so that their place among the requests is another in each run.
    """

    def __init__(self, folder: Path, kind: str, reads: bool, numbers: range) -> None:
        self._folder, self._kind, self._reads, self._numbers = folder, kind, reads, numbers
        self._lock = threading.Lock()
        self._count = len(read_lines(folder / "requests"))

    def patch(self) -> None:
        mishap = self

        def once(transport: module.Transport, request: module.Request, *given: Any, **named: Any) -> Any:
            beside = "/leases" in request.path or "/events" in request.path
            if beside or is_read_only_request(request.method, request.path) != mishap._reads:
                return _ONCE(transport, request, *given, **named)
            return mishap.around(request, lambda: _ONCE(transport, request, *given, **named))

        module.Transport._once = once  # type: ignore[assignment, method-assign]

    def around(self, request: module.Request, send: Any) -> Any:
        with self._lock:
            self._count += 1
            now = self._count in self._numbers
            self._remember("requests", request)
            if now:
                self._remember("met", request)
        if not now:
            return send()
        if self._kind == "kill-before":
            os.kill(os.getpid(), signal.SIGKILL)
        if self._kind in ("kill-after", "lose", "stall"):
            send()
        if self._kind == "kill-after":
            os.kill(os.getpid(), signal.SIGKILL)
        if self._kind == "throttle":
            return throttled()
        if self._kind in ("hang", "stall"):
            time.sleep(SILENCE)
        words = f"{self._kind} at {request.method} {request.path}"
        if self._kind == "error":
            raise ServerError(words, status=500)
        if self._kind == "conflict":
            raise ConflictError(words, status=409)
        raise UnreachableError(words)

    def _remember(self, name: str, request: module.Request) -> None:
        with (self._folder / name).open("a") as file:
            file.write(f"{request.method} {request.path}\n")


def read_lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def throttled() -> ApiReply:
    """Return the answer of a server that is too busy."""
    status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "TooManyRequests", "code": 429}
    body = json.dumps({**status, "message": "too many requests", "details": {"retryAfterSeconds": 1}}).encode()
    headers = {"Content-Type": "application/json", "Retry-After": "1"}
    with answered_within(60.0) as deadline:
        return ApiReply(urllib3.HTTPResponse(body, headers, 429), deadline, body)


def main() -> int:
    folder, kind, reads = Path(sys.argv[1]), sys.argv[2], sys.argv[3] == "reads"
    if os.environ.get("KYMATUI_MORTAL") == "child":
        from kymatui.cli.main import main as kymatui

        number, spread, last = map(int, sys.argv[4:7])
        numbers = range(number, (last if spread else number) + 1, spread or 1) if number else range(0)
        Mishap(folder, kind, reads, numbers).patch()
        return kymatui(sys.argv[7:])
    return _restarted([sys.executable, "-m", "tests.benchmarks.mortal_operator", *sys.argv[1:]], folder)


def _restarted(command: list[str], folder: Path) -> int:
    """Run a child until SIGTERM; start it again after any other end, as a Deployment does."""
    stopping = threading.Event()
    children: list[subprocess.Popen[bytes]] = []

    def stop(*_: object) -> None:
        stopping.set()
        for child in children[-1:]:
            child.terminate()

    signal.signal(signal.SIGTERM, stop)
    while True:
        children.append(subprocess.Popen(command, env={**os.environ, "KYMATUI_MORTAL": "child"}))
        if stopping.is_set():
            children[-1].terminate()
        status = children[-1].wait()
        if stopping.is_set():
            return status
        if status != -signal.SIGKILL:
            with (folder / "ends").open("a") as file:
                file.write(f"{(read_lines(folder / 'met') or ['no mishap'])[-1]}\n")
            time.sleep(1.0)


if __name__ == "__main__":
    sys.exit(main())
