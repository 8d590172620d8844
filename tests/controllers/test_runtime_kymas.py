"""The Kyma of a runtime and its namespace: what is asked of the runtime, and what it is spared."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.kymas import Kyma
from kymatui.engine.cluster.ports import OPERATOR_FIELD_MANAGER, Object, PatchKind
from kymatui.errors import ConflictError
from kymatui.operator.framework.applied_copies import AppliedCopies
from kymatui.operator.kymas.kyma_context import KYMA
from kymatui.operator.kymas.runtime_kyma import RUNTIME_KYMA, RUNTIME_NAMESPACE, RuntimeKyma
from kymatui.sandbox.world.lifecycle.local_cluster import LocalCluster
from tests.controllers.release_worlds import DrawnFleet, ReleaseWorld, open_cluster
from tests.domain.builders import a_kyma
from tests.domain.builders import kyma as a_raw_kyma
from tests.domain.test_whatif import SPACE

CANCEL = threading.Event()
SPEC = {"channel": "regular", "modules": [{"name": "keda"}]}
NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kyma-system", "labels": {"a": "b"}}}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the verbs that clusters are asked from now on."""
    found: list[str] = []
    for verb in ("get", "create", "apply", "patch"):

        def counted(cluster: LocalCluster, *given: Any, _verb: str = verb, _send: Any = None, **more: Any) -> Object:
            found.append(_verb)
            return _send(cluster, *given, **more)  # type: ignore[no-any-return]

        send = getattr(LocalCluster, verb)
        monkeypatch.setattr(
            LocalCluster, verb, lambda *given, _call=counted, _send=send, **more: _call(*given, _send=_send, **more)
        )
    return found


def kyma() -> Kyma:
    return a_kyma(name="one", namespace="kcp-system", labelled={"kyma-project.io/runtime-id": "id"})


def test_a_new_kyma_is_created_with_its_labels_and_owner(asked: list[str]) -> None:
    runtime = open_cluster("skr", "kyma-system")
    asked.clear()
    remote = RuntimeKyma(runtime, CANCEL)
    live = remote.fetch(kyma(), lambda: SPEC)
    remote.mirror_metadata(kyma(), live)
    assert asked == ["get", "create"]
    assert live["metadata"]["labels"]["kyma-project.io/runtime-id"] == "id"
    assert list(live["metadata"]["annotations"].values()) == ["kcp-system/one"]


@pytest.mark.parametrize(("skips", "expected"), [(True, {"skipMaintenanceWindows": True}), (False, {})])
def test_a_flag_that_is_false_is_in_neither_spec_as_with_lifecycle_manager(skips: bool, expected: object) -> None:
    world = ReleaseWorld(DrawnFleet([], []))
    body = a_raw_kyma([], name="one", namespace=SPACE)
    world.runtimes["one"] = open_cluster("one", "kyma-system")
    world.home.create({**body, "spec": {"channel": "regular", "skipMaintenanceWindows": skips}})
    world.settle()
    for cluster, ref in ((world.home, ObjectRef(KYMA, SPACE, "one")), (world.runtimes["one"], RUNTIME_KYMA)):
        live = cluster.get(ref)
        assert live is not None
        assert {key: value for key, value in live["spec"].items() if key == "skipMaintenanceWindows"} == expected


def test_a_kyma_that_will_be_refused_has_neither() -> None:
    live = RuntimeKyma(open_cluster("skr", "kyma-system"), CANCEL).fetch(kyma(), lambda: {**SPEC, "channel": "none"})
    assert not live["metadata"].get("labels")


def test_a_kyma_that_is_deleted_meanwhile_is_a_conflict() -> None:
    runtime = open_cluster("skr", "kyma-system")
    remote = RuntimeKyma(runtime, CANCEL)
    live = remote.fetch(kyma(), lambda: SPEC)
    runtime.delete(RUNTIME_KYMA)
    with pytest.raises(ConflictError):
        remote.mirror_status({"state": "Ready"}, live)


def test_a_copy_is_read_only_to_see_whether_another_client_changed_it(asked: list[str]) -> None:
    runtime, copies = open_cluster("skr", "kyma-system"), AppliedCopies()

    def verbs(within: float = 0.0) -> list[str]:
        asked.clear()
        copies.ensure(runtime, NAMESPACE, OPERATOR_FIELD_MANAGER, CANCEL, within=within)
        return list(asked)

    assert verbs() == ["apply"]
    assert verbs(60.0) == []
    assert verbs() == ["get"]
    runtime.patch(RUNTIME_NAMESPACE, {"metadata": {"labels": {"a": "c"}}}, PatchKind.MERGE)
    assert verbs() == ["get", "apply"]
    assert verbs() == ["get"]
    copies.forget(runtime, RUNTIME_NAMESPACE)
    assert verbs(60.0) == ["apply"]
