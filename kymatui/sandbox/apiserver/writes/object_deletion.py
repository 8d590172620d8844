"""DELETE: immediate, graceful, or blocked by finalizers (k8s.io/apiserver/pkg/registry/generic)."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from kymatui.sandbox.apimachinery.clock import SandboxClock, timestamp
from kymatui.sandbox.apimachinery.exchange import RequestUser, ServerRequest, ServerResponse
from kymatui.sandbox.apimachinery.object_store import ObjectStore, Stored
from kymatui.sandbox.apimachinery.statuses import StatusError, bad_request, conflict, success
from kymatui.sandbox.apiserver.encoding.body_decoding import SCHEME, TYPE_STRUCT, as_json, go_type_name, parse_json
from kymatui.sandbox.apiserver.encoding.content_negotiation import negotiate
from kymatui.sandbox.apiserver.reads.object_reads import ObjectPage, ObjectReader, encode
from kymatui.sandbox.apiserver.requests.request_info import RequestInfo
from kymatui.sandbox.apiserver.requests.request_options import DeleteOptions, delete_options, list_options
from kymatui.sandbox.apiserver.resources.request_meta import metadata_of
from kymatui.sandbox.apiserver.resources.resource import Object, ServedResource
from kymatui.sandbox.apiserver.writes.kind_hooks import KindRules
from kymatui.schemas.objects.typed_decoding import DecodeError, decode
from kymatui.schemas.types.builtin_schemas import builtin_schema

ORPHAN, FOREGROUND = "orphan", "foregroundDeletion"
DEFAULT_POD_GRACE = 30


class ObjectDeleter(Struct):
    store: ObjectStore
    clock: SandboxClock
    reader: ObjectReader
    rules: KindRules

    def delete(
        self, request: ServerRequest, info: RequestInfo, resource: ServedResource, user: RequestUser
    ) -> ServerResponse:
        accepted = negotiate(request)
        options = delete_options(request, read_options(request))
        stored = self.reader.require(resource, info.namespace if resource.namespaced else "", info.name)
        remainder = self.delete_object(resource, stored, options, user)
        if remainder is not None:
            return encode(remainder, accepted)
        if resource.returns_deleted:
            return encode(self._last(resource, stored), accepted)
        return encode(success(resource.full_name, stored.name, stored.uid), accepted)

    def delete_object(
        self, resource: ServedResource, stored: Stored, options: DeleteOptions, user: RequestUser
    ) -> Object | None:
        """Delete or mark the object; return it if it stays (or for a dry run), None if it is deleted."""
        obj = self.reader.object(resource, stored)
        _check_preconditions(resource, obj, options)
        answered = self.rules.before_delete(resource, obj, options, user)
        if answered is not None:
            return answered
        graceful, grace = self._grace(resource, obj, options)
        finalizers = planned_finalizers(obj, options)
        metadata = obj["metadata"]
        before = msgspec.json.encode(obj)
        set_or_drop(metadata, "finalizers", finalizers)
        if not finalizers and not graceful:
            if not options.dry_run:
                self.store.remove(resource.full_name, stored.namespace, stored.name)
            return None
        self._mark(obj, grace)
        if msgspec.json.encode(obj) == before:
            return obj
        if options.dry_run:
            return obj
        kept = self.store.put(resource.full_name, obj)
        return self.reader.object(resource, kept)

    def _mark(self, obj: Object, grace: int) -> None:
        """Set the deletion fields; a second deletion can only shorten the grace period."""
        metadata = obj["metadata"]
        if "deletionTimestamp" in metadata:
            if grace < (metadata.get("deletionGracePeriodSeconds") or 0):
                metadata["deletionGracePeriodSeconds"] = grace
                metadata["deletionTimestamp"] = timestamp(self.clock.now() + grace)
            return
        metadata["deletionTimestamp"] = timestamp(self.clock.now() + grace)
        metadata["deletionGracePeriodSeconds"] = grace
        if metadata.get("generation"):
            metadata["generation"] += 1

    def _grace(self, resource: ServedResource, obj: Object, options: DeleteOptions) -> tuple[bool, int]:
        """Return (wait for the kubelet, seconds); only pods on a node are deleted gracefully."""
        if resource.full_name != "pods":
            return False, 0
        spec, status = obj.get("spec") or {}, obj.get("status") or {}
        grace = options.grace if options.grace is not None else spec.get("terminationGracePeriodSeconds")
        grace = DEFAULT_POD_GRACE if grace is None else max(grace, 1) if grace < 0 else grace
        if not spec.get("nodeName") or status.get("phase") in ("Succeeded", "Failed"):
            grace = 0
        return grace > 0, grace

    def _last(self, resource: ServedResource, stored: Stored) -> Object:
        obj = self.reader.object(resource, stored)
        if resource.full_name == "pods":
            obj["metadata"].setdefault("deletionTimestamp", timestamp(self.clock.now()))
            obj["metadata"]["deletionGracePeriodSeconds"] = 0
        return obj

    # -- collections

    def delete_collection(
        self, request: ServerRequest, info: RequestInfo, resource: ServedResource, user: RequestUser
    ) -> ServerResponse:
        accepted = negotiate(request)
        selection = list_options(request)
        options = delete_options(request, read_options(request))
        page = self.reader.select(info, resource, selection)
        shown: list[Stored] = []
        for stored in page.items:
            if self._delete_one_of(resource, stored, options, user):
                shown.append(stored)
        return self.reader.list_answer(
            request, resource, ObjectPage(shown, page.version, page.token, page.remaining), accepted
        )

    def _delete_one_of(
        self, resource: ServedResource, stored: Stored, options: DeleteOptions, user: RequestUser
    ) -> bool:
        try:
            self.delete_object(resource, stored, options, user)
        except StatusError as error:
            if error.reason != "NotFound":
                raise
            return False
        return True


def finished(obj: Object) -> bool:
    """Return whether a terminating object has nothing left to wait for."""
    metadata = obj["metadata"]
    return (
        bool(metadata.get("deletionTimestamp"))
        and not metadata.get("finalizers")
        and not (metadata.get("deletionGracePeriodSeconds") or 0)
        and not _keeps_itself(obj)
    )


def _keeps_itself(obj: Object) -> bool:
    """Return whether a namespace has finalizers in its spec."""
    return obj.get("kind") == "Namespace" and bool((obj.get("spec") or {}).get("finalizers"))


def planned_finalizers(obj: Object, options: DeleteOptions) -> list[str]:
    """Return the finalizers for the propagation policy."""
    finalizers = [name for name in metadata_of(obj).get("finalizers") or [] if name not in (ORPHAN, FOREGROUND)]
    current = metadata_of(obj).get("finalizers") or []
    if options.orphan is not None:
        return [*finalizers, ORPHAN] if options.orphan else finalizers
    if options.policy:
        more = {"Orphan": [ORPHAN], "Foreground": [FOREGROUND]}.get(options.policy, [])
        return finalizers + more
    if obj.get("kind") == "Job":
        return [*finalizers, ORPHAN]  # the legacy default of jobs
    kept = [name for name in current if name in (ORPHAN, FOREGROUND)]
    if ORPHAN in kept:
        return [*finalizers, ORPHAN]
    if FOREGROUND in kept:
        return [*finalizers, FOREGROUND]
    return finalizers


def set_or_drop(metadata: dict[str, Any], name: str, value: Any) -> None:
    """Set the field, or remove it for an empty value."""
    if value:
        metadata[name] = value
    else:
        metadata.pop(name, None)


def _check_preconditions(resource: ServedResource, obj: Object, options: DeleteOptions) -> None:
    metadata = obj["metadata"]
    name = metadata["name"]
    kind = resource.group_kind
    if options.uid is not None and options.uid != metadata["uid"]:
        raise conflict(
            kind,
            name,
            f"the UID in the precondition ({options.uid}) does not match the UID in record ({metadata['uid']}). "
            "The object might have been deleted and then recreated",
        )
    if options.version is not None and options.version != metadata["resourceVersion"]:
        raise conflict(
            kind,
            name,
            f"the ResourceVersion in the precondition ({options.version}) does not match the ResourceVersion in record "
            f"({metadata['resourceVersion']}). The object might have been modified",
        )


def read_options(request: ServerRequest) -> dict[str, Any] | None:
    """Return the DeleteOptions of the body, None without a body. Raise StatusError 400, 415."""
    if not request.body:
        return None
    try:
        value = parse_json(as_json(request))
    except ValueError as error:
        raise bad_request(f"couldn't get version/kind; json parse error: {error}") from None
    if not isinstance(value, dict):
        why = f"json: cannot unmarshal {go_type_name(value)} into Go value of type {TYPE_STRUCT}"
        raise bad_request(f"couldn't get version/kind; json parse error: {why}")
    kind, version = value.get("kind"), value.get("apiVersion") or ""
    if kind and kind != "DeleteOptions":
        raise bad_request(f'no kind "{kind}" is registered for version "{version}" {SCHEME}')
    try:
        decode(builtin_schema(("", "v1", "DeleteOptions")), value)
    except DecodeError as error:
        raise bad_request(str(error)) from None
    return value
