"""The read-only gate: a list of requests that cannot change anything. It refuses all others.

Allowed are GET and HEAD of objects, lists, discovery and subresources that are data. Subresources of pods, nodes and
services that run programs or forward requests (exec, attach, portforward, proxy) also use GET and are refused; so are
unknown subresources, because an aggregated API may have some that act. The only POSTs allowed are access reviews of
the user's own permissions and name, which store nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import unquote

from kymatui.patterns import deferred

_READS = ("GET", "HEAD")
_DATA = frozenset({"status", "scale", "log", "ephemeralcontainers", "resize", "approval"})
_REVIEW = deferred(
    r"/apis/authorization\.k8s\.io/v1(?:beta1)?/selfsubject(?:access|rules)reviews"
    r"|/apis/authentication\.k8s\.io/v1(?:alpha1|beta1)?/selfsubjectreviews"
)
# Paths that a server or a proxy could normalise to another path than the one that was checked.
_AMBIGUOUS = deferred(r"//|/\.{1,2}(?:/|$)|[?#\\%\x00-\x20\x7f]")
_ENCODED_SLASH = deferred(r"%2f", re.IGNORECASE)


def is_read_only_request(method: str, path: str) -> bool:
    """Return whether a request with this method and (percent-encoded) path cannot change anything."""
    if method == "POST":
        return _REVIEW.fullmatch(path) is not None
    return method in _READS and _is_read(path)


def _is_read(path: str) -> bool:
    plain = unquote(path)
    if not path.startswith("/") or _AMBIGUOUS.search(plain) or _ENCODED_SLASH.search(path):
        return False
    part = _part(plain.strip("/").split("/"))
    return part is None or part in _DATA


def _part(words: Sequence[str]) -> str | None:
    """Return the subresource that a path names ("log"), with what follows it; None if it names none.

    /api/V/… and /apis/GROUP/V/… continue with RESOURCE/NAME/PART or namespaces/NAMESPACE/RESOURCE/NAME/PART.
    """
    roots = {"api": 2, "apis": 3}
    if words[0] not in roots:
        return None
    rest = words[roots[words[0]] :]
    if rest[:1] == ["namespaces"] and len(rest) > 3:
        rest = rest[2:]
    elif rest[:1] == ["namespaces"]:
        return None  # a namespace, its status, or all objects of a kind in it
    return "/".join(rest[2:]) if len(rest) > 2 else None
