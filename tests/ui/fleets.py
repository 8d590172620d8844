"""A fleet in most situations an operator meets, standing still, and an app on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import yaml
from msgspec.structs import replace

from kymatui.actions.edits.campaign import ListedFleet
from kymatui.domain.catalog.catalog import build_catalog
from kymatui.domain.catalog.rows import ModuleRow
from kymatui.domain.fleet.clusters import ClusterStatus, FleetCluster, compact_catalog
from kymatui.domain.fleet.fleet_tracker import FleetSnapshot, FleetTracker, RuntimeKey
from kymatui.domain.fleet.manifest_summary import ManifestSummary, read_summary
from kymatui.domain.fleet.runtimes import build_fleet
from kymatui.domain.kyma.maintenance_windows import ControllerSettings
from kymatui.domain.kyma.problems import Problem
from kymatui.domain.kyma.states import State
from kymatui.domain.plans.cluster_target import ClusterTarget
from kymatui.domain.remote.runtime_pair import RuntimePair
from kymatui.domain.remote.watcher_chains import WatcherChain
from kymatui.domain.snapshot.snapshots import RUNTIME_FEED, Feed, FeedState, Object, Snapshot
from kymatui.domain.versions.drift import DriftKind
from kymatui.engine.cluster.ports import Cluster
from kymatui.errors import KymatuiError
from kymatui.sessions.cluster.session_options import RemoteOptions
from kymatui.sessions.context_fleet import ContextFleet
from kymatui.sessions.contexts import ContextEntry
from kymatui.sessions.control_plane.campaign_fleet import listed_fleet
from kymatui.settings.config_file import Settings
from kymatui.ui.application.contexts_app import ContextsApp
from kymatui.ui.application.fleet_app import FleetApp
from tests.domain import builders as b
from tests.domain.test_maintenance import SATURDAY, policy
from tests.domain.test_pairs import World
from tests.domain.test_watcher_chains import Parts
from tests.ui.worlds import SilentCluster, StillSession, world

CONTROL = "kcp-system"
EVERY_SATURDAY = policy(SATURDAY)
FEEDS = {
    f"{kind}.operator.kyma-project.io": Feed(FeedState.LIVE, b.NOW)
    for kind in ("kymas", "manifests", "modulereleasemetas")
}
METAS = [
    b.meta("btp-operator", {"regular": "1.3.1", "fast": "1.3.1"}, namespace=CONTROL),
    b.meta("istio", {"regular": "1.20.3", "fast": "1.21.0"}, namespace=CONTROL),
    b.meta("keda", {"regular": "1.6.0", "fast": "1.8.2"}, namespace=CONTROL),
]
TEMPLATES = [
    b.template("btp-operator", "1.3.1", namespace=CONTROL),
    b.template("btp-operator", "1.2.0", namespace=CONTROL),
    *(b.template("istio", version, namespace=CONTROL) for version in ("1.20.3", "1.21.0")),
    b.template("keda", "1.6.0", namespace=CONTROL),
    b.template("keda", "1.8.2", namespace=CONTROL, requiresDowntime=True),
]


def runtime(name: str, plan: str, region: str, *reports: b.Json, days: int = 90, **more: Any) -> b.Json:
    """A Kyma of the control plane."""
    labelled = {
        "kyma-project.io/shoot-name": f"c-{name[:7]}",
        "kyma-project.io/broker-plan-name": plan,
        "kyma-project.io/region": region,
        "kyma-project.io/platform-region": f"cf-{region}",
        **more.pop("labelled", {}),
    }
    metadata = more.pop("metadata", {})
    found = b.kyma((), name=name, namespace=CONTROL, status=reports, labelled=labelled, **more)
    found["metadata"] |= {"creationTimestamp": b.stamp(days * 86400), **metadata}
    return found


KYMAS = (
    runtime(
        "8229990c-2b1d",
        "aws",
        "eu10",
        b.report("btp-operator", "1.2.0", "Warning", message="Secret sap-btp-manager not found"),
        b.report("istio", "1.20.3"),
        b.report("keda", "1.6.0"),
        state="Warning",
    ),
    runtime(
        "1d0a77e2-77aa",
        "azure",
        "us10",
        b.report("istio", "1.21.0", channel="fast"),
        b.report("keda", "1.8.2"),
        days=12,
    ),
    runtime("77c01b9f-04fe", "gcp", "eu20", b.report("istio", "1.19.0", "Error"), state="Error"),
    runtime(
        "9be2ff01-5d5d",
        "aws",
        "eu10",
        b.report("keda", "1.6.0", maintenance=True, message="waiting for next maintenance window"),
        b.report("istio", "1.20.3"),
    ),
    runtime(
        "c0ffee00-1234",
        "aws",
        "eu20",
        b.report("keda", "1.6.0", "Deleting"),
        state="Deleting",
        metadata={"deletionTimestamp": b.stamp(600), "finalizers": ["operator.kyma-project.io/Kyma"]},
    ),
    runtime(
        "d00dcafe-9999",
        "azure",
        "us10",
        b.report("keda", "1.6.0", "Processing"),
        state="Processing",
        labelled={"operator.kyma-project.io/skip-reconciliation": "true"},
        days=1,
    ),
)


def manifest(module: str, version: str, state: str, owner: str, operation: str, ago: float) -> ManifestSummary:
    raw = b.manifest(module, version, state, owner=owner, namespace=CONTROL)
    raw["status"] |= {
        "conditions": [{"type": "Installation", "status": "True", "lastTransitionTime": b.stamp(ago)}],
        "lastOperation": {"operation": operation},
    }
    found = read_summary(raw)
    assert found is not None
    return found


MANIFESTS = (
    manifest("istio", "1.19.0", "Error", "77c01b9f-04fe", "the manager is not running", 1800),
    manifest("keda", "1.6.0", "Deleting", "c0ffee00-1234", "waiting for module crs deletion", 600),
    manifest("warden", "0.19.0", "Processing", "9be2ff01-5d5d", "installing", 90),
)
LABELLED_MANDATORY = replace(MANIFESTS[2], mandatory=True)


def painter(kymas: Sequence[b.Json] = KYMAS) -> FleetTracker:
    """The fleet, as it is followed."""
    from kymatui.domain.fleet.runtimes import metas_by_module

    found = FleetTracker()
    found.metas(metas_by_module(METAS))
    found.kymas(rows(kymas), b.NOW, notice=False)
    sights = (*MANIFESTS[:2], LABELLED_MANDATORY)
    found.manifests({(sight.namespace, sight.name): sight for sight in sights})
    return found


def rows(kymas: Sequence[b.Json]) -> Any:
    return {(one.ref.namespace, one.name): one for one in build_fleet(kymas).runtimes}


def at_runtime(feed: Feed) -> Snapshot:
    """The catalog of a runtime that is doing so."""
    found = world()
    return replace(found, feeds={**found.feeds, RUNTIME_FEED: feed})


def two_sides() -> RuntimePair:
    """A runtime and its control plane that differ in several ways, as they are meant to and not."""
    found = World()
    found.runtime_kyma["status"]["state"] = "Warning"
    found.runtime_kyma["spec"]["channel"] = "fast"
    found.copies = found.copies[1:]
    found.manifests[0]["spec"]["version"] = "0.9.0"
    found.rules = ControllerSettings(EVERY_SATURDAY)
    return found.pair()


class StillRuntime(StillSession):
    """A runtime's session; what is written would go to `inner`."""

    target = ClusterTarget(
        "kcp-prod",
        "api.runtime.example.com",
        "kyma-system",
        runtime="kcp-system/runtime",
        control="api.kcp-prod.example.com",
    )

    def __init__(self, feed: Feed) -> None:
        super().__init__(at_runtime(feed))
        self.is_connected = feed.state is FeedState.LIVE
        self.closed = False
        self.notes = ("maintenance window policy: ConfigMap kcp-system/policy",)
        self.asked = 0

    kyma = ("kcp-system", "runtime")

    @property
    def kymas(self) -> Sequence[Object]:
        return ()

    def chains(self) -> tuple[WatcherChain, ...]:
        """A chain of which one link is broken in the runtime."""
        self.asked += 1
        parts = Parts()
        parts.hook["clientConfig"]["caBundle"] = ""
        return parts.chains()

    def close(self) -> None:
        self.closed = True


class StillObjects:
    """The objects of a fleet that changes only when a test says so."""

    name = "kcp-prod"

    def __init__(self, fleet: StillFleet, on_change: Callable[[], None]) -> None:
        self._fleet, self.on_change = fleet, on_change
        self.closed = False

    def start(self) -> None:
        self._fleet.followers.append(self)

    def objects(self) -> tuple[tuple[Object, ...], tuple[Object, ...]] | None:
        if self._fleet.unlistable is not None:
            raise self._fleet.unlistable
        return tuple(self._fleet.kymas.values()), self._fleet.catalog

    def retry(self) -> None:
        self._fleet.retries += 1

    def close(self) -> None:
        self.closed = True


class StillFleet:
    """A control plane that changes only when a test says so; `runtimes` are those that somebody looked at."""

    name = "kcp-prod"
    title = ""
    namespace = ""
    read_only = False
    traffic = (0, 0)
    target = ClusterTarget("kcp-prod", "api.kcp-prod.example.com")
    home = cast("Cluster", SilentCluster())

    def __init__(self, wanted: str = "", feeds: dict[str, Feed] | None = None) -> None:
        self.requested_runtime = wanted
        self.painter = painter()
        self.feeds = FEEDS if feeds is None else feeds
        self.answers: dict[RuntimeKey, Feed] = {}
        self.runtimes: dict[RuntimeKey, StillRuntime] = {}
        self.retries = 0
        self.kymas = dict(map(_as_object, KYMAS))
        self.catalog: tuple[Object, ...] = (*METAS, *TEMPLATES)
        self.followers: list[StillObjects] = []
        self.unlistable: KymatuiError | None = None
        self._changed: Callable[[], None] = lambda: None

    def start(self, on_change: Callable[[], None]) -> None:
        self._changed = on_change

    def picture(self) -> FleetSnapshot:
        return self.painter.picture(self.name, self.feeds, b.NOW)

    @property
    def straight_to(self) -> RuntimeKey | None:
        found = self.picture().named(self.requested_runtime) if self.requested_runtime else None
        return (found.ref.namespace, found.name) if found is not None else None

    def runtime(self, key: RuntimeKey) -> StillRuntime:
        found = self.runtimes[key] = StillRuntime(self.answers.get(key, Feed(FeedState.LIVE, b.NOW)))
        return found

    def rules(self, namespace: str) -> tuple[ControllerSettings, tuple[str, ...]]:
        return ControllerSettings(EVERY_SATURDAY), (f"maintenance window policy: ConfigMap {namespace}/policy",)

    def chains(self) -> tuple[WatcherChain, ...]:
        return Parts().chains()

    def listed(self, *, edits_kymas: bool = True) -> ListedFleet:
        return listed_fleet(self.options)

    def follow_objects(self, on_change: Callable[[], None]) -> StillObjects:
        return StillObjects(self, on_change)

    @property
    def options(self) -> RemoteOptions:
        raise AssertionError("no edit over many runtimes is planned here")

    def change(self, *kymas: b.Json, gone: Sequence[RuntimeKey] = ()) -> None:
        """Kymas that changed, and those that went."""
        self.painter.kymas({**rows(kymas), **dict.fromkeys(gone)}, b.NOW - 60, notice=True)
        kept = {key: raw for key, raw in self.kymas.items() if key not in gone}
        self.kymas = kept | dict(map(_as_object, kymas))
        self._changed()
        self.objects_changed()

    def objects_changed(self) -> None:
        for one in self.followers:
            one.on_change()

    def retry(self) -> None:
        self.retries += 1

    def close(self) -> None:
        pass


def _as_object(raw: b.Json) -> tuple[RuntimeKey, Object]:
    """A Kyma as lifecycle-manager leaves it, with the channel of its runtime."""
    metadata, status = raw["metadata"], {"activeChannel": raw["spec"]["channel"], **raw["status"]}
    return (metadata["namespace"], metadata["name"]), {**raw, "status": status}


def changed_catalog(**channels: dict[str, str]) -> str:
    """A file with release metas of these channels, and the templates that make them interesting."""
    metas = [b.meta(module.replace("_", "-"), found, namespace=CONTROL) for module, found in channels.items()]
    beta = b.template("btp-operator", "1.3.1", namespace=CONTROL, labelled=b.labels(beta="true"))
    return yaml.safe_dump_all([*metas, beta, b.template("istio", "1.20.0", namespace=CONTROL)])


CHANGED = changed_catalog(keda={"regular": "1.8.2", "fast": "1.8.2"}, istio={"regular": "1.20.0"})


def fleet_app(source: StillFleet, **settings: object) -> FleetApp:
    return FleetApp(lambda: source, settings=Settings(**settings), clock=lambda: b.NOW)  # type: ignore[arg-type]


def contexts_clusters() -> list[FleetCluster]:
    """Contexts of each kind: well, with problems, behind, gone, without a login, and a control plane."""
    whole = build_catalog(world(), b.NOW)
    well = tuple(row for row in whole.rows if row.state is State.READY and not row.drift.is_drift)
    behind = tuple(row for row in whole.rows if row.drift.kind is DriftKind.BEHIND)

    def cluster(context: str, **more: Any) -> FleetCluster:
        server, read_only = f"https://api.{context}.example", context == "prod-eu"
        return FleetCluster(context, f"sap-{context}", server, read_only, seen=b.NOW, **more)

    def read(context: str, rows: tuple[ModuleRow, ...], problems: tuple[Problem, ...] = ()) -> FleetCluster:
        catalog = compact_catalog(replace(whole, rows=rows, problems=problems, feeds={}))
        return cluster(context, status=ClusterStatus.LISTED, catalog=catalog, kymas=1)

    stale = replace(read("dev-2", well), status=ClusterStatus.STALE, reason="the server does not answer")
    return [
        read("prod-eu", whole.rows, whole.problems),
        read("prod-us", (*well, *behind)),
        read("stage", well),
        replace(stale, seen=b.NOW - 240),
        cluster(
            "dev-1", status=ClusterStatus.LOGIN, reason="the credential plugin kubectl failed: refresh token expired"
        ),
        cluster("old", status=ClusterStatus.UNREACHABLE, reason="nothing listens at https://api.old.example"),
        cluster("kcp", status=ClusterStatus.CONTROL_PLANE, catalog=compact_catalog(whole), kymas=812),
    ]


class StillContexts(StillFleet):
    """Contexts that change only when a test says so."""

    name = "7 contexts"

    def picture(self) -> FleetSnapshot:
        clusters = {("", cluster.context): cluster for cluster in contexts_clusters()}
        runtimes = {key: cluster.as_runtime() for key, cluster in clusters.items()}
        return FleetSnapshot(self.name, runtimes, feeds=FEEDS, taken_at=b.NOW, clusters=clusters)

    def entry(self, name: str) -> ContextEntry:
        return ContextEntry(name, read_only=name == "prod-eu")

    def read_again(self, name: str) -> None:
        del name


def contexts_app() -> ContextsApp:
    return ContextsApp(lambda: cast("ContextFleet", StillContexts()), settings=Settings(), clock=lambda: b.NOW)
