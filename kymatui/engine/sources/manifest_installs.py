"""The installs of a Manifest as bundles; one that fails does not affect the others.

v1alpha1 has several installs, with a config layer for charts and a layer of CRDs; v1beta2 has one install and
`localizedImages`. Of several installs, the first has the CRDs and the last the default CR.

The config layer of a module: for each install, flags of Helm's client and values for the chart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from msgspec import Struct, field
from msgspec.structs import replace

from kymatui.domain.kubernetes.json_reader import texts_at
from kymatui.domain.kyma.manifests import (
    HelmSource,
    ImageSpec,
    KustomizeSource,
    Manifest,
    ManifestInstall,
    UnknownSource,
)
from kymatui.engine.bundles.bundle import Bundle
from kymatui.engine.bundles.tar_archives import unpack
from kymatui.engine.bundles.yaml_objects import read_objects
from kymatui.engine.cluster.ports import Blobs, Object
from kymatui.engine.plans.transforms import apply_transforms, with_images
from kymatui.engine.sources import chart_source, oci_layers, render_target
from kymatui.engine.sources.chart_source import LoadedChart
from kymatui.engine.sources.oci_layers import LayerRef, Shape
from kymatui.engine.sources.render_target import ReleaseTargets, RenderTarget
from kymatui.errors import HelmError, KymatuiError, SourceError
from kymatui.helm.charts.chart import Chart
from kymatui.helm.charts.strvals import set_values
from kymatui.helm.charts.values import merge_values
from kymatui.helm.yaml.errors import YamlError
from kymatui.helm.yaml.reading import load_yaml
from kymatui.ocm.component_location import COMPONENTS

_WORDS_OF_BOOLS: Final = """
ClientOnly Force CreateNamespace DryRun DisableHooks Replace Wait WaitForJobs Devel DependencyUpdate GenerateName Atomic
SkipCRDs SubNotes DisableOpenAPIValidation IncludeCRDs IsUpgrade UseReleaseName InsecureSkipTLSverify PassCredentialsAll
Verify
"""
_WORDS_OF_TEXTS: Final = """
Namespace ReleaseName NameTemplate Description OutputDir CaFile CertFile KeyFile Keyring Password RepoURL Username
Version
"""
_BOOLS: Final = frozenset(_WORDS_OF_BOOLS.split())
_TEXTS: Final = frozenset(_WORDS_OF_TEXTS.split())
_NUMBERS: Final = frozenset(["Timeout"])
_USED: Final = frozenset(["Namespace", "CreateNamespace", "ReleaseName", "DisableHooks", "SkipCRDs", "IncludeCRDs"])
_USED_OF_CHARTS: Final = frozenset(["Version", "RepoURL"])


class InstallConfig(Struct, frozen=True):
    """One entry of `configs`; `flags` are fields of Helm's Install action, `overrides` a --set text."""

    flags: Mapping[str, bool | int | str] = field(default_factory=dict)
    overrides: str = ""

    def text(self, name: str) -> str:
        return str(self.flags.get(name, ""))

    def is_set(self, name: str) -> bool:
        return self.flags.get(name) is True

    @property
    def unused(self) -> list[str]:
        """Return flags about Helm's client, which have no effect here."""
        return sorted(name for name in self.flags if name not in _USED | _USED_OF_CHARTS)


def read_configs(data: bytes, where: str) -> dict[str, InstallConfig]:
    """Read the entries of a config layer by install name, empty for an empty layer. Raises SourceError."""
    try:
        document = load_yaml(unpack(data, where))
    except YamlError as error:
        raise SourceError(f"{where}: {error.summary}") from None
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise SourceError(f"{where}: a config layer must be a map with `configs`")
    entries = document.get("configs")
    if entries is None:
        return {}
    if not isinstance(entries, list):
        raise SourceError(f"{where}: configs is not a list", hint="write `configs: [{name, clientConfig, overrides}]`")
    configs: dict[str, InstallConfig] = {}
    for number, entry in enumerate(entries, 1):
        name, config = _entry(entry, f"{where}: configs[{number - 1}]")
        configs.setdefault(name, config)
    return configs


def _entry(entry: Any, where: str) -> tuple[str, InstallConfig]:
    if not isinstance(entry, dict):
        raise SourceError(f"{where} is not a map")
    texts: dict[str, str] = {}
    for key in ("name", "clientConfig", "overrides"):
        value = entry.get(key)
        if value is not None and not isinstance(value, str):
            raise SourceError(f"{where}: {key} is not a string", hint="quote it, as Helm's --set takes it: 'a=1,b.c=2'")
        texts[key] = value or ""
    if not texts["name"]:
        raise SourceError(f"{where} has no name", hint="use the name of the install that it configures")
    _parse(texts["overrides"], f"{where}: overrides")
    return texts["name"], InstallConfig(_flags(texts["clientConfig"], f"{where}: clientConfig"), texts["overrides"])


def _parse(line: str, where: str) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    try:
        set_values(fields, line)
    except HelmError as error:
        raise SourceError(f"{where}: {error}") from error
    return fields


def _flags(line: str, where: str) -> dict[str, bool | int | str]:
    """Return the flags of Helm's Install action; others are ignored, as in module-manager."""
    flags: dict[str, bool | int | str] = {}
    for name, value in _parse(line, where).items():
        expected = _expected(name)
        if expected is None:
            continue
        if not isinstance(value, expected) or (expected is int and isinstance(value, bool)):
            words = {bool: "true or false", int: "a whole number", str: "text"}[expected]
            raise SourceError(f"{where}: unsupported flag value: {name} is {_shown(value)}, expected {words}")
        flags[name] = expected(value)
    return flags


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value) if isinstance(value, str) else str(int(value)) if isinstance(value, int) else repr(value)


def _expected(name: str) -> type[bool] | type[int] | type[str] | None:
    if name in _BOOLS:
        return bool
    if name in _NUMBERS:
        return int
    return str if name in _TEXTS else None


V1BETA2: Final = "operator.kyma-project.io/v1beta2"
RAW_MANIFEST: Final = "raw-manifest.yaml"


class InstallFailure(Struct, frozen=True):
    """An install that could not be read."""

    name: str
    error: KymatuiError


class InstallReader:
    """The reader of one Manifest's installs.

    target  the target cluster; a function if it depends on the release (whether it is installed)
    folder  parent folder of local kustomizations; None: not allowed
    namespace  namespace of installs that name none
    authenticated  creates blobs with the pull Secrets of a label selector (`credSecretSelector`); None: no credentials
    """

    def __init__(
        self,
        manifest: Manifest,
        blobs: Blobs,
        target: RenderTarget | ReleaseTargets | None = None,
        *,
        folder: Path | None = None,
        namespace: str = "default",
        authenticated: Callable[[Mapping[str, Any]], Blobs] | None = None,
    ) -> None:
        self._manifest = manifest
        self._authenticated = authenticated
        self._blobs = blobs
        self._target = target or RenderTarget()
        self._folder = folder
        self._namespace = namespace
        self._configs: dict[str, InstallConfig] | None = None

    def read(self) -> list[Bundle | InstallFailure]:
        """Return all installs in order; an install's error is returned, not raised."""
        return [self._read(install) for install in self._manifest.installs]

    def _read(self, install: ManifestInstall) -> Bundle | InstallFailure:
        try:
            return self.bundle(install)
        except KymatuiError as error:
            return InstallFailure(install.name, error)

    def bundle(self, install: ManifestInstall) -> Bundle:
        """Return the bundle of one install. Raises SourceError, HelmError, RegistryError, the port's errors."""
        if not install.name:
            raise SourceError(f"an install of Manifest {self._manifest.ref} has no name")
        bundle = self._from_source(install)
        first = install is self._manifest.installs[0]
        last = install is self._manifest.installs[-1]
        bundle = replace(
            bundle,
            version=self._manifest.version or bundle.version,
            crds=(*(self.definitions() if first else ()), *bundle.crds),
            resource=self.resource() if last else None,
        )
        return apply_transforms(bundle, [with_images(self._images())])

    def _from_source(self, install: ManifestInstall) -> Bundle:
        match install.source:
            case ImageSpec() as source:
                return self._from_layer(install.name, source)
            case HelmSource(url, chart):
                return self._from_repository(install.name, url, chart, "")
            case KustomizeSource(url, path):
                return self._from_kustomization(install.name, url, path)
            case UnknownSource(kind):
                raise SourceError(
                    f"install {install.name} has the unknown source type {kind!r}",
                    hint="use oci-ref, oci-dir, helm-chart or kustomize",
                )

    # kustomizations

    def _from_kustomization(self, name: str, url: str, path: str) -> Bundle:
        """Build an archive at a URL with the folder after `//`, else a local folder, if allowed."""
        if url:
            return render_target.from_address(url, self._blobs, name=name, namespace=self._namespace)
        if not path:
            raise SourceError(f"install {name}: a kustomization needs a url or a path")
        if self._folder is None:
            raise SourceError(
                f"install {name}: the kustomization {path} is outside the allowed folders of this machine",
                hint="allow its folder with --kustomizations",
            )
        return render_target.from_path(self._folder / path, name=name, namespace=self._namespace, boundary=self._folder)

    # layers

    def _from_layer(self, name: str, source: ImageSpec) -> Bundle:
        if source.type == "helm-chart":
            return self._from_repository(name, source.repo, source.name, source.ref)
        ref = self._ref(source)
        data, origin = self._fetched(source), oci_layers.layer_origin(ref, self._manifest.version)
        if source.type == "oci-dir":
            layer = oci_layers.Layer(Shape.MANIFEST, oci_layers.raw_manifest(data, str(ref), archive=True))
        else:
            layer = oci_layers.read_layer(data, str(ref))
        if layer.shape is Shape.MANIFEST:
            objects = tuple(read_objects(layer.manifest, f"{ref} {RAW_MANIFEST}"))
            return Bundle(name, self._namespace, origin, objects=objects)
        files = dict(layer.files or {})
        if layer.shape is Shape.CHART:
            chart = Chart.from_files(files)
            return self._from_chart(name, LoadedChart(chart, replace(origin, version=chart.version)))
        built = render_target.from_files(files, str(ref), name=name, namespace=self._namespace)
        return replace(built, origin=origin)

    def _ref(self, source: ImageSpec) -> LayerRef:
        """Return the layer's location; since v1beta2 it is in the component's repository."""
        new = self._manifest.raw.get("apiVersion") == V1BETA2
        return LayerRef.of(source.repo, source.name, source.ref, folder=COMPONENTS if new else "")

    def definitions(self) -> tuple[Object, ...]:
        """Return the CRDs of the layer `crds`."""
        if self._manifest.crds is None:
            return ()
        ref = self._ref(self._manifest.crds)
        return tuple(oci_layers.definitions(self._fetched(self._manifest.crds), str(ref)))

    def _fetched(self, source: ImageSpec) -> bytes:
        blobs = self._blobs
        if source.secret_selector is not None and self._authenticated is not None:
            blobs = self._authenticated(source.secret_selector)
        return oci_layers.fetch(self._ref(source), blobs)

    # charts

    def _from_repository(self, name: str, url: str, chart: str, version: str) -> Bundle:
        if not url or not chart:
            raise SourceError(f"install {name}: a chart needs a repository and a name")
        config = self.config(name)
        repository = config.text("RepoURL") or url
        loaded = chart_source.fetch_chart(
            chart, self._blobs, repository=repository, version=version or config.text("Version")
        )
        return self._from_chart(name, loaded)

    def _from_chart(self, name: str, loaded: LoadedChart) -> Bundle:
        config = self.config(name)
        release, namespace = config.text("ReleaseName") or name, config.text("Namespace") or self._namespace
        bundle = chart_source.chart_bundle(
            loaded,
            name=release,
            namespace=namespace,
            values=merge_values(set=[config.overrides] if config.overrides else []),
            target=self._target(release, namespace) if callable(self._target) else self._target,
            include_crds=not config.is_set("SkipCRDs"),
        )
        if config.is_set("DisableHooks"):
            bundle = replace(bundle, hooks=())
        if config.flags.get("CreateNamespace") is False:
            bundle = replace(bundle, create_namespace=False)
        unused = tuple(f"clientConfig of {name}: {option} has no effect here." for option in config.unused)
        return replace(bundle, notes=(*bundle.notes, *unused))

    def config(self, name: str) -> InstallConfig:
        """Return the config of an install, empty without a layer or entry."""
        if self._configs is None:
            spec = self._manifest.config
            usable = spec is not None and spec.type == "oci-ref" and spec.ref
            self._configs = read_configs(self._fetched(spec), str(self._ref(spec))) if spec and usable else {}
        return self._configs.get(name, InstallConfig())

    # fields of the whole Manifest

    def resource(self) -> Object | None:
        """Return the default CR without status, and without the `resource` field of the oldest Manifests."""
        resource = self._manifest.resource
        if not resource:
            return None
        return {key: value for key, value in resource.items() if key not in ("status", "resource")}

    def _images(self) -> list[str]:
        return texts_at(self._manifest.raw, "spec", "localizedImages")
