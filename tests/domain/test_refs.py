"""References to kinds and objects."""

from __future__ import annotations

from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef


def test_two_versions_of_a_kind_are_one_object() -> None:
    old, new = (ObjectRef(GroupVersionKind("apps", version, "Deployment"), "a", "b") for version in ("v1beta1", "v1"))
    assert old != new
    assert old.key == new.key
    assert old.key != ObjectRef(GroupVersionKind("extensions", "v1beta1", "Deployment"), "a", "b").key
