"""Replicas share the Kymas of a control plane by shards, and no Kyma has two at a time."""

from __future__ import annotations

import json
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.remote.watcher_routes import event_path
from kymatui.engine.cluster.ports import PatchKind
from kymatui.engine.cluster.request_scope import RequestScope, request_scope
from kymatui.engine.jobs.lease import LEASE
from kymatui.errors import CancelledError, ClusterError, ConflictError, UnreachableError
from kymatui.operator.program import OperatorOptions
from kymatui.operator.program_ports import ListenerOptions
from kymatui.operator.sharding.lease_term import LeaseTerm
from kymatui.operator.sharding.shard_holder import ReplicaLeases, ShardHolder, ShardPlan
from kymatui.operator.watchers.event_listener import MANAGER, RUNTIME_ID
from kymatui.operator.watchers.runtime_events import FORWARDED
from tests.controllers.certificates import issue
from tests.engine.places import eventually
from tests.integration.operators import HOME, KYMA, ControlPlane, RunningOperator, running_operator
from tests.sandboxes.starting import ready_sandbox

pytestmark = pytest.mark.xdist_group("shards")
SHARDS = 4
KYMAS = [f"kyma-{number}" for number in range(12)]
OPTIONS = OperatorOptions(namespace=HOME, single_cluster=True, shards=SHARDS, workers=2)


@pytest.fixture(scope="module")
def cluster() -> Iterator[ControlPlane]:
    with ready_sandbox("kcp", "skr") as sandbox:
        yield ControlPlane(sandbox.kubeconfig)


@pytest.fixture
def plane(cluster: ControlPlane) -> Iterator[ControlPlane]:
    for name in KYMAS:
        cluster.put(name)
    yield cluster
    eventually(lambda: leases(cluster) == [], "graceful ends leave no Lease")


def leases(plane: ControlPlane) -> list[str]:
    names = [str(raw["metadata"]["name"]) for raw in plane.kcp.list(LEASE, "kube-system")]
    return sorted(name for name in names if name.startswith("kymatui.operator"))


def held(operator: RunningOperator) -> list[int]:
    return operator.group.held_shards()


def touched(operator: RunningOperator, since: int = 0) -> set[str]:
    """The Kymas that this replica has reconciled."""
    return {one.ref.name for one in operator.finished[since:] if one.ref.kind == KYMA}


def touch(plane: ControlPlane, name: str, value: str) -> None:
    patch = {"metadata": {"labels": {"touched": value}}}
    plane.kcp.patch(ObjectRef(KYMA, HOME, name), patch, PatchKind.MERGE, manager="test")


def all_ready(plane: ControlPlane) -> bool:
    return all(plane.status(name).get("state") == "Ready" for name in KYMAS)


class Cut:
    """A connection that does not reach the server any more."""

    def admit(self, server: str, cancel: threading.Event | None) -> None:
        raise UnreachableError("cut off")

    def answered(self) -> None: ...

    def failed(self, error: ClusterError, seconds: float) -> None: ...

    def abandoned(self) -> None: ...


def test_two_replicas_share_the_shards_and_a_graceful_end_releases_them(plane: ControlPlane) -> None:
    with ExitStack() as stack:
        one, two = (stack.enter_context(running_operator(plane, OPTIONS)) for _ in range(2))
        eventually(lambda: len(held(one)) == len(held(two)) == SHARDS // 2, "each has its share")
        assert sorted(held(one) + held(two)) == [*range(SHARDS)]
        eventually(lambda: all_ready(plane), f"{one.told} {two.told}")
        marks = len(one.finished), len(two.finished)
        for name in KYMAS:
            touch(plane, name, "1")
        eventually(lambda: touched(one, marks[0]) | touched(two, marks[1]) == set(KYMAS), "all are reconciled")
        assert touched(one, marks[0]) & touched(two, marks[1]) == set()
        assert touched(one, marks[0]), "both have some"
        assert touched(two, marks[1]), "both have some"
        given = [f"kymatui.operator-{shard}" for shard in held(one)]
        one.stop()
        assert not set(given) & set(leases(plane)), "its Leases do not have to expire"
        eventually(lambda: len(held(two)) == SHARDS, "the other takes all", 20)
        mark = len(two.finished)
        for name in KYMAS:
            touch(plane, name, "2")
        eventually(lambda: touched(two, mark) == set(KYMAS), "it reconciles all")


def post_event(operator: RunningOperator, kyma: str) -> int:
    """Send the event of a changed Kyma of a runtime, as its agent's gateway does; return the status."""
    assert operator.listener is not None
    kind = {"group": KYMA.group, "version": KYMA.version, "kind": KYMA.kind}
    body = json.dumps({"watched": {"Namespace": "kyma-system", "Name": "default"}, "watchedGvk": kind}).encode()
    asked = urllib.request.Request(
        f"http://127.0.0.1:{operator.listener.port}{event_path(MANAGER)}",
        body,
        {FORWARDED: issue(kyma).forwarded(), "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(asked, timeout=10) as answer:
        return int(answer.status)


def test_an_event_reaches_the_replica_that_has_the_kyma_wherever_it_arrives(plane: ControlPlane) -> None:
    for name in KYMAS:
        plane.put(name, **{RUNTIME_ID: name})
    events = ListenerOptions("127.0.0.1:0", gateways="127.0.0.1")
    with ExitStack() as stack:
        replicas = [stack.enter_context(running_operator(plane, OPTIONS, events)) for _ in range(2)]
        eventually(lambda: all(len(held(one)) == SHARDS // 2 for one in replicas), "each has its share")
        eventually(lambda: all_ready(plane), "all are ready")
        for receiver in replicas:
            marks = [len(one.finished) for one in replicas]

            def reconciled(marks: list[int] = marks) -> list[set[str]]:
                return [touched(one, mark) for one, mark in zip(replicas, marks, strict=True)]

            assert [post_event(receiver, name) for name in KYMAS] == [200] * len(KYMAS)
            eventually(lambda: set[str]().union(*reconciled()) == set(KYMAS), f"all are reconciled: {reconciled()}")
            assert all(reconciled()), "both have some"
            assert set[str]().intersection(*reconciled()) == set()


def test_a_replica_that_is_cut_off_stops_before_another_one_begins(plane: ControlPlane) -> None:
    with ExitStack() as stack:
        one, two = (stack.enter_context(running_operator(plane, OPTIONS)) for _ in range(2))
        eventually(lambda: len(held(one)) == len(held(two)) == SHARDS // 2, "each has its share")
        one.home.client.transport.guard = Cut()
        both: list[set[int]] = []

        def is_lost() -> bool:
            mine = set(held(one))
            both.append(mine & set(held(two)))
            return not mine and len(held(two)) == SHARDS

        eventually(is_lost, "the other takes all", 30)
        assert not any(both)
        one.home.client.transport.guard = None
        eventually(lambda: len(held(one)) == len(held(two)) == SHARDS // 2, "it comes back", 40)


def test_a_lease_whose_renewal_was_not_answered_is_released_and_anothers_is_not(plane: ControlPlane) -> None:
    leases_of_one = ReplicaLeases(plane.kcp, "kymatui-operator-test", "kube-system", "one", 10.0)
    for holder, stays in (("one", False), ("two", True)):
        assert leases_of_one.take("kymatui.operator-test", "one", threading.Event())
        ref = ObjectRef(LEASE, "kube-system", "kymatui.operator-test")
        plane.kcp.patch(ref, {"spec": {"holderIdentity": holder, "leaseTransitions": 1}}, PatchKind.MERGE)
        leases_of_one.delete("kymatui.operator-test")
        assert (plane.kcp.get(ref) is not None) is stays
    plane.kcp.delete(ref)


def test_a_shard_that_is_taken_while_the_replica_ends_is_released(plane: ControlPlane) -> None:
    plan = ShardPlan("ending", "kube-system", 1, "one")
    holder = ShardHolder(plane.kcp, plan, lambda shard: None, lambda words: None)
    holder._stopping = True
    holder._hold(time.monotonic(), threading.Event(), 0)
    assert holder.held == []
    assert plane.kcp.get(ObjectRef(LEASE, "kube-system", holder._leases.shard_name(0))) is None


def test_operators_with_other_numbers_of_shards_wait(plane: ControlPlane) -> None:
    alone = OperatorOptions(namespace=HOME, single_cluster=True, workers=2)
    with running_operator(plane, OPTIONS) as one:
        eventually(lambda: len(held(one)) == SHARDS, "it holds all")
        with running_operator(plane, alone) as two:
            eventually(lambda: any("standby: " in words and "4 shards" in words for words in two.told), "it waits")
            one.stop()
            eventually(lambda: len(touched(two)) == len(KYMAS), "and works after the last one with shards", 40)
            with running_operator(plane, OPTIONS) as three:
                eventually(lambda: any("which holds the Lease" in words for words in three.told), "it waits, too")
                assert held(three) == []


def test_a_write_that_another_one_overtook_fails_and_none_is_sent_after_the_term(plane: ControlPlane) -> None:
    operator = RunningOperator(plane, OPTIONS)
    operator.stop()
    ref, home, term = ObjectRef(KYMA, HOME, KYMAS[0]), operator.home, LeaseTerm(0, time.monotonic(), 60.0)
    state = {"status": {"state": "Warning"}}
    with request_scope(RequestScope(term=term, versions={})):
        assert home.get(ref) is not None
        touch(plane, KYMAS[0], "overtaken")
        with pytest.raises(ConflictError):
            home.patch(ref, state, PatchKind.MERGE, subresource="status")
        with pytest.raises(ConflictError):
            home.delete(ref)
        assert home.get(ref) is not None
        home.patch(ref, state, PatchKind.MERGE, subresource="status")
        home.patch(ref, {"metadata": {"labels": {"mine": "1"}}}, PatchKind.MERGE)
        term.end()
        counts = plane.faults["kcp"].requests()["count"]
        with pytest.raises(CancelledError):
            home.patch(ref, state, PatchKind.MERGE, subresource="status")
        assert plane.faults["kcp"].requests()["count"] == counts, "nothing was sent"
        assert home.get(ref) is not None
