"""Request log of a server: tests use it to prove which client wrote what, and how often."""

from __future__ import annotations

import time
from collections import deque
from typing import Any, Final
from urllib.parse import urlencode

import msgspec
from msgspec import Struct
from msgspec.structs import asdict

from kymatui.sandbox.apimachinery.exchange import Handler, ServerRequest, ServerResponse
from kymatui.sandbox.apiserver.http.server_faults import ADMIN_PATH
from kymatui.structs import resolved_type

LENGTH: Final = 20_000
_CREATED: Final = 201


class LoggedRequest(Struct, frozen=True):
    """One request with the status of its answer.

    agent  the client's User-Agent
    at     when it was answered, in Unix seconds
    query  the parameters as in a URL, sorted by their names
    name   of an object that was created, which the path does not have
    impersonated  the user that the request's own user impersonates, "" for none
    """

    method: str
    path: str
    dry_run: bool
    watch: bool
    status: int
    agent: str
    at: float
    name: str = ""
    query: str = ""
    impersonated: str = ""


class _Named(msgspec.Struct):
    name: str = ""


class _Created(msgspec.Struct):
    metadata: _Named = msgspec.field(default_factory=_Named)


class RequestLog:
    """The last requests, oldest first; `count` is the total. Requests to the admin path are not logged."""

    def __init__(self) -> None:
        self.count = 0
        self._last: deque[LoggedRequest] = deque(maxlen=LENGTH)
        self._seen = 0

    def noting(self, handle: Handler) -> Handler:
        """Return a handler that logs every answer."""

        def noted(request: ServerRequest) -> ServerResponse:
            response = handle(request)
            if not request.path.startswith(ADMIN_PATH):
                self._note(request, response.status)
            return response

        return noted

    def _note(self, request: ServerRequest, status: int) -> None:
        self.count += 1
        dry_run, watch = bool(request.first("dryRun")), request.first("watch") in ("true", "1")
        agent, name = request.header("user-agent"), _created(request) if status == _CREATED else ""
        query = urlencode(sorted(request.query.items()), doseq=True)
        self._last.append(
            LoggedRequest(
                request.method,
                request.path,
                dry_run,
                watch,
                status,
                agent,
                time.time(),
                name,
                query,
                request.header("impersonate-user"),
            )
        )

    def has_news(self) -> bool:
        """Return whether there were requests since the last call."""
        last_count, self._seen = self._seen, self.count
        return last_count != self.count

    def clear(self) -> None:
        self.count = 0
        self._last.clear()

    def describe(self) -> dict[str, Any]:
        """Return `{"count", "requests": [{"method", "path", "dry_run", "watch", "status", "agent", …}]}`."""
        return {"count": self.count, "requests": [asdict(request) for request in self._last]}


def _created(request: ServerRequest) -> str:
    """Return the name in the body of a creation, "" if it cannot be read."""
    try:
        return msgspec.json.decode(request.body or b"{}", type=resolved_type(_Created)).metadata.name
    except msgspec.DecodeError:
        return ""
