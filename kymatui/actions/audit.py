"""Looking at what modules consist of, for an audit: by reading only, and of Secrets never more than their metadata."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Protocol

from msgspec.structs import replace

from kymatui.actions.session import Session
from kymatui.domain.audit.findings import AuditKind, AuditScope, Inspection, InstallationRecord, InventoryOwner
from kymatui.domain.audit.fleet_rules import unreachable_finding
from kymatui.domain.audit.ignores import IgnoreEntry
from kymatui.domain.audit.report import AuditReport, audit, audit_catalog, audit_runtime, has_no_modules, judge_findings
from kymatui.domain.audit.state_rules import unread_findings
from kymatui.domain.catalog.catalog import build_catalog
from kymatui.domain.catalog.rows import Catalog, ModuleRow
from kymatui.domain.installed import RecordedInstallation, is_deleted_elsewhere, read_installations
from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.kyma.kymas import read_kyma
from kymatui.domain.kyma.manifests import Manifest, read_manifest
from kymatui.domain.remote.runtime_pair import RuntimePair
from kymatui.domain.remote.watcher_chains import WatcherChain
from kymatui.domain.rights import MissingPermission
from kymatui.domain.snapshot.cluster_index import INVENTORY_FEED, RELEASE_FEED
from kymatui.domain.snapshot.missing_lists import gap_of
from kymatui.domain.snapshot.snapshots import Object, ReadCache, Snapshot
from kymatui.engine.cluster.concurrency import run_for_each
from kymatui.engine.cluster.ports import Cluster
from kymatui.errors import ClusterError, ConfigurationError, KymatuiError, NotFoundError, UnauthorizedError

_SECRETIVE: Final = frozenset({("", "Secret")})
_MOST_OBJECTS: Final = 5000  # objects that are read, each with a request; the others are reported as unread


class AuditCluster(Cluster, Protocol):
    """A cluster that sends names, labels and field managers without the rest."""

    def get_metadata(self, ref: ObjectRef) -> Object | None:
        """Return the metadata of one object; None where it is not there."""


def inspect_modules(
    cluster: AuditCluster,
    snapshot: Snapshot,
    catalog: Catalog,
    *,
    objects: bool = True,
    cancel: threading.Event | None = None,
) -> Inspection:
    """Read all that the catalog lacks; objects that may not be read are reported and fail nothing.

    Takes one GET an object; without `objects` only the accounts of what is installed are read, in one list. Raises
    CancelledError.
    """
    inspector = _Inspector(cluster, snapshot, catalog, cancel or threading.Event())
    return inspector.run() if objects else inspector.accounts()


class _Inspector:
    def __init__(self, cluster: AuditCluster, snapshot: Snapshot, catalog: Catalog, cancel: threading.Event) -> None:
        self._cluster = cluster
        self._cancel = cancel
        self._snapshot = snapshot
        self._seen = catalog
        self._unread: dict[ObjectRef, str] = {}
        self._refused: dict[tuple[GroupVersionKind, str], str] = {}

    def run(self) -> Inspection:
        inspection = self.accounts()
        refs = list(
            dict.fromkeys(
                ref for installation in inspection.installations if not installation.unread for ref in installation.refs
            )
        )
        return replace(
            inspection,
            objects=self._objects(refs[:_MOST_OBJECTS]),
            unread={**self._unread, **dict.fromkeys(refs[_MOST_OBJECTS:], "there are too many objects")},
            lacking=tuple(self._lacking()),
        )

    def accounts(self) -> Inspection:
        """Return the records of who installed what."""
        snapshot, rows = self._snapshot, (*self._seen.rows, *self._seen.releases)
        known = read_installations(snapshot.inventories, snapshot.releases)
        releases = frozenset(f"{entry.namespace}/{entry.name}" for entry in known if entry.is_chart)
        sets = frozenset(installation.owner.name for installation in known if not installation.is_chart)
        recorded = (_record(row, row.installation) for row in rows if row.installation is not None)
        return Inspection(
            (*recorded, *self._manifests()),
            sets=sets if _is_listed(snapshot, INVENTORY_FEED) else None,
            releases=releases if all(_is_listed(snapshot, feed) for feed in (RELEASE_FEED, INVENTORY_FEED)) else None,
        )

    # accounts

    def _manifests(self) -> Iterator[InstallationRecord]:
        """Yield the Manifests of the modules in the catalog; a control plane also has those of every runtime."""
        rows = {row.manifest: row for row in self._seen.rows if row.manifest is not None}
        for raw in self._snapshot.manifests:
            manifest = read_manifest(raw)
            if isinstance(manifest, Manifest) and manifest.ref in rows and not manifest.meta.deleting:
                refs = tuple(ref for ref in manifest.synced if ref.kind.kind and ref.name)
                row = rows[manifest.ref]
                yield InstallationRecord(row.name, InventoryOwner.KEEPER, manifest.ref, refs, keeper=row.keeper)

    # objects

    def _objects(self, refs: list[ObjectRef]) -> Mapping[ObjectRef, Object | None]:
        objects = run_for_each(refs, self._object, self._cancel)
        return {ref: raw for ref, raw in zip(refs, objects, strict=True) if ref not in self._unread}

    def _object(self, ref: ObjectRef) -> Object | None:
        location = ref.kind, ref.namespace
        if location in self._refused:
            self._unread[ref] = self._refused[location]
            return None
        is_secret = (ref.kind.group, ref.kind.kind) in _SECRETIVE
        try:
            return self._cluster.get_metadata(ref) if is_secret else self._cluster.get(ref)
        except ClusterError as error:
            self._unread[ref] = str(error)
            if error.status == 403:  # others of this kind there would be refused as well
                self._refused[location] = str(error)
            return None

    # rights

    def _lacking(self) -> Iterator[MissingPermission]:
        for verb, kind, namespace, needed_for, module in dict.fromkeys(self._needed()):
            try:
                allowed = self._cluster.allowed(verb, kind, namespace)
                served = self._cluster.kind(kind)
            except ClusterError:
                continue  # the server does not say
            if served is not None and not allowed:
                yield MissingPermission(verb, served.resource, namespace, needed_for, module)

    def _needed(self) -> Iterable[tuple[str, GroupVersionKind, str, str, str]]:
        for raw in self._snapshot.kymas[:1]:
            ref = read_ref(raw)
            if read_kyma(raw):
                yield "patch", ref.kind, ref.namespace, "enabling and disabling modules", ""
        here = {row.name for row in self._seen.rows if row.manager is not None or row.checked}
        for row in self._seen.rows:
            if row.name in here and row.checked:
                yield "delete", row.checked[0].resource.kind, "", f"deleting {row.name}", row.name


def _is_listed(snapshot: Snapshot, feed: str) -> bool:
    return feed in snapshot.feeds and gap_of(snapshot.feeds[feed]) is None


def _record(row: ModuleRow, installation: RecordedInstallation) -> InstallationRecord:
    by = InventoryOwner.HELM if installation.is_chart else InventoryOwner.KYMATUI
    lacks_objects = installation.is_unfinished or is_deleted_elsewhere(row.run)
    return InstallationRecord(row.name, by, installation.record, installation.refs, lacks_objects, installation.unread)


def audit_session(session: Session, cluster: AuditCluster, ignores: Sequence[IgnoreEntry] = ()) -> AuditReport:
    """Return the report on a session that has listed everything; of a runtime on both sides and their links.

    `cluster` is the session's, which sends metadata alone.
    """
    pair = session.pair()
    if pair is None:
        report = _audit_cluster(cluster, session.snapshot(), ignores)
    else:
        try:
            linked = session.chains()
        except NotFoundError:  # it has no Watchers, or they may not be read
            linked = ()
        report = _audit_pair(cluster, session.target.runtime, pair, session.snapshot(), linked, ignores)
    return replace(report, scope=_scope(session, "" if pair is None else pair.name))


def _scope(session: Session, runtime: str) -> AuditScope:
    kind, names = (AuditKind.RUNTIME, (runtime,)) if runtime else (AuditKind.CLUSTER, ())
    users = known_users(session.home)
    reads, writes = session.traffic
    return AuditScope(kind=kind, names=names, users=users, reads=reads, writes=writes)


def known_users(cluster: Cluster) -> tuple[str, ...]:
    """Return the name that the server has for the user; nothing where it does not say it."""
    try:
        return (cluster.user(),)
    except ClusterError:  # older than Kubernetes 1.28, or not allowed
        return ()


def _audit_cluster(cluster: AuditCluster, snapshot: Snapshot, ignores: Sequence[IgnoreEntry]) -> AuditReport:
    """Return the report on a cluster of which everything was listed."""
    now, cache = time.time(), ReadCache()
    inspection = inspect_modules(cluster, snapshot, build_catalog(snapshot, now, cache=cache))
    return audit(snapshot, now, None, ignores, inspection, cache)


def _audit_pair(
    cluster: AuditCluster,
    runtime: str,
    pair: RuntimePair,
    snapshot: Snapshot,
    linked: Sequence[WatcherChain],
    ignores: Sequence[IgnoreEntry],
) -> AuditReport:
    """Return the report on both sides of a runtime, and on what links them; `snapshot` is both as one."""
    now = time.time()
    catalog = build_catalog(snapshot, now)
    inspection = inspect_modules(cluster, snapshot, catalog)
    findings = (
        *audit_catalog(pair.control, now),
        *unread_findings(pair.control.feeds),
        *audit_runtime(pair, now, inspection, linked),
    )
    report = judge_findings(cluster.name, runtime, now, findings, ignores)
    return replace(report, is_empty=has_no_modules(catalog))


def unreached_report(session: Session, error: KymatuiError, ignores: Sequence[IgnoreEntry] = ()) -> AuditReport:
    """Return the report on a runtime that cannot be looked at: that is what is found."""
    control, runtime = session.home.name, session.target.runtime
    name = runtime.rpartition("/")[2]
    finding = unreachable_finding(name, str(error), access=is_access_error(error))
    return judge_findings(f"{control}/{runtime}", runtime, time.time(), [finding], ignores, _scope(session, name))


def is_access_error(error: KymatuiError) -> bool:
    """Return whether a runtime's access Secret is to blame, and not the runtime."""
    return isinstance(error, ConfigurationError | UnauthorizedError)
