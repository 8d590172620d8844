"""The Kubernetes client of one cluster; objects are plain dictionaries."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import msgspec

from kymatui.adapters.kube.api.discovery import Discovery
from kymatui.adapters.kube.objects.api_resource import ApiResource
from kymatui.adapters.kube.objects.decoder import (
    PAGE,
    BudgetClaim,
    Decoder,
    Object,
    Page,
    PagedList,
    checked,
    open_budget,
    read_object,
    read_typed,
    weigh_all,
)
from kymatui.adapters.kube.transport.heartbeat import Heartbeat
from kymatui.adapters.kube.transport.streams import AnswerStream
from kymatui.adapters.kube.transport.transport import Answer, Request, Transport
from kymatui.domain.kubernetes.refs import GroupVersionKind
from kymatui.domain.logs.log_query import LogQuery
from kymatui.engine.cluster.ports import Write, WriteVerb
from kymatui.errors import ClusterError, ExpiredError, NotFoundError

if TYPE_CHECKING:
    from kymatui.domain.rights import Rights

_OF_THE_OBJECT = ("", "status")  # subresources whose answer is the object itself
_LOG_SILENCE = 300.0  # seconds
_LOG_LASTS = 86400.0  # seconds: a day; logs are followed for as long as a screen displays them
_APPLY = "application/apply-patch+yaml"
_METHODS = {
    WriteVerb.APPLY: "PATCH",
    WriteVerb.CREATE: "POST",
    WriteVerb.UPDATE: "PUT",
    WriteVerb.PATCH: "PATCH",
    WriteVerb.DELETE: "DELETE",
}
_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"


class PageOptions(TypedDict, total=False):
    """What selects the objects of a list, and how their pages are read: whole JSON in pages of `PAGE` by default."""

    labels: str
    fields: str
    decode: Any
    limit: int
    accept: str
    cancel: threading.Event | None


class Client:
    """Client of one cluster.

    Methods raise the errors of `kymatui.errors`, and CancelledError once `cancel` is set.
    """

    def __init__(self, transport: Transport, discovery: Discovery | None = None) -> None:
        self.transport = transport
        self.discovery = discovery or Discovery(transport)
        self.heartbeat = Heartbeat(transport)
        connection = transport.connection
        self.ledger = open_budget(connection.endpoint.server, from_secret=connection.from_secret)
        self.streams_lists = True  # until the server shows that it cannot send a list in a watch

    def resource(self, gvk: GroupVersionKind) -> ApiResource:
        """Return the resource of a kind. Raise NotFoundError if the cluster does not serve it."""
        resource = self.discovery.find(gvk)
        if resource is None:
            served = ", ".join(self.discovery.versions(gvk.group)) or "no kind of the group"
            raise NotFoundError(
                f"{self.transport.connection.endpoint.host} does not serve {gvk}",
                hint=f"it serves {served}; check that the CRD is installed",
                status=404,
            )
        return resource

    # reading

    def get(
        self,
        resource: ApiResource,
        name: str,
        namespace: str = "",
        *,
        subresource: str = "",
        decode: Any = None,
        accept: str = "application/json",
        cancel: threading.Event | None = None,
    ) -> Object:
        """Return one object, whole or projected. Raise ServerError if the answer is another object."""

        def read(answer: Answer) -> Object:
            item = Decoder(decode).object(answer.body) if decode else read_object(answer)
            return item if subresource not in _OF_THE_OBJECT else checked(item, answer, resource, namespace, name)

        path = resource.path(namespace, name, subresource)
        return self.transport.read(Request("GET", path, accept=accept), read, cancel)

    def list(self, resource: ApiResource, namespace: str = "", **options: Unpack[PageOptions]) -> Page:
        """List all objects page by page. Start again once if the continue token expires between two pages."""

        def whole() -> Page:
            claim, items, version = BudgetClaim(self.ledger), [], ""
            for page in self.pages(resource, namespace, **options):
                claim.add(weigh_all(page.items))
                items += page.items
                version = version or page.resource_version
            return Page(items, version)

        try:
            return whole()
        except ExpiredError:  # the continue token expired between two pages; the new list starts at a new version
            return whole()

    def pages(
        self, resource: ApiResource, namespace: str = "", *, strict: bool = True, **options: Unpack[PageOptions]
    ) -> Iterator[Page]:
        """Yield the pages of a list, so that few objects are in memory at a time. Raise ExpiredError on 410.

        With `strict`, an object that cannot be decoded raises ServerError; without it, the object is yielded as it
        is.
        """
        query, decoder = (
            _selectors(options.get("labels", ""), options.get("fields", "")),
            Decoder(options.get("decode")),
        )
        accept = options.get("accept", "application/json")
        run = PagedList(self.transport, resource, namespace, query, decoder, accept, strict=strict)
        return run.pages(options.get("limit", PAGE), options.get("cancel"))

    def table(
        self,
        resource: ApiResource,
        namespace: str = "",
        *,
        labels: str = "",
        fields: str = "",
        objects: str = "Metadata",
        cancel: threading.Event | None = None,
    ) -> Object:
        """Return the server's table for kubectl-like columns.

        `objects` (None, Metadata or Object) is the part of each object that the server adds to its row.
        """
        query = [*_selectors(labels, fields), ("includeObject", objects)]
        return self.transport.read(Request("GET", resource.path(namespace), query, accept=_TABLE), read_object, cancel)

    def open_log(self, query: LogQuery, cancel: threading.Event | None = None) -> AnswerStream:
        """Open the log of a container as a stream of bytes. Raise InvalidError if the container has no log yet.

        A container that is silent for some minutes raises UnreachableError in the stream: a dead connection looks
        the same.
        """
        path = ApiResource("", "v1", "Pod", "pods", True).path(query.namespace, query.pod, "log")
        silence, lasts = (_LOG_SILENCE, _LOG_LASTS) if query.options.follow else (60.0, _LOG_LASTS)
        request = Request("GET", path, query.parameters, accept="text/plain, */*", timeout=(5.0, silence), lasts=lasts)
        return self.transport.stream(request, cancel)

    def version(self, cancel: threading.Event | None = None) -> Object:
        """Return the answer of `/version`: `gitVersion`, `major`, `minor`, `platform`."""
        return self.transport.read(Request("GET", "/version"), read_object, cancel)

    # writing

    def write(self, resource: ApiResource, write: Write, cancel: threading.Event | None = None) -> Object:
        """Send a write of an object of this resource, or of a subresource, and return the answer.

        It is the object; for a deletion a Status, or the object that finalizers hold. The ConflictError of an apply
        has the conflicting fields in `body["details"]["causes"]`.
        """
        name = "" if write.verb is WriteVerb.CREATE and not write.subresource else write.ref.name
        path = resource.path(write.ref.namespace, name, write.subresource)
        is_object = write.verb is not WriteVerb.DELETE and write.subresource in _OF_THE_OBJECT

        def read(answer: Answer) -> Object:
            written = read_object(answer)
            return checked(written, answer, resource) if is_object else written

        body = msgspec.json.encode(_delete_options(write) if write.verb is WriteVerb.DELETE else write.body)
        content_type = {WriteVerb.APPLY: _APPLY, WriteVerb.PATCH: write.patch.value}.get(write.verb, "application/json")
        request = Request(
            _METHODS[write.verb], path, _write_query(write), body, content_type=content_type, timeout=(5.0, 60.0)
        )
        return self.transport.read(request, read, cancel)


def _delete_options(write: Write) -> dict[str, Any]:
    conditions = {"uid": write.uid, "resourceVersion": write.resource_version}
    preconditions = {key: value for key, value in conditions.items() if value}
    return {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "propagationPolicy": write.propagation,
        **({"dryRun": ["All"]} if write.dry_run else {}),
        **({"preconditions": preconditions} if preconditions else {}),
    }


def _selectors(labels: str, fields: str) -> list[tuple[str, str]]:
    pairs = (("labelSelector", labels), ("fieldSelector", fields))
    return [(key, value) for key, value in pairs if value]


def _write_query(write: Write) -> list[tuple[str, str]]:
    if write.verb is WriteVerb.DELETE:
        return []
    query = [("fieldManager", write.manager), ("fieldValidation", write.validation)]
    query += [("dryRun", "All")] if write.dry_run else []
    return query + ([("force", str(write.force).lower())] if write.verb is WriteVerb.APPLY else [])


_AUTHORIZATION = "authorization.k8s.io/v1"
_AUTHENTICATION = "authentication.k8s.io/v1"
_LIFETIME = 300.0  # seconds for which an answer about permissions is used again


class _Pending:
    """A rules review that was sent and not answered."""

    def __init__(self) -> None:
        self.done = threading.Event()
        self.rights: Rights | None = None
        self.error: ClusterError | None = None

    def wait(self) -> Rights:
        """Return the answer, or raise the error of the thread that asked."""
        self.done.wait()
        if self.rights is None:
            raise self.error or ClusterError("the review of the permissions was cancelled")
        return self.rights


class Reviews:
    """Checks permissions and caches the answers; threads may share it."""

    def __init__(self, transport: Transport, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._transport = transport
        self._clock = clock
        self._lock = threading.Lock()
        self._rights: dict[str, tuple[float, Rights]] = {}
        self._pending: dict[str, _Pending] = {}
        self._answers: dict[tuple[str, ...], tuple[float, bool]] = {}

    def rights(self, namespace: str) -> Rights:
        """Return the user's rules in a namespace (SelfSubjectRulesReview).

        Threads that ask at the same time get the answer, or the error, of one request.
        """
        with self._lock:
            known = self._rights.get(namespace)
            if known is not None and self._clock() - known[0] < _LIFETIME:
                return known[1]
            pending, is_first = self._pending.get(namespace), namespace not in self._pending
            if pending is None:
                pending = self._pending[namespace] = _Pending()
        if not is_first:
            return pending.wait()
        try:
            pending.rights = rights = self._review_rules(namespace)
        except ClusterError as error:
            pending.error = error
            raise
        finally:
            with self._lock:
                if pending.rights is not None:
                    self._rights[namespace] = (self._clock(), pending.rights)
                self._pending.pop(namespace, None)
            pending.done.set()
        return rights

    def may_write(self, namespace: str) -> bool:
        """Return whether the user may write any object of a namespace; True where the server cannot list every rule."""
        try:
            rights = self.rights(namespace)
        except ClusterError:
            return True
        return rights.incomplete or rights.can_write

    def _review_rules(self, namespace: str) -> Rights:
        from kymatui.domain.rights import Rights

        status = self._ask("selfsubjectrulesreviews", "SelfSubjectRulesReview", {"namespace": namespace or "default"})
        rules = tuple(msgspec.structs.asdict(rule) for rule in status.resourceRules or ())
        return Rights(rules, status.incomplete)

    def allowed(self, verb: str, resource: str, group: str = "", *, namespace: str = "", name: str = "") -> bool:
        """Return whether the user is allowed; an empty namespace means all namespaces.

        One SelfSubjectRulesReview answers for all resources of a namespace. Only where its rules are incomplete is a
        SelfSubjectAccessReview sent for the single request.
        """
        if namespace:
            with contextlib.suppress(ClusterError):  # not every server offers this review; the single one decides
                rights = self.rights(namespace)
                if rights.allow(verb, group, resource, name):
                    return True
                if not rights.incomplete:
                    return False
        return self._single(verb, resource, group, namespace, name)

    def _single(self, verb: str, resource: str, group: str, namespace: str, name: str) -> bool:
        key = (verb, resource, group, namespace, name)
        with self._lock:
            known = self._answers.get(key)
            if known is not None and self._clock() - known[0] < _LIFETIME:
                return known[1]
        plural, _, part = resource.partition("/")
        review_attributes = {
            "verb": verb,
            "group": group,
            "resource": plural,
            "subresource": part,
            "namespace": namespace,
            "name": name,
        }
        attributes = {field: value for field, value in review_attributes.items() if value}
        status = self._ask("selfsubjectaccessreviews", "SelfSubjectAccessReview", {"resourceAttributes": attributes})
        allowed = bool(status.allowed)
        with self._lock:
            self._answers[key] = (self._clock(), allowed)
        return allowed

    def forget(self) -> None:
        """Drop the cached answers, because roles or credentials changed."""
        with self._lock:
            self._rights.clear()
            self._answers.clear()

    def user(self) -> str:
        """Return the name of the user as the server knows it (SelfSubjectReview, Kubernetes 1.28).

        Raise NotFoundError where the server is older.
        """
        status = self._ask("selfsubjectreviews", "SelfSubjectReview", None, _AUTHENTICATION)
        return str((status.userInfo or {}).get("username") or "")

    def _ask(self, plural: str, kind: str, spec: Mapping[str, Any] | None, version: str = _AUTHORIZATION) -> Any:
        body = {"apiVersion": version, "kind": kind, **({"spec": spec} if spec is not None else {})}
        request = Request("POST", f"/apis/{version}/{plural}", body=msgspec.json.encode(body))
        return self._transport.read(request, lambda answer: read_typed(answer, _review_type)).status


@lru_cache(maxsize=1)
def _review_type() -> Any:

    texts = list[str] | None
    rule: Any = msgspec.defstruct(
        "Rule", [(name, texts, None) for name in ("verbs", "apiGroups", "resources", "resourceNames")], frozen=True
    )
    status: Any = msgspec.defstruct(
        "Status",
        [
            ("allowed", bool, False),
            ("incomplete", bool, False),
            ("resourceRules", list[rule] | None, None),
            ("userInfo", dict[str, Any] | None, None),
        ],
    )
    return msgspec.defstruct("Review", [("status", status)])
