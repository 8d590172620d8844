"""Normal forms of a descriptor: the bytes for its digest, without anything that a transfer may change.

  jsonNormalisation/v1        of the original schema; objects become lists of single entries, in Go's JSON
  jsonNormalisation/v2, v3    of the schema-independent content, in RFC 8785. v2 first adds versions to the extra
                              identities of ambiguous resources (all but the last), as v1 does
  jsonNormalisation/v4alpha1  of the v2 schema, in RFC 8785; without nulls and without versions of labels

All of them drop access, signatures, repositories and unsigned labels. The specification and both implementations
differ in one place: labels of references are filtered only in v1. Signatures come from the implementations, so this
package follows them.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, timedelta
from typing import Any, Final

import rfc8785
from msgspec.structs import replace

from kymatui.moments import parse_moment
from kymatui.ocm.descriptors import (
    NONE_ACCESS,
    SCHEMA_V2,
    SCHEMA_V3,
    ComponentDescriptor,
    ComponentReference,
    ComponentResource,
    ComponentSource,
    Digest,
    Element,
    Label,
)
from kymatui.ocm.errors import DescriptorError

Json = dict[str, Any]

HASHES: Final = {"SHA-256": "sha256", "SHA-512": "sha512", "sha256": "sha256", "sha512": "sha512"}


def normalise(descriptor: ComponentDescriptor, algorithm: str) -> bytes:
    """Return the normal form by one of ALGORITHMS. Raises DescriptorError."""
    form = ALGORITHMS.get(algorithm)
    if form is None:
        raise DescriptorError(f"{algorithm!r} is an unknown normalisation", hint=f"use {', '.join(ALGORITHMS)}")
    return form(descriptor)


def digest_of(descriptor: ComponentDescriptor, algorithm: str, hash_algorithm: str = "SHA-256") -> str:
    """Return the digest of the normal form in hexadecimal. Raises DescriptorError."""
    name = HASHES.get(hash_algorithm)
    if name is None:
        raise DescriptorError(f"{hash_algorithm!r} is an unknown hash", hint=f"use {', '.join(HASHES)}")
    return hashlib.new(name, normalise(descriptor, algorithm)).hexdigest()


# the forms


def _v1(descriptor: ComponentDescriptor) -> bytes:
    distinct = replace(descriptor, resources=_told_apart(descriptor.resources))
    document = _v1_of_v3(distinct) if descriptor.schema == SCHEMA_V3 else _v1_of_v2(distinct)
    return go_json(_entries(document))


def _v1_of_v2(descriptor: ComponentDescriptor) -> Json:
    component = {
        "name": descriptor.name,
        "version": descriptor.version,
        **_optional("labels", _signed(descriptor.labels)),
        **_optional("creationTime", _time(descriptor.creation_time)),
        "provider": _provider(descriptor) if descriptor.provider_labels else descriptor.provider,
        "resources": [{"extraIdentity": None, **_resource(resource)} for resource in descriptor.resources],
        "componentReferences": [
            {"extraIdentity": None, **_reference(reference, _signed)} for reference in descriptor.references
        ],
    }
    return {"meta": {"schemaVersion": SCHEMA_V2}, "component": component}


def _v1_of_v3(descriptor: ComponentDescriptor) -> Json:
    metadata = {
        "name": descriptor.name,
        "version": descriptor.version,
        **_optional("labels", _signed(descriptor.labels)),
        **_optional("creationTime", _time(descriptor.creation_time)),
        "provider": {"name": descriptor.provider, **_optional("labels", _all(descriptor.provider_labels))},
    }
    spec = {
        **_optional("resources", [_resource(resource) for resource in descriptor.resources]),
        **_optional("sources", [_source(source) for source in descriptor.sources]),
        **_optional("references", [_reference(reference, _signed) for reference in descriptor.references]),
    }
    return {"apiVersion": SCHEMA_V3, "kind": "ComponentVersion", "metadata": metadata, "spec": spec}


def _v2(descriptor: ComponentDescriptor) -> bytes:
    return _v3(replace(descriptor, resources=_told_apart(descriptor.resources)))


def _v3(descriptor: ComponentDescriptor) -> bytes:
    component = {
        "name": descriptor.name,
        "version": descriptor.version,
        **_optional("labels", _signed(descriptor.labels)),
        "provider": _provider(descriptor),
        **_optional("creationTime", _time(descriptor.creation_time)),
        "resources": [_resource(resource) for resource in descriptor.resources],
        "sources": [_source(source) for source in descriptor.sources],
        "componentReferences": [_reference(reference, _all) for reference in descriptor.references],
    }
    return canonical_json({"component": component})


def _v4(descriptor: ComponentDescriptor) -> bytes:
    if not descriptor.provider:
        raise DescriptorError("a component without a provider has no normal form jsonNormalisation/v4alpha1")
    plain = _without_versions(descriptor)
    component = {
        "name": plain.name,
        "version": plain.version,
        **_optional("labels", _signed(plain.labels)),
        "provider": _provider(plain),
        **_optional("creationTime", plain.creation_time),
        "resources": [{"relation": resource.relation, **_resource(resource)} for resource in plain.resources],
        "sources": [_source(source) for source in plain.sources],
        "componentReferences": [_reference_of_v4(reference) for reference in plain.references],
    }
    return canonical_json({"component": _without_nulls(component)})


ALGORITHMS: Final[Mapping[str, Callable[[ComponentDescriptor], bytes]]] = {
    "jsonNormalisation/v1": _v1,
    "jsonNormalisation/v2": _v2,
    "jsonNormalisation/v3": _v3,
    "jsonNormalisation/v4alpha1": _v4,
}


# the parts


def _told_apart(resources: Iterable[ComponentResource]) -> tuple[ComponentResource, ...]:
    """Return the resources with versions in the extra identity of ambiguous ones.

    This runs in sequence: a changed resource is no longer equal to others, so the last one stays the same.
    """
    distinct = list(resources)
    count = Counter(map(_identity, distinct))
    for index, resource in enumerate(distinct):
        if count[_identity(resource)] > 1:
            distinct[index] = replace(resource, extra_identity={**resource.extra_identity, "version": resource.version})
            count[_identity(resource)] -= 1
            count[_identity(distinct[index])] += 1
    return tuple(distinct)


def _identity(resource: ComponentResource) -> tuple[str, frozenset[tuple[str, str]]]:
    return resource.name, frozenset(resource.extra_identity.items())


def _provider(descriptor: ComponentDescriptor) -> Json:
    return {"name": descriptor.provider, **_optional("labels", _signed(descriptor.provider_labels))}


def _element(element: Element, labels: list[Json]) -> Json:
    return {
        "name": element.name,
        "version": element.version,
        **_optional("extraIdentity", dict(element.extra_identity)),
        **_optional("labels", labels),
    }


def _resource(resource: ComponentResource) -> Json:
    """Return a resource; one without access has no digest."""
    digest = None if resource.access_type in NONE_ACCESS else resource.digest
    return {
        **_element(resource, _signed(resource.labels)),
        "type": resource.type,
        **_optional("relation", resource.relation),
        **_optional("digest", _digest(digest)),
    }


def _source(source: ComponentSource) -> Json:
    return {**_element(source, _signed(source.labels)), "type": source.type}


def _reference(reference: ComponentReference, labels: Callable[[Iterable[Label]], list[Json]]) -> Json:
    return {
        **_element(reference, labels(reference.labels)),
        "componentName": reference.component,
        **_optional("digest", _digest(reference.digest)),
    }


def _reference_of_v4(reference: ComponentReference) -> Json:
    return {**_reference(reference, _all), "digest": _digest(reference.digest or Digest("", "", ""))}


def _digest(digest: Digest | None) -> Json:
    if digest is None:
        return {}
    return {
        "hashAlgorithm": digest.hash_algorithm,
        "normalisationAlgorithm": digest.normalisation_algorithm,
        "value": digest.value,
    }


def _signed(labels: Iterable[Label]) -> list[Json]:
    """Return the signed labels without merge rules."""
    return [_label(replace(label, merge=None)) for label in labels if label.signing]


def _all(labels: Iterable[Label]) -> list[Json]:
    return [_label(label) for label in labels]


def _label(label: Label) -> Json:
    return {
        "name": label.name,
        "value": label.value,
        **_optional("version", label.version),
        **_optional("signing", label.signing),
        **_optional("merge", dict(label.merge) if label.merge is not None else None),
    }


def _optional(name: str, value: Any) -> Json:
    """Return the entry unless it is empty, like Go's omitempty."""
    return {name: value} if value else {}


def _time(text: str) -> str:
    """Return the time in RFC 3339 and UTC, rounded to seconds. Raises DescriptorError."""
    if not text:
        return ""
    try:
        moment = parse_moment(text)
    except ValueError as error:
        raise DescriptorError(f"creationTime {text!r} is not a time") from error
    if moment.tzinfo is None or "T" not in text:
        raise DescriptorError(f"creationTime {text!r} has no time zone", hint="write it as 2024-05-17T12:00:00Z")
    try:
        utc = moment.astimezone(UTC)
        rounded = utc.replace(microsecond=0) + timedelta(seconds=1 if utc.microsecond >= 500_000 else 0)
    except OverflowError:
        raise DescriptorError(f"creationTime {text!r} is not in the years 1 to 9999") from None
    return rounded.strftime("%Y-%m-%dT%H:%M:%SZ")


def _without_versions(descriptor: ComponentDescriptor) -> ComponentDescriptor:
    """Return the descriptor without versions and merge rules of labels, which the newest form drops."""

    def plain(labels: Iterable[Label]) -> tuple[Label, ...]:
        return tuple(Label(label.name, label.value, signing=label.signing) for label in labels)

    return replace(
        descriptor,
        labels=plain(descriptor.labels),
        provider_labels=plain(descriptor.provider_labels),
        resources=tuple(replace(resource, labels=plain(resource.labels)) for resource in descriptor.resources),
        sources=tuple(replace(source, labels=plain(source.labels)) for source in descriptor.sources),
        references=tuple(replace(reference, labels=plain(reference.labels)) for reference in descriptor.references),
    )


def _without_nulls(value: Any) -> Any:
    """Return the value without nulls in objects; lists keep theirs."""
    if isinstance(value, dict):
        return {key: _without_nulls(part) for key, part in value.items() if part is not None}
    if isinstance(value, list):
        return [_without_nulls(part) for part in value]
    return value


def _entries(value: Any) -> Any:
    """Return objects as sorted lists of single-entry objects."""
    if isinstance(value, dict):
        return [{key: _entries(value[key])} for key in sorted(value)]
    if isinstance(value, list):
        return [_entries(part) for part in value]
    return value


# Canonical JSON: RFC 8785 (JCS), and Go's json.Marshal for the oldest normalisation.
#
# Numbers are doubles, as in JSON: 1 and 1.0 are equal, and digits beyond a double's precision are lost, as in every
# implementation of the model. Go reads half a surrogate pair as U+FFFD.


_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_HTML: Final = re.compile("[<>&\u2028\u2029]")


def canonical_json(value: Any) -> bytes:
    """Return JSON by RFC 8785: keys sorted by UTF-16, shortest numbers, no spaces. Raises DescriptorError."""
    try:
        return rfc8785.dumps(_plain(value))
    except RecursionError as error:
        raise DescriptorError("a component descriptor is nested too deeply") from error
    except rfc8785.CanonicalizationError as error:
        raise DescriptorError(f"a component descriptor cannot be normalised: {error}") from error


def go_json(value: Any) -> bytes:
    """Return JSON as Go's json.Marshal: keys sorted by bytes; `<`, `>`, `&`, U+2028 and U+2029 escaped."""
    try:
        return _go_text(_plain(value)).encode()
    except RecursionError as error:
        raise DescriptorError("a component descriptor is nested too deeply") from error


def _plain(value: Any) -> Any:
    """Return the value with doubles for all numbers and without surrogates."""
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {_plain(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, int) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            raise DescriptorError("a component descriptor has a number that is too large") from None
    return value


def _go_text(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ",".join(f"{_go_text(key)}:{_go_text(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_go_text, value)) + "]"
    if isinstance(value, str):
        text = json.dumps(value, ensure_ascii=False)
        return _HTML.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
    if value == 0 and isinstance(value, float) and math.copysign(1, value) < 0:
        return "-0"
    return canonical_json(value).decode()
