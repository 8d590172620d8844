"""PersistentVolumeClaims, bound at once to a volume of the default storage class.

Unclaimed volumes become Available.
"""

from __future__ import annotations

from kymatui.sandbox.apimachinery.object_store import Key, StoreChange
from kymatui.sandbox.apimachinery.statuses import StatusError
from kymatui.sandbox.controllers.framework.controller_context import ControllerContext
from kymatui.sandbox.controllers.framework.store_reader import Obj, is_terminating, key_of
from kymatui.sandbox.controllers.framework.work_queue import ControllerQueue

CLAIMS, VOLUMES, CLASSES = "persistentvolumeclaims", "persistentvolumes", "storageclasses.storage.k8s.io"
PROTECTION, VOLUME_PROTECTION = "kubernetes.io/pvc-protection", "kubernetes.io/pv-protection"
DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
PROVISIONER = "disk.sandbox.local"


class Volumes:
    name = "volumes"

    def __init__(self, context: ControllerContext) -> None:
        self._context = context

    def watch(self, queue: ControllerQueue) -> None:
        queue.follow(VOLUMES)

        def gone(change: StoreChange) -> None:
            if change.kind == "DELETED":
                for key in self._context.observer.keys(VOLUMES):
                    queue.add(key)

        queue.on_change(CLAIMS, gone)

    def reconcile(self, key: Key) -> float | None:
        volume = self._context.observer.get(VOLUMES, key)
        if volume is None:
            return None
        if is_terminating(volume):
            self._release(volume)
            return None
        if volume["spec"].get("claimRef"):
            return None
        if (volume.get("status") or {}).get("phase") in (None, "", "Pending"):
            status = {"phase": "Available", "lastPhaseTransitionTime": self._context.stamp}
            self._context.write_status(VOLUMES, volume, status)
        return None

    def _release(self, volume: Obj) -> None:
        """Remove the finalizer when the claim is deleted."""
        claim = volume["spec"].get("claimRef") or {}
        holder = self._context.observer.get(CLAIMS, (claim.get("namespace", ""), claim.get("name", "")))
        if holder is not None and holder["metadata"]["uid"] == claim.get("uid"):
            return
        finalizers = volume["metadata"].get("finalizers") or []
        remaining = [finalizer for finalizer in finalizers if finalizer != VOLUME_PROTECTION]
        if len(remaining) < len(finalizers):
            self._context.client.patch(VOLUMES, key_of(volume)[1], {"metadata": {"finalizers": remaining or None}})


class VolumeClaims:
    name = "volumeclaims"

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._volumes_served = True

    def watch(self, queue: ControllerQueue) -> None:
        queue.follow(CLAIMS)

        def freed(change: StoreChange) -> None:
            if change.kind == "DELETED" and b"persistentVolumeClaim" in change.current.data:
                for key in self._context.observer.keys(CLAIMS, change.current.namespace):
                    queue.add(key)

        queue.on_change("pods", freed)

    def reconcile(self, key: Key) -> float | None:
        claim = self._context.observer.get(CLAIMS, key)
        if claim is None:
            return None
        if is_terminating(claim):
            self._release(claim)
        elif PROTECTION not in (claim["metadata"].get("finalizers") or []):
            self._protect(claim)
        elif (claim.get("status") or {}).get("phase") != "Bound":
            self._bind(claim)
        return None

    def _protect(self, claim: Obj) -> None:
        finalizers = [*(claim["metadata"].get("finalizers") or []), PROTECTION]
        self._context.client.update(CLAIMS, {**claim, "metadata": {**claim["metadata"], "finalizers": finalizers}})

    def _bind(self, claim: Obj) -> None:
        """Choose the class, provision the volume, and bind the claim."""
        name = claim["spec"].get("storageClassName")
        if name is None:
            name = self._default_class()
        if not name or self._context.observer.get(CLASSES, ("", name)) is None:
            self._complain(claim, name or "")
            return
        spec = claim["spec"]
        volume = spec.get("volumeName") or f"pvc-{claim['metadata']['uid']}"
        if spec.get("volumeName") != volume or spec.get("storageClassName") != name:
            annotations = {
                **(claim["metadata"].get("annotations") or {}),
                "pv.kubernetes.io/bind-completed": "yes",
                "pv.kubernetes.io/bound-by-controller": "yes",
                "volume.kubernetes.io/storage-provisioner": PROVISIONER,
            }
            metadata = {**claim["metadata"], "annotations": annotations}
            bound = {**spec, "volumeName": volume, "storageClassName": name}
            self._context.client.update(CLAIMS, {**claim, "metadata": metadata, "spec": bound})
            return
        self._provision(claim, volume, name)
        capacity = (spec.get("resources") or {}).get("requests") or {}
        status = {"phase": "Bound", "accessModes": spec.get("accessModes") or [], "capacity": capacity}
        self._context.write_status(CLAIMS, claim, status)
        message = f"Successfully provisioned volume {volume}"
        self._context.recorder.event(
            claim, "PersistentVolumeClaim", "v1", "ProvisioningSucceeded", message, source=PROVISIONER
        )

    def _provision(self, claim: Obj, volume: str, class_name: str) -> None:
        if not self._volumes_served or self._context.observer.get(VOLUMES, ("", volume)) is not None:
            return
        namespace, name = key_of(claim)
        reference = {"kind": "PersistentVolumeClaim", "apiVersion": "v1", "namespace": namespace, "name": name}
        volume_body = {
            "metadata": {"name": volume, "annotations": {"pv.kubernetes.io/provisioned-by": PROVISIONER}},
            "spec": {
                "capacity": (claim["spec"].get("resources") or {}).get("requests") or {},
                "accessModes": claim["spec"].get("accessModes") or [],
                "persistentVolumeReclaimPolicy": "Delete",
                "storageClassName": class_name,
                "volumeMode": claim["spec"].get("volumeMode", "Filesystem"),
                "claimRef": {**reference, "uid": claim["metadata"]["uid"]},
                "csi": {"driver": PROVISIONER, "volumeHandle": volume},
            },
        }
        try:
            self._context.client.create(VOLUMES, volume_body)
            self._context.client.patch_status(VOLUMES, volume, {"status": {"phase": "Bound"}})
        except LookupError:
            self._volumes_served = False
        except StatusError as error:
            if error.reason == "NotFound":
                self._volumes_served = False
            elif error.reason != "AlreadyExists":
                raise

    def _release(self, claim: Obj) -> None:
        """Remove the finalizer when no pod uses the claim; the volume is deleted with it."""
        namespace, name = key_of(claim)
        needle = f'"claimName":"{name}"'.encode()
        if any(needle in stored.data for stored in self._context.observer.store.walk("pods", namespace)):
            return
        finalizers = [f for f in claim["metadata"].get("finalizers") or [] if f != PROTECTION]
        if len(finalizers) == len(claim["metadata"].get("finalizers") or []):
            return
        self._context.client.patch(CLAIMS, name, {"metadata": {"finalizers": finalizers or None}}, namespace=namespace)
        volume = self._context.observer.get(VOLUMES, ("", claim["spec"].get("volumeName", "")))
        if volume is not None:
            self._context.delete(VOLUMES, volume)

    def _default_class(self) -> str:
        for storage_class in self._context.observer.all(CLASSES):
            if (storage_class["metadata"].get("annotations") or {}).get(DEFAULT_CLASS) == "true":
                return str(storage_class["metadata"]["name"])
        return ""

    def _complain(self, claim: Obj, name: str) -> None:
        if name:
            reason, message = "ProvisioningFailed", f'storageclass.storage.k8s.io "{name}" not found'
        else:
            reason = "FailedBinding"
            message = "no persistent volumes available for this claim and no storage class is set"
        self._context.recorder.event(
            claim,
            "PersistentVolumeClaim",
            "v1",
            reason,
            message,
            type="Warning" if name else "Normal",
            source="persistentvolume-controller",
        )
