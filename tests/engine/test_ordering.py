"""The order of installation and removal, and what of an object is sent."""

from __future__ import annotations

import pytest

from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.engine.cluster.kind_order import (
    clean,
    defined_kinds,
    deletion_waves,
    install_waves,
    is_system_namespace,
    require_named,
    unique_objects,
)
from kymatui.errors import ConfigurationError
from tests.engine import objects as make
from tests.engine.places import Json


def kinds(found: tuple[tuple[Json, ...], ...]) -> list[list[str]]:
    return [[body["kind"] for body in wave] for wave in found]


def test_definitions_come_first_then_namespaces_then_helms_order_then_instances() -> None:
    webhook = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "w"},
    }
    given = [
        make.custom("example.org", "Thing", "instance", "n"),
        webhook,
        make.custom("other.example", "Stranger", "s", "n"),
        make.deployment("manager", "n"),
        make.cluster_role("r"),
        make.config_map("c", "n"),
        make.service_account("sa", "n"),
        make.namespace("n"),
        make.definition("example.org", "Thing"),
    ]
    assert kinds(install_waves(given)) == [
        ["CustomResourceDefinition"],
        ["Namespace"],
        ["ServiceAccount"],
        ["ClusterRole", "ConfigMap"],
        ["Deployment"],
        ["ValidatingWebhookConfiguration"],
        ["Stranger"],
        ["Thing"],
    ]


def test_a_custom_kind_named_like_a_known_one_is_not_taken_for_it() -> None:
    service = make.custom("serving.knative.dev", "Service", "s", "n")
    assert kinds(install_waves([service, make.deployment("d", "n")])) == [["Deployment"], ["Service"]]


def test_removal_takes_instances_first_and_namespaces_last() -> None:
    bodies = [
        make.namespace("n"),
        make.definition("example.org", "Thing"),
        make.service_account("sa", "n"),
        make.deployment("d", "n"),
        make.custom("example.org", "Thing", "t", "n"),
    ]
    found = deletion_waves(read_ref(body) for body in bodies)
    assert [[ref.kind.kind for ref in wave] for wave in found] == [
        ["Thing"],
        ["Deployment"],
        ["ServiceAccount"],
        ["CustomResourceDefinition"],
        ["Namespace"],
    ]


@pytest.mark.parametrize(
    ("namespaced", "given", "sent"),
    [
        (True, "", "home"),
        (True, "elsewhere", "elsewhere"),
        (False, "elsewhere", None),
        (False, "", None),
        (None, "elsewhere", "elsewhere"),
        (None, "", None),
    ],
)
def test_namespaces_follow_the_scope_of_the_kind(namespaced: bool | None, given: str, sent: str | None) -> None:
    assert clean(make.config_map("a", given), namespaced, "home")["metadata"].get("namespace") == sent


def test_status_and_what_servers_give_are_never_sent() -> None:
    body = make.config_map("a", "n", x="1")
    body["status"] = {"state": "Ready"}
    body["metadata"] |= {"uid": "u", "resourceVersion": "1", "managedFields": [], "creationTimestamp": None}
    assert clean(body, True, "home") == make.config_map("a", "n", x="1")


def test_duplicates_keep_the_first_whatever_version_they_are_written_in() -> None:
    first = make.custom("example.org", "Thing", "a", "n", x=1)
    second = {**make.custom("example.org", "Thing", "a", "n", x=2), "apiVersion": "example.org/v2"}
    assert list(unique_objects([first, second, make.config_map("a", "n")])) == [first, make.config_map("a", "n")]


def test_scopes_of_kinds_that_come_along_are_those_of_their_definitions() -> None:
    found = defined_kinds([make.definition("a.org", "Wide", scope="Cluster"), make.definition("a.org", "Narrow")])
    assert found == {GroupVersionKind("a.org", "v1", "Wide"): False, GroupVersionKind("a.org", "v1", "Narrow"): True}


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"kind": "ConfigMap", "metadata": {"name": "a"}}, "module.yaml: a has no apiVersion and kind"),
        ({"apiVersion": "v1", "kind": "Secret", "metadata": {}}, "a Secret has no name"),
        ({"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "x-"}}, "has a generated name"),
    ],
)
def test_what_cannot_be_installed_is_named(body: Json, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        require_named(body, "module.yaml")


def test_an_object_is_named() -> None:
    assert require_named(make.config_map("a", "n"), "m") == ObjectRef(GroupVersionKind("", "v1", "ConfigMap"), "n", "a")


@pytest.mark.parametrize(
    ("name", "system"),
    [("kyma-system", True), ("default", True), ("kube-anything", True), ("kyma", False), ("istio-system", False)],
)
def test_namespaces_of_the_system(name: str, system: bool) -> None:
    assert is_system_namespace(name) is system
