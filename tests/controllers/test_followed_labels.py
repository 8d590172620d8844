"""What a watch knows of the objects that it follows: their names and one label, and which of them changed."""

from __future__ import annotations

import pytest

from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.engine.cluster.ports import Changes, PatchKind
from tests.engine.places import Place, eventually

CONFIG = GroupVersionKind("", "v1", "ConfigMap")
LABEL = "example.org/owner"


def ref(place: Place, name: str) -> ObjectRef:
    return ObjectRef(CONFIG, place.namespace, name)


def put(place: Place, name: str, **labels: str) -> ObjectRef:
    metadata = {"name": name, "namespace": place.namespace, "labels": labels}
    place.raw.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}, manager="test", force=True)
    return ref(place, name)


def until_told(changes: Changes, *wanted: ObjectRef) -> set[ObjectRef]:
    """Return what was told until all that is wanted was."""
    told: set[ObjectRef] = set()

    def is_told() -> bool:
        told.update(changes.wait(0.2))
        return set(wanted) <= told

    eventually(is_told, f"{wanted} are told")
    return told


def test_labels_are_known_until_after_the_deletion(place: Place) -> None:
    place.make_namespace()
    one, two = put(place, "one", **{LABEL: "a"}), put(place, "two")
    with place.cluster.follow([(CONFIG, place.namespace)], LABEL) as changes:
        until_told(changes, one, two)
        assert {one, two} <= changes.known()
        assert (changes.label_of(one), changes.label_of(two)) == ("a", "")
        assert changes.label_of(ref(place, "three")) is None
        put(place, "one", **{LABEL: "b"})
        until_told(changes, one)
        assert changes.label_of(one) == "b"
        place.raw.delete(one)
        until_told(changes, one)
        assert one not in changes.known()
        assert changes.label_of(one) == "b"


@pytest.mark.parametrize("word", ["end-watches", "expire-watches"])
def test_a_new_list_tells_only_of_what_has_changed(place: Place, word: str) -> None:
    place.make_namespace()
    refs = [put(place, f"c-{number}") for number in range(20)]
    with place.cluster.follow([(CONFIG, place.namespace)]) as changes:
        until_told(changes, *refs, ref(place, "kube-root-ca.crt"))
        place.raw.patch(refs[3], {"data": {"a": "1"}}, PatchKind.MERGE)
        until_told(changes, refs[3])
        place.fault(word)
        place.raw.patch(refs[7], {"data": {"a": "1"}}, PatchKind.MERGE)
        place.raw.delete(refs[9])
        assert until_told(changes, refs[7], refs[9]) == {refs[7], refs[9]}
