"""A resource at one version, for discovery and requests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct, field

from kymatui.sandbox.apimachinery.object_store import Stored, type_prefix
from kymatui.schemas.types.schema_node import ANY, Schema

Object = dict[str, Any]
Cause = Mapping[str, Any]


class DecodingError(Exception):
    """The body cannot be decoded as the kind; the text is the decoder's."""


class KindSemantics(Protocol):
    """The behaviour of a kind: types, defaults, rules, columns."""

    def decode(self, obj: Object) -> tuple[Object, list[str]]:
        """Return the object with defaults and without unknown fields, and the strict-decoding messages.

        Raise `DecodingError`.
        """

    def prepare_create(self, obj: Object) -> None: ...

    def prepare_update(self, new: Object, old: Object, subresource: str) -> None: ...

    def validate_create(self, obj: Object) -> Sequence[Cause]: ...

    def validate_update(self, new: Object, old: Object, subresource: str) -> Sequence[Cause]: ...

    def columns(self) -> list[Object]: ...

    def cells(self, obj: Object, now: float) -> list[Any]: ...


class Subresource(Struct, frozen=True):
    """A subresource in discovery: "status", "scale", "log"."""

    name: str
    kind: str
    verbs: tuple[str, ...]
    group: str = ""
    version: str = ""


class ServedResource(Struct):
    """A resource served at one version."""

    group: str
    version: str
    name: str
    singular: str
    kind: str
    namespaced: bool
    verbs: tuple[str, ...]
    semantics: KindSemantics
    list_kind: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    storage_hash: str = ""
    subresources: Mapping[str, Subresource] = field(default_factory=dict)
    custom: bool = False
    terminating: bool = False
    unconditional_update: bool = True
    creates_on_update: bool = False
    returns_deleted: bool = False
    selectable_fields: tuple[str, ...] = ()
    scale_paths: dict[str, str] | None = None
    schema: Schema = field(default_factory=lambda: ANY)
    view: Callable[[Stored], bytes] | None = None

    @property
    def full_name(self) -> str:
        """Return the name that the store and messages use: "deployments.apps"."""
        return f"{self.name}.{self.group}" if self.group else self.name

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def group_kind(self) -> str:
        """Return the name that validation uses: "Deployment.apps"."""
        return f"{self.kind}.{self.group}" if self.group else self.kind

    @property
    def prefix(self) -> bytes:
        return type_prefix(self.api_version, self.kind)

    def data(self, stored: Stored) -> bytes:
        """Return the object's JSON at this version, without kind and apiVersion."""
        return stored.data if self.view is None else self.view(stored)
