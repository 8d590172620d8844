"""The state of a Manifest: of its workload, of its default resource by rules, and as soon as either changes."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.kyma.manifests import Manifest, read_manifest
from kymatui.engine.cluster.ports import PatchKind
from kymatui.errors import ConfigurationError, KymatuiError
from kymatui.operator.manifests.default_resource import read_rules
from kymatui.sessions.control_plane.runtime_clients import SecretRuntimes
from tests.controllers.desks import MANIFEST, Desk, run_alone
from tests.engine.objects import config_map, definition, deployment
from tests.engine.places import Json, Place, eventually

RULES = "operator.kyma-project.io/custom-state-check"
KYMA = "operator.kyma-project.io/kyma-name"
DEPLOYMENT = GroupVersionKind("apps", "v1", "Deployment")
BROKEN = "registry.example/broken:1.0.0"


def rule(path: str, value: str, state: str) -> dict[str, str]:
    return {"jsonPath": path, "value": value, "mappedState": state}


GREEN = [
    rule("spec.light", "green", "Ready"),
    rule("spec.light", "red", "Error"),
    rule("spec.light", "blue", "Warning"),
]


def stateful_set(space: str, **spec: Any) -> Json:
    body = deployment("web", space, **spec)
    return {**body, "kind": "StatefulSet", "spec": {**body["spec"], "serviceName": "web"}}


# 30 to 32: the workload alone


@pytest.mark.parametrize(
    ("number", "state"), [("30-stuck", "Error"), ("31-crashing", "Error"), ("31-zero", "Ready"), ("32-none", "Ready")]
)
def test_30_to_32_the_state_is_that_of_the_workload(desk: Desk, number: str, state: str) -> None:
    space = desk.place.namespace
    bodies = {
        "30-stuck": deployment("web", space, image=BROKEN, progressDeadlineSeconds=1),
        "31-crashing": stateful_set(space, image=BROKEN),
        "31-zero": stateful_set(space, replicas=0),
        "32-none": config_map("a", space),
    }
    desk.put(desk.layers.push(bodies[number]))
    desk.settle(state)


# customStateCheck


def widget(desk: Desk, **spec: str) -> Json:
    metadata = {"name": "w", "namespace": desk.place.namespace}
    return {"apiVersion": f"{desk.place.group}/v1", "kind": "Widget", "metadata": metadata, "spec": spec}


def put_rules(desk: Desk, rules: Sequence[object] | str, **spec: str) -> None:
    text = rules if isinstance(rules, str) else json.dumps(rules)
    digest = desk.layers.push(definition(desk.place.group, "Widget"))
    desk.put(digest, resource=widget(desk, **spec), metadata={"annotations": {RULES: text}})


def shine(desk: Desk, light: str) -> None:
    ref = ObjectRef(GroupVersionKind(desk.place.group, "v1", "Widget"), desk.place.namespace, "w")
    desk.place.raw.forget_kinds()
    desk.place.raw.patch(ref, {"spec": {"light": light}}, PatchKind.MERGE)


def test_the_default_resource_decides_where_rules_stand_on_the_manifest(desk: Desk) -> None:
    put_rules(desk, GREEN, light="yellow")
    desk.settle("Processing")
    for light, state in (("green", "Ready"), ("red", "Error"), ("blue", "Warning"), ("green", "Ready")):
        shine(desk, light)
        desk.turn()
        status = desk.status()
        assert status["state"] == state, status
    shine(desk, "red")
    desk.turn()
    assert "spec.light is 'red', 'red' means Error (match)" in desk.status()["lastOperation"]["operation"]
    assert desk.condition("Installation")["status"] == "True", "what is installed is not what the resource says"


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ("{", "the annotation .*custom-state-check of Manifest .* is not valid JSON"),
        ('{"a": 1}', "is not a list"),
        ('[{"jsonPath": 1}]', "entry 0 is not a map of strings"),
    ],
)
def test_rules_that_cannot_be_read_are_named(rules: str, words: str) -> None:
    metadata = {"name": "m", "namespace": "n", "annotations": {RULES: rules}}
    found = read_manifest({"apiVersion": MANIFEST.api_version, "kind": "Manifest", "metadata": metadata, "spec": {}})
    assert isinstance(found, Manifest)
    with pytest.raises(ConfigurationError, match=words):
        read_rules(found)


def test_an_empty_list_of_rules_means_the_state_in_the_status(desk: Desk) -> None:
    put_rules(desk, [], light="green")
    desk.settle("Processing")
    assert "module CR state not found" in desk.status()["lastOperation"]["operation"]


def test_incomplete_rules_are_an_error(desk: Desk) -> None:
    put_rules(desk, GREEN[:1], light="green")
    desk.settle("Error")
    assert "required Ready and Error state mapping are missing" in desk.status()["lastOperation"]["operation"]


# by watch, here and on a runtime


class Running:
    """The controller at work, which looks at nothing unless something changes."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.told: list[str] = []
        self._stop = threading.Event()
        given = (desk.context, desk.ref.namespace, self._stop, self._tell)
        how = {"workers": 1, "resync": 1e6}
        self._thread = threading.Thread(target=run_alone, args=given, kwargs=how, daemon=True)

    def _tell(self, ref: ObjectRef, error: KymatuiError, seconds: float | None) -> None:
        self.told.append(str(error))

    def reaches(self, state: str) -> None:
        eventually(lambda: self.desk.status().get("state") == state, f"{state}: {self.told}", timeout=40.0)

    def __enter__(self) -> Running:
        self._thread.start()
        return self

    def __exit__(self, *given: object) -> None:
        self._stop.set()
        self._thread.join(20.0)


@pytest.fixture
def remote(desk: Desk) -> Iterator[Desk]:
    """A desk whose Manifests are for a runtime with a connection of its own."""
    place = desk.place
    config = base64.b64encode(place.kubeconfig.read_bytes()).decode()
    metadata = {"name": "access", "namespace": place.namespace, "labels": {KYMA: "one"}}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": {"config": config}}
    place.raw.apply(secret, manager="test")
    kyma = {"apiVersion": MANIFEST.api_version, "kind": "Kyma", "metadata": {**metadata, "name": "one"}}
    place.raw.apply({**kyma, "spec": {"channel": "regular"}}, manager="test")
    runtimes = SecretRuntimes(place.cluster)
    runtimes.closing = desk.context.watches.forget
    desk.here.runtimes = runtimes
    yield desk
    runtimes.close()


def test_a_workload_on_a_runtime_is_followed_as_long_as_somebody_needs_it(remote: Desk) -> None:
    desk, space = remote, remote.place.namespace
    digest = desk.layers.push(deployment("web", space, progressDeadlineSeconds=1))
    desk.put(digest, remote=True, metadata={"labels": {KYMA: "one"}})
    with Running(desk) as running:
        running.reaches("Ready")
        assert desk.context.watches.watched() == {f"Secret {space}/access": [f"Deployment {space}"]}
        first = uid_of(desk.place)
        desk.place.raw.delete(ObjectRef(DEPLOYMENT, space, "web"))
        eventually(lambda: uid_of(desk.place) not in ("", first), "what somebody deleted comes back", timeout=40.0)
        running.reaches("Ready")
        desk.delete()
        eventually(lambda: desk.manifest() is None, f"it is gone: {running.told}", timeout=40.0)
        eventually(lambda: desk.context.watches.watched() == {}, "nobody watches any more")


def uid_of(place: Place) -> str:
    found = place.get("apps/v1", "Deployment", "web")
    return str(found["metadata"]["uid"]) if found is not None else ""


def test_a_default_resource_is_followed_where_its_state_counts(desk: Desk) -> None:
    put_rules(desk, GREEN, light="yellow")
    with Running(desk) as running:
        running.reaches("Processing")
        shine(desk, "green")
        running.reaches("Ready")
        shine(desk, "red")
        running.reaches("Error")
