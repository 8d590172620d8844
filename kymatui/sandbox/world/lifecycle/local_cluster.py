"""The engine's cluster port on the in-process client, for controllers that run inside the sandbox.

Every call returns at once, on the clock's thread. Nothing is watched through this port: changes reach a hosted
controller as those of any other controller of the sandbox (see `hosted_controller`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NoReturn, TypeVar

from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.logs.log_query import LogQuery
from kymatui.domain.ownership import LIFECYCLE_APPLIER
from kymatui.engine.cluster.ports import (
    OPERATOR_CREATOR,
    OPERATOR_FIELD_MANAGER,
    Changes,
    LogStream,
    Object,
    PatchKind,
    Recording,
    ServedKind,
    Write,
    Writes,
    WriteVerb,
)
from kymatui.engine.dryrun.field_takeover import LIFECYCLE_MANAGER
from kymatui.errors import (
    CancelledError,
    ClusterError,
    ConflictError,
    ExpiredError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    ServerError,
    ThrottledError,
    UnauthorizedError,
)
from kymatui.sandbox.apimachinery.local_client import LocalClient, PatchType, ResourceOfKind
from kymatui.sandbox.apimachinery.statuses import StatusError

T = TypeVar("T")
_PATCHES: Final[Mapping[PatchKind, PatchType]] = {
    PatchKind.JSON: "json",
    PatchKind.MERGE: "merge",
    PatchKind.STRATEGIC: "strategic",
}
_ERRORS: Final[Mapping[int, type[ClusterError]]] = {
    401: UnauthorizedError,
    403: ForbiddenError,
    404: NotFoundError,
    409: ConflictError,
    410: ExpiredError,
    429: ThrottledError,
}


class LocalCluster(Writes):
    """Implements `kymatui.engine.cluster.ports.Cluster`; it is not thread-safe.

    `applier` and `creator` are the field managers of what the operator applies and creates: in the sample world, hosted
    controllers are lifecycle-manager.
    """

    read_only = False

    def __init__(
        self, name: str, client: LocalClient, *, applier: str = LIFECYCLE_MANAGER, creator: str = LIFECYCLE_MANAGER
    ) -> None:
        self._name = name
        self._client = client
        self._applier = applier
        self._creator = creator
        self._writers: dict[str, LocalClient] = {}

    @property
    def name(self) -> str:
        return self._name

    def version(self) -> str:
        return ""

    # -- kinds

    def kind(self, gvk: GroupVersionKind) -> ServedKind | None:
        resource = self._client.resource_of_kind(gvk.api_version, gvk.kind)
        return _served(resource) if resource is not None else None

    def kinds(self, group: str, kind: str) -> Sequence[ServedKind]:
        return [served for served in self._all() if (served.gvk.group, served.gvk.kind) == (group, kind)]

    def all_kinds(self) -> Sequence[ServedKind]:
        preferred: dict[tuple[str, str], ServedKind] = {}
        for served in self._all():
            preferred.setdefault((served.gvk.group, served.gvk.kind), served)
        return tuple(preferred.values())

    def unread_groups(self) -> Sequence[tuple[str, str]]:
        return ()

    def forget_kinds(self) -> None:
        """Do nothing: every call asks the server's own catalog."""

    def _all(self) -> list[ServedKind]:
        return [_served(resource) for resource in self._client.all_resources()]

    def resource(self, gvk: GroupVersionKind) -> str:
        """Return the name that the sandbox uses ("deployments.apps"). Raise NotFoundError for an unknown kind."""
        resource = self._client.resource_of_kind(gvk.api_version, gvk.kind)
        if resource is None:
            raise NotFoundError(f"{self._name} does not serve {gvk}", status=404)
        return resource.full_name

    # -- reading

    def get(self, ref: ObjectRef, *, cancel: threading.Event | None = None) -> Object | None:
        def read(resource: str) -> Object:
            return self._client.get(resource, ref.name, namespace=ref.namespace, version=ref.kind.version)

        try:
            return self._call(ref.kind, read, cancel)
        except NotFoundError:
            return None

    def list(
        self,
        gvk: GroupVersionKind,
        namespace: str = "",
        *,
        labels: str = "",
        with_managed_fields: bool = False,
        cancel: threading.Event | None = None,
    ) -> list[Object]:
        def read(resource: str) -> list[Object]:
            return self._client.list(resource, namespace=namespace, labels=labels, version=gvk.version)

        try:
            return self._call(gvk, read, cancel)
        except NotFoundError:
            return []

    def open_log(self, query: LogQuery, *, cancel: threading.Event | None = None) -> LogStream:
        _refuse("logs")

    def follow(self, kinds: Iterable[tuple[GroupVersionKind, str]], label: str = "", *, edits: bool = False) -> Changes:
        _refuse("watches")

    def record(self, kinds: Iterable[GroupVersionKind]) -> Recording:
        _refuse("watches")

    # -- writing

    def write(self, write: Write, *, cancel: threading.Event | None = None) -> Object:
        if write.dry_run:
            _refuse("dry runs")
        return self._call(write.ref.kind, lambda resource: self._send(resource, write), cancel)

    def _send(self, resource: str, write: Write) -> Object:
        """Send a write under the field manager that its own one is in the sample world."""
        ref, client, version = write.ref, self._as(write), write.ref.kind.version
        match write.verb:
            case WriteVerb.CREATE:
                return client.create(resource, _object(write), namespace=ref.namespace, version=version)
            case WriteVerb.UPDATE:
                return client.update(resource, _object(write), subresource=write.subresource, version=version)
            case WriteVerb.DELETE:
                return client.delete(
                    resource,
                    ref.name,
                    namespace=ref.namespace,
                    propagation=write.propagation,
                    uid=write.uid,
                    resource_version=write.resource_version,
                    version=version,
                )
        return client.patch(
            resource,
            ref.name,
            write.body,
            namespace=ref.namespace,
            type="apply" if write.verb is WriteVerb.APPLY else _PATCHES[write.patch],
            subresource=write.subresource,
            force=write.force,
            version=version,
        )

    def user(self) -> str:
        return self.name

    def allowed(self, verb: str, gvk: GroupVersionKind, namespace: str = "", name: str = "") -> bool:
        return True  # the in-process client is of system:masters

    def may_write(self, namespaces: Iterable[str]) -> bool:
        return True

    # -- requests

    def _as(self, write: Write) -> LocalClient:
        if write.verb is WriteVerb.DELETE:
            return self._client
        operator = {WriteVerb.APPLY: self._applier, WriteVerb.CREATE: self._creator}.get(write.verb, LIFECYCLE_MANAGER)
        names = {OPERATOR_FIELD_MANAGER: operator, OPERATOR_CREATOR: LIFECYCLE_APPLIER}
        name = names.get(write.manager, write.manager)
        return self._writers.setdefault(name, self._client.named(name))

    def _call(self, gvk: GroupVersionKind, call: Callable[[str], T], cancel: threading.Event | None) -> T:
        if cancel is not None and cancel.is_set():
            raise CancelledError("stopped between two requests")
        try:
            return call(self.resource(gvk))
        except StatusError as error:
            raise _error_of(error) from error


def _refuse(what: str) -> NoReturn:
    raise InvalidError(f"controllers inside the sandbox have no {what}")


def _object(write: Write) -> Mapping[str, Any]:
    assert isinstance(write.body, Mapping)
    return write.body


def _served(resource: ResourceOfKind) -> ServedKind:
    gvk = GroupVersionKind(resource.group, resource.version, resource.kind)
    return ServedKind(gvk, resource.name, resource.namespaced, resource.verbs)


def _error_of(error: StatusError) -> ClusterError:
    kind = _ERRORS.get(error.code, ServerError if error.code >= 500 else InvalidError)
    return kind(str(error), status=error.code, reason=error.reason, body=error.status)
