"""Continue tokens: end position and version of a page (k8s.io/apiserver/pkg/storage/continue.go)."""

from __future__ import annotations

import base64
import binascii

import msgspec
from msgspec import Struct

from kymatui.sandbox.apimachinery.object_store import Key
from kymatui.sandbox.apimachinery.statuses import StatusError, bad_request, expired

_VERSION = "meta.k8s.io/v1"
_TOO_OLD = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)
INCONSISTENT = -1


class ContinuePosition(Struct, frozen=True):
    """The object after which the next page starts; `version` INCONSISTENT means the current state."""

    after: Key
    version: int


def encode_position(position: ContinuePosition, namespace: str | None) -> str:
    """Return the token; its key is the name in a single namespace, else "namespace/name"."""
    space, name = position.after
    start = name if namespace is not None or not space else f"{space}/{name}"
    value = {"v": _VERSION, "rv": position.version, "start": start + "\0"}
    return base64.urlsafe_b64encode(msgspec.json.encode(value)).rstrip(b"=").decode()


def decode_position(token: str, namespace: str | None, *, namespaced: bool) -> ContinuePosition:
    """Return the position of a token. Raise StatusError 400."""
    try:
        value = msgspec.json.decode(_base64(token))
    except msgspec.DecodeError:
        raise _wrong(_json_complaint(_base64(token))) from None
    if not isinstance(value, dict) or value.get("v") != _VERSION:
        version = value.get("v", "") if isinstance(value, dict) else ""
        raise _wrong(f"server does not recognize this encoded version {version}")
    if not value.get("rv"):
        raise _wrong(f"incorrect encoded start resourceVersion (version {_VERSION})")
    if not value.get("start"):
        raise _wrong(f"empty start key (version {_VERSION})")
    start = str(value["start"]).removesuffix("\0").removeprefix("/")
    if namespace is not None:
        return ContinuePosition((namespace, start), int(value["rv"]))
    space, _, name = start.rpartition("/") if namespaced else ("", "", start)
    return ContinuePosition((space, name), int(value["rv"]))


def too_old(position: ContinuePosition, namespace: str | None) -> StatusError:
    """Return the 410 with a token that continues without consistency."""
    error = expired(_TOO_OLD)
    again = ContinuePosition(position.after, INCONSISTENT)
    error.status["metadata"] = {"continue": encode_position(again, namespace)}
    return error


def _base64(token: str) -> bytes:
    try:
        return base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
        at = next((i for i, char in enumerate(token) if char not in alphabet), len(token))
        raise _wrong(f"illegal base64 data at input byte {at}") from None


def _json_complaint(data: bytes) -> str:
    if not data:
        return "unexpected end of JSON input"
    first = chr(data[0])
    shown = first if data[0] < 0x80 and first.isprintable() else f"\\u{data[0]:04x}"
    return f"invalid character '{shown}' looking for beginning of value"


def _wrong(why: str) -> StatusError:
    return bad_request(f"invalid continue token: continue key is not valid: {why}")
