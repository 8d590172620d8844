"""Modules of the sample world whose reconciliation is paused, made as the others."""

from __future__ import annotations

from kymatui.domain.kubernetes.object_meta import LABEL_MODULE_NAME, LABEL_SKIP, read_ref
from kymatui.domain.kubernetes.refs import GroupVersionKind
from kymatui.domain.modules.readiness import check_readiness
from kymatui.engine.cluster.ports import Cluster, PatchKind
from kymatui.operator.kymas.kyma_context import MANIFEST
from kymatui.sandbox.world.modules.sample_modules import module_named
from tests.integration.embedded import eventually

DEPLOYMENT = GroupVersionKind("apps", "v1", "Deployment")


def resume_reconciliation(cluster: Cluster, module: str) -> None:
    """Take the skip label off a module's Manifest; wait until the module's own version runs again."""
    [manifest] = cluster.list(MANIFEST, labels=f"{LABEL_MODULE_NAME}={module}")
    cluster.patch(
        read_ref(manifest), {"metadata": {"labels": {LABEL_SKIP: None}}}, PatchKind.MERGE, manager="kubectl-edit"
    )
    declared, version = module_named(module), manifest["spec"]["version"]

    def runs() -> bool:
        found = [one for one in cluster.list(DEPLOYMENT) if one["metadata"]["name"] == declared.manager_name]
        images = [one["spec"]["template"]["spec"]["containers"][0]["image"] for one in found]
        return images == [declared.image(version)] and check_readiness(found[0], 0.0).ready

    eventually(runs, f"{module} {version} runs")
