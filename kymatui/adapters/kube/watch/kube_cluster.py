"""The engine's cluster port, implemented with the client: kinds instead of resources, None for a 404.

Its recordings are watches that keep every object they report, deleted ones included.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeVar, Unpack

from kymatui.adapters.kube.api.client import Client, Reviews
from kymatui.adapters.kube.objects.api_resource import ApiResource
from kymatui.adapters.kube.transport.streams import AnswerStream
from kymatui.adapters.kube.watch.object_changes import WatchedChanges
from kymatui.adapters.kube.watch.projections import MetadataOnly
from kymatui.adapters.kube.watch.watch import Watch
from kymatui.adapters.kube.watch.watch_cache import Key, Store, key_of
from kymatui.adapters.kube.watch.watch_cache import Object as Observed
from kymatui.adapters.kube.watch.watch_reader import UNATTENDED, WatchSubject, WatchTiming
from kymatui.domain.kubernetes.object_meta import last_write, uid_of
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.logs.log_query import LogQuery
from kymatui.domain.snapshot.snapshots import Feed, FeedState
from kymatui.engine.cluster.ports import Object, ObjectListOptions, ServedKind, Write, Writes, WriteVerb
from kymatui.engine.cluster.request_scope import current_scope, note_change, note_permission, note_write
from kymatui.errors import CancelledError, NotFoundError

if TYPE_CHECKING:
    from kymatui.domain.rights import GrantedRequest


T = TypeVar("T")
_LIST_VERBS = ("list", "watch")
_FRESH = 10.0
"""Seconds for which it is taken for granted that no kind has come."""
_CLOCKS_DIFFER = 10.0  # seconds that the server's clock may be behind


# and nothing else: a server that cannot answer so shall refuse, and not send the data
_METADATA = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
_METADATA_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"


class ReviewedCluster:
    """The permissions of a cluster's user, by access review."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self._reviews = Reviews(client.transport)

    @property
    def name(self) -> str:
        return self.client.transport.connection.name

    def _note(self, verb: str, gvk: GroupVersionKind, namespace: str = "", name: str = "") -> None:
        note_permission(verb, gvk, namespace, name, cluster=self.name)

    def allowed(self, verb: str, gvk: GroupVersionKind, namespace: str = "", name: str = "") -> bool:
        self._note(verb, gvk, namespace, name)
        resource = self.client.resource(gvk)
        return self._reviews.allowed(verb, resource.plural, resource.group, namespace=namespace, name=name)

    def permits(self, request: GrantedRequest, namespace: str = "") -> bool:
        """Return whether the user has this permission, also for a kind that the cluster does not serve yet."""
        return self._reviews.allowed(
            request.verb, request.resource, request.group, namespace=namespace, name=request.name
        )

    def user(self) -> str:
        return self._reviews.user()

    def may_write(self, namespaces: Iterable[str]) -> bool:
        return any(self._reviews.may_write(namespace) for namespace in namespaces)


class KubeCluster(ReviewedCluster, Writes):
    """Implements `kymatui.engine.cluster.ports.Cluster`; threads may share it.

    `unattended` is for programs whose watches no one sees standing still.
    """

    def __init__(self, client: Client, *, timing: WatchTiming | None = None, unattended: bool = False) -> None:
        super().__init__(client)
        self._timing = UNATTENDED if unattended else timing

    @property
    def read_only(self) -> bool:
        return self.client.transport.read_only

    def close(self) -> None:
        self.client.transport.close()

    # kinds

    def kind(self, gvk: GroupVersionKind) -> ServedKind | None:
        resource = self.client.discovery.find(gvk)
        return _served(resource) if resource is not None else None

    def kinds(self, group: str, kind: str) -> Sequence[ServedKind]:
        return tuple(_served(resource) for resource in self.client.discovery.find_versions(group, kind))

    def all_kinds(self) -> Sequence[ServedKind]:
        """Return every kind in its preferred version, freshly read: a stale list could hide objects."""
        preferred: dict[tuple[str, str], ApiResource] = {}
        for resource in self.client.discovery.resources(within=_FRESH):
            preferred.setdefault((resource.group, resource.kind), resource)
        return tuple(_served(resource) for resource in preferred.values())

    def version(self) -> str:
        return str(self.client.version().get("gitVersion") or "")

    def unread_groups(self) -> Sequence[tuple[str, str]]:
        return self.client.discovery.unread()

    def forget_kinds(self) -> None:
        self.client.discovery.invalidate()

    # reading

    def get(self, ref: ObjectRef, *, cancel: threading.Event | None = None) -> Object | None:
        self._note("get", ref.kind, ref.namespace, ref.name)

        def read(resource: ApiResource) -> Object:
            return self.client.get(resource, ref.name, ref.namespace, cancel=cancel)

        try:
            return self._of_kind(ref.kind, read)
        except NotFoundError:
            return None

    def list(self, gvk: GroupVersionKind, namespace: str = "", **options: Unpack[ObjectListOptions]) -> list[Object]:
        self._note("list", gvk, namespace)
        labels, cancel = options.get("labels", ""), options.get("cancel")
        decode = Object if options.get("with_managed_fields") else None

        def read(resource: ApiResource) -> list[Object]:
            return self.client.list(resource, namespace, labels=labels, decode=decode, cancel=cancel).items

        try:
            return self._of_kind(gvk, read)
        except NotFoundError:  # a kind that is not served has no objects
            return []

    def get_metadata(self, ref: ObjectRef) -> Object | None:
        """Return the metadata of one object; None where it is not there."""
        self._note("get", ref.kind, ref.namespace, ref.name)
        try:
            raw = self.client.get(self.client.resource(ref.kind), ref.name, ref.namespace, accept=_METADATA)
        except NotFoundError:
            return None
        return {**raw, "apiVersion": ref.kind.api_version, "kind": ref.kind.kind}

    def list_outside(
        self, gvk: GroupVersionKind, namespaces: Iterable[str], *, cancel: threading.Event | None = None
    ) -> Sequence[Object]:
        """Return the metadata of objects of a kind that are in none of these namespaces, one page at most."""
        self._note("list", gvk)
        resource = self.client.resource(gvk)
        fields = ",".join(f"metadata.namespace!={namespace}" for namespace in namespaces)
        pages = self.client.pages(resource, fields=fields, decode=MetadataOnly, accept=_METADATA_LIST, cancel=cancel)
        return [{**raw, "apiVersion": gvk.api_version, "kind": gvk.kind} for raw in next(pages).items]

    def follow(
        self, kinds: Iterable[tuple[GroupVersionKind, str]], label: str = "", *, edits: bool = False
    ) -> WatchedChanges:
        subjects = []
        for gvk, namespace in dict.fromkeys(kinds):
            resource = self.client.discovery.find(gvk)
            if resource is not None:
                for verb in _LIST_VERBS:
                    self._note(verb, gvk, namespace if resource.namespaced else "")
                subjects.append((resource, namespace if resource.namespaced else ""))
        return WatchedChanges(self.client, subjects, self._timing, label, edits=edits)

    def record(self, kinds: Iterable[GroupVersionKind]) -> WatchedObjects:
        recorded = tuple(dict.fromkeys(kinds))
        for gvk in recorded:
            for verb in _LIST_VERBS:
                self._note(verb, gvk)
        resources = (self.client.discovery.find(gvk) for gvk in recorded)
        return WatchedObjects(self.client, [resource for resource in resources if resource is not None], self._timing)

    def open_log(self, query: LogQuery, *, cancel: threading.Event | None = None) -> AnswerStream:
        return self.client.open_log(query, cancel)

    # writing

    def write(self, write: Write, *, cancel: threading.Event | None = None) -> Object:
        verb = "patch" if write.verb is WriteVerb.APPLY else write.verb.value
        body = write.body if write.verb is not WriteVerb.DELETE else None
        note_write(verb, write.ref, body, cluster=self.name)
        answer = self._of_kind(write.ref.kind, lambda resource: self.client.write(resource, write, cancel))
        if not write.dry_run and (write.verb is not WriteVerb.APPLY or _is_changed(answer, write.manager)):
            note_change(write.verb.value, write.ref, write.subresource)
        return answer

    def _of_kind(self, gvk: GroupVersionKind, call: Callable[[ApiResource], T]) -> T:
        """Call with the kind's resource. On a 404 about the kind, read discovery again and call once more."""
        resource = self.client.resource(gvk)
        try:
            return call(resource)
        except NotFoundError as error:
            if not is_kind_missing(error):
                raise
            self.client.discovery.invalidate()
            fresh = self.client.resource(gvk)
            if fresh == resource:  # discovery was up to date: a retry gets the same 404
                raise
            return call(fresh)


def is_kind_missing(error: NotFoundError) -> bool:
    """Return whether a 404 is about the kind: its details name no object and no namespace."""
    details = error.body.get("details")
    return not (isinstance(details, Mapping) and details.get("name"))


def _is_changed(answer: Object, manager: str) -> bool:
    """Return whether an apply has changed its object: else the time of the manager's last write stays as it was."""
    since = current_scope().since - _CLOCKS_DIFFER
    return (last_write(answer, manager) or 0.0) >= since


def _served(resource: ApiResource) -> ServedKind:
    return ServedKind(resource.gvk, resource.plural, resource.namespaced, resource.verbs)


_LOOK: Final = 0.02  # seconds until a cancellation or a change of a watch is noticed
_REFUSED: Final = (FeedState.FORBIDDEN, FeedState.ABSENT, FeedState.FAILED)


class _Recorded(Store):
    """A store that also keeps what was deleted."""

    def __init__(self, resource: ApiResource) -> None:
        super().__init__(lambda: None)
        self._resource = resource
        self._guard = threading.Lock()
        self._seen: dict[str, Object] = {}
        self._deleted: set[str] = set()
        self.ended = False

    def publish(self, feed: Feed) -> None:
        self.ended = self.ended or (self.feed.state is FeedState.LIVE and feed.state is not FeedState.LIVE)
        super().publish(feed)

    def put(self, key: Key, item: Observed) -> None:
        super().put(key, item)
        self._note(item)

    def drop(self, key: Key) -> None:
        gone = next((item for item in self.values() if key_of(item) == key), None)
        super().drop(key)
        if gone is not None:
            with self._guard:
                self._deleted.add(uid_of(gone))

    def replace(self, objects: dict[Key, Observed]) -> None:
        before = self.values()
        super().replace(objects)
        remaining = {uid_of(item) for item in objects.values()}
        with self._guard:
            self._deleted.update({uid_of(item) for item in before} - remaining)
        for item in objects.values():
            self._note(item)

    def _note(self, item: Observed) -> None:
        kind = self._resource.gvk
        with self._guard:
            self._seen[uid_of(item)] = {**item, "apiVersion": kind.api_version, "kind": kind.kind}

    def drop_deleted(self) -> None:
        with self._guard:
            for uid in self._deleted:
                self._seen.pop(uid, None)
            self._deleted.clear()

    def seen(self) -> tuple[Object, ...]:
        with self._guard:
            return tuple(self._seen.values())


class WatchedObjects:
    """Implements `kymatui.engine.cluster.ports.Recording`."""

    def __init__(self, client: Client, resources: Iterable[ApiResource], timing: WatchTiming | None = None) -> None:
        self._stores: list[_Recorded] = []
        self._watches: list[Watch] = []
        for resource in resources:
            store = _Recorded(resource)
            self._stores.append(store)
            self._watches.append(Watch(client, WatchSubject(resource), store, timing=timing))
        for watch in self._watches:
            watch.start()

    def wait_open(self, seconds: float, cancel: threading.Event | None = None) -> bool:
        deadline = time.monotonic() + seconds
        while not all(store.feed.state is FeedState.LIVE for store in self._stores):
            if cancel is not None and cancel.is_set():
                raise CancelledError("stopped")
            if time.monotonic() > deadline or any(store.feed.state in _REFUSED for store in self._stores):
                return False
            time.sleep(_LOOK)
        return True

    def drop_deleted(self) -> None:
        for store in self._stores:
            store.drop_deleted()

    def wait_end(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and not all(store.ended for store in self._stores):
            time.sleep(_LOOK)

    def objects(self) -> Sequence[Object]:
        return tuple(body for store in self._stores for body in store.seen())

    def close(self) -> None:
        for watch in self._watches:
            watch.stop()
