"""The copies of CRDs and of the catalog on runtimes, written only where they differ."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Protocol

from kymatui.domain.kubernetes.managed_fields import CATALOG_SYNC
from kymatui.domain.kubernetes.object_meta import LABEL_MANAGED_BY, OPERATOR, read_ref
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.kyma.kymas import Kyma
from kymatui.domain.kyma.template_index import TemplateIndex
from kymatui.domain.remote.catalog_sync import RuntimeCopies, plan_sync
from kymatui.domain.remote.catalog_writes import CatalogWrites, catalog_writes
from kymatui.engine.cluster.concurrency import run_for_each
from kymatui.engine.cluster.ports import OPERATOR_FIELD_MANAGER, Cluster, Object
from kymatui.engine.controllers.catalog.catalog_cache import RELEASE_META, TEMPLATE
from kymatui.engine.controllers.runtime.applied_copies import AppliedCopies
from kymatui.errors import CancelledError, KymatuiError, NotFoundError

CRD: Final = GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
SYNCED_CRDS: Final = tuple(f"{plural}.{OPERATOR}" for plural in ("kymas", "moduletemplates", "modulereleasemetas"))
_FRESH: Final = 5.0  # seconds
_WIDTH: Final = 4  # several runtimes are synced at once


class CatalogReader(Protocol):
    """The control plane's catalog."""

    def read(self, cancel: threading.Event) -> TemplateIndex: ...


class RuntimeCatalog:
    """Implements `RuntimeCatalogSync`; thread-safe for different Kymas.

    `width` is the number of parallel requests to one runtime.
    """

    def __init__(
        self, home: Cluster, catalog: CatalogReader, restricted: frozenset[str] = frozenset(), *, width: int = _WIDTH
    ) -> None:
        self._home = home
        self._catalog = catalog
        self._restricted = restricted
        self._width = width
        self._lock = threading.Lock()
        self._copies = AppliedCopies()
        self._crds: dict[str, tuple[float, dict[str, Any]]] = {}

    def sync_crds(self, kyma: Kyma, runtime: Cluster, cancel: threading.Event) -> None:
        """Copy the three CRDs; after a failure the others are copied all the same. Raise the first failure."""

        def sync(name: str) -> None:
            body, live = self._crd(name, cancel), runtime.get(ObjectRef(CRD, "", name), cancel=cancel)
            if self._copies.apply(runtime, body, live, OPERATOR_FIELD_MANAGER, cancel) and live is None:
                runtime.forget_kinds()

        _each(SYNCED_CRDS, sync)

    def _crd(self, name: str, cancel: threading.Event) -> dict[str, Any]:
        """Return the copy of a CRD, read from the control plane at most once in 5 seconds."""
        with self._lock:
            read, body = self._crds.get(name, (float("-inf"), {}))
        now = time.monotonic()
        if now - read < _FRESH:
            return body
        original = self._home.get(ObjectRef(CRD, "", name), cancel=cancel)
        if original is None:
            raise NotFoundError(f"{self._home.name} has no CRD {name}", status=404)
        body = _crd_copy(original)
        with self._lock:
            self._crds[name] = now, body
        return body

    def sync_catalog(self, kyma: Kyma, runtime: Cluster, cancel: threading.Event) -> None:
        """Copy what this Kyma may have, and delete earlier copies. Raise the first failure."""
        templates, metas = (runtime.list(kind, cancel=cancel) for kind in (TEMPLATE, RELEASE_META))
        found = self._catalog.read(cancel)
        writes = catalog_writes(plan_sync(kyma, found, RuntimeCopies(metas, templates), self._restricted))
        live = {read_ref(raw): raw for raw in (*templates, *metas)}
        self._write(runtime, writes, live, cancel)

    def _write(
        self,
        runtime: Cluster,
        writes: CatalogWrites,
        live: Mapping[ObjectRef, Object],
        cancel: threading.Event,
    ) -> None:
        errors: list[KymatuiError] = []

        def apply(body: Mapping[str, Any]) -> None:
            with _collected(errors):
                self._copies.apply(runtime, body, live.get(read_ref(body)), CATALOG_SYNC, cancel)

        def delete(ref: ObjectRef) -> None:
            with _collected(errors), contextlib.suppress(NotFoundError):
                self._copies.forget(runtime, ref)
                if not live[ref]["metadata"].get("deletionTimestamp"):
                    runtime.delete(ref, uid=str(live[ref]["metadata"].get("uid") or ""), cancel=cancel)

        run_for_each(writes.applied, apply, cancel, self._width)
        run_for_each(writes.deleted, delete, cancel, self._width)
        if errors:
            raise errors[0]


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
    except KymatuiError as error:
        errors.append(error)
