"""Replacements: copy a value of one object into fields of others."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final

from kymatui.domain.kubernetes.terminal_text import format_count
from kymatui.engine.cluster.yaml_output import dump_yaml
from kymatui.errors import SourceError
from kymatui.helm.functions.text.regexes import compiled
from kymatui.helm.govalues.types import FunctionError
from kymatui.helm.yaml.errors import YamlError
from kymatui.helm.yaml.limits import YamlBudget
from kymatui.helm.yaml.reading import load_exactly
from kymatui.kustomize.model.field_specs import split_path
from kymatui.kustomize.model.file_tree import KustomizationFolder
from kymatui.kustomize.model.resmap import Gvk, KustomizeResource, PatchSelector, ResId, ResMap
from kymatui.kustomize.model.strict_fields import StrictFields
from kymatui.kustomize.transformers.json6902_patch import charged_copy
from kymatui.kustomize.transformers.patches import read_selector

_NAME = "metadata.name"


def apply_replacements(resources: ResMap, entries: Iterable[StrictFields], folder: KustomizationFolder) -> None:
    """Apply all replacements in order, inline or from files. Raises SourceError."""
    for entry in entries:
        for fields in _loaded(entry, folder):
            _replace(resources, fields)


def _loaded(entry: StrictFields, folder: KustomizationFolder) -> list[StrictFields]:
    path = entry.text("path")
    if not path:
        return [entry]
    entry.finish()
    document = folder.read_yaml(path)
    entries = document if isinstance(document, list) else [document]
    return [StrictFields(raw, f"{folder.shown(path)}: [{at}]") for at, raw in enumerate(entries)]


def _replace(resources: ResMap, fields: StrictFields) -> None:
    fields.ignore("path")
    if not fields.has("targets") or fields.has("source") == fields.has("sourceValue"):
        raise SourceError(f"{fields.where} needs targets and exactly one of source and sourceValue")
    value = fields.text("sourceValue") if fields.has("sourceValue") else _source(resources, fields.child("source"))
    for target in fields.children("targets"):
        _Target(target, resources.limits.budget).fill(resources, value)
    fields.finish()


def _source(resources: ResMap, fields: StrictFields) -> Any:
    kind = Gvk(fields.text("group"), fields.text("version"), fields.text("kind"))
    name, namespace = fields.text("name"), fields.text("namespace")

    def is_meant(res_id: ResId) -> bool:
        named = name in ("", res_id.name) and namespace in ("", res_id.effective_namespace)
        return named and kind.selects(res_id.kind)

    path, options = fields.text("fieldPath") or _NAME, _Options(fields.child("options"), resources.limits.budget)
    fields.finish()
    matching = resources.by_any_id(is_meant)
    if len(matching) != 1:
        raise SourceError(f"{fields.where} matches {format_count(len(matching), 'object')}, expected one")
    value = lookup_field(matching[0].body, split_field_path(path))
    if value is None or value == {} or value == []:
        raise SourceError(f"{fields.where}: {matching[0].current} has no {path}")
    return options.taken(value, fields.where)


def split_field_path(path: str) -> list[str]:
    """Return the parts between dots; brackets group a part, and are dropped without "="."""
    parts: list[str] = []
    rest = split_path(path, ".")
    while rest:
        part = rest.pop(0)
        while part.startswith("[") and not part.endswith("]") and rest:
            part = f"{part}.{rest.pop(0)}"
        is_name = part.startswith("[") and part.endswith("]") and "=" not in part and len(part) > 2
        parts.append(part[1:-1] if is_name and "." in part else part)
    return parts


def lookup_field(node: Any, path: list[str]) -> Any:
    """Return the value at a path, None if there is none. Raises SourceError for a path that is not one value."""
    for part in path:
        if part == "*":
            raise SourceError("'*' is not valid in the path of a source, which is one value")
        if isinstance(node, list):
            node = next((node[at] for at in _positions(node, part)), None)
        elif isinstance(node, dict):
            node = node.get(part)
        else:
            return None
    return node


def _positions(items: list[Any], part: str) -> Iterator[int]:
    """Yield the positions of the list elements that match a part of a path: all, by index, or by value."""
    if part == "*":
        yield from range(len(items))
    elif part.isdigit() and part.isascii():
        if int(part) >= len(items):
            raise SourceError(f"the list has {format_count(len(items), 'element')}, none at index {part}")
        yield int(part)
    elif part.startswith("[") and part.endswith("]") and "=" in part:
        key, _, pattern = part[1:-1].partition("=")
        matches = _matcher(pattern)
        for at, item in enumerate(items):
            value = item.get(key) if key and isinstance(item, dict) else item if not key else None
            if value is not None and matches(scalar_text(value)):
                yield at
    else:
        raise SourceError(f"{part!r} is not valid in a list")


def _matcher(pattern: str) -> Any:
    try:
        regex = compiled(pattern)
    except FunctionError as error:
        raise SourceError(f"{pattern!r} is not a valid pattern: {error}") from error
    return lambda text: regex.search(text.encode()) is not None


def scalar_text(value: Any) -> str:
    """Return a scalar as YAML prints it."""
    if isinstance(value, bool):
        return str(value).lower()
    return "null" if value is None else str(value)


class _Options:
    """The options for splitting and joining a value."""

    def __init__(self, fields: StrictFields, budget: YamlBudget) -> None:
        self._budget = budget
        self.delimiter, self.index, self.create = fields.text("delimiter"), fields.whole("index"), fields.flag("create")
        fields.ignore("encoding")
        fields.finish()

    def taken(self, value: Any, where: str) -> Any:
        if not self.delimiter:
            return charged_copy(value, self._budget)
        if isinstance(value, dict | list):
            raise SourceError(f"{where}: a delimiter needs a scalar value")
        parts = scalar_text(value).split(self.delimiter)
        if not 0 <= self.index < len(parts):
            raise SourceError(f"{where}: {scalar_text(value)!r} has no part {self.index}")
        return parts[self.index]

    def put(self, old: Any, value: Any) -> Any:
        """Return the new value of a field; scalars keep their type."""
        if self.delimiter:
            if isinstance(old, dict | list):
                raise SourceError("a delimiter needs a scalar value")
            parts = scalar_text(old).split(self.delimiter)
            text = "" if isinstance(value, dict | list) else scalar_text(value)  # only a scalar has a text
            if self.index < 0:
                parts = [text, *parts]
            elif self.index >= len(parts):
                parts.append(text)
            else:
                parts[self.index] = text
            value = self.delimiter.join(parts)
            self._budget.charge(1, len(value))  # a text that is joined to itself doubles each time
        if isinstance(old, dict | list) or isinstance(value, dict | list):
            return charged_copy(value, self._budget)
        if isinstance(old, str):
            return scalar_text(value)
        return value if old is None else _of_type(old, scalar_text(value))


def _of_type(old: Any, text: str) -> Any:
    """Return an unquoted YAML scalar of the type that a field has. Raises SourceError for another type."""
    try:
        value = load_exactly(text)
    except YamlError:  # not a scalar of YAML, so the text itself is the value
        value = text
    if isinstance(old, float) and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if type(value) is not type(old):
        raise SourceError(f"the field is a {_TYPES.get(type(old), 'scalar')}, and the value is {text[:40]!r}")
    return value


_TYPES: Final = {bool: "boolean", int: "whole number", float: "number"}


class _Target:
    """The target fields of a replacement."""

    def __init__(self, fields: StrictFields, budget: YamlBudget) -> None:
        if not fields.has("select"):
            raise SourceError(f"{fields.where} has no select")
        self._where = fields.where
        self._select = read_selector(fields.child("select"))
        self._reject = [read_selector(rejection) for rejection in fields.children("reject")]
        self._paths = fields.list_of_texts("fieldPaths") or [_NAME]
        self._options, self._budget = _Options(fields.child("options"), budget), budget
        fields.finish()

    def fill(self, resources: ResMap, value: Any) -> None:
        for resource in resources:
            if self._is_meant(resource):
                for path in self._paths:
                    self._fill(resource, path, value)

    def _is_meant(self, resource: KustomizeResource) -> bool:
        if not self._select.matches_texts(resource) or not any(map(self._select.matches_id, resource.ids)):
            return False
        return not any(self._rejects(selector, resource) for selector in self._reject)

    @staticmethod
    def _rejects(selector: PatchSelector, resource: KustomizeResource) -> bool:
        if selector.has_texts and selector.matches_texts(resource):
            return True
        return selector.has_id and any(map(selector.matches_id, resource.ids))

    def _fill(self, resource: KustomizeResource, path: str, value: Any) -> None:
        try:
            count = self._set(resource.body, split_field_path(path), value)
        except SourceError as error:
            raise SourceError(f"{self._where}: {resource.current}: {path}: {error}") from error
        if not count:
            raise SourceError(
                f"{self._where}: {resource.current} has no {path}", hint="create it with options: {create: true}"
            )

    def _set(self, node: Any, path: list[str], value: Any) -> int:
        """Set all matching fields; return their number."""
        part, rest = path[0], path[1:]
        if isinstance(node, dict):
            return self._set_in_map(node, part, rest, value)
        if isinstance(node, list):
            return self._set_in_list(node, part, rest, value)
        if node is None:
            return 0
        raise SourceError(f"{part!r} is not valid in a scalar")

    def _set_in_text(self, text: str, path: list[str], value: Any) -> tuple[str, int]:
        """Set the matching fields of YAML or JSON in a text; return the text as written again, and their number."""
        try:
            document = load_exactly(text, strict=True, budget=self._budget)
        except YamlError as error:
            raise SourceError(f"the text in front of {path[0]!r} is not valid YAML: {error.summary}") from None
        if not isinstance(document, dict | list):
            raise SourceError(f"the text in front of {path[0]!r} has no fields")
        count = self._set(document, path, value)
        return (_written_again(document, text), count) if count else (text, 0)

    def _set_in_map(self, node: dict[str, Any], part: str, rest: list[str], value: Any) -> int:
        if part == "*":
            raise SourceError("'*' is not valid in a map")
        is_new = node.get(part) is None
        if is_new:
            if not self._options.create:
                return 0
            if rest:
                is_list = rest[0].isdigit() or (rest[0].startswith("[") and "=" in rest[0])
                node[part] = [] if is_list else {}
        if rest:
            node[part], count = self._set_below(node[part], rest, value)
            return count
        empty = "" if self._options.delimiter else None  # a value is joined to an empty text
        node[part] = self._options.put(empty if is_new else node[part], value)
        return 1

    def _set_below(self, node: Any, path: list[str], value: Any) -> tuple[Any, int]:
        """Set all matching fields; return the node, which is another one if it is a text, and their number."""
        return self._set_in_text(node, path, value) if isinstance(node, str) else (node, self._set(node, path, value))

    def _set_in_list(self, node: list[Any], part: str, rest: list[str], value: Any) -> int:
        if self._options.create:
            _make_element(node, part)
        count = 0
        for at in list(_positions(node, part)):
            if rest:
                node[at], changed = self._set_below(node[at], rest, value)
                count += changed
            else:
                node[at] = self._options.put(node[at], value)
                count += 1
        return count


def _written_again(document: Any, text: str) -> str:
    """Return YAML or JSON as the text was: JSON on one line or on several, without a line break at the end."""
    if text.lstrip()[:1] not in ("{", "["):
        return dump_yaml(document).rstrip()
    is_wide = "\n" in text and "  " in text
    separators = None if is_wide else (",", ":")
    indent = 2 if is_wide else None
    return json.dumps(document, indent=indent, separators=separators, sort_keys=True, ensure_ascii=False)


def _make_element(items: list[Any], part: str) -> None:
    if part.isdigit():
        if int(part) == len(items):
            items.append({})
    elif part.startswith("[") and "=" in part and not list(_positions(items, part)):
        key, _, text = part[1:-1].partition("=")
        items.append({key: text} if key else text)
