"""Dot of templates: .Values, .Chart, .Files, .Release, .Capabilities, .Template and .Subcharts."""

from __future__ import annotations

import base64
import posixpath
from collections.abc import ItemsView, Iterable, Iterator, Mapping, ValuesView
from typing import Any, ClassVar, Final

from kymatui.helm.charts.archives import ChartFile
from kymatui.helm.charts.glob_patterns import LONGEST_PATTERN, FileGlob, file_glob
from kymatui.helm.charts.metadata import Dependency, Maintainer, Metadata
from kymatui.helm.charts.trees import ChartNode
from kymatui.helm.govalues.budget import ELEMENT, charge, watched
from kymatui.helm.govalues.text import from_bytes
from kymatui.helm.govalues.types import Function, FunctionError, Panic, TypedList, TypedMap, Uint8
from kymatui.helm.language.tables import Values
from kymatui.helm.yaml.errors import YamlError
from kymatui.helm.yaml.writing import dump_yaml


class Files(TypedMap):
    """.Files: bytes by path. Templates receive []byte only for a file they access."""

    __slots__ = ("_contents", "_slices")

    def __init__(self, contents: Mapping[str, bytes]) -> None:
        super().__init__("engine.files", dict.fromkeys(contents))
        self._contents = dict(contents)
        self._slices: dict[str, TypedList] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self._contents,))

    def __getitem__(self, name: str) -> TypedList:
        byte_slice = self._slices.get(name)
        if byte_slice is None:
            byte_slice = self._slices[name] = _byte_slice(self._contents[name])
        return byte_slice

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self._contents else default

    def items(self) -> ItemsView[str, Any]:  # type: ignore[override]
        return dict(self._pairs()).items()

    def values(self) -> ValuesView[Any]:  # type: ignore[override]
        return dict(self._pairs()).values()

    def _pairs(self) -> Iterator[tuple[str, TypedList]]:
        return ((name, self[name]) for name in self._contents)

    def get_bytes(self, name: str) -> TypedList:
        return self[name] if name in self._contents else _byte_slice(b"")

    def get_text(self, name: str) -> str:
        return from_bytes(self._contents.get(name, b""))

    def glob(self, pattern: str) -> Files:
        chosen = file_glob(pattern) if len(pattern) <= LONGEST_PATTERN else FileGlob(pattern)
        return Files({name: self._contents[name] for name in watched(list(self._contents)) if chosen.matches(name)})

    def as_config(self) -> str:
        return _as_yaml({posixpath.basename(name): from_bytes(data) for name, data in self._contents.items()})

    def as_secrets(self) -> str:
        encoded = {name: base64.b64encode(data).decode() for name, data in self._contents.items()}
        return _as_yaml({posixpath.basename(name): text for name, text in encoded.items()})

    def lines(self, name: str) -> TypedList:
        data = self._contents.get(name)
        if data is None:
            return TypedList("[]string", [])
        if not data:  # Helm accesses the last character
            raise Panic("runtime error: index out of range [-1]")
        charge(ELEMENT * data.count(b"\n") + len(data))
        return TypedList("[]string", from_bytes(data).removesuffix("\n").split("\n"))

    go_methods: ClassVar[Mapping[str, Function]] = {
        "Get": Function("Get", ("string",), False, get_text),
        "GetBytes": Function("GetBytes", ("string",), False, get_bytes),
        "Glob": Function("Glob", ("string",), False, glob),
        "AsConfig": Function("AsConfig", (), False, as_config),
        "AsSecrets": Function("AsSecrets", (), False, as_secrets),
        "Lines": Function("Lines", ("string",), False, lines),
    }


_BYTES: Final = tuple(map(Uint8, range(256)))


def _byte_slice(data: bytes) -> TypedList:
    charge(8 * len(data))
    return TypedList("[]uint8", map(_BYTES.__getitem__, data))


def _as_yaml(entries: dict[str, str]) -> str:
    try:
        return dump_yaml(entries).removesuffix("\n")
    except YamlError:
        return ""


def files_of(files: Iterable[ChartFile]) -> Files:
    return Files(dict(files))


def chart_map(metadata: Metadata, *, is_root: bool) -> dict[str, Any]:
    """Return .Chart: Chart.yaml with Go's field names."""
    annotations = metadata.annotations
    return {
        "Name": metadata.name,
        "Home": metadata.home,
        "Sources": list(metadata.sources),
        "Version": metadata.version,
        "Description": metadata.description,
        "Keywords": list(metadata.keywords),
        "Maintainers": [_maintainer_map(maintainer) for maintainer in metadata.maintainers],
        "Icon": metadata.icon,
        "APIVersion": metadata.api_version,
        "Condition": metadata.condition,
        "Tags": metadata.tags,
        "AppVersion": metadata.app_version,
        "Deprecated": metadata.deprecated,
        "Annotations": TypedMap("map[string]string", annotations or {}, is_nil=annotations is None),
        "KubeVersion": metadata.kube_version,
        "Dependencies": [_dependency_map(dependency) for dependency in metadata.dependencies or ()],
        "Type": metadata.type,
        "IsRoot": is_root,
    }


def _maintainer_map(maintainer: Maintainer) -> dict[str, Any]:
    return {"Name": maintainer.name, "Email": maintainer.email, "URL": maintainer.url}


def _dependency_map(dependency: Dependency) -> dict[str, Any]:
    return {
        "Name": dependency.name,
        "Version": dependency.version,
        "Repository": dependency.repository,
        "Condition": dependency.condition,
        "Tags": list(dependency.tags),
        "Enabled": dependency.enabled,
        "ImportValues": list(dependency.import_values),
        "Alias": dependency.alias,
    }


def scope_templates(root: ChartNode, values: dict[str, Any], release: dict[str, Any], capabilities: Any) -> Scopes:
    """Return dot for every chart of the tree, and the templates with their charts."""
    scopes = Scopes()
    scopes.add(root, Values(values), release, capabilities)
    return scopes


class Scopes:
    """All templates of a tree {path: text}, each with its dot and folder."""

    def __init__(self) -> None:
        self.sources: dict[str, bytes] = {}
        self.places: dict[str, tuple[Values, str]] = {}

    def add(self, node: ChartNode, values: Values, release: dict[str, Any], capabilities: Any) -> dict[str, Any]:
        subcharts: dict[str, Any] = {}
        dot = {
            "Chart": chart_map(node.metadata, is_root=node.is_root),
            "Files": files_of(node.chart.files),
            "Release": release,
            "Capabilities": capabilities,
            "Values": values,
            "Subcharts": subcharts,
        }
        for child in node.dependencies:
            try:
                inner = values.find_table(child.name)
            except FunctionError:  # Helm treats a name with a dot as a path
                inner = Values({})
            subcharts[child.name] = self.add(child, inner, release, capabilities)
        self.add_templates(node, Values(dot))
        return dot

    def add_templates(self, node: ChartNode, dot: Values) -> None:
        path = node.path
        folder = posixpath.normpath(f"{path}/templates")
        library = node.chart.is_library
        for name, data in node.chart.templates:
            if library and not posixpath.basename(name).startswith("_"):
                continue
            template_path = posixpath.normpath(f"{path}/{name}")
            self.sources[template_path] = data
            self.places[template_path] = (dot, folder)

    def enter(self, template_name: str) -> Values:
        """Return dot of a template, with .Template."""
        dot, folder = self.places[template_name]
        dot["Template"] = Values({"Name": template_name, "BasePath": folder})
        return dot
