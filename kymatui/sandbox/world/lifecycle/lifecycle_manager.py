"""lifecycle-manager of the sample world: the operator's controllers of Kymas, mandatory modules and Manifests.

It works under lifecycle-manager's name, and without a pause between two steps of one reconciliation.
"""

from __future__ import annotations

import io
import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from kymatui.domain.kubernetes.object_meta import LABEL_KYMA_NAME, LABEL_MODULE_NAME
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.kyma_keeper import ELECTION
from kymatui.domain.kyma.kymas import Kyma
from kymatui.domain.kyma.maintenance_windows import ControllerSettings, WindowPolicy, read_policy_document
from kymatui.domain.kyma.manifests import ImageSpec, Manifest
from kymatui.domain.ownership import LIFECYCLE_APPLIER
from kymatui.domain.remote.kyma_sync import ANNOTATION_OWNED_BY
from kymatui.engine.bundles.tar_archives import read_tar
from kymatui.engine.bundles.tar_archives import unpack as unpack_gzip
from kymatui.engine.cluster.ports import Cluster
from kymatui.engine.dryrun.field_takeover import CREATOR, LIFECYCLE_MANAGER
from kymatui.errors import KymatuiError, RegistryError, SourceError
from kymatui.helm.yaml.errors import YamlError
from kymatui.helm.yaml.reading import documents, load_exactly
from kymatui.json_input import read_json
from kymatui.ocm import ComponentDescriptor, read_descriptor
from kymatui.operator.catalogs.runtime_catalog import CatalogCache, RuntimeCatalog
from kymatui.operator.framework.controller import KindWatch, OperatorController, RequeueIntervals
from kymatui.operator.framework.runtime_cache import RuntimeCache, RuntimeClusters, SingleCluster
from kymatui.operator.kymas.kyma_context import KymaContext
from kymatui.operator.kymas.kyma_reconciler import KymaController
from kymatui.operator.kymas.mandatory_modules import MandatoryInstallation, MandatoryRemoval
from kymatui.operator.manifests.controller import ManifestController, ManifestReconciler
from kymatui.operator.manifests.module_pass import ModuleContext
from kymatui.operator.manifests.resource_rendering import ModuleRenderer
from kymatui.sandbox.apimachinery.clock import SandboxClock, micro_timestamp
from kymatui.sandbox.apimachinery.local_client import LocalClient
from kymatui.sandbox.apimachinery.object_store import Key, StoreChange, Stored
from kymatui.sandbox.controllers.controller_manager import ControllerManager
from kymatui.sandbox.controllers.framework.store_reader import Obj, StoreReader
from kymatui.sandbox.controllers.framework.work_queue import ControllerQueue
from kymatui.sandbox.registry.registry_routes import RegistryRefusal
from kymatui.sandbox.registry.registry_store import RegistryStore
from kymatui.sandbox.world.lifecycle.local_cluster import LocalCluster
from kymatui.sandbox.world.lifecycle.module_operator import WORKLOADS
from kymatui.sandbox.world.modules.module_announcement import KYMAS, MANIFESTS
from kymatui.sandbox.world.modules.module_packages import BASE
from kymatui.sandbox.world.modules.sample_module import SampleModule
from kymatui.sandbox.world.modules.sample_modules import MODULES
from kymatui.tar_entries import TarKind, read_content, read_entries

MAINTENANCE_POLICY: Final[dict[str, Any]] = {
    "rules": [
        {
            "match": {"region": "^(eu|europe|westeurope)"},
            "windows": [{"days": ["Sat"], "begin": "21:00:00+00:00", "end": "00:00:00+00:00"}],
        },
        {
            "match": {"plan": "^trial$"},
            "windows": [{"days": ["Mon", "Wed", "Fri"], "begin": "02:00:00+00:00", "end": "04:00:00+00:00"}],
        },
    ],
    "default": {"days": ["Sun"], "begin": "04:00:00+00:00", "end": "08:00:00+00:00"},
}
_LONGEST_WINDOW: Final = 4 * 3600.0
"""Seconds that must be left of a window: no window is long enough, so the sample world is the same on every day."""
_INTERVALS: Final = RequeueIntervals(busy=300.0, warning=300.0, error=300.0, soon=0.0)
"""Whatever changes wakes the controllers, so that nothing has to be polled."""


class LifecycleManager:
    """The running controllers on a control plane.

    `runtimes` are the existing runtimes by the names of their Kymas; other Kymas are left alone. None: the control
    plane is its own runtime.
    """

    def __init__(
        self,
        controllers: ControllerManager,
        store: RegistryStore,
        namespace: str,
        runtimes: Mapping[str, ControllerManager] | None = None,
    ) -> None:
        home = LocalCluster("kcp", controllers.context.client)
        context = _kyma_context(home, controllers, store, namespace, runtimes)
        modules = _module_context(context, controllers, store, runtimes)
        observer = self._observer = controllers.context.observer
        self._runtimes = runtimes
        self._namespace = namespace
        self._kymas = HostedController(KymaController(context, workers=1), home, observer, self._is_kyma_concerned)
        controller = ManifestController(ManifestReconciler(modules=modules), namespace, workers=1)
        self._manifests = HostedController(controller, home, observer, self._is_manifest_concerned)
        mandatory = MandatoryInstallation(context, workers=1)
        controllers.add(self._kymas)
        controllers.add(HostedController(mandatory, home, observer, self._is_kyma_concerned))
        controllers.add(HostedController(MandatoryRemoval(context), home, observer))
        controllers.add(self._manifests)
        controllers.add(ManagerLease(controllers.context.client.named(LIFECYCLE_MANAGER), namespace))
        for kyma, runtime in ({"": controllers} if runtimes is None else runtimes).items():
            runtime.add(RuntimeChanges(self, kyma))

    def kyma_changed(self, kyma: str) -> None:
        """Reconcile a Kyma after a change of the one in its runtime ("" for the only runtime)."""
        if self._runtimes is not None:
            self._kymas.wake((self._namespace, kyma))

    def object_changed(self, change: StoreChange) -> None:
        """Reconcile the Manifest that applied an object."""
        if ANNOTATION_OWNED_BY.encode() not in change.current.data:
            return
        owner = (change.current.body()["metadata"].get("annotations") or {}).get(ANNOTATION_OWNED_BY, "")
        namespace, _, name = owner.partition("/")
        if name:
            self._manifests.wake((namespace, name), DELAY)

    def resource_changed(self, kyma: str, module: str) -> None:
        """Reconcile a module's Manifest after a change of its CRs in a runtime ("" for the only one)."""
        for stored in self._observer.store.walk(MANIFESTS, self._namespace):
            if stored.labels.get(LABEL_MODULE_NAME) == module and kyma in ("", stored.labels.get(LABEL_KYMA_NAME)):
                self._manifests.wake(stored.key, DELAY)

    def _is_kyma_concerned(self, key: Key) -> bool:
        return self._runtimes is None or key[1] in self._runtimes

    def _is_manifest_concerned(self, key: Key) -> bool:
        stored = self._observer.store.get(MANIFESTS, *key) if self._runtimes is not None else None
        return stored is None or stored.labels.get(LABEL_KYMA_NAME, "") in (self._runtimes or {})


def _module_context(
    context: KymaContext,
    controllers: ControllerManager,
    store: RegistryStore,
    runtimes: Mapping[str, ControllerManager] | None,
) -> ModuleContext:
    """Return the context of Manifests, whose controller has field managers of its own in runtimes."""
    clusters = _clusters(controllers, runtimes, applier=LIFECYCLE_APPLIER, creator=CREATOR)
    renderer = ModuleRenderer(StoredLayers(store))
    return ModuleContext(context.home, context.clock, RuntimeCache(clusters), renderer, context.intervals)


def _kyma_context(
    home: LocalCluster,
    controllers: ControllerManager,
    store: RegistryStore,
    namespace: str,
    runtimes: Mapping[str, ControllerManager] | None,
) -> KymaContext:
    templates = CatalogCache(home, namespace)
    policy = read_policy_document(MAINTENANCE_POLICY)
    assert isinstance(policy, WindowPolicy)
    return KymaContext(
        home=home,
        clock=LocalClock(controllers.context.client.clock),
        namespace=namespace,
        runtimes=RuntimeCache(_clusters(controllers, runtimes)),
        templates=templates,
        components=RegistryComponents(store),
        settings=ControllerSettings(windows=policy, least=_LONGEST_WINDOW),
        catalog=RuntimeCatalog(home, templates, width=1),
        webhook=PreparedWebhook(),
        single=runtimes is None,
        intervals=_INTERVALS,
    )


def _clusters(
    controllers: ControllerManager,
    runtimes: Mapping[str, ControllerManager] | None,
    *,
    applier: str = LIFECYCLE_MANAGER,
    creator: str = LIFECYCLE_MANAGER,
) -> RuntimeClusters:
    """Return the runtimes with these field managers; without any, the control plane is the only one."""

    def cluster(name: str, manager: ControllerManager) -> LocalCluster:
        return LocalCluster(name, manager.context.client, applier=applier, creator=creator)

    if runtimes is None:
        return SingleCluster(cluster("kcp", controllers))
    return LocalRuntimes({name: cluster(name, manager) for name, manager in runtimes.items()})


class LocalRuntimes:
    """Implements `RuntimeClusters` for the clusters of this process."""

    def __init__(self, clusters: Mapping[str, Cluster]) -> None:
        self._clusters = clusters

    def runtime(self, kyma: str, namespace: str, cancel: threading.Event | None = None) -> Cluster | None:
        return self._clusters.get(kyma)


class LocalClock:
    """Implements the engine's `Clock` with the sandbox's time."""

    def __init__(self, clock: SandboxClock) -> None:
        self._clock = clock

    def now(self) -> float:
        return self._clock.now()

    def sleep(self, seconds: float, cancel: threading.Event | None = None) -> None:
        time.sleep(seconds)


class PreparedWebhook:
    """Implements `RuntimeWebhookSync` for runtimes whose watcher agent the sample world itself has created."""

    def sync_webhook(self, kyma: Kyma, runtime: Cluster, cancel: threading.Event) -> bool:
        return True

    def remove_webhook(self, kyma: Kyma, runtime: Cluster | None, cancel: threading.Event) -> bool:
        return False

    def forget_webhook(self, kyma: str) -> None:
        """Do nothing: nothing is kept."""


LEASES: Final = "leases.coordination.k8s.io"
HOLDER: Final = "klm-controller-manager"
_DURATION: Final = 180
_RENEWED_EVERY: Final = 60.0


class ManagerLease:
    """Renews the Lease in a namespace, with lifecycle-manager's duration of 180 seconds."""

    def __init__(self, client: LocalClient, namespace: str) -> None:
        self.name = "lifecycle-manager/lease"
        self._client = client
        self._key = (namespace, ELECTION)

    def watch(self, queue: ControllerQueue) -> None:
        queue.add(self._key)

    def reconcile(self, key: Key) -> float | None:
        namespace, name = key
        spec = {
            "holderIdentity": HOLDER,
            "leaseDurationSeconds": _DURATION,
            "renewTime": micro_timestamp(self._client.clock.now()),
        }
        body: dict[str, Any] = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": name, "namespace": namespace},
            "spec": spec,
        }
        self._client.patch(LEASES, name, body, namespace=namespace, type="apply", force=True)
        return _RENEWED_EVERY


class RegistryComponents:
    """Implements `Components` of the Kyma controller; each descriptor is read once."""

    def __init__(self, store: RegistryStore) -> None:
        self._store = store
        self._known: dict[str, ComponentDescriptor] = {}  # by layer digest

    def component(self, name: str, version: str) -> ComponentDescriptor:
        """Return the descriptor of a version. Raise RegistryError, DescriptorError."""
        repository = f"{BASE}/component-descriptors/{name}"
        try:
            manifest = self._store.manifest(repository, version)
            config = read_json(self._store.blob(repository, manifest.document["config"]["digest"]))
            layer = config["componentDescriptorLayer"]["digest"]
            if layer not in self._known:
                self._known[layer] = read_descriptor(_unpacked(self._store.blob(repository, layer)))
        except RegistryRefusal as refusal:
            raise RegistryError(f"component {name}:{version} cannot be read: {refusal.message}") from refusal
        except (ValueError, KeyError, TypeError, SourceError, YamlError) as error:
            raise RegistryError(f"component {name}:{version} is invalid: {error}") from error
        return self._known[layer]


def _unpacked(content: bytes) -> Any:
    return load_exactly(read_tar(content, "the descriptor's layer")["component-descriptor.yaml"])


# The changes of a runtime that wake lifecycle-manager, as its own watches and its watcher agent do.


class RuntimeChanges:
    """Forwards changes of Kyma, workloads and module CRs; a controller that reconciles nothing itself."""

    def __init__(self, manager: LifecycleManager, kyma: str) -> None:
        self.name = f"lifecycle-manager/changes/{kyma}"
        self._manager = manager
        self._kyma = kyma

    def watch(self, queue: ControllerQueue) -> None:
        queue.on_change(KYMAS, self._kyma_changed)
        for resource in WORKLOADS.values():
            queue.on_change(resource, self._manager.object_changed)
        for module in MODULES:
            queue.on_change(module.resource.resource, partial(self._resource_changed, module))

    def _kyma_changed(self, change: StoreChange) -> None:
        if not changes_status_only(change):
            self._manager.kyma_changed(self._kyma)

    def _resource_changed(self, module: SampleModule, change: StoreChange) -> None:
        """Forward a deletion, which a module's removal waits for, and each change where the CR's state counts."""
        if change.kind == "DELETED" or module.rules:
            self._manager.resource_changed(self._kyma, module.name)

    def reconcile(self, key: Key) -> float | None:
        return None


# The layers of modules from the sandbox's own registry, read without a socket.


class StoredLayers:
    """Implements `LayerReader` of the controller of Manifests."""

    def __init__(self, store: RegistryStore) -> None:
        self._store = store

    def objects(self, manifest: Manifest) -> Sequence[Obj]:
        source = manifest.installs[0].source
        assert isinstance(source, ImageSpec)
        base = source.repo.rpartition("://")[2]
        repository = f"{base.partition('/')[2]}/component-descriptors/{source.name}".lstrip("/")
        try:
            return parse(unpack(self._store.blob(repository, source.ref), source.type))
        except RegistryRefusal as refusal:
            raise RegistryError(f"layer {source.ref} of {repository} cannot be read: {refusal.message}") from refusal
        except YamlError as error:
            raise SourceError(f"layer {source.ref} of {repository} is invalid: {error.summary}") from None
        except ValueError as error:
            raise SourceError(f"layer {source.ref} of {repository} is invalid: {error}") from error


def unpack(content: bytes, source_type: str) -> bytes:
    """Return the manifest's text: the blob itself, or the first file of a tar archive."""
    if source_type != "oci-dir":
        return content
    archive = io.BytesIO(unpack_gzip(content, "the layer"))
    for entry in read_entries(archive):
        if entry.kind is TarKind.FILE and not entry.name.rpartition("/")[2].startswith("._"):
            return read_content(archive, entry)
    raise ValueError("the layer holds no file")


def parse(text: bytes) -> list[Obj]:
    """Return the objects of a multi-document YAML; lists are flattened, duplicates dropped."""
    objects: dict[tuple[str, ...], Obj] = {}
    for document in documents(text, keeps_integers=True):
        is_list = isinstance(document, dict) and document.get("kind") == "List"
        for obj in document.get("items", []) if is_list else [document]:
            if isinstance(obj, dict) and "kind" in obj:
                metadata = obj.get("metadata") or {}
                identity = (obj["apiVersion"], obj["kind"], metadata.get("namespace", ""), metadata.get("name", ""))
                objects.setdefault(identity, obj)
    return list(objects.values())


# A controller of the operator as a controller of the sandbox: same reconciliation, the sandbox's queue and clock.


log = logging.getLogger(__name__)
DELAY = 0.05
"""Seconds in which changes of the objects that an object depends on are collected for one reconciliation."""
_WRITTEN_ALWAYS = ("resourceVersion", "managedFields")


class HostedController:
    """Runs an `OperatorController` without threads; `concerns` tells whether it has to do with an object.

    The controller's own `begin` is not called: it would open streams to runtimes. `wake` queues an object after a
    change on a runtime.
    """

    def __init__(
        self,
        controller: OperatorController,
        cluster: LocalCluster,
        observer: StoreReader,
        concerns: Callable[[Key], bool] = lambda _: True,
    ) -> None:
        self.name = f"lifecycle-manager/{controller.name}"
        self._controller = controller
        self._cluster = cluster
        self._observer = observer
        self._concerns = concerns
        self._watches = tuple(controller.watches())
        self._kind, self._namespace = next(
            (watch.kind, watch.namespace or None) for watch in self._watches if watch.listed
        )
        self._failures: dict[Key, int] = {}
        self._cancel = threading.Event()
        self._queue: ControllerQueue | None = None

    def watch(self, queue: ControllerQueue) -> None:
        self._queue = queue
        for watch in self._watches:
            self._follow(watch, queue)
        for key in self._listed():
            self.wake(key)

    def _follow(self, watched: KindWatch, queue: ControllerQueue) -> None:
        own = watched.kind == self._kind

        def changed(change: StoreChange) -> None:
            if watched.namespace not in ("", change.current.namespace) or (own and changes_status_only(change)):
                return
            for key in self._keys(watched, change.current):
                self.wake(key, 0.0 if own else DELAY)

        queue.on_change(self._cluster.resource(watched.kind), changed)

    def _keys(self, watched: KindWatch, changed: Stored) -> Iterable[Key]:
        """Return the objects to reconcile after a change of one on which they depend, or of themselves."""
        ref = ObjectRef(watched.kind, *changed.key)
        if watched.owner is not None:
            keys: Iterable[ObjectRef] | None = watched.owner(ref, changed.labels.get(watched.label, ""))
        else:
            keys = watched.keys(ref)
        return self._listed() if keys is None else [(key.namespace, key.name) for key in keys]

    def _listed(self) -> list[Key]:
        """Return all objects of the controller's own kind."""
        return self._observer.keys(self._cluster.resource(self._kind), self._namespace)

    def wake(self, key: Key, after: float = 0.0) -> None:
        """Queue an object after some seconds, if the controller has to do with it."""
        if self._queue is not None and self._namespace in (None, key[0]) and self._concerns(key):
            self._queue.add(key, after)

    def reconcile(self, key: Key) -> float | None:
        try:
            again = self._controller.reconcile(ObjectRef(self._kind, *key), self._cancel)
        except KymatuiError as error:
            return self._delay(key, error)
        self._failures.pop(key, None)
        if again is not None:
            return again
        exists = self._observer.get(self._cluster.resource(self._kind), key) is not None
        return self._controller.resync if exists else None

    def _delay(self, key: Key, error: KymatuiError) -> float:
        """Return the seconds until the next try, doubled with each failure."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        log.debug("%s on %s: %s", self.name, key, error)
        return self._controller.intervals.backoff.delay(failures)


def changes_status_only(change: StoreChange) -> bool:
    """Return whether an update left all but the status as it was: the controllers write that themselves."""
    if change.kind != "MODIFIED" or change.previous is None:
        return False
    return _without_status(change.previous) == _without_status(change.current)


def _without_status(stored: Stored) -> dict[str, Any]:
    body = stored.body()
    body.pop("status", None)
    metadata = {name: value for name, value in body["metadata"].items() if name not in _WRITTEN_ALWAYS}
    return {**body, "metadata": metadata}
