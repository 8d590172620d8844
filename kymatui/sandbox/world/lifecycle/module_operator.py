"""Simulated operators, one per module, active only while the module's manager runs.

An operator sets state and conditions of its module CR, creates the workloads it requests, and keeps a finalizer until
no object is left that users created with the module.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from kymatui.sandbox.apimachinery.object_store import Key, StoreChange
from kymatui.sandbox.apimachinery.statuses import StatusError
from kymatui.sandbox.controllers.framework.controller_context import ControllerContext
from kymatui.sandbox.controllers.framework.status_conditions import condition, with_condition
from kymatui.sandbox.controllers.framework.store_reader import Obj, is_terminating, key_of
from kymatui.sandbox.controllers.framework.work_queue import ControllerQueue
from kymatui.sandbox.world.modules.module_manifest import operand
from kymatui.sandbox.world.modules.sample_module import SampleModule

WORKLOADS = {"Deployment": "deployments.apps", "StatefulSet": "statefulsets.apps"}
SHOWN = 5


class ModuleOperator:
    """The operator of one module; reconciles its module CRs."""

    def __init__(self, context: ControllerContext, module: SampleModule) -> None:
        self.name = f"operator/{module.name}"
        self._context = replace(context, client=context.client.named(module.manager_name))
        self._module = module
        self._resource = module.resource.resource
        self._finalizer = f"{module.name}.operator.kyma-project.io/deletion-hook"

    def watch(self, queue: ControllerQueue) -> None:
        queue.follow(self._resource)

        def ask_all(_: StoreChange) -> None:
            for key in self._context.observer.keys(self._resource):
                queue.add(key)

        def workload(change: StoreChange) -> None:
            if change.current.namespace == self._module.namespace and change.current.name in self._names():
                ask_all(change)

        def secret(change: StoreChange) -> None:
            if change.current.name == self._module.needs_secret:
                ask_all(change)

        for resource in WORKLOADS.values():
            queue.on_change(resource, workload)
        for kind in self._module.user_kinds:
            queue.on_change(kind.resource, ask_all)
        if self._module.needs_secret:
            queue.on_change("secrets", secret)

    def _names(self) -> tuple[str, ...]:
        return (self._module.manager_name, *self._module.workloads)

    def reconcile(self, key: Key) -> float | None:
        resource = self._context.observer.get(self._resource, key)
        version = self._running_version()
        if resource is None or version is None:
            return None
        if is_terminating(resource):
            return self._delete(resource)
        if self._finalizer not in (resource["metadata"].get("finalizers") or []):
            self._hold(resource)
            return self._context.pace.operator
        self._serve_users()
        return self._work(resource, version)

    def _running_version(self) -> str | None:
        """Return the version of the running manager, None if it does not run."""
        module = self._module
        key = (module.namespace, module.manager_name)
        manager = self._context.observer.get(WORKLOADS[module.manager_kind], key)
        if manager is None or not (manager.get("status") or {}).get("availableReplicas"):
            return None
        containers: list[Obj] = manager["spec"]["template"]["spec"]["containers"]
        return str(containers[0]["image"].rpartition(":")[2])

    # -- reconciliation

    def _work(self, resource: Obj, version: str) -> float | None:
        module = self._module
        if module.needs_secret and not self._secret_is_there():
            message = f"Secret {module.needs_secret} not found"
            self._report(resource, "Warning", "MissingSecret", message)
            return None
        for workload in module.workloads:
            self._ensure(resource, workload, version)
        waiting = [name for name in module.workloads if not self._is_available(name)]
        if waiting:
            self._report(resource, "Processing", "WorkloadsNotReady", f"waiting for {', '.join(waiting)}")
            return None
        self._report(resource, "Ready", "Installed", f"{module.name} is ready to be used")
        return None

    def _secret_is_there(self) -> bool:
        key = (self._module.namespace, self._module.needs_secret)
        return self._context.observer.get("secrets", key) is not None

    def _ensure(self, resource: Obj, workload: str, version: str) -> None:
        key = (self._module.namespace, workload)
        deployment = self._context.observer.get("deployments.apps", key)
        desired = operand(self._module, workload, version)
        if deployment is None:
            own = {k: resource["metadata"][k] for k in ("name", "uid")}
            reference = {**own, "apiVersion": self._module.resource.api_version, "kind": self._module.resource.kind}
            if key_of(resource)[0] == self._module.namespace:
                desired["metadata"]["ownerReferences"] = [{**reference, "controller": True, "blockOwnerDeletion": True}]
            self._context.client.create("deployments.apps", desired, namespace=self._module.namespace)
            return
        image = desired["spec"]["template"]["spec"]["containers"][0]["image"]
        containers: list[Obj] = deployment["spec"]["template"]["spec"]["containers"]
        if containers[0]["image"] != image:
            containers[0]["image"] = image
            self._context.client.update("deployments.apps", deployment)

    def _is_available(self, workload: str) -> bool:
        deployment = self._context.observer.get("deployments.apps", (self._module.namespace, workload))
        return bool(deployment and (deployment.get("status") or {}).get("availableReplicas"))

    def _serve_users(self) -> None:
        """Set the status of objects that users created."""
        for kind in self._module.user_kinds:
            for obj in self._context.observer.all(kind.resource):
                if (obj.get("status") or {}).get("state") == "Ready" or is_terminating(obj):
                    continue
                ready = condition("Ready", True, "Reconciled", "accepted and in use")
                conditions = with_condition([], ready, self._context.stamp)
                self._context.write_status(kind.resource, obj, {"state": "Ready", "conditions": conditions})

    # -- deletion

    def _hold(self, resource: Obj) -> None:
        namespace, name = key_of(resource)
        finalizers = [*(resource["metadata"].get("finalizers") or []), self._finalizer]
        self._context.client.patch(self._resource, name, {"metadata": {"finalizers": finalizers}}, namespace=namespace)

    def _delete(self, resource: Obj) -> float | None:
        if self._finalizer not in (resource["metadata"].get("finalizers") or []):
            return None
        user_objects = self._left_by_users()
        if user_objects:
            self._report(resource, "Warning", "ResourcesExist", f"cannot be deleted while these exist: {user_objects}")
            return None
        gone = True
        for workload in self._module.workloads:
            deployment = self._context.observer.get("deployments.apps", (self._module.namespace, workload))
            if deployment is not None:
                self._context.delete("deployments.apps", deployment)
                gone = False
        if not gone:
            self._report(resource, "Deleting", "Deleting", "removing what was installed")
            return self._context.pace.operator
        self._release(resource)
        return None

    def _left_by_users(self) -> str:
        """Return kinds and names of existing objects that users created, in words."""
        texts: list[str] = []
        for kind in self._module.user_kinds:
            keys = self._context.observer.keys(kind.resource)
            if keys:
                names = ", ".join(f"{namespace}/{name}" for namespace, name in keys[:SHOWN])
                more = f" and {len(keys) - SHOWN} more" if len(keys) > SHOWN else ""
                texts.append(f"{len(keys)} {kind.kind} ({names}{more})")
        return "; ".join(texts)

    def _release(self, resource: Obj) -> None:
        namespace, name = key_of(resource)
        finalizers = [f for f in resource["metadata"]["finalizers"] if f != self._finalizer]
        patch = {"metadata": {"finalizers": finalizers or None}}
        try:
            self._context.client.patch(self._resource, name, patch, namespace=namespace)
        except StatusError as error:
            if error.reason != "NotFound":
                raise

    # -- status

    def _report(self, resource: Obj, state: str, reason: str, message: str) -> None:
        current = self._context.observer.get(self._resource, key_of(resource))
        if current is None:
            return
        module = self._module
        known = current.get("status") or {}
        new_condition = condition("Ready", state == "Ready", reason, message)
        if module.rules:
            # A module with customStateCheck reports a phase; with a state it would need no rules.
            phase = {"Ready": "Running", "Warning": "Degraded", "Processing": "Pending"}.get(state, state)
            status: dict[str, Any] = {**module.reports, "phase": phase}
        else:
            generation = current["metadata"].get("generation", 1)
            new_condition["observedGeneration"] = generation
            status = {"state": state, "observedGeneration": generation}
        conditions = with_condition(known.get("conditions"), new_condition, self._context.stamp)
        if self._context.write_status(self._resource, current, {**status, "conditions": conditions}):
            kind = module.resource
            self._context.recorder.event(
                current,
                kind.kind,
                kind.api_version,
                reason,
                message,
                type="Warning" if state in ("Warning", "Error") else "Normal",
                source=module.manager_name,
            )
