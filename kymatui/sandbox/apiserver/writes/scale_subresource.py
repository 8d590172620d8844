"""The scale subresource of workloads (autoscaling/v1)."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from kymatui.sandbox.apimachinery.exchange import RequestUser, ServerRequest, ServerResponse
from kymatui.sandbox.apimachinery.object_store import Stored
from kymatui.sandbox.apimachinery.statuses import StatusError, bad_request, invalid, method_not_allowed, modified
from kymatui.sandbox.apiserver.encoding.body_decoding import as_json, parse_json
from kymatui.sandbox.apiserver.encoding.content_negotiation import negotiate
from kymatui.sandbox.apiserver.encoding.patch_bodies import APPLY, JSON_PATCH, patch_failure, read_patch
from kymatui.sandbox.apiserver.reads.object_reads import ObjectReader, encode
from kymatui.sandbox.apiserver.requests.request_info import RequestInfo
from kymatui.sandbox.apiserver.requests.request_options import write_options
from kymatui.sandbox.apiserver.resources.request_meta import metadata_of
from kymatui.sandbox.apiserver.resources.resource import Object, ServedResource
from kymatui.sandbox.apiserver.writes.object_writes import ObjectWriter
from kymatui.sandbox.patching.json_patch import PatchFailedError, apply_json_patch, apply_merge_patch

_BUILTIN = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}


class ScaleSubresource:
    """Serves GET, PUT and PATCH of a scale."""

    def __init__(self, reader: ObjectReader, writer: ObjectWriter) -> None:
        self._reader = reader
        self._writer = writer

    def serve(
        self, request: ServerRequest, info: RequestInfo, resource: ServedResource, user: RequestUser
    ) -> ServerResponse:
        accepted = negotiate(request)
        if request.method not in ("GET", "PUT", "PATCH"):
            raise method_not_allowed()
        stored = self._reader.require(resource, info.namespace, info.name)
        live = self._reader.object(resource, stored)
        paths = resource.scale_paths or _BUILTIN
        if request.method == "GET":
            return encode(scale_of(live, resource, paths), accepted)
        if request.method == "PATCH" and read_patch(request, resource).kind == APPLY:
            return encode(scale_of(self._applied(request, info, resource, user, stored), resource, paths), accepted)
        options = write_options(request, "UpdateOptions" if request.method == "PUT" else "PatchOptions")
        scale = self._requested_scale(request, resource, scale_of(live, resource, paths))
        self._check(scale, live, resource, info)
        obj = self._reader.object(resource, stored)
        _write(obj, paths["specReplicasPath"], (scale.get("spec") or {}).get("replicas") or 0)
        self._writer.ownership.updated(resource, live, obj, options.manager, "scale", self._reader.clock.now())
        if resource.custom:
            _forget_time(obj)
        placed = RequestInfo(
            info.path, info.verb, info.group, info.version, info.namespace, info.resource, "", info.name
        )
        written = self._writer.replace(resource, stored, live, obj, placed, user, options)
        return encode(scale_of(written, resource, paths), accepted)

    def _applied(
        self, request: ServerRequest, info: RequestInfo, resource: ServedResource, user: RequestUser, stored: Stored
    ) -> Object:
        """Apply a scale server-side: it owns only the replicas field of the object."""
        options = write_options(request, "PatchOptions", apply=True)
        patch = read_patch(request, resource)
        patch.parse()
        replicas = (patch.value.get("spec") or {}).get("replicas") or 0
        if not isinstance(replicas, int):
            raise _no_number(replicas)
        if replicas < 0:
            raise _below_zero(resource, info, replicas)
        live = self._reader.object(resource, stored)
        metadata = {"name": info.name, "namespace": info.namespace}
        applied_scale: Object = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata}
        _write(applied_scale, (resource.scale_paths or _BUILTIN)["specReplicasPath"], replicas)
        now = self._reader.clock.now()
        obj, _ = self._writer.ownership.applied(
            resource,
            live,
            applied_scale,
            options.manager,
            "scale",
            now,
            force=options.force,
            validation=options.validation,
        )
        placed = replace(info, subresource="")
        return self._writer.replace(resource, stored, live, obj, placed, user, options)

    def _requested_scale(self, request: ServerRequest, resource: ServedResource, current: Object) -> Object:
        if request.method == "PUT":
            try:
                value = parse_json(as_json(request))
            except ValueError as error:
                raise bad_request(f"couldn't get version/kind; json parse error: {error}") from None
            return value if isinstance(value, dict) else {}
        patch = read_patch(request, resource)
        patch.parse()
        try:
            if patch.kind == JSON_PATCH:
                result: Any = apply_json_patch(current, patch.value)
            else:
                result = apply_merge_patch(current, patch.value)
        except PatchFailedError as error:
            raise patch_failure(error) from None
        return result if isinstance(result, dict) else {}

    def _check(self, scale: Object, live: Object, resource: ServedResource, info: RequestInfo) -> None:
        metadata = metadata_of(scale)
        if metadata.get("name") and metadata["name"] != info.name:
            raise bad_request(
                f"the name of the object ({metadata['name']}) does not match the name on the URL ({info.name})"
            )
        version = metadata.get("resourceVersion")
        if version and version != live["metadata"]["resourceVersion"]:
            raise modified(resource.full_name, info.name)
        replicas = (scale.get("spec") or {}).get("replicas") or 0
        if not isinstance(replicas, int):
            raise _no_number(replicas)
        if replicas < 0:
            raise _below_zero(resource, info, replicas)


def _below_zero(resource: ServedResource, info: RequestInfo, replicas: int) -> StatusError:
    """Return the 422: it names the object for custom resources, else the Scale."""
    text = "should be a non-negative integer" if resource.custom else "must be greater than or equal to 0"
    field = (resource.scale_paths or {}).get("specReplicasPath", "") if resource.custom else "spec.replicas"
    cause = {"reason": "FieldValueInvalid", "message": f"Invalid value: {replicas}: {text}", "field": field}
    return invalid(resource.group_kind if resource.custom else "Scale.autoscaling", info.name, [cause])


def _no_number(value: Any) -> StatusError:
    del value
    return bad_request(
        'Scale in version "v1" cannot be handled as a Scale: json: cannot unmarshal string into Go struct field '
        "ScaleSpec.spec.replicas of type int32"
    )


def _forget_time(obj: Object) -> None:
    """Remove the time: a real server loses it for a custom resource's scale."""
    for entry in obj["metadata"].get("managedFields") or ():
        if entry.get("subresource") == "scale":
            entry.pop("time", None)


def scale_of(obj: Object, resource: ServedResource, paths: dict[str, str]) -> Object:
    """Return the autoscaling/v1 Scale of an object."""
    metadata = {
        name: obj["metadata"][name]
        for name in ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
        if name in obj["metadata"]
    }
    status: Object = {"replicas": _read(obj, paths["statusReplicasPath"]) or 0}
    selector = selector_text(obj, resource, paths)
    if selector:
        status["selector"] = selector
    spec: Object = {}
    replicas = _read(obj, paths["specReplicasPath"])
    if replicas:
        spec["replicas"] = replicas
    return {"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata, "spec": spec, "status": status}


def selector_text(obj: Object, resource: ServedResource, paths: dict[str, str]) -> str:
    """Return the selector as text, from a CRD's path or a workload's label selector."""
    if resource.custom:
        path = paths.get("labelSelectorPath")
        return str(_read(obj, path) or "") if path else ""
    selector = (obj.get("spec") or {}).get("selector") or {}
    if "matchLabels" not in selector and "matchExpressions" not in selector:
        return ",".join(f"{key}={value}" for key, value in sorted(selector.items()))
    terms = [(key, f"{key}={value}") for key, value in (selector.get("matchLabels") or {}).items()]
    for rule in selector.get("matchExpressions") or ():
        key, values = rule["key"], ",".join(sorted(rule.get("values") or ()))
        terms.append(
            (
                key,
                {"In": f"{key} in ({values})", "NotIn": f"{key} notin ({values})", "Exists": key}.get(
                    rule["operator"], f"!{key}"
                ),
            )
        )
    return ",".join(text for _, text in sorted(terms))


def _read(obj: Object, path: str) -> Any:
    value: Any = obj
    for part in path.strip(".").split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def _write(obj: Object, path: str, replicas: int) -> None:
    *parents, last = path.strip(".").split(".")
    parent = obj
    for part in parents:
        parent = parent.setdefault(part, {})
    parent[last] = replicas
