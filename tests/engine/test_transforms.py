"""What is done to the objects of a bundle before they are planned."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from kymatui.domain.inventories import Origin
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.engine.bundles.bundle import Bundle, BundleHook
from kymatui.engine.plans.transforms import (
    apply_transforms,
    with_annotations,
    with_images,
    with_labels,
    with_pull_secret,
)
from kymatui.errors import ConfigurationError
from kymatui.helm.rendering.manifests import Hook

PATHS: dict[str, tuple[str, ...]] = {
    "Pod": ("spec",),
    "Deployment": ("spec", "template", "spec"),
    "StatefulSet": ("spec", "template", "spec"),
    "DaemonSet": ("spec", "template", "spec"),
    "Job": ("spec", "template", "spec"),
    "CronJob": ("spec", "jobTemplate", "spec", "template", "spec"),
}


def workload(kind: str = "Deployment", **spec: Any) -> dict[str, Any]:
    inner: dict[str, Any] = spec
    for part in reversed(PATHS[kind]):
        inner = {part: inner}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "m", "namespace": "shop"}, **inner}


def pod(body: dict[str, Any]) -> Any:
    for part in PATHS[body["kind"]]:
        body = body[part]
    return body


def test_labels_and_annotations_go_over_those_that_are_there_and_the_source_stays() -> None:
    body = {"kind": "A", "metadata": {"name": "m", "labels": {"a": "1", "b": "1"}}}
    before = copy.deepcopy(body)
    changed = with_annotations({"x": "y"})(with_labels({"b": "2", "c": "2"})(body))
    assert changed["metadata"] == {"name": "m", "labels": {"a": "1", "b": "2", "c": "2"}, "annotations": {"x": "y"}}
    assert body == before


@pytest.mark.parametrize("kind", PATHS)
def test_images_of_all_containers_are_taken_from_elsewhere(kind: str) -> None:
    body = workload(
        kind,
        containers=[{"name": "c", "image": "old.io/team/manager:1.2.3"}],
        initContainers=[{"name": "i", "image": "old.io/x/init:1"}],
    )
    changed = pod(with_images(["new.io/manager:1.2.3", "new.io:5000/y/init:1"])(body))
    assert changed["containers"][0]["image"] == "new.io/manager:1.2.3"
    assert changed["initContainers"][0]["image"] == "new.io:5000/y/init:1"


DIGEST = "@sha256:" + "a" * 64


@pytest.mark.parametrize(
    ("image", "localized", "expected"),
    [
        ("old.io/a/m:1", "new.io/b/m:1", "new.io/b/m:1"),
        ("old.io/a/m:1", "new.io/b/m:2", "old.io/a/m:1"),
        ("old.io/a/m:1", "new.io/b/n:1", "old.io/a/m:1"),
        ("m:1", "new.io/m:1", "new.io/m:1"),
        ("m:1", "library/m:1", "docker.io/library/m:1"),
        ("old.io/m", "new.io/m", "new.io/m"),
        ("old.io/m", "new.io/m:1", "old.io/m"),
        (f"old.io/m:1{DIGEST}", "new.io/m:1", "new.io/m:1"),
        ("old.io/m:1", f"new.io/m:1{DIGEST}", f"new.io/m:1{DIGEST}"),
        ("Not An Image", "new.io/m:1", "Not An Image"),
    ],
)
def test_an_image_is_the_same_by_name_and_tag(image: str, localized: str, expected: str) -> None:
    body = workload(containers=[{"image": image}])
    assert pod(with_images([localized])(body))["containers"][0]["image"] == expected


def test_images_in_the_environment_are_found_and_other_values_are_left_alone() -> None:
    variables = [
        {"name": "IMAGE", "value": "old.io/m:1"},
        {"name": "ARGS", "value": "--image=old.io/m:1"},
        {"name": "FROM", "valueFrom": {"fieldRef": {"fieldPath": "spec"}}},
    ]
    changed = pod(with_images(["new.io/m:1"])(workload(containers=[{"env": variables}])))
    assert changed["containers"][0]["env"] == [{"name": "IMAGE", "value": "new.io/m:1"}, *variables[1:]]


def test_what_is_no_image_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="'A B' is not an image"):
        with_images(["A B"])


def test_a_pull_secret_is_added_once() -> None:
    body = workload(imagePullSecrets=[{"name": "own"}], containers=[])
    add = with_pull_secret("kyma")
    assert pod(add(add(body)))["imagePullSecrets"] == [{"name": "own"}, {"name": "kyma"}]


MANAGER = ObjectRef(GroupVersionKind("apps", "v1", "Deployment"), "shop", "m")


@pytest.mark.parametrize(
    ("manager", "told"), [(None, True), (MANAGER, True), (ObjectRef(MANAGER.kind, "shop", "other"), False)]
)
def test_the_manager_is_told_the_name_of_the_pull_secret(manager: ObjectRef | None, told: bool) -> None:
    body = workload(containers=[{"name": "c"}], initContainers=[{"name": "i"}])
    changed = pod(with_pull_secret("kyma", manager, variable="SECRET")(body))
    assert changed["containers"] == [{"name": "c", **({"env": [{"name": "SECRET", "value": "kyma"}]} if told else {})}]
    assert changed["initContainers"] == [{"name": "i"}]


def test_a_variable_that_is_there_already_is_an_error() -> None:
    body = workload(containers=[{"name": "c", "env": [{"name": "SECRET", "value": "x"}]}])
    with pytest.raises(ConfigurationError, match="Deployment shop/m: container c has the variable SECRET"):
        with_pull_secret("kyma", variable="SECRET")(body)


@pytest.mark.parametrize("spec", [{}, {"template": None}, {"template": {"spec": {"containers": ["odd", {}]}}}])
def test_workloads_of_any_shape_do_no_harm(spec: dict[str, Any]) -> None:
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "m"}, "spec": spec}
    assert with_images(["new.io/m:1"])(body)["spec"] == spec


def test_all_objects_of_a_bundle_but_the_default_resource_are_changed() -> None:
    def named(name: str) -> dict[str, Any]:
        return {"apiVersion": "v1", "kind": "A", "metadata": {"name": name}}

    hook = Hook("h", "A", "h.yaml", "", ("pre-install",), 0, ())
    bundle = Bundle(
        "b",
        "shop",
        Origin("raw", "here"),
        objects=(named("o"),),
        crds=(named("c"),),
        hooks=(BundleHook(hook, named("h")),),
        resource=named("r"),
    )

    def mine(body: dict[str, Any]) -> dict[str, Any]:
        return {**body, "mine": sorted(body["metadata"].get("labels", {}))}

    changed = apply_transforms(bundle, [with_labels({"x": "y"}), mine])
    assert [one["mine"] for one in (*changed.objects, *changed.crds, changed.hooks[0].body)] == [["x"]] * 3
    assert changed.resource == named("r")
