"""What the operator reads of Kymas and Manifests: from memory while the watches know nothing newer, else the server."""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Iterator

import pytest

from kymatui.adapters.kube.watch.kube_cluster import KubeCluster
from kymatui.adapters.kube.watch.remembering_cluster import AnswerMemory, RememberingCluster, _Answer
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.engine.cluster.ports import Object, PatchKind
from kymatui.errors import ConflictError, NotFoundError
from kymatui.sandbox.fault_client import FaultClient
from tests.engine.places import eventually
from tests.integration.operators import HOME, KYMA, ControlPlane
from tests.sandboxes.starting import ready_sandbox

pytestmark = pytest.mark.xdist_group("remembering")
REF = ObjectRef(KYMA, HOME, "a")
CONFIG_MAP = ObjectRef(GroupVersionKind("", "v1", "ConfigMap"), HOME, "a")


class Place:
    """A control plane with one Kyma, the cluster under test and another client."""

    def __init__(self, plane: ControlPlane) -> None:
        self.plane: ControlPlane = plane
        self.faults: FaultClient = plane.faults["kcp"]
        self.other: KubeCluster = plane.kcp
        self.cluster = RememberingCluster(plane.kcp.client, unattended=True)

    def reads(self, ref: ObjectRef = REF) -> int:
        """Return how often the object was read since the last call."""
        found = self.faults.requests(forget=True)["requests"]
        return sum(one["method"] == "GET" and one["path"].endswith(f"/{ref.name}") for one in found)

    def change(self, text: str) -> None:
        self.other.patch(REF, labels(text), PatchKind.MERGE, manager="other")

    def live(self) -> Object:
        found = self.other.get(REF)
        assert found is not None
        return found

    def wait_seen(self) -> None:
        """Wait until the watch has seen the object as it is."""
        version = self.live()["metadata"]["resourceVersion"]
        eventually(lambda: self.cluster._watched(REF) == {version}, "the watch has seen the change")


def labels(text: str) -> Object:
    return {"metadata": {"labels": {"text": text}}}


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    with ready_sandbox("kcp", "skr") as sandbox:
        yield ControlPlane(sandbox.kubeconfig)


@pytest.fixture
def place(plane: ControlPlane) -> Iterator[Place]:
    if plane.kcp.get(REF) is not None:
        plane.kcp.delete(REF)
    plane.put(REF.name)
    found = Place(plane)
    with found.cluster.follow([(KYMA, HOME)]):
        found.wait_seen()
        found.reads()
        yield found


def test_an_object_is_read_once_until_somebody_changes_it(place: Place) -> None:
    assert [place.cluster.get(REF) for _ in range(3)] == [place.live()] * 3
    assert place.reads() == 2  # one is the other client's
    place.change("new")
    place.wait_seen()
    place.reads()
    found = place.cluster.get(REF)
    assert found is not None
    assert found["metadata"]["labels"] == {"text": "new"}
    assert place.cluster.get(REF) == found
    assert place.reads() == 1


def test_what_it_wrote_itself_is_not_read_again(place: Place) -> None:
    made = place.cluster.patch(REF, labels("own"), PatchKind.MERGE)
    made = place.cluster.patch(REF, {"status": {"state": "Ready"}}, PatchKind.MERGE, subresource="status")
    assert place.cluster.get(REF) == made
    made = place.cluster.update({**made, "spec": {"channel": "fast"}})
    assert place.cluster.get(REF) == made
    made = place.cluster.apply(
        {"apiVersion": KYMA.api_version, "kind": "Kyma", "metadata": {"name": "a", "namespace": HOME}},
        manager="applier",
    )
    assert place.cluster.get(REF) == made
    assert place.reads() == 0
    place.wait_seen()
    assert place.cluster.get(REF) == made == place.live()


def test_a_dry_run_is_not_remembered(place: Place) -> None:
    before = place.cluster.get(REF)
    place.cluster.patch(REF, labels("dry"), PatchKind.MERGE, dry_run=True)
    assert place.cluster.get(REF) == before


def test_after_an_error_nothing_is_taken_for_granted(place: Place) -> None:
    place.cluster.get(REF)
    place.reads()
    with pytest.raises(ConflictError):
        place.cluster.patch(REF, {"metadata": {"resourceVersion": "1", "labels": {"a": "b"}}}, PatchKind.MERGE)
    place.cluster.get(REF)
    assert place.reads() == 1


def test_a_deleted_object_is_none_and_a_new_one_of_its_name_is_another(place: Place) -> None:
    first = place.cluster.get(REF)
    assert first is not None
    place.cluster.delete(REF)
    assert place.cluster.get(REF) is None
    place.plane.put(REF.name)
    second = place.cluster.get(REF)
    assert second is not None
    place.wait_seen()
    assert second["metadata"]["uid"] != first["metadata"]["uid"]
    place.other.delete(REF)
    eventually(lambda: place.cluster.get(REF) is None, "the deletion is seen")
    with pytest.raises(NotFoundError):
        place.cluster.patch(REF, labels("gone"), PatchKind.MERGE)


def test_without_a_watch_and_for_other_kinds_every_read_is_a_request(place: Place) -> None:
    unwatched = RememberingCluster(place.other.client, unattended=True)
    place.reads()
    for _ in range(3):
        unwatched.get(REF)
        place.cluster.get(CONFIG_MAP)
    found = place.faults.requests(forget=True)["requests"]
    assert sum(one["method"] == "GET" and one["path"].endswith("/a") for one in found) == 6


def test_only_the_chosen_kinds_are_remembered(place: Place) -> None:
    other = RememberingCluster(place.other.client, kinds=frozenset({"Manifest"}), unattended=True)
    with other.follow([(KYMA, HOME)]):
        eventually(lambda: bool(other._watched(REF)), "the watch has seen it")
        place.reads()
        other.get(REF)
        other.get(REF)
    assert place.reads() == 2


def test_an_object_is_unseen_only_if_a_live_watch_and_no_answer_knows_it(place: Place) -> None:
    new = ObjectRef(KYMA, HOME, "new")
    assert place.cluster.is_unseen(new)
    assert not place.cluster.is_unseen(REF), "the watch knows it"
    assert not place.cluster.is_unseen(CONFIG_MAP), "nothing watches its kind"
    assert not RememberingCluster(place.other.client, unattended=True).is_unseen(new), "there is no watch"
    body = {"apiVersion": KYMA.api_version, "kind": "Kyma", "metadata": {"name": "new", "namespace": HOME}}
    place.cluster.apply(body, manager="applier")
    assert not place.cluster.is_unseen(new), "its own answer knows it"
    place.cluster.delete(new)
    eventually(lambda: place.cluster.is_unseen(new), "the deletion is seen")
    for one in list(place.cluster._streams):
        one.close()
    assert not place.cluster.is_unseen(new), "the watch has ended"


def test_the_end_of_a_watch_ends_what_is_remembered(place: Place) -> None:
    with place.cluster.follow([(KYMA, "")]):
        eventually(lambda: len(place.cluster._watched(REF)) == 1, "both watches have seen it")
        place.cluster.get(REF)
        place.reads()
        place.cluster.get(REF)
        assert place.reads() == 0
    for one in list(place.cluster._streams):
        one.close()
    place.cluster.get(REF)
    assert place.reads() == 1


def test_a_copy_that_its_reader_changes_stays_as_it_was(place: Place) -> None:
    found = place.cluster.get(REF)
    again = place.cluster.get(REF)
    assert found is not None
    assert again is not None
    again["spec"]["channel"] = "changed"
    assert place.cluster.get(REF) == found


def test_of_two_answers_at_once_none_counts() -> None:
    memory = AnswerMemory()
    first, second = _Answer(b"{}", "1", frozenset()), _Answer(b"{}", "2", frozenset())
    memory.put(REF, first, None)
    memory.put(REF, second, None)  # asked before the first came: which is newer?
    assert memory.find(REF) is None


@pytest.mark.parametrize("seed", range(4))
def test_whoever_writes_the_answer_is_never_older_than_the_watch(place: Place, seed: int) -> None:
    chance = random.Random(seed)
    for number in range(25):
        match chance.choice(["own", "other", "read", "both", "again"]):
            case "own":
                place.cluster.patch(REF, labels(f"own-{number}"), PatchKind.MERGE)
            case "other":
                place.change(f"other-{number}")
            case "both":
                place.change(f"other-{number}")
                place.cluster.patch(REF, {"metadata": {"labels": {"more": str(number)}}}, PatchKind.MERGE)
            case "again":
                place.other.delete(REF)
                place.plane.put(REF.name, text=f"new-{number}")
            case _:
                place.cluster.get(REF)
        if chance.random() < 0.7:
            place.wait_seen()
            assert place.cluster.get(REF) == place.live()


def test_controllers_read_while_others_open_watches(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """An operator opens its watches one after another, while the first controllers reconcile already."""

    class Blind:
        def versions_of(self, ref: ObjectRef) -> tuple[str | None, ...]:
            return (None,)

    monkeypatch.setattr(KubeCluster, "follow", lambda *_, **how: Blind())
    opened: list[object] = []

    def open_watches() -> None:
        for _ in range(3_000):
            opened.append(place.cluster.follow([]))

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        opening = threading.Thread(target=open_watches)
        opening.start()
        while opening.is_alive():
            place.cluster._watched(REF)
        opening.join()
    finally:
        sys.setswitchinterval(before)
    assert place.cluster._watched(REF) == frozenset()


def test_versions_that_no_watch_reports_any_more_are_not_kept(place: Place) -> None:
    """An operator writes a Kyma for years without reading it again."""
    for number in range(20):
        place.cluster.patch(REF, labels(str(number)), PatchKind.MERGE)
        if number % 5 == 4:
            place.wait_seen()
    place.cluster.patch(REF, labels("last"), PatchKind.MERGE)
    known = place.cluster._memory.find(REF)
    assert known is not None
    assert len(known.older) == 1
