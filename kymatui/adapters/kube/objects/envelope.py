"""Checks of the envelope that every object has: apiVersion, kind and metadata.

The envelope is checked once, where an answer is read. Later code may rely on it: `metadata` is an object with a name,
label values are strings, owner references and managed fields are lists of objects. The domain reads the other fields
(spec, status) tolerantly.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec

from kymatui.adapters.http.response_body import DEEPEST
from kymatui.errors import OversizedAnswerError, ServerError
from kymatui.json_input import levels_of
from kymatui.patterns import deferred
from kymatui.structs import resolved_type

if TYPE_CHECKING:
    from kymatui.adapters.kube.objects.api_resource import ApiResource

Object = dict[str, Any]
PARTIAL = "PartialObjectMetadata"

_SAID = deferred(r"(?P<said>.*?)(?: - at `(?P<key>key in )?\$(?P<path>.*)`)?", re.DOTALL)
_WORDS = {
    "`str`": "a string",
    "`int`": "a whole number",
    "`float`": "a number",
    "`bool`": "true or false",
    "`object`": "an object",
    "`array`": "a list",
    "`null`": "null",
}


class FieldError(ValueError):
    """A malformed field of an answer; the message begins with its path."""


@lru_cache(maxsize=1)
def _envelope() -> Any:
    owner: Any = msgspec.defstruct(
        "Owner",
        [(name, str, "") for name in ("apiVersion", "kind", "name", "uid")]
        + [(name, bool | None, None) for name in ("controller", "blockOwnerDeletion")],
    )
    manager: Any = msgspec.defstruct(
        "Manager",
        [(name, str, "") for name in ("manager", "operation", "subresource", "apiVersion", "fieldsType")]
        + [("time", str | None, None), ("fieldsV1", dict[str, Any] | None, None)],
    )
    metadata: Any = msgspec.defstruct(
        "Metadata",
        [("name", str)]
        + [(name, str | None, None) for name in ("namespace", "generateName", "uid", "resourceVersion")]
        + [(name, str | None, None) for name in ("creationTimestamp", "deletionTimestamp")]
        + [(name, int | None, None) for name in ("generation", "deletionGracePeriodSeconds")]
        + [(name, dict[str, str] | None, None) for name in ("labels", "annotations")]
        + [
            ("finalizers", list[str] | None, None),
            ("ownerReferences", list[owner] | None, None),
            ("managedFields", list[manager] | None, None),
        ],
    )
    envelope = msgspec.defstruct("Envelope", [("metadata", metadata), ("apiVersion", str, ""), ("kind", str, "")])
    return resolved_type(envelope)


def check_envelope(item: Object, resource: ApiResource, namespace: str = "", name: str = "", where: str = "") -> Object:
    """Return the object without nulls in its metadata. Raise FieldError for a malformed field.

    The object must have the resource's kind and the requested namespace and name.
    """
    try:
        msgspec.convert(item, _envelope())
    except (msgspec.ValidationError, RecursionError) as error:
        raise FieldError(where + msgspec_message(error)) from error
    metadata = item["metadata"]
    for key in [key for key, value in metadata.items() if value is None]:
        del metadata[key]
    _check_fields(metadata.get("managedFields", ()), where)
    expected = {
        "kind": (item.get("kind"), (resource.kind, PARTIAL, None)),
        "metadata.name": (metadata["name"], (name or metadata["name"],)),
        "metadata.namespace": (metadata.get("namespace"), (namespace or metadata.get("namespace"),)),
    }
    if item.get("kind") == resource.kind:
        expected["apiVersion"] = item.get("apiVersion"), (resource.gvk.api_version, None)
    for path, (value, allowed) in expected.items():
        if value not in allowed:
            raise FieldError(f"{where}{path} is {_shown(value)} instead of {_shown(allowed[0])}")
    if not metadata["name"]:
        raise FieldError(f"{where}metadata.name is empty")
    if resource.namespaced and not metadata.get("namespace"):
        raise FieldError(f"{where}metadata.namespace is missing")
    return item


def _check_fields(entries: Any, where: str) -> None:
    """Raise FieldError if a `fieldsV1` is not a tree of objects, which its readers take for granted."""
    for number, entry in enumerate(entries):
        level = [entry.get("fieldsV1") or {}]
        while level:
            below = [value for part in level for value in part.values()]
            if not all(type(value) is dict for value in below):
                raise FieldError(f"{where}metadata.managedFields[{number}].fieldsV1 has values that are not objects")
            level = below


def require_shallow(value: object, request: str, server: str) -> None:
    if levels_of(value) > DEEPEST:
        raise OversizedAnswerError(
            f"the answer of {server} to {request} nests deeper than {DEEPEST} levels", hint="it was not used"
        )


def field_error(error: FieldError, request: str, server: str) -> ServerError:
    """Return the error of an answer with such a field: server, request, path."""
    return ServerError(f"the answer of {server} to {request} cannot be read: {error}")


def msgspec_message(error: Exception) -> str:
    """Return the msgspec message, path first: "metadata.name: expected a string, got a whole number"."""
    match = _SAID.fullmatch(str(error))
    text, path = (match["said"], match["path"] or "") if match else (str(error), "")
    for word, plain in _WORDS.items():
        text = text.replace(word, plain)
    text = text[:1].lower() + text[1:]
    return f"{path.removeprefix('.')}: {text}" if path else text


def _shown(value: object) -> str:
    return repr(value[:80]) if isinstance(value, str) else "missing" if value is None else str(type(value).__name__)
