"""Columns of built-in kinds (k8s.io/kubernetes/pkg/printers/internalversion).

Each kind has its own line and its columns below it: the name with `_` for a space, `:type:format` unless it is a
plain string, `*` if it is only in wide output, and the description. A description that begins with `.` is that of the
field it names. The name is the first column in every table except that of events.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Sequence
from typing import Any

from kymatui.domain.kubernetes.jsonpath import JsonPathError, find_values
from kymatui.sandbox.tables.builtin_cells import age
from kymatui.schemas.objects.structural_schemas import object_meta
from kymatui.schemas.types.builtin_schemas import UnknownKindError, builtin_schema
from kymatui.schemas.types.schema_node import GVK, Object

_COLUMNS = r"""
    Namespace
        Status The status of the namespace
        Age
    ConfigMap
        Data .data
        Age
    Secret
        Type .type
        Data .data
        Age
    ServiceAccount
        Age
    Service
        Type .spec.type
        Cluster-IP .spec.clusterIP
        External-IP .spec.externalIPs
        Port(s) .spec.ports
        Age
        Selector* .spec.selector
    Endpoints
        Endpoints .subsets
        Age
    Pod
        Ready The aggregate readiness state of this pod for accepting traffic.
        Status The aggregate status of the containers in this pod.
        Restarts The number of times the containers in this pod have been restarted and when the last
            container in this pod has restarted.
        Age
        IP* .status.podIP
        Node* .spec.nodeName
        Nominated_Node* .status.nominatedNodeName
        Readiness_Gates* .spec.readinessGates
    Event
        Last_Seen .lastTimestamp
        Type .type
        Reason .reason
        Object The object that this event is about.
        Subobject* .involvedObject.fieldPath
        Source* The component reporting this event. Should be a short machine understandable string.
        Message .message
        First_Seen* .firstTimestamp
        Count* .count
        Name:string:name* .metadata.name
    Node
        Status The status of the node
        Roles The roles of the node
        Age
        Version .status.nodeInfo.kubeletVersion
        Internal-IP* .status.addresses
        External-IP* .status.addresses
        OS-Image* .status.nodeInfo.osImage
        Kernel-Version* .status.nodeInfo.kernelVersion
        Container-Runtime* .status.nodeInfo.containerRuntimeVersion
    PersistentVolumeClaim
        Status .status.phase
        Volume .spec.volumeName
        Capacity .status.capacity
        Access_Modes .status.accessModes
        StorageClass StorageClass of the pvc
        VolumeAttributesClass VolumeAttributesClass of the pvc
        Age
        VolumeMode* .spec.volumeMode
    PersistentVolume
        Capacity .spec.capacity
        Access_Modes .spec.accessModes
        Reclaim_Policy .spec.persistentVolumeReclaimPolicy
        Status .status.phase
        Claim claimRef is part of a bi-directional binding between PersistentVolume and
            PersistentVolumeClaim. Expected to be non-nil when bound. claim.VolumeName is the authoritative
            bind between PV and PVC. More info:
            https://kubernetes.io/docs/concepts/storage/persistent-volumes#binding
        StorageClass StorageClass of the pv
        VolumeAttributesClass VolumeAttributesClass of the pv
        Reason .status.reason
        Age
        VolumeMode* .spec.volumeMode
    ReplicationController
        Desired:integer .spec.replicas
        Current:integer .status.replicas
        Ready:integer .status.readyReplicas
        Age
        Containers* Names of each container in the template.
        Images* Images referenced by each container in the template.
        Selector* .spec.selector
    PodTemplate
        Containers Names of each container in the template.
        Images Images referenced by each container in the template.
        Pod_Labels The labels for the pod template.
    ResourceQuota
        Request Request represents a minimum amount of cpu/memory that a container may consume.
        Limit Limits control the maximum amount of cpu/memory that a container may use independent of
            contention on the node.
        Age
    Deployment
        Ready Number of the pod with ready state
        Up-to-date .status.updatedReplicas
        Available .status.availableReplicas
        Age
        Containers* Names of each container in the template.
        Images* Images referenced by each container in the template.
        Selector* Label selector for pods. Existing ReplicaSets whose pods are selected by this will be the
            ones affected by this deployment. It must match the pod template's labels.
    ReplicaSet
        Desired:integer .spec.replicas
        Current:integer .status.replicas
        Ready:integer .status.readyReplicas
        Age
        Containers* Names of each container in the template.
        Images* Images referenced by each container in the template.
        Selector* Selector is a label query over pods that should match the replica count. Label keys and
            values that must match in order to be controlled by this replica set. It must match the pod
            template's labels. More info:
            https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors
    StatefulSet
        Ready Number of the pod with ready state
        Age
        Containers* Names of each container in the template.
        Images* Images referenced by each container in the template.
    DaemonSet
        Desired:integer .status.desiredNumberScheduled
        Current:integer .status.currentNumberScheduled
        Ready:integer .status.numberReady
        Up-to-date:integer .status.updatedNumberScheduled
        Available:integer .status.numberAvailable
        Node_Selector .spec.template.spec.nodeSelector
        Age
        Containers* Names of each container in the template.
        Images* Images referenced by each container in the template.
        Selector* A label query over pods that are managed by the daemon set. Must match in order to be
            controlled. It must match the pod template's labels. More info:
            https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors
    ControllerRevision
        Controller Controller of the object
        Revision .revision
        Age
    Job
        Status Status of the job.
        Completions .status.succeeded
        Duration Time required to complete the job.
        Age
        Containers* Names of each container in the template.
        Images* Images referenced by each container in the template.
        Selector* A label query over pods that should match the pod count. Normally, the system sets this
            field for you. More info:
            https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors
    CronJob
        Schedule .spec.schedule
        Timezone .spec.timeZone
        Suspend:boolean .spec.suspend
        Active:integer .status.active
        Last_Schedule .status.lastScheduleTime
        Age
        Containers* Names of each container in the template.
        Images* Images referenced by each container in the template.
        Selector* A label query over pods that should match the pod count. Normally, the system sets this
            field for you. More info:
            https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors
    RoleBinding
        Role RoleRef can reference a Role in the current namespace or a ClusterRole in the global namespace.
            If the RoleRef cannot be resolved, the Authorizer must return an error.
        Age
        Users* Users in the roleBinding
        Groups* Groups in the roleBinding
        ServiceAccounts* ServiceAccounts in the roleBinding
    ClusterRoleBinding
        Role RoleRef can only reference a ClusterRole in the global namespace. If the RoleRef cannot be
            resolved, the Authorizer must return an error.
        Age
        Users* Users in the clusterRoleBinding
        Groups* Groups in the clusterRoleBinding
        ServiceAccounts* ServiceAccounts in the clusterRoleBinding
    Ingress
        Class The name of the IngressClass resource that should be used for additional configuration
        Hosts Hosts that incoming requests are matched against before the ingress rule
        Address Address is a list containing ingress points for the load-balancer
        Ports Ports of TLS configurations that open
        Age
    IngressClass
        Controller Controller that is responsible for handling this class
        Parameters A reference to a resource with additional parameters
        Age
    NetworkPolicy
        Pod-Selector podSelector selects the pods to which this NetworkPolicy object applies. The array of
            rules is applied to any pods selected by this field. An empty selector matches all pods in the
            policy's namespace. Multiple network policies can select the same set of pods. In this case, the
            ingress rules for each are combined additively. This field is optional. If it is not specified,
            it defaults to an empty selector.
        Age
    IPAddress
        ParentRef ParentRef references the resource that an IPAddress is attached to. An IPAddress must
            reference a parent object.
    ServiceCIDR
        CIDRs CIDRs defines the IP blocks in CIDR notation (e.g. "192.168.0.0/24" or "2001:db8::/64") from
            which to assign service cluster IPs. Max of two CIDRs is allowed, one of each IP family. This
            field is immutable.
        Age
    PodDisruptionBudget
        Min_Available The minimum number of pods that must be available.
        Max_Unavailable The maximum number of pods that may be unavailable.
        Allowed_Disruptions:integer Calculated number of pods that may be disrupted at this time.
        Age
    HorizontalPodAutoscaler
        Reference scaleTargetRef points to the target resource to scale, and is used to the pods for which
            metrics should be collected, as well as to actually change the replica count.
        Targets .spec.metrics
        MinPods .spec.minReplicas
        MaxPods .spec.maxReplicas
        Replicas .status.currentReplicas
        Age
    Lease
        Holder .spec.holderIdentity
        Age
    PriorityClass
        Value:integer .value
        Global-Default:boolean .globalDefault
        Age
        PreemptionPolicy .preemptionPolicy
    StorageClass
        Provisioner .provisioner
        ReclaimPolicy .reclaimPolicy
        VolumeBindingMode .volumeBindingMode
        AllowVolumeExpansion .allowVolumeExpansion
        Age
    VolumeAttachment
        Attacher:string:name .spec.attacher
        PV .spec.source.persistentVolumeName
        Node .spec.nodeName
        Attached:boolean .status.attached
        Age
    CSIDriver
        AttachRequired:boolean .spec.attachRequired
        PodInfoOnMount:boolean .spec.podInfoOnMount
        StorageCapacity:boolean .spec.storageCapacity
        TokenRequests .spec.tokenRequests
        RequiresRepublish:boolean .spec.requiresRepublish
        Modes .spec.volumeLifecycleModes
        Age
    CSINode
        Drivers:integer Drivers indicates the number of CSI drivers registered on the node
        Age
    VolumeAttributesClass
        DriverName Name of the CSI driver This field is immutable.
        Age
    ValidatingWebhookConfiguration
        Webhooks:integer Webhooks indicates the number of webhooks registered in this configuration
        Age
    MutatingWebhookConfiguration
        Webhooks:integer Webhooks indicates the number of webhooks registered in this configuration
        Age
    ValidatingAdmissionPolicy
        Validations:integer Validations indicates the number of validation rules defined in this
            configuration
        ParamKind ParamKind specifies the kind of resources used to parameterize this policy
        Age
    ValidatingAdmissionPolicyBinding
        PolicyName PolicyName indicates the policy definition which the policy binding binded to
        ParamRef ParamRef indicates the param resource which sets the configuration param
        Age
    EndpointSlice
        AddressType .addressType
        Ports .ports
        Endpoints .endpoints
        Age
    CertificateSigningRequest
        Age
        SignerName Requested signer for the request. It is a qualified name in the form:
            `scope-hostname.io/name`. If empty, it will be defaulted:\n 1. If it's a kubelet client
            certificate, it is assigned\n    "kubernetes.io/kube-apiserver-client-kubelet".\n 2. If it's a
            kubelet serving certificate, it is assigned\n    "kubernetes.io/kubelet-serving".\n 3.
            Otherwise, it is assigned "kubernetes.io/legacy-unknown".\nDistribution of trust for signers
            happens out of band. You can select on this field using `spec.signerName`.
        Requestor Base64-encoded PKCS#10 CSR data
        RequestedDuration .spec.expirationSeconds
        Condition Conditions applied to the request, such as approval or denial.
    RuntimeClass
        Handler
        Age
    FlowSchema
        PriorityLevel .spec.priorityLevelConfiguration.name
        MatchingPrecedence .spec.matchingPrecedence
        DistinguisherMethod `distinguisherMethod` defines how to compute the flow distinguisher for requests
            that match this schema. `nil` specifies that the distinguisher is disabled and thus will always
            be the empty string.
        Age
        MissingPL references a broken or non-existent PriorityLevelConfiguration
    PriorityLevelConfiguration
        Type .spec.type
        NominalConcurrencyShares .spec.limited.nominalConcurrencyShares
        Queues `queues` is the number of queues for this priority level. The queues exist independently at
            each apiserver. The value must be positive.  Setting it to 1 effectively precludes
            shufflesharding and thus makes the distinguisher method of associated flow schemas irrelevant.
            This field has a default value of 64.
        HandSize `handSize` is a small positive number that configures the shuffle sharding of requests into
            queues.  When enqueuing a request at this priority level the request's flow identifier (a string
            pair) is hashed and the hash value is used to shuffle the list of queues and deal a hand of the
            size specified here.  The request is put into one of the shortest queues in that hand.
            `handSize` must be no larger than `queues`, and should be significantly smaller (so that a few
            heavy flows do not saturate most of the queues).  See the user-facing documentation for more
            extensive guidance on setting this field.  This field has a default value of 8.
        QueueLengthLimit `queueLengthLimit` is the maximum number of requests allowed to be waiting in a
            given queue of this priority level at a time; excess requests are rejected.  This value must be
            positive.  If not specified, it will be defaulted to 50.
        Age
    APIService
        Service The reference to the service that hosts this API endpoint.
        Available Whether this service is available.
        Age
"""

_ENTRY = re.compile(r"(?P<name>[^:*\s]+)(?::(?P<type>\w+))?(?::(?P<format>\w+))?(?P<wide>\*)?(?: (?P<text>.*))?$")
_NAMELESS = frozenset(("Event",))


@functools.cache
def _columns_by_kind() -> dict[str, list[str]]:
    """Return the column entries of every kind, with continued lines joined."""
    columns: dict[str, list[str]] = {}
    entries: list[str] = []
    for line in _COLUMNS.strip("\n").splitlines():
        depth = len(line) - len(line.lstrip())
        if depth == 4:
            entries = columns.setdefault(line.strip(), [])
        elif depth == 8:
            entries.append(line.strip())
        else:
            entries[-1] += " " + line.strip()
    return columns


@functools.cache
def _builtin_columns(gvk: GVK) -> tuple[Object, ...]:
    entries = _columns_by_kind().get(gvk[2])
    if entries is None:
        created = object_meta().properties["creationTimestamp"].description
        return name_column(), _column("Created At", kind="date", description=created)
    columns = tuple(_parsed(gvk, entry) for entry in entries)
    return columns if gvk[2] in _NAMELESS else (name_column(), *columns)


def builtin_columns(gvk: GVK) -> list[Object]:
    """Return the columnDefinitions; kinds without their own columns have name and creation time."""
    return [dict(column) for column in _builtin_columns(gvk)]


def _parsed(gvk: GVK, entry: str) -> Object:
    match = _ENTRY.match(entry)
    if match is None:
        raise ValueError(f"column {entry!r} of {gvk[2]} cannot be read")
    return _column(
        match["name"].replace("_", " "),
        kind=match["type"] or "string",
        form=match["format"] or "",
        description=_description(gvk, match["name"], match["text"] or ""),
        priority=1 if match["wide"] else 0,
    )


def _column(name: str, *, kind: str, description: str, form: str = "", priority: int = 0) -> Object:
    return {"name": name, "type": kind, "format": form, "description": description, "priority": priority}


def _description(gvk: GVK, name: str, text: str) -> str:
    if name == "Age":
        return object_meta().properties["creationTimestamp"].description
    if not text.startswith("."):
        return text.replace("\\n", "\n")
    try:
        schema = builtin_schema(gvk)
    except UnknownKindError:
        return ""
    for part in text[1:].split("."):
        schema = schema.properties[part]
    return schema.description


# Columns of custom resources: those of the CRD, else the age.


AGE: Object = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}


def name_column() -> Object:
    """Return the first column of every kind."""
    return _custom_column("Name", "string", object_meta().properties["name"].description, form="name")


def _custom_column(name: str, kind: str, description: str, *, form: str = "", priority: int = 0) -> Object:
    return {"name": name, "type": kind, "format": form, "description": description, "priority": priority}


def custom_columns(printed: Sequence[Object]) -> list[Object]:
    """Return the columnDefinitions; `printed` are the version's additionalPrinterColumns."""
    columns = [name_column()]
    if not printed:
        columns.append(_custom_column("Age", "date", object_meta().properties["creationTimestamp"].description))
    for column in printed:
        description = column.get("description") or ""
        if not description:
            description = f"Custom resource definition column (in JSONPath format): {column['jsonPath']}"
        form, priority = column.get("format") or "", column.get("priority") or 0
        columns.append(_custom_column(column["name"], column["type"], description, form=form, priority=priority))
    return columns


def custom_cells(printed: Sequence[Object], obj: Object, now: float) -> list[Any]:
    cells: list[Any] = [(obj.get("metadata") or {}).get("name", "")]
    return cells + [_cell(column, obj, now) for column in printed or (AGE,)]


def _cell(column: Object, obj: Object, now: float) -> Any:
    try:
        values = find_values(column["jsonPath"], obj)
    except JsonPathError:
        return None
    if not values or values[0] is None:
        return None
    value, kind = values[0], column["type"]
    if kind == "string":
        return " ".join(_text(item) for item in values) if len(values) > 1 else _text(value)
    if kind == "date":
        return age(value, now)
    if kind == "integer":
        return int(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
    if kind == "number":
        return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None
    return value if isinstance(value, bool) else None


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
