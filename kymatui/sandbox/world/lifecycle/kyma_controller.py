"""The simulated Kyma controller: creates Manifests from spec.modules and aggregates their status."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kymatui.sandbox.apimachinery.local_client import LocalClient
from kymatui.sandbox.apimachinery.object_store import Key, StoreChange
from kymatui.sandbox.apimachinery.statuses import StatusError
from kymatui.sandbox.controllers.framework.controller_context import ControllerContext
from kymatui.sandbox.controllers.framework.status_conditions import condition, with_condition
from kymatui.sandbox.controllers.framework.store_reader import Obj, StoreReader, is_terminating, key_of, owner_reference
from kymatui.sandbox.controllers.framework.work_queue import ControllerQueue
from kymatui.sandbox.registry.registry_store import RegistryStore
from kymatui.sandbox.world.lifecycle.manifest_controller import RESOURCE as MANIFESTS
from kymatui.sandbox.world.lifecycle.manifest_controller import UNMANAGED
from kymatui.sandbox.world.lifecycle.template_resolver import (
    ResolvedTemplate,
    Resolver,
    UnresolvedTemplate,
    is_archive,
    raw_manifest,
)
from kymatui.sandbox.world.modules.module_announcement import API_VERSION, PREFIX, RELEASES, TEMPLATES
from kymatui.sandbox.world.modules.module_packages import BASE

RESOURCE = "kymas.operator.kyma-project.io"
FINALIZER = f"{PREFIX}/Kyma"
SYNC_NAMESPACE = "kyma-system"
MANAGER = "lifecycle-manager"
SKIP = f"{PREFIX}/skip-reconciliation"

Runtime = Callable[[Obj], tuple[LocalClient, StoreReader] | None]
KymaFilter = Callable[[str], bool]


def every_kyma(kyma: str) -> bool:
    return True


def fnv32(data: bytes) -> int:
    """Return the 32-bit FNV-1 hash (multiply, then xor)."""
    value = 0x811C9DC5
    for byte in data:
        value = ((value * 0x01000193) & 0xFFFFFFFF) ^ byte
    return value


def manifest_name(kyma: str, component: str, module: str) -> str:
    """Return the name of a module's Manifest: at most 62 characters, no trailing dash if truncated."""
    number = fnv32((component + module).encode())
    name = f"{kyma}-{component.rpartition('/')[2]}-{number}"
    return name if len(name) < 63 else name[:62].rstrip("-")


class SimulatedKymaController:
    """Reconciles Kymas. `runtime` returns the cluster whose own Kyma defines the modules, if any."""

    name = "lifecycle/kymas"

    def __init__(
        self,
        context: ControllerContext,
        store: RegistryStore,
        registry: str,
        runtime: Runtime | None = None,
        concerns: KymaFilter = every_kyma,
    ) -> None:
        self._context = context
        self._concerns = concerns
        self._registry = registry
        self._resolver = Resolver(context.observer, store)
        self._runtime = runtime
        self._queue: ControllerQueue | None = None

    def watch(self, queue: ControllerQueue) -> None:
        self._queue = queue
        queue.follow(RESOURCE)
        queue.follow_owner(MANIFESTS, "Kyma")
        for resource in (TEMPLATES, RELEASES):
            queue.on_change(resource, lambda _: self.ask_all())

    def ask_all(self) -> None:
        """Enqueue every Kyma, because the catalog or a runtime's Kyma changed."""
        for key in self._context.observer.keys(RESOURCE):
            if self._queue is not None:
                self._queue.add(key)

    def runtime_changed(self, change: StoreChange) -> None:
        self.ask_all()

    def reconcile(self, key: Key) -> float | None:
        kyma = self._context.observer.get(RESOURCE, key)
        if kyma is None or not self._concerns(key[1]):
            return None
        skipped = (kyma["metadata"].get("labels") or {}).get(SKIP, "").lower() == "true"
        if is_terminating(kyma):
            return self._remove(kyma)
        if skipped:
            return None
        if FINALIZER not in (kyma["metadata"].get("finalizers") or []):
            finalizers = [*(kyma["metadata"].get("finalizers") or []), FINALIZER]
            self._patch(kyma, {"metadata": {"finalizers": finalizers}})
            return 0.0
        remote = self._runtime(kyma) if self._runtime else None
        spec = self._desired(kyma, remote)
        self._reconcile_modules({**kyma, "spec": spec}, remote)
        self._mandatory(kyma)
        return None

    @staticmethod
    def _desired(kyma: Obj, remote: tuple[LocalClient, StoreReader] | None) -> Obj:
        """Return the spec with channel and modules of the runtime's own Kyma, the rest from the control plane."""
        spec: Obj = kyma["spec"]
        if remote is None:
            return spec
        found = remote[1].get(RESOURCE, (SYNC_NAMESPACE, "default"))
        if found is None:
            return spec
        return {**spec, "channel": found["spec"]["channel"], "modules": found["spec"].get("modules") or []}

    # -- modules

    def _reconcile_modules(self, kyma: Obj, remote: tuple[LocalClient, StoreReader] | None) -> None:
        known = {m["name"]: m for m in (kyma.get("status") or {}).get("modules") or []}
        wanted = {m["name"]: m for m in kyma["spec"].get("modules") or []}
        statuses = [self._module(kyma, entry, known.get(name)) for name, entry in wanted.items()]
        for name, before in known.items():
            if name not in wanted and (left := self._disabled(kyma, before)) is not None:
                statuses.append(left)
        self._write(kyma, statuses, remote)

    def _module(self, kyma: Obj, entry: Obj, known: Obj | None) -> Obj:
        """Update the module's Manifest and return its status."""
        found = self._resolver.resolve(kyma, entry, known)
        if isinstance(found, UnresolvedTemplate):
            return self._without_template(kyma, entry, known, found)
        name = manifest_name(kyma["metadata"]["name"], found.component, entry["name"])
        managed = entry.get("managed", True)
        live = self._context.observer.get(MANIFESTS, (kyma["metadata"]["namespace"], name))
        if managed or live is not None:
            self._write_manifest(kyma, entry, found, name, live, managed=managed)
        live = self._context.observer.get(MANIFESTS, (kyma["metadata"]["namespace"], name))
        status: Obj = {
            "name": entry["name"],
            "channel": found.channel,
            "version": found.version,
            "fqdn": found.component,
            "ocmComponentName": found.component,
            "state": (live or {}).get("status", {}).get("state", "Processing"),
        }
        if not managed:
            status["state"] = "Unmanaged" if live is None else status["state"]
            return status
        status["template"] = _tracked(found.template, "ModuleTemplate", API_VERSION)
        if live is not None:
            status["manifest"] = _tracked(live, "Manifest", API_VERSION)
            resource = live["spec"].get("resource")
            if resource and entry.get("customResourcePolicy") != "Ignore":
                status["resource"] = _tracked(resource, resource["kind"], resource["apiVersion"])
            message = (live.get("status") or {}).get("lastOperation", {}).get("operation", "")
            if status["state"] in ("Error", "Warning", "Deleting"):
                status["message"] = message
        return status

    def _without_template(self, kyma: Obj, entry: Obj, known: Obj | None, why: UnresolvedTemplate) -> Obj:
        if why.withdrawn and known is not None:
            self._delete_manifest(kyma, known)
        if why.kept and known is not None:
            live = self._manifest_of(kyma, known)
            state = why.state or (live or {}).get("status", {}).get("state", known["state"])
            kept = {**known, "state": state, "message": why.message}
            return {**kept, "maintenance": True} if why.maintenance else kept
        channel = entry.get("channel") or kyma["spec"].get("channel") or "regular"
        return {"name": entry["name"], "channel": channel, "state": why.state, "message": why.message}

    def _disabled(self, kyma: Obj, known: Obj) -> Obj | None:
        """Return the status of a module that left the spec, until its Manifest is deleted."""
        live = self._manifest_of(kyma, known)
        if live is None:
            return None
        if not is_terminating(live):
            self._delete_manifest(kyma, known)
        live = self._manifest_of(kyma, known)
        if live is None:
            return None
        state = (live.get("status") or {}).get("state", "Deleting")
        found = {**known, "state": "Deleting" if state != "Error" else state}
        found["message"] = (live.get("status") or {}).get("lastOperation", {}).get("operation", "")
        return found

    def _manifest_of(self, kyma: Obj, known: Mapping[str, Any]) -> Obj | None:
        metadata = (known.get("manifest") or {}).get("metadata") or {}
        if not metadata.get("name"):
            return None
        return self._context.observer.get(MANIFESTS, (kyma["metadata"]["namespace"], metadata["name"]))

    def _delete_manifest(self, kyma: Obj, known: Mapping[str, Any]) -> None:
        live = self._manifest_of(kyma, known)
        if live is not None and not is_terminating(live):
            self._context.delete(MANIFESTS, live)

    # -- Manifests

    def _write_manifest(
        self, kyma: Obj, entry: Obj, found: ResolvedTemplate, name: str, live: Obj | None, *, managed: bool
    ) -> None:
        annotations = (live or {}).get("metadata", {}).get("annotations") or {}
        if live is not None and (is_terminating(live) or annotations.get(UNMANAGED) == "true"):
            return
        wanted = self._manifest(kyma, entry, found, name, managed=managed)
        if live is not None and managed and _same(live, wanted):
            return
        client = self._context.client.named(MANAGER)
        namespace = kyma["metadata"]["namespace"]
        client.patch(MANIFESTS, name, wanted, namespace=namespace, type="apply", force=True)

    def _manifest(self, kyma: Obj, entry: Obj, found: ResolvedTemplate, name: str, *, managed: bool = True) -> Obj:
        namespace = kyma["metadata"]["namespace"]
        labels = {
            f"{PREFIX}/kyma-name": kyma["metadata"]["name"],
            f"{PREFIX}/module-name": entry["name"],
            f"{PREFIX}/managed-by": MANAGER,
        }
        if found.channel:
            labels[f"{PREFIX}/channel"] = found.channel
        else:
            labels[f"{PREFIX}/mandatory-module"] = "true"
        annotations = {f"{PREFIX}/fqdn": found.component, f"{PREFIX}/ocm-component-name": found.component}
        if not managed:
            annotations[UNMANAGED] = "true"
        digest, media_type = raw_manifest(found.descriptor)
        source = {
            "repo": f"{self._registry}/{BASE}",
            "name": found.component,
            "ref": digest,
            "type": "oci-dir" if is_archive(media_type) else "oci-ref",
        }
        spec: Obj = {
            "remote": self._runtime is not None,
            "version": found.version,
            "customResourcePolicy": entry.get("customResourcePolicy", "CreateAndDelete"),
            "install": {"name": "raw-manifest", "source": source},
        }
        data = found.template["spec"].get("data")
        if data:
            metadata = dict(data.get("metadata") or {})
            metadata["name"] = metadata.get("name") or name
            metadata["namespace"] = metadata.get("namespace") or SYNC_NAMESPACE
            spec["resource"] = {**{k: v for k, v in data.items() if k != "status"}, "metadata": metadata}
        if found.template["spec"].get("manager"):
            spec["manager"] = found.template["spec"]["manager"]
        owner = owner_reference(API_VERSION, "Kyma", kyma)
        metadata = {
            "name": name,
            "namespace": namespace,
            "labels": labels,
            "annotations": annotations,
            "ownerReferences": [owner],
        }
        return {"apiVersion": API_VERSION, "kind": "Manifest", "metadata": metadata, "spec": spec}

    # -- mandatory modules

    def _mandatory(self, kyma: Obj) -> None:
        """Create the Manifests of mandatory modules, which neither spec nor status lists."""
        namespace = kyma["metadata"]["namespace"]
        for meta in self._context.observer.all(RELEASES, namespace):
            version = (meta["spec"].get("mandatory") or {}).get("version")
            if not version or is_terminating(meta):
                continue
            name = meta["spec"]["moduleName"]
            template = self._context.observer.get(TEMPLATES, (namespace, f"{name}-{version}"))
            component = meta["spec"].get("ocmComponentName", "")
            descriptor = self._resolver.descriptor(component, version)
            if template is None or descriptor is None:
                continue
            found = ResolvedTemplate(template, version, "", component, descriptor)
            title = manifest_name(kyma["metadata"]["name"], component, name)
            live = self._context.observer.get(MANIFESTS, (namespace, title))
            self._write_manifest(kyma, {"name": name}, found, title, live, managed=True)

    # -- status and removal

    def _write(self, kyma: Obj, modules: list[Obj], remote: tuple[LocalClient, StoreReader] | None) -> None:
        current = self._context.observer.get(RESOURCE, key_of(kyma))
        if current is None:
            return
        known = current.get("status") or {}
        conditions = known.get("conditions") or []
        for made in _conditions(modules):
            conditions = with_condition(conditions, made, self._context.stamp)
        state = aggregate([m["state"] for m in modules], conditions)
        operation = "kyma is ready" if state == "Ready" else "waiting for all modules to become ready"
        if state == "Warning" or any(m["state"] == "Deleting" for m in modules):
            operation = "waiting for modules to be deleted" if state != "Warning" else operation
        before = known.get("lastOperation") or {}
        when = before.get("lastUpdateTime") if before.get("operation") == operation else self._context.stamp
        status: Obj = {
            "state": state,
            "activeChannel": kyma["spec"].get("channel", ""),
            "conditions": conditions,
            "modules": modules,
            "lastOperation": {"operation": operation, "lastUpdateTime": when},
        }
        self._context.write_status(RESOURCE, current, _completed(status))
        if remote is not None:
            self._mirror(status, *remote)

    @staticmethod
    def _mirror(status: Obj, client: LocalClient, observer: StoreReader) -> None:
        """Copy the status to the runtime's Kyma, without references to Manifests, which are elsewhere."""
        found = observer.get(RESOURCE, (SYNC_NAMESPACE, "default"))
        if found is None:
            return
        modules = [_mirrored(m) for m in status["modules"]]
        mirrored = _completed({**status, "modules": modules})
        if (found.get("status") or {}) != mirrored:
            client.update_status(RESOURCE, {**observer.type_of(RESOURCE), **found, "status": mirrored})

    def _remove(self, kyma: Obj) -> float | None:
        namespace, name = key_of(kyma)
        left = [
            m
            for m in self._context.observer.all(MANIFESTS, namespace)
            if (m["metadata"].get("labels") or {}).get(f"{PREFIX}/kyma-name") == name
        ]
        for manifest in left:
            if not is_terminating(manifest):
                self._context.delete(MANIFESTS, manifest)
        if left:
            operation = {"operation": "waiting for modules to be deleted", "lastUpdateTime": self._context.stamp}
            known = kyma.get("status") or {}
            if known.get("state") != "Deleting":
                self._context.write_status(RESOURCE, kyma, {**known, "state": "Deleting", "lastOperation": operation})
            return 1.0
        finalizers = [f for f in kyma["metadata"].get("finalizers") or [] if f != FINALIZER]
        try:
            self._patch(kyma, {"metadata": {"finalizers": finalizers or None}})
        except StatusError as error:
            if error.reason != "NotFound":
                raise
        return None

    def _patch(self, kyma: Obj, patch: Any) -> None:
        namespace, name = key_of(kyma)
        self._context.client.patch(RESOURCE, name, patch, namespace=namespace)


def aggregate(states: list[str], conditions: list[Obj]) -> str:
    """Return the Kyma's state: the worst of its modules, without deleted and unmanaged ones."""
    for state in ("Error", "Warning", "Processing"):
        if state in states:
            return state
    return "Processing" if any(c["status"] != "True" for c in conditions) else "Ready"


def _conditions(modules: list[Obj]) -> list[Obj]:
    ready = all(m["state"] in ("Ready", "Unmanaged") for m in modules)
    words = "all modules are in ready state" if ready else "not all modules are in ready state"
    return [
        condition("Modules", ready, "Ready", words),
        condition("ModuleCatalog", True, "Ready", "module templates are synchronized"),
        condition("CRDsSync", True, "Ready", "CRDs are synchronized to the SKR"),
        condition("SKRWebhook", True, "Ready", "skrwebhook is synchronized"),
    ]


def _completed(status: Obj) -> Obj:
    """Set the CRD's default, so that an unchanged status compares equal."""
    return {**status, "modules": [{"maintenance": False, **m} for m in status["modules"]]}


def _mirrored(module: Obj) -> Obj:
    found = {k: v for k, v in module.items() if k != "manifest"}
    template = found.get("template")
    if template:
        found["template"] = {**template, "metadata": {**template["metadata"], "namespace": SYNC_NAMESPACE}}
    return found


def _tracked(obj: Mapping[str, Any], kind: str, api_version: str) -> Obj:
    metadata = {k: obj["metadata"][k] for k in ("name", "namespace", "generation") if obj["metadata"].get(k)}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


def _same(live: Obj, wanted: Obj) -> bool:
    """Return whether the Manifest already has the wanted version, channel, policy, source and resource."""
    labels = live["metadata"].get("labels") or {}
    channel = f"{PREFIX}/channel"
    fields = ("version", "customResourcePolicy", "install", "resource")
    return labels.get(channel) == wanted["metadata"]["labels"].get(channel) and all(
        live["spec"].get(field) == wanted["spec"].get(field) for field in fields
    )
