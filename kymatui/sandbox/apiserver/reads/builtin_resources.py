"""The built-in resources of API server v1.36 that the sandbox serves, as its discovery lists them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from kymatui.sandbox.apiserver.reads.api_discovery import storage_hash
from kymatui.sandbox.apiserver.resources.resource import KindSemantics, ServedResource, Subresource
from kymatui.schemas.types.schema_node import Schema

_ALL = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
_SUB = ("get", "patch", "update")

# group|version|resource|kind|scope|short names|categories|verbs (empty: all)|subresources
# A subresource is name, or name:kind:group/version:verbs if its kind differs from the resource's.
_TABLE = """
    core|v1|bindings|Binding|N|||create|
    core|v1|configmaps|ConfigMap|N|cm|||
    core|v1|endpoints|Endpoints|N|ep|||
    core|v1|events|Event|N|ev|||
    core|v1|limitranges|LimitRange|N|limits|||
    core|v1|namespaces|Namespace|C|ns||create,delete,get,list,patch,update,watch|finalize:Namespace:/:update status
    core|v1|nodes|Node|C|no|||status
    core|v1|persistentvolumeclaims|PersistentVolumeClaim|N|pvc|||status
    core|v1|persistentvolumes|PersistentVolume|C|pv|||status
    core|v1|pods|Pod|N|po|all||binding:Binding:/:create eviction:Eviction:policy/v1:create log:Pod:/:get status
    core|v1|podtemplates|PodTemplate|N||||
    core|v1|replicationcontrollers|ReplicationController|N|rc|all||scale:Scale:autoscaling/v1:get,patch,update status
    core|v1|resourcequotas|ResourceQuota|N|quota|||status
    core|v1|secrets|Secret|N||||
    core|v1|serviceaccounts|ServiceAccount|N|sa|||token:TokenRequest:authentication.k8s.io/v1:create
    core|v1|services|Service|N|svc|all||status
    apiregistration.k8s.io|v1|apiservices|APIService|C||api-extensions||status
    apps|v1|controllerrevisions|ControllerRevision|N||||
    apps|v1|daemonsets|DaemonSet|N|ds|all||status
    apps|v1|deployments|Deployment|N|deploy|all||scale:Scale:autoscaling/v1:get,patch,update status
    apps|v1|replicasets|ReplicaSet|N|rs|all||scale:Scale:autoscaling/v1:get,patch,update status
    apps|v1|statefulsets|StatefulSet|N|sts|all||scale:Scale:autoscaling/v1:get,patch,update status
    authentication.k8s.io|v1|selfsubjectreviews|SelfSubjectReview|C|||create|
    authentication.k8s.io|v1|tokenreviews|TokenReview|C|||create|
    authorization.k8s.io|v1|localsubjectaccessreviews|LocalSubjectAccessReview|N|||create|
    authorization.k8s.io|v1|selfsubjectaccessreviews|SelfSubjectAccessReview|C|||create|
    authorization.k8s.io|v1|selfsubjectrulesreviews|SelfSubjectRulesReview|C|||create|
    authorization.k8s.io|v1|subjectaccessreviews|SubjectAccessReview|C|||create|
    autoscaling|v2|horizontalpodautoscalers|HorizontalPodAutoscaler|N|hpa|all||status
    batch|v1|cronjobs|CronJob|N|cj|all||status
    batch|v1|jobs|Job|N||all||status
    networking.k8s.io|v1|ingressclasses|IngressClass|C||||
    networking.k8s.io|v1|ingresses|Ingress|N|ing|||status
    networking.k8s.io|v1|networkpolicies|NetworkPolicy|N|netpol|||
    policy|v1|poddisruptionbudgets|PodDisruptionBudget|N|pdb|||status
    rbac.authorization.k8s.io|v1|clusterrolebindings|ClusterRoleBinding|C||||
    rbac.authorization.k8s.io|v1|clusterroles|ClusterRole|C||||
    rbac.authorization.k8s.io|v1|rolebindings|RoleBinding|N||||
    rbac.authorization.k8s.io|v1|roles|Role|N||||
    storage.k8s.io|v1|csidrivers|CSIDriver|C||||
    storage.k8s.io|v1|csinodes|CSINode|C||||
    storage.k8s.io|v1|csistoragecapacities|CSIStorageCapacity|N||||
    storage.k8s.io|v1|storageclasses|StorageClass|C|sc|||
    storage.k8s.io|v1|volumeattachments|VolumeAttachment|C||||status
    storage.k8s.io|v1|volumeattributesclasses|VolumeAttributesClass|C|vac|||
    admissionregistration.k8s.io|v1|mutatingadmissionpolicies|MutatingAdmissionPolicy|C||api-extensions||
    admissionregistration.k8s.io|v1|mutatingadmissionpolicybindings|MutatingAdmissionPolicyBinding|C||api-extensions||
    admissionregistration.k8s.io|v1|mutatingwebhookconfigurations|MutatingWebhookConfiguration|C||api-extensions||
    admissionregistration.k8s.io|v1|validatingadmissionpolicies|ValidatingAdmissionPolicy|C||api-extensions||status
    admissionregistration.k8s.io|v1|validatingadmissionpolicybindings|ValidatingAdmissionPolicyBinding|C||api-extensions||
    admissionregistration.k8s.io|v1|validatingwebhookconfigurations|ValidatingWebhookConfiguration|C||api-extensions||
    apiextensions.k8s.io|v1|customresourcedefinitions|CustomResourceDefinition|C|crd,crds|api-extensions||status
    scheduling.k8s.io|v1|priorityclasses|PriorityClass|C|pc|||
    coordination.k8s.io|v1|leases|Lease|N||||
    node.k8s.io|v1|runtimeclasses|RuntimeClass|C||||
    discovery.k8s.io|v1|endpointslices|EndpointSlice|N||||
"""

_CREATED_BY_UPDATE = frozenset(
    (
        "endpoints",
        "events",
        "limitranges",
        "services",
        "leases.coordination.k8s.io",
        "clusterroles.rbac.authorization.k8s.io",
        "clusterrolebindings.rbac.authorization.k8s.io",
        "roles.rbac.authorization.k8s.io",
        "rolebindings.rbac.authorization.k8s.io",
    )
)
_NEEDS_VERSION = frozenset(
    (
        "apiservices.apiregistration.k8s.io",
        "leases.coordination.k8s.io",
        "poddisruptionbudgets.policy",
        "customresourcedefinitions.apiextensions.k8s.io",
        "validatingwebhookconfigurations.admissionregistration.k8s.io",
        "mutatingwebhookconfigurations.admissionregistration.k8s.io",
        "validatingadmissionpolicies.admissionregistration.k8s.io",
        "validatingadmissionpolicybindings.admissionregistration.k8s.io",
        "mutatingadmissionpolicies.admissionregistration.k8s.io",
        "mutatingadmissionpolicybindings.admissionregistration.k8s.io",
    )
)
_SHOWS_DELETED = frozenset(
    (
        "persistentvolumeclaims",
        "persistentvolumes",
        "pods",
        "podtemplates",
        "resourcequotas",
        "serviceaccounts",
        "services",
        "csidrivers.storage.k8s.io",
        "csinodes.storage.k8s.io",
        "csistoragecapacities.storage.k8s.io",
        "storageclasses.storage.k8s.io",
        "volumeattachments.storage.k8s.io",
        "volumeattributesclasses.storage.k8s.io",
    )
)


class SemanticsOf(Protocol):
    """Returns semantics and schema of a kind; `resource` is the full name."""

    def __call__(
        self, group: str, version: str, kind: str, resource: str, *, namespaced: bool
    ) -> tuple[KindSemantics, Schema]: ...


def builtin_resources(semantics: SemanticsOf) -> Iterator[ServedResource]:
    """Yield all built-in resources in the order of discovery."""
    for line in _TABLE.strip().splitlines():
        yield _resource(line.strip().split("|"), semantics)


def _resource(cells: list[str], semantics: SemanticsOf) -> ServedResource:
    group, version, name, kind, scope, shorts, categories, verbs, subs = cells
    group = "" if group == "core" else group
    full = f"{name}.{group}" if group else name
    stored = not verbs or "list" in verbs
    meaning, schema = semantics(group, version, kind, full, namespaced=scope == "N")
    return ServedResource(
        group=group,
        version=version,
        name=name,
        singular=kind.lower(),
        kind=kind,
        namespaced=scope == "N",
        verbs=tuple(verbs.split(",")) if verbs else _ALL,
        semantics=meaning,
        schema=schema,
        list_kind=f"{kind}List",
        short_names=tuple(filter(None, shorts.split(","))),
        categories=tuple(filter(None, categories.split(","))),
        storage_hash=storage_hash(group, version, kind) if stored else "",
        subresources={sub.name: sub for sub in map(_subresource(kind), subs.split())},
        unconditional_update=full not in _NEEDS_VERSION,
        creates_on_update=full in _CREATED_BY_UPDATE,
        returns_deleted=full in _SHOWS_DELETED,
    )


def _subresource(kind: str) -> Callable[[str], Subresource]:
    def parse(text: str) -> Subresource:
        name, *more = text.split(":")
        if not more:
            return Subresource(name, kind, _SUB)
        other, subresource, verbs = more
        group, _, version = subresource.partition("/")
        return Subresource(name, other, tuple(verbs.split(",")), group, version)

    return parse
