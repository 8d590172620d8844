"""What a real lifecycle-manager was seen to leave behind, brought about in a running sandbox (`domain.foreseen`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from kymatui.domain.kubernetes.object_meta import LABEL_SKIP
from kymatui.domain.kubernetes.refs import DEPLOYMENT, GroupVersionKind, ObjectRef
from kymatui.domain.remote.kyma_sync import ANNOTATION_OWNED_BY
from kymatui.errors import ConfigurationError, ConflictError, RefusedError

if TYPE_CHECKING:
    from kymatui.engine.cluster.ports import Cluster

_OPERATOR = "operator.kyma-project.io"
_KYMA = ObjectRef(GroupVersionKind(_OPERATOR, "v1beta2", "Kyma"), "kyma-system", "default")
_MANIFEST = GroupVersionKind(_OPERATOR, "v1beta2", "Manifest")
_TEMPLATE = GroupVersionKind(_OPERATOR, "v1beta2", "ModuleTemplate")
_PERSON: Final = "kubectl-edit"
_TRIES: Final = 20  # times; the catalog sync may write the object first
_HELD: Final = "sandbox.local/held"
_IGNORE: Final = {"customResourcePolicy": "Ignore"}
_PAUSED: Final = {"metadata": {"labels": {LABEL_SKIP: "true"}}}


class _Sandbox(Struct, frozen=True):
    """The cluster with Manifests, and the one where modules run; the same one, or two."""

    control: Cluster
    runtime: Cluster

    @property
    def is_one(self) -> bool:
        return self.control is self.runtime

    def manifest(self, module: str) -> Mapping[str, Any]:
        """Return the Manifest of a module of the sample world. Raises RefusedError where it has none."""
        owner = "default" if self.is_one else "skr"
        labels = {f"{_OPERATOR}/module-name": module, f"{_OPERATOR}/kyma-name": owner}
        for body in self.control.list(_MANIFEST):
            if labels.items() <= dict(body["metadata"].get("labels") or {}).items():
                return body
        raise RefusedError(
            f"the sandbox has no Manifest of {module} yet", hint="wait until the sandbox has its sample objects"
        )


def _merge(cluster: Cluster, ref: ObjectRef, patch: Mapping[str, Any]) -> None:
    from kymatui.engine.cluster.ports import PatchKind

    cluster.patch(ref, patch, PatchKind.MERGE, manager=_PERSON)


def _edit_entry(sandbox: _Sandbox, module: str, change: Mapping[str, Any]) -> None:
    kyma = sandbox.runtime.get(_KYMA)
    assert kyma is not None
    entries = [{**entry, **change} if entry["name"] == module else entry for entry in kyma["spec"]["modules"]]
    _merge(sandbox.runtime, _KYMA, {"spec": {"modules": entries}})


def _edit_manifest(sandbox: _Sandbox, module: str, patch: Mapping[str, Any]) -> None:
    metadata = sandbox.manifest(module)["metadata"]
    _merge(sandbox.control, ObjectRef(_MANIFEST, metadata["namespace"], metadata["name"]), patch)


def _policy_pending(sandbox: _Sandbox) -> str:
    _edit_entry(sandbox, "nats", _IGNORE)
    return "nats: customResourcePolicy is Ignore in the Kyma, CreateAndDelete in its Manifest"


def _cr_stays(sandbox: _Sandbox) -> str:
    """Set Ignore in the Manifest alone, so that lifecycle-manager forgets its finalizer."""
    _edit_manifest(sandbox, "telemetry", {"spec": _IGNORE})
    return "telemetry: customResourcePolicy is CreateAndDelete in the Kyma, Ignore in its Manifest"


def _may_not_wait(sandbox: _Sandbox) -> str:
    _edit_manifest(sandbox, "serverless", {"spec": _IGNORE})
    _edit_entry(sandbox, "serverless", _IGNORE)
    return "serverless: customResourcePolicy is Ignore in Kyma and Manifest, and users have objects of the module"


def _still_releasing(sandbox: _Sandbox) -> str:
    _edit_manifest(sandbox, "btp-operator", _PAUSED)
    _edit_entry(sandbox, "btp-operator", {"managed": False})
    return "btp-operator: the Kyma reports Unmanaged, and its Manifest is not released: its reconciliation is paused"


def _not_applied(sandbox: _Sandbox) -> str:
    """Give the status a version that the workload does not have, until lifecycle-manager's next reconciliation.

    Without the annotation, the change does not wake it.
    """
    ref = ObjectRef(DEPLOYMENT, "kyma-system", "btp-manager-controller-manager")
    body = sandbox.runtime.get(ref)
    if body is None:
        raise RefusedError("the sandbox has no btp-operator yet", hint="wait until the sandbox has its sample objects")
    containers = [dict(container) for container in body["spec"]["template"]["spec"]["containers"]]
    containers[0]["image"] = f"{containers[0]['image'].rpartition(':')[0]}:1.1.0"
    annotations = {"metadata": {"annotations": {ANNOTATION_OWNED_BY: None}}}
    _merge(sandbox.runtime, ref, {**annotations, "spec": {"template": {"spec": {"containers": containers}}}})
    return "btp-operator: 1.1.0 is running, but lifecycle-manager reports another version as Ready"


def _taken_over(sandbox: _Sandbox) -> str:
    """Create a template of a user with the name of a synced one."""
    if sandbox.is_one:
        raise RefusedError(
            "a sandbox with one cluster has no synced templates", hint="start the sandbox with --clusters kcp,skr"
        )
    ref = ObjectRef(_TEMPLATE, _KYMA.namespace, "keda-1.5.0")
    body = sandbox.runtime.get(ref)
    if body is None:
        raise RefusedError(
            "the sandbox has no copy of keda-1.5.0 yet", hint="wait until the sandbox has its sample objects"
        )
    mine = {
        "apiVersion": body["apiVersion"],
        "kind": body["kind"],
        "metadata": {"name": ref.name, "namespace": ref.namespace},
        "spec": body["spec"],
    }
    for _ in range(_TRIES):  # the catalog sync may be faster
        sandbox.runtime.delete(ref)
        try:
            sandbox.runtime.create(mine, manager="kubectl")
        except ConflictError:  # the catalog sync has written it first
            continue
        return "keda-1.5.0: ModuleTemplate created by kubectl in the runtime, with the name of a synced template"
    raise RefusedError("the catalog sync created keda-1.5.0 first each time", hint="run the command again")


def _kyma_deleted(sandbox: _Sandbox) -> str:
    """Delete the runtime's Kyma and hold it, so that the deletion can be watched."""
    if sandbox.is_one:
        raise RefusedError(
            "a sandbox with one cluster has no Kyma in a runtime", hint="start the sandbox with --clusters kcp,skr"
        )
    _merge(sandbox.runtime, _KYMA, {"metadata": {"finalizers": [_HELD]}})
    sandbox.runtime.delete(_KYMA)
    return f"the runtime's Kyma is being deleted; the finalizer {_HELD} blocks the deletion"


_ALL: Final[Mapping[str, Callable[[_Sandbox], str]]] = {
    "policy-pending": _policy_pending,
    "cr-stays": _cr_stays,
    "may-not-wait": _may_not_wait,
    "still-releasing": _still_releasing,
    "not-applied": _not_applied,
    "taken-over": _taken_over,
    "kyma-deleted": _kyma_deleted,
}
SITUATIONS: Final = tuple(_ALL)


def create_situation(kubeconfig: Path, context: str, name: str) -> str:
    """Bring a situation about in a running sandbox, and no other cluster; return what it is.

    `context` is the cluster with Manifests; modules run in the context `skr` where the sandbox has one. Raises
    ConfigurationError, ClusterError.
    """
    from kymatui.sandbox.fault_client import LISTING, FaultClient
    from kymatui.sessions.cluster.cluster_access import open_cluster
    from kymatui.sessions.cluster.session_options import SessionOptions

    FaultClient.for_kubeconfig(kubeconfig, context).send(LISTING, {})  # only a sandbox answers that
    control = runtime = open_cluster(SessionOptions(str(kubeconfig), context))
    try:
        FaultClient.for_kubeconfig(kubeconfig, "skr").send(LISTING, {})
        runtime = open_cluster(SessionOptions(str(kubeconfig), "skr"))
    except ConfigurationError:
        pass  # one cluster is both
    return _ALL[name](_Sandbox(control, runtime))
