"""Servers that misbehave: what passes is tried again, what does not is told, and nothing is written twice."""

from __future__ import annotations

import threading

import pytest

from kymatui.engine.cluster.ports import Cluster
from kymatui.engine.cluster.retries import RetryingCluster, RetryPolicy, call_with_retries, is_transient
from kymatui.engine.jobs.run import SystemClock
from kymatui.errors import ConflictError, ForbiddenError, InvalidError, ServerError, ThrottledError, UnreachableError
from tests.engine import comparing, thirty
from tests.engine import objects as make
from tests.engine.charts import chart, hook
from tests.engine.installing import LIMITS, install, plan
from tests.engine.places import Json, Place
from tests.engine.test_charts import statuses, uninstall

VERBS = ("patch", "create", "get", "delete", "update")
FAULTS = [*((word, verb, 2) for word in ("conflict", "error", "drop") for verb in VERBS), ("throttle", "patch", 1)]


def module(place: Place) -> tuple[Json, ...]:
    return (
        make.definition(place.group, "Thing"),
        make.service_account("manager"),
        *(make.config_map(f"c{number}", x="1") for number in range(5)),
        make.custom(place.group, "Thing", "own"),
    )


@pytest.mark.parametrize(("word", "verb", "count"), FAULTS)
def test_a_module_is_installed_and_goes_through_anything_that_passes(
    place: Place, word: str, verb: str, count: int
) -> None:
    place.make_namespace()
    what = chart(
        place,
        *module(place),
        hooks=(hook(make.config_map("h"), "pre-install", "pre-delete", policies=("hook-succeeded",)),),
        resource=make.custom(place.group, "Thing", "default"),
    )
    place.fault(word, verb=verb, count=count)
    install(place, what)
    place.fault("clear")
    assert plan(place, what).changes_nothing
    assert statuses(place) == [(1, "deployed")]
    place.fault(word, verb=verb, count=count)
    uninstall(place)
    place.fault("clear")
    assert statuses(place) == []
    assert place.get("v1", "ConfigMap", "c0") is None


def test_a_server_that_fails_at_random_leaves_what_a_calm_one_does(place: Place) -> None:
    other = Place(place.kubeconfig, f"x{place.name}", place.folder)
    for where, faulty in ((other, False), (place, True)):
        for word in ("error", "conflict", "drop"):
            if faulty:
                place.fault(word, probability=0.07)
        if faulty:
            place.fault("latency", seconds=0.2, probability=0.05)
        install(where, thirty.as_manifest(where.namespace, where.group, "1"))
        install(where, thirty.as_manifest(where.namespace, where.group, "2"))
    place.fault("clear")
    found = [comparing.contents(where.raw, where.namespace, where.group) for where in (other, place)]
    other.close()
    assert found[0] == found[1]


class Instant:
    """A clock that never waits."""

    def __init__(self) -> None:
        self.waits: list[float] = []

    def now(self) -> float:
        return sum(self.waits)

    def sleep(self, seconds: float, cancel: object = None) -> None:
        self.waits.append(seconds)


@pytest.mark.parametrize(
    ("error", "passing"),
    [
        (ServerError("x", status=500), True),
        (UnreachableError("x"), True),
        (ThrottledError("x", status=429, retry_after=2.0), True),
        (ConflictError("Operation cannot be fulfilled", status=409, reason="Conflict"), True),
        (ConflictError("Precondition failed: UID", status=409, reason="Conflict"), False),
        (ConflictError("exists", status=409, reason="AlreadyExists"), False),
        (ConflictError("x", status=409, reason="Conflict", body={"details": {"causes": [{"field": ".a"}]}}), False),
        (InvalidError("x", status=422), False),
        (ForbiddenError("x", status=403), False),
    ],
)
def test_what_passes_is_tried_again_and_what_does_not_is_not(error: Exception, passing: bool) -> None:
    assert is_transient(error) is passing  # type: ignore[arg-type]
    clock = Instant()
    calls: list[int] = []

    def call() -> str:
        calls.append(1)
        if len(calls) < 3:
            raise error
        return "done"

    if passing:
        assert call_with_retries(call, clock) == "done"
        assert len(clock.waits) == 2
    else:
        with pytest.raises(type(error)):
            call_with_retries(call, clock)
        assert len(calls) == 1


def test_patience_ends_and_the_servers_time_counts() -> None:
    clock = Instant()

    def call() -> None:
        raise ThrottledError("busy", status=429, retry_after=7.0)

    with pytest.raises(ThrottledError):
        call_with_retries(call, clock, retry=RetryPolicy(attempts=3))
    assert clock.waits == [7.0, 7.0]
    with pytest.raises(ThrottledError):
        call_with_retries(call, clock, retry=RetryPolicy(longest_wait=5.0))
    assert len(clock.waits) == 2


def test_who_does_not_answer_is_not_asked_again_after_a_minute() -> None:
    clock = Instant()
    calls: list[int] = []

    def call() -> None:
        calls.append(1)
        clock.sleep(30.0)
        raise UnreachableError("did not answer GET /x within 30 s")

    with pytest.raises(UnreachableError):
        call_with_retries(call, clock)
    assert len(calls) == 2


def test_a_patient_cluster_is_a_cluster(place: Place) -> None:

    cluster: Cluster = RetryingCluster(place.cluster, SystemClock(), threading.Event(), LIMITS.retry)
    assert cluster.name == place.cluster.name
    assert len(cluster.all_kinds()) > 20
