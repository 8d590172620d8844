"""A write is one value: each verb makes it, and a wrapper overrides `write` alone."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from kymatui.adapters.kube.watch.kube_cluster import KubeCluster
from kymatui.adapters.kube.watch.locked_cluster import LockedCluster
from kymatui.adapters.kube.watch.remembering_cluster import RememberingCluster
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.engine.cluster.ports import Object, PatchKind, Write, Writes, WriteVerb
from kymatui.engine.cluster.retries import RetryingCluster
from kymatui.sandbox.world.lifecycle.local_cluster import LocalCluster

REF = ObjectRef(GroupVersionKind("", "v1", "ConfigMap"), "shop", "settings")
BODY: Object = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "shop", "name": "settings"}}


class Recorder(Writes):
    """Keeps its writes, and answers each with `answer`."""

    def __init__(self, answer: Object) -> None:
        self.answer = answer
        self.writes: list[Write] = []

    def write(self, write: Write, *, cancel: threading.Event | None = None) -> Object:
        self.writes.append(write)
        return self.answer


@pytest.mark.parametrize(
    ("send", "expected"),
    [
        (
            lambda cluster: cluster.apply(BODY, manager="m", force=True, dry_run=True),
            Write(WriteVerb.APPLY, REF, BODY, manager="m", force=True, dry_run=True),
        ),
        (
            lambda cluster: cluster.create(BODY, manager="m", dry_run=True),
            Write(WriteVerb.CREATE, REF, BODY, manager="m", dry_run=True),
        ),
        (
            lambda cluster: cluster.update(BODY, manager="m", subresource="status"),
            Write(WriteVerb.UPDATE, REF, BODY, manager="m", subresource="status"),
        ),
        (
            lambda cluster: cluster.patch(REF, {"data": None}, PatchKind.MERGE, manager="m", dry_run=True),
            Write(WriteVerb.PATCH, REF, {"data": None}, PatchKind.MERGE, manager="m", dry_run=True),
        ),
        (
            lambda cluster: cluster.patch(REF, [], PatchKind.JSON, subresource="status"),
            Write(WriteVerb.PATCH, REF, [], PatchKind.JSON, subresource="status", validation="Ignore"),
        ),
        (
            lambda cluster: cluster.delete(REF, uid="u", resource_version="7", propagation="Orphan", dry_run=True),
            Write(WriteVerb.DELETE, REF, uid="u", resource_version="7", propagation="Orphan", dry_run=True),
        ),
    ],
    ids=["apply", "create", "update", "patch", "patch of a status", "delete"],
)
def test_a_verb_is_short_for_one_write(send: Callable[[Recorder], Any], expected: Write) -> None:
    cluster = Recorder(BODY)
    send(cluster)
    assert cluster.writes == [expected]


@pytest.mark.parametrize(
    ("answer", "dry_run", "gone"),
    [({"kind": "Status"}, False, True), ({"kind": "Status"}, True, False), (BODY, False, False)],
)
def test_an_object_is_gone_if_the_answer_is_a_status_of_no_dry_run(answer: Object, dry_run: bool, gone: bool) -> None:
    assert Recorder(answer).delete(REF, dry_run=dry_run) is gone


@pytest.mark.parametrize(
    "wrapper",
    [RetryingCluster, KubeCluster, RememberingCluster, LockedCluster, LocalCluster],
    ids=lambda one: one.__name__,
)
def test_a_wrapper_overrides_write_alone(wrapper: type) -> None:
    assert "write" in vars(wrapper)
    assert set(vars(wrapper)) & {verb.value for verb in WriteVerb} == set()
