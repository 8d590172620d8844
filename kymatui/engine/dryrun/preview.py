"""The preview of one object's application, by server-side dry run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from kymatui.domain.kubernetes.managed_fields import Path, applied_entry
from kymatui.domain.kubernetes.object_meta import field_managers, read_ref
from kymatui.domain.ownership import LIFECYCLE_APPLIER, Owner, OwnerKind, read_owner
from kymatui.engine.cluster.kind_order import is_definition
from kymatui.engine.cluster.ports import FIELD_MANAGER, Cluster, Object, PatchKind
from kymatui.engine.cluster.retries import field_conflicts
from kymatui.engine.dryrun.client_side_apply import merge_client_side
from kymatui.engine.dryrun.field_takeover import leftover_fields, object_after_takeover, patch_between
from kymatui.engine.dryrun.no_op_check import is_no_op
from kymatui.engine.inventory.ownership_marks import ADOPTED_MANAGERS, HELM_MANAGER
from kymatui.engine.inventory.ownership_transfer import is_lifecycle_manager_mark
from kymatui.engine.plans.diff import FieldDiff, diff_objects, state_digest
from kymatui.engine.plans.plan import Action, FieldConflict, ObservedVersion
from kymatui.errors import ClusterError, ConflictError, ForbiddenError, InvalidError, NotFoundError, ServerError

_MANAGER: Final = re.compile(r'conflict with "((?:[^"\\]|\\.)*)"')


NO_DRY_RUN: Final = "does not support dry run"  # the server's message about a webhook, with status 400
WEBHOOK: Final = "failed calling webhook"
COMPARED_LOCALLY: Final = "compared locally: read-only mode sends no dry run to the server"


class ApplyPreview(Struct, frozen=True):
    """The result of a preview; `live` is the current object, `after` the future one, None if unknown.

    With `inherits`, helm's fields are transferred to kymatui first (see `field_takeover`).
    """

    action: Action
    live: Object | None
    after: Object | None = None
    changes: tuple[FieldDiff, ...] = ()
    conflicts: tuple[FieldConflict, ...] = ()
    reason: str = ""
    forbidden: bool = False
    unchecked: bool = False
    inherits: bool = False

    @property
    def observed(self) -> ObservedVersion:
        return observe(self.live)


def observe(live: Object | None) -> ObservedVersion:
    """Return the version of an object, to recognise a change later."""
    if live is None:
        return ObservedVersion()
    metadata = live["metadata"]
    return ObservedVersion(
        str(metadata.get("uid") or ""), str(metadata.get("resourceVersion") or ""), state_digest(live)
    )


def preview_apply(
    cluster: Cluster,
    body: Object,
    mine: Owner,
    *,
    seen: Object | None = None,
    new: bool = False,
    adopt: bool = False,
    manager: str = FIELD_MANAGER,
) -> ApplyPreview:
    """Return what applying `body` would do.

    `mine` are acceptable marks; with `adopt`, marks of a lifecycle-manager that released the module are accepted
    too. `seen` is the object if it was already read. The dry run is skipped if `no_op_check` suffices. With `new`,
    on a first installation, the dry run comes first, since most objects do not exist; of an object that exists it is
    used again if it was made on the version that is read then.
    """
    tried = _tried(cluster, body, manager) if new and seen is None and not cluster.read_only else None
    if tried is not None and not _version(tried):
        return ApplyPreview(Action.CREATE, None, tried, diff_objects(None, body))
    try:
        live = seen if seen is not None else cluster.get(read_ref(body))
    except ForbiddenError as error:
        return ApplyPreview(Action.BLOCKED, None, reason=str(error), forbidden=True)
    if tried is not None and (live is None or _version(live) != _version(tried)):
        tried = None
    if live is not None:
        if (live["metadata"] or {}).get("deletionTimestamp"):
            return ApplyPreview(Action.BLOCKED, live, reason=_being_deleted(live))
        other = read_owner(live)
        if other is not None and other != mine:
            if not (adopt and is_lifecycle_manager_mark(other)):
                way = (
                    "; after lifecycle-manager has released it, run `kymatui adopt`"
                    if is_lifecycle_manager_mark(other)
                    else ""
                )
                return ApplyPreview(Action.BLOCKED, live, reason=f"owned by the {other}{way}")
            return _taken_over(cluster, body, live, mine, manager, tried)
        if adopt and other is None:
            return _adopted(cluster, body, live, mine, manager, tried)
        gone = leftover_fields(live, body, manager) if other == mine and mine.kind is OwnerKind.HELM else ()
        if gone:
            return _inherited(cluster, body, live, mine, manager, gone, tried)
        if is_no_op(live, body, manager):
            return ApplyPreview(Action.SAME, live, live)
    if cluster.read_only:
        return _guessed(live, body, COMPARED_LOCALLY)
    return dry_run(cluster, body, live, mine, manager=manager, tried=tried)


def _version(body: Object) -> str:
    """Return the resource version, "" of an object that does not exist."""
    return str((body["metadata"] or {}).get("resourceVersion") or "")


def _taken_over(
    cluster: Cluster, body: Object, live: Object, mine: Owner, manager: str, tried: Object | None
) -> ApplyPreview:
    """Return a preview that changes at least the owner."""
    sight = _adopted(cluster, body, live, mine, manager, tried)
    action = Action.CHANGE if sight.action is Action.SAME else sight.action
    applied = LIFECYCLE_APPLIER in field_managers(live)  # manifests that kubectl applies may have its labels too
    return replace(
        sight, action=action, reason=sight.reason or ("owner: lifecycle-manager → kymatui" if applied else "")
    )


def _adopted(
    cluster: Cluster, body: Object, live: Object, mine: Owner, manager: str, tried: Object | None
) -> ApplyPreview:
    """Return the preview of an object whose installer's fields are transferred, and so those `body` lacks."""
    if not field_managers(live) & ADOPTED_MANAGERS:
        return (
            _guessed(live, body, COMPARED_LOCALLY)
            if cluster.read_only
            else dry_run(cluster, body, live, mine, manager=manager, tried=tried)
        )
    gone = leftover_fields(live, body, manager, ADOPTED_MANAGERS)
    sight = _inherited(cluster, body, live, mine, manager, gone, tried, reason="")
    conflicts = tuple(one for one in sight.conflicts if one.manager not in ADOPTED_MANAGERS)
    action = Action.CHANGE if sight.action is Action.CONFLICT and not conflicts else sight.action
    reason = "" if sight.action is Action.CONFLICT and not conflicts else sight.reason
    return replace(sight, action=action, conflicts=conflicts, reason=reason)


def _inherited(
    cluster: Cluster,
    body: Object,
    live: Object,
    mine: Owner,
    manager: str,
    gone: tuple[Path, ...],
    tried: Object | None,
    *,
    reason: str = "owner of helm's fields: helm → kymatui",
) -> ApplyPreview:
    """Return the preview of takeover plus application.

    Two dependent requests cannot be dry-run, so the server gets one patch with the result of both.
    """
    wanted = object_after_takeover(live, body, gone)
    if cluster.read_only:
        return replace(_guessed(live, wanted, COMPARED_LOCALLY), inherits=True)
    first = dry_run(cluster, body, live, mine, manager=manager, tried=tried)
    if first.forbidden or first.unchecked:
        return first
    try:
        after = cluster.patch(
            read_ref(body), patch_between(live, wanted), PatchKind.JSON, manager=manager, dry_run=True
        )
    except ClusterError as error:
        return _refused(error, live, body, first.conflicts)
    if first.conflicts and not is_yielding(first.conflicts, live, mine):
        return replace(first, action=Action.CONFLICT, after=after, changes=diff_objects(live, after), inherits=True)
    return ApplyPreview(Action.CHANGE, live, after, diff_objects(live, after), first.conflicts, reason, inherits=True)


def dry_run(
    cluster: Cluster,
    body: Object,
    live: Object | None,
    mine: Owner,
    *,
    manager: str = FIELD_MANAGER,
    tried: Object | None = None,
) -> ApplyPreview:
    """Return the server's dry-run result; `tried` is its answer if it was already asked."""
    conflicts: tuple[FieldConflict, ...] = ()
    try:
        try:
            after = tried if tried is not None else cluster.apply(body, manager=manager, dry_run=True)
        except ConflictError as error:  # force is safe in a dry run, and says what would change
            conflicts = conflicts_of(error)
            if not conflicts:
                raise
            after = cluster.apply(body, manager=manager, dry_run=True, force=True)
    except ClusterError as error:
        return _refused(error, live, body, conflicts)
    if live is None:
        return ApplyPreview(Action.CREATE, None, after, diff_objects(None, body))
    changes = diff_objects(live, after)
    if conflicts and not is_yielding(conflicts, live, mine):
        return ApplyPreview(
            Action.CONFLICT, live, after, changes, conflicts, "other field managers own fields that would change"
        )
    if not changes and _owned(live, manager) == _owned(after, manager):
        return ApplyPreview(Action.SAME, live, after)
    reason = "" if changes else "only the owner of its fields changes"
    return ApplyPreview(Action.CHANGE, live, after, changes, conflicts, reason)


def _refused(
    error: ClusterError, live: Object | None, body: Object, conflicts: tuple[FieldConflict, ...]
) -> ApplyPreview:
    """Return the preview for a rejected dry run. Raises the error if it says nothing about the real one."""
    if isinstance(error, ForbiddenError):
        return ApplyPreview(Action.BLOCKED, live, reason=str(error), conflicts=conflicts, forbidden=True)
    refusals = InvalidError, NotFoundError, ConflictError
    if isinstance(error, refusals) and NO_DRY_RUN in str(error):
        return _guessed(live, body, f"not checked: {error}")
    if isinstance(error, refusals) or (isinstance(error, ServerError) and WEBHOOK in str(error)):
        return ApplyPreview(Action.BLOCKED, live, reason=str(error), conflicts=conflicts)
    raise error


def _guessed(live: Object | None, body: Object, reason: str) -> ApplyPreview:
    """Return the client-side preview."""
    if live is None:
        return ApplyPreview(Action.CREATE, None, None, diff_objects(None, body), reason=reason, unchecked=True)
    after = merge_client_side(live, body)
    changes = diff_objects(live, after)
    action = Action.CHANGE if changes else Action.SAME
    return ApplyPreview(action, live, after, changes, reason=reason, unchecked=True)


def _tried(cluster: Cluster, body: Object, manager: str) -> Object | None:
    """Return what the server makes of the object, with a version if it exists; None if it is rejected."""
    try:
        return cluster.apply(body, manager=manager, dry_run=True)
    except (ConflictError, ForbiddenError, InvalidError, NotFoundError):
        # the exact dry run later tells conflicts and refusals apart
        return None
    except ServerError as error:
        if WEBHOOK not in str(error):
            raise
        return None


def conflicts_of(error: ConflictError) -> tuple[FieldConflict, ...]:
    """Return the conflicting fields with their owners."""
    found = []
    for cause in field_conflicts(error):
        match = _MANAGER.search(str(cause.get("message") or ""))
        path = str(cause.get("field") or "").removeprefix(".")
        found.append(FieldConflict(path, match[1] if match else "another field manager"))
    return tuple(found)


def is_yielding(conflicts: tuple[FieldConflict, ...], live: Mapping[str, Any], mine: Owner) -> bool:
    """Return whether the fields belong to helm on an object of this release, which is the same owner."""
    return read_owner(live) == mine and {conflict.manager for conflict in conflicts} <= {HELM_MANAGER}


def existed_before(live: Mapping[str, Any], mine: Owner, manager: str = FIELD_MANAGER) -> bool:
    """Return whether an object existed before the installation, according to its marks.

    An entry of the manager proves nothing, because an earlier module may have adopted and released the object. Only
    CRDs have no marks while a module owns them, so the manager identifies these.
    """
    if read_owner(live) == mine:
        return False
    return not (is_definition(read_ref(live)) and manager in field_managers(live))


def _owned(live: Mapping[str, Any], manager: str) -> object:
    return (applied_entry(live, manager) or {}).get("fieldsV1")


def _being_deleted(live: Mapping[str, Any]) -> str:
    finalizers = live["metadata"].get("finalizers") or ()
    held = f" (finalizers: {', '.join(finalizers)})" if finalizers else ""
    return f"it is being deleted{held}"
