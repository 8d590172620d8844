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
from kymatui.sandbox.schemas.nodes import Schema
from kymatui.sandbox.schemas.pruning import read_custom


class BuiltinSemantics:
    """One built-in kind."""

    def __init__(self, resource: str, schema: Schema, clock: Clock, *, has_status: bool) -> None:
        self._resource = resource
        self._schema = schema
        self._clock = clock
        self._has_status = has_status

    def decode(self, obj: Object) -> tuple[Object, list[str]]:
        try:
            decoded, problems = decode(self._schema, obj)
        except DecodeError as error:
            raise DecodingError(str(error)) from None
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
        return []

    def validate_update(self, new: Object, old: Object, subresource: str) -> Sequence[Cause]:
        return []

    def columns(self) -> list[Object]:
        return []

    def cells(self, obj: Object, now: float) -> list[Any]:
        return []


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
        return causes(self._errors(obj))

    def validate_update(self, new: Object, old: Object, subresource: str) -> Sequence[Cause]:
        del old, subresource
        return causes(self._errors(new))

    def _errors(self, obj: Object) -> list[FieldError]:
        return [*validate_schema(self._schema, obj), *validate_lists(self._schema, obj)]

    def columns(self) -> list[Object]:
        return []

    def cells(self, obj: Object, now: float) -> list[Any]:
        return []
