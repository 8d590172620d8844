"""Helm's common.Values: the type of .Values and of dot, a named map[string]interface {}.

In Go, a named map and the plain map that it was converted from are the same map: a change of .Values in a subchart's
template is visible in the parent's .Values.subchart. So Values holds no data; it is a view of its `table`.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, KeysView, Mapping, ValuesView
from typing import Any, ClassVar, Final

from kymatui.helm.govalues.types import Function, FunctionError, Panic, TypedMap

VALUES: Final = "common.Values"


class Values(TypedMap):
    """A plain map viewed as common.Values, with the methods of Helm's type."""

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
        """Return the plain map itself; for an empty one, a new map."""
        return self.table or {}

    def find_table(self, path: str) -> Values:
        """Return the map at a dotted path."""
        table = self.table
        for name in path.split("."):
            value = table.get(name)
            if value.__class__ is not dict and value.__class__ is not Values:
                raise FunctionError(f'"{name}" is not a table')
            table = value.table if isinstance(value, Values) else value
        return Values(table)

    def path_value(self, path: str) -> Any:
        """Return the value at a path, if it is no map."""
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
        from kymatui.helm.encodings.yaml_encoder import must_to_yaml

        return must_to_yaml(self.table) + "\n"

    def encode(self, writer: None) -> None:
        """Panic, because templates have no io.Writer."""
        raise Panic("runtime error: invalid memory address or nil pointer dereference")

    go_methods: ClassVar[Mapping[str, Function]] = {
        "AsMap": Function("AsMap", (), False, as_map),
        "Table": Function("Table", ("string",), False, find_table),
        "PathValue": Function("PathValue", ("string",), False, path_value),
        "Encode": Function("Encode", ("io.Writer",), False, encode),
        "YAML": Function("YAML", (), False, yaml),
    }
