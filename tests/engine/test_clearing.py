"""Clearing what a module manages: much of it, in many namespaces, some of it held."""

from __future__ import annotations

import threading

import pytest
from msgspec.structs import replace

from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.engine import Options, uninstall
from kymatui.engine.cluster.concurrency import run_for_each
from kymatui.errors import PartlyDoneError, RefusedError
from tests.engine import objects as make
from tests.engine.installing import LIMITS, bundle, install
from tests.engine.places import Place, eventually

NAMESPACE = GroupVersionKind("", "v1", "Namespace")
IMPATIENT = Options(limits=replace(LIMITS, gone=0.3))
STUCK = ("n03/r7", "n11/r0", "n19/r9")


def test_two_hundred_resources_of_which_three_are_held_go_and_nothing_is_orphaned(place: Place) -> None:
    """The manager stays until the last of them is gone, however often the deletion is tried before that."""
    own = (make.definition(place.group, "Thing"), make.config_map("settings"), make.deployment("manager"))
    install(place, bundle(place, *own))
    things = GroupVersionKind(place.group, "v1", "Thing")
    spaces = [f"{place.name}-n{number:02}" for number in range(20)]
    wanted = [(space, f"r{number}") for space in spaces for number in range(10)]
    held = f"{place.group}/cleanup"

    def make_thing(where: tuple[str, str]) -> None:
        space, name = where
        body = make.custom(place.group, "Thing", name, space)
        if f"{space.rpartition('-')[2]}/{name}" in STUCK:
            body["metadata"]["finalizers"] = [held]
        place.raw.create(body)

    stop = threading.Event()
    run_for_each(spaces, lambda space: place.raw.create(make.namespace(space)), stop)
    place.raw.forget_kinds()
    run_for_each(wanted, make_thing, stop)
    try:
        with pytest.raises(RefusedError, match=r"still manages 200 objects.* and 190 more"):
            uninstall("module", place.namespace, place.cluster, options=IMPATIENT)
        for _ in range(2):
            with pytest.raises(PartlyDoneError, match=f"blocked by finalizer {held}") as caught:
                uninstall("module", place.namespace, place.cluster, cascade=True, options=IMPATIENT)
            assert all(name in str(caught.value) for name in STUCK)
            eventually(lambda: sorted(_short(body) for body in place.raw.list(things)) == list(STUCK), "the rest goes")
            assert place.get("apps/v1", "Deployment", "manager") is not None
        for body in place.raw.list(things):
            ref = ObjectRef(things, body["metadata"]["namespace"], body["metadata"]["name"])
            place.release(ref)
        uninstall("module", place.namespace, place.cluster, cascade=True, options=Options(limits=LIMITS))
        assert place.get("apps/v1", "Deployment", "manager") is None
        assert place.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", f"things.{place.group}", "") is None
        assert place.raw.get(ObjectRef(NAMESPACE, "", place.namespace)) is None
    finally:
        run_for_each(spaces, lambda space: place.raw.delete(ObjectRef(NAMESPACE, "", space)), stop)


def _short(body: dict[str, dict[str, str]]) -> str:
    return f"{body['metadata']['namespace'].rpartition('-')[2]}/{body['metadata']['name']}"
