"""Component descriptors, independent of their schema (v2 or ocm.software/v3alpha1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct, field

from kymatui.domain.kubernetes.json_reader import text_at
from kymatui.json_input import DEEPEST, levels_of, read_json
from kymatui.ocm.errors import DescriptorError
from kymatui.structs import repr_without

SCHEMA_V2: Final = "v2"
SCHEMA_V3: Final = "ocm.software/v3alpha1"
NONE_ACCESS: Final = frozenset(["none", "None"])

EXCLUDED: Final = "EXCLUDE-FROM-SIGNATURE"
NO_DIGEST: Final = "NO-DIGEST"

AccessSpec = Mapping[str, Any]


class Label(Struct, frozen=True):
    """A label; only those with `signing` are signed. `value` is any JSON value."""

    name: str
    value: Any = None
    version: str = ""
    signing: bool = False
    merge: Mapping[str, Any] | None = None


class Digest(Struct, frozen=True):
    """The digest of a resource or component: "SHA-256", "ociArtifactDigest/v1", hexadecimal value."""

    hash_algorithm: str
    normalisation_algorithm: str
    value: str

    @property
    def is_excluded(self) -> bool:
        """Return whether the content is deliberately not signed."""
        return (self.hash_algorithm, self.normalisation_algorithm, self.value) == (NO_DIGEST, EXCLUDED, NO_DIGEST)


class Element(Struct, frozen=True):
    """The common part of resources, sources and references; name, version and extra identity identify it."""

    name: str
    version: str = ""
    extra_identity: Mapping[str, str] = field(default_factory=dict)
    labels: tuple[Label, ...] = ()


class ComponentResource(Element, frozen=True):
    """A resource of the component; `access` is its location."""

    type: str = ""
    relation: str = ""
    access: AccessSpec | None = None
    digest: Digest | None = None

    @property
    def access_type(self) -> str:
        return text_at(self.access or {}, "type")


class ComponentSource(Element, frozen=True):
    """A source that the component was built from."""

    type: str = ""
    access: AccessSpec | None = None


class ComponentReference(Element, frozen=True):
    """A reference to another component."""

    component: str = ""
    digest: Digest | None = None


class Signature(Struct, frozen=True):
    """A named signature of a digest."""

    name: str
    digest: Digest
    algorithm: str
    value: str
    media_type: str
    issuer: str = ""

    __repr__ = repr_without("value")


class ComponentDescriptor(Struct, frozen=True):
    """A version of a component.

    schema         "v2" or "ocm.software/v3alpha1", as read
    creation_time  as written, "" if absent
    contexts       the repositories it was in; the last one is current
    """

    name: str
    version: str
    schema: str = SCHEMA_V2
    provider: str = ""
    provider_labels: tuple[Label, ...] = ()
    labels: tuple[Label, ...] = ()
    creation_time: str = ""
    contexts: tuple[Mapping[str, Any], ...] = ()
    resources: tuple[ComponentResource, ...] = ()
    sources: tuple[ComponentSource, ...] = ()
    references: tuple[ComponentReference, ...] = ()
    signatures: tuple[Signature, ...] = ()

    def resource(self, name: str) -> ComponentResource | None:
        """Return the first resource with a name."""
        return next((resource for resource in self.resources if resource.name == name), None)

    def signature(self, name: str) -> Signature | None:
        return next((signature for signature in self.signatures if signature.name == name), None)

    def label(self, name: str) -> Any:
        """Return the value of a label, None if absent."""
        return next((label.value for label in self.labels if label.name == name), None)


# The reader of component descriptors in schema v2 (as in `spec.descriptor`) and v3alpha1.


def read_descriptor(document: object) -> ComponentDescriptor:
    """Read a descriptor from YAML or JSON data (dates as text); unknown fields are ignored.

    Raises DescriptorError that names the field.
    """
    if levels_of(document) > DEEPEST:
        raise DescriptorError(f"a component descriptor is nested in more than {DEEPEST} levels")
    root = _Fields(document, "")
    api_version = root.text("apiVersion")
    if api_version == SCHEMA_V3:
        return _read_v3(root)
    schema = root.child("meta").text("schemaVersion")
    if api_version or schema != SCHEMA_V2:
        declared = api_version or schema or "no schema version"
        raise DescriptorError(
            f"this is not a readable component descriptor: {declared}",
            hint=f"set meta.schemaVersion {SCHEMA_V2} or apiVersion {SCHEMA_V3}",
        )
    return _read_v2(root)


def parse_descriptor(text: str | bytes) -> ComponentDescriptor:
    """Parse a descriptor in JSON. Raises DescriptorError."""
    try:
        return read_descriptor(read_json(text))
    except ValueError as error:
        raise DescriptorError(f"a component descriptor is not valid JSON: {error}") from error


def _read_v2(root: _Fields) -> ComponentDescriptor:
    component = root.child("component")
    provider, labels = _provider(component)
    return ComponentDescriptor(
        name=component.required("name"),
        version=component.required("version"),
        schema=SCHEMA_V2,
        provider=provider,
        provider_labels=labels,
        labels=_labels(component),
        creation_time=component.text("creationTime"),
        contexts=tuple(context.raw for context in component.children("repositoryContexts")),
        resources=tuple(map(_resource, component.children("resources"))),
        sources=tuple(map(_source, component.children("sources"))),
        references=tuple(map(_reference, component.children("componentReferences"))),
        signatures=tuple(map(_signature, root.children("signatures"))),
    )


def _read_v3(root: _Fields) -> ComponentDescriptor:
    if (kind := root.text("kind")) != "ComponentVersion":
        raise DescriptorError(f"kind is {kind!r}, not ComponentVersion")
    metadata, spec = root.child("metadata"), root.child("spec")
    provider = metadata.child("provider")
    return ComponentDescriptor(
        name=metadata.required("name"),
        version=metadata.required("version"),
        schema=SCHEMA_V3,
        provider=provider.text("name"),
        provider_labels=_labels(provider),
        labels=_labels(metadata),
        creation_time=metadata.text("creationTime"),
        contexts=tuple(context.raw for context in root.children("repositoryContexts")),
        resources=tuple(map(_resource, spec.children("resources"))),
        sources=tuple(map(_source, spec.children("sources"))),
        references=tuple(map(_reference, spec.children("references"))),
        signatures=tuple(map(_signature, root.children("signatures"))),
    )


def _provider(component: _Fields) -> tuple[str, tuple[Label, ...]]:
    """Return the provider of v2: a name, or JSON with a name and labels."""
    text = component.text("provider")
    try:
        document = read_json(text)
    except ValueError:  # no JSON, so the text itself is the name
        return text, ()
    if not isinstance(document, dict):
        return text, ()
    fields = _Fields(document, "component.provider")
    return fields.text("name"), _labels(fields)


def _labels(fields: _Fields) -> tuple[Label, ...]:
    return tuple(map(_label, fields.children("labels")))


def _label(fields: _Fields) -> Label:
    merge = fields.child("merge") if fields.raw.get("merge") is not None else None
    return Label(
        fields.text("name"),
        fields.raw.get("value"),
        fields.text("version"),
        fields.flag("signing"),
        None if merge is None else {"algorithm": merge.text("algorithm"), **merge.given("config")},
    )


def _element(fields: _Fields) -> dict[str, Any]:
    return {
        "name": fields.text("name"),
        "version": fields.text("version"),
        "extra_identity": fields.texts("extraIdentity"),
        "labels": _labels(fields),
    }


def _resource(fields: _Fields) -> ComponentResource:
    return ComponentResource(
        **_element(fields),
        type=fields.text("type"),
        relation=fields.text("relation"),
        access=fields.mapping("access"),
        digest=_digest(fields),
    )


def _source(fields: _Fields) -> ComponentSource:
    return ComponentSource(**_element(fields), type=fields.text("type"), access=fields.mapping("access"))


def _reference(fields: _Fields) -> ComponentReference:
    return ComponentReference(**_element(fields), component=fields.text("componentName"), digest=_digest(fields))


def _digest(fields: _Fields) -> Digest | None:
    if fields.mapping("digest") is None:
        return None
    digest = fields.child("digest")
    return Digest(digest.text("hashAlgorithm"), digest.text("normalisationAlgorithm"), digest.text("value"))


def _signature(fields: _Fields) -> Signature:
    signed = fields.child("signature")
    return Signature(
        fields.text("name"),
        _digest(fields) or Digest("", "", ""),
        signed.text("algorithm"),
        signed.text("value"),
        signed.text("mediaType"),
        signed.text("issuer"),
    )


class _Fields:
    """A JSON object with its path; null counts as absent, a wrong type is an error."""

    def __init__(self, raw: object, path: str) -> None:
        if raw is not None and not isinstance(raw, Mapping):
            raise DescriptorError(f"{path or 'a component descriptor'} is {_word(raw)}, not an object")
        self.raw: Mapping[str, Any] = raw or {}
        self._path = path

    def _at(self, name: str) -> str:
        return f"{self._path}.{name}" if self._path else name

    def text(self, name: str) -> str:
        value = self.raw.get(name)
        if value is not None and not isinstance(value, str):
            raise DescriptorError(f"{self._at(name)} is {_word(value)}, not text", hint="quote it")
        return value or ""

    def required(self, name: str) -> str:
        if not (text := self.text(name)):
            raise DescriptorError(f"{self._at(name)} is missing")
        return text

    def flag(self, name: str) -> bool:
        value = self.raw.get(name)
        if value is not None and not isinstance(value, bool):
            raise DescriptorError(f"{self._at(name)} is {_word(value)}, not true or false")
        return bool(value)

    def mapping(self, name: str) -> Mapping[str, Any] | None:
        return None if self.raw.get(name) is None else self.child(name).raw

    def child(self, name: str) -> _Fields:
        return _Fields(self.raw.get(name), self._at(name))

    def children(self, name: str) -> list[_Fields]:
        value = self.raw.get(name)
        if value is not None and not isinstance(value, list):
            raise DescriptorError(f"{self._at(name)} is {_word(value)}, not a list")
        return [_Fields(element, f"{self._at(name)}[{index}]") for index, element in enumerate(value or ())]

    def texts(self, name: str) -> dict[str, str]:
        child = self.child(name)
        return {key: child.text(key) for key in child.raw}

    def given(self, name: str) -> dict[str, Any]:
        return {name: self.raw[name]} if self.raw.get(name) is not None else {}


def _word(value: object) -> str:
    if isinstance(value, bool):
        return "true or false"
    names: dict[type, str] = {str: "text", int: "a number", float: "a number", list: "a list", dict: "an object"}
    return names.get(type(value), "something else")
