"""What Manifests wait for is watched once on each cluster, and nobody watches what nobody needs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, Self

import pytest

from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.errors import UnreachableError
from kymatui.operator.framework.dependency_watches import DependencyWatches
from tests.engine.places import eventually

DEPLOYMENT = GroupVersionKind("apps", "v1", "Deployment")
MANIFEST = GroupVersionKind("operator.kyma-project.io", "v1beta2", "Manifest")


def deployment(name: str, namespace: str = "kyma-system") -> ObjectRef:
    return ObjectRef(DEPLOYMENT, namespace, name)


def manifest(name: str) -> ObjectRef:
    return ObjectRef(MANIFEST, "kcp-system", name)


class Watched:
    """One watch that a test speaks through."""

    def __init__(self, subject: tuple[GroupVersionKind, str]) -> None:
        self.subject = subject
        self.closed = False
        self._condition = threading.Condition()
        self._found: set[ObjectRef] = set()

    def say(self, ref: ObjectRef) -> None:
        with self._condition:
            self._found.add(ref)
            self._condition.notify_all()

    def wait(self, seconds: float, cancel: threading.Event | None = None) -> frozenset[ObjectRef]:
        with self._condition:
            self._condition.wait_for(lambda: self._found or self.closed, 30.0)
            found, self._found = frozenset(self._found), set()
            return found

    def close(self) -> None:
        with self._condition:
            self.closed = True
            self._condition.notify_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Cluster:
    """As much of a cluster as watches ask for."""

    def __init__(self, name: str = "skr", *, down: bool = False) -> None:
        self.name, self.down = name, down
        self.watches: list[Watched] = []

    def follow(self, kinds: Iterable[tuple[GroupVersionKind, str]]) -> Watched:
        if self.down:
            raise UnreachableError("nobody answers")
        self.watches += [Watched(subject) for subject in kinds]
        return self.watches[-1]

    @property
    def open(self) -> list[str]:
        return [one.subject[1] for one in self.watches if not one.closed]


@pytest.fixture
def woken() -> list[str]:
    return []


class Hours:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


HOURS = Hours()


@pytest.fixture
def watches(woken: list[str]) -> Iterable[DependencyWatches]:
    found = DependencyWatches(most=2, unused=10.0, clock=HOURS)
    found.begin(lambda ref: woken.append(ref.name))
    yield found
    found.end()


def test_before_anybody_listens_nothing_is_watched() -> None:
    cluster: Any = Cluster()
    assert DependencyWatches().watch(manifest("a"), cluster, [deployment("x")]) is False
    assert cluster.watches == []


def test_a_change_wakes_those_who_need_the_object_and_no_others(watches: DependencyWatches, woken: list[str]) -> None:
    cluster: Any = Cluster()
    assert watches.watch(manifest("a"), cluster, [deployment("x")])
    assert watches.watch(manifest("b"), cluster, [deployment("y")])
    (only,) = cluster.watches
    only.say(deployment("elsewhere"))
    only.say(deployment("y"))
    eventually(lambda: woken == ["b"], "b is woken")


def test_the_same_name_on_two_clusters_is_two_objects(watches: DependencyWatches, woken: list[str]) -> None:
    one: Any = Cluster("one")
    two: Any = Cluster("two")
    watches.watch(manifest("a"), one, [deployment("x")])
    watches.watch(manifest("b"), two, [deployment("x")])
    two.watches[0].say(deployment("x"))
    eventually(lambda: woken == ["b"], "b is woken")


def test_a_watch_ends_with_the_last_who_needs_it(watches: DependencyWatches) -> None:
    cluster: Any = Cluster()
    watches.watch(manifest("a"), cluster, [deployment("x")])
    watches.watch(manifest("b"), cluster, [deployment("x"), deployment("y", "other")])
    assert watches.watched() == {"skr": ["Deployment kyma-system", "Deployment other"]}
    watches.watch(manifest("b"), cluster, [deployment("x")])
    watches.unwatch(manifest("a"))
    assert cluster.open == ["kyma-system"]
    watches.unwatch(manifest("b"))
    assert (cluster.open, watches.watched()) == ([], {})


def test_what_is_needed_besides_is_added_until_the_next_look(watches: DependencyWatches) -> None:
    cluster: Any = Cluster()
    watches.watch(manifest("a"), cluster, [deployment("x", "one")])
    watches.watch(manifest("a"), cluster, [deployment("y", "two")], more=True)
    assert cluster.open == ["one", "two"]
    watches.watch(manifest("a"), cluster, [deployment("y", "two")])
    assert cluster.open == ["two"]


def test_many_namespaces_are_one_watch(watches: DependencyWatches) -> None:
    cluster: Any = Cluster()
    watches.watch(manifest("a"), cluster, [deployment("x", f"space-{number}") for number in range(9)])
    assert cluster.open == [""]
    watches.watch(manifest("a"), cluster, [deployment("x", "space-1")])
    assert cluster.open == ["space-1"]


def moved(watches: DependencyWatches, one: Any, two: Any) -> None:
    watches.watch(manifest("a"), two, [deployment("x")])


def let_go(watches: DependencyWatches, one: Any, two: Any) -> None:
    watches.forget(one)


def crowded(watches: DependencyWatches, one: Any, two: Any) -> None:
    three: Any = Cluster("three")
    HOURS.now += 9.0
    watches.watch(manifest("b"), two, [deployment("x")])
    HOURS.now += 1.0
    watches.watch(manifest("c"), three, [deployment("x")])


def ended(watches: DependencyWatches, one: Any, two: Any) -> None:
    watches.end()


@pytest.mark.parametrize("happens", [moved, let_go, crowded, ended])
def test_no_watch_outlives_its_reason(
    watches: DependencyWatches, happens: Callable[[DependencyWatches, Any, Any], None]
) -> None:
    one, two = Cluster("one"), Cluster("two")
    cluster: Any = one
    watches.watch(manifest("a"), cluster, [deployment("x")])
    happens(watches, one, two)
    assert one.open == []


def test_who_cannot_be_watched_is_told_to_look_himself(watches: DependencyWatches) -> None:
    cluster: Any = Cluster(down=True)
    assert watches.watch(manifest("a"), cluster, [deployment("x")]) is False
    cluster.down = False
    assert watches.watch(manifest("a"), cluster, [deployment("x"), deployment("y")])


def test_clusters_that_are_used_in_turn_keep_their_places(watches: DependencyWatches) -> None:
    clusters: list[Any] = [Cluster(str(number)) for number in range(5)]
    for _ in range(3):
        watched = []
        for number, one in enumerate(clusters):
            HOURS.now += 1.0
            watched.append(watches.watch(manifest(str(number)), one, [deployment("x")]))
        assert watched == [True, True, False, False, False]
    assert [len(one.watches) for one in clusters] == [1, 1, 0, 0, 0]
    assert [watches.has(one) for one in clusters] == watched
