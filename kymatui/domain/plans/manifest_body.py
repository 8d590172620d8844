"""The Manifest for kymatui's operator: what lifecycle-manager would write, without a Kyma."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec import Struct

from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.object_meta import (
    ANNOTATION_STATE_CHECK,
    LABEL_KYMA_NAME,
    LABEL_MODULE_NAME,
    OPERATOR,
    resource_version_of,
)
from kymatui.domain.kyma.kymas import KYMA_NAMESPACE
from kymatui.domain.kyma.manifests import Manifest, default_resource, default_resource_body
from kymatui.domain.kyma.module_templates import ModuleTemplate
from kymatui.domain.kyma.problems import Actor
from kymatui.domain.kyma.states import State

Json = dict[str, Any]
API_VERSION: Final = f"{OPERATOR}/v1beta2"


class ManifestLayer(Struct, frozen=True):
    """The layer with a module's objects; `repo` begins with `http://` for a registry without TLS."""

    repo: str
    component: str
    digest: str
    is_archive: bool


class ManifestProgress(Struct, frozen=True):
    """The operator's progress with a Manifest; `lost` means that another client changed or deleted it."""

    message: str
    actor: Actor = Actor.NOBODY
    finished: bool = False
    lost: bool = False


def manifest_body(
    template: ModuleTemplate, layer: ManifestLayer, live: Manifest | None, kyma: tuple[str, str] | None = None
) -> Json:
    """Return the Manifest that installs a template's version, keeping an existing one's other fields.

    `kyma` is namespace and name of a Kyma on a control plane: the Manifest is then created next to it, for its
    runtime. uid and resourceVersion are those that were read, so the server rejects the write if another client
    changed or deleted the Manifest.
    """
    name = f"{kyma[1]}-{template.module}" if kyma is not None else template.module
    namespace = kyma[0] if kyma is not None else "" if template.outside else template.meta.namespace
    if live is not None:
        name, namespace = live.meta.name, live.meta.namespace
    labels = {LABEL_MODULE_NAME: template.module}
    if kyma is not None:
        labels[LABEL_KYMA_NAME] = kyma[1]
    metadata: Json = {"name": name, "namespace": namespace or KYMA_NAMESPACE, "labels": labels}
    if template.rules:
        rules = [
            {"jsonPath": rule.path, "value": rule.value, "mappedState": rule.mapped_state} for rule in template.rules
        ]
        metadata["annotations"] = {ANNOTATION_STATE_CHECK: json.dumps(rules)}
    if live is not None:
        metadata["resourceVersion"] = resource_version_of(live.raw)
        metadata["uid"] = live.meta.uid  # without the uid, the server would recreate a deleted Manifest
    spec: Json = {
        "remote": live.remote if live is not None else kyma is not None,
        "version": template.version,
        "customResourcePolicy": live.policy if live is not None else "CreateAndDelete",
        "install": {"name": "raw-manifest", "source": layer_source(layer)},
    }
    if template.data:
        spec["resource"] = default_resource_body(template.data, default_resource(template.data, name))
    if template.manager is not None:
        spec["manager"] = _manager(template)
    return {"apiVersion": API_VERSION, "kind": "Manifest", "metadata": metadata, "spec": spec}


def layer_source(layer: ManifestLayer) -> Json:
    """Return the source of an install, as the Manifest has it."""
    kind = "oci-dir" if layer.is_archive else "oci-ref"
    return {"repo": layer.repo, "name": layer.component, "ref": layer.digest, "type": kind}


def _manager(template: ModuleTemplate) -> Json:
    manager = template.manager
    assert manager is not None
    manager_fields = {
        "group": manager.kind.group,
        "version": manager.kind.version,
        "kind": manager.kind.kind,
        "namespace": manager.namespace,
        "name": manager.name,
    }
    return {key: value for key, value in manager_fields.items() if value or key == "group"}


def manifest_diff(body: Mapping[str, Any], live: Manifest | None) -> Iterator[str]:
    """Yield the fields to write, as lines that begin with `+ `, `- ` or two spaces."""
    before = dict(_fields(live.raw.get("spec"), "spec")) if live is not None else {}
    after = dict(_fields(body["spec"], "spec"))
    for path in dict.fromkeys([*before, *after]):
        old, new = before.get(path), after.get(path)
        if old == new or new is None:  # server-side apply keeps fields of other managers
            yield f"  {path}: {old}"
            continue
        if old is not None:
            yield f"- {path}: {old}"
        yield f"+ {path}: {new}"


def _fields(value: object, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and value:
        for key, below in value.items():
            yield from _fields(below, f"{path}.{key}")
    elif value is not None:
        yield path, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def track_manifest(manifest: Manifest | None, uid: str, generation: int) -> ManifestProgress:
    """Return the progress; `uid` and `generation` are those of the written Manifest."""
    if manifest is None or manifest.meta.uid != uid:
        return ManifestProgress("another client deleted the Manifest", Actor.YOU, lost=True)
    if manifest.meta.generation < generation:
        return ManifestProgress("accepted; waiting for the watch")
    if manifest.meta.generation > generation:
        return ManifestProgress("another client changed the Manifest meanwhile", Actor.YOU, lost=True)
    if not _is_current(manifest):
        return ManifestProgress("waiting for the operator to start", Actor.OPERATOR)
    words = manifest.operation or manifest.state
    if manifest.state == State.READY:
        return ManifestProgress(f"{manifest.module} {manifest.version} is ready", finished=True)
    return ManifestProgress(words, Actor.OPERATOR)


def _is_current(manifest: Manifest) -> bool:
    """Return whether the status is about the current generation, by its conditions."""
    conditions = JsonReader(manifest.raw).child("status").children("conditions")
    return any(condition.integer("observedGeneration") >= manifest.meta.generation for condition in conditions)
