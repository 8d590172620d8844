"""Cells of the core kinds (k8s.io/kubernetes/pkg/printers/internalversion)."""

from __future__ import annotations

from typing import Any

from kymatui.sandbox.tables.human_durations import UNKNOWN, age
from kymatui.sandbox.tables.shared_cells import NONE, Cells, age_of, format_labels, images, named
from kymatui.schemas.types.schema_node import Object


def _namespace(obj: Object, now: float) -> list[Any]:
    return named(obj, (obj.get("status") or {}).get("phase", ""), age_of(obj, now))


def _config_map(obj: Object, now: float) -> list[Any]:
    return named(obj, len(obj.get("data") or ()) + len(obj.get("binaryData") or ()), age_of(obj, now))


def _secret(obj: Object, now: float) -> list[Any]:
    return named(obj, obj.get("type", ""), len(obj.get("data") or ()), age_of(obj, now))


def _service(obj: Object, now: float) -> list[Any]:
    spec = obj.get("spec") or {}
    ports = [
        f"{p['port']}:{p['nodePort']}/{p.get('protocol')}" if p.get("nodePort") else f"{p['port']}/{p.get('protocol')}"
        for p in spec.get("ports") or ()
    ]
    return named(
        obj,
        spec.get("type", ""),
        spec.get("clusterIP") or NONE,
        _external(obj),
        ",".join(ports) or NONE,
        age_of(obj, now),
        format_labels(spec.get("selector")),
    )


def _external(obj: Object) -> str:
    spec = obj.get("spec") or {}
    addresses = list(spec.get("externalIPs") or ())
    if spec.get("type") == "ExternalName":
        return spec.get("externalName") or NONE
    if spec.get("type") == "LoadBalancer":
        ingress = ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
        hosts = [entry.get("ip") or entry.get("hostname") for entry in ingress]
        return ",".join([*filter(None, hosts), *addresses]) or "<pending>"
    return ",".join(addresses) or NONE


def _endpoints(obj: Object, now: float) -> list[Any]:
    addresses = [
        f"{address['ip']}:{port['port']}"
        for subset in obj.get("subsets") or ()
        for port in subset.get("ports") or ()
        for address in subset.get("addresses") or ()
    ]
    text = ",".join(addresses[:3]) + (f" + {len(addresses) - 3} more..." if len(addresses) > 3 else "")
    return named(obj, text or NONE, age_of(obj, now))


def _event(obj: Object, now: float) -> list[Any]:
    involved, source = obj.get("involvedObject") or {}, obj.get("source") or {}
    first = obj.get("firstTimestamp") or obj.get("eventTime")
    last = (obj.get("series") or {}).get("lastObservedTime") or obj.get("lastTimestamp") or first
    component = source.get("component") or obj.get("reportingComponent") or ""
    host = source.get("host") or obj.get("reportingInstance") or ""
    where = f"{component}, {host}" if host else component
    count = (obj.get("series") or {}).get("count") or obj.get("count") or 1
    return [
        age(last, now),
        obj.get("type", ""),
        obj.get("reason", ""),
        f"{involved.get('kind', '').lower()}/{involved.get('name', '')}",
        involved.get("fieldPath", ""),
        where,
        (obj.get("message") or "").strip(),
        age(first, now),
        count,
        obj["metadata"]["name"],
    ]


def _node(obj: Object, now: float) -> list[Any]:
    status = obj.get("status") or {}
    ready = next((c.get("status") for c in status.get("conditions") or () if c["type"] == "Ready"), None)
    state = {"True": "Ready", None: "Unknown"}.get(ready, "NotReady")
    if (obj.get("spec") or {}).get("unschedulable"):
        state += ",SchedulingDisabled"
    prefix = "node-role.kubernetes.io/"
    roles = sorted(k.removeprefix(prefix) for k in obj["metadata"].get("labels") or () if k.startswith(prefix))
    addresses = {a["type"]: a["address"] for a in reversed(status.get("addresses") or ())}
    info = status.get("nodeInfo") or {}
    return named(
        obj,
        state,
        ",".join(roles) or NONE,
        age_of(obj, now),
        info.get("kubeletVersion", ""),
        addresses.get("InternalIP", NONE),
        addresses.get("ExternalIP", NONE),
        info.get("osImage") or UNKNOWN,
        info.get("kernelVersion") or UNKNOWN,
        info.get("containerRuntimeVersion") or UNKNOWN,
    )


_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}


def _modes(modes: Any) -> str:
    return ",".join(_MODES.get(mode, mode) for mode in modes or ())


def _claim(obj: Object, now: float) -> list[Any]:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    phase = "Terminating" if obj["metadata"].get("deletionTimestamp") else status.get("phase", "")
    bound = bool(spec.get("volumeName"))
    return named(
        obj,
        phase,
        spec.get("volumeName", ""),
        (status.get("capacity") or {}).get("storage", "") if bound else "",
        _modes(status.get("accessModes")) if bound else "",
        spec.get("storageClassName") or "",
        spec.get("volumeAttributesClassName") or "<unset>",
        age_of(obj, now),
        spec.get("volumeMode") or "<unset>",
    )


def _volume(obj: Object, now: float) -> list[Any]:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    claim = spec.get("claimRef") or {}
    phase = "Terminating" if obj["metadata"].get("deletionTimestamp") else status.get("phase", "")
    return named(
        obj,
        (spec.get("capacity") or {}).get("storage", ""),
        _modes(spec.get("accessModes")),
        spec.get("persistentVolumeReclaimPolicy", ""),
        phase,
        f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else "",
        spec.get("storageClassName") or "",
        spec.get("volumeAttributesClassName") or "<unset>",
        status.get("reason", ""),
        age_of(obj, now),
        spec.get("volumeMode") or "<unset>",
    )


def _replication_controller(obj: Object, now: float) -> list[Any]:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    counts = (spec.get("replicas", 0), status.get("replicas", 0), status.get("readyReplicas", 0))
    return named(obj, *counts, age_of(obj, now), *images(spec), format_labels(spec.get("selector")))


def _pod_template(obj: Object, now: float) -> list[Any]:
    labels = ((obj.get("template") or {}).get("metadata") or {}).get("labels")
    return named(obj, *images(obj), format_labels(labels))


def _resource_quota(obj: Object, now: float) -> list[Any]:
    status = obj.get("status") or {}
    hard, used = status.get("hard") or {}, status.get("used") or {}
    requests: list[str] = []
    limits: list[str] = []
    for name in sorted(hard):
        (limits if name.startswith("limits") else requests).append(f"{name}: {used.get(name, 0)}/{hard[name]}")
    return named(obj, ", ".join(requests), ", ".join(limits), age_of(obj, now))


CORE: dict[str, Cells] = {
    "Namespace": _namespace,
    "ConfigMap": _config_map,
    "Secret": _secret,
    "ServiceAccount": lambda obj, now: named(obj, age_of(obj, now)),
    "Service": _service,
    "Endpoints": _endpoints,
    "Event": _event,
    "Node": _node,
    "PersistentVolumeClaim": _claim,
    "PersistentVolume": _volume,
    "ReplicationController": _replication_controller,
    "PodTemplate": _pod_template,
    "ResourceQuota": _resource_quota,
}
