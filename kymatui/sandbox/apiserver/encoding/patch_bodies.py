"""PATCH bodies: four formats by media type (k8s.io/apiserver handlers/patch.go)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import msgspec
from msgspec import Struct

from kymatui.errors import HelmError
from kymatui.sandbox.apimachinery.exchange import ServerRequest
from kymatui.sandbox.apimachinery.statuses import StatusError, bad_request, failure, invalid
from kymatui.sandbox.apiserver.encoding.body_decoding import (
    SCHEME,
    duplicate_fields,
    go_type_name,
    parse_json,
    parse_yaml,
)
from kymatui.sandbox.apiserver.requests.request_info import RequestInfo
from kymatui.sandbox.apiserver.resources.request_meta import metadata_of
from kymatui.sandbox.apiserver.resources.resource import DecodingError, Object, ServedResource
from kymatui.sandbox.patching.json_patch import (
    PatchFailedError,
    apply_json_patch,
    apply_merge_patch,
    conversion_problem,
)
from kymatui.sandbox.patching.strategic_merge_patch import apply_strategic_patch
from kymatui.schemas.values.field_errors import go_text

JSON_PATCH = "application/json-patch+json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
_CUSTOM_KINDS = (JSON_PATCH, MERGE, APPLY)
_KINDS = (JSON_PATCH, MERGE, STRATEGIC, APPLY)
_MOST_OPERATIONS = 10_000
_OBJECT = "map[string]interface {}"


def read_patch(request: ServerRequest, resource: ServedResource) -> Patch:
    """Return the undecoded patch of a request. Raise StatusError 415."""
    media_type = request.header("content-type").split(";")[0].strip().lower()
    allowed = _CUSTOM_KINDS if resource.custom else _KINDS
    if media_type in allowed:
        return Patch(media_type, request.body)
    if not resource.custom:
        raise failure(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})
    listed = ", ".join(allowed)
    message = f"the body of the request was in an unknown format - accepted media types include: {listed}"
    raise failure(415, "UnsupportedMediaType", message)


class Patch(Struct):
    """A patch of one format; call `parse` first."""

    kind: str
    data: bytes
    value: Any = None

    def parse(self) -> None:
        """Decode the body. Raise StatusError 400."""
        if self.kind == APPLY:
            self.value = _yaml_object(self.data)
            return
        prefix = "" if self.kind == STRATEGIC else "error decoding patch: "
        try:
            self.value = parse_json(self.data)
        except ValueError as error:
            raise bad_request(f"{prefix}{error}") from None
        if self.kind == JSON_PATCH:
            self._check_operations()
        elif self.value is None and self.kind == MERGE:
            raise bad_request("Invalid JSON Patch")
        elif not isinstance(self.value, dict) and self.value is not None:
            name = go_type_name(self.value)
            raise bad_request(f"{prefix}json: cannot unmarshal {name} into Go value of type {_OBJECT}")

    def _check_operations(self) -> None:
        if self.value is None:
            self.value = []
        if not isinstance(self.value, list):
            name = go_type_name(self.value)
            raise bad_request(
                f"error decoding patch: json: cannot unmarshal {name} into Go value of type []handlers.jsonPatchOp"
            )
        for operation in self.value:
            if not isinstance(operation, dict):
                name = go_type_name(operation)
                raise bad_request(
                    f"error decoding patch: json: cannot unmarshal {name} into Go value of type handlers.jsonPatchOp"
                )
        if len(self.value) > _MOST_OPERATIONS:
            message = (
                f"Request entity too large: The allowed maximum operations in a JSON patch is {_MOST_OPERATIONS}, "
                f"got {len(self.value)}"
            )
            raise failure(413, "RequestEntityTooLarge", message)

    def apply(self, resource: ServedResource, obj: Object) -> Object:
        """Return the patched object, not yet decoded as its kind. Raise StatusError 400, 422."""
        try:
            if self.kind == JSON_PATCH:
                patched = apply_json_patch(obj, self.value)
            elif self.kind == MERGE:
                patched = apply_merge_patch(obj, self.value)
            else:
                patched = apply_strategic_patch(resource.schema, obj, self.value or {})
        except PatchFailedError as error:
            raise patch_failure(error) from None
        if not isinstance(patched, dict):
            raise bad_request("Invalid JSON Patch")
        return cast(Object, patched)

    def decode(
        self, obj: Object, resource: ServedResource, validation: str, registered: Callable[[str, str], bool]
    ) -> tuple[Object, list[str]]:
        """Return the typed patched object with defaults, and warnings. Raise StatusError 422."""
        self._check_type(obj, resource, registered)
        typed = self.kind == STRATEGIC
        text = go_text(self.value).encode() if typed else _as_shown(obj, resource)
        if typed and (problem := conversion_problem(resource.schema, obj)):
            raise _invalid_patch(text, problem)
        try:
            decoded, problems = resource.semantics.decode(obj)
        except DecodingError as error:
            raise _invalid_patch(text, str(error)) from None
        if self.kind == MERGE:
            problems = [*duplicate_fields(self.data), *problems]
        if problems and validation == "Strict":
            raise _invalid_patch(text, "strict decoding error: " + ", ".join(problems))
        return decoded, problems if validation == "Warn" else []

    def _check_type(self, obj: Object, resource: ServedResource, registered: Callable[[str, str], bool]) -> None:
        if not resource.custom:
            for name, usual in (("apiVersion", resource.api_version), ("kind", resource.kind)):
                if not obj.get(name):
                    obj[name] = usual
        api_version, kind = obj.get("apiVersion") or "", obj.get("kind") or ""
        if (api_version, kind) == (resource.api_version, resource.kind):
            return
        if resource.custom:
            raise _wrong_type_fields(obj, resource)
        if registered(api_version, kind):
            version = api_version.rpartition("/")[2]
            group = resource.group.split(".")[0] or "core"
            why = f"converting ({version}.{kind}) to ({group}.{resource.kind}): unknown conversion"
        else:
            why = f'no kind "{kind}" is registered for version "{api_version}" {SCHEME}'
        raise _invalid_patch(_as_shown(obj, resource), why)

    def applied_object(self, resource: ServedResource, info: RequestInfo) -> Object:
        """Return the object of an apply patch, checked for its kind. Raise StatusError 400."""
        value = cast(Object, self.value)
        api_version, kind = value.get("apiVersion") or "", value.get("kind") or ""
        if (api_version, kind) != (resource.api_version, resource.kind):
            group, _, version = api_version.rpartition("/")
            raise bad_request(f"invalid object type: {group}/{version}, Kind={kind}")
        metadata = metadata_of(value)
        if metadata.get("managedFields") is not None:
            raise bad_request("metadata.managedFields must be nil")
        name = metadata.get("name")
        if name and name != info.name:
            raise bad_request(f"the name of the object ({name}) does not match the name on the URL ({info.name})")
        return value


def _yaml_object(data: bytes) -> Object:
    try:
        value = parse_yaml(data)
    except HelmError as error:
        raise bad_request(f"error decoding YAML: {error}") from None
    if value is None:
        return {}
    if not isinstance(value, dict):
        name = go_type_name(value)
        raise bad_request(
            "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal "
            f"{name} into Go value of type {_OBJECT}"
        )
    return value


def patch_failure(error: PatchFailedError) -> StatusError:
    """Return the error of a patch that cannot be applied."""
    if error.status == 400:
        return bad_request(str(error))
    if error.status == 500:
        return failure(500, "", str(error))
    return failure(422, "Invalid", "the server rejected our request due to an error in our request", {})


_METADATA_ORDER = (
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
    "managedFields",
)


def _as_shown(obj: Object, resource: ServedResource) -> bytes:
    """Return the object's JSON in the order in which the server quotes it."""
    if resource.custom:
        return msgspec.json.encode(obj, order="sorted")
    metadata = metadata_of(obj)
    ordered = {name: metadata[name] for name in _METADATA_ORDER if name in metadata}
    return msgspec.json.encode({**dict(sorted(obj.items())), "metadata": {**ordered, **metadata}})


def _invalid_patch(text: bytes, why: str) -> StatusError:
    return _cause_on_patch(text.decode(), why)


def _cause_on_patch(shown: str, why: str) -> StatusError:
    """Return an Invalid without kind and name: the patch result cannot be decoded."""
    quoted = msgspec.json.encode(shown).decode()
    cause = {"reason": "FieldValueInvalid", "message": f"Invalid value: {quoted}: {why}", "field": "patch"}
    return invalid("", "", [cause])


def _wrong_type_fields(obj: Object, resource: ServedResource) -> StatusError:
    causes = []
    kind, api_version = obj.get("kind") or "", obj.get("apiVersion") or ""
    if kind != resource.kind:
        message = f'Invalid value: "{kind}": must be {resource.kind}'
        causes.append({"reason": "FieldValueInvalid", "message": message, "field": "kind"})
    if api_version != resource.api_version:
        message = f'Invalid value: "{api_version}": must be {resource.api_version}'
        causes.append({"reason": "FieldValueInvalid", "message": message, "field": "apiVersion"})
    return invalid(f"{kind}.{resource.group}", metadata_of(obj).get("name") or "", causes)
