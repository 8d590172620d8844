"""A chart's bundle, as small as it can be."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from kymatui.domain.inventories import Origin
from kymatui.engine.bundles.bundle import Bundle, BundleHook, ChartRelease
from kymatui.helm.rendering.manifests import Hook
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
