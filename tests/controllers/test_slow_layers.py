"""The status that a Manifest gets while its layer is read is written under the term of the reconciliation."""

from __future__ import annotations

import threading
import time
from typing import Any, cast

import pytest

from kymatui.adapters.kube.watch.locked_cluster import LockedCluster
from kymatui.adapters.kube.watch.remembering_cluster import RememberingCluster
from kymatui.domain.kyma.manifests import Manifest, read_manifest
from kymatui.engine.cluster.ports import Object, Write, WriteVerb
from kymatui.engine.cluster.request_scope import RequestScope, request_scope
from kymatui.engine.jobs.run import SystemClock
from kymatui.errors import CancelledError, ConflictError
from kymatui.operator.framework.controller import RequeueIntervals
from kymatui.operator.framework.runtime_cache import RuntimeCache, SingleCluster
from kymatui.operator.manifests import module_pass
from kymatui.operator.manifests.module_pass import ModuleContext, ModulePass
from kymatui.operator.manifests.resource_rendering import LayerReader, ModuleRenderer
from kymatui.operator.sharding.lease_term import LeaseTerm
from tests.controllers.desks import Desk
from tests.controllers.test_retry_delays import put_module
from tests.engine.objects import config_map
from tests.engine.places import eventually


class SlowLayer:
    """A layer that is read for as long as the test wants, or until the Manifest has a state."""

    def __init__(self, desk: Desk, term: LeaseTerm, *, ends: bool) -> None:
        self._desk, self._term, self._ends = desk, term, ends

    def objects(self, manifest: Any) -> list[dict[str, Any]]:
        if self._ends:
            self._term.end()
            time.sleep(0.5)
        else:
            eventually(lambda: self._desk.status().get("state") == "Processing", "it is visible")
        return [config_map("of-module", self._desk.place.namespace)]


class Writes:
    """The patches of the control plane and the conflicts among them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.patches: list[dict[str, Any]] = []
        self.conflicts = 0
        send = RememberingCluster.write

        def write(cluster: RememberingCluster, write: Write, *, cancel: threading.Event | None = None) -> Object:
            if write.verb is not WriteVerb.PATCH:
                return send(cluster, write, cancel=cancel)
            assert isinstance(write.body, dict)
            self.patches.append(write.body)
            try:
                return send(cluster, write, cancel=cancel)
            except ConflictError:
                self.conflicts += 1
                raise

        monkeypatch.setattr(RememberingCluster, "write", write)


def reconcile(desk: Desk, *, ends: bool) -> None:
    home = LockedCluster(desk.place.cluster.client)
    term = LeaseTerm(0, time.monotonic(), 60.0)
    layers = ModuleRenderer(cast(LayerReader, SlowLayer(desk, term, ends=ends)))
    runtimes = RuntimeCache(SingleCluster(desk.place.cluster))
    context = ModuleContext(home, SystemClock(), runtimes, layers, RequeueIntervals())
    with request_scope(RequestScope(term=term, versions={})):
        manifest = read_manifest(home.get(desk.ref) or {})
        assert isinstance(manifest, Manifest)
        ModulePass(context, manifest, threading.Event()).run()


@pytest.fixture
def writes(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Writes:
    put_module(desk)
    monkeypatch.setattr(module_pass, "_SLOW_LAYER", 0.1)
    return Writes(monkeypatch)


def test_it_has_the_version_that_was_read_and_the_next_write_has_its_version(desk: Desk, writes: Writes) -> None:
    reconcile(desk, ends=False)
    assert {"status", "metadata"} in [set(one) for one in writes.patches]
    assert all(one["metadata"].get("resourceVersion") for one in writes.patches)
    assert len(writes.patches) > 2
    assert writes.conflicts == 0
    assert desk.config("of-module") is not None


def test_it_is_not_written_after_the_end_of_the_term(desk: Desk, writes: Writes) -> None:
    with pytest.raises(CancelledError):
        reconcile(desk, ends=True)
    assert desk.status() == {}
