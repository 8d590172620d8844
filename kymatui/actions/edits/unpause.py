"""What a person has stopped runs again: the skip label, a paused rollout, a workload that is scaled to zero."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from kymatui.actions.batch import BatchJob
from kymatui.actions.edits.object_edit import (
    Object,
    ObjectEditing,
    ObjectItem,
    apply_edit,
    editable_fields,
    object_item,
    plan_object,
    require_right,
)
from kymatui.actions.edits.restart import restartable
from kymatui.actions.session import Session
from kymatui.domain.catalog.rows import Catalog, ModuleRow
from kymatui.domain.kubernetes.object_meta import LABEL_SKIP
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma_edit.module_edit import require_kyma
from kymatui.domain.rights import role_hint
from kymatui.domain.snapshot.missing_lists import RowFact
from kymatui.engine.cluster.ports import Cluster
from kymatui.errors import ForbiddenError, KymatuiError


class Unpausing(ObjectEditing):
    """The edits of a session: Manifests and Kymas at home, workloads where modules run."""

    def __init__(self, session: Session) -> None:
        super().__init__(session.cluster)
        self._session = session

    def run(self, item: ObjectItem, job: BatchJob) -> ObjectItem:
        edit = item.required_plan
        with job.journal.step(edit.verb, edit.ref):
            return replace(item, result=apply_edit(_cluster_of(self._session, edit.ref), edit, job.cancel))


def pausing_objects(row: ModuleRow) -> tuple[ObjectRef, ...]:
    """Return what can pause a module: its Manifest, its manager and the workloads of its installation."""
    workloads = restartable(ref for ref in (row.manager, *row.workloads) if ref is not None)
    return tuple(dict.fromkeys((*([row.manifest] if row.manifest is not None else []), *workloads)))


def plan_unpause(session: Session, rows: Iterable[ModuleRow]) -> list[ObjectItem]:
    """Return an edit for each object that pauses modules, once; none for a module that runs.

    A module of which it is unknown, or whose objects the user may not read, is refused.
    """
    items = dict[ObjectRef | str, ObjectItem]()
    for row in rows:
        try:
            edits: dict[ObjectRef | str, ObjectItem] = {
                ref: item for ref in pausing_objects(row) for item in _plan(session, row.name, ref)
            }
            unknown = row.unknown.get(RowFact.MANIFEST) or row.unknown.get(RowFact.STATE)
            if not edits and unknown is not None:
                error = KymatuiError(f"whether {row.name} is paused is unknown: {unknown.reason}")
                edits = {row.name: ObjectItem(row.name, refusal=error)}
            items |= {key: item for key, item in edits.items() if key not in items}
        except ForbiddenError as error:
            refusal = ForbiddenError(str(error), hint=role_hint("unpause", row.name), status=403)
            items[row.name] = ObjectItem(row.name, refusal=refusal)
    return list(items.values())


def plan_unpause_kyma(session: Session, catalog: Catalog) -> list[ObjectItem]:
    """Return the edit of the Kyma that lifecycle-manager reads; errors as in `require_kyma`."""
    ref = require_kyma(catalog)
    if session.kyma is not None:
        ref = ObjectRef(ref.kind, *session.kyma)
    return list(_plan(session, ref.name, ref))


def require_unpause_right(session: Session, ref: ObjectRef, hint: str = "") -> None:
    """Raise ForbiddenError where the user may not patch the object."""
    require_right(_cluster_of(session, ref), ref, hint, is_new=False)


def _cluster_of(session: Session, ref: ObjectRef) -> Cluster:
    return session.home if ref.kind.kind in ("Kyma", "Manifest") else session.cluster


def _plan(session: Session, name: str, ref: ObjectRef) -> Iterator[ObjectItem]:
    cluster = _cluster_of(session, ref)
    body = cluster.get(ref)
    if body is None:
        return
    own = editable_fields(body)
    desired = _unpaused(own)
    if desired != own:
        yield object_item(name, plan_object(cluster, body, own, desired))


def _unpaused(body: Mapping[str, Any]) -> Object:
    labels = body["metadata"].get("labels") or {}
    if LABEL_SKIP in labels:
        labels = {label: value for label, value in labels.items() if label != LABEL_SKIP}
        return {**body, "metadata": {**body["metadata"], "labels": labels}}
    spec = {name: value for name, value in (body.get("spec") or {}).items() if (name, value) != ("paused", True)}
    if spec.get("replicas") == 0:
        spec["replicas"] = 1
    return {**body, "spec": spec} if "spec" in body else dict(body)
