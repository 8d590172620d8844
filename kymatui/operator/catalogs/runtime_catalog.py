"""The copies of CRDs and of the catalog on runtimes, written only where they differ."""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Protocol
from weakref import WeakKeyDictionary

from msgspec import Struct, field

from kymatui.domain.kubernetes.managed_fields import CATALOG_SYNC
from kymatui.domain.kubernetes.object_meta import LABEL_MANAGED_BY, OPERATOR, read_ref
from kymatui.domain.kubernetes.refs import CRD, GroupVersionKind, ObjectRef
from kymatui.domain.kyma.kymas import Kyma
from kymatui.domain.kyma.template_index import TemplateIndex, index_templates
from kymatui.domain.remote.catalog_sync import CatalogWrites, RuntimeCopies, catalog_writes, plan_sync
from kymatui.engine.cluster.concurrency import run_for_each
from kymatui.engine.cluster.ports import OPERATOR_FIELD_MANAGER, Cluster, Object
from kymatui.errors import CancelledError, KymatuiError, NotFoundError
from kymatui.operator.framework.applied_copies import AppliedCopies

TEMPLATE: Final = GroupVersionKind(OPERATOR, "v1beta2", "ModuleTemplate")
RELEASE_META: Final = GroupVersionKind(OPERATOR, "v1beta2", "ModuleReleaseMeta")
_OLDEST: Final = 300.0
"""Seconds after which the catalog is listed again although no change was seen."""


class CatalogCache:
    """The catalog in one namespace; thread-safe."""

    def __init__(self, home: Cluster, namespace: str) -> None:
        self._home = home
        self._namespace = namespace
        self._lock = threading.Lock()
        self._known: TemplateIndex | None = None
        self._at = 0.0

    def changed(self) -> None:
        with self._lock:
            self._known = None

    def read(self, cancel: threading.Event) -> TemplateIndex:
        """Return the catalog. Raises the errors of the cluster."""
        with self._lock:
            if self._known is None or time.monotonic() - self._at > _OLDEST:
                at = time.monotonic()
                templates = self._home.list(TEMPLATE, self._namespace, cancel=cancel)
                metas = self._home.list(RELEASE_META, self._namespace, cancel=cancel)
                self._known, self._at = index_templates(templates, metas, self._namespace), at
            return self._known


SYNCED_CRDS: Final = tuple(f"{plural}.{OPERATOR}" for plural in ("kymas", "moduletemplates", "modulereleasemetas"))
SYNCED_KINDS: Final = (GroupVersionKind(OPERATOR, "v1beta2", "Kyma"), TEMPLATE, RELEASE_META)
_FRESH: Final = 5.0  # seconds
_WIDTH: Final = 4  # several runtimes are synced at once


class CatalogReader(Protocol):
    """The control plane's catalog."""

    def read(self, cancel: threading.Event) -> TemplateIndex: ...


class SyncedCopies(Struct):
    """When a runtime last had all copies, in seconds of a monotonic clock, and what they were made from.

    `kyma` is the uid of the Kyma: the deletion of an earlier one has deleted the copies.
    """

    kyma: str
    crds_at: float = -math.inf
    catalog_at: float = -math.inf
    catalog: TemplateIndex | None = None
    labels: Mapping[str, str] = field(default_factory=dict)


class RuntimeCatalog:
    """The catalog of a runtime: conditions CRDsSync and ModuleCatalog; thread-safe for different Kymas.

    `width` is the number of parallel requests to one runtime. What a runtime had complete less than `brief` seconds ago
    is not read again: an installation wakes its Kyma with each of its steps.
    """

    def __init__(
        self,
        home: Cluster,
        catalog: CatalogReader,
        restricted: frozenset[str] = frozenset(),
        *,
        width: int = _WIDTH,
        brief: float = 0.0,
    ) -> None:
        self._home = home
        self._brief = brief
        self._synced: WeakKeyDictionary[Cluster, SyncedCopies] = WeakKeyDictionary()
        self._catalog = catalog
        self._restricted = restricted
        self._width = width
        self._lock = threading.Lock()
        self._reading = threading.Lock()  # of CRDs: one Kyma reads, the others wait for its answer
        self._copies = AppliedCopies()
        self._crds: dict[str, tuple[float, dict[str, Any]]] = {}

    def sync_crds(self, kyma: Kyma, runtime: Cluster, cancel: threading.Event) -> None:
        """Copy the three CRDs; after a failure the others are copied all the same. Raise the first failure."""
        known, now = self._known(kyma, runtime), time.monotonic()
        if now - known.crds_at < self._brief:
            return

        def sync(name: str) -> None:
            self._copies.ensure(runtime, self._crd(name, cancel), OPERATOR_FIELD_MANAGER, cancel)

        _each(SYNCED_CRDS, sync)
        if _serves_copies(runtime):
            known.crds_at = now

    def _known(self, kyma: Kyma, runtime: Cluster) -> SyncedCopies:
        with self._lock:
            known = self._synced.get(runtime)
            if known is None or known.kyma != kyma.meta.uid:
                known = self._synced[runtime] = SyncedCopies(kyma.meta.uid)
            return known

    def _crd(self, name: str, cancel: threading.Event) -> dict[str, Any]:
        """Return the copy of a CRD, read from the control plane at most once in 5 seconds."""
        with self._reading:
            read, body = self._crds.get(name, (float("-inf"), {}))
            now = time.monotonic()
            if now - read < _FRESH:
                return body
            original = self._home.get(ObjectRef(CRD, "", name), cancel=cancel)
            if original is None:
                raise NotFoundError(f"{self._home.name} has no CRD {name}", status=404)
            self._crds[name] = now, _crd_copy(original)
            return self._crds[name][1]

    def sync_catalog(self, kyma: Kyma, runtime: Cluster, cancel: threading.Event) -> None:
        """Copy what this Kyma may have, and delete earlier copies. Raise the first failure."""
        known, now, catalog = self._known(kyma, runtime), time.monotonic(), self._catalog.read(cancel)
        is_same = known.catalog is catalog and known.labels == kyma.meta.labels
        if is_same and now - known.catalog_at < self._brief:
            return
        templates, metas = (runtime.list(kind, cancel=cancel) for kind in (TEMPLATE, RELEASE_META))
        writes = catalog_writes(plan_sync(kyma, catalog, RuntimeCopies(metas, templates), self._restricted))
        live = {read_ref(raw): raw for raw in (*templates, *metas)}
        self._write(runtime, writes, live, cancel)
        known.catalog_at, known.catalog, known.labels = now, catalog, kyma.meta.labels

    def _write(
        self, runtime: Cluster, writes: CatalogWrites, live: Mapping[ObjectRef, Object], cancel: threading.Event
    ) -> None:
        errors: list[KymatuiError] = []

        def apply(body: Mapping[str, Any]) -> None:
            with _collected(errors):
                self._copies.apply(runtime, body, live.get(read_ref(body)), CATALOG_SYNC, cancel)

        def delete(ref: ObjectRef) -> None:
            with _collected(errors), contextlib.suppress(NotFoundError):
                # deleted meanwhile, which is what the sync wants
                self._copies.forget(runtime, ref)
                if not live[ref]["metadata"].get("deletionTimestamp"):
                    runtime.delete(ref, uid=str(live[ref]["metadata"].get("uid") or ""), cancel=cancel)

        run_for_each(writes.applied, apply, cancel, self._width)
        run_for_each(writes.deleted, delete, cancel, self._width)
        if errors:
            raise errors[0]


def _serves_copies(runtime: Cluster) -> bool:
    """Return whether a runtime serves the kinds of the CRDs; what was read before their creation is read again."""
    for _ in range(2):
        if all(runtime.kind(kind) is not None for kind in SYNCED_KINDS):
            return True
        runtime.forget_kinds()
    return False


def _crd_copy(original: Object) -> dict[str, Any]:
    """Return the CRD for a runtime: without the control plane's conversion webhook."""
    spec = {**original["spec"], "conversion": {"strategy": "None"}}
    metadata = {"name": original["metadata"]["name"], "labels": {LABEL_MANAGED_BY: "kyma"}}
    return {"apiVersion": CRD.api_version, "kind": CRD.kind, "metadata": metadata, "spec": spec}


def _each(names: tuple[str, ...], work: Callable[[str], None]) -> None:
    errors: list[KymatuiError] = []
    for name in names:
        with _collected(errors):
            work(name)
    if errors:
        raise errors[0]


@contextlib.contextmanager
def _collected(errors: list[KymatuiError]) -> Iterator[None]:
    try:
        yield
    except CancelledError:
        raise
    except KymatuiError as error:  # one object that is refused must not keep the others from being copied
        errors.append(error)
