"""A lenient reader of JSON objects: a field with the wrong type is dropped and recorded as a flaw.

A server that enforces schemas never sends such objects; files, old clusters and servers without schemas do. One bad
field must not hide the rest of the object or of the screen.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct


class Flaw(Struct, frozen=True):
    """A field that breaks its schema: path, expected type, actual type (never the value)."""

    path: str
    expected: str
    actual: str

    def __str__(self) -> str:
        return f"{self.path or 'the object'} is {self.actual}, expected {self.expected}"


def json_type(value: object) -> str:
    """Return the JSON type of a value: "a string", "a list", …"""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, str):
        return "a string"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list | tuple):
        return "a list"
    return f"a {type(value).__name__}"


def mapping_at(raw: object, *keys: str) -> Mapping[str, Any]:
    """Return the object at a path, {} where there is none."""
    for key in keys:
        raw = raw.get(key) if type(raw) is dict or isinstance(raw, Mapping) else None
    return raw if type(raw) is dict or isinstance(raw, Mapping) else {}


def text_at(raw: Mapping[str, Any], *keys: str) -> str:
    """Return the text at a path, "" where there is none."""
    value = mapping_at(raw, *keys[:-1]).get(keys[-1])
    return value if isinstance(value, str) else ""


def texts_at(raw: Mapping[str, Any], *keys: str) -> list[str]:
    """Return the texts of the list at a path, [] where there is none."""
    value = mapping_at(raw, *keys[:-1]).get(keys[-1])
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []


def objects_at(raw: Mapping[str, Any], *keys: str) -> list[Mapping[str, Any]]:
    """Return the objects of the list at a path, [] where there is none."""
    value = mapping_at(raw, *keys[:-1]).get(keys[-1])
    return [entry for entry in value if isinstance(entry, Mapping)] if isinstance(value, list) else []


class JsonReader:
    """A reader of one JSON object that shares its list of flaws with its children. Null counts as absent."""

    __slots__ = ("flaws", "path", "raw")

    def __init__(self, raw: object, path: str = "", flaws: list[Flaw] | None = None) -> None:
        self.flaws: list[Flaw] = [] if flaws is None else flaws
        self.path = path
        # Nearly every object is a dict, and isinstance with the abstract class costs ten times as much.
        if type(raw) is dict or isinstance(raw, Mapping):
            self.raw: Mapping[str, Any] = raw
            return
        self.raw = {}
        if raw is not None:
            self._flaw(path, "an object", raw)

    def _flaw(self, path: str, expected: str, value: object) -> None:
        self.flaws.append(Flaw(path, expected, json_type(value)))

    def _at(self, key: str) -> str:
        return f"{self.path}.{key}" if self.path else key

    def has(self, key: str) -> bool:
        """Return whether the key has a value other than null."""
        return self.raw.get(key) is not None

    def text(self, key: str, default: str = "") -> str:
        """Return the string at the key, or the default."""
        value = self.raw.get(key)
        if value is None:
            return default
        if isinstance(value, str):
            return value
        self._flaw(self._at(key), "a string", value)
        return default

    def flag(self, key: str, default: bool = False) -> bool:
        """Return the boolean at the key, or the default."""
        value = self.raw.get(key)
        if value is None:
            return default
        if isinstance(value, bool):
            return value
        self._flaw(self._at(key), "a boolean", value)
        return default

    def integer(self, key: str, default: int = 0) -> int:
        """Return the integer at the key, or the default."""
        value = self.raw.get(key)
        if value is None:
            return default
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        self._flaw(self._at(key), "a whole number", value)
        return default

    def child(self, key: str) -> JsonReader:
        """Return a reader of the object at the key, empty if absent."""
        return JsonReader(self.raw.get(key), self._at(key), self.flaws)

    def mapping(self, key: str) -> Mapping[str, Any] | None:
        """Return the object at the key, or None."""
        value = self.raw.get(key)
        if value is None:
            return None
        if isinstance(value, Mapping):
            return value
        self._flaw(self._at(key), "an object", value)
        return None

    def items(self, key: str) -> tuple[object, ...]:
        """Return the list at the key, empty if absent."""
        value = self.raw.get(key)
        if value is None:
            return ()
        if isinstance(value, list | tuple):
            return tuple(value)
        self._flaw(self._at(key), "a list", value)
        return ()

    def children(self, key: str) -> tuple[JsonReader, ...]:
        """Return readers of the objects in the list at the key; other entries are flaws."""
        readers = []
        for index, value in enumerate(self.items(key)):
            path = f"{self._at(key)}[{index}]"
            if type(value) is dict or isinstance(value, Mapping):
                readers.append(JsonReader(value, path, self.flaws))
            else:
                self._flaw(path, "an object", value)
        return tuple(readers)

    def texts(self, key: str) -> tuple[str, ...]:
        """Return the strings of the list at the key; other entries are flaws."""
        values = []
        for index, value in enumerate(self.items(key)):
            if isinstance(value, str):
                values.append(value)
            else:
                self._flaw(f"{self._at(key)}[{index}]", "a string", value)
        return tuple(values)

    def labels(self, key: str) -> dict[str, str]:
        """Return the string-to-string object at the key; other values are flaws."""
        values = {}
        for name, value in self.child(key).raw.items():
            if isinstance(name, str) and isinstance(value, str):
                values[name] = value
            else:
                self._flaw(f"{self._at(key)}[{name!r}]", "a string", value)
        return values
