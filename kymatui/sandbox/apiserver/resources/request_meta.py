"""ObjectMeta of requests: fields that the server sets, keeps and refuses.

Source: k8s.io/apiserver/pkg/registry/rest.
"""

from __future__ import annotations

import secrets
import uuid
from typing import Any

from kymatui.sandbox.apimachinery.clock import timestamp
from kymatui.sandbox.apimachinery.statuses import StatusError, bad_request, failure, modified
from kymatui.sandbox.apiserver.resources.resource import Object, ServedResource

_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX = 5
_LONGEST_PREFIX = 63 - _SUFFIX


def generate_name(prefix: str) -> str:
    """Return a name for generateName: the prefix, cut to fit 63 characters, and five random letters."""
    return prefix[:_LONGEST_PREFIX] + "".join(secrets.choice(_ALPHABET) for _ in range(_SUFFIX))


def metadata_of(obj: Object) -> dict[str, Any]:
    """Return the object's metadata, added if missing."""
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict):
        metadata = obj["metadata"] = {}
    return metadata


def check_namespace(obj: Object, namespace: str, resource: ServedResource) -> None:
    """Set the request's namespace. Raise StatusError 400 if the object names another."""
    metadata = metadata_of(obj)
    if not resource.namespaced:
        metadata.pop("namespace", None)
        return
    own_namespace = metadata.get("namespace") or ""
    if own_namespace and own_namespace != namespace:
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
    metadata["namespace"] = namespace


def check_name(obj: Object, name: str) -> None:
    """Raise StatusError 400 if the object has no name or not that of the URL."""
    own_name = metadata_of(obj).get("name") or ""
    if not own_name:
        raise bad_request(f"the name of the object ({name} based on URL) was undeterminable: name must be provided")
    if own_name != name:
        raise bad_request(f"the name of the object ({own_name}) does not match the name on the URL ({name})")


def drop_system_fields(obj: Object) -> None:
    """Remove the fields that a client cannot set on a new object."""
    metadata = metadata_of(obj)
    for name in ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"):
        metadata.pop(name, None)


def fill_new(obj: Object, now: float) -> None:
    """Set uid, creationTimestamp and, for generateName, the name of a new object."""
    metadata = metadata_of(obj)
    if metadata.get("generateName") and not metadata.get("name"):
        metadata["name"] = generate_name(metadata["generateName"])
    metadata["uid"] = str(uuid.uuid4())
    metadata["creationTimestamp"] = timestamp(now)


def check_version(obj: Object, live: Object, resource: ServedResource, name: str, *, unconditional: bool) -> None:
    """Check the optimistic lock. Raise StatusError 409, 422, or 500 for a version that is no number."""
    resource_version = metadata_of(obj).get("resourceVersion") or ""
    if resource_version and not (resource_version.isascii() and resource_version.isdigit()):
        raise failure(500, "", f'strconv.ParseUint: parsing "{resource_version}": invalid syntax')
    if not resource_version or int(resource_version) == 0:
        if not unconditional:
            raise _version_required(resource, name)
        return
    if resource_version != live["metadata"]["resourceVersion"]:
        raise modified(resource.full_name, name)


def _version_required(resource: ServedResource, name: str) -> StatusError:
    message = "Invalid value: 0: must be specified for an update"
    cause = {"reason": "FieldValueInvalid", "message": message, "field": "metadata.resourceVersion"}
    details = {"name": name, "group": resource.group, "kind": resource.name, "causes": [cause]}
    text = f'{resource.full_name} "{name}" is invalid: metadata.resourceVersion: {message}'
    return failure(422, "Invalid", text, {key: value for key, value in details.items() if value})


def keep_system_fields(new: Object, live: Object) -> None:
    """Restore the system fields that an update cannot change.

    Those that validation compares (uid and the deletion fields) are only filled in if missing.
    """
    metadata, stored = metadata_of(new), live["metadata"]
    for name in ("creationTimestamp", "generation", "resourceVersion"):
        if name in stored:
            metadata[name] = stored[name]
        else:
            metadata.pop(name, None)
    for name in ("uid", "deletionTimestamp", "deletionGracePeriodSeconds"):
        if not metadata.get(name) and name in stored:
            metadata[name] = stored[name]
    metadata.pop("selfLink", None)
