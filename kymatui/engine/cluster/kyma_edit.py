"""The application of a Kyma edit to exactly the content that the user saw."""

from __future__ import annotations

import threading
from typing import Final

from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.object_meta import uid_of
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.kymas import Kyma, read_kyma
from kymatui.domain.kyma_edit.label_edit import LabelEdit, label_edit
from kymatui.domain.kyma_edit.module_edit import EntryChange, KymaEdit, edit_entry
from kymatui.engine.cluster.ports import Cluster, Object, PatchKind
from kymatui.engine.cluster.request_scope import optional_requests
from kymatui.errors import ConflictError, ForbiddenError, InvalidError, NotFoundError, RefusedError

ATTEMPTS: Final = 5  # retries while other parts of the Kyma change


def carry_out(cluster: Cluster, edit: KymaEdit, change: EntryChange, cancel: threading.Event | None = None) -> Object:
    """Patch the Kyma and return the result.

    If the patch's tests fail, the Kyma is read again. If the module's entry is still the one that the user saw, the
    edit is repeated for the new Kyma. Otherwise RefusedError tells how another client changed the entry. Other
    errors of the server are raised.
    """
    for _ in range(ATTEMPTS):
        try:
            return cluster.patch(edit.kyma, edit.patch, PatchKind.JSON, cancel=cancel)
        except (InvalidError, ConflictError) as error:
            fresh = _again(cluster, edit, change, cancel)
            if fresh.patch == edit.patch:
                raise error
            if fresh.is_empty:
                return dict(fresh.edited_kyma)
            edit = fresh
    raise _unsteady(edit.kyma)


def is_made(cluster: Cluster, edit: KymaEdit, change: EntryChange) -> bool:
    """Return whether the Kyma has the content of an edit now. Raise what keeps it from being read."""
    kyma = read_kyma(cluster.get(edit.kyma))
    return isinstance(kyma, Kyma) and edit_entry(kyma, edit.module, change).is_empty


def carry_out_labels(cluster: Cluster, edit: LabelEdit, cancel: threading.Event | None = None) -> Object:
    """Patch labels of the Kyma and return the result; like `carry_out`, only if the values are unchanged."""
    for _ in range(ATTEMPTS):
        try:
            return cluster.patch(edit.kyma, edit.patch, PatchKind.JSON, cancel=cancel)
        except (InvalidError, ConflictError) as error:
            body = cluster.get(edit.kyma, cancel=cancel)
            kyma = read_kyma(body)
            if not isinstance(kyma, Kyma) or body is None:
                raise NotFoundError(f"{edit.kyma} no longer exists", status=404) from error
            fresh = label_edit(kyma, edit.labels)
            if fresh.is_empty:
                return body
            if fresh.patch == edit.patch:
                raise
            _refuse_others(edit, fresh, error)
            edit = fresh
    raise _unsteady(edit.kyma)


def _refuse_others(edit: LabelEdit, fresh: LabelEdit, error: Exception) -> None:
    """Raise RefusedError if the Kyma was recreated or another client changed a label."""
    if fresh.uid != edit.uid:
        raise RefusedError(f"{edit.kyma} was deleted and created again since the plan", hint="plan again") from error
    for was, now in zip(edit.changes, fresh.changes, strict=True):
        if now.before != was.before and not now.is_empty:
            raise RefusedError(
                f"another client changed the label {was.label} of {edit.kyma} meanwhile: it is "
                f"{now.before or 'not set'} now, and was {was.before or 'not set'} in the plan",
                hint="plan again",
                unchanged=True,
            ) from error


def _unsteady(kyma: ObjectRef) -> ConflictError:
    return ConflictError(
        f"{kyma} changed {ATTEMPTS} times during the edit",
        hint="another client edits it all the time; find it, and try again",
        status=409,
    )


def _again(cluster: Cluster, edit: KymaEdit, change: EntryChange, cancel: threading.Event | None) -> KymaEdit:
    """Return the edit for the current Kyma. Raises RefusedError if the user saw other content."""
    kyma = read_kyma(cluster.get(edit.kyma, cancel=cancel))
    if not isinstance(kyma, Kyma):
        raise NotFoundError(f"{edit.kyma} no longer exists", status=404)
    if kyma.meta.uid != uid_of(edit.edited_kyma):
        raise RefusedError(f"{edit.kyma} was deleted and created again since the plan", hint="plan again")
    fresh = edit_entry(kyma, edit.module, change)
    came_or_went = (fresh.after is None) != (edit.after is None)
    if fresh.before != edit.before and (came_or_went or not fresh.is_empty):
        raise RefusedError(
            f"another client changed the entry of {edit.module} in {edit.kyma} meanwhile: it is "
            f"{_entry(fresh)} now, and was {_entry(edit)} in the plan",
            hint="plan again",
            unchanged=True,
        )
    return fresh


def _entry(edit: KymaEdit) -> str:
    return str(dict(edit.before)) if edit.before is not None else "not set"


_GROUP = "operator.kyma-project.io"


def refuse_kyma_managed(cluster: Cluster, module: str) -> str:
    """Raise RefusedError if a Kyma requests the module; return a note if Kymas cannot be listed."""
    kinds = cluster.kinds(_GROUP, "Kyma")
    if not kinds:
        return ""
    try:
        with optional_requests():
            kymas = cluster.list(kinds[0].gvk)
    except ForbiddenError as error:
        return f"it is unknown whether a Kyma requests {module}: {error}"
    for raw in kymas:
        spec, meta = JsonReader(raw).child("spec"), JsonReader(raw).child("metadata")
        entry = next((candidate for candidate in spec.children("modules") if candidate.text("name") == module), None)
        if entry is not None and entry.flag("managed", True):
            raise RefusedError(
                f"{module} is managed by the Kyma {meta.text('namespace')}/{meta.text('name')}; no changes made",
                hint="disable it in the Kyma, or set it to unmanaged",
            )
    return ""
