"""Routes of the distribution API; repository names contain slashes, so paths are parsed from the end."""

from __future__ import annotations

import re

from msgspec import Struct

from kymatui.sandbox.registry.digest_rules import check_name
from kymatui.sandbox.registry.registry_errors import RegistryRefusal

_SHAPES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("base", re.compile(r"/v2/?")),
    ("catalog", re.compile(r"/v2/_catalog")),
    ("tags", re.compile(r"/v2/(?P<name>.+)/tags/list")),
    ("start", re.compile(r"/v2/(?P<name>.+)/blobs/uploads/?")),
    ("upload", re.compile(r"/v2/(?P<name>.+)/blobs/uploads/(?P<reference>[^/]+)")),
    ("blob", re.compile(r"/v2/(?P<name>.+)/blobs/(?P<reference>[^/]+)")),
    ("manifest", re.compile(r"/v2/(?P<name>.+)/manifests/(?P<reference>[^/]+)")),
    ("referrers", re.compile(r"/v2/(?P<name>.+)/referrers/(?P<reference>[^/]+)")),
)

ACTIONS: dict[tuple[str, str], tuple[str, ...]] = {
    ("start", "POST"): ("pull", "push"),
    ("upload", "GET"): ("pull",),
    ("upload", "PATCH"): ("pull", "push"),
    ("upload", "PUT"): ("pull", "push"),
    ("upload", "DELETE"): ("pull", "push"),
    ("blob", "GET"): ("pull",),
    ("blob", "HEAD"): ("pull",),
    ("blob", "DELETE"): ("delete",),
    ("manifest", "GET"): ("pull",),
    ("manifest", "HEAD"): ("pull",),
    ("manifest", "PUT"): ("pull", "push"),
    ("manifest", "DELETE"): ("delete",),
    ("tags", "GET"): ("pull",),
    ("referrers", "GET"): ("pull",),
    ("base", "GET"): (),
    ("base", "HEAD"): (),
    ("catalog", "GET"): (),
}


class Route(Struct, frozen=True, dict=True):
    """The target of a request; `actions` are those it needs in the repository `name`."""

    shape: str
    name: str
    reference: str
    actions: tuple[str, ...]


def route(method: str, path: str) -> Route:
    for shape, pattern in _SHAPES:
        match = pattern.fullmatch(path)
        if not match:
            continue
        parts = match.groupdict()
        name = check_name(parts["name"]) if "name" in parts else ""
        actions = ACTIONS.get((shape, method))
        if actions is None:
            raise RegistryRefusal("UNSUPPORTED", "The operation is unsupported.", detail=f"{method} {path}")
        return Route(shape, name, parts.get("reference", ""), actions)
    raise RegistryRefusal("NAME_INVALID", "no such path in the distribution API", detail=path, status=404)
