"""Who is affected by another version of a module: read from a server with objects in the versions that go."""

from __future__ import annotations

from kymatui.actions.modules.version_content import Affected, VersionEffect, find_impact
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from tests.engine.objects import custom, definition
from tests.engine.places import Place, eventually
from tests.engine.walking import Json


def two_versions(group: str, **fields: Json) -> Json:
    crd = definition(group, "Widget", version="v1")
    (first,) = crd["spec"]["versions"]
    spec = {"type": "object", "properties": fields}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    first.update(schema=schema)
    crd["spec"]["versions"] = [first, {**first, "name": "v1alpha1", "storage": False}]
    return crd


def until_served(place: Place, gvk: GroupVersionKind) -> None:
    def is_served() -> bool:
        place.raw.forget_kinds()  # an unknown kind is else asked for again after ten seconds
        return place.raw.kind(gvk) is not None

    eventually(is_served, "the kind is served")


def test_objects_of_what_goes_are_counted_by_effect(place: Place) -> None:
    place.make_namespace()
    text = {"type": "string"}
    crd = two_versions(place.group, size=text, colour=text)
    place.kubectl(crd)
    name, gvk = crd["metadata"]["name"], GroupVersionKind(place.group, "v1", "Widget")
    until_served(place, gvk)
    old = {**custom(place.group, "Widget", "old", place.namespace, size="1"), "apiVersion": f"{place.group}/v1alpha1"}
    place.kubectl(old, manager="shop")
    place.kubectl(custom(place.group, "Widget", "new", place.namespace, colour="red"))
    key = f"CustomResourceDefinition/{name}"
    refs = {word: ObjectRef(gvk, place.namespace, word) for word in ("new", "old")}

    assert find_impact(place.cluster, {key: crd}, {key: crd}).affected == ()
    gone = find_impact(place.cluster, {key: crd}, {})
    assert gone.affected == (Affected(VersionEffect.KIND_REMOVED, name, "", (refs["new"], refs["old"])),)
    assert gone.affected[0].message == f"2 objects: {place.namespace}/new, {place.namespace}/old"

    (kept, _) = two_versions(place.group, size=text)["spec"]["versions"]
    after = {**crd, "spec": {**crd["spec"], "versions": [kept]}}
    found = find_impact(place.cluster, {key: crd}, {key: after})
    assert found.unread == ()
    assert found.affected == (
        Affected(VersionEffect.VERSION_WRITTEN, name, "v1alpha1", (refs["old"],), ("shop",)),
        Affected(VersionEffect.FIELD_REMOVED, name, "spec.colour", (refs["new"],)),
    )
    stored = {**crd, "spec": {**crd["spec"], "versions": [{**crd["spec"]["versions"][1], "storage": True}]}}
    effects = {one.effect: one.what for one in find_impact(place.cluster, {key: crd}, {key: stored}).affected}
    assert effects[VersionEffect.VERSION_STORED] == "v1"


def test_what_may_not_be_listed_is_said_and_the_rest_is_read(place: Place) -> None:
    crd = two_versions(place.group)
    place.kubectl(crd)
    gvk = GroupVersionKind(place.group, "v1", "Widget")
    until_served(place, gvk)
    found = find_impact(place.connect(token="viewer"), {f"CustomResourceDefinition/{crd['metadata']['name']}": crd}, {})
    assert found.affected == ()
    (why,) = found.unread
    assert why.startswith(f"{crd['metadata']['name']}: ")
    assert "may not" in why or "forbidden" in why
