"""Cells of built-in kinds (k8s.io/kubernetes/pkg/printers/internalversion)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kymatui.schemas.types.schema_node import GVK, Object
from kymatui.schemas.values.metav1_time import TimeError, parse_time

NONE = "<none>"

Cells = Callable[[Object, float], list[Any]]
"""The cells of an object at a time (epoch seconds)."""


def age_of(obj: Object, now: float) -> str:
    return age(obj["metadata"].get("creationTimestamp"), now)


def images(spec: Object) -> tuple[str, str]:
    """Return the container names and their images of a pod template."""
    containers = ((spec.get("template") or {}).get("spec") or {}).get("containers") or []
    return ",".join(c["name"] for c in containers), ",".join(c.get("image", "") for c in containers)


def format_selector(selector: Any) -> str:
    """Return a LabelSelector on one line."""
    if selector is None:
        return NONE
    terms = [f"{key}={value}" for key, value in sorted((selector.get("matchLabels") or {}).items())]
    for term in selector.get("matchExpressions") or ():
        key, operator, values = term["key"], term["operator"], ",".join(sorted(term.get("values") or ()))
        if operator in ("In", "NotIn"):
            terms.append(f"{key} {operator.lower()} ({values})")
        else:
            terms.append(key if operator == "Exists" else f"!{key}")
    return ",".join(terms) or NONE


def format_labels(labels: Any) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted((labels or {}).items())) or NONE


def named(obj: Object, *cells: Any) -> list[Any]:
    """Return a row that begins with the name."""
    return [obj["metadata"]["name"], *cells]


# Ages in kubectl's format (k8s.io/apimachinery/pkg/util/duration).


UNKNOWN = "<unknown>"
_MINUTE, _HOUR, _DAY = 60, 3600, 86400


def human_duration(seconds: int) -> str:
    """Return at most two units: 5s, 2m30s, 90m, 3h20m, 4d2h, 3y40d."""
    if seconds < -1:
        return "<invalid>"
    if seconds < 0:
        return "0s"
    if seconds < 2 * _MINUTE:
        return f"{seconds}s"
    if seconds < 10 * _MINUTE:
        return _two(seconds // _MINUTE, "m", seconds % _MINUTE, "s")
    if seconds < 3 * _HOUR:
        return f"{seconds // _MINUTE}m"
    if seconds < 8 * _HOUR:
        return _two(seconds // _HOUR, "h", seconds % _HOUR // _MINUTE, "m")
    if seconds < 2 * _DAY:
        return f"{seconds // _HOUR}h"
    if seconds < 8 * _DAY:
        return _two(seconds // _DAY, "d", seconds % _DAY // _HOUR, "h")
    if seconds < 2 * 365 * _DAY:
        return f"{seconds // _DAY}d"
    if seconds < 8 * 365 * _DAY:
        return _two(seconds // (365 * _DAY), "y", seconds % (365 * _DAY) // _DAY, "d")
    return f"{seconds // (365 * _DAY)}y"


def _two(large: int, unit: str, small: int, small_unit: str) -> str:
    return f"{large}{unit}{small}{small_unit}" if small else f"{large}{unit}"


def seconds_of(text: Any) -> float | None:
    """Return a time in Unix seconds, None for other text."""
    if not isinstance(text, str) or not text:
        return None
    try:
        return parse_time(text).timestamp()
    except TimeError:
        return None


def age(text: Any, now: float) -> str:
    then = seconds_of(text)
    return UNKNOWN if then is None else human_duration(int(now - then))


# Cells of RBAC, network, policy and storage kinds (k8s.io/kubernetes/pkg/printers/internalversion).


def _role_binding(obj: Object, now: float) -> list[Any]:
    subjects: list[Object] = obj.get("subjects") or []
    ref = obj.get("roleRef") or {}

    def names(kind: str) -> str:
        return ", ".join(subject["name"] for subject in subjects if subject.get("kind") == kind)

    accounts = [f"{s.get('namespace', '')}/{s['name']}" for s in subjects if s.get("kind") == "ServiceAccount"]
    role = f"{ref.get('kind')}/{ref.get('name')}"
    return named(obj, role, age_of(obj, now), names("User"), names("Group"), ", ".join(accounts))


def _ingress(obj: Object, now: float) -> list[Any]:
    spec = obj.get("spec") or {}
    hosts = [rule["host"] for rule in spec.get("rules") or () if rule.get("host")]
    shown = ",".join(hosts[:3]) + (f" + {len(hosts) - 3} more..." if len(hosts) > 3 else "")
    balancer = ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
    address = ",".join(entry.get("ip") or entry.get("hostname") or "" for entry in balancer)
    ports = "80, 443" if spec.get("tls") else "80"
    return named(obj, spec.get("ingressClassName") or NONE, shown or "*", address, ports, age_of(obj, now))


def _ingress_class(obj: Object, now: float) -> list[Any]:
    spec = obj.get("spec") or {}
    reference = spec.get("parameters") or {}
    group = f".{reference['apiGroup']}" if reference.get("apiGroup") else ""
    parameters = f"{reference.get('kind')}{group}/{reference.get('name')}" if reference else NONE
    return named(obj, spec.get("controller", ""), parameters, age_of(obj, now))


def _network_policy(obj: Object, now: float) -> list[Any]:
    return named(obj, format_selector((obj.get("spec") or {}).get("podSelector")), age_of(obj, now))


def _budget(obj: Object, now: float) -> list[Any]:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
    return named(
        obj,
        "N/A" if least is None else str(least),
        "N/A" if most is None else str(most),
        status.get("disruptionsAllowed", 0),
        age_of(obj, now),
    )


def _autoscaler(obj: Object, now: float) -> list[Any]:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    ref = spec.get("scaleTargetRef") or {}
    least = spec.get("minReplicas")
    return named(
        obj,
        f"{ref.get('kind')}/{ref.get('name')}",
        _targets(spec.get("metrics") or [], status.get("currentMetrics") or []),
        "<unset>" if least is None else str(least),
        spec.get("maxReplicas", 0),
        status.get("currentReplicas", 0),
        age_of(obj, now),
    )


def _targets(metrics: list[Object], current: list[Any]) -> str:
    shown: list[str] = []
    for index, metric in enumerate(metrics[:2]):
        resource = metric.get("resource") or {}
        target = resource.get("target") or {}
        now = ((current[index] or {}).get("resource") or {}).get("current") or {} if index < len(current) else {}
        if target.get("averageUtilization") is not None:
            have = now.get("averageUtilization")
            text = f"{'<unknown>' if have is None else f'{have}%'}/{target['averageUtilization']}%"
        else:
            text = f"{now.get('averageValue') or '<unknown>'}/{target.get('averageValue') or '<auto>'}"
        shown.append(f"{resource.get('name')}: {text}" if resource else text)
    return (", ".join(shown) + (f" + {len(metrics) - 2} more..." if len(metrics) > 2 else "")) or NONE


def _lease(obj: Object, now: float) -> list[Any]:
    return named(obj, (obj.get("spec") or {}).get("holderIdentity") or "", age_of(obj, now))


def _priority_class(obj: Object, now: float) -> list[Any]:
    policy = obj.get("preemptionPolicy", "")
    return named(obj, obj.get("value", 0), bool(obj.get("globalDefault")), age_of(obj, now), policy)


def _storage_class(obj: Object, now: float) -> list[Any]:
    annotations = obj["metadata"].get("annotations") or {}
    name = obj["metadata"]["name"]
    if annotations.get("storageclass.kubernetes.io/is-default-class") == "true":
        name += " (default)"
    policy, mode = obj.get("reclaimPolicy", ""), obj.get("volumeBindingMode", "")
    return [name, obj.get("provisioner", ""), policy, mode, bool(obj.get("allowVolumeExpansion")), age_of(obj, now)]


def _webhooks(obj: Object, now: float) -> list[Any]:
    return named(obj, len(obj.get("webhooks") or ()), age_of(obj, now))


def _endpoint_slice(obj: Object, now: float) -> list[Any]:
    ports = ",".join(str(port["port"]) if port.get("port") else "*" for port in obj.get("ports") or ())
    addresses = [address for endpoint in obj.get("endpoints") or () for address in endpoint.get("addresses") or ()]
    text = ",".join(addresses[:3]) + (f" + {len(addresses) - 3} more..." if len(addresses) > 3 else "")
    return named(obj, obj.get("addressType", ""), ports or "<unset>", text or "<unset>", age_of(obj, now))


def _volume_attachment(obj: Object, now: float) -> list[Any]:
    spec = obj.get("spec") or {}
    volume = (spec.get("source") or {}).get("persistentVolumeName") or ""
    attached = bool((obj.get("status") or {}).get("attached"))
    return named(obj, spec.get("attacher", ""), volume, spec.get("nodeName", ""), attached, age_of(obj, now))


def _csi_driver(obj: Object, now: float) -> list[Any]:
    spec = obj.get("spec") or {}
    audiences = ",".join(request.get("audience", "") for request in spec.get("tokenRequests") or ())
    return named(
        obj,
        spec.get("attachRequired", True),
        bool(spec.get("podInfoOnMount")),
        bool(spec.get("storageCapacity")),
        audiences if spec.get("tokenRequests") else "<unset>",
        bool(spec.get("requiresRepublish")),
        ",".join(spec.get("volumeLifecycleModes") or ()) or NONE,
        age_of(obj, now),
    )


def _csi_node(obj: Object, now: float) -> list[Any]:
    return named(obj, len((obj.get("spec") or {}).get("drivers") or ()), age_of(obj, now))


def _policy(obj: Object, now: float) -> list[Any]:
    spec = obj.get("spec") or {}
    kind = spec.get("paramKind")
    shown = f"{kind.get('apiVersion', '')}/{kind.get('kind', '')}" if kind else "<unset>"
    return named(obj, len(spec.get("validations") or ()), shown, age_of(obj, now))


def _policy_binding(obj: Object, now: float) -> list[Any]:
    spec = obj.get("spec") or {}
    ref = spec.get("paramRef")
    shown = f"{ref.get('namespace') or '*'}/{ref.get('name', '')}" if ref else "<unset>"
    return named(obj, spec.get("policyName", ""), shown, age_of(obj, now))


def _api_service(obj: Object, now: float) -> list[Any]:
    service = (obj.get("spec") or {}).get("service")
    where = f"{service.get('namespace', '')}/{service.get('name', '')}" if service else "Local"
    condition = next(
        (c for c in (obj.get("status") or {}).get("conditions") or () if c.get("type") == "Available"), None
    )
    available = "Unknown"
    if condition is not None:
        available = condition.get("status", "")
        if available != "True" and condition.get("reason"):
            available += f" ({condition['reason']})"
    return named(obj, where, available, age_of(obj, now))


POLICIES: dict[str, Cells] = {
    "RoleBinding": _role_binding,
    "ClusterRoleBinding": _role_binding,
    "Ingress": _ingress,
    "IngressClass": _ingress_class,
    "NetworkPolicy": _network_policy,
    "PodDisruptionBudget": _budget,
    "HorizontalPodAutoscaler": _autoscaler,
    "Lease": _lease,
    "PriorityClass": _priority_class,
    "StorageClass": _storage_class,
    "ValidatingWebhookConfiguration": _webhooks,
    "MutatingWebhookConfiguration": _webhooks,
    "EndpointSlice": _endpoint_slice,
    "VolumeAttachment": _volume_attachment,
    "CSIDriver": _csi_driver,
    "CSINode": _csi_node,
    "VolumeAttributesClass": lambda obj, now: named(obj, obj.get("driverName", ""), age_of(obj, now)),
    "ValidatingAdmissionPolicy": _policy,
    "ValidatingAdmissionPolicyBinding": _policy_binding,
    "RuntimeClass": lambda obj, now: named(obj, obj.get("handler", ""), age_of(obj, now)),
    "APIService": _api_service,
}


# Cells of the core kinds (k8s.io/kubernetes/pkg/printers/internalversion).


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


# Cells of workload kinds (k8s.io/kubernetes/pkg/printers/internalversion).


def _deployment(obj: Object, now: float) -> list[Any]:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    return named(
        obj,
        f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}",
        status.get("updatedReplicas", 0),
        status.get("availableReplicas", 0),
        age_of(obj, now),
        *images(spec),
        format_selector(spec.get("selector")),
    )


def _replica_set(obj: Object, now: float) -> list[Any]:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    counts = (spec.get("replicas", 0), status.get("replicas", 0), status.get("readyReplicas", 0))
    return named(obj, *counts, age_of(obj, now), *images(spec), format_selector(spec.get("selector")))


def _stateful_set(obj: Object, now: float) -> list[Any]:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    ready = f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}"
    return named(obj, ready, age_of(obj, now), *images(spec))


_DAEMON_COUNTS = (
    "desiredNumberScheduled",
    "currentNumberScheduled",
    "numberReady",
    "updatedNumberScheduled",
    "numberAvailable",
)


def _daemon_set(obj: Object, now: float) -> list[Any]:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    nodes = ((spec.get("template") or {}).get("spec") or {}).get("nodeSelector")
    counts = [status.get(name, 0) for name in _DAEMON_COUNTS]
    selector = format_selector(spec.get("selector"))
    return named(obj, *counts, format_labels(nodes), age_of(obj, now), *images(spec), selector)


def _controller_revision(obj: Object, now: float) -> list[Any]:
    owner = next((o for o in obj["metadata"].get("ownerReferences") or () if o.get("controller")), None)
    group = owner["apiVersion"].rpartition("/")[0] if owner else ""
    name = f"{owner['kind'].lower()}{'.' + group if group else ''}/{owner['name']}" if owner else NONE
    return named(obj, name, obj.get("revision", 0), age_of(obj, now))


def _job(obj: Object, now: float) -> list[Any]:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    done = status.get("succeeded", 0)
    if spec.get("completions") is not None:
        completions = f"{done}/{spec['completions']}"
    else:
        parallel = spec.get("parallelism") or 0
        completions = f"{done}/1 of {parallel}" if parallel > 1 else f"{done}/1"
    start, end = seconds_of(status.get("startTime")), seconds_of(status.get("completionTime"))
    duration = "" if start is None else human_duration(int((end if end is not None else now) - start))
    return named(
        obj,
        _job_status(obj),
        completions,
        duration,
        age_of(obj, now),
        *images(spec),
        format_selector(spec.get("selector")),
    )


def _job_status(obj: Object) -> str:
    true = {c["type"] for c in (obj.get("status") or {}).get("conditions") or () if c.get("status") == "True"}
    for word in ("Complete", "Failed"):
        if word in true:
            return word
    if obj["metadata"].get("deletionTimestamp"):
        return "Terminating"
    for condition, word in (("Suspended", "Suspended"), ("FailureTarget", "FailureTarget")):
        if condition in true:
            return word
    return "SuccessCriteriaMet" if "SuccessCriteriaMet" in true else "Running"


def _cron_job(obj: Object, now: float) -> list[Any]:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    last = status.get("lastScheduleTime")
    job = (spec.get("jobTemplate") or {}).get("spec") or {}
    return named(
        obj,
        spec.get("schedule", ""),
        spec.get("timeZone") or NONE,
        "True" if spec.get("suspend") else "False",
        len(status.get("active") or ()),
        age(last, now) if last else NONE,
        age_of(obj, now),
        *images(job),
        format_selector(job.get("selector")),
    )


WORKLOADS: dict[str, Cells] = {
    "Deployment": _deployment,
    "ReplicaSet": _replica_set,
    "StatefulSet": _stateful_set,
    "DaemonSet": _daemon_set,
    "ControllerRevision": _controller_revision,
    "Job": _job,
    "CronJob": _cron_job,
}


# Cells of a pod: ready containers, reason, restarts.


def pod_cells(obj: Object, now: float) -> list[Any]:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    containers = spec.get("containers") or []
    statuses = status.get("containerStatuses") or []
    restarts = sum(entry.get("restartCount") or 0 for entry in statuses)
    ready = sum(1 for entry in statuses if entry.get("ready") and (entry.get("state") or {}).get("running"))
    last = _last_restart(statuses)
    gates = spec.get("readinessGates") or []
    return [
        obj["metadata"]["name"],
        f"{ready}/{len(containers)}",
        _reason(obj, statuses),
        f"{restarts} ({age(last, now)} ago)" if restarts and last else f"{restarts}",
        age(obj["metadata"].get("creationTimestamp"), now),
        status.get("podIP") or "<none>",
        spec.get("nodeName") or "<none>",
        status.get("nominatedNodeName") or "<none>",
        _gates(gates, status) if gates else "<none>",
    ]


def _gates(gates: list[Object], status: Object) -> str:
    true = {c["type"] for c in status.get("conditions") or () if c.get("status") == "True"}
    return f"{sum(1 for gate in gates if gate.get('conditionType') in true)}/{len(gates)}"


def _last_restart(statuses: list[Object]) -> str | None:
    ends: list[str] = []
    for entry in statuses:
        end = ((entry.get("lastState") or {}).get("terminated") or {}).get("finishedAt")
        if isinstance(end, str) and seconds_of(end) is not None:
            ends.append(end)
    return max(ends, default=None)


def _reason(obj: Object, statuses: list[Object]) -> str:
    status = obj.get("status") or {}
    reason = status.get("reason") or status.get("phase") or ""
    initial = _initial_reason(obj)
    if initial:
        reason = initial
    else:
        running = False
        for entry in reversed(statuses):
            state = entry.get("state") or {}
            waiting, ended = state.get("waiting") or {}, state.get("terminated")
            if waiting.get("reason"):
                reason = waiting["reason"]
            elif ended is not None:
                reason = ended.get("reason") or _exit(ended)
            elif entry.get("ready") and state.get("running") is not None:
                running = True
        if reason == "Completed" and running:
            reason = "Running" if _is_ready(status) else "NotReady"
    if obj["metadata"].get("deletionTimestamp"):
        return "Unknown" if status.get("reason") == "NodeLost" else "Terminating"
    return str(reason)


def _is_ready(status: Object) -> bool:
    return any(c["type"] == "Ready" and c.get("status") == "True" for c in status.get("conditions") or ())


def _exit(ended: Object) -> str:
    return f"Signal:{ended['signal']}" if ended.get("signal") else f"ExitCode:{ended.get('exitCode', 0)}"


def _initial_reason(obj: Object) -> str:
    """Return the reason of the first unfinished init container, "" if all are finished."""
    total = len((obj.get("spec") or {}).get("initContainers") or ())
    for index, entry in enumerate((obj.get("status") or {}).get("initContainerStatuses") or ()):
        state = entry.get("state") or {}
        ended, waiting = state.get("terminated"), (state.get("waiting") or {}).get("reason")
        if ended is not None and not ended.get("exitCode"):
            continue
        if ended is not None:
            return f"Init:{ended.get('reason') or _exit(ended)}"
        return f"Init:{waiting}" if waiting and waiting != "PodInitializing" else f"Init:{index}/{total}"
    return ""


_CELLS: dict[str, Cells] = {"Pod": pod_cells, **CORE, **WORKLOADS, **POLICIES}


def builtin_cells(gvk: GVK, obj: Object, now: float) -> list[Any]:
    """Return the cells of one object in column order."""
    cells = _CELLS.get(gvk[2])
    if cells is not None:
        return cells(obj, now)
    return [obj["metadata"]["name"], obj["metadata"].get("creationTimestamp")]
