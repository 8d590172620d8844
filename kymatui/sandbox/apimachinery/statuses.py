"""metav1.Status: every failure of an API server, with its messages.

The messages are those of k8s.io/apimachinery/pkg/api/errors, because users see them on the screen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


class StatusError(Exception):
    """A failed request; `status` is the Status object of the answer."""

    def __init__(self, status: Mapping[str, Any], headers: Sequence[tuple[str, str]] = ()) -> None:
        super().__init__(status.get("message", ""))
        self.status = dict(status)
        self.headers = list(headers)

    @property
    def code(self) -> int:
        return int(self.status.get("code", 500))

    @property
    def reason(self) -> str:
        return str(self.status.get("reason", ""))


def failure(
    code: int,
    reason: str,
    message: str,
    details: Mapping[str, Any] | None = None,
    *,
    headers: Sequence[tuple[str, str]] = (),
) -> StatusError:
    """Return a Status of kind Failure; `details` None is left out, as Go's omitempty pointer is."""
    status: dict[str, Any] = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "details": details,
        "code": code,
    }
    if details is None:
        del status["details"]
    if not reason:
        del status["reason"]
    return StatusError(status, headers)


def qualified(resource: str) -> tuple[str, str]:
    """Return ("deployments", "apps") for "deployments.apps"."""
    name, _, group = resource.partition(".")
    return name, group


def _details(resource: str, name: str = "", **more: Any) -> dict[str, Any]:
    kind, group = qualified(resource)
    details = {"name": name, "group": group, "kind": kind, **more}
    return {key: value for key, value in details.items() if value}


def not_found(resource: str, name: str) -> StatusError:
    return failure(404, "NotFound", f'{resource} "{name}" not found', _details(resource, name))


def no_such_resource() -> StatusError:
    """Return the answer for an unknown resource of a known group, or an unknown version."""
    return failure(404, "NotFound", "the server could not find the requested resource", {})


def already_exists(resource: str, name: str) -> StatusError:
    return failure(409, "AlreadyExists", f'{resource} "{name}" already exists', _details(resource, name))


def conflict(resource: str, name: str, why: str) -> StatusError:
    message = f'Operation cannot be fulfilled on {resource} "{name}": {why}'
    return failure(409, "Conflict", message, _details(resource, name))


def modified(resource: str, name: str) -> StatusError:
    """Return the conflict of an outdated resourceVersion."""
    why = "the object has been modified; please apply your changes to the latest version and try again"
    return conflict(resource, name, why)


def bad_request(message: str) -> StatusError:
    return failure(400, "BadRequest", message)


def unauthorized() -> StatusError:
    return failure(401, "Unauthorized", "Unauthorized")


def forbidden(resource: str, name: str, why: str) -> StatusError:
    """Return the 403: `resource` without a name is a collection; "" is a path outside resources."""
    what = f'{resource} "{name}" is forbidden' if name else f"{resource} is forbidden"
    return failure(403, "Forbidden", f"{what}: {why}" if resource else f"forbidden: {why}", _details(resource, name))


def method_not_supported(resource: str, action: str) -> StatusError:
    message = f'{action} is not supported on resources of kind "{resource}"'
    return failure(405, "MethodNotAllowed", message, _details(resource))


def method_not_allowed() -> StatusError:
    """Return the 405 of a method that the resource never supports."""
    message = "the server does not allow this method on the requested resource"
    return failure(405, "MethodNotAllowed", message, {})


def invalid(group_kind: str, name: str, causes: Sequence[Mapping[str, Any]]) -> StatusError:
    """Return the 422; `causes` as {"reason", "message", "field"}; `group_kind` as "Deployment.apps"."""
    kind, _, group = group_kind.partition(".")
    texts = list(dict.fromkeys(f"{cause['field']}: {cause['message']}" for cause in causes))
    joined = texts[0] if len(texts) == 1 else "[" + ", ".join(texts) + "]"
    details = {"name": name, "group": group, "kind": kind, "causes": [dict(cause) for cause in causes]}
    message = f'{group_kind} "{name}" is invalid' + (f": {joined}" if texts else "")
    return failure(422, "Invalid", message, {key: value for key, value in details.items() if value})


def expired(message: str) -> StatusError:
    return failure(410, "Expired", message)


def internal_error(message: str) -> StatusError:
    causes = [{"message": message}]
    return failure(500, "InternalError", f"Internal error occurred: {message}", {"causes": causes})


def success(resource: str, name: str, uid: str) -> dict[str, Any]:
    """Return the Status of a finished deletion."""
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": _details(resource, name, uid=uid),
    }
