"""Looking at what modules consist of, for an audit: by reading only, and of Secrets never more than their metadata."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from kymatui.domain.audits.installations import Inspection, Installation, Right
from kymatui.domain.kymas import read_kyma
from kymatui.domain.manifests import Manifest, read_manifest
from kymatui.domain.objects import read_ref
from kymatui.domain.refs import GroupVersionKind, ObjectRef
from kymatui.errors import ClusterError, ConfigurationError, KymatuiError, NotFoundError, UnauthorizedError

if TYPE_CHECKING:
    from kymatui.adapters.kube.clusters import KubeCluster
    from kymatui.domain.audits.auditing import Report
    from kymatui.domain.audits.ignoring import Ignore
    from kymatui.domain.rows import Catalog
    from kymatui.domain.snapshots import Object, Snapshot
    from kymatui.wiring.pairs import PairSession
    from kymatui.wiring.sessions import CatalogSession

_CONFIG_MAP: Final = GroupVersionKind("", "v1", "ConfigMap")
_SECRET: Final = GroupVersionKind("", "v1", "Secret")
_SECRETIVE: Final = frozenset({("", "Secret")})
_SET_ID: Final = "applyset.kubernetes.io/id"
_OWN: Final = "app.kubernetes.io/managed-by=kymatui"
_INVENTORY: Final = "kymatui."
_DONE: Final = frozenset({"deployed", "superseded", "uninstalled", "failed", ""})
# and nothing else: a server that cannot answer so shall refuse, and not send the data
_METADATA: Final = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
_METADATA_LIST: Final = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
_MOST_OBJECTS: Final = 5000


def inspect(
    cluster: KubeCluster,
    snapshot: Snapshot,
    seen: Catalog,
    *,
    objects: bool = True,
    cancel: threading.Event | None = None,
) -> Inspection:
    """Everything besides the catalog; what may not be read is told, and fails nothing.

    Takes one GET an object; without `objects` only the accounts of what is installed are read, in three lists. Raises
    CancelledError.
    """
    inspector = _Inspector(cluster, snapshot, seen, cancel or threading.Event())
    return inspector.run() if objects else inspector.accounts()


class _Inspector:
    def __init__(self, cluster: KubeCluster, snapshot: Snapshot, seen: Catalog, cancel: threading.Event) -> None:
        self._cluster = cluster
        self._cancel = cancel
        self._snapshot = snapshot
        self._seen = seen
        self._unread: dict[ObjectRef, str] = {}
        self._refused: dict[tuple[GroupVersionKind, str], str] = {}

    def run(self) -> Inspection:
        found = self.accounts()
        refs = list(dict.fromkeys(ref for one in found.installations if not one.unread for ref in one.refs))
        return replace(
            found,
            objects=self._objects(refs[:_MOST_OBJECTS]),
            unread={**self._unread, **dict.fromkeys(refs[_MOST_OBJECTS:], "there are too many objects")},
            lacking=tuple(self._lacking()),
        )

    def accounts(self) -> Inspection:
        """Who says that he installed what."""
        inventories, sets = self._inventories()
        releases, names = self._releases()
        return Inspection((*inventories, *releases, *self._manifests()), sets=sets, releases=names)

    # accounts

    def _inventories(self) -> tuple[list[Installation], frozenset[str] | None]:
        try:
            found = self._cluster.list(_CONFIG_MAP, labels=_OWN, whole=True, cancel=self._cancel)
        except ClusterError:
            return [], None
        ids = (str(_labels(raw).get(_SET_ID) or "") for raw in found)
        return [_inventory(raw) for raw in found if _name(raw).startswith(_INVENTORY)], frozenset(filter(None, ids))

    def _releases(self) -> tuple[list[Installation], frozenset[str] | None]:
        """Of Helm: their labels tell name and status; what they consist of is in the data of Secrets."""
        newest: dict[tuple[str, str], tuple[int, Object]] = {}
        try:
            found = [raw for kind in (_SECRET, _CONFIG_MAP) for raw in self._metadata(kind, "owner=helm")]
        except ClusterError:
            return [], None
        for raw in found:
            labels = _labels(raw)
            version = str(labels.get("version") or "")
            number = int(version) if version.isdigit() else 0
            key = str(raw["metadata"].get("namespace") or ""), str(labels.get("name") or "")
            if key[1] and number >= newest.get(key, (-1, raw))[0]:
                newest[key] = (number, raw)
        names = frozenset(f"{namespace}/{name}" for namespace, name in newest)
        return [_release(name, raw) for (_, name), (_, raw) in newest.items() if self._is_ours(raw)], names

    def _is_ours(self, raw: Object) -> bool:
        """Whether a release is one of a module, or was made by kymatui: a cluster has many that are neither."""
        writers = {str(entry.get("manager") or "") for entry in raw["metadata"].get("managedFields") or ()}
        return "kymatui" in writers or self._seen.row(str(_labels(raw).get("name") or "")) is not None

    def _manifests(self) -> Iterator[Installation]:
        """Of the modules that the catalog shows; a control plane has those of every runtime besides."""
        wanted = {row.manifest: row.name for row in self._seen.rows if row.manifest is not None}
        for raw in self._snapshot.manifests:
            manifest = read_manifest(raw)
            if isinstance(manifest, Manifest) and manifest.ref in wanted and not manifest.meta.deleting:
                refs = tuple(ref for ref in manifest.synced if ref.kind.kind and ref.name)
                yield Installation(wanted[manifest.ref], "lifecycle-manager", manifest.ref, refs)

    def _metadata(self, kind: GroupVersionKind, labels: str) -> list[Object]:
        """Names, labels and field managers; the server does not send the rest."""
        from kymatui.adapters.kube.projections import MetadataOnly

        client = self._cluster.client
        pages = client.pages(
            client.resource(kind), labels=labels, decode=MetadataOnly, accept=_METADATA_LIST, cancel=self._cancel
        )
        return [{**raw, "apiVersion": kind.api_version, "kind": kind.kind} for page in pages for raw in page.items]

    # objects

    def _objects(self, refs: list[ObjectRef]) -> Mapping[ObjectRef, Object | None]:
        from kymatui.engine.concurrency import each

        found = each(refs, self._object, self._cancel)
        return {ref: raw for ref, raw in zip(refs, found, strict=True) if ref not in self._unread}

    def _object(self, ref: ObjectRef) -> Object | None:
        place = ref.kind, ref.namespace
        if place in self._refused:
            self._unread[ref] = self._refused[place]
            return None
        accept = _METADATA if (ref.kind.group, ref.kind.kind) in _SECRETIVE else "application/json"
        client = self._cluster.client
        try:
            raw = client.get(client.resource(ref.kind), ref.name, ref.namespace, accept=accept)
        except NotFoundError:
            return None
        except ClusterError as error:
            self._unread[ref] = str(error)
            if error.status == 403:
                self._refused[place] = str(error)
            return None
        return {**raw, "apiVersion": ref.kind.api_version, "kind": ref.kind.kind}

    # rights

    def _lacking(self) -> Iterator[Right]:
        for verb, kind, namespace, needed_for, module in dict.fromkeys(self._needed()):
            try:
                allowed = self._cluster.allowed(verb, kind, namespace)
                name = self._cluster.client.resource(kind).name
            except ClusterError:
                continue  # the kind is not served, or the server does not say
            if not allowed:
                yield Right(verb, name, namespace, needed_for, module)

    def _needed(self) -> Iterable[tuple[str, GroupVersionKind, str, str, str]]:
        for raw in self._snapshot.kymas[:1]:
            ref = read_ref(raw)
            if read_kyma(raw):
                yield "patch", ref.kind, ref.namespace, "enabling and disabling modules", ""
        here = {row.name for row in self._seen.rows if row.manager is not None or row.checked}
        for row in self._seen.rows:
            if row.name in here and row.checked:
                yield "delete", row.checked[0].resource.kind, "", f"deleting {row.name}", row.name


def _labels(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    return raw["metadata"].get("labels") or {}


def _name(raw: Mapping[str, Any]) -> str:
    return str(raw["metadata"].get("name") or "")


def _inventory(raw: Mapping[str, Any]) -> Installation:
    from kymatui.engine.inventories import KEY, State, read_document

    ref = ObjectRef(_CONFIG_MAP, str(raw["metadata"].get("namespace") or ""), _name(raw))
    name = ref.name.removeprefix(_INVENTORY)
    try:
        found = read_document((raw.get("data") or {}).get(KEY, ""), str(ref))
    except ConfigurationError as error:
        return Installation(name, "kymatui", ref, unread=str(error))
    cut_off = {State.PENDING: "installation", State.DELETING: "deletion"}.get(found.state, "")
    held = tuple(item.ref for item in found.items if not item.adopted)
    return Installation(found.name, "kymatui", ref, held, cut_off)


def _release(name: str, raw: Mapping[str, Any]) -> Installation:
    ref = ObjectRef(read_ref(raw).kind, str(raw["metadata"].get("namespace") or ""), _name(raw))
    status = str(_labels(raw).get("status") or "")
    words = "the release's objects are listed in the data of a Secret, which an audit does not read"
    return Installation(name, "Helm", ref, unfinished="" if status in _DONE else status, unread=words)


def audited(session: CatalogSession | PairSession, ignores: Sequence[Ignore] = ()) -> Report:
    """The report on a session that has listed everything; of a runtime both sides, and what links them."""
    from kymatui.domain.audits.auditing import audit, catalog_findings, judged, runtime_findings
    from kymatui.domain.catalog import Memory, catalog
    from kymatui.domain.watcher_chains import chains
    from kymatui.wiring.engine import cluster_of
    from kymatui.wiring.pairs import PairSession
    from kymatui.wiring.watchers import control_side, runtime_side

    snapshot, now, cluster = session.snapshot(), time.time(), cluster_of(session.client)
    memory = Memory()
    inspection = inspect(cluster, snapshot, catalog(snapshot, now, memory=memory))
    if not isinstance(session, PairSession):
        return audit(snapshot, now, None, ignores, inspection, memory)
    try:
        linked = chains(control_side(session.home), runtime_side(cluster))
    except NotFoundError:  # it has no Watchers, or they may not be read
        linked = ()
    pair = session.pair()
    found = (*catalog_findings(pair.control, now), *runtime_findings(pair, now, inspection, linked))
    return judged(cluster.name, "/".join(session.key), now, found, ignores)


def not_reached(session: PairSession, error: KymatuiError, ignores: Sequence[Ignore] = ()) -> Report:
    """The report on a runtime that cannot be looked at: that is what is found."""
    from kymatui.domain.audits.auditing import judged
    from kymatui.domain.audits.fleets import unreached

    found = unreached(session.name, str(error), access=is_access(error))
    return judged(session.home.name, "/".join(session.key), time.time(), [found], ignores)


def is_access(error: KymatuiError) -> bool:
    """Whether a runtime's access Secret is to blame, and not the runtime."""
    return isinstance(error, ConfigurationError | UnauthorizedError)
