"""Charts as bundles: loaded from a path, URL, registry or repository, and rendered like helm install."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from kymatui.domain.inventories import Origin
from kymatui.engine.bundles.addresses import content_digest, redact_address
from kymatui.engine.bundles.bundle import Bundle, BundleHook, ChartRelease, compare_renderings
from kymatui.engine.bundles.yaml_objects import document_key, read_objects, unique_documents
from kymatui.engine.cluster.kind_order import defined_kinds
from kymatui.engine.cluster.ports import Blobs, FetchedChart, Object
from kymatui.engine.sources.chart_lookup import RecordedLookup
from kymatui.engine.sources.render_target import RenderTarget
from kymatui.errors import CancelledError, ClusterError, HelmError, RefusedError
from kymatui.helm.charts.chart import Chart, load_archive, load_chart
from kymatui.helm.charts.coalesce import reuse_values
from kymatui.helm.charts.dependencies import check_installable
from kymatui.helm.charts.values import merge_values
from kymatui.helm.charts.warnings import warning_sentence
from kymatui.helm.language.environment import Environment
from kymatui.helm.rendering.manifests import Hook
from kymatui.helm.rendering.releases import chart_document, join_manifests
from kymatui.helm.rendering.render import Rendered, render
from kymatui.helm.yaml.limits import YamlBudget

LOOKUP_NOTE: Final = "Values that the chart derives from Secrets of the cluster are hidden."
_PLACE: Final = re.compile(r"(?:execution error at \(|template: )?([\w./-]+(?::\d+){1,2})")
LONGEST_NAME: Final = 53  # Helm's limit for release names
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


class LoadedChart(Struct, frozen=True):
    """A chart, its origin, and the warnings of what it was fetched with."""

    chart: Chart
    origin: Origin
    warnings: tuple[str, ...] = ()


def from_path(path: str | Path, *, links_out: bool = False) -> LoadedChart:
    """Load a chart from a folder or archive; `links_out` follows links out of its repository. Raises HelmError."""
    chart = load_chart(path, links_out=links_out)
    root = Path(path)
    digest = content_digest(root.read_bytes()) if root.is_file() else f"sha256:{chart.digest}"
    return LoadedChart(chart, Origin("helm", str(path), chart.version, digest))


def from_archive(data: bytes, address: str) -> LoadedChart:
    """Load a chart from an archive's bytes. Raises HelmError that names `address`."""
    try:
        chart = load_archive(data)
    except HelmError as error:
        raise HelmError(f"{redact_address(address)}: {error}", hint=error.hint) from error
    return LoadedChart(chart, Origin("helm", redact_address(address), chart.version, content_digest(data)))


def fetch_chart(reference: str, blobs: Blobs, *, repository: str = "", version: str = "") -> LoadedChart:
    """Fetch a chart by `oci://` reference, URL, or name in a repository; default is the newest stable.

    Raises HelmError, and the port's errors.
    """
    return load_fetched_chart(blobs.chart(reference, repository=repository, version=version), reference, repository)


def load_fetched_chart(fetched: FetchedChart, reference: str, repository: str = "") -> LoadedChart:
    """Load a fetched chart. Raises HelmError."""
    if not repository:
        return replace(from_archive(fetched.content, reference), warnings=fetched.warnings)
    where = redact_address(repository).rstrip("/")
    loaded = from_archive(fetched.content, f"{where}/{reference}")
    return replace(loaded, origin=replace(loaded.origin, repository=where), warnings=fetched.warnings)


def locate_chart(
    reference: str, blobs: Blobs, *, repository: str = "", version: str = "", links_out: bool = False
) -> LoadedChart:
    """Load a chart from a path if it exists, else like `fetch_chart`."""
    if not repository and "://" not in reference and Path(reference).exists():
        return from_path(reference, links_out=links_out)
    return fetch_chart(reference, blobs, repository=repository, version=version)


def updated_values(earlier: Mapping[str, Any], **flags: Iterable[Any]) -> dict[str, Any]:
    """Return the values of helm's flags over `earlier` ones of the release. Raises HelmError."""
    return reuse_values(merge_values(**flags), earlier)


def chart_bundle(
    loaded: LoadedChart,
    *,
    name: str,
    namespace: str = "default",
    values: Mapping[str, Any] | None = None,
    target: RenderTarget | None = None,
    include_crds: bool = True,
    check_schema: bool = True,
    environment: Environment | None = None,
) -> Bundle:
    """Return the bundle of a chart, installed as release `name`.

      values        those of the user, see `updated_values`
      include_crds  include the files below crds/ (False is Helm's --skip-crds)
      check_schema  refuse values that the chart's schema does not allow
      environment   clock, randomness and limits of the rendering; its `lookup` is the target's

    Raises HelmError with file and line, in Helm's words; SourceError for a manifest that is not an object.
    """
    _check_installable(loaded.chart, name)
    rendering = _Rendering(
        loaded, name, namespace, dict(values or {}), target or RenderTarget(), include_crds, check_schema
    )
    return rendering.bundle(environment or Environment())


class _Rendering:
    """One chart with its values, to be rendered once, and again with other values if what `lookup` read is private."""

    def __init__(
        self,
        loaded: LoadedChart,
        name: str,
        namespace: str,
        config: dict[str, Any],
        target: RenderTarget,
        include_crds: bool,
        check_schema: bool,
    ) -> None:
        self._loaded = loaded
        self._name, self._namespace = name, namespace
        self._config = config
        self._target = target
        self._include_crds = include_crds
        self._check_schema = check_schema

    def bundle(self, environment: Environment) -> Bundle:
        if self._target.lookup is None:
            return self._bundle(environment)
        lookup = RecordedLookup(self._target.lookup, self._own_kinds, all_private=self._target.all_private)
        limits = environment.limits._replace(seconds=environment.limits.seconds / 4)
        others = [environment._replace(lookup=other, limits=limits) for other in lookup.alternatives()]
        outcome = self._outcome(environment._replace(lookup=lookup))
        if isinstance(outcome, Bundle):
            return _with_hidden(outcome, self._first(others)) if lookup.read else outcome
        if lookup.read and not any(self._fails_alike(other, outcome) for other in others):
            outcome = self._withheld(outcome, lookup)
        raise outcome

    def _own_kinds(self) -> set[tuple[str, str]]:
        """Return group and kind of the CRDs below crds/ of the chart and its dependencies."""
        files, charts = [], [self._loaded.chart]
        while charts:
            chart = charts.pop()
            charts += chart.dependencies
            files += chart.crd_files()
        crds = (body for file in files for body in read_objects(file.data, file.name))
        return {(kind.group, kind.kind) for kind in defined_kinds(crds)}

    def _outcome(self, environment: Environment) -> Bundle | Exception:
        """Return the bundle, or why the chart fails. Raise CancelledError."""
        try:
            return self._bundle(environment)
        except Exception as error:  # noqa: BLE001 (it is raised later, if it may be)
            cause = error.__cause__
            if isinstance(cause, CancelledError):
                raise cause from None
            return HelmError(str(error), hint=cause.hint) if isinstance(cause, ClusterError | RefusedError) else error

    def _bundle(self, environment: Environment) -> Bundle:
        chart = self._loaded.chart
        rendered, budget = self._rendered(environment), YamlBudget()
        objects, notes = _objects(rendered, budget)
        document, manifest = chart_document(rendered.root), join_manifests(rendered.manifests)
        return Bundle(
            self._name,
            self._namespace,
            self._loaded.origin,
            chart.version,
            objects=objects,
            crds=tuple(_crds(rendered, budget)) if self._include_crds else (),
            hooks=tuple(bundle_hook for hook in rendered.hooks for bundle_hook in _hook(hook, budget)),
            release=ChartRelease(document, self._config, manifest, rendered.notes),
            notes=(*notes, *map(warning_sentence, self._loaded.warnings), *(w.sentence for w in rendered.warnings)),
        )

    def _rendered(self, environment: Environment) -> Rendered:
        target = self._target
        return render(
            self._loaded.chart,
            self._config,
            release_name=self._name,
            namespace=self._namespace,
            is_upgrade=target.installed,
            revision=target.revision,
            kube_version=target.kube_version,
            served=target.served,
            include_crds=True,
            check_schema=self._check_schema,
            environment=environment,
        )

    def _first(self, environments: Iterable[Environment]) -> Bundle | None:
        """Return the first bundle that can be rendered, None if there is none."""
        outcomes = map(self._outcome, environments)
        return next((outcome for outcome in outcomes if isinstance(outcome, Bundle)), None)

    def _fails_alike(self, environment: Environment, error: Exception) -> bool:
        """Return whether the chart fails alike with other values, so that the message has none of what is private."""
        other = self._outcome(environment)
        return type(other) is type(error) and str(other) == str(error)

    def _withheld(self, error: Exception, lookup: RecordedLookup) -> HelmError:
        name, match = self._loaded.chart.name, _PLACE.match(str(error))
        where = f" at {match[1]}" if match is not None and match[1].startswith(f"{name}/") else ""
        return HelmError(
            f"chart {name} fails{where}; the message is left out, because it depends on {' and '.join(lookup.read)} "
            "that a template reads with lookup",
            hint="read the template at this place",
        )


def _with_hidden(bundle: Bundle, plain: Bundle | None) -> Bundle:
    """Return the bundle with what of it depends on private objects: all of it without another rendering."""
    assert bundle.release is not None
    objects = (*bundle.objects, *(hook.body for hook in bundle.hooks))
    others = (*plain.objects, *(hook.body for hook in plain.hooks)) if plain is not None else None
    hidden = compare_renderings(objects, others)
    notes = plain.release.notes if plain is not None and plain.release is not None else ""
    hidden = replace(hidden, notes=hidden.lines(bundle.release.notes, notes))
    return replace(bundle, hidden=hidden, notes=(*map(hidden.text, bundle.notes), LOOKUP_NOTE))


def _check_installable(chart: Chart, name: str) -> None:
    if len(name) > LONGEST_NAME or not _NAME.fullmatch(name):
        raise HelmError(
            f"release name {name!r} is invalid",
            hint=f"lowercase letters, digits, '-' and '.', at most {LONGEST_NAME} characters",
        )
    check_installable(chart)


def _objects(rendered: Rendered, budget: YamlBudget) -> tuple[tuple[Object, ...], Iterable[str]]:
    """Return the objects, with notes about duplicates, which helm would reject or overwrite."""
    read = [body for file in rendered.manifests for body in read_objects(file.content, file.path, budget=budget)]
    kept = unique_documents(read)
    first = {id(body) for body in kept}
    twice = dict.fromkeys(f"{body['kind']} {document_key(body)[1]}" for body in read if id(body) not in first)
    return tuple(kept), [f"The chart renders {name} more than once; the first is used." for name in twice]


def _crds(rendered: Rendered, budget: YamlBudget) -> list[Object]:
    files = rendered.crds
    return unique_documents(body for file in files for body in read_objects(file.content, file.path, budget=budget))


def _hook(hook: Hook, budget: YamlBudget) -> list[BundleHook]:
    return [BundleHook(hook, body) for body in read_objects(hook.content, hook.path, budget=budget)]
