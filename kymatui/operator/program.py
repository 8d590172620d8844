"""The operator: controllers of a control plane, from the options of its command line."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from kymatui.actions.components.content_cache import ComponentCache
from kymatui.adapters.content.blob_fetcher import BlobFetcher
from kymatui.adapters.content.chart_fetcher import ChartAccess
from kymatui.adapters.kube.api.client import Client
from kymatui.adapters.kube.auth.impersonation import as_service_account
from kymatui.adapters.kube.transport.request_guard import RateGuard
from kymatui.adapters.kube.transport.transport import Transport
from kymatui.adapters.kube.watch.kube_cluster import KubeCluster
from kymatui.adapters.kube.watch.remembering_cluster import RememberingCluster
from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kubernetes.terminal_text import error_reason
from kymatui.domain.kyma.kymas import KYMA_NAMESPACE
from kymatui.domain.kyma.maintenance_windows import ControllerSettings, UnreadablePolicy, WindowPolicy, read_policy
from kymatui.domain.remote.watcher_agent import AgentOptions
from kymatui.engine.cluster.request_scope import RequestRate
from kymatui.engine.jobs.identity import own_identity
from kymatui.errors import ConfigurationError, UsageError
from kymatui.operator.catalogs.runtime_catalog import CatalogCache, RuntimeCatalog
from kymatui.operator.framework.controller import GroupReports, OperatorController, Reconciliation, RequeueIntervals
from kymatui.operator.framework.controller_group import ControllerGroup, GroupService
from kymatui.operator.framework.dependency_watches import DependencyWatches
from kymatui.operator.framework.foreign_manager_guard import require_no_lifecycle_manager, require_own_kymas
from kymatui.operator.framework.runtime_cache import RuntimeCache, SingleCluster
from kymatui.operator.framework.work_queue import WORKERS
from kymatui.operator.kymas.kyma_context import Components, KymaContext
from kymatui.operator.kymas.kyma_reconciler import KymaController
from kymatui.operator.kymas.mandatory_modules import MandatoryInstallation, MandatoryRemoval
from kymatui.operator.kymas.purge_controller import CrdPattern, PurgeController, PurgeTerms
from kymatui.operator.manifest_context import open_manifest_context
from kymatui.operator.manifests.controller import RESYNC, ManifestController, ManifestReconciler, served_kind
from kymatui.operator.manifests.manifest_marks import MANIFEST_ACCOUNT
from kymatui.operator.manifests.module_pass import ModuleContext
from kymatui.operator.manifests.resource_rendering import ModuleRenderer
from kymatui.operator.manifests.standalone_context import AccountCluster, RegistryLayers, StandaloneContext
from kymatui.operator.monitoring.event_writer import Decided, EventWriter
from kymatui.operator.monitoring.ignored_manifests import IgnoredManifests
from kymatui.operator.monitoring.metric_registry import MetricRegistry
from kymatui.operator.monitoring.operator_metrics import METRICS
from kymatui.operator.watchers.runtime_webhook import RuntimeWebhook
from kymatui.operator.watchers.watcher_controller import WatcherController
from kymatui.sessions.cluster.session_options import SessionOptions
from kymatui.sessions.control_plane.runtime_clients import IDLE_SECONDS, SecretRuntimes
from kymatui.sessions.control_plane.runtime_guards import RuntimeGuards
from kymatui.sessions.fetching import FetchOptions
from kymatui.sessions.registries import open_registries

CONTROL_PLANE_NAMESPACE: Final = "kcp-system"
_BRIEF: Final = 5.0
"""Seconds within which the steps of an installation follow each other; a runtime's copies are read once in them."""


class OperatorOptions(Struct, frozen=True):
    """The options of an operator.

    controllers     names from `CONTROLLERS`; empty: all
    namespace       the namespace of Kymas, Manifests and the catalog; "": kcp-system, of one cluster kyma-system
    registry        `http://HOST:PORT` or `https://HOST` with the modules' components; "": as templates say
    restricted      modules that only Kymas with a matching selector get
    windows         the maintenance policy; None: none is configured
    single_cluster  whether the control plane is its own and only runtime
    intervals       requeue intervals by controller; the defaults for others
    resync          seconds until an unchanged Manifest of a person is reconciled again
    tenants         further namespaces whose Manifests are installed, with the rights of a ServiceAccount there
    account         the name of that ServiceAccount
    secrets         Secrets that charts of Manifests may read with `lookup`: NAMESPACE/NAME or NAMESPACE/*
    folder          folder of kustomizations that Manifests may name by path
    agent           the watcher's agent on runtimes; None: none is installed
    rate            requests to the control plane, and to each runtime
    purge           when runtimes of Kymas in deletion are purged; None: never
    shards          parts into which the objects are divided; above 1, all replicas work
    """

    controllers: tuple[str, ...] = ()
    namespace: str = ""
    registry: str = ""
    restricted: frozenset[str] = frozenset()
    windows: WindowPolicy | None = None
    single_cluster: bool = False
    intervals: Mapping[str, RequeueIntervals] = field(default_factory=dict)
    workers: int = WORKERS
    resync: float = RESYNC
    tenants: tuple[str, ...] = ()
    account: str = MANIFEST_ACCOUNT
    secrets: tuple[str, ...] = ()
    folder: Path | None = None
    agent: AgentOptions | None = None
    rate: RequestRate = field(default_factory=RequestRate)
    purge: PurgeTerms | None = None
    shards: int = 1

    @property
    def kyma_namespace(self) -> str:
        return self.namespace or (KYMA_NAMESPACE if self.single_cluster else CONTROL_PLANE_NAMESPACE)

    def intervals_of(self, controller: str) -> RequeueIntervals:
        return self.intervals.get(controller, RequeueIntervals())


class OperatorContext(Struct, frozen=True):
    """What controllers are built from; `standalone` has the control plane, clock and registries.

    `tenants` are the contexts of the further namespaces with Manifests. `guards` are the rates and circuits of the
    runtimes, `clients` the connected runtimes, which the controllers share; `caches` and `watches` are the controllers'
    own.
    """

    options: OperatorOptions
    standalone: StandaloneContext
    components: Components
    templates: CatalogCache
    reports: GroupReports
    events: EventWriter
    guards: RuntimeGuards
    clients: SecretRuntimes
    tenants: Mapping[str, StandaloneContext] = field(default_factory=dict)
    caches: list[RuntimeCache] = field(default_factory=list)
    watches: list[DependencyWatches] = field(default_factory=list)

    def runtimes(self, watches: DependencyWatches) -> RuntimeCache:
        """Return the runtimes for one controller, whose watches end with the connection to a runtime."""
        home = self.standalone.home
        assert isinstance(home, KubeCluster)
        if self.options.single_cluster:
            return RuntimeCache(SingleCluster(home))
        clients, guards = self.clients, self.guards
        cache = RuntimeCache(clients, lambda kyma: guards.drop("/".join(kyma)), self.caches, clients.confirm)
        self.caches.append(cache)
        self.watches.append(watches)
        self.clients.closing, self.clients.is_watched = self._closing, self._is_watched
        return cache

    def _closing(self, cluster: KubeCluster) -> None:
        for cache in self.caches:
            cache.drop(cluster)
        for watches in self.watches:
            watches.forget(cluster)

    def _is_watched(self, cluster: KubeCluster) -> bool:
        return any(watches.has(cluster) for watches in self.watches)


def _kyma_context(context: OperatorContext, controller: str) -> KymaContext:
    options, home, watches = context.options, context.standalone.home, DependencyWatches()
    assert isinstance(home, RememberingCluster)
    brief = min(_BRIEF, options.intervals_of(controller).busy)
    return KymaContext(
        home=home,
        clock=context.standalone.clock,
        namespace=options.kyma_namespace,
        runtimes=context.runtimes(watches),
        templates=context.templates,
        components=context.components,
        registry=options.registry,
        settings=ControllerSettings(windows=options.windows, restricted=options.restricted),
        catalog=RuntimeCatalog(home, context.templates, options.restricted, brief=brief),
        webhook=RuntimeWebhook(home, options.agent) if options.agent is not None else None,
        single=options.single_cluster,
        intervals=options.intervals_of(controller),
        watches=watches,
        events=context.events.record,
        is_unseen=home.is_unseen,
        marks="manifest" in (options.controllers or CONTROLLERS),
        brief=brief,
    )


def _kyma(context: OperatorContext) -> list[OperatorController]:
    return [KymaController(_kyma_context(context, "kyma"), workers=context.options.workers)]


def _mandatory(context: OperatorContext) -> list[OperatorController]:
    kymas = _kyma_context(context, "mandatory")
    return [MandatoryInstallation(kymas, workers=context.options.workers), MandatoryRemoval(kymas)]


def _manifest(context: OperatorContext) -> list[OperatorController]:
    """Return a controller for each namespace, with workers of its own: Manifests of a tenant hold up no others."""
    options, own = context.options, context.standalone
    modules = ModuleContext(
        own.home,
        own.clock,
        context.runtimes(own.watches),
        ModuleRenderer(RegistryLayers(own), own.transforms),
        options.intervals_of("manifest"),
        own.watches,
        own.events,
    )

    def controller(reconciler: ManifestReconciler, namespace: str, name: str) -> ManifestController:
        return ManifestController(reconciler, namespace, name=name, workers=options.workers, resync=options.resync)

    home = controller(ManifestReconciler(own, modules), options.kyma_namespace, "manifest")
    tenants = context.tenants.items()
    return [home, *(controller(ManifestReconciler(tenant), name, f"manifest-{name}") for name, tenant in tenants)]


def _watcher(context: OperatorContext) -> list[OperatorController]:
    own, options = context.standalone, context.options
    return [WatcherController(own.home, own.clock, options.kyma_namespace, options.intervals_of("watcher"))]


CONTROLLERS: Final[Mapping[str, Callable[[OperatorContext], Sequence[OperatorController]]]] = {
    "kyma": _kyma,
    "mandatory": _mandatory,
    "manifest": _manifest,
    "watcher": _watcher,
}
"""The controllers of the operator by name, in the order in which they start."""


def operator_context(
    options: OperatorOptions,
    reports: GroupReports,
    session: SessionOptions,
    fetch: FetchOptions,
    decided: Decided = lambda ref, event: None,
) -> OperatorContext:
    """Return the context of an operator, of whose decisions `decided` gets each. Nothing is sent.

    Raise ConfigurationError.
    """
    fetch = fetch.with_registry(options.registry)
    guards = RuntimeGuards(options.rate)
    own = open_manifest_context(
        session, fetch, folder=options.folder, secrets=options.secrets, guards=guards, locked=options.shards > 1
    )
    events = EventWriter(own.home, own.clock, own_identity(), decided)
    own = replace(own, events=events.record)
    templates = CatalogCache(own.home, options.kyma_namespace)
    assert isinstance(own.home, KubeCluster)
    own.home.client.transport.guard = RateGuard(options.rate)
    components = ComponentCache(open_registries(fetch), fetch.registry)
    clients = SecretRuntimes(own.home, guards=guards)
    tenants = {name: tenant_context(own, name, options.account, fetch) for name in options.tenants}
    return OperatorContext(options, own, components, templates, reports, events, guards, clients, tenants)


def tenant_context(context: StandaloneContext, namespace: str, account: str, fetch: FetchOptions) -> StandaloneContext:
    """Return the context of a further namespace's Manifests, which install what a ServiceAccount of it may.

    The operator reads and writes the Manifests themselves. Everything that these name is read and written as the
    ServiceAccount, and fetched without the operator's credentials, cache and folders.
    """
    assert isinstance(context.home, KubeCluster)
    own = context.home.client
    connection = as_service_account(own.transport.connection, namespace, account)
    transport = Transport(connection, read_only=own.transport.read_only, guard=own.transport.guard)
    cluster = KubeCluster(Client(transport, own.discovery), unattended=True)
    blobs = BlobFetcher(credentials=no_credentials, access=ChartAccess(ca=fetch.ca), insecure=fetch.insecure)
    return replace(
        context,
        runtimes=AccountCluster(cluster),
        blobs=blobs,
        authenticated=blobs.with_secrets,
        watches=DependencyWatches(),
        folder=None,
        secrets=cluster,
        namespace=namespace,
    )


def no_credentials(registry: str) -> None:
    """Return no credentials for a registry."""


class IdleConnections:
    """Implements `GroupService`: connections to runtimes with nothing to do are closed after a while."""

    def __init__(self, context: OperatorContext) -> None:
        self._context = context
        self._ended = threading.Event()

    def begin(self, wake: Callable[[ObjectRef], bool]) -> None:
        self._ended = threading.Event()
        threading.Thread(target=self._run, args=(self._ended,), name="idle-connections", daemon=True).start()

    def end(self) -> None:
        self._ended.set()

    def _run(self, ended: threading.Event) -> None:
        while not ended.wait(IDLE_SECONDS / 3):
            self._context.clients.close_idle()


def operator_group(
    context: OperatorContext,
    *more: OperatorController,
    services: Sequence[GroupService] = (),
    registry: MetricRegistry | None = None,
) -> ControllerGroup:
    """Return the chosen controllers and `more`, ready to run."""
    options, own = context.options, context.standalone
    registry = registry or MetricRegistry(METRICS)
    if options.purge is not None:
        more = (*more, PurgeController(_kyma_context(context, "kyma"), options.purge, registry))
    names = [name for name in CONTROLLERS if name in (options.controllers or CONTROLLERS)]
    chosen = [reconciliation for name in names for reconciliation in CONTROLLERS[name](context)]
    reports = context.reports

    def finished(reconciliation: Reconciliation) -> None:
        reports.finished(reconciliation)
        context.events.finished(reconciliation)

    services = [context.events, context.guards, *services, IdleConnections(context)]
    if "manifest" in names:
        services.append(_ignored_manifests(context, registry))
    return ControllerGroup(
        own.home,
        own.clock,
        [*chosen, *more],
        replace(reports, finished=finished),
        limits=own.limits,
        services=services,
        shards=options.shards,
    )


def _ignored_manifests(context: OperatorContext, registry: MetricRegistry) -> GroupService:
    home, options = context.standalone.home, context.options
    assert isinstance(home, KubeCluster)
    cluster, namespaces = home, (options.kyma_namespace, *context.tenants)

    def read(cancel: threading.Event) -> Sequence[ObjectRef]:
        kind = served_kind(cluster)
        manifests = cluster.list_outside(kind, namespaces, cancel=cancel) if kind is not None else ()
        return [read_ref(raw) for raw in manifests]

    return IgnoredManifests(read, " and ".join(namespaces), context.reports.log, registry)


def refuse_lifecycle_manager(context: OperatorContext) -> None:
    """Raise RefusedError if a lifecycle-manager works on the control plane, or on that of a single cluster."""
    namespaces = (context.options.kyma_namespace, CONTROL_PLANE_NAMESPACE, KYMA_NAMESPACE)
    own = context.standalone
    require_no_lifecycle_manager(own.home, namespaces, own.clock.now(), threading.Event())
    if context.options.single_cluster:
        require_own_kymas(own.home, context.options.kyma_namespace, threading.Event())


def purge_terms(grace: float, exceptions: str, controllers: Sequence[str], *, single: bool) -> PurgeTerms | None:
    """Return when to purge, None for never; `grace` is in seconds. Raise UsageError for what cannot be meant."""
    if grace <= 0:
        if exceptions:
            raise UsageError("--skip-finalizer-purging-for needs --purge-grace", hint="e.g. --purge-grace 5m")
        return None
    if single:
        raise UsageError("--purge-grace would remove the finalizers of a single cluster's own objects")
    if controllers and "kyma" not in controllers:
        raise UsageError("--purge-grace needs the controller kyma, which deletes Kymas")
    return PurgeTerms(grace, CrdPattern.parse(exceptions))


def read_windows(path: Path) -> WindowPolicy:
    """Return the maintenance policy of a file. Raise ConfigurationError that names file and fault."""
    try:
        policy = read_policy(path.read_bytes())
    except OSError as error:
        raise ConfigurationError(f"--maintenance-policy {path} cannot be read: {error_reason(error)}") from error
    if isinstance(policy, UnreadablePolicy):
        raise ConfigurationError(f"--maintenance-policy {path} is invalid: {policy.reason}")
    return policy
