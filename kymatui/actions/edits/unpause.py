"""What a person has stopped runs again: the skip label, a paused rollout, a workload that is scaled to zero."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
from kymatui.engine.cluster.ports import Cluster
from kymatui.errors import NotFoundError


class Unpausing(ObjectEditing):
    """The edits of a session: Manifests and Kymas at home, workloads where modules run."""

    def __init__(self, session: Session) -> None:
        super().__init__(session.cluster)
        self._session = session

    def run(self, item: ObjectItem, job: BatchJob) -> ObjectItem:
        edit = item.required_plan
        with job.journal.step(edit.verb, edit.ref):
            return replace(item, result=apply_edit(_cluster_of(self._session, edit.ref), edit, job.cancel))


def plan_unpause(session: Session, row: ModuleRow) -> list[ObjectItem]:
    """Return an edit for each object that pauses a module; () where nothing does."""
    workloads = restartable(ref for ref in (row.manager, *row.workloads) if ref is not None)
    refs = dict.fromkeys((*([row.manifest] if row.manifest is not None else []), *workloads))
    return [item for ref in refs for item in _plan(session, row.name, ref)]


def plan_unpause_kyma(session: Session, catalog: Catalog) -> list[ObjectItem]:
    """Return the edit of the Kyma that lifecycle-manager reads. Raise NotFoundError without a Kyma."""
    if catalog.kyma is None:
        raise NotFoundError(f"{catalog.cluster} has no Kyma", hint="`kymatui catalog`", status=404)
    ref = catalog.kyma.ref if session.kyma is None else ObjectRef(catalog.kyma.ref.kind, *session.kyma)
    return list(_plan(session, "the Kyma", ref))


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
