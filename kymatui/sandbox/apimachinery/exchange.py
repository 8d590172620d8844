"""Requests and answers, independent of any HTTP library."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol
from urllib.parse import parse_qsl

import msgspec
from msgspec import Struct, field


class ResponseStream(Protocol):
    """A streamed answer: it calls `send` for every piece and `finish` at the end."""

    def start(self, send: Callable[[bytes], None], finish: Callable[[], None]) -> None: ...

    def stop(self) -> None: ...


class RequestUser(Struct, frozen=True):
    """The authenticated user (authentication.k8s.io UserInfo)."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def info(self) -> dict[str, Any]:
        """Return the UserInfo of a SelfSubjectReview without empty fields, as Go's omitempty."""
        fields: dict[str, Any] = {"username": self.name, "uid": self.uid, "groups": list(self.groups)}
        if self.extra:
            fields["extra"] = {key: list(values) for key, values in self.extra.items()}
        return {key: value for key, value in fields.items() if value}


ANONYMOUS = RequestUser("system:anonymous", ("system:unauthenticated",))
SYSTEM = RequestUser("system:kube-controller-manager", ("system:masters", "system:authenticated"))


class ServerRequest(Struct):
    """One HTTP request; header names are lower case. Only in-process callers set `user`."""

    method: str
    path: str
    query: Mapping[str, Sequence[str]] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    user: RequestUser | None = None

    def first(self, name: str, default: str = "") -> str:
        """Return the first value of a query parameter, as Go's url.Values.Get."""
        values = self.query.get(name)
        return values[0] if values else default

    def header(self, name: str) -> str:
        return self.headers.get(name, "")


class ServerResponse(Struct):
    """One answer: a body, or a stream (a watch, a followed log) that the HTTP server writes as it arrives."""

    status: int
    body: bytes = b""
    content_type: str = "application/json"
    headers: list[tuple[str, str]] = field(default_factory=list)
    stream: ResponseStream | None = None

    def json(self) -> Any:
        return msgspec.json.decode(self.body)


Handler = Callable[[ServerRequest], ServerResponse]


def parse_query(text: str) -> dict[str, list[str]]:
    """Return the query's values by name; a name without `=` has the value ""."""
    parameters: dict[str, list[str]] = {}
    for name, value in parse_qsl(text, keep_blank_values=True):
        parameters.setdefault(name, []).append(value)
    return parameters
