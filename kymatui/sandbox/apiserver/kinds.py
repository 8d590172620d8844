"""Built-in kinds and custom resources in the server's terms: what `schemas` knows of them, and their strategies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kymatui.sandbox.apiserver.resources import Cause, DecodingError, Object
from kymatui.sandbox.apiserver.strategies import (
    prepare_create,
    prepare_custom_update,
    prepare_update,
)
from kymatui.sandbox.clock import Clock
from kymatui.sandbox.schemas.constraints import validate_lists, validate_schema
from kymatui.sandbox.schemas.decoding import DecodeError, decode, empty
from kymatui.sandbox.schemas.fielderrors import FieldError, causes
from kymatui.sandbox.schemas.kinds.defaults import default_builtin
from kymatui.sandbox.schemas.kinds.metadata import NameRule, validate_metadata, validate_metadata_update
from kymatui.sandbox.schemas.kinds.names import dns_label, dns_old_label, dns_subdomain, path_segment
from kymatui.sandbox.schemas.nodes import GVK, Schema
from kymatui.sandbox.schemas.pruning import read_custom

_NAME_RULES: dict[str, NameRule] = {"namespaces": dns_label, "services": dns_old_label}


class BuiltinSemantics:
    """One built-in kind."""

    def __init__(self, gvk: GVK, resource: str, schema: Schema, clock: Clock, *, has_status: bool) -> None:
        self._gvk = gvk
        self._resource = resource
        self._schema = schema
        self._clock = clock
        self._has_status = has_status

    def decode(self, obj: Object) -> tuple[Object, list[str]]:
        try:
            decoded, problems = decode(self._schema, obj)
        except DecodeError as error:
            raise DecodingError(str(error)) from None
        default_builtin(self._gvk, decoded)
        if self._resource == "namespaces":
            _name_label(decoded)
        return decoded, problems

    def prepare_create(self, obj: Object) -> None:
        status = self._schema.properties.get("status")
        blank = empty(status) if status is not None else None
        prepare_create(self._resource, obj, has_status=self._has_status, empty_status=blank, now=self._clock.now())

    def prepare_update(self, new: Object, old: Object, subresource: str) -> None:
        prepare_update(self._resource, new, old, subresource, has_status=self._has_status)

    def validate_create(self, obj: Object) -> Sequence[Cause]:
        namespaced = bool(obj["metadata"].get("namespace"))
        return causes(validate_metadata(obj, namespaced=namespaced, name_rule=_name_rule(self._resource)))

    def validate_update(self, new: Object, old: Object, subresource: str) -> Sequence[Cause]:
        return causes([*validate_metadata_update(new, old), *validate_metadata_update(new, old)])

    def columns(self) -> list[Object]:
        return []

    def cells(self, obj: Object, now: float) -> list[Any]:
        return []


def _name_rule(resource: str) -> NameRule:
    """How the objects of a resource may be named."""
    if resource.endswith(".rbac.authorization.k8s.io"):
        return path_segment
    return _NAME_RULES.get(resource, dns_subdomain)


def _name_label(namespace: Object) -> None:
    """Namespaces can be selected by their name."""
    metadata = namespace["metadata"]
    if metadata.get("name"):
        metadata.setdefault("labels", {})["kubernetes.io/metadata.name"] = metadata["name"]


class CustomSemantics:
    """One version of a definition."""

    def __init__(self, schema: Schema, columns: Sequence[Object], *, has_status: bool) -> None:
        self._schema = schema
        self._columns = columns
        self._has_status = has_status

    def decode(self, obj: Object) -> tuple[Object, list[str]]:
        try:
            return read_custom(self._schema, obj)
        except DecodeError as error:
            raise DecodingError(str(error)) from None

    def prepare_create(self, obj: Object) -> None:
        if self._has_status:
            obj.pop("status", None)
        obj["metadata"]["generation"] = 1

    def prepare_update(self, new: Object, old: Object, subresource: str) -> None:
        prepare_custom_update(new, old, subresource, has_status=self._has_status)

    def validate_create(self, obj: Object) -> Sequence[Cause]:
        found = validate_metadata(obj, namespaced=bool(obj["metadata"].get("namespace")))
        return causes([*found, *self._errors(obj)])

    def validate_update(self, new: Object, old: Object, subresource: str) -> Sequence[Cause]:
        del subresource
        found = validate_metadata_update(new, old)
        return causes([*found, *found, *self._errors(new)])

    def _errors(self, obj: Object) -> list[FieldError]:
        return [*validate_schema(self._schema, obj), *validate_lists(self._schema, obj)]

    def columns(self) -> list[Object]:
        return []

    def cells(self, obj: Object, now: float) -> list[Any]:
        return []
