"""The edit of one object as a person rewrote it: check, plan, apply to exactly what they saw.

What a person may not rewrite here has a command of its own, which shows what follows from it.

Pull ModuleTemplates of catalogs outside of the cluster into a namespace, for every tool that reads them there.

items = plan_pulls(cluster, snapshot, ["keda"], "", "default")
run_batch(items, ObjectEditing(cluster), renderer)
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeGuard

from msgspec import Struct
from msgspec.structs import replace

from kymatui.actions.batch import BatchItem, BatchJob, Verb, Work
from kymatui.actions.modules.install_plan import refuse_template_namespace, template_copy
from kymatui.domain.gitops import GitChanges, git_changes, git_warnings
from kymatui.domain.kubernetes.json_reader import objects_at
from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.kymas import KYMA_NAMESPACE
from kymatui.domain.kyma.template_index import TemplateIndex, index_templates
from kymatui.domain.kyma_edit.label_edit import LABELS
from kymatui.domain.plans.direct_install import choose_template
from kymatui.domain.snapshot.snapshots import CATALOG_FEED, Snapshot
from kymatui.engine.cluster.ports import Cluster, PatchKind
from kymatui.engine.plans.plan import FieldDiff, diff_objects, state_digest
from kymatui.errors import (
    ConflictError,
    ForbiddenError,
    InvalidError,
    KymatuiError,
    NotFoundError,
    OutdatedError,
    RefusedError,
    UnknownNameError,
    UsageError,
)

Object = dict[str, Any]
ATTEMPTS: Final = 5  # patches with a newer resourceVersion while other fields of the object change
_HIDDEN: Final = frozenset(
    {
        *("creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "finalizers", "generation"),
        *("managedFields", "ownerReferences", "resourceVersion", "selfLink", "uid"),
    }
)
"""Metadata that nobody edits here: the server's, and finalizers, which `kymatui finalizers` removes."""


_WHOLE_OBJECT: Final = re.compile(r'Invalid value: "\{.*\}": ', re.DOTALL)
"""In front of "unknown field" a server repeats the object."""


class ObjectEdit(Struct, frozen=True):
    """An edit that the server accepts; `changes` are the fields that its dry run changed.

    `before` is None for an object that the edit creates; `patch` is then the whole object. `desired` is the object
    without what the server writes.
    """

    ref: ObjectRef
    before: Mapping[str, Any] | None
    patch: Mapping[str, Any]
    changes: tuple[FieldDiff, ...]
    desired: Mapping[str, Any]

    @property
    def git(self) -> GitChanges:
        """Return the change where the object comes from Git."""
        return git_changes(self.before, self.desired) if self.before is not None else ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return the warning that the edit may not last, empty for an object that no Git repository has."""
        return git_warnings(self.git)

    @property
    def verb(self) -> str:
        return "create" if self.before is None else "change"


ObjectItem = BatchItem[ObjectEdit, Object]


def object_item(name: str, edit: ObjectEdit) -> ObjectItem:
    """Return a planned edit for a batch."""
    return ObjectItem(name, edit, Work.CHANGE if edit.changes else Work.NOTHING)


class ObjectEditing(Verb[ObjectEdit, Object]):
    """The writes of a cluster's objects, each only as the plan displayed it."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def run(self, item: ObjectItem, job: BatchJob) -> ObjectItem:
        edit = item.required_plan
        with job.journal.step(edit.verb, edit.ref):
            return replace(item, result=apply_edit(self._cluster, edit, job.cancel))


def require_right(cluster: Cluster, ref: ObjectRef, hint: str = "", *, is_new: bool) -> None:
    """Raise ForbiddenError where the user may not create or patch an object."""
    verb = "create" if is_new else "patch"
    if not cluster.allowed(verb, ref.kind, ref.namespace, "" if is_new else ref.name):
        raise ForbiddenError(f"you may not {verb} {ref} in {cluster.name}", hint=hint, status=403)


def editable_fields(body: Mapping[str, Any]) -> Object:
    """Return what a person may rewrite: no status, and no metadata of the server."""
    metadata = {name: value for name, value in body["metadata"].items() if name not in _HIDDEN}
    content = {name: value for name, value in body.items() if name not in ("status", "metadata")}
    first: Object = {name: content.pop(name) for name in ("apiVersion", "kind") if name in content}
    return {**first, "metadata": metadata, **content}


def plan_object(
    cluster: Cluster, before: Mapping[str, Any] | None, initial: Mapping[str, Any], desired: object
) -> ObjectEdit:
    """Ask the server, without a write, what the rewritten object changes; without `before` it is created.

    Name and namespace of the `initial` one may be others then. Raises InvalidError for what the server does not accept,
    such as unknown fields, and RefusedError for what another command does.
    """
    return _plan_creation(cluster, initial, desired) if before is None else _plan_change(cluster, before, desired)


def _plan_creation(cluster: Cluster, initial: Mapping[str, Any], desired: object) -> ObjectEdit:
    kind = read_ref(initial).kind
    if not _is_object(desired) or read_ref(desired).kind != kind:
        raise InvalidError(f"it must stay a {kind.kind} of {kind.api_version} with a name", status=422)
    _refuse_status(desired)
    ref = read_ref(desired)
    if cluster.read_only:  # which refuses dry runs, too
        return ObjectEdit(ref, None, desired, diff_objects(None, desired), desired)
    try:
        with _without_object():
            created = cluster.create(desired, dry_run=True)
    except ConflictError as error:
        raise InvalidError(f"{ref} already exists", status=422) from error
    return ObjectEdit(ref, None, desired, diff_objects(None, created), desired)


def _plan_change(cluster: Cluster, before: Mapping[str, Any], desired: object) -> ObjectEdit:
    ref, own = read_ref(before), editable_fields(before)
    if not _is_object(desired) or read_ref(desired) != ref:
        raise InvalidError(f"it must stay {ref}: apiVersion, kind, name and namespace cannot change", status=422)
    if hidden := sorted(_HIDDEN & desired["metadata"].keys()):
        raise InvalidError(f"metadata.{hidden[0]} cannot be edited", status=422)
    _refuse_status(desired)
    patch = merge_patch(own, desired)
    if not patch:
        return ObjectEdit(ref, before, {}, (), desired)
    _refuse_uninstalls(before, desired)
    if cluster.read_only:  # which refuses dry runs, too
        return ObjectEdit(ref, before, patch, diff_objects(own, desired), desired)
    with _without_object():
        tried = cluster.patch(ref, patch, PatchKind.MERGE, dry_run=True)
    return ObjectEdit(ref, before, patch, diff_objects(before, tried), desired)


def _is_object(desired: object) -> TypeGuard[Object]:
    return isinstance(desired, dict) and isinstance(desired.get("metadata"), dict)


def _refuse_status(desired: Object) -> None:
    if "status" in desired:
        raise InvalidError("status cannot be edited: its controller writes it", status=422)


@contextmanager
def _without_object() -> Iterator[None]:
    """Leave out of an error the copy of the object that a server puts in front of "unknown field"."""
    try:
        yield
    except InvalidError as error:
        words = _WHOLE_OBJECT.sub("", str(error))
        raise InvalidError(words, hint=error.hint, status=error.status, reason=error.reason, body=error.body) from error


def apply_edit(cluster: Cluster, edit: ObjectEdit, cancel: threading.Event | None = None) -> Object:
    """Write the edit if the object is as the person saw it; its status may have changed.

    Raises OutdatedError where another client changed it, NotFoundError where it was deleted.
    """
    if edit.before is None:
        try:
            return cluster.create(edit.patch, cancel=cancel)
        except ConflictError as error:
            raise OutdatedError(f"{edit.ref} exists by now; no changes made", hint="plan again") from error
    current = before = edit.before
    for _ in range(ATTEMPTS):
        metadata = {**edit.patch.get("metadata", {}), "resourceVersion": current["metadata"]["resourceVersion"]}
        try:
            return cluster.patch(edit.ref, {**edit.patch, "metadata": metadata}, PatchKind.MERGE, cancel=cancel)
        except ConflictError:
            fresh = cluster.get(edit.ref, cancel=cancel)
            if fresh is None or fresh["metadata"].get("uid") != before["metadata"].get("uid"):
                raise NotFoundError(f"{edit.ref} was deleted meanwhile; no changes made", status=404) from None
            if state_digest(fresh) != state_digest(before):
                raise _changed_meanwhile(edit.ref, before, fresh) from None
            current = fresh
    raise ConflictError(f"{edit.ref} changed {ATTEMPTS} times during the edit", hint="try again", status=409)


def _changed_meanwhile(ref: ObjectRef, before: Mapping[str, Any], fresh: Mapping[str, Any]) -> OutdatedError:
    paths = ", ".join(difference.path for difference in diff_objects(before, fresh)[:3])
    return OutdatedError(f"another client changed {ref} meanwhile ({paths}); no changes made", hint="plan again")


def merge_patch(before: Mapping[str, Any], after: Mapping[str, Any]) -> Object:
    """Return the JSON merge patch (RFC 7386) from one state to another; lists are replaced as a whole."""
    patch: Object = {name: None for name in before if name not in after}
    for name, value in after.items():
        old = before.get(name)
        if isinstance(old, dict) and isinstance(value, dict):
            if inner := merge_patch(old, value):
                patch[name] = inner
        elif name not in before or old != value:
            patch[name] = value
    return patch


def _refuse_uninstalls(before: Mapping[str, Any], desired: Mapping[str, Any]) -> None:
    """Raise RefusedError for a Kyma that would lose modules: their commands list what blocks that."""
    if read_ref(before).kind.kind != "Kyma":
        return
    old_names, new_names = (
        [str(entry.get("name")) for entry in objects_at(kyma, "spec", "modules")] for kyma in (before, desired)
    )
    for name in old_names:
        if name not in new_names:
            hint = f"`kymatui disable {name}` uninstalls it"
            raise RefusedError(f"this edit would uninstall {name}", hint=hint, unchanged=True)
    old, new = ((body["metadata"].get("labels") or {}) for body in (before, desired))
    for short, label in LABELS.items():
        if old.get(label) != new.get(label):
            hint = f"`kymatui label {short}=…` lists what the label installs and uninstalls"
            raise RefusedError(f"this edit changes the label {label}", hint=hint, unchanged=True)


def outside_templates(snapshot: Snapshot) -> TemplateIndex:
    """Return the templates of the catalogs outside of the cluster, also those that the cluster has."""
    return index_templates((), (), KYMA_NAMESPACE, snapshot.outside)


def plan_pulls(
    cluster: Cluster, snapshot: Snapshot, names: Sequence[str], version: str, namespace: str
) -> list[ObjectItem]:
    """Plan the template of each module, without names of all; `version` is "" for the newest stable one of each.

    Raises UsageError for lifecycle-manager's namespace, and where no catalog offers anything.
    """
    refuse_template_namespace(namespace)
    offers = outside_templates(snapshot)
    if not offers.by_module:
        feeds = {name: feed for name, feed in snapshot.feeds.items() if name.startswith(CATALOG_FEED)}
        why = [
            f"{name.removeprefix(CATALOG_FEED)}: {feed.message or 'no ModuleTemplates'}" for name, feed in feeds.items()
        ]
        raise UsageError("; ".join(why) or "no catalog outside of the cluster", hint="name one with --catalog SOURCE")
    return [_planned(cluster, offers, name, version, namespace) for name in names or sorted(offers.by_module)]


def _planned(cluster: Cluster, offers: TemplateIndex, name: str, version: str, namespace: str) -> ObjectItem:
    choice = choose_template(offers, name, version, from_component=True)
    if isinstance(choice, str):
        words = choice if offers.offers(name) else f"{name} is not in a catalog outside of the cluster"
        return ObjectItem(name, refusal=UnknownNameError(words, hint="name another catalog with --catalog SOURCE"))
    body = template_copy(choice.template, namespace)
    try:
        live = cluster.get(read_ref(body))
        desired = body if live is None else _updated(live, body)
        return object_item(name, plan_object(cluster, live, body, desired))
    except KymatuiError as error:
        if isinstance(error, NotFoundError) and cluster.kind(read_ref(body).kind) is None:
            error.hint = "`kymatui operator crds` prints the CRDs of Kyma for `kubectl apply -f -`"
        return ObjectItem(name, refusal=error)


def _updated(live: Mapping[str, Any], body: Mapping[str, Any]) -> dict[str, Any]:
    """Return a template that exists with what the catalog has; labels and annotations of others stay."""
    metadata = editable_fields(live)["metadata"]
    for key in ("labels", "annotations"):
        if own := body["metadata"].get(key):
            metadata[key] = {**metadata.get(key, {}), **own}
    return {**body, "metadata": metadata}
