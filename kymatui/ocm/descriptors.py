"""Component descriptors, independent of their schema (v2 or ocm.software/v3alpha1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct, field

from kymatui.domain.kubernetes.json_reader import text_at
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
