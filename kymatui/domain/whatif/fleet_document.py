"""A fleet's objects as one JSON document: what decides about modules, and nothing else.

Kymas keep name, namespace, labels of Kyma's domains (and those that selectors of the catalog name), the requested
modules and the reported versions; Manifests that a forecast depends on keep their module and version. Annotations,
owners, messages, operations and all other fields are left out, so the document has no Secret and no person's data.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from msgspec.structs import replace

from kymatui.domain.fleet.fleet_tracker import RuntimeKey
from kymatui.domain.fleet.manifest_summary import ManifestSummary, group_summaries, read_summary
from kymatui.domain.kubernetes.json_reader import mapping_at, objects_at
from kymatui.domain.kubernetes.object_meta import (
    ANNOTATION_MODULE_VERSION,
    LABEL_KYMA_NAME,
    LABEL_MANDATORY,
    LABEL_MODULE_NAME,
    LABEL_SKIP,
    OPERATOR,
)
from kymatui.domain.kyma.maintenance_windows import (
    ControllerSettings,
    UnreadablePolicy,
    policy_document,
    read_policy_document,
)
from kymatui.domain.snapshot.snapshots import Object
from kymatui.domain.whatif.fleet_objects import KYMA, RELEASE_META, FleetObjects, build_fleet_objects

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
