"""What went wrong with Manifests elsewhere, and must not here: each test is named after what it shows."""

from __future__ import annotations

import pytest
import yaml

from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.helm.yaml import reading
from kymatui.helm.yaml.limits import YamlBudget
from tests.controllers.desks import Desk
from tests.engine.objects import cluster_role, config_map, custom, definition, deployment, rule
from tests.engine.places import Json, eventually
from tests.engine.sources.packing import tar

SAMPLES = "kyma/raw-manifests"


def text(*bodies: Json) -> bytes:
    return yaml.safe_dump_all(bodies).encode()


def words(desk: Desk) -> str:
    return str(desk.status()["lastOperation"]["operation"])


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"._x.yaml": "no", "x.yaml": "GOOD"}, "Ready"),
        ({"a.yaml": "GOOD", "b.yaml": "kind: ["}, "Ready"),
        ({"../evil": "GOOD"}, "'../evil' leads out of the archive"),
        ({"x.yaml": "GOOD", "../evil": "x"}, "'../evil' leads out of the archive"),
        ({}, "is an archive without files"),
    ],
    ids=["a file of macOS before", "the first of two", "a path that leads out", "one behind a good file", "empty"],
)
def test_23_of_an_archive_the_first_file_counts_and_nothing_leads_out_of_it(
    desk: Desk, files: dict[str, str], expected: str
) -> None:
    good = text(config_map("a", desk.place.namespace))
    content = {name: good if data == "GOOD" else data for name, data in files.items()}
    digest = desk.layers.keep(tar(content))
    desk.put(digest, kind="oci-dir")
    desk.turn()
    if expected == "Ready":
        assert desk.config("a") is not None
        return
    assert desk.status()["state"] == "Error"
    assert digest in words(desk)
    assert expected in words(desk)
    assert desk.config("a") is None


def test_24_duplicates_count_once_an_empty_file_is_nothing_and_bad_yaml_has_its_line(desk: Desk) -> None:
    space = desk.place.namespace
    first, again = config_map("a", space, x="first"), config_map("a", space, x="again")
    desk.put(desk.layers.push(first, again, config_map("b", space)))
    status = desk.settle()
    assert [item["name"] for item in status["synced"]] == ["a", "b"]
    assert (desk.config("a") or {})["data"] == {"x": "first"}
    desk.put(desk.layers.keep(text(first) + b"---\nkind: ConfigMap\nmetadata:\n\tname: b\n"))
    desk.turn()
    assert desk.status()["state"] == "Error"
    assert "document 2: line 11, column 1: found character that cannot start any token" in words(desk)
    assert desk.config("b") is not None, "what cannot be read deletes nothing"
    desk.put(desk.layers.keep(b""))
    assert desk.settle()["synced"] == []


def test_25_certificates_and_separators_within_a_text_stay_whole(desk: Desk) -> None:
    data = {"ca.crt": "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n", "page": "a\n---\nb\n"}
    body = {**config_map("a", desk.place.namespace), "data": data}
    lines = yaml.safe_dump(body, default_style="|")
    desk.put(desk.layers.keep(lines.encode()))
    desk.settle()
    assert (desk.config("a") or {})["data"] == data


def test_26_namespaces_are_put_right_and_objects_wait_for_their_definition(desk: Desk) -> None:
    group, space = desk.place.group, desk.place.namespace
    role = cluster_role(f"{desk.place.name}-role", rule("pods", "get"))
    misplaced = {**role, "metadata": {**role["metadata"], "namespace": space}}
    thing = custom(group, "Thing", "t", space, size=1)
    desk.put(desk.layers.push(thing, misplaced, config_map(f"{desk.place.name}-free"), definition(group, "Thing")))
    status = desk.settle()
    found = {(item["kind"], item["namespace"]) for item in status["synced"]}
    assert found == {("Thing", space), ("ClusterRole", ""), ("ConfigMap", "default"), ("CustomResourceDefinition", "")}
    desk.delete()
    eventually(lambda: desk.turn() is None and desk.manifest() is None, "it is gone")


@pytest.mark.parametrize("kind", ["StatefulSet", "Deployment"])
def test_28_and_51_a_manager_of_any_kind_stays_until_what_it_manages_anywhere_is_gone(desk: Desk, kind: str) -> None:
    group, space = desk.place.group, desk.place.namespace
    manager = deployment("manager", space)
    manager = {
        **manager,
        "kind": kind,
        "spec": {**manager["spec"], "serviceName": "m"} if kind[0] == "S" else manager["spec"],
    }
    default = custom(group, "Widget", "default", space)
    desk.put(desk.layers.push(definition(group, "Widget"), manager), resource=default)
    desk.settle()
    desk.place.raw.forget_kinds()
    theirs = ObjectRef(GroupVersionKind(group, "v1", "Widget"), "kube-public", "theirs")
    desk.place.raw.apply(custom(group, "Widget", "theirs", "kube-public"), manager="user")
    desk.delete()
    desk.turn()
    assert desk.status()["state"] == "Deleting"
    assert "Widget kube-public/theirs" in words(desk)
    assert desk.place.get("apps/v1", kind, "manager") is not None
    assert desk.place.get(f"{group}/v1", "Widget", "default") is not None, "nothing goes before the user has agreed"
    desk.place.raw.delete(theirs)
    eventually(lambda: desk.turn() is None and desk.manifest() is None, "it is gone", timeout=40.0)
    assert desk.place.get("apps/v1", kind, "manager") is None


def test_a_layer_that_is_too_large_is_a_state_with_a_reason(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.put(desk.layers.push(config_map("a", desk.place.namespace)))
    desk.settle()
    monkeypatch.setattr(reading, "YamlBudget", lambda: YamlBudget(1000))
    desk.put(desk.layers.keep(text(config_map("b", desk.place.namespace)) + b"x: [" + b"[]," * 1000 + b"]\n"))
    desk.turn()
    assert desk.status()["state"] == "Error"
    assert "it has more than 1000 values" in words(desk)
    assert desk.config("a") is not None, "what cannot be read deletes nothing"
