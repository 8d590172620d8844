"""The Manifest that a Kyma's controller writes for a module, as lifecycle-manager writes it."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

from kymatui.domain.kubernetes.object_meta import (
    ANNOTATION_STATE_CHECK,
    ANNOTATION_UNMANAGED,
    LABEL_CHANNEL,
    LABEL_KYMA_NAME,
    LABEL_MANAGED_BY,
    LABEL_MANDATORY,
    LABEL_MODULE_NAME,
    OPERATOR,
)
from kymatui.domain.kyma.kymas import KYMA_NAMESPACE, Kyma
from kymatui.domain.kyma.manifests import Manifest, manifest_name
from kymatui.domain.kyma.module_templates import ModuleTemplate
from kymatui.domain.modules.module_outcomes import WorkItem
from kymatui.domain.plans.manifest_body import API_VERSION, ManifestLayer, layer_source

Json = dict[str, Any]
MANAGED_BY: Final = "lifecycle-manager"
"""The value of the label managed-by on Kymas and Manifests, whichever controller wrote it."""
LABEL_CONTROLLER: Final = f"{OPERATOR}/controller-name"
ANNOTATION_COMPONENT: Final = f"{OPERATOR}/ocm-component-name"
_ANNOTATION_FQDN: Final = f"{OPERATOR}/fqdn"


class ModuleContent(Struct, frozen=True):
    """The content of a module's version: layers of its component, and the images of the component's descriptor."""

    component: str
    version: str
    layer: ManifestLayer
    images: tuple[str, ...] = ()
    config: ManifestLayer | None = None


def kyma_manifest(
    kyma: Kyma, item: WorkItem, template: ModuleTemplate, content: ModuleContent, channel: str, *, mandatory: bool
) -> Json:
    """Return the Manifest of a module; a mandatory one has no channel."""
    name = manifest_name(kyma.meta.name, content.component, item.name)
    labels = {LABEL_KYMA_NAME: kyma.meta.name, LABEL_MODULE_NAME: item.name, LABEL_MANAGED_BY: MANAGED_BY}
    if template.meta.labels:
        labels[LABEL_CONTROLLER] = template.meta.labels.get(LABEL_CONTROLLER, "")
    if mandatory:
        labels[LABEL_MANDATORY] = "true"
    else:
        labels[LABEL_CHANNEL] = channel
    annotations = {_ANNOTATION_FQDN: content.component, ANNOTATION_COMPONENT: content.component}
    if not item.managed:
        annotations[ANNOTATION_UNMANAGED] = "true"
    if template.rules and template.data:
        rules = [
            {"jsonPath": rule.path, "value": rule.value, "mappedState": rule.mapped_state} for rule in template.rules
        ]
        annotations[ANNOTATION_STATE_CHECK] = json.dumps(rules)
    owner = {"apiVersion": API_VERSION, "kind": "Kyma", "name": kyma.meta.name, "uid": kyma.meta.uid}
    metadata = {
        "name": name,
        "namespace": kyma.meta.namespace,
        "labels": labels,
        "annotations": annotations,
        "ownerReferences": [{**owner, "controller": True, "blockOwnerDeletion": True}],
    }
    spec = _spec(item, template, content, name)
    return {"apiVersion": API_VERSION, "kind": "Manifest", "metadata": metadata, "spec": spec}


def _spec(item: WorkItem, template: ModuleTemplate, content: ModuleContent, name: str) -> Json:
    spec: Json = {
        "remote": False,  # required, and without effect: the label names the Kyma whose runtime it is
        "version": content.version,
        "install": {"name": "raw-manifest", "source": layer_source(content.layer)},
    }
    if item.policy:
        spec["customResourcePolicy"] = item.policy
    if content.config is not None:
        spec["config"] = layer_source(content.config)
    if template.data:
        resource = copy.deepcopy(dict(template.data))
        metadata = dict(resource.get("metadata") or {})
        metadata["name"] = metadata.get("name") or name
        metadata["namespace"] = metadata.get("namespace") or KYMA_NAMESPACE
        spec["resource"] = {**resource, "metadata": metadata}
    if content.images:
        spec["localizedImages"] = list(content.images)
    manager = (template.raw.get("spec") or {}).get("manager")
    if manager:
        spec["manager"] = copy.deepcopy(manager)
    return spec


def needs_update(
    body: Mapping[str, Any],
    live: Manifest | None,
    item: WorkItem,
    *,
    reported_generation: int | None,
    template_generation: int,
) -> bool:
    """Return whether a regular module's Manifest is written.

    `reported_generation` is that of the template in the Kyma's status, None without one. A Manifest that is already
    unmanaged is never written, and edits of its spec by other clients are not reverted.
    """
    if live is None:
        return item.managed
    if live.unmanaged:
        return False
    if not item.managed:
        return True
    channel = body["metadata"]["labels"].get(LABEL_CHANNEL)
    if body["spec"]["version"] != live.version or not channel or channel != live.meta.labels.get(LABEL_CHANNEL):
        return True
    return reported_generation is not None and reported_generation != template_generation


def needs_mandatory_update(body: Mapping[str, Any], live: Manifest | None) -> bool:
    """Return whether a mandatory module's Manifest is written: if it lacks anything of `body`."""
    return live is None or (not live.unmanaged and not _has(live.raw, body))


def _has(actual: Any, expected: Any) -> bool:
    if isinstance(expected, Mapping):
        return isinstance(actual, Mapping) and all(_has(actual.get(key), value) for key, value in expected.items())
    return bool(actual == expected)
