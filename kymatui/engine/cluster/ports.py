"""The engine's ports: cluster, content, time. Adapters and tests implement them.

Objects are plain dictionaries as the API server sends them. Every method that calls a cluster raises the errors of
`kymatui.errors` (ConflictError, ForbiddenError, UnreachableError, …), and CancelledError once `cancel` is set.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from types import TracebackType
from typing import Any, Final, Protocol, Self, TypedDict, Unpack

from msgspec import Struct, field

from kymatui.domain.kubernetes.object_meta import read_ref, uid_of
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.logs.log_query import LogQuery
from kymatui.domain.plans.cluster_target import ClusterName
from kymatui.engine.cluster.request_scope import optional_requests
from kymatui.errors import ClusterError, RefusedError
from kymatui.structs import repr_without

Object = dict[str, Any]

NAMESPACE: Final = GroupVersionKind("", "v1", "Namespace")
FIELD_MANAGER: Final = "kymatui"
OPERATOR_FIELD_MANAGER: Final = "kymatui-operator"
OPERATOR_CREATOR: Final = "kymatui-operator-creator"
"""The operator's field manager of Manifests that it creates."""


class ServedKind(Struct, frozen=True):
    """A kind that the cluster serves; `resource` is its plural name without the group."""

    gvk: GroupVersionKind
    resource: str
    namespaced: bool
    verbs: tuple[str, ...] = ()


class PatchKind(StrEnum):
    """The formats of a patch; the values are media types."""

    JSON = "application/json-patch+json"
    MERGE = "application/merge-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"


class WriteVerb(StrEnum):
    """What a write does to its object."""

    APPLY = "apply"
    CREATE = "create"
    UPDATE = "update"
    PATCH = "patch"
    DELETE = "delete"


class Write(Struct, frozen=True):
    """One write, as every wrapper of a cluster passes it on.

    body              the object; the operations of a JSON patch; empty for a deletion
    force             whether an apply takes fields from other managers
    uid               precondition of a deletion, "" for none
    resource_version  the same; the versions of other writes are in their bodies
    """

    verb: WriteVerb
    ref: ObjectRef
    body: Mapping[str, Any] | Sequence[Mapping[str, Any]] = field(default_factory=dict)
    patch: PatchKind = PatchKind.MERGE
    subresource: str = ""
    manager: str = FIELD_MANAGER
    force: bool = False
    dry_run: bool = False
    validation: str = "Strict"
    uid: str = ""
    resource_version: str = ""
    propagation: str = "Background"


class ObjectListOptions(TypedDict, total=False):
    """The options of a list. Only with `with_managed_fields` do the managed fields have field names."""

    labels: str
    with_managed_fields: bool
    cancel: threading.Event | None


class Writes(Protocol):
    """What writes objects: the verbs are short for one `Write`, so that a wrapper overrides `write` alone."""

    def write(self, write: Write, *, cancel: threading.Event | None = None) -> Object:
        """Send the write and return the server's answer: the object, or a Status for one that is gone."""

    def apply(
        self,
        body: Mapping[str, Any],
        *,
        manager: str = FIELD_MANAGER,
        force: bool = False,
        dry_run: bool = False,
        cancel: threading.Event | None = None,
    ) -> Object:
        """Apply on the server side.

        A ConflictError has the fields of other owners in `body["details"]["causes"]`.
        """
        write = Write(WriteVerb.APPLY, read_ref(body), body, manager=manager, force=force, dry_run=dry_run)
        return self.write(write, cancel=cancel)

    def create(
        self,
        body: Mapping[str, Any],
        *,
        manager: str = FIELD_MANAGER,
        dry_run: bool = False,
        cancel: threading.Event | None = None,
    ) -> Object:
        """Create an object. Raises ConflictError with the reason AlreadyExists."""
        return self.write(
            Write(WriteVerb.CREATE, read_ref(body), body, manager=manager, dry_run=dry_run), cancel=cancel
        )

    def update(
        self,
        body: Mapping[str, Any],
        *,
        manager: str = FIELD_MANAGER,
        subresource: str = "",
        cancel: threading.Event | None = None,
    ) -> Object:
        """Replace an object if its resourceVersion is the one in `body`."""
        write = Write(WriteVerb.UPDATE, read_ref(body), body, subresource=subresource, manager=manager)
        return self.write(write, cancel=cancel)

    def patch(
        self,
        ref: ObjectRef,
        patch: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        kind: PatchKind,
        *,
        manager: str = FIELD_MANAGER,
        subresource: str = "",
        dry_run: bool = False,
        cancel: threading.Event | None = None,
    ) -> Object:
        """Patch an object; of a status, fields that this version of its CRD does not have are ignored."""
        validation = "Ignore" if subresource == "status" else "Strict"
        write = Write(
            WriteVerb.PATCH,
            ref,
            patch,
            kind,
            subresource=subresource,
            manager=manager,
            dry_run=dry_run,
            validation=validation,
        )
        return self.write(write, cancel=cancel)

    def delete(
        self,
        ref: ObjectRef,
        *,
        uid: str = "",
        resource_version: str = "",
        propagation: str = "Background",
        dry_run: bool = False,
        cancel: threading.Event | None = None,
    ) -> bool:
        """Delete the object if it has this uid, and return whether the server says that it is gone.

        False means that something holds it, or that the server does not say. Raises NotFoundError if it does not exist.
        """
        write = Write(
            WriteVerb.DELETE, ref, dry_run=dry_run, uid=uid, resource_version=resource_version, propagation=propagation
        )
        return self.write(write, cancel=cancel).get("kind") == "Status" and not dry_run


class Changes(Protocol):
    """A stream of changed objects that is open on creation: a later read misses no change."""

    def wait(self, seconds: float, cancel: threading.Event | None = None) -> frozenset[ObjectRef]:
        """Return the objects that changed since the last call; empty after `seconds`.

        If the server does not allow a watch, it returns early and empty: read everything again.
        """

    def known(self) -> frozenset[ObjectRef]:
        """Return the objects that exist, as far as they have been listed."""

    def label_of(self, ref: ObjectRef) -> str | None:
        """Return the value of the followed label, "" without it; None for an unknown object.

        Deleted objects are known for a while.
        """

    def close(self) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class Recording(Protocol):
    """The objects of some kinds since it was opened, deleted ones included, each in its last state."""

    def wait_open(self, seconds: float, cancel: threading.Event | None = None) -> bool:
        """Return whether it misses nothing from now on; False after `seconds`, or where watching is not allowed."""

    def drop_deleted(self) -> None:
        """Forget the objects that are deleted already."""

    def wait_end(self, seconds: float) -> None:
        """Wait until the server ends the watches, as it does for a deleted CRD, at most `seconds`."""

    def objects(self) -> Sequence[Object]: ...

    def close(self) -> None: ...


class LogStream(Protocol):
    """The log of one container as it arrives."""

    def chunks(self) -> Iterator[bytes]:
        """Yield the log until it ends, or until another thread calls `close`."""

    def close(self) -> None: ...


class Cluster(Writes, Protocol):
    """One cluster; a `read_only` one raises ReadOnlyError for every write, including dry runs."""

    @property
    def name(self) -> str: ...

    @property
    def read_only(self) -> bool: ...

    def version(self) -> str:
        """Return the server's version ("v1.34.2"), "" if unknown."""

    def kind(self, gvk: GroupVersionKind) -> ServedKind | None:
        """Return the served kind or None; an unknown kind is looked up on the server again."""

    def kinds(self, group: str, kind: str) -> Sequence[ServedKind]:
        """Return all served versions of a kind, the preferred one first."""

    def all_kinds(self) -> Sequence[ServedKind]:
        """Return every kind in its preferred version."""

    def unread_groups(self) -> Sequence[tuple[str, str]]:
        """Return groups and versions whose kinds could not be read and are missing from `all_kinds`."""

    def forget_kinds(self) -> None:
        """Drop the cached kinds after CRDs have changed."""

    def get(self, ref: ObjectRef, *, cancel: threading.Event | None = None) -> Object | None:
        """Return the object, None if it or its kind does not exist."""

    def list(self, gvk: GroupVersionKind, namespace: str = "", **options: Unpack[ObjectListOptions]) -> list[Object]:
        """Return all objects of a kind in one or all namespaces; empty if the kind is not served."""

    def open_log(self, query: LogQuery, *, cancel: threading.Event | None = None) -> LogStream:
        """Open the log of a container. Raises InvalidError if it has none yet, NotFoundError without the Pod."""

    def follow(self, kinds: Iterable[tuple[GroupVersionKind, str]], label: str = "", *, edits: bool = False) -> Changes:
        """Watch objects of these kinds, each in a namespace or ("") in all, and one of their labels.

        With `edits`, a change of an object's status alone is not reported.
        """

    def record(self, kinds: Iterable[GroupVersionKind]) -> Recording:
        """Record the objects of these kinds in all namespaces."""

    def user(self) -> str:
        """Return the name of the user. Raises NotFoundError before Kubernetes 1.28."""

    def allowed(self, verb: str, gvk: GroupVersionKind, namespace: str = "", name: str = "") -> bool:
        """Return whether the user has this permission, by access review."""

    def may_write(self, namespaces: Iterable[str]) -> bool:
        """Return whether the user may write any object in one of the namespaces; True where that is unknown."""


class Backup(Protocol):
    """The store of objects that are about to be deleted."""

    def holds(self, uid: str, resource_version: str) -> bool:
        """Return whether the object is saved in exactly this state."""

    def save(self, body: Object) -> None:
        """Save the object in place of an earlier state."""

    @property
    def message(self) -> str:
        """Return the number and location of the saved objects."""


class FetchedChart(Struct, frozen=True):
    """A packed chart: source, file name as helm writes it, content, and provenance if requested.

    manifest  the digest of the registry's manifest or index, "" for other sources
    warnings  what helm warns about
    """

    source: str
    filename: str
    content: bytes
    provenance: bytes | None = None
    manifest: str = ""
    warnings: tuple[str, ...] = ()

    __repr__ = repr_without("content", "provenance")

    @property
    def digest(self) -> str:
        return f"sha256:{hashlib.sha256(self.content).hexdigest()}"


class Blobs(Protocol):
    """The source of content by digest or address."""

    def layer(self, repository: str, digest: str, *, insecure: bool = False) -> bytes:
        """Return a blob of a repository ("reg.example/modules/component"), verified by digest ("sha256:…")."""

    def chart(self, reference: str, *, repository: str = "", version: str = "") -> FetchedChart:
        """Return a packed chart by `oci://…`, URL, or name in a repository; default is the newest stable."""

    def chart_versions(self, reference: str, *, repository: str = "") -> tuple[str, ...]:
        """Return the versions of a chart in a registry (`oci://…`) or repository, unordered."""

    def url(self, address: str) -> bytes:
        """Return the content at an `https://` address, limited in size and time."""


class Clock(Protocol):
    """Time, so that tests do not have to wait."""

    def now(self) -> float:
        """Return the seconds since 1970."""

    def sleep(self, seconds: float, cancel: threading.Event | None = None) -> None:
        """Sleep; return early once `cancel` is set."""


_SYSTEM: Final = ObjectRef(NAMESPACE, "", "kube-system")


def cluster_identity(cluster: Cluster) -> str:
    """Return the uid of kube-system, which identifies a cluster; "" without permission."""
    try:
        with optional_requests():
            namespace = cluster.get(_SYSTEM)
    except ClusterError:  # without an identity, clusters are compared by their names
        return ""
    return uid_of(namespace) if namespace is not None else ""


def refuse_another_cluster(name: str, cluster: Cluster) -> None:
    """Raise RefusedError if a plan was made for another cluster."""
    if name != cluster.name:
        raise RefusedError(f"the plan is for cluster {name}, but this is {cluster.name}")


def name_cluster(cluster: Cluster) -> ClusterName:
    """Return name and identity of a cluster."""
    return ClusterName(cluster.name, cluster_identity(cluster))
