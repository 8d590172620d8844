"""Rendering of a chart with values to manifests, hooks and notes, as helm install does it."""

from __future__ import annotations

import base64
import posixpath
from collections.abc import ItemsView, Iterable, Iterator, Mapping, ValuesView
from typing import Any, ClassVar, Final, NamedTuple

from kymatui.errors import HelmError
from kymatui.helm.charts.archives import ChartFile
from kymatui.helm.charts.chart import MANIFEST_SUFFIXES, Chart
from kymatui.helm.charts.coalesce import coalesce_values
from kymatui.helm.charts.dependencies import is_compatible, process_dependencies
from kymatui.helm.charts.glob_patterns import LONGEST_PATTERN, FileGlob, file_glob
from kymatui.helm.charts.metadata import Dependency, Maintainer, Metadata
from kymatui.helm.charts.trees import ChartNode
from kymatui.helm.charts.warnings import ChartWarning, Warnings, warn_of_names
from kymatui.helm.functions import FUNCTIONS
from kymatui.helm.govalues.budget import ELEMENT, charge, watched
from kymatui.helm.govalues.text import from_bytes
from kymatui.helm.govalues.types import Function, FunctionError, Panic, TypedList, TypedMap, Uint8
from kymatui.helm.language.caching import CodeFolder, TemplateCache
from kymatui.helm.language.environment import Environment
from kymatui.helm.language.tables import Values
from kymatui.helm.language.templates import RenderState, TemplateSet
from kymatui.helm.rendering.capabilities import KUBE_VERSION, Capabilities
from kymatui.helm.rendering.manifests import Hook, ManifestError, RenderedManifest, sort_manifests
from kymatui.helm.schemas.checking import check_schemas
from kymatui.helm.yaml.errors import YamlError
from kymatui.helm.yaml.writing import dump_yaml

NOTES: Final = "NOTES.txt"
_KEPT_WITH_CHART: Final = 4


class CrdFile(NamedTuple):
    """A file below crds/: its path and its text, which is no template."""

    path: str
    content: str


class Rendered(NamedTuple):
    """The result of a rendering.

    files      {path of the template: text}, with NOTES.txt and empty files, without partials
    manifests  the documents to install, in installation order
    hooks      the documents to run at events, in installation order
    notes      NOTES.txt
    crds       files below crds/ of the chart and its dependencies, if requested
    values     the values of the templates, with those of all charts
    root       the chart with its enabled dependencies, as a release stores it
    warnings   what was left out of values, dependencies and hooks, and that the chart is deprecated

    If a template renders something other than manifests into a file without a manifest suffix (.txt, say), `files` is
    available all the same; `manifests` and `hooks` raise ManifestError then.
    """

    files: dict[str, str]
    notes: str
    crds: list[CrdFile]
    values: dict[str, Any]
    root: ChartNode
    outcome: tuple[list[RenderedManifest], list[Hook]] | ManifestError
    warnings: tuple[ChartWarning, ...] = ()

    @property
    def manifests(self) -> list[RenderedManifest]:
        return self._sorted()[0]

    @property
    def hooks(self) -> list[Hook]:
        return self._sorted()[1]

    def _sorted(self) -> tuple[list[RenderedManifest], list[Hook]]:
        if isinstance(self.outcome, ManifestError):
            raise self.outcome
        return self.outcome


def render(
    chart: Chart,
    values: Mapping[str, Any],
    *,
    release_name: str,
    namespace: str,
    is_upgrade: bool = False,
    revision: int = 1,
    kube_version: str = KUBE_VERSION,
    api_versions: Iterable[str] = (),
    served: Iterable[str] | None = None,
    include_crds: bool = False,
    sub_notes: bool = False,
    check_schema: bool = True,
    check_manifests: bool = True,
    environment: Environment | None = None,
    cache: TemplateCache | None = None,
) -> Rendered:
    """Render a chart as Helm does for an installation or upgrade.

    values        the user's (see merge_values); unchanged. Python's whole numbers are JSON numbers, which
                  are floats; Int64 stays Int64
    api_versions  added to Helm's default API versions
    served        the API versions of a cluster ("apps/v1", "apps/v1/Deployment"), instead of the defaults
    check_manifests  fail at once for text that is no manifest, instead of on access to `manifests` and `hooks`
    environment   clock, random bytes, `lookup`, and the limits of the rendering
    cache         caches compiled templates, also in its folder if any, so that a new process need not parse them

    Raise HelmError, with Helm's message where Helm has one.
    """
    capabilities = Capabilities(kube_version, api_versions, served)
    templates = cache or TEMPLATES
    release = {
        "Name": release_name,
        "Namespace": namespace,
        "IsUpgrade": is_upgrade,
        "IsInstall": not is_upgrade,
        "Revision": revision,
        "Service": "Helm",
    }
    warnings = Warnings()
    if chart.metadata.deprecated:
        warnings.add(f"the chart {chart.name} is deprecated")
    for link in chart.links:
        warnings.add(f"the symbolic link {link} leads out of the chart {chart.name}; its content is used")
    with (state := RenderState(environment or Environment())):
        root, coalesced = _prepare(chart, values, check_schema, warnings, templates.folder)
        _check_kube_version(chart, capabilities)
        scopes = scope_templates(root, coalesced, release, capabilities)
        files = _execute(root, scopes, state, templates)
        notes = _take_notes(files, chart.name, sub_notes)
        crds = list(_crds(root)) if include_crds else []
        outcome = _sort(files, check_manifests, warnings)
        return Rendered(files, notes, crds, coalesced, root, outcome, warnings.all())


def render_to_lint(
    chart: Chart, values: Mapping[str, Any], *, namespace: str, kube_version: str, check_schema: bool
) -> dict[str, str] | None:
    """Return rendered {path: text} as helm lint does: without installation or cluster, nothing required.

    Return None if values and dependencies do not fit together: helm lint passes over that.
    """
    release = {
        "Name": "test-release",
        "Namespace": namespace,
        "IsUpgrade": False,
        "IsInstall": False,
        "Revision": 0,
        "Service": "Helm",
    }
    with (state := RenderState(Environment(lint=True))):
        try:
            root, first = _prepare(chart, values, False, Warnings())
        except HelmError:
            return None
        coalesced = coalesce_values(root, first)  # once more, so that defaults take the place of nulls
        if check_schema:
            check_schemas(root, coalesced)
        scopes = scope_templates(root, coalesced, release, Capabilities(kube_version))
        return _execute(root, scopes, state, TEMPLATES)


def _sort(
    files: Mapping[str, str], strict: bool, warnings: Warnings
) -> tuple[list[RenderedManifest], list[Hook]] | ManifestError:
    try:
        return sort_manifests({path: text for path, text in files.items() if not path.endswith(NOTES)}, warnings)
    except ManifestError as error:
        if strict and error.path.lower().endswith(MANIFEST_SUFFIXES):
            raise
        return error


def _prepare(
    chart: Chart, values: Mapping[str, Any], check_schema: bool, warnings: Warnings, folder: CodeFolder | None = None
) -> tuple[ChartNode, dict[str, Any]]:
    """Return the enabled dependencies, and the values of all charts."""
    try:
        plain = plain_values(values)
        root = process_dependencies(chart, plain, warnings)
        coalesced = coalesce_values(root, plain, warnings)
        warn_of_names(root, plain, warnings)
        if check_schema:
            check_schemas(root, coalesced, folder)
    except RecursionError as error:
        raise HelmError(f"the values of chart {chart.name} are nested too deeply") from error
    return root, coalesced


def plain_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy with floats for whole numbers, as in all values from YAML or JSON."""
    return {key: _plain(value) for key, value in values.items()}


def _plain(value: Any) -> Any:
    if value.__class__ is int:
        return float(value)
    if value.__class__ is dict:
        return {key: _plain(part) for key, part in value.items()}
    if value.__class__ is list:
        return [_plain(part) for part in value]
    return value


def _check_kube_version(chart: Chart, capabilities: Capabilities) -> None:
    constraint, version = chart.metadata.kube_version, capabilities.kube_version
    if constraint and not is_compatible(constraint, str(version)):
        raise HelmError(
            f"chart requires kubeVersion: {constraint} which is incompatible with Kubernetes {version.version}",
            hint="Another version of the chart may support it; --kube-version renders for another Kubernetes.",
        )


def _execute(root: ChartNode, scopes: Scopes, state: RenderState, cache: TemplateCache) -> dict[str, str]:
    templates = _compiled(root, scopes, cache)
    rendering = templates.start(state)
    files: dict[str, str] = {}
    for path in templates.order:
        if not path.rpartition("/")[2].startswith("_"):
            files[path] = rendering.execute(path, scopes.enter(path))
    cache.keep(templates)
    return files


def _compiled(root: ChartNode, scopes: Scopes, cache: TemplateCache) -> TemplateSet:
    """Return the template set of a tree; a loaded chart caches those of its last dependency choices."""
    kept = root.chart.compiled
    shape = (cache, *_shape(root))
    compiled = kept.get(shape)
    if isinstance(compiled, TemplateSet):
        return compiled
    template_set = cache.get(scopes.sources)
    if len(kept) >= _KEPT_WITH_CHART:
        kept.clear()
    kept[shape] = template_set
    return template_set


def _shape(node: ChartNode) -> Iterator[tuple[str, int]]:
    """Yield the paths and identities of a tree's charts, which live as long as the tree."""
    yield node.path, id(node.chart)
    for child in node.dependencies:
        yield from _shape(child)


def _take_notes(files: Mapping[str, str], name: str, sub_notes: bool) -> str:
    own = f"{name}/templates/{NOTES}"
    return "\n".join([files[path] for path in files if path.endswith(NOTES) and (sub_notes or path == own)])


def _crds(node: ChartNode) -> Iterable[CrdFile]:
    for name, data in node.chart.crd_files():
        yield CrdFile(f"{node.path}/{name}", from_bytes(data))
    for child in node.dependencies:
        yield from _crds(child)


TEMPLATES: Final = TemplateCache(FUNCTIONS, size=32)
"""The template sets that were rendered last, in memory."""


# Dot of templates: .Values, .Chart, .Files, .Release, .Capabilities, .Template and .Subcharts.


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
