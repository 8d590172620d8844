"""The preview of one object's application, by server-side dry run."""

from __future__ import annotations

import re
import threading
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from kymatui.domain.gitops import git_source
from kymatui.domain.kubernetes.managed_fields import Path, applied_entry, read_key
from kymatui.domain.kubernetes.object_meta import field_managers, read_ref, resource_version_of
from kymatui.domain.kubernetes.refs import GroupVersionKind
from kymatui.domain.ownership import Owner, OwnerKind, applying_keeper, read_owner, was_created_by_hook
from kymatui.engine.bundles.bundle import Bundle, BundleHook, hooks_of
from kymatui.engine.cluster.concurrency import run_for_each
from kymatui.engine.cluster.kind_order import defined_kinds, is_definition
from kymatui.engine.cluster.ports import FIELD_MANAGER, OPERATOR_FIELD_MANAGER, Cluster, Object, PatchKind
from kymatui.engine.cluster.request_scope import optional_requests
from kymatui.engine.cluster.retries import field_conflicts
from kymatui.engine.dryrun.field_takeover import (
    leftover_fields,
    merge_client_side,
    object_after_takeover,
    patch_between,
)
from kymatui.engine.inventory.ownership_marks import ADOPTED_MANAGERS, HELM_MANAGER, is_lifecycle_manager_mark
from kymatui.engine.jobs.hooks import BEFORE_CREATION, hook_key
from kymatui.engine.plans.plan import (
    Action,
    BundlePart,
    FieldConflict,
    FieldDiff,
    ObservedVersion,
    Step,
    diff_objects,
    state_digest,
)
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
    known: Object | None = None,
    new: bool = False,
    adopt: bool = False,
    manager: str = FIELD_MANAGER,
) -> ApplyPreview:
    """Return what applying `body` would do.

    `mine` are acceptable marks; with `adopt`, marks of a lifecycle-manager that released the module are accepted
    too. `known` is the object if it was already read. The dry run is skipped if `no_op_check` suffices. With `new`,
    on a first installation, the dry run comes first, since most objects do not exist; of an object that exists it is
    used again if it was made on the version that is read then.
    """
    tried = _tried(cluster, body, manager) if new and known is None and not cluster.read_only else None
    if tried is not None and not resource_version_of(tried):
        return ApplyPreview(Action.CREATE, None, tried, diff_objects(None, body))
    try:
        live = known if known is not None else cluster.get(read_ref(body))
    except ForbiddenError as error:
        return ApplyPreview(Action.BLOCKED, None, reason=str(error), forbidden=True)
    if tried is not None and (live is None or resource_version_of(live) != resource_version_of(tried)):
        tried = None
    if live is not None:
        if (live["metadata"] or {}).get("deletionTimestamp"):
            return ApplyPreview(Action.BLOCKED, live, reason=_being_deleted(live))
        other = read_owner(live)
        if other is not None and other != mine:
            if not (adopt and is_lifecycle_manager_mark(other)):
                mode = "; after it is released, run `kymatui adopt`" if is_lifecycle_manager_mark(other) else ""
                first = git_source(live) or "that release"  # Flux installs a release again that others delete
                mode = f"; delete {first} first, or rename the object" if other.kind is OwnerKind.HELM else mode
                return ApplyPreview(Action.BLOCKED, live, reason=f"owned by the {other}{mode}")
            return _taken_over(cluster, body, live, mine, manager, tried)
        if adopt and (other is None or field_managers(live) & (ADOPTED_MANAGERS - {manager})):
            return _adopted(cluster, body, live, mine, manager, tried)
        gone = leftover_fields(live, body, manager) if other == mine and mine.kind is OwnerKind.HELM else ()
        if gone:
            return _inherited(cluster, body, live, mine, manager, gone, tried)
        if is_no_op(live, body, manager):
            return ApplyPreview(Action.SAME, live, live)
    if cluster.read_only:
        return _guessed(live, body, COMPARED_LOCALLY)
    return dry_run(cluster, body, live, mine, manager=manager, tried=tried)


def _taken_over(
    cluster: Cluster, body: Object, live: Object, mine: Owner, manager: str, tried: Object | None
) -> ApplyPreview:
    """Return a preview that changes at least the owner."""
    preview = _adopted(cluster, body, live, mine, manager, tried)
    action = Action.CHANGE if preview.action is Action.SAME else preview.action
    applied = applying_keeper(live)  # manifests that kubectl applies may have its labels too
    return replace(
        preview, action=action, reason=preview.reason or (f"owner: {applied} → kymatui" if applied is not None else "")
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
    preview = _inherited(cluster, body, live, mine, manager, gone, tried, reason="")
    conflicts = tuple(conflict for conflict in preview.conflicts if conflict.manager not in ADOPTED_MANAGERS)
    action = Action.CHANGE if preview.action is Action.CONFLICT and not conflicts else preview.action
    reason = "" if preview.action is Action.CONFLICT and not conflicts else preview.reason
    return replace(preview, action=action, conflicts=conflicts, reason=reason)


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
    desired = object_after_takeover(live, body, gone)
    if cluster.read_only:
        return replace(_guessed(live, desired, COMPARED_LOCALLY), inherits=True)
    first = dry_run(cluster, body, live, mine, manager=manager, tried=tried)
    if first.forbidden or first.unchecked:
        return first
    try:
        after = cluster.patch(
            read_ref(body), patch_between(live, desired), PatchKind.JSON, manager=manager, dry_run=True
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
    conflicts = []
    for cause in field_conflicts(error):
        match = _MANAGER.search(str(cause.get("message") or ""))
        path = str(cause.get("field") or "").removeprefix(".")
        conflicts.append(FieldConflict(path, match[1] if match else "another field manager"))
    return tuple(conflicts)


def is_yielding(conflicts: tuple[FieldConflict, ...], live: Mapping[str, Any], mine: Owner) -> bool:
    """Return whether the fields are the release's own: helm wrote them, or a hook with the name of the object."""
    managers = {HELM_MANAGER, FIELD_MANAGER, OPERATOR_FIELD_MANAGER} if was_created_by_hook(live) else {HELM_MANAGER}
    return read_owner(live) == mine and {conflict.manager for conflict in conflicts} <= managers


def is_of_own_hook(conflicts: tuple[FieldConflict, ...], live: Mapping[str, Any], bundle: Bundle) -> bool:
    """Return whether a hook of the bundle created the object a moment ago: both have one name, which helm allows."""
    names = {read_ref(hook.body).key for hook in bundle.hooks}
    managers = {conflict.manager for conflict in conflicts}
    return (
        read_ref(live).key in names
        and was_created_by_hook(live)
        and managers <= {FIELD_MANAGER, OPERATOR_FIELD_MANAGER}
    )


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


# Dry runs of hooks: each is created with dryRun, like the applied objects.
#
# A hook may need objects of another hook or of the module; if these do not exist yet, the hook is not blocked.


_EXISTS: Final = "AlreadyExists"


class PlannedContext(Struct, frozen=True):
    """The planned context of the hooks: kinds and namespaces of the plan, and completed hooks."""

    kinds: Collection[GroupVersionKind]
    namespaces: Collection[str]
    done: Collection[str] = ()
    unfinished: bool = False


def dry_run_hooks(
    bundle: Bundle, verb: str, cluster: Cluster, stage: PlannedContext, cancel: threading.Event, width: int
) -> tuple[Step, ...]:
    """Return the hooks of install, upgrade or rollback in order; those the server rejects are BLOCKED."""
    events = (f"pre-{verb}", f"post-{verb}")
    hooks = [(event, hook) for event in events for hook in hooks_of(bundle.hooks, event)]
    brought = {*stage.kinds, *defined_kinds(hook.body for _, hook in hooks)}
    trials = run_for_each(hooks, lambda pair: _Trial(cluster, stage, brought, *pair).step(), cancel, width)
    return tuple(trials)


class _Trial(Struct, frozen=True):
    cluster: Cluster
    stage: PlannedContext
    brought: Collection[GroupVersionKind]
    event: str
    hook: BundleHook

    def step(self) -> Step:
        ref = read_ref(self.hook.body)
        if hook_key(self.event, self.hook) in self.stage.done:
            return self._hook_step(Action.SAME, "has already run")
        if ref.namespace in self.stage.namespaces:
            return self._later(f"namespace {ref.namespace} is part of the plan")
        if self.cluster.kind(ref.kind) is None:
            if ref.kind in self.brought:
                return self._later("its CRD is part of the plan")
            return self._hook_step(Action.BLOCKED, f"the cluster does not serve {ref.kind}")
        if self.cluster.read_only:
            return self._occupied() or self._later(COMPARED_LOCALLY)
        return self._tried()

    def _occupied(self) -> Step | None:
        """Return the blocked step if another client's object has the name of the hook: it is never deleted."""
        try:
            with optional_requests():
                live = self.cluster.get(read_ref(self.hook.body))
        except ForbiddenError:  # the run finds out before it deletes anything
            return None
        if live is None or was_created_by_hook(live):
            return None
        reason = "already exists and was not created by a hook, so it is not deleted; rename or delete it"
        return self._hook_step(Action.BLOCKED, reason)

    def _tried(self) -> Step:
        try:
            self.cluster.create(self.hook.body, dry_run=True)
        except ConflictError as error:
            return self._there(error)
        except NotFoundError as error:
            return self._later(f"not checked: {error}")  # the namespace of another hook
        except (ForbiddenError, InvalidError) as error:
            if NO_DRY_RUN in str(error):
                return self._later(f"not checked: {error}")
            return self._hook_step(Action.BLOCKED, str(error))
        except ServerError as error:
            if WEBHOOK not in str(error):
                raise
            return self._hook_step(Action.BLOCKED, str(error))
        return self._hook_step(Action.CREATE, "")

    def _there(self, error: ClusterError) -> Step:
        if getattr(error, "reason", "") != _EXISTS:
            return self._hook_step(Action.BLOCKED, str(error))
        policies: Sequence[str] = self.hook.hook.delete_policies
        if not policies or BEFORE_CREATION in policies:
            return self._occupied() or self._hook_step(Action.CREATE, "the existing one is deleted first")
        reason = "already exists, and its delete policy does not delete it first"
        if not self.stage.unfinished:
            return self._hook_step(Action.BLOCKED, reason)
        return self._occupied() or self._hook_step(Action.CREATE, reason)

    def _later(self, reason: str) -> Step:
        return self._hook_step(Action.CREATE, reason, unchecked=True)

    def _hook_step(self, action: Action, reason: str, *, unchecked: bool = False) -> Step:
        weight = self.hook.hook.weight
        return Step(
            action,
            read_ref(self.hook.body),
            weight,
            BundlePart.HOOK,
            reason=reason,
            unchecked=unchecked,
            event=self.event,
        )


_GIVEN: Final = ("apiVersion", "kind")
_NAMED: Final = ("name", "namespace")
_MISSING: Final = object()


def is_no_op(live: Mapping[str, Any], body: Mapping[str, Any], manager: str) -> bool:
    """Return whether `manager` has applied exactly `body` and nothing has changed since."""
    desired = {name: value for name, value in body.items() if name not in _GIVEN}
    metadata = {name: value for name, value in (body.get("metadata") or {}).items() if name not in _NAMED}
    if metadata:
        desired["metadata"] = metadata
    else:
        desired.pop("metadata", None)
    entry = applied_entry(live, manager)
    if entry is None:
        return not desired  # a manager without applied fields has no entry
    if entry.get("apiVersion") != body.get("apiVersion"):
        return False
    return _holds(entry.get("fieldsV1") or {}, desired, live)


def _holds(fields: Mapping[str, Any], desired: object, live: object) -> bool:
    owned = {name: below for name, below in fields.items() if name != "."}
    if not owned:
        return type(desired) is type(live) and desired == live
    if isinstance(desired, Mapping) and isinstance(live, Mapping):
        return owned.keys() == {f"f:{name}" for name in desired} and all(
            _holds(owned[f"f:{name}"], value, live.get(name, _MISSING)) for name, value in desired.items()
        )
    if isinstance(desired, Sequence) and isinstance(live, Sequence):
        return len(owned) == len(desired) and all(
            _item_holds(key, below, desired, live) for key, below in owned.items()
        )
    return False


def _item_holds(key: str, below: Mapping[str, Any], desired: Sequence[Any], live: Sequence[Any]) -> bool:
    """Return whether a list item is unchanged: by value in a set, by its keys in a list of objects."""
    mark, _, text = key.partition(":")
    value = read_key(text)
    if mark == "v":
        return value in desired and value in live
    if mark != "k" or not isinstance(value, Mapping):
        return False
    of_wanted = [item for item in desired if _has_keys(item, value, may_lack=True)]
    of_live = [item for item in live if _has_keys(item, value, may_lack=False)]
    return len(of_wanted) == 1 and len(of_live) == 1 and _holds(below, of_wanted[0], of_live[0])


def _has_keys(item: object, keys: Mapping[str, Any], *, may_lack: bool) -> bool:
    """Return whether an item has the keys; a manifest may lack one with a default (a port's protocol)."""
    if not isinstance(item, Mapping):
        return False
    return all(item.get(name, _MISSING) == value or (may_lack and name not in item) for name, value in keys.items())
