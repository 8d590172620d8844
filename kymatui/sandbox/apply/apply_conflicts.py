"""Errors of an apply: conflicts with other managers, and objects that do not fit their kind."""

from __future__ import annotations

import json

from kymatui.errors import ConflictError, ServerError
from kymatui.sandbox.apply.managed_fields_codec import Manager, OwnedFields
from kymatui.schemas.values.field_errors import quoted
from kymatui.schemas.values.field_sets import FieldPath, show_path


class ApplyConflictError(ConflictError):
    """A conflict with fields of other managers; `causes` as in a Status."""

    def __init__(self, conflicts: list[tuple[Manager, OwnedFields, FieldPath]]) -> None:
        self.conflicts = conflicts
        self.causes = [
            {
                "reason": "FieldManagerConflict",
                "message": f"conflict with {_named(manager)}",
                "field": show_path(path),
            }
            for manager, _, path in conflicts
        ]
        super().__init__(_message(conflicts), status=409, reason="Conflict")


class ApplyFailedError(ServerError):
    """The applied object does not fit the kind; the message is the server's (status 500, no reason)."""


def _named(manager: Manager) -> str:
    """Return the manager's name as in conflict messages."""
    text = quoted(manager.name)
    if manager.subresource:
        text += f" with subresource {quoted(manager.subresource)}"
    return f"{text} using {manager.version}" if manager.operation == "Update" else text


def _message(conflicts: list[tuple[Manager, OwnedFields, FieldPath]]) -> str:
    if len(conflicts) == 1:
        manager, _, path = conflicts[0]
        return f"Apply failed with 1 conflict: conflict with {_named(manager)}: {show_path(path)}"
    lines: list[str] = []
    managers = dict.fromkeys(manager for manager, _, _ in conflicts)
    for manager in sorted(managers, key=identifier):
        lines.append(f"conflicts with {_named(manager)}:")
        lines += [f"- {show_path(path)}" for owner, _, path in conflicts if owner == manager]
    return f"Apply failed with {len(conflicts)} conflicts: " + "\n".join(lines)


def identifier(manager: Manager) -> str:
    """Return the text by which the server sorts managers."""
    fields = {"manager": manager.name, "operation": manager.operation, "apiVersion": manager.version}
    if manager.subresource:
        fields["subresource"] = manager.subresource
    return json.dumps({key: value for key, value in fields.items() if value}, separators=(",", ":"))
