"""One cluster in most situations an operator meets, standing still, and a session that shows it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from msgspec.structs import replace

from kymatui.actions.plans import DeletionPlan, DeletionRequest, Uninstall
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.ownership import ObjectOwnership
from kymatui.domain.plans.cluster_target import ClusterTarget
from kymatui.domain.remote.runtime_pair import RuntimePair
from kymatui.domain.remote.watcher_chains import WatcherChain
from kymatui.domain.snapshot.object_index import ObjectIndex
from kymatui.domain.snapshot.snapshots import Feed, FeedState, Object, Snapshot, namespaced_feed
from kymatui.engine.cluster.ports import Cluster
from kymatui.engine.deletion.deletion_state import DeletionState, ManagedBy
from kymatui.engine.inventory.managed_resources import ManagedObject, ManagedObjects
from kymatui.errors import KymatuiError, NotFoundError, UnreachableError
from kymatui.settings.config_file import Settings
from kymatui.ui.application.kymatui_app import KymatuiApp
from tests.domain import builders as b

RULES = [
    {"jsonPath": "status.health", "value": "green", "mappedState": "Ready"},
    {"jsonPath": "status.sync", "value": "done", "mappedState": "Ready"},
    {"jsonPath": "status.health", "value": "red", "mappedState": "Error"},
    {"jsonPath": "status.health", "value": "yellow", "mappedState": "Warning"},
]

MANAGED = ("api-gateway", "btp-operator", "cloud-logging", "eventing", "istio")

LIVE = {
    f"{kind}.operator.kyma-project.io": Feed(FeedState.LIVE, b.NOW)
    for kind in ("kymas", "moduletemplates", "modulereleasemetas")
}

EVENT = {
    "apiVersion": "v1",
    "kind": "Event",
    "metadata": {"name": "e1", "namespace": "kyma-system", "uid": "e1"},
    "involvedObject": {"kind": "BtpOperator", "namespace": "kyma-system", "name": "default"},
    "type": "Warning",
    "reason": "MissingSecret",
    "message": "Secret sap-btp-manager not found",
    "count": 14,
    "lastTimestamp": b.stamp(120),
}


def owned(kind: str, api: str, name: str, uid: str, owner: str, **more: Any) -> dict[str, Any]:
    """An object that a controller made."""
    references = [{"apiVersion": "apps/v1", "kind": "X", "name": "x", "uid": owner, "controller": True}]
    metadata = {"name": name, "namespace": "kyma-system", "uid": uid, "ownerReferences": references}
    return {"apiVersion": api, "kind": kind, "metadata": {**metadata, "creationTimestamp": b.stamp(3600)}, **more}


OWNED = (
    owned(
        "ReplicaSet", "apps/v1", "istio-manager-7d4b", "rs1", "d1", spec={"replicas": 1}, status={"readyReplicas": 0}
    ),
    owned(
        "Pod",
        "v1",
        "istio-manager-7d4b-x2x",
        "p1",
        "rs1",
        status={
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": "False"}],
            "containerStatuses": [
                {"name": "manager", "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s"}}}
            ],
        },
    ),
)

INVENTORY = (
    ("", "v1", "ConfigMap", "istio-config"),
    ("", "v1", "ConfigMap", "istio-dashboards"),
    ("", "v1", "Service", "istio-webhook"),
    ("", "v1", "ServiceAccount", "istio-manager"),
    ("apps", "v1", "Deployment", "istio-manager"),
    ("apps", "v1", "Deployment", "istio-cni"),
    ("rbac.authorization.k8s.io", "v1", "ClusterRole", "istio-manager"),
)


def installed() -> dict[str, Any]:
    """The Manifest of istio with what it installed."""
    found = b.manifest("istio", "1.20.3", "Error", uid="m1")
    synced = [dict(zip(("group", "version", "kind", "name"), entry, strict=True)) for entry in INVENTORY]
    for entry in synced:
        if entry["kind"] != "ClusterRole":
            entry["namespace"] = "kyma-system"
    condition = {"type": "Resources", "status": "True", "reason": "Ready", "lastTransitionTime": b.stamp(7000)}
    found["status"] = {"state": "Error", "synced": synced, "conditions": [condition]}
    return found


def world() -> Snapshot:
    """In step, behind, ahead, held back, Warning that waits for the user, Error, Deleting, unmanaged, not installed."""
    deleting = b.resource("keda", "Deleting", deletionTimestamp=b.stamp(7200), finalizers=["keda.kyma-project.io/wait"])
    logging = b.resource("cloud-logging", None)
    logging["status"] = {"health": "yellow", "sync": "done"}
    warning = b.resource("btp-operator", "Warning")
    warning["status"]["conditions"] = [
        {"type": "Ready", "status": "False", "reason": "MissingSecret", "message": "Secret sap-btp-manager not found"}
    ]
    return Snapshot(
        cluster="test",
        kymas=(
            b.kyma(
                [*({"name": name} for name in MANAGED), {"name": "nats", "managed": False}],
                status=[
                    b.report("api-gateway", "3.4.1"),
                    b.report("btp-operator", "1.2.0", "Warning", message="Secret sap-btp-manager not found"),
                    b.report("cloud-logging", "1.0.0"),
                    b.report("eventing", "2.0.0"),
                    b.report("istio", "1.20.3"),
                    b.report("keda", "1.6.0", "Deleting"),
                    b.report("nats", "1.1.0", "Unmanaged", template=None),
                ],
                state="Warning",
            ),
        ),
        release_metas=(
            b.meta("api-gateway", {"regular": "3.4.1", "fast": "3.6.0"}),
            b.meta("btp-operator", {"regular": "1.3.1", "fast": "1.3.1"}),
            b.meta("cloud-logging", {"regular": "1.0.0"}),
            b.meta("eventing", {"regular": "1.9.0", "fast": "2.0.0"}),
            b.meta("istio", {"regular": "1.20.3", "fast": "1.21.0", "experimental": "1.21.0-experimental"}),
            b.meta("keda", {"regular": "1.6.0", "fast": "1.8.2"}),
            b.meta("nats", {"regular": "1.1.0"}),
            b.meta("serverless", {"regular": "1.7.4", "fast": "1.8.0"}),
        ),
        templates=(
            *(b.template("api-gateway", version) for version in ("3.4.1", "3.6.0")),
            *(b.template("btp-operator", version) for version in ("1.2.0", "1.3.1")),
            b.template("cloud-logging", "1.0.0", customStateCheck=RULES),
            *(b.template("eventing", version) for version in ("1.9.0", "2.0.0")),
            *(b.template("istio", version) for version in ("1.20.3", "1.21.0", "1.21.0-experimental")),
            *(b.template("keda", version) for version in ("1.6.0", "1.8.2")),
            b.template("nats", "1.1.0"),
            *(b.template("serverless", version) for version in ("1.7.4", "1.8.0")),
            *(b.community_template("docker-registry", version) for version in ("0.11.0", "0.14.0")),
        ),
        workloads=(
            b.deployment("api-gateway", "3.4.1"),
            b.deployment("btp-operator", "1.2.0"),
            b.deployment("cloud-logging", "1.0.0"),
            b.deployment("eventing", "2.0.0"),
            b.deployment("istio", "1.20.3", ready=False, uid="d1"),
            b.deployment("keda", "1.6.0"),
            b.deployment("nats", "1.1.0"),
            b.deployment("docker-registry", "0.11.0"),
        ),
        module_resources={
            b.gvk("api-gateway"): (b.resource("api-gateway"),),
            b.gvk("btp-operator"): (warning,),
            b.gvk("cloud-logging"): (logging,),
            b.gvk("eventing"): (b.resource("eventing"),),
            b.gvk("istio"): (b.resource("istio", "Error"),),
            b.gvk("keda"): (deleting,),
            b.gvk("nats"): (b.resource("nats"),),
            b.gvk("docker-registry"): (b.resource("docker-registry"),),
        },
        manifests=(installed(),),
        owned=OWNED,
        events=(EVENT,),
        feeds={**LIVE, namespaced_feed("pods", "kyma-system"): Feed(FeedState.LIVE, b.NOW)},
        taken_at=b.NOW,
    )


class SilentCluster:
    """A server that never answers."""

    name = "prod-eu"

    def get(self, ref: ObjectRef, *, cancel: object = None) -> Object | None:
        raise UnreachableError(f"{ref}: no answer")

    def kinds(self, group: str, kind: str) -> Object:
        raise UnreachableError(f"{kind}.{group}: no answer")

    def may_write(self, namespaces: Iterable[str]) -> bool:
        return bool(list(namespaces))


class StillSession:
    """A session whose cluster changes only when a test says so."""

    name = "prod-eu"
    namespace = "kyma-system"
    read_only = False
    traffic = (118, 0)
    title = ""
    kyma: tuple[str, str] | None = None
    is_connected = True
    failure: KymatuiError | None = None
    notes: tuple[str, ...] = ()
    target = ClusterTarget("prod-eu", "api.prod-eu.example.com", "kyma-system")

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._changed: Callable[[], None] = lambda: None
        self.retries = 0
        self.looked_at: tuple[ObjectRef, ...] = ()
        self.grown_from: tuple[ObjectRef, ...] = ()
        self.reads: list[ObjectRef] = []
        self.server: dict[ObjectRef, Object | KymatuiError] = {}

    def start(self, on_change: Callable[[], None]) -> None:
        self._changed = on_change

    def snapshot(self) -> Snapshot:
        return self._snapshot

    @property
    def cluster(self) -> Cluster:
        return cast("Cluster", SilentCluster())

    @property
    def home(self) -> Cluster:
        return self.cluster

    @property
    def kymas(self) -> Sequence[Object]:
        return self._snapshot.kymas

    def pair(self) -> RuntimePair | None:
        return None

    def chains(self) -> tuple[WatcherChain, ...]:
        return ()

    def show(self, **changes: object) -> None:
        self._snapshot = replace(self._snapshot, **changes)
        self._changed()

    def follow_events(self, refs: Iterable[ObjectRef]) -> None:
        self.looked_at = tuple(refs)

    def follow_owned(self, refs: Iterable[ObjectRef]) -> None:
        self.grown_from = tuple(refs)

    def read(self, ref: ObjectRef) -> Object:
        """What a test put into `server`, or what is watched of it; an error is raised."""
        self.reads.append(ref)
        found = self.server.get(ref) or ObjectIndex.of((*self._snapshot.workloads, *self._snapshot.owned)).find(ref)
        if isinstance(found, KymatuiError):
            raise found
        if found is None:
            raise NotFoundError(f"{ref} not found", status=404)
        return found

    @property
    def feeds(self) -> Mapping[str, Feed]:
        return self._snapshot.feeds

    def wait_complete(self, timeout: float) -> bool:
        return timeout >= 0

    def require_kyma(self) -> None:
        pass

    def retry(self) -> None:
        self.retries += 1

    def close(self) -> None:
        pass


def app_on(session: StillSession, *, remembers: object = False, **settings: object) -> KymatuiApp:
    """Return an app on a session; only one that `remembers` takes how an earlier one left its lists."""
    app = KymatuiApp(lambda: session, settings=Settings(**settings), clock=lambda: b.NOW)  # type: ignore[arg-type]
    if not remembers:
        app.favourites.leave = lambda view: None  # type: ignore[method-assign]
    return app


def failing_app(error: KymatuiError) -> KymatuiApp:
    def connect() -> StillSession:
        raise error

    return KymatuiApp(connect, context="prod-eu", clock=lambda: b.NOW)


def uninstall(module: str) -> Uninstall:
    """What is left of a module that goes: its default CR, and an APIRule of a user where it has such."""
    default = ManagedObject(ObjectRef(b.gvk(module), "kyma-system", "default"), "u1", ObjectOwnership.DEFAULT_CR)
    kind = GroupVersionKind("gateway.kyma-project.io", "v2", "APIRule")
    rule = ManagedObject(ObjectRef(kind, "billing", "invoices"), "u2", maker="kubectl-edit")
    instances = (default, rule) if module == "api-gateway" else (default,)
    seen = DeletionState(
        "prod", module, ManagedBy.KYMA, remaining=ManagedObjects(instances), default=default, requested=True, runs=True
    )
    request = DeletionRequest(module, cascade=True, backup=Path("backup.yaml"))
    return Uninstall(request, DeletionPlan(request, seen))
