"""A plan reads each object once, whatever asks for it and from how many threads."""

from __future__ import annotations

import threading
from typing import Any, cast

import pytest

from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.engine.cluster.concurrency import run_for_each
from kymatui.engine.cluster.ports import Cluster
from kymatui.engine.cluster.retries import ReadOnceCluster
from kymatui.engine.jobs.run import SystemClock
from kymatui.errors import ForbiddenError

CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")


class CountingCluster:
    """Answers reads late, so that threads ask for the same at once; the first answers may be errors."""

    def __init__(self, *errors: Exception) -> None:
        self.asked: list[Any] = []
        self._errors = list(errors)

    def get(self, ref: ObjectRef, *, cancel: threading.Event | None = None) -> dict[str, Any] | None:
        self.asked.append(ref)
        threading.Event().wait(0.05)
        if self._errors:
            raise self._errors.pop()
        return {"metadata": {"name": ref.name}} if ref.name != "missing" else None

    def list(self, kind: GroupVersionKind, namespace: str = "", **options: Any) -> list[dict[str, Any]]:
        self.asked.append((kind, namespace, options.get("labels", ""), options.get("with_managed_fields", False)))
        return [{"metadata": {"name": "one"}}]


def read_once(counting: CountingCluster) -> ReadOnceCluster:
    return ReadOnceCluster(cast(Cluster, counting), SystemClock(), threading.Event())


def named(name: str) -> ObjectRef:
    return ObjectRef(CONFIG_MAP, "default", name)


def test_threads_that_ask_for_the_same_object_share_one_answer() -> None:
    counting = CountingCluster()
    cluster = read_once(counting)
    found = run_for_each([named("a"), named("missing")] * 8, cluster.get, threading.Event())
    assert found == [{"metadata": {"name": "a"}}, None] * 8
    assert sorted(ref.name for ref in counting.asked) == ["a", "missing"]


def test_lists_are_told_apart_by_all_that_is_asked_and_are_the_callers_own() -> None:
    counting = CountingCluster()
    cluster = read_once(counting)
    cluster.list(CONFIG_MAP, "default").clear()
    assert cluster.list(CONFIG_MAP, "default") == [{"metadata": {"name": "one"}}]
    cluster.list(CONFIG_MAP, "other")
    cluster.list(CONFIG_MAP, "default", labels="a=b")
    cluster.list(CONFIG_MAP, "default", with_managed_fields=True)
    assert len(counting.asked) == 4


def test_an_error_is_not_kept() -> None:
    counting = CountingCluster(ForbiddenError("no", status=403))
    cluster = read_once(counting)
    with pytest.raises(ForbiddenError):
        cluster.get(named("a"))
    assert cluster.get(named("a")) == {"metadata": {"name": "a"}}
    assert len(counting.asked) == 2
