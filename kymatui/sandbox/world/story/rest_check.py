"""Rest check of the sample world: no rollout is in progress and every module has a final state."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kymatui.sandbox.controllers.framework.status_conditions import find_condition
from kymatui.sandbox.controllers.framework.store_reader import Obj, StoreReader
from kymatui.sandbox.controllers.workloads.rollout_math import replicas_of
from kymatui.sandbox.world.modules.module_announcement import KYMAS, MANIFESTS
from kymatui.sandbox.world.modules.sample_module import SampleModule

WORKLOADS = ("deployments.apps", "statefulsets.apps")
LOOKS = 3
"""How often in a row everything must be quiet: operators and managers pause a moment between two of their steps."""


def at_rest(
    runtime: StoreReader, control: StoreReader, kyma: tuple[str, str], modules: Iterable[SampleModule]
) -> Callable[[], bool]:
    """Return a check for repeated calls; it is true after `LOOKS` positive results in a row."""
    watched = tuple(modules)
    quiet = 0

    def is_quiet() -> bool:
        nonlocal quiet
        rests = (
            all(has_rolled_out(workload) for resource in WORKLOADS for workload in runtime.all(resource))
            and _lasts(control, kyma)
            and all(_is_reported(runtime, module) for module in watched)
        )
        quiet = quiet + 1 if rests else 0
        return quiet >= LOOKS

    return is_quiet


def has_rolled_out(workload: Obj) -> bool:
    """Return whether a Deployment or StatefulSet finished its rollout or gave up."""
    status = workload.get("status") or {}
    if status.get("observedGeneration", 0) < workload["metadata"].get("generation", 1):
        return False
    progressing = find_condition(status.get("conditions"), "Progressing")
    if progressing is not None and progressing["status"] == "False":
        return True
    replicas = replicas_of(workload)
    return all(
        status.get(field, 0) == replicas
        for field in ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
    )


def _lasts(control: StoreReader, kyma: tuple[str, str]) -> bool:
    """Return whether the Kyma's modules and Manifests have a final state."""
    kyma_object = control.get(KYMAS, kyma)
    modules = ((kyma_object or {}).get("status") or {}).get("modules") or []
    manifests = [m for m in control.all(MANIFESTS, kyma[0]) if _owner(m) == kyma[1]]
    states = [m["state"] for m in modules] + [(m.get("status") or {}).get("state", "") for m in manifests]
    return bool(modules) and not {"", "Processing"} & set(states)


def _owner(manifest: Obj) -> str:
    return str((manifest["metadata"].get("labels") or {}).get("operator.kyma-project.io/kyma-name", ""))


def _is_reported(runtime: StoreReader, module: SampleModule) -> bool:
    """Return whether the operator, if active, reported a final state for each module CR."""
    kind = WORKLOADS[1] if module.stateful else WORKLOADS[0]
    manager = runtime.get(kind, (module.namespace, module.manager_name))
    if not ((manager or {}).get("status") or {}).get("availableReplicas"):
        return True
    return all(_is_final(resource) for resource in runtime.all(module.resource.resource))


def _is_final(resource: Obj) -> bool:
    status = resource.get("status") or {}
    state = status.get("state") or status.get("phase") or ""
    return state not in ("", "Processing", "Pending")
