"""A chart's bundle, as small as it can be."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from kymatui.domain.inventories import Origin
from kymatui.engine.bundles.bundle import Bundle, BundleHook, ChartRelease
from kymatui.helm.rendering.manifests import Hook
from kymatui.helm.rendering.releases import Release, ReleaseHook, Status, to_record
from tests.engine import objects as make
from tests.engine.places import Json, Place


def chart(place: Place, *objects: Json, **more: Any) -> Bundle:
    return chart_in(place.namespace, *objects, **more)


def chart_in(
    namespace: str,
    *objects: Json,
    name: str = "web",
    version: str = "1.0.0",
    hooks: tuple[BundleHook, ...] = (),
    config: Mapping[str, Any] | None = None,
    **more: Any,
) -> Bundle:
    manifest = "".join(f"---\n# Source: web/{body['kind']}.yaml\n{json.dumps(body)}\n" for body in objects)
    metadata = {"name": "web", "version": version, "apiVersion": "v2", "appVersion": version}
    document: Json = {"metadata": metadata, "templates": [], "values": {}, "schema": None, "files": None, "lock": None}
    release = ChartRelease(document, config or {}, manifest, "notes of the chart")
    origin = Origin("helm", "oci://registry.example/web", version)
    return Bundle(name, namespace, origin, version, objects=objects, hooks=hooks, release=release, **more)


def hook(body: Json, *events: str, weight: int = 0, policies: tuple[str, ...] = ()) -> BundleHook:
    annotations = {
        "helm.sh/hook": ",".join(events),
        "helm.sh/hook-weight": str(weight),
        **({"helm.sh/hook-delete-policy": ",".join(policies)} if policies else {}),
    }
    marked = {**body, "metadata": {**body["metadata"], "annotations": annotations}}
    name, kind = body["metadata"]["name"], body["kind"]
    found = Hook(name, kind, f"web/templates/{name}.yaml", json.dumps(marked), events, weight, policies)
    return BundleHook(found, marked)


def marked_by_helm(bundle: Bundle, body: Json) -> Json:
    """An object of a chart as helm writes it; cluster-scoped ones keep their scope."""
    marks = {"meta.helm.sh/release-name": bundle.name, "meta.helm.sh/release-namespace": bundle.namespace}
    scope = {} if body["kind"] in ("ClusterRole", "Namespace") else {"namespace": bundle.namespace}
    metadata = {**scope, **body["metadata"], "annotations": marks}
    return {**body, "metadata": {**metadata, "labels": {"app.kubernetes.io/managed-by": "Helm"}}}


def recorded_by_helm(
    bundle: Bundle, version: int = 1, status: Status = Status.DEPLOYED, *, crds: Sequence[Json] = ()
) -> Release:
    """A revision as helm stores it: of a chart's folder crds/ it has the files, and of CRDs no marks."""
    assert bundle.release is not None
    files = [
        {"name": f"crds/{crd['metadata']['name']}.yaml", "data": base64.b64encode(json.dumps(crd).encode()).decode()}
        for crd in crds
    ]
    source = bundle.release
    document = {**source.chart, **({"files": files} if files else {})}
    hooks = tuple(ReleaseHook(hook.hook) for hook in bundle.hooks)
    when = datetime(2026, 1, 1, tzinfo=UTC)
    return Release(
        bundle.name,
        bundle.namespace,
        version,
        status,
        "Install complete",
        first_deployed=when,
        last_deployed=when,
        chart=document,
        config=source.config,
        manifest=source.manifest,
        hooks=hooks,
        apply_method="ssa",
    )


def helm_installs(place: Place, bundle: Bundle, *, crds: Sequence[Json] = (), config_map: bool = False) -> None:
    """What helm leaves behind of an installation: its record, CRDs without marks, and marked objects."""
    place.raw.apply(make.namespace(bundle.namespace), manager="kubectl")
    for crd in crds:
        if place.get(crd["apiVersion"], crd["kind"], crd["metadata"]["name"], "") is None:
            place.raw.create(crd, manager="helm")
            place.raw.forget_kinds()
    for body in bundle.objects:
        place.raw.apply(marked_by_helm(bundle, body), manager="helm")
    place.raw.create(to_record(recorded_by_helm(bundle, crds=crds), config_map=config_map), manager="Helm")
