"""A chart and values become manifests, hooks and notes: helm install's way from values to what would be installed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from kymatui.errors import HelmError
from kymatui.helm.capabilities import KUBE_VERSION, Capabilities
from kymatui.helm.charts import MANIFEST_SUFFIXES, Chart
from kymatui.helm.coalescing import coalesce_values
from kymatui.helm.dependencies import is_compatible, process_dependencies
from kymatui.helm.functions import FUNCTIONS
from kymatui.helm.govalues.text import from_bytes
from kymatui.helm.language.caching import TemplateCache
from kymatui.helm.language.environment import Environment
from kymatui.helm.language.templates import TemplateSet
from kymatui.helm.manifests import Hook, ManifestError, RenderedManifest, sort_manifests
from kymatui.helm.schemas.checking import check_schemas
from kymatui.helm.scoping import Scopes, scope_templates
from kymatui.helm.trees import ChartNode

NOTES: Final = "NOTES.txt"
_KEPT_WITH_CHART: Final = 4


class CrdFile(NamedTuple):
    """A file below crds/: its path in what is rendered, and its text, which is no template."""

    path: str
    content: str


class Rendered(NamedTuple):
    """What a chart renders to.

    files      {path of the template: text}, NOTES.txt and empty files included, partials not
    manifests  what is installed, in that order
    hooks      what runs at events, in the order of installation
    notes      NOTES.txt
    crds       files below crds/, of the chart and of its dependencies, where they were asked for
    values     the values that the templates had, with those of all charts
    root       the chart with the dependencies that were in, as a release keeps it

    A chart whose templates render something else than manifests into a file that is not named as one (.txt, say) has
    `files` all the same; `manifests` and `hooks` raise ManifestError then.
    """

    files: dict[str, str]
    notes: str
    crds: list[CrdFile]
    values: dict[str, Any]
    root: ChartNode
    outcome: tuple[list[RenderedManifest], list[Hook]] | ManifestError

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
    """Renders a chart as Helm does for an installation (or an upgrade).

    values        the user's (see merge_values); they stay as they are. Whole numbers of Python count as JSON's, that
                  is as floats; Int64 stays what it is
    api_versions  come on top of those that Helm knows by itself
    served        what a cluster serves ("apps/v1", "apps/v1/Deployment"), instead of what Helm knows by itself
    check_manifests  whether text that is no manifest fails at once, or when `manifests` and `hooks` are asked for
    environment   clock, random bytes, `lookup`, and the limits of the rendering
    cache         keeps compiled templates, also in a folder if it has one, so that a new process need not parse them

    Raises HelmError, with Helm's words where Helm has them.
    """
    capabilities = Capabilities(kube_version, api_versions, served)
    root, coalesced = _prepare(chart, values, check_schema)
    _check_kube_version(chart, capabilities)
    release = {
        "Name": release_name,
        "Namespace": namespace,
        "IsUpgrade": is_upgrade,
        "IsInstall": not is_upgrade,
        "Revision": revision,
        "Service": "Helm",
    }
    scopes = scope_templates(root, coalesced, release, capabilities)
    files = _execute(root, scopes, environment or Environment(), cache or TEMPLATES)
    notes = _take_notes(files, chart.name, sub_notes)
    crds = list(_crds(root)) if include_crds else []
    return Rendered(files, notes, crds, coalesced, root, _sort(files, check_manifests))


def render_to_lint(
    chart: Chart, values: Mapping[str, Any], *, namespace: str, kube_version: str, check_schema: bool
) -> dict[str, str]:
    """{path of the template: text} as helm lint has it: of no installation, whatever the cluster, nothing required."""
    root, coalesced = _prepare(chart, values, check_schema)
    release = {
        "Name": "test-release",
        "Namespace": namespace,
        "IsUpgrade": False,
        "IsInstall": False,
        "Revision": 0,
        "Service": "Helm",
    }
    scopes = scope_templates(root, coalesced, release, Capabilities(kube_version))
    return _execute(root, scopes, Environment(lint=True), TEMPLATES)


def _sort(files: Mapping[str, str], strict: bool) -> tuple[list[RenderedManifest], list[Hook]] | ManifestError:
    try:
        return sort_manifests({path: text for path, text in files.items() if not path.endswith(NOTES)})
    except ManifestError as error:
        if strict and error.path.lower().endswith(MANIFEST_SUFFIXES):
            raise
        return error


def _prepare(chart: Chart, values: Mapping[str, Any], check_schema: bool) -> tuple[ChartNode, dict[str, Any]]:
    """The dependencies that are in, and the values of all charts."""
    try:
        given = plain_values(values)
        root = process_dependencies(chart, given)
        coalesced = coalesce_values(root, given)
        if check_schema:
            check_schemas(root, coalesced)
    except RecursionError as error:
        raise HelmError(f"the values of chart {chart.name} are nested too deeply") from error
    return root, coalesced


def plain_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """A copy whose whole numbers are floats, as in all values that come out of YAML or JSON."""
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
    wanted, version = chart.metadata.kube_version, capabilities.kube_version
    if wanted and not is_compatible(wanted, str(version)):
        raise HelmError(f"chart requires kubeVersion: {wanted} which is incompatible with Kubernetes {version.version}")


def _execute(root: ChartNode, scopes: Scopes, environment: Environment, cache: TemplateCache) -> dict[str, str]:
    templates = _compiled(root, scopes, cache)
    rendering = templates.start(environment)
    files: dict[str, str] = {}
    for path in templates.order:
        if not path.rpartition("/")[2].startswith("_"):
            files[path] = rendering.execute(path, scopes.enter(path))
    cache.keep(templates)
    return files


def _compiled(root: ChartNode, scopes: Scopes, cache: TemplateCache) -> TemplateSet:
    """The templates of a tree; a chart that stays loaded keeps those of its last choices of dependencies."""
    kept = root.chart.compiled
    shape = (cache, *_shape(root))
    found = kept.get(shape)
    if isinstance(found, TemplateSet):
        return found
    made = cache.get(scopes.sources)
    if len(kept) >= _KEPT_WITH_CHART:
        kept.clear()
    kept[shape] = made
    return made


def _shape(node: ChartNode) -> Iterator[tuple[str, int]]:
    """Which charts are where; those of a tree live as long as the tree."""
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
