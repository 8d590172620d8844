"""One object, asked of the server: what applying it would do, without doing it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from kymatui.domain.objects import read_ref
from kymatui.domain.ownership import Path
from kymatui.engine.adopting import is_left_behind
from kymatui.engine.diffing import FieldChange, compare, stamp
from kymatui.engine.guessing import guess
from kymatui.engine.holders import (
    ADOPTED_MANAGERS,
    HELM_MANAGER,
    LIFECYCLE_APPLIER,
    Holder,
    HolderKind,
    field_managers,
    holder,
)
from kymatui.engine.inheriting import changes_between, leftovers, successor
from kymatui.engine.ordering import is_definition
from kymatui.engine.plans import Action, FieldConflict, Observed
from kymatui.engine.ports import FIELD_MANAGER, Cluster, Object, PatchKind
from kymatui.engine.retrying import field_conflicts
from kymatui.engine.settling import is_settled
from kymatui.errors import ClusterError, ConflictError, ForbiddenError, InvalidError, NotFoundError, ServerError

_MANAGER: Final = re.compile(r'conflict with "((?:[^"\\]|\\.)*)"')


NO_DRY_RUN: Final = "does not support dry run"  # said of a webhook by the server, with 400
WEBHOOK: Final = "failed calling webhook"
GUESSED: Final = "compared here: in read-only mode the server is not asked what it would do"


@dataclass(frozen=True, slots=True)
class Sight:
    """What applying would do; `live` is the object as it is, `after` as it would be, None where nobody knows.

    With `inherits` helm's fields have to become kymatui's first (see `inheriting`).
    """

    action: Action
    live: Object | None
    after: Object | None = None
    changes: tuple[FieldChange, ...] = ()
    conflicts: tuple[FieldConflict, ...] = ()
    reason: str = ""
    forbidden: bool = False
    unchecked: bool = False
    inherits: bool = False

    @property
    def observed(self) -> Observed:
        return observe(self.live)


def observe(live: Object | None) -> Observed:
    """What is remembered of an object to know it again."""
    if live is None:
        return Observed()
    metadata = live["metadata"]
    return Observed(str(metadata.get("uid") or ""), str(metadata.get("resourceVersion") or ""), stamp(live))


def look(
    cluster: Cluster,
    body: Object,
    mine: Holder,
    *,
    seen: Object | None = None,
    new: bool = False,
    adopt: bool = False,
    manager: str = FIELD_MANAGER,
) -> Sight:
    """What applying `body` would do; `mine` are the marks that do not stand in the way, nor with `adopt` those of a
    lifecycle-manager that has let go of the module.

    `seen` is the object where it was read already. A server that need not be asked is not: see `settling`. With `new`,
    where nobody has installed the object yet, the dry run comes first: of most it says that they are not there.
    """
    if new and seen is None and not cluster.read_only and (made := _created(cluster, body, manager)) is not None:
        return Sight(Action.CREATE, None, made, compare(None, body))
    try:
        live = seen if seen is not None else cluster.get(read_ref(body))
    except ForbiddenError as error:
        return Sight(Action.BLOCKED, None, reason=str(error), forbidden=True)
    if live is not None:
        if (live["metadata"] or {}).get("deletionTimestamp"):
            return Sight(Action.BLOCKED, live, reason=_being_deleted(live))
        other = holder(live)
        if other is not None and other != mine:
            if not (adopt and is_left_behind(other)):
                way = "; `kymatui adopt` takes over what that has let go of" if is_left_behind(other) else ""
                return Sight(Action.BLOCKED, live, reason=f"it belongs to the {other}{way}")
            return _taken_over(cluster, body, live, mine, manager)
        if adopt and other is None:
            return _adopted(cluster, body, live, mine, manager)
        gone = leftovers(live, body, manager) if other == mine and mine.kind is HolderKind.HELM else ()
        if gone:
            return _inherited(cluster, body, live, mine, manager, gone)
        if is_settled(live, body, manager):
            return Sight(Action.SAME, live, live)
    if cluster.read_only:
        return _guessed(live, body, GUESSED)
    return dry_run(cluster, body, live, mine, manager=manager)


def _taken_over(cluster: Cluster, body: Object, live: Object, mine: Holder, manager: str) -> Sight:
    """Even where nothing else changes, its owner does."""
    sight = _adopted(cluster, body, live, mine, manager)
    action = Action.CHANGE if sight.action is Action.SAME else sight.action
    applied = LIFECYCLE_APPLIER in field_managers(live)  # its labels alone are in manifests that kubectl applies, too
    return replace(
        sight, action=action, reason=sight.reason or ("owner: lifecycle-manager → kymatui" if applied else "")
    )


def _adopted(cluster: Cluster, body: Object, live: Object, mine: Holder, manager: str) -> Sight:
    """Preview an object whose installer hands its fields over, and with them what `body` does not have."""
    if not field_managers(live) & ADOPTED_MANAGERS:
        return (
            _guessed(live, body, GUESSED) if cluster.read_only else dry_run(cluster, body, live, mine, manager=manager)
        )
    gone = leftovers(live, body, manager, ADOPTED_MANAGERS)
    sight = _inherited(cluster, body, live, mine, manager, gone, reason="")
    conflicts = tuple(one for one in sight.conflicts if one.manager not in ADOPTED_MANAGERS)
    action = Action.CHANGE if sight.action is Action.CONFLICT and not conflicts else sight.action
    reason = "" if sight.action is Action.CONFLICT and not conflicts else sight.reason
    return replace(sight, action=action, conflicts=conflicts, reason=reason)


def _inherited(
    cluster: Cluster,
    body: Object,
    live: Object,
    mine: Holder,
    manager: str,
    gone: tuple[Path, ...],
    *,
    reason: str = "what helm wrote of it is kymatui's then",
) -> Sight:
    """Two requests of which the second needs the first cannot be tried: the server is asked for what comes of both."""
    wanted = successor(live, body, gone)
    if cluster.read_only:
        return replace(_guessed(live, wanted, GUESSED), inherits=True)
    first = dry_run(cluster, body, live, mine, manager=manager)
    if first.forbidden or first.unchecked:
        return first
    try:
        after = cluster.patch(
            read_ref(body), changes_between(live, wanted), PatchKind.JSON, manager=manager, dry_run=True
        )
    except ClusterError as error:
        return _refused(error, live, body, first.conflicts)
    if first.conflicts and not is_yielding(first.conflicts, live, mine):
        return replace(first, action=Action.CONFLICT, after=after, changes=compare(live, after), inherits=True)
    return Sight(Action.CHANGE, live, after, compare(live, after), first.conflicts, reason, inherits=True)


def dry_run(
    cluster: Cluster, body: Object, live: Object | None, mine: Holder, *, manager: str = FIELD_MANAGER
) -> Sight:
    """The server's own answer."""
    conflicts: tuple[FieldConflict, ...] = ()
    try:
        try:
            after = cluster.apply(body, manager=manager, dry_run=True)
        except ConflictError as error:
            conflicts = conflicts_of(error)
            if not conflicts:
                raise
            after = cluster.apply(body, manager=manager, dry_run=True, force=True)
    except ClusterError as error:
        return _refused(error, live, body, conflicts)
    if live is None:
        return Sight(Action.CREATE, None, after, compare(None, body))
    changes = compare(live, after)
    if conflicts and not is_yielding(conflicts, live, mine):
        return Sight(Action.CONFLICT, live, after, changes, conflicts, "others own fields that it would change")
    if not changes and _owned(live, manager) == _owned(after, manager):
        return Sight(Action.SAME, live, after)
    reason = "" if changes else "who owns its fields changes, and nothing else"
    return Sight(Action.CHANGE, live, after, changes, conflicts, reason)


def _refused(error: ClusterError, live: Object | None, body: Object, conflicts: tuple[FieldConflict, ...]) -> Sight:
    """What the server's refusal of a trial says of the real thing. Raises the error where it says nothing."""
    if isinstance(error, ForbiddenError):
        return Sight(Action.BLOCKED, live, reason=str(error), conflicts=conflicts, forbidden=True)
    refusals = InvalidError, NotFoundError, ConflictError
    if isinstance(error, refusals) and NO_DRY_RUN in str(error):
        return _guessed(live, body, f"not checked: {error}")
    if isinstance(error, refusals) or (isinstance(error, ServerError) and WEBHOOK in str(error)):
        return Sight(Action.BLOCKED, live, reason=str(error), conflicts=conflicts)
    raise error


def _guessed(live: Object | None, body: Object, reason: str) -> Sight:
    """What can be told without the server."""
    if live is None:
        return Sight(Action.CREATE, None, None, compare(None, body), reason=reason, unchecked=True)
    after = guess(live, body)
    changes = compare(live, after)
    action = Action.CHANGE if changes else Action.SAME
    return Sight(action, live, after, changes, reason=reason, unchecked=True)


def _created(cluster: Cluster, body: Object, manager: str) -> Object | None:
    """What would be created; None where the object is there already (it has a version then), or will not be."""
    try:
        after = cluster.apply(body, manager=manager, dry_run=True)
    except (ConflictError, ForbiddenError, InvalidError, NotFoundError):
        return None
    except ServerError as error:
        if WEBHOOK not in str(error):
            raise
        return None
    return after if not after["metadata"].get("resourceVersion") else None


def conflicts_of(error: ConflictError) -> tuple[FieldConflict, ...]:
    """The fields that others own, each with who does."""
    found = []
    for cause in field_conflicts(error):
        match = _MANAGER.search(str(cause.get("message") or ""))
        path = str(cause.get("field") or "").removeprefix(".")
        found.append(FieldConflict(path, match[1] if match else "another manager"))
    return tuple(found)


def is_yielding(conflicts: tuple[FieldConflict, ...], live: Mapping[str, Any], mine: Holder) -> bool:
    """Whether the fields belong to helm, on an object of this very release: it is the same owner by another tool."""
    return holder(live) == mine and {conflict.manager for conflict in conflicts} <= {HELM_MANAGER}


def was_there_before(live: Mapping[str, Any], mine: Holder, manager: str = FIELD_MANAGER) -> bool:
    """Whether an object was made by somebody else, who says nothing of it.

    That the manager has written to it says nothing: an earlier module may have found it, too, and have let it go.
    Definitions alone have no marks while they are a module's, and so are known by their manager.
    """
    if holder(live) == mine:
        return False
    return not (is_definition(read_ref(live)) and manager in field_managers(live))


def why(error: ClusterError) -> str:
    """An error in one sentence, with what to do."""
    return f"{error} ({error.hint})" if error.hint else str(error)


def _owned(live: Mapping[str, Any], manager: str) -> object:
    for entry in (live.get("metadata") or {}).get("managedFields") or ():
        if entry.get("manager") == manager and entry.get("operation") == "Apply" and not entry.get("subresource"):
            return entry.get("fieldsV1")
    return None


def _being_deleted(live: Mapping[str, Any]) -> str:
    finalizers = live["metadata"].get("finalizers") or ()
    held = f", held by {', '.join(finalizers)}" if finalizers else ""
    return f"it is being deleted{held}"
