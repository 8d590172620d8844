r"""Field specs: the fields that a transformer changes, by kind; defaults plus `configurations`.

A path has parts between "/" (a "/" within a part is "\\/"). Lists on the way are traversed implicitly, or with "[]"
after the part, which is then never created.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any, Final

from msgspec import Struct, field

from kymatui.errors import SourceError
from kymatui.kustomize.model.resmap import Gvk
from kymatui.kustomize.model.strict_fields import StrictFields

ANY: Final = Gvk()


class FieldSpec(Struct, frozen=True):
    """A field of the selected kinds; `create` adds it if missing."""

    path: str
    kind: Gvk = ANY
    create: bool = False


FieldSpecs = tuple[FieldSpec, ...]
References = tuple[tuple[Gvk, FieldSpecs], ...]


class TransformerConfig(Struct):
    """All field specs; a kustomization passes those of its `configurations` to its parents."""

    name_prefix: FieldSpecs = (FieldSpec("metadata/name"),)
    name_suffix: FieldSpecs = (FieldSpec("metadata/name"),)
    namespace: FieldSpecs = ()
    common_labels: FieldSpecs = ()
    labels: FieldSpecs = ()
    template_labels: FieldSpecs = ()
    volume_claim_labels: FieldSpecs = ()
    common_annotations: FieldSpecs = ()
    images: FieldSpecs = ()
    replicas: FieldSpecs = ()
    variables: FieldSpecs = ()
    references: References = field(default=())

    def merge(self, other: TransformerConfig) -> None:
        """Add new field specs of another config. Raises SourceError if they contradict."""
        for name in _LISTS.values():
            setattr(self, name, merged(getattr(self, name), getattr(other, name)))
        for kind, specs in other.references:
            known = dict(self.references)
            known[kind] = merged(known.get(kind, ()), specs)
            self.references = tuple(known.items())


def merged(specs: FieldSpecs, more: Iterable[FieldSpec]) -> FieldSpecs:
    """Return the specs plus new ones. Raises SourceError if two differ only in `create`."""
    combined = list(specs)
    for spec in more:
        same = next((old for old in combined if old.path == spec.path and spec.kind.selects(old.kind)), None)
        if same is None:
            combined.append(spec)
        elif same.create != spec.create:
            raise SourceError(f"two configurations of {spec.path} differ in `create`")
    return tuple(combined)


_LISTS: Final = {
    "namePrefix": "name_prefix",
    "nameSuffix": "name_suffix",
    "namespace": "namespace",
    "commonLabels": "common_labels",
    "labels": "labels",
    "templateLabels": "template_labels",
    "volumeClaimTemplateLabels": "volume_claim_labels",
    "commonAnnotations": "common_annotations",
    "images": "images",
    "replicas": "replicas",
    "varReference": "variables",
}


def read_config(fields: StrictFields) -> TransformerConfig:
    """Read a file of `configurations`. Raises SourceError for unsupported content."""
    config = TransformerConfig(name_prefix=(), name_suffix=())
    for key, name in _LISTS.items():
        setattr(config, name, tuple(map(read_spec, fields.children(key))))
    config.references = tuple(map(_read_reference, fields.children("nameReference")))
    fields.finish()
    return config


def _read_reference(fields: StrictFields) -> tuple[Gvk, FieldSpecs]:
    reference = _kind(fields), tuple(map(read_spec, fields.children("fieldSpecs")))
    fields.finish()
    return reference


def read_spec(fields: StrictFields) -> FieldSpec:
    """Read a field spec. Raises SourceError for an unknown field, such as apiVersion or apiGroup."""
    spec = FieldSpec(fields.text("path"), _kind(fields), fields.flag("create"))
    fields.finish()
    return spec


def _kind(fields: StrictFields) -> Gvk:
    return Gvk(fields.text("group"), fields.text("version"), fields.text("kind"))


# traversal


def split_path(path: str, delimiter: str = "/") -> list[str]:
    """Return the parts of a path; a delimiter after a backslash belongs to its part."""
    parts: list[str] = []
    for part in path.removeprefix(delimiter).split(delimiter):
        if parts and parts[-1].endswith("\\"):
            parts[-1] = f"{parts[-1][:-1]}{delimiter}{part}"
        else:
            parts.append(part)
    return parts


Change = Callable[[Any], Any]


def change(body: Any, spec: FieldSpec, make: Callable[[], Any] | None, set_value: Change) -> None:
    """Replace the value at every place of a path with the result of `set_value`.

    `make` returns the initial value of a created field; with None, nothing is created.
    """
    _walk(body, split_path(spec.path), make if spec.create else None, set_value)


def _walk(node: Any, path: list[str], make: Callable[[], Any] | None, set_value: Change) -> None:
    """Traverse a path; the last part is changed in its container, because scalars are immutable."""
    if isinstance(node, list):
        for item in node:
            _walk(item, path, make, set_value)
    elif isinstance(node, dict):
        name, rest = path[0].removesuffix("[]"), path[1:]
        is_list = name != path[0]
        if name == "*":
            raise SourceError("a path cannot have *; name each field")
        value = node.get(name)
        if value is None and name in node and is_list:
            value = node[name] = []  # as kustomize, which takes the brackets for the type of the null
        if value is None:
            if make is None or is_list:
                return
            value = node[name] = {} if rest else make()
        if rest:
            _walk(value, rest, make, set_value)
        else:
            node[name] = set_value(value)
    elif node is not None:
        raise SourceError(f"{path[0]} cannot be set in {node!r}, which is not a map")


# defaults


def _each(kinds: str, path: str, *, group: str = "", version: str = "", create: bool = False) -> Iterator[FieldSpec]:
    for kind in kinds.split():
        yield FieldSpec(path, Gvk(group, version, kind), create)


_PODS: Final = {
    "Pod": "spec",
    "PodTemplate": "template/spec",
    "Deployment": "spec/template/spec",
    "ReplicaSet": "spec/template/spec",
    "DaemonSet": "spec/template/spec",
    "StatefulSet": "spec/template/spec",
    "ReplicationController": "spec/template/spec",
    "Job": "spec/template/spec",
    "CronJob": "spec/jobTemplate/spec/template/spec",
}
_WITH_MAPS: Final = "Pod PodTemplate Deployment ReplicaSet DaemonSet StatefulSet Job CronJob"
_WITH_ACCOUNTS: Final = "Pod StatefulSet Deployment ReplicationController CronJob Job DaemonSet"


def _in_pods(kinds: str, *paths: str) -> Iterator[FieldSpec]:
    for kind in kinds.split():
        for path in paths:
            yield FieldSpec(f"{_PODS[kind]}/{path}", Gvk("", "v1" if kind == "Pod" else "", kind))


def _in_pods_of_any_version(kinds: str, path: str) -> Iterator[FieldSpec]:
    for kind in kinds.split():
        yield FieldSpec(f"{_PODS[kind]}/{path}", Gvk("", "", kind))


def _references() -> Iterator[tuple[Gvk, FieldSpecs]]:
    scaled = tuple(_each("HorizontalPodAutoscaler", "spec/scaleTargetRef/name"))
    for kind in ("Deployment", "ReplicationController", "ReplicaSet", "StatefulSet"):
        yield Gvk(kind=kind), scaled
    yield Gvk("", "v1", "ConfigMap"), tuple(_to_config_maps())
    yield Gvk("", "v1", "Secret"), tuple(_to_secrets())
    yield Gvk("", "v1", "Service"), tuple(_to_services())
    rbac, bindings = "rbac.authorization.k8s.io", "RoleBinding ClusterRoleBinding"
    yield Gvk(rbac, "", "Role"), tuple(_each("RoleBinding", "roleRef/name", group=rbac))
    yield Gvk(rbac, "", "ClusterRole"), tuple(_each(bindings, "roleRef/name", group=rbac))
    accounts = _in_pods_of_any_version(_WITH_ACCOUNTS, "serviceAccountName")
    yield Gvk("", "v1", "ServiceAccount"), (*_each(bindings, "subjects", group=rbac), *accounts)
    claims = _in_pods_of_any_version(_WITH_ACCOUNTS, "volumes/persistentVolumeClaim/claimName")
    yield Gvk("", "v1", "PersistentVolumeClaim"), tuple(claims)
    volumes = (*_each("PersistentVolumeClaim", "spec/volumeName"), *_each("ClusterRole", "rules/resourceNames"))
    yield Gvk("", "v1", "PersistentVolume"), volumes
    classes = _each("PersistentVolume PersistentVolumeClaim", "spec/storageClassName")
    in_templates = FieldSpec("spec/volumeClaimTemplates/spec/storageClassName", Gvk(kind="StatefulSet"))
    yield Gvk("storage.k8s.io", "v1", "StorageClass"), (*classes, in_templates)
    priorities = _in_pods_of_any_version(_WITH_ACCOUNTS, "priorityClassName")
    yield Gvk("scheduling.k8s.io", "v1", "PriorityClass"), tuple(priorities)
    yield Gvk("networking.k8s.io/v1", "v1", "IngressClass"), tuple(_each("Ingress", "spec/ingressClassName"))
    admission = "admissionregistration.k8s.io"
    policies = _each("ValidatingAdmissionPolicyBinding", "spec/policyName", group=admission)
    yield Gvk(admission, "", "ValidatingAdmissionPolicy"), tuple(policies)


def _to_config_maps() -> Iterator[FieldSpec]:
    yield from _in_pods(
        _WITH_MAPS,
        "volumes/configMap/name",
        "containers/env/valueFrom/configMapKeyRef/name",
        "initContainers/env/valueFrom/configMapKeyRef/name",
        "containers/envFrom/configMapRef/name",
        "initContainers/envFrom/configMapRef/name",
        "volumes/projected/sources/configMap/name",
    )
    yield from _each("Node", "spec/configSource/configMap")
    yield from _each("Role ClusterRole", "rules/resourceNames")
    yield from _each("Ingress", "metadata/annotations/nginx.ingress.kubernetes.io\\/fastcgi-params-configmap")


def _to_secrets() -> Iterator[FieldSpec]:
    yield from _in_pods(
        _WITH_MAPS,
        "volumes/secret/secretName",
        "containers/env/valueFrom/secretKeyRef/name",
        "initContainers/env/valueFrom/secretKeyRef/name",
        "containers/envFrom/secretRef/name",
        "initContainers/envFrom/secretRef/name",
        "imagePullSecrets/name",
        "volumes/projected/sources/secret/name",
    )
    yield from _each("Ingress", "spec/tls/secretName")
    for name in ("ingress.kubernetes.io\\/auth-secret", "nginx.ingress.kubernetes.io\\/auth-secret"):
        yield from _each("Ingress", f"metadata/annotations/{name}")
    yield from _each("Ingress", "metadata/annotations/nginx.ingress.kubernetes.io\\/auth-tls-secret")
    yield from _each("ServiceAccount", "imagePullSecrets/name")
    for name in ("secretName", "adminSecretName", "userSecretName", "secretRef"):
        yield from _each("StorageClass", f"parameters/{name}")
    yield from _each("Role ClusterRole", "rules/resourceNames")
    path = "spec/template/spec/containers/env/valueFrom/secretKeyRef/name"
    yield FieldSpec(path, Gvk("serving.knative.dev", "v1", "Service"))
    yield from _each("PersistentVolume", "spec/azureFile/secretName")


def _to_services() -> Iterator[FieldSpec]:
    yield from _each("StatefulSet", "spec/serviceName", group="apps")
    for path in (
        "rules/http/paths/backend/serviceName",
        "backend/serviceName",
        "rules/http/paths/backend/service/name",
    ):
        yield from _each("Ingress", f"spec/{path}")
    yield from _each("Ingress", "spec/defaultBackend/service/name")
    yield from _each("APIService", "spec/service/name", group="apiregistration.k8s.io")
    webhooks = "ValidatingWebhookConfiguration MutatingWebhookConfiguration"
    yield from _each(webhooks, "webhooks/clientConfig/service", group="admissionregistration.k8s.io")


def _templates(field_name: str, stateful_group: str) -> Iterator[FieldSpec]:
    """Yield the specs of labels or annotations on objects and their templates."""
    yield FieldSpec(f"metadata/{field_name}", create=True)
    template = f"spec/template/metadata/{field_name}"
    yield from _each("ReplicationController", template, version="v1", create=True)
    yield from _each("Deployment ReplicaSet DaemonSet", template, create=True)
    yield from _each("StatefulSet", template, group=stateful_group, create=True)
    yield from _each("Job", template, group="batch", create=True)
    yield from _each("CronJob", f"spec/jobTemplate/metadata/{field_name}", group="batch", create=True)
    yield from _each("CronJob", f"spec/jobTemplate/{template}", group="batch", create=True)


def _selectors() -> Iterator[FieldSpec]:
    yield from _each("Service ReplicationController", "spec/selector", version="v1", create=True)
    match = "spec/selector/matchLabels"
    yield from _each("Deployment ReplicaSet DaemonSet", match, create=True)
    yield from _each("StatefulSet", match, group="apps", create=True)
    for kind in ("podAffinity", "podAntiAffinity"):
        base = f"spec/template/spec/affinity/{kind}"
        preferred = "preferredDuringSchedulingIgnoredDuringExecution/podAffinityTerm/labelSelector/matchLabels"
        required = "requiredDuringSchedulingIgnoredDuringExecution/labelSelector/matchLabels"
        yield from _each("Deployment StatefulSet", f"{base}/{preferred}", group="apps")
        yield from _each("Deployment StatefulSet", f"{base}/{required}", group="apps")
    spread = "spec/template/spec/topologySpreadConstraints/labelSelector/matchLabels"
    yield from _each("Deployment StatefulSet", spread, group="apps")
    yield from _each("Job", match, group="batch")
    yield from _each("CronJob", f"spec/jobTemplate/{match}", group="batch")
    yield from _each("PodDisruptionBudget", match, group="policy")
    for path in ("podSelector", "ingress/from/podSelector", "egress/to/podSelector"):
        yield from _each("NetworkPolicy", f"spec/{path}/matchLabels", group="networking.k8s.io")


def _variables() -> Iterator[FieldSpec]:
    """Yield the fields in which kustomize replaces variables."""
    for kind, base in _PODS.items():
        if kind in ("PodTemplate", "ReplicationController"):
            continue
        for containers in ("containers", "initContainers"):
            for path in ("args", "command", "env/value", "volumeMounts/mountPath"):
                yield from _each(kind, f"{base}/{containers}/{path}")
    for kind in ("DaemonSet", "Deployment", "Job", "ReplicaSet", "Pod"):
        yield from _each(kind, f"{_PODS[kind]}/volumes/nfs/server")
    yield from _each("CronJob", "spec/jobTemplate/spec/template/volumes/nfs/server")
    yield from _each("Deployment", "spec/template/metadata/annotations")
    yield from _each("StatefulSet", "spec/volumeClaimTemplates/spec/nfs/server")
    yield from _each("PersistentVolume", "spec/nfs/server")
    for path in ("spec/rules/host", "spec/tls/hosts", "spec/tls/secretName"):
        yield from _each("Ingress", path)
    for path in ("spec/ports/port", "spec/ports/targetPort"):
        yield from _each("Service", path)
    yield FieldSpec("metadata/labels")
    yield FieldSpec("metadata/annotations")


@cache
def default_config() -> TransformerConfig:
    """Return kustomize's defaults, which must not be changed."""
    claims = tuple(_each("StatefulSet", "spec/volumeClaimTemplates[]/metadata/labels", group="apps", create=True))
    conversion = "spec/conversion/webhook/clientConfig/service/namespace"
    return TransformerConfig(
        namespace=(
            *_each("Namespace", "metadata/name", create=True),
            *_each("APIService", "spec/service/namespace", group="apiregistration.k8s.io", create=True),
            *_each("CustomResourceDefinition", conversion, group="apiextensions.k8s.io"),
        ),
        common_labels=(*_selectors(), *_templates("labels", "apps"), *claims),
        template_labels=tuple(_templates("labels", "apps")),
        volume_claim_labels=claims,
        common_annotations=tuple(_templates("annotations", "")),
        images=(
            *(
                FieldSpec(f"{base}/{path}", create=True)
                for base in ("spec", "spec/template/spec")
                for path in ("containers[]/image", "initContainers[]/image", "volumes[]/image/reference")
            ),
            FieldSpec("spec/jobTemplate/spec/template/spec/volumes[]/image/reference"),
        ),
        replicas=tuple(_each("Deployment ReplicationController ReplicaSet StatefulSet", "spec/replicas", create=True)),
        variables=tuple(_variables()),
        references=tuple(_references()),
    )
