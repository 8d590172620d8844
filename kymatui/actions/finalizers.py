"""Finalizers that nobody removes: who set them, who should have acted, and letting go of one, as a last resort."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from kymatui.domain.catalog.rows import Catalog
from kymatui.domain.kubernetes.managed_fields import finalizer_owners, manual_finalizer_owners
from kymatui.domain.kubernetes.object_meta import GARBAGE_COLLECTION, parse_time
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.manifests import Manifest, read_manifest
from kymatui.domain.kyma_edit.module_edit import elsewhere_refusal
from kymatui.domain.modules.risks import stuck_finalizers, stuck_words
from kymatui.domain.rights import role_hint
from kymatui.engine.cluster.ports import Cluster, Object, PatchKind
from kymatui.engine.cluster.request_scope import note_permission
from kymatui.engine.deletion.deletion_state import DeletionState, explain_finalizers
from kymatui.engine.jobs.journal import NO_JOURNAL, Journal
from kymatui.errors import ConflictError, ForbiddenError, InvalidError, NotFoundError, RefusedError, UnknownNameError


class BlockedObject(Struct, frozen=True):
    """One object that is being deleted and does not go.

    since       when its deletion was asked for, in seconds of the Unix clock
    finalizers  each with the field manager that set it, "" where nobody is known
    expected    what keeps them, or who has to remove them
    cluster     where the object is
    """

    ref: ObjectRef
    uid: str
    resource_version: str
    since: float | None
    finalizers: tuple[tuple[str, str], ...]
    expected: str
    cluster: Cluster

    @property
    def typed(self) -> str:
        """Return what a person has to type."""
        return self.ref.path


def require_runtime(catalog: Catalog, state: DeletionState) -> None:
    """Raise RefusedError where a module's objects are in another cluster, so that none of them is found here."""
    if state.uninstall is None and (refusal := elsewhere_refusal(catalog, "finalizers", state.module)):
        raise RefusedError(refusal)


def blocked_objects(state: DeletionState, cluster: Cluster, manifests_on: Cluster) -> tuple[BlockedObject, ...]:
    """Return the objects in deletion that are held, the oldest first; the module's own last, as it waits for the
    rest.

    The Manifest, which is on the cluster `manifests_on`, is one of them if only others set its finalizers.
    """
    refs = [managed.ref for managed in state.stuck]
    if state.uninstall is not None:
        refs += [step.ref for step in state.uninstall.steps]
    bodies = ((ref, cluster.get(ref)) for ref in dict.fromkeys(refs))
    blocked = [_held(ref, body, state, cluster) for ref, body in bodies if body is not None and _is_held(body)]
    own = {managed.ref for managed in state.remaining.ours}
    blocked.sort(key=lambda held: (held.ref in own, held.since or 0.0))
    raw = manifests_on.get(state.manifest) if state.manifest is not None else None
    manifest = read_manifest(raw) if raw is not None else None
    if raw is not None and isinstance(manifest, Manifest) and stuck_finalizers(manifest):
        held = _held(manifest.ref, raw, state, manifests_on)
        blocked.append(replace(held, expected=stuck_words(manifest)))
    return tuple(blocked)


def _is_held(body: Object) -> bool:
    finalizers = {*(body["metadata"].get("finalizers") or ())} - GARBAGE_COLLECTION
    return bool(body["metadata"].get("deletionTimestamp") and finalizers)


def _held(ref: ObjectRef, body: Object, state: DeletionState, cluster: Cluster) -> BlockedObject:
    metadata, owners = body["metadata"], finalizer_owners(body)
    return BlockedObject(
        ref,
        str(metadata.get("uid") or ""),
        str(metadata.get("resourceVersion") or ""),
        parse_time(str(metadata.get("deletionTimestamp") or "")),
        tuple(owners.items()),
        _by_hand(body) or explain_finalizers(state),
        cluster,
    )


def _by_hand(body: Object) -> str:
    people = manual_finalizer_owners(body)
    return f"set by hand ({', '.join(people)}); no controller removes it" if people else ""


def require_right(blocked: BlockedObject, module: str, finalizer: str) -> None:
    """Raise ForbiddenError if the user may not patch the object."""
    ref = blocked.ref
    note_permission("list", ref.kind)
    if not blocked.cluster.allowed("patch", ref.kind, ref.namespace, ref.name):
        options = f"--options='--object {ref.kind.kind}:{blocked.typed} --remove {finalizer}'"
        raise ForbiddenError(f"you may not patch {ref}", hint=role_hint("finalizers", module, options), status=403)


def remove_finalizer(blocked: BlockedObject, finalizer: str, typed: str, journal: Journal = NO_JOURNAL) -> bool:
    """Remove one finalizer from one object, exactly as it was seen; return whether that deleted the object.

    The finalizer's cleanup is skipped. Raise RefusedError if the full name was not typed or the object has changed,
    UnknownNameError if it has no such finalizer.
    """
    names = [name for name, _ in blocked.finalizers]
    if typed.strip() != blocked.typed:
        raise RefusedError(f"the typed name is not {blocked.typed}; no changes made", hint="type the full name")
    if finalizer not in names:
        raise UnknownNameError.near(
            "finalizer", finalizer, names, where=f"on {blocked.ref}", hint=f"use {', '.join(names)}"
        )
    at = names.index(finalizer)
    patch = [
        {"op": "test", "path": "/metadata/uid", "value": blocked.uid},
        {"op": "test", "path": "/metadata/resourceVersion", "value": blocked.resource_version},
        {"op": "test", "path": f"/metadata/finalizers/{at}", "value": finalizer},
        {"op": "remove", "path": f"/metadata/finalizers/{at}"},
    ]
    try:
        with journal.step("remove finalizer", blocked.ref):
            blocked.cluster.patch(blocked.ref, patch, PatchKind.JSON)
    except NotFoundError:  # the object ended between the list and the patch
        return True
    except (ConflictError, InvalidError) as error:
        message = f"{blocked.ref} has changed since it was displayed: {error}"
        raise RefusedError(message, hint="list the finalizers again") from error
    return blocked.cluster.get(blocked.ref) is None
