"""Preview of one object that the user rewrote."""

from __future__ import annotations

from kymatui.actions.edits.object_edit import ObjectEdit
from kymatui.domain.plans.plan_preview import PlannedChange, Preview, PreviewLine
from kymatui.ui.presenters.plans.install_preview import changed_fields


def object_edit_title(edit: ObjectEdit) -> str:
    """Return a title such as `edit Serverless kyma-system/default`."""
    return f"edit {edit.ref}"


def preview_object_edit(edit: ObjectEdit, management: str) -> Preview:
    """Return the fields that the server's dry run changed."""
    line = PreviewLine(PlannedChange.CHANGE, str(edit.ref), "", tuple(changed_fields(edit.changes)))
    return Preview(object_edit_title(edit), (line,), management, question=f"Change {edit.ref}?")
