"""POST, PUT and PATCH, in the order of steps of k8s.io/apiserver/pkg/registry/generic/registry."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from kymatui.sandbox.apimachinery.clock import SandboxClock
from kymatui.sandbox.apimachinery.exchange import RequestUser, ServerRequest, ServerResponse
from kymatui.sandbox.apimachinery.object_store import ObjectStore, Stored
from kymatui.sandbox.apimachinery.statuses import (
    StatusError,
    already_exists,
    conflict,
    failure,
    forbidden,
    invalid,
    not_found,
)
from kymatui.sandbox.apiserver.encoding.body_decoding import check_kind, decode_body, decode_typed, duplicate_fields
from kymatui.sandbox.apiserver.encoding.content_negotiation import negotiate
from kymatui.sandbox.apiserver.encoding.patch_bodies import APPLY, Patch, read_patch
from kymatui.sandbox.apiserver.reads.object_reads import ObjectReader
from kymatui.sandbox.apiserver.requests.request_info import RequestInfo
from kymatui.sandbox.apiserver.requests.request_options import WriteOptions, write_options
from kymatui.sandbox.apiserver.resources.held_objects import HeldObjects, Ownership
from kymatui.sandbox.apiserver.resources.request_meta import (
    check_name,
    check_namespace,
    check_version,
    drop_system_fields,
    fill_new,
    keep_system_fields,
    metadata_of,
)
from kymatui.sandbox.apiserver.resources.resource import Cause, Object, ServedResource
from kymatui.sandbox.apiserver.resources.resource_catalog import ResourceCatalog
from kymatui.sandbox.apiserver.writes.admission_plugins import Admission
from kymatui.sandbox.apiserver.writes.kind_hooks import KindRules
from kymatui.sandbox.apiserver.writes.object_deletion import finished
from kymatui.sandbox.apiserver.writes.quota_check import check_quotas


class WriteResult(Struct):
    """The object to answer with, and whether it was created."""

    obj: Object
    created: bool


class ObjectWriter(Struct):
    """Creates and changes objects."""

    store: ObjectStore
    clock: SandboxClock
    reader: ObjectReader
    kinds: ResourceCatalog
    admission: Admission
    ownership: Ownership
    rules: KindRules
    holding: HeldObjects

    # -- POST

    def create(
        self, request: ServerRequest, info: RequestInfo, resource: ServedResource, user: RequestUser
    ) -> ServerResponse:
        accepted = negotiate(request)
        options = write_options(request, "CreateOptions")
        obj = decode_body(request, resource)
        check_kind(obj, resource, self.kinds.registered, request.body)
        doubled = duplicate_fields(request.body) if options.validation != "Ignore" else []
        obj, warnings = decode_typed(obj, resource, options.validation, doubled)
        check_namespace(obj, info.namespace, resource)
        written = self.create_object(resource, obj, user, options)
        return with_warnings(self.reader.answer_object(request, resource, written, accepted, 201), warnings)

    def create_object(
        self, resource: ServedResource, obj: Object, user: RequestUser, options: WriteOptions, *, applied: bool = False
    ) -> Object:
        """Create a decoded object. Raise StatusError."""
        now = self.clock.now()
        metadata = metadata_of(obj)
        drop_system_fields(obj)
        if not applied:
            self.ownership.created(resource, obj, options.manager, now)
        self.admission.create(resource, obj, user)
        version = metadata.pop("resourceVersion", None)
        fill_new(obj, now)
        resource.semantics.prepare_create(obj)
        self.rules.allocate(resource, obj)
        _raise_causes(resource, obj, resource.semantics.validate_create(obj))
        if version and options.dry_run:
            metadata["resourceVersion"] = version
        elif version:
            raise failure(500, "", "resourceVersion should not be set on objects to be created")
        name = metadata.get("name") or ""
        namespace = metadata.get("namespace") or ""
        if namespace:
            check_quotas(self.store, resource.full_name, obj)
        existing = self.store.get(resource.full_name, namespace, name)
        if existing is not None:
            raise _exists(resource, existing, name)
        self.admission.validate(resource, obj, None, user)
        if resource.terminating:
            why = "create not allowed while custom resource definition is terminating"
            raise forbidden(resource.full_name, name, why)
        if options.dry_run:
            return obj
        return self.reader.object(resource, self.store.put(resource.full_name, obj))

    # -- PUT

    def update(
        self, request: ServerRequest, info: RequestInfo, resource: ServedResource, user: RequestUser
    ) -> ServerResponse:
        accepted = negotiate(request)
        options = write_options(request, "UpdateOptions")
        obj = decode_body(request, resource)
        check_kind(obj, resource, self.kinds.registered, request.body)
        resets = isinstance(obj.get("metadata"), dict) and obj["metadata"].get("managedFields") == []
        doubled = duplicate_fields(request.body) if options.validation != "Ignore" else []
        obj, warnings = decode_typed(obj, resource, options.validation, doubled)
        check_namespace(obj, info.namespace, resource)
        check_name(obj, info.name)
        if resets:
            metadata_of(obj)["managedFields"] = [{}]
        written = self.update_object(resource, obj, info, user, options)
        answer = self.reader.answer_object(request, resource, written.obj, accepted, 201 if written.created else 200)
        return with_warnings(answer, warnings)

    def update_object(
        self, resource: ServedResource, obj: Object, info: RequestInfo, user: RequestUser, options: WriteOptions
    ) -> WriteResult:
        namespace = info.namespace if resource.namespaced else ""
        stored = self.store.get(resource.full_name, namespace, info.name)
        if stored is None:
            if not resource.creates_on_update or info.subresource:
                raise not_found(resource.full_name, info.name)
            metadata_of(obj).pop("resourceVersion", None)
            return WriteResult(self.create_object(resource, obj, user, options), True)
        _check_uid(resource, obj, stored, info)
        live = self.reader.object(resource, stored)
        keep_managed(obj, live)
        self.ownership.updated(resource, live, obj, options.manager, info.subresource, self.clock.now())
        return WriteResult(self.replace(resource, stored, live, obj, info, user, options), False)

    def replace(
        self,
        resource: ServedResource,
        stored: Stored,
        live: Object,
        obj: Object,
        info: RequestInfo,
        user: RequestUser,
        options: WriteOptions,
    ) -> Object:
        """Replace the stored object by a changed one with its managed fields. Raise StatusError."""
        subresource = info.subresource
        check_version(obj, live, resource, info.name, unconditional=resource.unconditional_update)
        keep_system_fields(obj, live)
        resource.semantics.prepare_update(obj, live, subresource)
        self.rules.allocate(resource, obj, live)
        self.holding.keep(resource.full_name, obj)
        _raise_causes(resource, obj, resource.semantics.validate_update(obj, live, subresource), info.name)
        self.admission.validate(resource, obj, live, user)
        if same_but_times(obj, live):
            return live
        if stored.namespace and not subresource:
            check_quotas(self.store, resource.full_name, obj, live)
        if options.dry_run:
            return obj
        if finished(obj):
            self.store.remove(resource.full_name, stored.namespace, stored.name)
            return obj
        return self.reader.object(resource, self.store.put(resource.full_name, obj))

    # -- PATCH

    def patch(
        self, request: ServerRequest, info: RequestInfo, resource: ServedResource, user: RequestUser
    ) -> ServerResponse:
        patch = read_patch(request, resource)
        accepted = negotiate(request)
        options = write_options(request, "PatchOptions", apply=patch.kind == APPLY)
        patch.parse()
        namespace = info.namespace if resource.namespaced else ""
        stored = self.store.get(resource.full_name, namespace, info.name)
        if patch.kind == APPLY:
            written, warnings = self._apply(request, info, resource, user, options, patch, stored)
        else:
            if stored is None:
                raise not_found(resource.full_name, info.name)
            written, warnings = self._change(info, resource, user, options, patch, stored)
        status = 201 if written.created else 200
        return with_warnings(self.reader.answer_object(request, resource, written.obj, accepted, status), warnings)

    def _change(
        self,
        info: RequestInfo,
        resource: ServedResource,
        user: RequestUser,
        options: WriteOptions,
        patch: Patch,
        stored: Stored,
    ) -> tuple[WriteResult, list[str]]:
        live = self.reader.object(resource, stored)
        patched = patch.apply(resource, self.reader.object(resource, stored))
        resets = metadata_of(patched).get("managedFields") == []
        obj, warnings = patch.decode(patched, resource, options.validation, self.kinds.registered)
        check_namespace(obj, info.namespace, resource)
        check_name(obj, info.name)
        if resets:
            metadata_of(obj)["managedFields"] = [{}]
        self.ownership.updated(resource, live, obj, options.manager, info.subresource, self.clock.now())
        return WriteResult(self.replace(resource, stored, live, obj, info, user, options), False), warnings

    def _apply(
        self,
        request: ServerRequest,
        info: RequestInfo,
        resource: ServedResource,
        user: RequestUser,
        options: WriteOptions,
        patch: Patch,
        stored: Stored | None,
    ) -> tuple[WriteResult, list[str]]:
        applied_object = patch.applied_object(resource, info)
        if stored is None:
            if info.subresource:
                raise not_found(resource.full_name, info.name)
            return self._apply_new(resource, applied_object, user, options, info)
        live = self.reader.object(resource, stored)
        resource_version = metadata_of(applied_object).get("resourceVersion")
        obj, warnings = self.ownership.applied(
            resource,
            live,
            applied_object,
            options.manager,
            info.subresource,
            self.clock.now(),
            force=options.force,
            validation=options.validation,
        )
        check_namespace(obj, info.namespace, resource)
        check_name(obj, info.name)
        if resource_version:
            metadata_of(obj)["resourceVersion"] = resource_version
        return WriteResult(self.replace(resource, stored, live, obj, info, user, options), False), warnings

    def _apply_new(
        self,
        resource: ServedResource,
        applied_object: Object,
        user: RequestUser,
        options: WriteOptions,
        info: RequestInfo,
    ) -> tuple[WriteResult, list[str]]:
        metadata = metadata_of(applied_object)
        if metadata.get("uid"):
            why = f"uid mismatch: the provided object specified uid {metadata['uid']}, and no existing object was found"
            raise conflict(resource.full_name, info.name, why)
        metadata.pop("resourceVersion", None)
        metadata.setdefault("name", info.name)
        if not metadata["name"]:
            metadata["name"] = info.name
        obj, warnings = self.ownership.applied(
            resource,
            None,
            applied_object,
            options.manager,
            info.subresource,
            self.clock.now(),
            force=options.force,
            validation=options.validation,
        )
        check_namespace(obj, info.namespace, resource)
        check_name(obj, info.name)
        return WriteResult(self.create_object(resource, obj, user, options, applied=True), True), warnings


def _exists(resource: ServedResource, existing: Stored, name: str) -> StatusError:
    error = already_exists(resource.full_name, name)
    if existing.body()["metadata"].get("deletionTimestamp"):
        error.status["message"] = f"object is being deleted: {error.status['message']}"
    return error


def _raise_causes(resource: ServedResource, obj: Object, causes: Sequence[Cause], name: str = "") -> None:
    if causes:
        raise invalid(resource.group_kind, name or metadata_of(obj).get("name") or "", causes)


def _check_uid(resource: ServedResource, obj: Object, stored: Stored, info: RequestInfo) -> None:
    uid = metadata_of(obj).get("uid")
    if uid and uid != stored.uid:
        where = f"{info.namespace}/{info.name}" if resource.namespaced else info.name
        group = resource.group + "/" if resource.custom else ""
        why = (
            f"StorageError: invalid object, Code: 4, Key: /registry/{group}{resource.name}/{where}, "
            "ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: "
            f"UID in precondition: {uid}, UID in object meta: {stored.uid}"
        )
        raise conflict(resource.full_name, info.name, why)


def keep_managed(obj: Object, live: Object) -> None:
    """Keep the stored managed fields if the update has none; an empty list clears them."""
    metadata = metadata_of(obj)
    if metadata.get("managedFields") is None and "managedFields" in live["metadata"]:
        metadata["managedFields"] = live["metadata"]["managedFields"]


def same_but_times(obj: Object, live: Object) -> bool:
    """Return whether only times of managed fields differ: such a write is not stored."""
    if obj == live:
        return True
    return _without_times(obj) == _without_times(live)


def _without_times(obj: Object) -> Object:
    metadata = dict(obj["metadata"])
    metadata.pop("resourceVersion", None)
    entries: list[dict[str, Any]] = metadata.get("managedFields") or []
    metadata["managedFields"] = [{k: v for k, v in entry.items() if k != "time"} for entry in entries]
    return {**obj, "metadata": metadata}


def with_warnings(response: ServerResponse, warnings: Sequence[str]) -> ServerResponse:
    """Add Warning headers (RFC 7234, code 299)."""
    for text in warnings:
        quoted = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
        response.headers.append(("Warning", f'299 - "{quoted}"'))
    return response
