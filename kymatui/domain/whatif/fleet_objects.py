"""The objects of a fleet that decide which module versions its runtimes get.

A fleet's objects as one JSON document: what decides about modules, and nothing else.

Kymas keep name, namespace, labels of Kyma's domains (and those that selectors of the catalog name), the requested
modules and the reported versions; Manifests that a forecast depends on keep their module and version. Annotations,
owners, messages, operations and all other fields are left out, so the document has no Secret and no person's data.

A change of a fleet's objects: catalog, Kymas, and lifecycle-manager's settings.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Iterator, Mapping
from operator import is_not
from typing import Any, Final

from msgspec import Struct, field
from msgspec.structs import replace

from kymatui.domain.fleet.fleet_tracker import RuntimeKey
from kymatui.domain.fleet.manifest_summary import ManifestSummary, group_summaries, read_summary
from kymatui.domain.kubernetes.json_reader import mapping_at, objects_at
from kymatui.domain.kubernetes.label_selectors import is_label_value
from kymatui.domain.kubernetes.object_meta import (
    ANNOTATION_MODULE_VERSION,
    LABEL_KYMA_NAME,
    LABEL_MANDATORY,
    LABEL_MODULE_NAME,
    LABEL_SKIP,
    OPERATOR,
    MalformedObject,
    read_ref,
)
from kymatui.domain.kyma.kymas import Kyma, read_kyma
from kymatui.domain.kyma.maintenance_windows import (
    ControllerSettings,
    UnreadablePolicy,
    WindowPolicy,
    policy_document,
    read_policy_document,
)
from kymatui.domain.kyma.template_index import index_templates, mandatory_metas
from kymatui.domain.kyma_edit.label_effects import Labels, with_labels
from kymatui.domain.remote.catalog_sync import name_key
from kymatui.domain.remote.kyma_sync import with_requests
from kymatui.domain.snapshot.snapshots import Object

KYMA: Final = "Kyma"
TEMPLATE: Final = "ModuleTemplate"
RELEASE_META: Final = "ModuleReleaseMeta"
CATALOG_KINDS: Final = (TEMPLATE, RELEASE_META)
CatalogKey = tuple[str, str, str]
"""Kind, namespace and name of an object of the catalog."""
_ReadKyma = tuple[Object, RuntimeKey, Object | MalformedObject]
"""A Kyma, its key, and what is read from it. Holding the object keeps its id from being used again."""


class FleetObjects(Struct, frozen=True):
    """The objects of a control plane, or of a single cluster with its one Kyma.

    `kymas` have the spec that lifecycle-manager works with, which for a runtime is its own Kyma's. `settings` are
    lifecycle-manager's, by namespace. `manifests` are those that a forecast depends on, or all of them. `malformed` are
    Kymas whose modules are unknown.
    """

    cluster: str = ""
    kymas: Mapping[RuntimeKey, Object] = field(default_factory=dict)
    catalog: Mapping[CatalogKey, Object] = field(default_factory=dict)
    settings: Mapping[str, ControllerSettings] = field(default_factory=dict)
    malformed: tuple[MalformedObject, ...] = ()
    taken_at: float = 0.0
    manifests: Mapping[RuntimeKey, tuple[ManifestSummary, ...]] = field(default_factory=dict)

    @property
    def namespaces(self) -> tuple[str, ...]:
        """Return the namespaces of Kymas, and without Kymas those of the catalog."""
        return tuple(sorted({key[0] for key in self.kymas} or {key[1] for key in self.catalog}))

    def settings_of(self, namespace: str) -> ControllerSettings:
        return self.settings.get(namespace) or ControllerSettings()


class FleetObjectsBuilder:
    """Builds a fleet's objects again and again: what is built from the same object stays the same object.

    Use it from one thread.
    """

    def __init__(self) -> None:
        self._kymas: dict[int, _ReadKyma] = {}
        self._listed: tuple[Object, ...] = ()
        self._catalog: Mapping[CatalogKey, Object] = {}

    def build(
        self,
        cluster: str,
        kymas: Iterable[Object],
        catalog: Iterable[Object],
        settings: Mapping[str, ControllerSettings],
        taken_at: float,
    ) -> FleetObjects:
        """Return the objects by key; `taken_at` is in seconds of the Unix clock."""
        usable: dict[RuntimeKey, Object] = {}
        malformed = []
        known: dict[int, _ReadKyma] = {}
        for raw in kymas:
            _, key, kyma = known[id(raw)] = self._kymas.get(id(raw)) or _read(raw)
            if isinstance(kyma, MalformedObject):
                malformed.append(kyma)
            else:
                usable[key] = kyma
        self._kymas = known
        listed = tuple(catalog)
        if not self._catalog or len(listed) != len(self._listed) or any(map(is_not, listed, self._listed)):
            self._listed, self._catalog = listed, {catalog_key(raw): raw for raw in listed}
        return FleetObjects(cluster, usable, self._catalog, settings, tuple(malformed), taken_at)


class ManifestChoice(Struct, frozen=True):
    """The Manifests that a forecast depends on: a fleet has tens of thousands.

    Those with the skip label, whose modules do not change; those of `modules`, whose versions nothing else tells; and
    those that are left of modules that were mandatory: `mandatory` are today's.
    """

    modules: frozenset[str]
    mandatory: frozenset[str]

    @property
    def selectors(self) -> tuple[str, ...]:
        """Return the label selectors that list them."""
        others = f",{LABEL_MODULE_NAME} notin ({','.join(sorted(self.mandatory))})" if self.mandatory else ""
        named = (f"{LABEL_MODULE_NAME} in ({','.join(sorted(self.modules))})",) if self.modules else ()
        return (f"{LABEL_SKIP}=true", f"{LABEL_MANDATORY}=true{others}", *named)

    def covers(self, manifest: ManifestSummary) -> bool:
        left = manifest.mandatory and manifest.module not in self.mandatory
        return manifest.skipped or left or manifest.module in self.modules


def manifest_choice(fleet: FleetObjects) -> ManifestChoice:
    """Return the Manifests that a forecast of a fleet depends on.

    A module that lost its template is reported without a version. Mandatory modules are in no report, and the catalog
    does not say what is installed where one of them lacks its template.
    """
    modules: set[str] = set()
    always: set[str] = set()
    for raw in fleet.kymas.values():
        modules.update(_undisclosed(raw))
    for namespace in fleet.namespaces:
        catalog = [raw for key, raw in fleet.catalog.items() if key[1] == namespace]
        templates, metas = ([raw for raw in catalog if raw.get("kind") == kind] for kind in CATALOG_KINDS)
        index = index_templates(templates, metas, namespace)
        mandatory = {meta.meta.name: f"{meta.meta.name}-{meta.mandatory_version}" for meta in mandatory_metas(index)}
        always |= mandatory.keys()
        if any((namespace, name) not in index.by_name for name in mandatory.values()):
            modules |= mandatory.keys()
    # no label has any other name, so that nothing is installed under it, and a server rejects a selector with it
    return ManifestChoice(frozenset(filter(is_label_value, modules)), frozenset(filter(is_label_value, always)))


def _undisclosed(raw: Object) -> Iterator[str]:
    """Yield the modules whose version a Kyma does not report; it is read as it is, because a fleet has thousands."""
    reported = {str(entry.get("name")): bool(entry.get("version")) for entry in objects_at(raw, "status", "modules")}
    yield from (name for name, has_version in reported.items() if not has_version)
    yield from (
        name for entry in objects_at(raw, "spec", "modules") if (name := str(entry.get("name"))) not in reported
    )


def _read(raw: Object) -> _ReadKyma:
    kyma = read_kyma(raw)
    return raw, (kyma.ref.namespace, kyma.ref.name), with_requests(kyma) if isinstance(kyma, Kyma) else kyma


def build_fleet_objects(
    cluster: str,
    kymas: Iterable[Object],
    catalog: Iterable[Object],
    settings: Mapping[str, ControllerSettings],
    taken_at: float,
) -> FleetObjects:
    """Return the objects by key; `taken_at` is in seconds of the Unix clock."""
    return FleetObjectsBuilder().build(cluster, kymas, catalog, settings, taken_at)


def catalog_key(raw: Object) -> CatalogKey:
    ref = read_ref(raw)
    return ref.kind.kind, ref.namespace, ref.name


FORMAT: Final = "kymatui-fleet/v1"
_DOMAINS: Final = ("kyma-project.io", OPERATOR)
_IDS: Final = tuple(
    f"kyma-project.io/{name}"
    for name in ("global-account-id", "subaccount-id", "instance-id", "runtime-id", "shoot-name")
)
_REPORTED: Final = ("name", "channel", "version", "state", "maintenance", "template", "manifest")
_SPEC: Final = ("channel", "modules", "skipMaintenanceWindows")
Json = dict[str, Any]


def fleet_document(fleet: FleetObjects, key: bytes = b"") -> Json:
    """Return the document; with a `key`, names and ids are replaced by their keyed hashes."""
    named = {name for raw in fleet.catalog.values() for name in _selected(raw)}
    return {
        "format": FORMAT,
        "cluster": "" if key else fleet.cluster,
        "takenAt": fleet.taken_at,
        "settings": {name: _settings(settings) for name, settings in sorted(fleet.settings.items())},
        "catalog": [_catalog_object(raw) for _, raw in sorted(fleet.catalog.items())],
        "kymas": [_kyma(runtime, raw, named, key) for runtime, raw in sorted(fleet.kymas.items())],
        "manifests": [
            _manifest(manifest, key) for _, manifests in sorted(fleet.manifests.items()) for manifest in manifests
        ],
    }


def read_fleet_document(document: object) -> FleetObjects:
    """Return the fleet of a document. Raises ValueError, which names the field."""
    body = _mapping(document, "the document")
    if body.get("format") != FORMAT:
        raise ValueError(f"format is {body.get('format')!r}, not {FORMAT!r}")
    settings = {
        str(name): _read_settings(_mapping(value, f"settings.{name}"))
        for name, value in _mapping(body.get("settings"), "settings").items()
    }
    taken_at = body.get("takenAt")
    if isinstance(taken_at, bool) or not isinstance(taken_at, int | float):
        raise ValueError("takenAt is not a number")
    kymas, catalog = (_objects(body.get(name), name) for name in ("kymas", "catalog"))
    fleet = build_fleet_objects(str(body.get("cluster") or "fleet"), kymas, catalog, settings, float(taken_at))
    manifests = _objects(body.get("manifests", []), "manifests")  # earlier documents have none
    return replace(fleet, manifests=group_summaries(filter(None, map(read_summary, manifests))))


def _objects(value: object, name: str) -> list[Object]:
    if not isinstance(value, list):
        raise ValueError(f"{name} is not a list")
    return [_mapping(element, f"{name}[{index}]") for index, element in enumerate(value)]


def _mapping(value: object, name: str) -> Object:
    if not isinstance(value, Mapping):
        raise ValueError(f"{name} is not an object")
    return value


# settings


def _settings(settings: ControllerSettings) -> Json:
    policy = policy_document(settings.windows) if settings.windows is not None else None
    return {"policy": policy, "restricted": sorted(settings.restricted), "minWindowSeconds": settings.least}


def _read_settings(raw: Object) -> ControllerSettings:
    policy = raw.get("policy")
    windows = read_policy_document(policy) if policy is not None else None
    if isinstance(windows, UnreadablePolicy):
        raise ValueError(f"policy: {windows.reason}")
    restricted, least = raw.get("restricted"), raw.get("minWindowSeconds")
    if not isinstance(restricted, list) or not all(isinstance(name, str) for name in restricted):
        raise ValueError("restricted is not a list of names")
    if isinstance(least, bool) or not isinstance(least, int | float):
        raise ValueError("minWindowSeconds is not a number")
    return ControllerSettings(windows, frozenset(restricted), float(least))


# objects


def _picked(raw: Mapping[str, Any], names: Iterable[str]) -> Json:
    return {name: raw[name] for name in names if name in raw}


def _selected(raw: Object) -> Iterator[str]:
    """Yield the labels that the kymaSelector of a release meta names."""
    if raw.get("kind") != RELEASE_META:
        return
    selector = mapping_at(raw, "spec", "kymaSelector")
    yield from map(str, mapping_at(selector, "matchLabels"))
    yield from (str(expression.get("key")) for expression in objects_at(selector, "matchExpressions"))


def _catalog_object(raw: Object) -> Json:
    metadata = _picked(mapping_at(raw, "metadata"), ("name", "namespace", "labels", "deletionTimestamp"))
    if version := mapping_at(raw, "metadata", "annotations").get(ANNOTATION_MODULE_VERSION):
        metadata["annotations"] = {ANNOTATION_MODULE_VERSION: version}
    return {**_picked(raw, ("apiVersion", "kind")), "metadata": metadata, "spec": dict(mapping_at(raw, "spec"))}


def _kyma(runtime: RuntimeKey, raw: Object, named: set[str], key: bytes) -> Json:
    metadata, status = mapping_at(raw, "metadata"), mapping_at(raw, "status")
    labels = {
        name: _hashed(value, key) if name in _IDS else value
        for name, value in mapping_at(metadata, "labels").items()
        if name in named or name.partition("/")[0] in _DOMAINS
    }
    kept = _picked(metadata, ("creationTimestamp", "deletionTimestamp"))
    modules = [_report(report, key) for report in objects_at(status, "modules")]
    return {
        "apiVersion": raw.get("apiVersion", ""),
        "kind": KYMA,
        "metadata": {"name": _hashed(runtime[1], key), "namespace": runtime[0], "labels": labels, **kept},
        "spec": _picked(mapping_at(raw, "spec"), _SPEC),
        "status": {**_picked(status, ("state", "activeChannel")), "modules": modules},
    }


def _manifest(summary: ManifestSummary, key: bytes) -> Json:
    labels = {LABEL_KYMA_NAME: _hashed(summary.kyma, key), LABEL_MODULE_NAME: summary.module}
    labels |= {LABEL_MANDATORY: "true"} if summary.mandatory else {}
    labels |= {LABEL_SKIP: "true"} if summary.skipped else {}
    return {
        "apiVersion": f"{OPERATOR}/v1beta2",
        "kind": "Manifest",
        "metadata": {"name": _hashed(summary.name, key), "namespace": summary.namespace, "labels": labels},
        "spec": {"version": summary.version},
    }


def _report(raw: Mapping[str, Any], key: bytes) -> Json:
    report = _picked(raw, _REPORTED)
    for name in ("template", "manifest"):
        if name in report:
            reference = mapping_at(report[name], "metadata")
            shown = _picked(reference, ("name", "namespace"))
            if name == "manifest" and "name" in shown:
                shown["name"] = _hashed(shown["name"], key)
            report[name] = {**_picked(mapping_at(report, name), ("apiVersion", "kind")), "metadata": shown}
    return report


def _hashed(value: object, key: bytes) -> object:
    if not key or not isinstance(value, str) or not value:
        return value
    return f"h{hmac.new(key, value.encode(), hashlib.sha256).hexdigest()[:20]}"


class CatalogChange(Struct, frozen=True):
    """A change.

    objects     new or changed ModuleReleaseMetas, ModuleTemplates and Kymas, each with its namespace
    deleted     the ModuleReleaseMetas and ModuleTemplates that are deleted
    labels      labels for all Kymas
    windows     another maintenance policy; None: as it is
    restricted  other restricted modules; None: as they are
    """

    objects: tuple[Object, ...] = ()
    deleted: frozenset[CatalogKey] = frozenset()
    labels: Labels = field(default_factory=dict)
    windows: WindowPolicy | None = None
    restricted: frozenset[str] | None = None

    @property
    def kymas(self) -> tuple[Object, ...]:
        return tuple(raw for raw in self.objects if raw.get("kind") == KYMA)


def apply_change(fleet: FleetObjects, change: CatalogChange) -> FleetObjects:
    """Return the fleet after the change; catalog objects are replaced, Kymas keep what the change does not name."""
    catalog = {key: raw for key, raw in fleet.catalog.items() if key not in change.deleted}
    catalog |= {catalog_key(raw): raw for raw in change.objects if raw.get("kind") != KYMA}
    kymas = dict(fleet.kymas)
    for raw in change.kymas:
        key = name_key(raw)
        kymas[key] = _changed_kyma(kymas.get(key), raw)
    if change.labels:
        kymas = {key: with_labels(raw, change.labels) for key, raw in kymas.items()}
    settings = _changed_settings(fleet.settings, {key[0] for key in kymas}, change)
    return replace(fleet, catalog=catalog, kymas=kymas, settings=settings)


def without_other_kymas(change: CatalogChange, fleet: FleetObjects) -> CatalogChange:
    """Return the change of a part of a fleet: Kymas that are not in the part are left out."""
    kept = tuple(raw for raw in change.objects if raw.get("kind") != KYMA or name_key(raw) in fleet.kymas)
    return replace(change, objects=kept)


def _changed_kyma(before: Object | None, change: Object) -> Object:
    """Return a Kyma with the labels and the fields of the spec that a document has; `spec.modules` is replaced whole.

    A document's status is ignored: lifecycle-manager writes it.
    """
    if before is None:
        before = {key: value for key, value in change.items() if key != "status"}
    labels = mapping_at(change, "metadata", "labels")
    return with_labels({**before, "spec": {**mapping_at(before, "spec"), **mapping_at(change, "spec")}}, labels)


def _changed_settings(
    settings: Mapping[str, ControllerSettings], namespaces: Iterable[str], change: CatalogChange
) -> Mapping[str, ControllerSettings]:
    if change.windows is None and change.restricted is None:
        return settings
    changed = {name: settings.get(name) or ControllerSettings() for name in {*settings, *namespaces}}
    return {
        name: replace(
            current,
            windows=current.windows if change.windows is None else change.windows,
            restricted=current.restricted if change.restricted is None else change.restricted,
        )
        for name, current in changed.items()
    }
