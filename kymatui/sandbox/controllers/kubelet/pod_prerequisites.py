"""Prerequisites of a pod's start: a matching node, bound claims, existing ConfigMaps and Secrets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from kymatui.sandbox.controllers.framework.store_reader import Obj, StoreReader
from kymatui.schemas.objects.object_meta_rules import selects


class MissingPrerequisite(Struct, frozen=True, dict=True):
    """A missing prerequisite with the kubelet's `reason` and `message`; `container` is "" for a volume."""

    reason: str
    message: str
    container: str = ""


def unschedulable(pod: Obj, node: Obj | None, observer: StoreReader) -> str:
    """Return the scheduler's message for why no node fits the pod, "" if the node fits."""
    if node is None:
        return "no nodes available to schedule pods"
    spec = pod["spec"]
    labels = node["metadata"].get("labels") or {}
    wrong = "0/1 nodes are available: 1 "
    end = " preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
    if node.get("spec", {}).get("unschedulable"):
        return f"{wrong}node(s) were unschedulable.{end}"
    if not selects({"matchLabels": spec.get("nodeSelector") or {}}, labels):
        return f"{wrong}node(s) didn't match Pod's node affinity/selector.{end}"
    for taint in node.get("spec", {}).get("taints") or []:
        if taint.get("effect") != "PreferNoSchedule" and not _tolerates(spec, taint):
            return f"{wrong}node(s) had untolerated taint(s).{end}"
    for claim in _claims(spec):
        volume_claim = observer.get("persistentvolumeclaims", (pod["metadata"]["namespace"], claim))
        if volume_claim is None:
            return f'0/1 nodes are available: persistentvolumeclaim "{claim}" not found.{end}'
        if (volume_claim.get("status") or {}).get("phase") == "Pending" and not volume_claim["spec"].get(
            "storageClassName"
        ):
            return f"0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims.{end}"
    return ""


def _tolerates(spec: Mapping[str, Any], taint: Mapping[str, Any]) -> bool:
    for toleration in spec.get("tolerations") or []:
        if toleration.get("effect") not in (None, "", taint.get("effect")):
            continue
        if not toleration.get("key") and toleration.get("operator") == "Exists":
            return True
        if toleration.get("key") == taint.get("key") and (
            toleration.get("operator") == "Exists" or toleration.get("value", "") == taint.get("value", "")
        ):
            return True
    return False


def _claims(spec: Mapping[str, Any]) -> Iterator[str]:
    for volume in spec.get("volumes") or []:
        if "persistentVolumeClaim" in volume:
            yield volume["persistentVolumeClaim"]["claimName"]


def missing_for(pod: Obj, observer: StoreReader) -> MissingPrerequisite | None:
    """Return the first missing prerequisite: a volume blocks the whole pod, an environment one container."""
    namespace = pod["metadata"]["namespace"]
    spec = pod["spec"]
    for volume in spec.get("volumes") or []:
        for resource, name, kind in _sources(volume):
            if observer.get(resource, (namespace, name)) is None:
                message = f'MountVolume.SetUp failed for volume "{volume["name"]}" : {kind} "{name}" not found'
                return MissingPrerequisite("FailedMount", message)
    for container in [*(spec.get("initContainers") or []), *(spec.get("containers") or [])]:
        for resource, name, key in _references(container):
            obj = observer.get(resource, (namespace, name))
            kind = resource.removesuffix("s")
            if obj is None:
                return MissingPrerequisite(
                    "CreateContainerConfigError", f'{kind} "{name}" not found', container["name"]
                )
            if key and key not in (obj.get("data") or {}):
                message = (
                    f"couldn't find key {key} in {'Secret' if kind == 'secret' else 'ConfigMap'} {namespace}/{name}"
                )
                return MissingPrerequisite("CreateContainerConfigError", message, container["name"])
    return None


def _sources(volume: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    secret, config = volume.get("secret"), volume.get("configMap")
    if secret and not secret.get("optional"):
        yield "secrets", secret.get("secretName", ""), "secret"
    if config and not config.get("optional"):
        yield "configmaps", config.get("name", ""), "configmap"


def _references(container: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield (resource, name, key) of the environment's sources; the key is "" for a whole object."""
    for source in container.get("envFrom") or []:
        for field, resource in (("secretRef", "secrets"), ("configMapRef", "configmaps")):
            reference = source.get(field)
            if reference and not reference.get("optional"):
                yield resource, reference.get("name", ""), ""
    for variable in container.get("env") or []:
        origin = variable.get("valueFrom") or {}
        for field, resource in (("secretKeyRef", "secrets"), ("configMapKeyRef", "configmaps")):
            reference = origin.get(field)
            if reference and not reference.get("optional"):
                yield resource, reference.get("name", ""), reference.get("key", "")
