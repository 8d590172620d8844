"""What need not be asked of the server: only what is certain, and always what the server would say."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.engine.dryrun.preview import is_no_op
from tests.engine import objects as make
from tests.engine.places import Json, Place

OURS = "kymatui"


def applied(place: Place, body: Json) -> Json:
    place.raw.apply(body, manager=OURS)
    found = place.raw.get(read_ref(body))
    assert found is not None
    return found


def bodies(place: Place) -> list[Json]:
    deployment = make.deployment("d", place.namespace, replicas=2)
    container = deployment["spec"]["template"]["spec"]["containers"][0]
    container["ports"] = [{"containerPort": 80, "name": "web"}, {"containerPort": 81, "protocol": "UDP"}]
    container["env"] = [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]
    container["args"] = ["--x", "--y"]
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "s", "namespace": place.namespace},
        "spec": {"ports": [{"port": 80, "targetPort": "web"}], "selector": {"app": "d"}},
    }
    role = make.cluster_role(f"{place.name}-r", make.rule("pods", "get", "list"), make.rule("secrets", "get"))
    data = make.config_map("c", place.namespace, x="1")
    return [deployment, service, role, data, make.service_account("a", place.namespace)]


def test_what_was_applied_is_settled(place: Place) -> None:
    place.make_namespace()
    for body in bodies(place):
        assert is_no_op(applied(place, body), body, OURS), body["kind"]


def changed(body: Json, path: tuple[Any, ...], value: object) -> Json:
    found = copy.deepcopy(body)
    at = found
    for key in path[:-1]:
        at = at[key]
    if value is None:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return found


CONTAINER = ("spec", "template", "spec", "containers", 0)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("spec", "replicas"), 3),
        (("spec", "replicas"), None),
        (("spec", "paused"), True),
        (("metadata", "labels"), {"a": "b"}),
        ((*CONTAINER, "image"), "registry.example/other:1"),
        ((*CONTAINER, "args"), ["--x"]),
        ((*CONTAINER, "env", 0, "value"), "2"),
        ((*CONTAINER, "env"), [{"name": "A", "value": "1"}]),
        ((*CONTAINER, "ports", 0, "containerPort"), 82),
        ((*CONTAINER, "stdin"), False),
    ],
    ids=str,
)
def test_another_manifest_is_not(place: Place, path: tuple[Any, ...], value: object) -> None:
    place.make_namespace()
    body = bodies(place)[0]
    live = applied(place, body)
    assert not is_no_op(live, changed(body, path, value), OURS)


def test_what_somebody_else_changed_is_not(place: Place) -> None:
    place.make_namespace()
    body = make.config_map("c", place.namespace, x="1")
    applied(place, body)
    place.kubectl(make.config_map("c", place.namespace, x="theirs"))
    found = place.raw.get(read_ref(body))
    assert found is not None
    assert not is_no_op(found, body, OURS)
    assert not is_no_op(found, make.config_map("c", place.namespace, x="theirs"), OURS)


def test_what_somebody_else_added_changes_nothing(place: Place) -> None:
    place.make_namespace()
    body = make.config_map("c", place.namespace, x="1")
    applied(place, body)
    place.kubectl(make.config_map("c", place.namespace, y="2"))
    found = place.raw.get(read_ref(body))
    assert found is not None
    assert is_no_op(found, body, OURS)
    assert not is_no_op(found, body, "another")
