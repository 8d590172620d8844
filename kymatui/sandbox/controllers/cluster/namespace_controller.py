"""Namespace controllers: default content of new namespaces, and deletion of all content."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from kymatui.sandbox.apimachinery.object_store import Key, StoreChange
from kymatui.sandbox.apimachinery.statuses import StatusError
from kymatui.sandbox.controllers.framework.controller_context import ControllerContext
from kymatui.sandbox.controllers.framework.status_conditions import condition, with_condition
from kymatui.sandbox.controllers.framework.store_reader import Obj, is_terminating
from kymatui.sandbox.controllers.framework.work_queue import ControllerQueue

ROOT_CA = "kube-root-ca.crt"
ROOT_CA_DESCRIPTION = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the"
    " internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes"
    " clusters."
)
SOON = 0.2


class NamespaceContents:
    """Creates the default service account and the cluster's CA ConfigMap in each namespace."""

    name = "namespace-contents"

    def __init__(self, context: ControllerContext, root_ca: str) -> None:
        self._context = context
        self._root_ca = root_ca

    def watch(self, queue: ControllerQueue) -> None:
        queue.follow("namespaces")

        def lost(change: StoreChange) -> None:
            if change.current.name in ("default", ROOT_CA) and change.kind != "ADDED":
                queue.add(("", change.current.namespace))

        queue.on_change("serviceaccounts", lost)
        queue.on_change("configmaps", lost)

    def reconcile(self, key: Key) -> float | None:
        namespace = self._context.observer.get("namespaces", key)
        if namespace is None or is_terminating(namespace):
            return None
        self._ensure("serviceaccounts", key[1], {"metadata": {"name": "default"}})
        if self._root_ca:
            self._ensure_root_ca(key[1])
        return None

    def _ensure_root_ca(self, namespace: str) -> None:
        root_data = {"ca.crt": self._root_ca}
        configmap = self._context.observer.get("configmaps", (namespace, ROOT_CA))
        if configmap is None:
            annotations = {"kubernetes.io/description": ROOT_CA_DESCRIPTION}
            self._ensure(
                "configmaps", namespace, {"metadata": {"name": ROOT_CA, "annotations": annotations}, "data": root_data}
            )
        elif configmap.get("data") != root_data:
            self._context.client.update("configmaps", {**configmap, "data": root_data})

    def _ensure(self, resource: str, namespace: str, obj: Obj) -> None:
        if self._context.observer.get(resource, (namespace, obj["metadata"]["name"])) is not None:
            return
        try:
            self._context.client.create(resource, obj, namespace=namespace)
        except StatusError as error:
            if error.reason not in ("AlreadyExists", "Forbidden", "NotFound"):
                raise


class NamespaceDeletion:
    """Deletes the content of terminating namespaces, reports what remains, and removes the finalizer."""

    name = "namespace-deletion"

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._seen: dict[str, float] = {}

    def watch(self, queue: ControllerQueue) -> None:
        queue.follow("namespaces")

        def freed(change: StoreChange) -> None:
            if change.kind == "DELETED" and change.current.namespace:
                queue.add(("", change.current.namespace))

        queue.on_change("*", freed)

    def reconcile(self, key: Key) -> float | None:
        namespace = self._context.observer.get("namespaces", key)
        if namespace is None or not is_terminating(namespace):
            return None
        if (namespace.get("status") or {}).get("phase") != "Terminating":
            self._context.client.patch_status("namespaces", key[1], {"status": {"phase": "Terminating"}})
            return 0.0
        uid = namespace["metadata"]["uid"]
        self._seen.setdefault(uid, self._context.now)
        failure = self._delete_contents(key[1])
        remaining = self._remaining(key[1])
        if remaining or failure:
            self._write_conditions(namespace, remaining, failure)
            return 15.0
        seconds = self._seen[uid] + self._context.pace.namespace - self._context.now
        if seconds > 0:
            return seconds
        if (namespace.get("status") or {}).get("conditions"):
            self._write_conditions(namespace, {}, "")
        self._finalize(self._context.observer.get("namespaces", key) or namespace)
        del self._seen[uid]
        return None

    def _delete_contents(self, namespace: str) -> str:
        """Delete all objects and return the messages of failed deletions."""
        failures: list[str] = []
        for resource in self._resources(namespace):
            for key in self._context.observer.keys(resource, namespace):
                obj = self._context.observer.get(resource, key)
                if obj is None or is_terminating(obj):
                    continue
                try:
                    self._context.delete(resource, obj)
                except StatusError as error:
                    failures.append(str(error))
        return "; ".join(failures)

    def _resources(self, namespace: str) -> list[str]:
        """Return the resources, pods last: an existing workload would create new pods."""
        store = self._context.observer.store
        resources = [name for name in store.resources() if store.count(name, namespace)]
        return sorted(resources, key=lambda name: (name == "pods", name))

    def _remaining(self, namespace: str) -> dict[str, list[Obj]]:
        remaining = {name: list(self._context.observer.all(name, namespace)) for name in self._resources(namespace)}
        return {name: objects for name, objects in remaining.items() if objects and name != "events"}

    def _write_conditions(self, namespace: Obj, remaining: Mapping[str, list[Obj]], failure: str) -> None:
        status = dict(namespace.get("status") or {})
        conditions = status.get("conditions") or []
        for new_condition in deletion_conditions(remaining, failure):
            conditions = with_condition(conditions, new_condition, self._context.stamp)
        self._context.write_status("namespaces", namespace, {**status, "conditions": conditions})

    def _finalize(self, namespace: Obj) -> None:
        spec = namespace.get("spec") or {}
        finalizers = [name for name in spec.get("finalizers") or [] if name != "kubernetes"]
        try:
            self._context.client.update(
                "namespaces", {**namespace, "spec": {**spec, "finalizers": finalizers}}, subresource="finalize"
            )
        except StatusError as error:
            if error.reason != "NotFound":
                raise


def deletion_conditions(remaining: Mapping[str, list[Obj]], failure: str) -> list[dict[str, Any]]:
    """Return the five conditions of a terminating namespace, with the namespace controller's messages."""
    deleted = (
        condition(
            "NamespaceDeletionContentFailure",
            True,
            "ContentDeletionFailed",
            f"Failed to delete all resource types: {failure}",
        )
        if failure
        else condition(
            "NamespaceDeletionContentFailure",
            False,
            "ContentDeleted",
            "All content successfully deleted, may be waiting on finalization",
        )
    )
    return [
        condition(
            "NamespaceDeletionDiscoveryFailure", False, "ResourcesDiscovered", "All resources successfully discovered"
        ),
        condition(
            "NamespaceDeletionGroupVersionParsingFailure",
            False,
            "ParsedGroupVersions",
            "All legacy kube types successfully parsed",
        ),
        deleted,
        _content_condition(remaining),
        _finalizer_condition(remaining),
    ]


def _content_condition(remaining: Mapping[str, list[Obj]]) -> dict[str, Any]:
    if not remaining:
        return condition("NamespaceContentRemaining", False, "ContentRemoved", "All content successfully removed")
    counts = [f"{_dotted(name)} has {len(objects)} resource instances" for name, objects in sorted(remaining.items())]
    message = "Some resources are remaining: " + ", ".join(counts)
    return condition("NamespaceContentRemaining", True, "SomeResourcesRemain", message)


def _finalizer_condition(remaining: Mapping[str, list[Obj]]) -> dict[str, Any]:
    counts: Counter[str] = Counter()
    for objects in remaining.values():
        for obj in objects:
            counts.update(obj["metadata"].get("finalizers") or [])
    if not counts:
        message = "All content-preserving finalizers finished"
        return condition("NamespaceFinalizersRemaining", False, "ContentHasNoFinalizers", message)
    texts = [f"{name} in {count} resource instances" for name, count in sorted(counts.items())]
    message = "Some content in the namespace has finalizers remaining: " + ", ".join(texts)
    return condition("NamespaceFinalizersRemaining", True, "SomeFinalizersRemain", message)


def _dotted(resource: str) -> str:
    """Return "configmaps." or "deployments.apps": the controller prints name, dot, group."""
    return resource if "." in resource else f"{resource}."
