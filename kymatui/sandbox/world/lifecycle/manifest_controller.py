"""The simulated Manifest controller: installs, watches, unmanages and deletes one module."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kymatui.sandbox.apimachinery.object_store import Key, StoreChange
from kymatui.sandbox.apimachinery.statuses import StatusError
from kymatui.sandbox.controllers.framework.controller_context import ControllerContext
from kymatui.sandbox.controllers.framework.status_conditions import condition, with_condition
from kymatui.sandbox.controllers.framework.store_reader import Obj, is_terminating, key_of
from kymatui.sandbox.controllers.framework.work_queue import ControllerQueue
from kymatui.sandbox.registry.registry_errors import RegistryRefusal
from kymatui.sandbox.registry.registry_store import RegistryStore
from kymatui.sandbox.world.lifecycle.manifest_installer import OWNED_BY, Installer, parse, unpack

RESOURCE = "manifests.operator.kyma-project.io"
PREFIX = "operator.kyma-project.io"
SYNCED_REF = "sync-oci-ref"
UNMANAGED = f"{PREFIX}/is-unmanaged"
SKIP = f"{PREFIX}/skip-reconciliation"
DECLARATIVE = "declarative.kyma-project.io/finalizer"
LABELS = "label-removal-finalizer"
MODULE_CR = "resource.kyma-project.io/finalizer"
_OWN = (DECLARATIVE, LABELS, MODULE_CR)
POLL = 1.0

Target = Callable[[Obj], Installer | None]


class SimulatedManifestController:
    """Reconciles Manifests; `target` returns the cluster to install in (None: unreachable)."""

    name = "lifecycle/manifests"

    def __init__(
        self,
        context: ControllerContext,
        store: RegistryStore,
        target: Target,
        concerns: Callable[[str], bool] = lambda _: True,
    ) -> None:
        self._context = context
        self._concerns = concerns
        self._store = store
        self._target = target
        self._parsed: dict[str, list[Obj]] = {}  # by layer digest
        self._queue: ControllerQueue | None = None

    def watch(self, queue: ControllerQueue) -> None:
        self._queue = queue
        queue.follow(RESOURCE)
        for resource in ("deployments.apps", "statefulsets.apps"):
            queue.on_change(resource, self.workload_changed)

    def workload_changed(self, change: StoreChange) -> None:
        """Enqueue the Manifest that a workload of this or another cluster belongs to."""
        if OWNED_BY.encode() not in change.current.data or self._queue is None:
            return
        owner = (change.current.body()["metadata"].get("annotations") or {}).get(OWNED_BY, "")
        namespace, _, name = owner.partition("/")
        if name:
            self._queue.add((namespace, name))

    def reconcile(self, key: Key) -> float | None:
        manifest = self._context.observer.get(RESOURCE, key)
        if manifest is None:
            return None
        metadata = manifest["metadata"]
        labels = metadata.get("labels") or {}
        if labels.get(SKIP) == "true" or not self._concerns(labels.get(f"{PREFIX}/kyma-name", "")):
            return None
        installer = self._target(manifest)
        if installer is None:
            if is_terminating(manifest):
                self._release(manifest, [])
                return None
            self._write(manifest, "Error", "the runtime cannot be reached: access secret not found", [])
            return None
        if (metadata.get("annotations") or {}).get(UNMANAGED) == "true":
            return self._unmanage(manifest, installer)
        if is_terminating(manifest):
            return self._remove(manifest, installer)
        if self._hold(manifest):
            return 0.0
        return self._install(manifest, installer)

    def _hold(self, manifest: Obj) -> bool:
        wanted = [DECLARATIVE, LABELS]
        if manifest["spec"].get("resource") and manifest["spec"].get("customResourcePolicy") != "Ignore":
            wanted.append(MODULE_CR)
        known = manifest["metadata"].get("finalizers") or []
        missing = [name for name in wanted if name not in known]
        if missing:
            self._patch(manifest, {"metadata": {"finalizers": [*known, *missing]}})
        return bool(missing)

    # -- installing

    def _objects(self, manifest: Obj, installer: Installer) -> list[Obj] | str:
        """Return the objects of the layer, or the reason why there are none."""
        source = manifest["spec"]["install"]["source"]
        base = str(source.get("repo", "")).partition("://")[2] or str(source.get("repo", ""))
        repository = f"{base.partition('/')[2]}/component-descriptors/{source.get('name', '')}".lstrip("/")
        ref = str(source.get("ref", ""))
        try:
            content = self._store.blob(repository, ref)
            if ref not in self._parsed:
                self._parsed[ref] = parse(unpack(content, str(source.get("type", ""))))
        except RegistryRefusal as refusal:
            return f"the layer {source.get('ref')} of {repository} cannot be pulled: {refusal.message}"
        except ValueError as error:
            return f"the layer {source.get('ref')} cannot be read: {error}"
        namespace, name = key_of(manifest)
        return installer.marked(self._parsed[ref], f"{namespace}/{name}", name)

    def _install(self, manifest: Obj, installer: Installer) -> float | None:
        objects = self._objects(manifest, installer)
        if isinstance(objects, str):
            self._write(manifest, "Error", objects, [])
            return None
        ref = manifest["spec"]["install"]["source"].get("ref", "")
        synced = installer.identities(objects)
        if (manifest["metadata"].get("annotations") or {}).get(SYNCED_REF) != ref:
            before = (manifest.get("status") or {}).get("synced") or []
            if not installer.prune([i for i in before if i not in synced]) or not installer.apply(objects):
                self._write(manifest, "Processing", "waiting for resources to become ready", [])
                return 0.2
            self._patch(manifest, {"metadata": {"annotations": {SYNCED_REF: ref}}})
            return 0.0
        created = self._create_resource(manifest, installer)
        state = installer.manager_state(objects)
        words = {
            "Ready": "installation is ready and resources can be used",
            "Processing": "waiting for resources to become ready",
            "Error": "the module's manager is not running",
        }
        conditions = [
            condition("Resources", True, "ResourcesAvailable", "resources are parsed and ready for use"),
            condition("Installation", state == "Ready", "Ready", words[state]),
        ]
        if created:
            conditions.append(
                condition("ModuleCR", True, "ModuleCRCreated", "the module's default resource was created")
            )
        self._write(manifest, state, words[state], conditions, synced)
        return None

    def _create_resource(self, manifest: Obj, installer: Installer) -> bool:
        """Create the default CR once; one that a user deleted stays deleted."""
        spec = manifest["spec"]
        if not spec.get("resource") or spec.get("customResourcePolicy") == "Ignore":
            return False
        known = (manifest.get("status") or {}).get("conditions") or []
        if any(c["type"] == "ModuleCR" and c["status"] == "True" for c in known):
            return True
        return installer.ensure(spec["resource"])

    # -- unmanaging

    def _unmanage(self, manifest: Obj, installer: Installer) -> float | None:
        installer.unlabel((manifest.get("status") or {}).get("synced") or [])
        self._write(manifest, "Unmanaged", "left to itself", [])
        if not is_terminating(manifest):
            self._context.delete(RESOURCE, manifest)
            return 0.0
        self._release(manifest, [])
        return None

    # -- removing

    def _remove(self, manifest: Obj, installer: Installer) -> float | None:
        spec = manifest["spec"]
        if spec.get("resource"):
            others, default = self._instances(spec, installer)
            if others:
                self._write(manifest, "Deleting", "waiting for module crs deletion", None)
                return POLL
            if default is not None:
                if not is_terminating(default[1]):
                    self._context_of(installer).delete(default[0], default[1])
                self._write(manifest, "Deleting", "waiting for module crs deletion", None)
                return POLL
        self._write(manifest, "Deleting", "waiting for modules to be deleted", None)
        if not installer.prune((manifest.get("status") or {}).get("synced") or []):
            return 0.3
        self._release(manifest, [])
        return None

    @staticmethod
    def _context_of(installer: Installer) -> ControllerContext:
        return installer.context

    @staticmethod
    def _instances(spec: Obj, installer: Installer) -> tuple[list[Obj], tuple[str, Obj] | None]:
        """Return (other resources of the kind, the default CR with its resource name)."""
        wanted = spec["resource"]
        found = installer.kinds.find(wanted["apiVersion"], wanted["kind"])
        if found is None:
            return [], None
        everything = list(installer.context.observer.all(found[0]))
        namespace = wanted["metadata"].get("namespace", "") if found[1] else ""
        key = (namespace, wanted["metadata"]["name"])
        default = next((o for o in everything if key_of(o) == key), None)
        others = [o for o in everything if key_of(o) != key]
        if spec.get("customResourcePolicy") == "Ignore":
            return everything, None
        return others, (found[0], default) if default is not None else None

    def _release(self, manifest: Obj, finalizers: list[str]) -> None:
        """Leave only these of lifecycle-manager's finalizers, and those of others."""
        others = [name for name in manifest["metadata"].get("finalizers") or [] if name not in _OWN]
        try:
            self._patch(manifest, {"metadata": {"finalizers": [*finalizers, *others] or None}})
        except StatusError as error:
            if error.reason != "NotFound":
                raise

    # -- writing

    def _patch(self, manifest: Obj, patch: Any) -> None:
        namespace, name = key_of(manifest)
        self._context.client.patch(RESOURCE, name, patch, namespace=namespace)

    def _write(
        self,
        manifest: Obj,
        state: str,
        operation: str,
        conditions: list[Obj] | None,
        synced: list[dict[str, str]] | None = None,
    ) -> None:
        current = self._context.observer.get(RESOURCE, key_of(manifest))
        if current is None:
            return
        known = current.get("status") or {}
        merged = known.get("conditions") or []
        for made in conditions or []:
            merged = with_condition(merged, made, self._context.stamp)
        before = known.get("lastOperation") or {}
        when = before.get("lastUpdateTime") if before.get("operation") == operation else self._context.stamp
        status: Obj = {
            "state": state,
            "lastOperation": {"operation": operation, "lastUpdateTime": when},
            "conditions": merged,
            "synced": synced if synced is not None else known.get("synced") or [],
        }
        self._context.write_status(RESOURCE, current, status)
