"""The read-only gate: which requests cannot change anything. It knows what may pass, and refuses everything else.

Reading is GET and HEAD of objects, lists, discovery and the parts of objects that are data. The parts of pods, nodes
and services that run programs or pass requests on (exec, attach, portforward, proxy) are reached by GET as well, and do
not pass; nor do parts that are unknown here, because an aggregated API may have some that act. Of the rest only the
reviews of one's own rights and name get out: they are POSTs that store nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import unquote

_READS = ("GET", "HEAD")
_DATA = frozenset({"status", "scale", "log", "ephemeralcontainers", "resize", "approval"})
_REVIEW = re.compile(
    r"/apis/authorization\.k8s\.io/v1(?:beta1)?/selfsubject(?:access|rules)reviews"
    r"|/apis/authentication\.k8s\.io/v1(?:alpha1|beta1)?/selfsubjectreviews"
)
# what a server, or a proxy before it, could read as another path than the one that was looked at
_AMBIGUOUS = re.compile(r"//|/\.{1,2}(?:/|$)|[?#\\%\x00-\x20\x7f]")
_ENCODED_SLASH = re.compile(r"%2f", re.IGNORECASE)


def is_read_only_request(method: str, path: str) -> bool:
    """Whether a request with this method and (percent-encoded) path can be sent where nothing may be written."""
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
    """The part of an object that a path names ("log"), with what follows it; None where it names no part.

    /api/V/… and /apis/GROUP/V/… go on with RESOURCE/NAME/PART or namespaces/NAMESPACE/RESOURCE/NAME/PART.
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
