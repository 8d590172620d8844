"""The catalog sync of the simulated lifecycle-manager: from the control plane to the runtimes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kymatui.sandbox.apimachinery.local_client import LocalClient
from kymatui.sandbox.apimachinery.object_store import Key
from kymatui.sandbox.controllers.framework.store_reader import Obj, StoreReader
from kymatui.sandbox.controllers.framework.work_queue import ControllerQueue
from kymatui.sandbox.world.lifecycle.kyma_controller import RESOURCE as KYMAS
from kymatui.sandbox.world.lifecycle.kyma_controller import SYNC_NAMESPACE
from kymatui.sandbox.world.modules.module_announcement import PREFIX, RELEASES, TEMPLATES

MANAGER = "catalog-sync"
_KINDS = {RELEASES: "ModuleReleaseMeta", TEMPLATES: "ModuleTemplate"}
_LIMITS = (f"{PREFIX}/beta", f"{PREFIX}/internal")

SyncLimits = frozenset[str]
"""The labels of a Kyma that allow kinds of modules, as far as they are true."""


class CatalogSync:
    """Adds and removes copies when the labels of a Kyma change; other edits of copies stay.

    `runtimes` are the clients of existing runtimes by the names of their Kymas.
    """

    name = "lifecycle/catalog-sync"

    def __init__(self, observer: StoreReader, runtimes: Mapping[str, LocalClient]) -> None:
        self._observer = observer
        self._runtimes = runtimes
        self._limits: dict[Key, SyncLimits] = {}

    def watch(self, queue: ControllerQueue) -> None:
        queue.follow(KYMAS)

    def reconcile(self, key: Key) -> float | None:
        kyma, client = self._observer.get(KYMAS, key), self._runtimes.get(key[1])
        if kyma is None or client is None:
            return None
        now = limits_of(kyma)
        before = self._limits.setdefault(key, now)
        if now != before:
            synchronize(self._observer, key[0], client, now, before)
            self._limits[key] = now
        return None


def limits_of(obj: Obj) -> SyncLimits:
    labels = obj["metadata"].get("labels") or {}
    return frozenset(label for label in _LIMITS if str(labels.get(label, "")).lower() == "true")


def synchronize(
    observer: StoreReader, namespace: str, client: LocalClient, limits: SyncLimits, before: SyncLimits | None = None
) -> None:
    """Write the objects that these limits allow, and delete those that only the limits `before` allowed."""
    sync = client.named(MANAGER)
    wanted = _wanted(observer, namespace, limits)
    for resource, name in _wanted(observer, namespace, before) if before is not None else ():
        if (resource, name) not in wanted and sync.find(resource, name, namespace=SYNC_NAMESPACE) is not None:
            sync.delete(resource, name, namespace=SYNC_NAMESPACE)
    for (resource, name), made in wanted.items():
        sync.patch(resource, name, made, namespace=SYNC_NAMESPACE, type="apply", force=True)


def _wanted(observer: StoreReader, namespace: str, limits: SyncLimits) -> dict[tuple[str, str], Obj]:
    """Return the allowed, non-mandatory objects; only versions that a channel has."""
    denied = {
        obj["metadata"]["name"]
        for obj in observer.all(TEMPLATES, namespace)
        if obj["spec"].get("mandatory") or not limits_of(obj) <= limits
    }
    found: dict[tuple[str, str], Obj] = {}
    released: set[str] = set()
    for obj in observer.all(RELEASES, namespace):
        channels = list(_channels(obj, denied))
        if channels:
            found[RELEASES, obj["metadata"]["name"]] = _copy(obj, RELEASES, {**obj["spec"], "channels": channels})
            released |= {f"{obj['metadata']['name']}-{channel['version']}" for channel in channels}
    for obj in observer.all(TEMPLATES, namespace):
        name = obj["metadata"]["name"]
        if name not in denied and (not obj["spec"].get("version") or name in released):
            found[TEMPLATES, name] = _copy(obj, TEMPLATES, obj["spec"])
    return found


def _channels(meta: Obj, denied: set[str]) -> Iterator[Obj]:
    for channel in () if meta["spec"].get("mandatory") else meta["spec"].get("channels") or ():
        if f"{meta['metadata']['name']}-{channel['version']}" not in denied:
            yield channel


def _copy(obj: Obj, resource: str, spec: Obj) -> Obj:
    metadata = {
        "name": obj["metadata"]["name"],
        "namespace": SYNC_NAMESPACE,
        "labels": {**(obj["metadata"].get("labels") or {}), f"{PREFIX}/managed-by": "kyma"},
        "annotations": obj["metadata"].get("annotations") or {},
    }
    return {"apiVersion": f"{PREFIX}/v1beta2", "kind": _KINDS[resource], "metadata": metadata, "spec": spec}
