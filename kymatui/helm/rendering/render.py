"""Rendering of a chart with values to manifests, hooks and notes, as helm install does it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from kymatui.errors import HelmError
from kymatui.helm.charts.chart import MANIFEST_SUFFIXES, Chart
from kymatui.helm.charts.coalesce import coalesce_values
from kymatui.helm.charts.dependencies import is_compatible, process_dependencies
from kymatui.helm.charts.trees import ChartNode
from kymatui.helm.charts.warnings import ChartWarning, Warnings, warn_of_names
from kymatui.helm.functions import FUNCTIONS
from kymatui.helm.govalues.text import from_bytes
from kymatui.helm.language.caching import CodeFolder, TemplateCache
from kymatui.helm.language.environment import Environment
from kymatui.helm.language.templates import RenderState, TemplateSet
from kymatui.helm.rendering.builtin_objects import Scopes, scope_templates
from kymatui.helm.rendering.capabilities import KUBE_VERSION, Capabilities
from kymatui.helm.rendering.manifests import Hook, ManifestError, RenderedManifest, sort_manifests
from kymatui.helm.schemas.checking import check_schemas

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
        warnings.add(f"{link} is a symbolic link that leads out of the chart {chart.name}; its content is used")
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
) -> dict[str, str]:
    """Return rendered {path: text} as helm lint does: without installation or cluster, nothing required."""
    release = {
        "Name": "test-release",
        "Namespace": namespace,
        "IsUpgrade": False,
        "IsInstall": False,
        "Revision": 0,
        "Service": "Helm",
    }
    with (state := RenderState(Environment(lint=True))):
        root, coalesced = _prepare(chart, values, check_schema, Warnings())
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
    chart: Chart,
    values: Mapping[str, Any],
    check_schema: bool,
    warnings: Warnings,
    folder: CodeFolder | None = None,
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
            f"chart requires kubeVersion: {constraint} which is incompatible with Kubernetes {version.version}"
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
