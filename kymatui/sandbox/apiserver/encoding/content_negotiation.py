"""Content negotiation: the form of an answer (Accept) and of a body (Content-Type)."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

from msgspec import Struct

from kymatui.sandbox.apimachinery.exchange import ServerRequest
from kymatui.sandbox.apimachinery.statuses import failure

AcceptParameters = Literal["", "Table", "PartialObjectMetadata", "PartialObjectMetadataList", "APIGroupDiscoveryList"]

JSON, YAML, PROTOBUF = "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"
_LISTED = f"{JSON}, {YAML}, {PROTOBUF}"
_STREAMS = f"{_LISTED}, {JSON};stream=watch, {PROTOBUF};stream=watch"
_TRANSFORMS: tuple[AcceptParameters, ...] = ("Table", "PartialObjectMetadata", "PartialObjectMetadataList")


class AcceptedForm(Struct, frozen=True):
    """The chosen media type, and the kind that the answer is converted to."""

    media_type: str = JSON
    as_kind: AcceptParameters = ""
    as_version: str = ""
    pretty: bool = False


class AcceptClause(Struct, frozen=True):
    """One media type of an Accept header."""

    type: str
    parameters: dict[str, str]
    quality: float


@lru_cache(maxsize=256)
def parse_clauses(accept: str) -> tuple[AcceptClause, ...]:
    """Return the clauses of an Accept header, best first; equal ones in the given order."""
    clauses: list[AcceptClause] = []
    for text in accept.split(","):
        name, *settings = (part.strip() for part in text.split(";"))
        parameters = dict(_setting(setting) for setting in settings)
        if name:
            clauses.append(AcceptClause(name.lower(), parameters, _quality(parameters.pop("q", "1"))))
    return tuple(sorted(clauses, key=lambda clause: -clause.quality))


def _setting(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    return name.strip().lower(), value.strip().strip('"')


def _quality(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 1.0


def negotiate(
    request: ServerRequest, *, listing: bool = False, transforms: bool = True, custom: bool = False
) -> AcceptedForm:
    """Return the first acceptable form that the server supports. Raise StatusError 406.

    Protobuf is never served: a client that prefers it gets its next choice.
    """
    accept = request.header("accept")
    if not accept:
        return AcceptedForm(pretty=_pretty(request))
    known = False
    for clause in parse_clauses(accept):
        media = _media_type(clause.type)
        known = known or bool(media)
        if not media:
            continue
        accepted = _transformed(request, media, clause.parameters, transforms)
        if accepted is not None:
            return accepted
    if known or custom or PROTOBUF in accept:
        message = f"only the following media types are accepted: {_LISTED}"
        raise failure(406, "NotAcceptable", message)
    message = f"406: Not Acceptable\n\nAvailable representations: {_STREAMS if listing else _LISTED}"
    raise failure(406, "NotAcceptable", message, {})


def _media_type(name: str) -> str:
    """Return the media type or ""; a real server accepts `*/*` and full names, not `application/*`."""
    if name in ("*/*", JSON):
        return JSON
    return YAML if name == YAML else ""


def _transformed(
    request: ServerRequest, media: str, parameters: dict[str, str], transforms: bool
) -> AcceptedForm | None:
    kind = parameters.get("as", "")
    if not kind:
        return AcceptedForm(media, pretty=_pretty(request))
    version = parameters.get("v", "")
    if not transforms or parameters.get("g") != "meta.k8s.io" or version not in ("v1", "v1beta1"):
        return None
    for known in _TRANSFORMS:
        if kind == known:
            return AcceptedForm(media, known, version, _pretty(request))
    return None


def _pretty(request: ServerRequest) -> bool:
    """Return whether to indent the JSON, as a real server does for browsers and command-line fetchers."""
    if "pretty" in request.query:
        return request.first("pretty").lower() not in ("false", "0")
    return request.header("user-agent").startswith(("curl", "Wget", "Mozilla/5.0"))


def body_type(request: ServerRequest) -> str:
    """Return JSON, YAML or protobuf by Content-Type (default JSON). Raise StatusError 415."""
    media_type = request.header("content-type").split(";")[0].strip().lower()
    if media_type in ("", JSON):
        return JSON
    if media_type in (YAML, PROTOBUF):
        return media_type
    message = f"the body of the request was in an unknown format - accepted media types include: {_LISTED}"
    raise failure(415, "UnsupportedMediaType", message)
