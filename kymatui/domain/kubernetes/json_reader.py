"""Plain JSON objects read with forgiveness: what has the wrong type is left out, and remembered as a flaw.

A server that enforces its schemas never sends such objects; files, old clusters and servers without schemas do, and one
bad field must not hide the rest of the object, let alone the rest of the screen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Flaw:
    """One field that is not what its schema says: where, what was wanted, what was found (types, never values)."""

    path: str
    wanted: str
    found: str

    def __str__(self) -> str:
        return f"{self.path or 'the object'} is {self.found}, wanted {self.wanted}"


def json_type(value: object) -> str:
    """The JSON type of a value in words: "a string", "a list", …"""
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


class JsonReader:
    """Looks into one JSON object; every reader of the same object shares one list of flaws. Null counts as absent."""

    __slots__ = ("flaws", "path", "raw")

    def __init__(self, raw: object, path: str = "", flaws: list[Flaw] | None = None) -> None:
        self.flaws: list[Flaw] = [] if flaws is None else flaws
        self.path = path
        # Nearly everything is a dict, and asking the abstract class costs ten times as much.
        if type(raw) is dict or isinstance(raw, Mapping):
            self.raw: Mapping[str, Any] = raw
            return
        self.raw = {}
        if raw is not None:
            self._flaw(path, "an object", raw)

    def _flaw(self, path: str, wanted: str, value: object) -> None:
        self.flaws.append(Flaw(path, wanted, json_type(value)))

    def _at(self, key: str) -> str:
        return f"{self.path}.{key}" if self.path else key

    def has(self, key: str) -> bool:
        """Whether the key is there with a value other than null."""
        return self.raw.get(key) is not None

    def text(self, key: str, default: str = "") -> str:
        """A string, or the default."""
        value = self.raw.get(key)
        if value is None:
            return default
        if isinstance(value, str):
            return value
        self._flaw(self._at(key), "a string", value)
        return default

    def flag(self, key: str, default: bool = False) -> bool:
        """A boolean, or the default."""
        value = self.raw.get(key)
        if value is None:
            return default
        if isinstance(value, bool):
            return value
        self._flaw(self._at(key), "a boolean", value)
        return default

    def integer(self, key: str, default: int = 0) -> int:
        """A whole number, or the default."""
        value = self.raw.get(key)
        if value is None:
            return default
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        self._flaw(self._at(key), "a whole number", value)
        return default

    def child(self, key: str) -> JsonReader:
        """The object at the key; an empty one where there is none."""
        return JsonReader(self.raw.get(key), self._at(key), self.flaws)

    def mapping(self, key: str) -> Mapping[str, Any] | None:
        """The object at the key as it stands, or None."""
        value = self.raw.get(key)
        if value is None:
            return None
        if isinstance(value, Mapping):
            return value
        self._flaw(self._at(key), "an object", value)
        return None

    def items(self, key: str) -> tuple[object, ...]:
        """The list at the key as it stands; empty where there is none."""
        value = self.raw.get(key)
        if value is None:
            return ()
        if isinstance(value, list | tuple):
            return tuple(value)
        self._flaw(self._at(key), "a list", value)
        return ()

    def children(self, key: str) -> tuple[JsonReader, ...]:
        """The objects of the list at the key; other entries are flaws."""
        readers = []
        for index, value in enumerate(self.items(key)):
            path = f"{self._at(key)}[{index}]"
            if type(value) is dict or isinstance(value, Mapping):
                readers.append(JsonReader(value, path, self.flaws))
            else:
                self._flaw(path, "an object", value)
        return tuple(readers)

    def texts(self, key: str) -> tuple[str, ...]:
        """The strings of the list at the key; other entries are flaws."""
        found = []
        for index, value in enumerate(self.items(key)):
            if isinstance(value, str):
                found.append(value)
            else:
                self._flaw(f"{self._at(key)}[{index}]", "a string", value)
        return tuple(found)

    def labels(self, key: str) -> dict[str, str]:
        """The string-to-string object at the key; other values are flaws."""
        found = {}
        for name, value in self.child(key).raw.items():
            if isinstance(name, str) and isinstance(value, str):
                found[name] = value
            else:
                self._flaw(f"{self._at(key)}[{name!r}]", "a string", value)
        return found
