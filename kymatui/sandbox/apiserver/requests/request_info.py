"""Request info of a URL, as k8s.io/apiserver's RequestInfo derives it."""

from __future__ import annotations

from urllib.parse import unquote

from msgspec import Struct
from msgspec.structs import replace

from kymatui.sandbox.apimachinery.exchange import ServerRequest

_VERBS = {"POST": "create", "GET": "get", "HEAD": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_NAMESPACE_SUBRESOURCES = ("status", "finalize")


class RequestInfo(Struct):
    """A request for a resource or, if `resource` is "", for another path."""

    path: str
    verb: str
    group: str = ""
    version: str = ""
    namespace: str = ""
    resource: str = ""
    subresource: str = ""
    name: str = ""
    rest: tuple[str, ...] = ()  # the path after the subresource
    in_path: bool = False  # the name comes from the path, not from a field selector

    @property
    def is_resource(self) -> bool:
        return bool(self.resource)

    @property
    def full_resource(self) -> str:
        """Return the resource name that the store and messages use: "deployments.apps"."""
        return f"{self.resource}.{self.group}" if self.group else self.resource


def request_info(request: ServerRequest) -> RequestInfo:
    """Parse the path; a path outside resources has the lower-case method as its verb."""
    info = RequestInfo(request.path, request.method.lower())
    parts = [unquote(part) for part in request.path.strip("/").split("/")]
    if parts[0] == "api" and len(parts) >= 3:
        info.version, rest = parts[1], parts[2:]
    elif parts[0] == "apis" and len(parts) >= 4:
        info.group, info.version, rest = parts[1], parts[2], parts[3:]
    else:
        return info
    info.verb = _VERBS.get(request.method, request.method.lower())
    _place(info, rest)
    _refine_verb(info, request)
    return info


def without_watch_prefix(request: ServerRequest) -> ServerRequest:
    """Rewrite `/api/v1/watch/...`, the old form of `?watch=true`; a watch of one object selects its name."""
    parts = request.path.strip("/").split("/")
    at = 2 if parts[0] == "api" else 3
    if request.method != "GET" or len(parts) < at + 2 or parts[at] != "watch":
        return request
    rest = parts[at + 1 :]
    query = {**request.query, "watch": ["true"]}
    named = len(rest) - (2 if rest[0] == "namespaces" and len(rest) > 2 else 0) == 2
    if named:
        rest, name = rest[:-1], rest[-1]
        query["fieldSelector"] = [f"metadata.name={unquote(name)}"]
    return replace(request, path="/" + "/".join([*parts[:at], *rest]), query=query)


def _place(info: RequestInfo, rest: list[str]) -> None:
    if rest[0] == "namespaces" and len(rest) > 1:
        info.namespace = rest[1]
        if len(rest) > 2 and rest[2] not in _NAMESPACE_SUBRESOURCES:
            rest = rest[2:]
    info.resource = rest[0]
    info.name = rest[1] if len(rest) > 1 else ""
    info.in_path = bool(info.name)
    info.subresource = rest[2] if len(rest) > 2 else ""
    info.rest = tuple(rest[3:])


def _refine_verb(info: RequestInfo, request: ServerRequest) -> None:
    if not info.name and info.verb == "get":
        info.verb = "watch" if is_true(request.first("watch")) else "list"
    elif info.name and info.verb == "get" and not info.subresource and is_true(request.first("watch")):
        info.verb = "watch"
    elif not info.name and info.verb == "delete":
        info.verb = "deletecollection"
    if info.verb in ("list", "watch", "deletecollection") and not info.name:
        info.name = _named_by_selector(request.first("fieldSelector"))


def _named_by_selector(selector: str) -> str:
    """Return the name of `metadata.name=x`: resourceNames can allow a list of that single object."""
    for term in selector.split(","):
        name, separator, value = term.partition("=")
        if separator and name == "metadata.name" and value and not name.endswith("!"):
            return value.removeprefix("=")
    return ""


def is_true(text: str) -> bool:
    """Return a bool query parameter: true if present and neither "false" nor "0"."""
    return text.lower() not in ("", "false", "0")
