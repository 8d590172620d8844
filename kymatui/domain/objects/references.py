"""The objects that an object needs to work: what its Pods mount, read and run as, and what its rules point to."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from msgspec import Struct

from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import CONFIG_MAP, SECRET, GroupVersionKind, ObjectRef
from kymatui.domain.snapshot.snapshots import Object

SERVICE = GroupVersionKind("", "v1", "Service")
SERVICE_ACCOUNT = GroupVersionKind("", "v1", "ServiceAccount")
_CLAIM = GroupVersionKind("", "v1", "PersistentVolumeClaim")
_RBAC = "rbac.authorization.k8s.io"

_TEMPLATES = {
    ("", "Pod"): (),
    ("apps", "Deployment"): ("spec", "template"),
    ("apps", "StatefulSet"): ("spec", "template"),
    ("apps", "DaemonSet"): ("spec", "template"),
    ("apps", "ReplicaSet"): ("spec", "template"),
    ("batch", "Job"): ("spec", "template"),
    ("batch", "CronJob"): ("spec", "jobTemplate", "spec", "template"),
}


class Reference(Struct, frozen=True):
    """One needed object: `where` it is named, the `key` of it that is used, and whether it may be missing."""

    ref: ObjectRef
    where: str
    key: str = ""
    optional: bool = False


class ReferenceState(StrEnum):
    """What is known of a referenced object."""

    FOUND = "found"
    MISSING = "missing"
    NO_KEY = "key missing"
    FORBIDDEN = "forbidden"
    UNKNOWN = "unknown"


class ResolvedReference(Struct, frozen=True):
    """A reference with what the server answered about its object."""

    reference: Reference
    resolution: ReferenceState
    message: str = ""

    @property
    def is_broken(self) -> bool:
        """Return whether the object that has the reference cannot work because of it."""
        return not self.reference.optional and self.resolution in (ReferenceState.MISSING, ReferenceState.NO_KEY)


def find_references(raw: Object) -> tuple[Reference, ...]:
    """Return the references of an object, each once, in the order in which the object names them."""
    ref, reader = read_ref(raw), JsonReader(raw)
    path = _TEMPLATES.get((ref.kind.group, ref.kind.kind))
    references: Iterator[Reference] = iter(())
    if path is not None:
        for step in path:
            reader = reader.child(step)
        references = _of_pod(reader.child("spec"), ref.namespace)
    elif ref.kind.group == _RBAC:
        references = _of_binding(reader, ref)
    elif ref.kind.kind.endswith("WebhookConfiguration"):
        references = _of_webhooks(reader)
    return tuple(dict.fromkeys(reference for reference in references if reference.ref.name))


def _of_pod(spec: JsonReader, namespace: str) -> Iterator[Reference]:
    def one(kind: GroupVersionKind, name: str, where: str, key: str = "", *, optional: bool = False) -> Reference:
        return Reference(ObjectRef(kind, namespace, name), where, key, optional)

    yield one(SERVICE_ACCOUNT, spec.text("serviceAccountName") or spec.text("serviceAccount"), "service account")
    for entry in spec.children("imagePullSecrets"):
        yield one(SECRET, entry.text("name"), "image pull Secret")
    for field in ("initContainers", "containers"):
        for container in spec.children(field):
            yield from _of_container(container, one_of=namespace)
    for volume in spec.children("volumes"):
        yield from _of_volume(volume, f"volume {volume.text('name')}", namespace)


def _of_container(container: JsonReader, *, one_of: str) -> Iterator[Reference]:
    name = container.text("name")
    for entry in container.children("envFrom"):
        for kind, field in ((CONFIG_MAP, "configMapRef"), (SECRET, "secretRef")):
            source = entry.child(field)
            ref = ObjectRef(kind, one_of, source.text("name"))
            yield Reference(ref, f"container {name}: envFrom", optional=source.flag("optional"))
    for entry in container.children("env"):
        for kind, field in ((CONFIG_MAP, "configMapKeyRef"), (SECRET, "secretKeyRef")):
            source = entry.child("valueFrom").child(field)
            ref, where = ObjectRef(kind, one_of, source.text("name")), f"container {name}: env {entry.text('name')}"
            yield Reference(ref, where, source.text("key"), source.flag("optional"))


def _of_volume(volume: JsonReader, where: str, namespace: str) -> Iterator[Reference]:
    sources = [volume, *volume.child("projected").children("sources")]
    for source in sources:
        for kind, field, name in ((CONFIG_MAP, "configMap", "name"), (SECRET, "secret", "secretName")):
            source_target = source.child(field)
            target = source_target.text(name) or source_target.text("name")
            keys = [item.text("key") for item in source_target.children("items")] or [""]
            for key in keys:
                yield Reference(ObjectRef(kind, namespace, target), where, key, source_target.flag("optional"))
    claim = volume.child("persistentVolumeClaim").text("claimName")
    yield Reference(ObjectRef(_CLAIM, namespace, claim), where)


def _of_binding(reader: JsonReader, ref: ObjectRef) -> Iterator[Reference]:
    role = reader.child("roleRef")
    kind = GroupVersionKind(_RBAC, "v1", role.text("kind"))
    yield Reference(ObjectRef(kind, ref.namespace if kind.kind == "Role" else "", role.text("name")), "role")
    for subject in reader.children("subjects"):
        if subject.text("kind") == "ServiceAccount":
            namespace = subject.text("namespace") or ref.namespace
            yield Reference(ObjectRef(SERVICE_ACCOUNT, namespace, subject.text("name")), "subject")


def _of_webhooks(reader: JsonReader) -> Iterator[Reference]:
    for webhook in reader.children("webhooks"):
        service = webhook.child("clientConfig").child("service")
        ref = ObjectRef(SERVICE, service.text("namespace"), service.text("name"))
        yield Reference(ref, f"webhook {webhook.text('name')}")
