"""Columns and cells of built-in kinds (k8s.io/kubernetes/pkg/printers/internalversion)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kymatui.sandbox.schemas.nodes import GVK, Object
from kymatui.sandbox.schemas.structural import object_meta
from kymatui.sandbox.tables.custom import name_column
from kymatui.sandbox.tables.durations import UNKNOWN, age, human_duration, seconds_of
from kymatui.sandbox.tables.pods import pod_cells

NONE = "<none>"

# name:type:priority, the type string and the priority 0 where they are left out
_COLUMNS: dict[str, str] = {
    "Namespace": "Status Age",
    "ConfigMap": "Data Age",
    "Secret": "Type Data Age",
    "ServiceAccount": "Age",
    "Service": "Type Cluster-IP External-IP Port(s) Age Selector::1",
    "Endpoints": "Endpoints Age",
    "Pod": "Ready Status Restarts Age IP::1 Node::1 Nominated_Node::1 Readiness_Gates::1",
    "Node": "Status Roles Age Version Internal-IP::1 External-IP::1 OS-Image::1 Kernel-Version::1 Container-Runtime::1",
    "PersistentVolumeClaim": "Status Volume Capacity Access_Modes StorageClass VolumeAttributesClass Age VolumeMode::1",
    "PersistentVolume": "Capacity Access_Modes Reclaim_Policy Status Claim StorageClass VolumeAttributesClass Reason "
    "Age VolumeMode::1",
    "Deployment": "Ready Up-to-date Available Age Containers::1 Images::1 Selector::1",
    "ReplicaSet": "Desired:integer Current:integer Ready:integer Age Containers::1 Images::1 Selector::1",
    "StatefulSet": "Ready Age Containers::1 Images::1",
    "DaemonSet": "Desired:integer Current:integer Ready:integer Up-to-date:integer Available:integer Node_Selector Age "
    "Containers::1 Images::1 Selector::1",
    "ControllerRevision": "Controller Revision Age",
    "Job": "Status Completions Duration Age Containers::1 Images::1 Selector::1",
    "CronJob": "Schedule Timezone Suspend:boolean Active:integer Last_Schedule Age Containers::1 Images::1 Selector::1",
    "RoleBinding": "Role Age Users::1 Groups::1 ServiceAccounts::1",
    "ClusterRoleBinding": "Role Age Users::1 Groups::1 ServiceAccounts::1",
    "Ingress": "Class Hosts Address Ports Age",
    "IngressClass": "Controller Parameters Age",
    "NetworkPolicy": "Pod-Selector Age",
    "PodDisruptionBudget": "Min_Available Max_Unavailable Allowed_Disruptions:integer Age",
    "HorizontalPodAutoscaler": "Reference Targets MinPods MaxPods Replicas Age",
    "Lease": "Holder Age",
    "PriorityClass": "Value:integer Global-Default:boolean Age PreemptionPolicy",
    "StorageClass": "Provisioner ReclaimPolicy VolumeBindingMode AllowVolumeExpansion Age",
    "ValidatingWebhookConfiguration": "Webhooks:integer Age",
    "MutatingWebhookConfiguration": "Webhooks:integer Age",
    "EndpointSlice": "AddressType Ports Endpoints Age",
}
_EVENT = "Last_Seen Type Reason Object Subobject::1 Source::1 Message First_Seen::1 Count::1 Name:name:1"


def builtin_columns(gvk: GVK) -> list[Object]:
    """columnDefinitions; kinds without columns of their own show when they were created."""
    kind = gvk[2]
    if kind == "Event":
        return [_column(text) for text in _EVENT.split()]
    given = _COLUMNS.get(kind)
    if given is None:
        description = object_meta().properties["creationTimestamp"].description
        created = {"name": "Created At", "type": "date", "format": "", "description": description, "priority": 0}
        return [name_column(), created]
    return [name_column(), *(_column(text) for text in given.split())]


def _column(text: str) -> Object:
    name, _, rest = text.partition(":")
    kind, _, priority = rest.partition(":")
    title = name.replace("_", " ")
    meta = object_meta().properties
    descriptions = {"Age": meta["creationTimestamp"].description, "Name": meta["name"].description}
    return {
        "name": title,
        "type": "string" if kind in ("", "name") else kind,
        "format": "name" if kind == "name" else "",
        "description": descriptions.get(title, title),
        "priority": int(priority or 0),
    }


def builtin_cells(gvk: GVK, obj: Object, now: float) -> list[Any]:
    """The cells of one object, in the order of the columns."""
    metadata = obj["metadata"]
    cells = _CELLS.get(gvk[2])
    if cells is not None:
        return cells(obj, now)
    return [metadata["name"], metadata.get("creationTimestamp")]


# -- parts of cells


def _age(obj: Object, now: float) -> str:
    return age(obj["metadata"].get("creationTimestamp"), now)


def _images(spec: Object) -> tuple[str, str]:
    """(names of containers, their images) of a pod template."""
    containers = ((spec.get("template") or {}).get("spec") or {}).get("containers") or []
    return ",".join(c["name"] for c in containers), ",".join(c.get("image", "") for c in containers)


def format_selector(selector: Any) -> str:
    """A LabelSelector on one line."""
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


def _named(obj: Object, *cells: Any) -> list[Any]:
    return [obj["metadata"]["name"], *cells]


# -- core


def _namespace(obj: Object, now: float) -> list[Any]:
    return _named(obj, (obj.get("status") or {}).get("phase", ""), _age(obj, now))


def _config_map(obj: Object, now: float) -> list[Any]:
    return _named(obj, len(obj.get("data") or ()) + len(obj.get("binaryData") or ()), _age(obj, now))


def _secret(obj: Object, now: float) -> list[Any]:
    return _named(obj, obj.get("type", ""), len(obj.get("data") or ()), _age(obj, now))


def _service(obj: Object, now: float) -> list[Any]:
    spec = obj.get("spec") or {}
    ports = [
        f"{p['port']}:{p['nodePort']}/{p.get('protocol')}" if p.get("nodePort") else f"{p['port']}/{p.get('protocol')}"
        for p in spec.get("ports") or ()
    ]
    return _named(
        obj,
        spec.get("type", ""),
        spec.get("clusterIP") or NONE,
        _external(obj),
        ",".join(ports) or NONE,
        _age(obj, now),
        format_labels(spec.get("selector")),
    )


def _external(obj: Object) -> str:
    spec = obj.get("spec") or {}
    addresses = list(spec.get("externalIPs") or ())
    if spec.get("type") == "ExternalName":
        return spec.get("externalName") or NONE
    if spec.get("type") == "LoadBalancer":
        ingress = ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
        found = [entry.get("ip") or entry.get("hostname") for entry in ingress]
        return ",".join([*filter(None, found), *addresses]) or "<pending>"
    return ",".join(addresses) or NONE


def _endpoints(obj: Object, now: float) -> list[Any]:
    found = [
        f"{address['ip']}:{port['port']}"
        for subset in obj.get("subsets") or ()
        for port in subset.get("ports") or ()
        for address in subset.get("addresses") or ()
    ]
    text = ",".join(found[:3]) + (f" + {len(found) - 3} more..." if len(found) > 3 else "")
    return _named(obj, text or NONE, _age(obj, now))


def _event(obj: Object, now: float) -> list[Any]:
    involved, source = obj.get("involvedObject") or {}, obj.get("source") or {}
    first = obj.get("firstTimestamp") or obj.get("eventTime")
    last = (obj.get("series") or {}).get("lastObservedTime") or obj.get("lastTimestamp") or first
    where = f"{source['component']}, {source['host']}" if source.get("host") else source.get("component")
    count = (obj.get("series") or {}).get("count") or obj.get("count") or 1
    return [
        age(last, now),
        obj.get("type", ""),
        obj.get("reason", ""),
        f"{involved.get('kind', '').lower()}/{involved.get('name', '')}",
        involved.get("fieldPath", ""),
        where or obj.get("reportingComponent", ""),
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
    return _named(
        obj,
        state,
        ",".join(roles) or NONE,
        _age(obj, now),
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
    return _named(
        obj,
        phase,
        spec.get("volumeName", ""),
        (status.get("capacity") or {}).get("storage", "") if bound else "",
        _modes(status.get("accessModes")) if bound else "",
        spec.get("storageClassName") or "",
        spec.get("volumeAttributesClassName") or "<unset>",
        _age(obj, now),
        spec.get("volumeMode") or "<unset>",
    )


def _volume(obj: Object, now: float) -> list[Any]:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    claim = spec.get("claimRef") or {}
    phase = "Terminating" if obj["metadata"].get("deletionTimestamp") else status.get("phase", "")
    return _named(
        obj,
        (spec.get("capacity") or {}).get("storage", ""),
        _modes(spec.get("accessModes")),
        spec.get("persistentVolumeReclaimPolicy", ""),
        phase,
        f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else "",
        spec.get("storageClassName") or "",
        spec.get("volumeAttributesClassName") or "<unset>",
        status.get("reason", ""),
        _age(obj, now),
        spec.get("volumeMode") or "<unset>",
    )


# -- workloads


def _deployment(obj: Object, now: float) -> list[Any]:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    return _named(
        obj,
        f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}",
        status.get("updatedReplicas", 0),
        status.get("availableReplicas", 0),
        _age(obj, now),
        *_images(spec),
        format_selector(spec.get("selector")),
    )


def _replica_set(obj: Object, now: float) -> list[Any]:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    counts = (spec.get("replicas", 0), status.get("replicas", 0), status.get("readyReplicas", 0))
    return _named(obj, *counts, _age(obj, now), *_images(spec), format_selector(spec.get("selector")))


def _stateful_set(obj: Object, now: float) -> list[Any]:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    ready = f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}"
    return _named(obj, ready, _age(obj, now), *_images(spec))


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
    return _named(obj, *counts, format_labels(nodes), _age(obj, now), *_images(spec), selector)


def _controller_revision(obj: Object, now: float) -> list[Any]:
    owner = next((o for o in obj["metadata"].get("ownerReferences") or () if o.get("controller")), None)
    group = owner["apiVersion"].rpartition("/")[0] if owner else ""
    name = f"{owner['kind'].lower()}{'.' + group if group else ''}/{owner['name']}" if owner else NONE
    return _named(obj, name, obj.get("revision", 0), _age(obj, now))


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
    return _named(
        obj,
        _job_status(obj),
        completions,
        duration,
        _age(obj, now),
        *_images(spec),
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
    return _named(
        obj,
        spec.get("schedule", ""),
        spec.get("timeZone") or NONE,
        "True" if spec.get("suspend") else "False",
        len(status.get("active") or ()),
        age(last, now) if last else NONE,
        _age(obj, now),
        *_images(job),
        format_selector(job.get("selector")),
    )


# -- the rest


def _role_binding(obj: Object, now: float) -> list[Any]:
    subjects: list[Object] = obj.get("subjects") or []
    ref = obj.get("roleRef") or {}

    def names(kind: str) -> str:
        return ", ".join(subject["name"] for subject in subjects if subject.get("kind") == kind)

    accounts = [f"{s.get('namespace', '')}/{s['name']}" for s in subjects if s.get("kind") == "ServiceAccount"]
    role = f"{ref.get('kind')}/{ref.get('name')}"
    return _named(obj, role, _age(obj, now), names("User"), names("Group"), ", ".join(accounts))


def _ingress(obj: Object, now: float) -> list[Any]:
    spec = obj.get("spec") or {}
    hosts = [rule["host"] for rule in spec.get("rules") or () if rule.get("host")]
    shown = ",".join(hosts[:3]) + (f" + {len(hosts) - 3} more..." if len(hosts) > 3 else "")
    balancer = ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
    address = ",".join(entry.get("ip") or entry.get("hostname") or "" for entry in balancer)
    ports = "80, 443" if spec.get("tls") else "80"
    return _named(obj, spec.get("ingressClassName") or NONE, shown or "*", address, ports, _age(obj, now))


def _ingress_class(obj: Object, now: float) -> list[Any]:
    spec = obj.get("spec") or {}
    found = spec.get("parameters") or {}
    group = f".{found['apiGroup']}" if found.get("apiGroup") else ""
    parameters = f"{found.get('kind')}{group}/{found.get('name')}" if found else NONE
    return _named(obj, spec.get("controller", ""), parameters, _age(obj, now))


def _network_policy(obj: Object, now: float) -> list[Any]:
    return _named(obj, format_selector((obj.get("spec") or {}).get("podSelector")), _age(obj, now))


def _budget(obj: Object, now: float) -> list[Any]:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
    return _named(
        obj,
        "N/A" if least is None else str(least),
        "N/A" if most is None else str(most),
        status.get("disruptionsAllowed", 0),
        _age(obj, now),
    )


def _autoscaler(obj: Object, now: float) -> list[Any]:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    ref = spec.get("scaleTargetRef") or {}
    least = spec.get("minReplicas")
    return _named(
        obj,
        f"{ref.get('kind')}/{ref.get('name')}",
        _targets(spec.get("metrics") or [], status.get("currentMetrics") or []),
        "<unset>" if least is None else str(least),
        spec.get("maxReplicas", 0),
        status.get("currentReplicas", 0),
        _age(obj, now),
    )


def _targets(metrics: list[Object], current: list[Any]) -> str:
    shown: list[str] = []
    for index, metric in enumerate(metrics[:2]):
        resource = metric.get("resource") or {}
        wanted = resource.get("target") or {}
        now = ((current[index] or {}).get("resource") or {}).get("current") or {} if index < len(current) else {}
        if wanted.get("averageUtilization") is not None:
            have = now.get("averageUtilization")
            text = f"{'<unknown>' if have is None else f'{have}%'}/{wanted['averageUtilization']}%"
        else:
            text = f"{now.get('averageValue') or '<unknown>'}/{wanted.get('averageValue') or '<auto>'}"
        shown.append(f"{resource.get('name')}: {text}" if resource else text)
    return (", ".join(shown) + (f" + {len(metrics) - 2} more..." if len(metrics) > 2 else "")) or NONE


def _lease(obj: Object, now: float) -> list[Any]:
    return _named(obj, (obj.get("spec") or {}).get("holderIdentity") or "", _age(obj, now))


def _priority_class(obj: Object, now: float) -> list[Any]:
    policy = obj.get("preemptionPolicy", "")
    return _named(obj, obj.get("value", 0), bool(obj.get("globalDefault")), _age(obj, now), policy)


def _storage_class(obj: Object, now: float) -> list[Any]:
    annotations = obj["metadata"].get("annotations") or {}
    name = obj["metadata"]["name"]
    if annotations.get("storageclass.kubernetes.io/is-default-class") == "true":
        name += " (default)"
    policy, mode = obj.get("reclaimPolicy", ""), obj.get("volumeBindingMode", "")
    return [name, obj.get("provisioner", ""), policy, mode, bool(obj.get("allowVolumeExpansion")), _age(obj, now)]


def _webhooks(obj: Object, now: float) -> list[Any]:
    return _named(obj, len(obj.get("webhooks") or ()), _age(obj, now))


def _endpoint_slice(obj: Object, now: float) -> list[Any]:
    ports = ",".join(str(port["port"]) if port.get("port") else "*" for port in obj.get("ports") or ())
    found = [address for endpoint in obj.get("endpoints") or () for address in endpoint.get("addresses") or ()]
    text = ",".join(found[:3]) + (f" + {len(found) - 3} more..." if len(found) > 3 else "")
    return _named(obj, obj.get("addressType", ""), ports or "<unset>", text or "<unset>", _age(obj, now))


_CELLS: dict[str, Callable[[Object, float], list[Any]]] = {
    "Namespace": _namespace,
    "ConfigMap": _config_map,
    "Secret": _secret,
    "ServiceAccount": lambda obj, now: _named(obj, _age(obj, now)),
    "Service": _service,
    "Endpoints": _endpoints,
    "Pod": pod_cells,
    "Event": _event,
    "Node": _node,
    "PersistentVolumeClaim": _claim,
    "PersistentVolume": _volume,
    "Deployment": _deployment,
    "ReplicaSet": _replica_set,
    "StatefulSet": _stateful_set,
    "DaemonSet": _daemon_set,
    "ControllerRevision": _controller_revision,
    "Job": _job,
    "CronJob": _cron_job,
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
}
