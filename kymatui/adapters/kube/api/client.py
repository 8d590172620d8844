"""The Kubernetes client of one cluster; objects are plain dictionaries."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any

import msgspec
from msgspec import Struct

from kymatui.adapters.kube.api.discovery import Discovery
from kymatui.adapters.kube.objects.api_resource import ApiResource
from kymatui.adapters.kube.objects.chunked_list import PAGE, Page, PagedList
from kymatui.adapters.kube.objects.decoder import Decoder, Object, checked, read_object
from kymatui.adapters.kube.objects.memory_budget import BudgetClaim, open_budget, weigh_all
from kymatui.adapters.kube.transport.heartbeat import Heartbeat
from kymatui.adapters.kube.transport.streams import AnswerStream
from kymatui.adapters.kube.transport.transport import Answer, Request, Transport
from kymatui.domain.kubernetes.refs import GroupVersionKind
from kymatui.domain.logs.log_query import LogQuery
from kymatui.errors import ExpiredError, NotFoundError

FIELD_MANAGER = "kymatui"
_OF_THE_OBJECT = ("", "status")  # subresources whose answer is the object itself
_LOG_SILENCE = 300.0  # seconds
_LOG_LASTS = 86400.0  # seconds: a day; logs are followed for as long as a screen displays them
_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"


class PatchType(StrEnum):
    """The patch formats, by content type."""

    JSON = "application/json-patch+json"
    MERGE = "application/merge-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"
    APPLY = "application/apply-patch+yaml"


class Write(Struct, frozen=True):
    """Options of a write: `dry_run` persists nothing; `force` (apply only) overrides other field managers."""

    dry_run: bool = False
    force: bool = False
    manager: str = FIELD_MANAGER
    validation: str = "Strict"


_PLAIN = Write()


class Client:
    """Client of one cluster.

    Methods raise the errors of `kymatui.errors`, and CancelledError once `cancel` is set.
    """

    def __init__(self, transport: Transport, discovery: Discovery | None = None) -> None:
        self.transport = transport
        self.discovery = discovery or Discovery(transport)
        self.heartbeat = Heartbeat(transport)
        connection = transport.connection
        self.ledger = open_budget(connection.endpoint.server, given=connection.given)
        self.streams_lists = True  # until the server shows that it cannot send a list in a watch

    def resource(self, gvk: GroupVersionKind) -> ApiResource:
        """Return the resource of a kind. Raise NotFoundError if the cluster does not serve it."""
        found = self.discovery.find(gvk)
        if found is None:
            served = ", ".join(self.discovery.versions(gvk.group)) or "no kind of the group"
            raise NotFoundError(
                f"{self.transport.connection.endpoint.host} does not serve {gvk}",
                hint=f"it serves {served}; check that the CRD is installed",
                status=404,
            )
        return found

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

    def list(
        self,
        resource: ApiResource,
        namespace: str = "",
        *,
        labels: str = "",
        fields: str = "",
        decode: Any = None,
        limit: int = PAGE,
        accept: str = "application/json",
        cancel: threading.Event | None = None,
    ) -> Page:
        """List all objects page by page. Start again once if the continue token expires between two pages."""

        def whole() -> Page:
            claim, items, version = BudgetClaim(self.ledger), [], ""
            pages = self.pages(
                resource,
                namespace,
                labels=labels,
                fields=fields,
                decode=decode,
                limit=limit,
                accept=accept,
                cancel=cancel,
            )
            for page in pages:
                claim.add(weigh_all(page.items))
                items += page.items
                version = version or page.resource_version
            return Page(items, version)

        try:
            return whole()
        except ExpiredError:  # the continue token expired between two pages; the new list starts at a new version
            return whole()

    def pages(
        self,
        resource: ApiResource,
        namespace: str = "",
        *,
        labels: str = "",
        fields: str = "",
        decode: Any = None,
        limit: int = PAGE,
        accept: str = "application/json",
        strict: bool = True,
        cancel: threading.Event | None = None,
    ) -> Iterator[Page]:
        """Yield the pages of a list, so that few objects are in memory at a time. Raise ExpiredError on 410.

        With `strict`, an object that cannot be decoded raises ServerError; without it, the object is yielded as it
        is.
        """
        query = _selectors(labels, fields)
        run = PagedList(self.transport, resource, namespace, query, Decoder(decode), accept, strict=strict)
        return run.pages(limit, cancel)

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

    def create(
        self,
        resource: ApiResource,
        body: Mapping[str, Any],
        namespace: str = "",
        *,
        name: str = "",
        subresource: str = "",
        how: Write = _PLAIN,
        cancel: threading.Event | None = None,
    ) -> Object:
        """Create an object, or post to a subresource (`eviction`, `token`, `binding`)."""
        path = resource.path(namespace, name, subresource)
        made = None if subresource else resource
        return self._write("POST", path, body, _write_query(how), made=made, cancel=cancel)

    def update(
        self,
        resource: ApiResource,
        body: Mapping[str, Any],
        *,
        subresource: str = "",
        how: Write = _PLAIN,
        cancel: threading.Event | None = None,
    ) -> Object:
        """Replace an object. If the body has a resourceVersion, it must be the current one."""
        path = resource.path(*_place(body), subresource)
        made = resource if subresource in _OF_THE_OBJECT else None
        return self._write("PUT", path, body, _write_query(how), made=made, cancel=cancel)

    def patch(
        self,
        resource: ApiResource,
        name: str,
        patch: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        kind: PatchType,
        namespace: str = "",
        *,
        subresource: str = "",
        how: Write = _PLAIN,
        cancel: threading.Event | None = None,
    ) -> Object:
        """Patch an object. A JSON patch is a sequence of operations; the other formats are objects."""
        query = _write_query(how)
        if kind is PatchType.APPLY:
            query.append(("force", str(how.force).lower()))
        path = resource.path(namespace, name, subresource)
        made = resource if subresource in _OF_THE_OBJECT else None
        return self._write("PATCH", path, patch, query, made=made, content_type=kind.value, cancel=cancel)

    def apply(
        self,
        resource: ApiResource,
        body: Mapping[str, Any],
        *,
        subresource: str = "",
        how: Write = _PLAIN,
        cancel: threading.Event | None = None,
    ) -> Object:
        """Apply server-side. Raise ConflictError, with the conflicting fields in `body["details"]["causes"]`."""
        namespace, name = _place(body)
        return self.patch(
            resource, name, body, PatchType.APPLY, namespace, subresource=subresource, how=how, cancel=cancel
        )

    def delete(
        self,
        resource: ApiResource,
        name: str,
        namespace: str = "",
        *,
        propagation: str = "Background",
        uid: str = "",
        resource_version: str = "",
        grace: int | None = None,
        dry_run: bool = False,
        cancel: threading.Event | None = None,
    ) -> Object:
        """Delete an object; `uid` and `resource_version` are preconditions.

        Return the object if finalizers still block the deletion, else a Status. `propagation` is Background,
        Foreground or Orphan.
        """
        options = _delete_options(propagation, grace, dry_run)
        wanted = {"uid": uid, "resourceVersion": resource_version}
        if preconditions := {key: value for key, value in wanted.items() if value}:
            options["preconditions"] = preconditions
        return self._write("DELETE", resource.path(namespace, name), options, [], cancel=cancel)

    def _write(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        query: Sequence[tuple[str, str]],
        *,
        made: ApiResource | None = None,
        content_type: str = "application/json",
        cancel: threading.Event | None = None,
    ) -> Object:
        """Send a write and return the answer; with `made`, it must be an object of that resource."""

        def read(answer: Answer) -> Object:
            found = read_object(answer)
            return found if made is None else checked(found, answer, made)

        request = Request(
            method, path, query, msgspec.json.encode(body), content_type=content_type, timeout=(5.0, 60.0)
        )
        return self.transport.read(request, read, cancel)


def _place(body: Mapping[str, Any]) -> tuple[str, str]:
    """Return namespace and name of an object, "" for a missing one."""
    metadata = body.get("metadata") or {}
    return str(metadata.get("namespace") or ""), str(metadata.get("name") or "")


def _delete_options(propagation: str, grace: int | None, dry_run: bool) -> dict[str, Any]:
    options: dict[str, Any] = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": propagation}
    if grace is not None:
        options["gracePeriodSeconds"] = grace
    if dry_run:
        options["dryRun"] = ["All"]
    return options


def _selectors(labels: str, fields: str) -> list[tuple[str, str]]:
    pairs = (("labelSelector", labels), ("fieldSelector", fields))
    return [(key, value) for key, value in pairs if value]


def _write_query(how: Write) -> list[tuple[str, str]]:
    query = [("fieldManager", how.manager), ("fieldValidation", how.validation)]
    return query + ([("dryRun", "All")] if how.dry_run else [])
