"""Helm's common.Values: the type of .Values and of dot, a map[string]interface {} under a name of its own.

Go's named map and the plain one that it was made of are the same map: what a template of a subchart sets in .Values is
there in the parent's .Values.subchart. So a Values holds nothing itself; it is a view of its `table`.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, KeysView, Mapping, ValuesView
from typing import Any, ClassVar, Final

from kymatui.helm.govalues.types import Function, FunctionError, Panic, TypedMap

VALUES: Final = "common.Values"


class Values(TypedMap):
    """A plain map seen as common.Values, with the methods that Helm's type has."""

    __slots__ = ("table",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, table: dict[str, Any]) -> None:
        super().__init__(VALUES)
        self.table = table

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.table,))

    def __getitem__(self, key: Any) -> Any:
        return self.table[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.table[key] = value

    def __delitem__(self, key: Any) -> None:
        del self.table[key]

    def __contains__(self, key: object) -> bool:
        return key in self.table

    def __iter__(self) -> Iterator[Any]:
        return iter(self.table)

    def __len__(self) -> int:
        return len(self.table)

    def __eq__(self, other: object) -> bool:
        return self.table == (other.table if isinstance(other, Values) else other)

    def __repr__(self) -> str:
        return f"Values({self.table!r})"

    def get(self, key: Any, default: Any = None) -> Any:
        return self.table.get(key, default)

    def keys(self) -> KeysView[Any]:  # type: ignore[override]
        return self.table.keys()

    def values(self) -> ValuesView[Any]:  # type: ignore[override]
        return self.table.values()

    def items(self) -> ItemsView[Any, Any]:  # type: ignore[override]
        return self.table.items()

    def copy(self) -> dict[Any, Any]:
        return dict(self.table)

    def as_map(self) -> dict[str, Any]:
        """The plain map itself; an empty one is another than .Values."""
        return self.table or {}

    def find_table(self, path: str) -> Values:
        """The map at a path, its names parted by dots."""
        table = self.table
        for name in path.split("."):
            found = table.get(name)
            if found.__class__ is not dict and found.__class__ is not Values:
                raise FunctionError(f'"{name}" is not a table')
            table = found.table if isinstance(found, Values) else found
        return Values(table)

    def path_value(self, path: str) -> Any:
        """The value at a path that is no map."""
        if not path:
            raise FunctionError("YAML path cannot be empty")
        above, _, key = path.rpartition(".")
        try:
            table = self.find_table(above) if above else self
        except FunctionError:
            table = Values({})
        if key not in table or table[key].__class__ is dict:
            raise FunctionError(f'"{key}" is not a value')
        return table[key]

    def yaml(self) -> str:
        from kymatui.helm.functions.data import must_to_yaml

        return must_to_yaml(self.table) + "\n"

    def encode(self, writer: None) -> None:
        """Templates have no io.Writer to give."""
        raise Panic("runtime error: invalid memory address or nil pointer dereference")

    go_methods: ClassVar[Mapping[str, Function]] = {
        "AsMap": Function("AsMap", (), False, as_map),
        "Table": Function("Table", ("string",), False, find_table),
        "PathValue": Function("PathValue", ("string",), False, path_value),
        "Encode": Function("Encode", ("io.Writer",), False, encode),
        "YAML": Function("YAML", (), False, yaml),
    }
