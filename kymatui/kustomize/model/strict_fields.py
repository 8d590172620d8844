"""Strict reading of a kustomization's fields: a wrong type or unknown name is an error with its path."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kymatui.errors import SourceError


class StrictFields:
    """A map with its path; null counts as absent. `finish` rejects fields that were not read."""

    def __init__(self, raw: object, where: str) -> None:
        if raw is not None and not isinstance(raw, Mapping):
            raise SourceError(f"{where} is not a map")
        self.raw: Mapping[str, Any] = raw or {}
        self._names = {str(name).lower(): name for name in self.raw}
        self.where = where
        self._known: set[str] = set()

    def error(self, name: str, problem: str) -> SourceError:
        return SourceError(f"{self.where}: {name} {problem}")

    def _get(self, name: str) -> Any:
        """Return a field by its name, else by it in any case, as Go reads JSON."""
        if name not in self.raw:
            name = self._names.get(name.lower(), name)
        self._known.add(name)
        return self.raw.get(name)

    def has(self, name: str) -> bool:
        return self._get(name) is not None

    def value(self, name: str) -> object:
        """Return a field of any type, None if it is absent."""
        return self._get(name)

    def ignore(self, name: str) -> None:
        self._get(name)

    def text(self, name: str, default: str = "") -> str:
        value = self._get(name)
        if value is not None and not isinstance(value, str):
            raise self.error(name, "is not a string; quote it")
        return default if value is None else value

    def flag(self, name: str) -> bool:
        value = self._get(name)
        if value is not None and not isinstance(value, bool):
            raise self.error(name, "is not true or false")
        return bool(value)

    def whole(self, name: str) -> int:
        value = self._get(name)
        if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
            raise self.error(name, "is not a whole number")
        return value or 0

    def _list(self, name: str) -> list[Any]:
        value = self._get(name)
        if value is not None and not isinstance(value, list):
            raise self.error(name, "is not a list")
        return value or []

    def list_of_texts(self, name: str) -> list[str]:
        entries = self._list(name)
        if not all(isinstance(entry, str) for entry in entries):
            raise self.error(name, "is not a list of strings")
        return entries

    def texts(self, name: str) -> dict[str, str]:
        raw = self.child(name).raw
        if not all(isinstance(text, str) for text in raw.values()):
            raise self.error(name, "has values that are not strings; quote them")
        return dict(raw)

    def child(self, name: str) -> StrictFields:
        return StrictFields(self._get(name), f"{self.where}: {name}")

    def children(self, name: str) -> list[StrictFields]:
        return [StrictFields(entry, f"{self.where}: {name}[{at}]") for at, entry in enumerate(self._list(name))]

    def finish(self) -> None:
        """Raise SourceError for an unknown field."""
        for name in self.raw:
            if name not in self._known:
                raise self.error(name, "is not a known field")
