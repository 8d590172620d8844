"""Fleets: as many as asked for, the same each time, and of the shape the API would have accepted."""

from __future__ import annotations

import base64
from collections import Counter

import pytest
import yaml

from kymatui.sandbox.world.modules.module_announcement import API_VERSION, KYMAS, MANIFESTS
from kymatui.sandbox.world.story import sample_fleet
from kymatui.sandbox.world.story.world_population import prepare
from tests.sandbox.living import Living, Obj

KUBECONFIG = """apiVersion: v1
kind: Config
clusters:
- name: skr
  cluster:
    server: https://127.0.0.1:1234
users:
- name: admin
  user:
    token: secret
"""


@pytest.fixture(scope="module")
def living() -> Living:
    found = Living()
    prepare(found.client, namespaces=(sample_fleet.CONTROL,))
    found.advance(1)
    sample_fleet.fill(found.server.store, 60, now=found.clock.now())
    return found


def test_there_are_five_manifests_a_kyma_and_sometimes_six(living: Living) -> None:
    kymas = living.client.list(KYMAS, namespace=sample_fleet.CONTROL)
    manifests = living.client.list(MANIFESTS, namespace=sample_fleet.CONTROL)
    assert (len(kymas), len(manifests)) == (60, 304)
    owners = Counter(m["metadata"]["labels"]["operator.kyma-project.io/kyma-name"] for m in manifests)
    assert Counter(owners.values()) == {5: 56, 6: 4}, "so that 5,000 have 25,400"
    assert set(owners) == {k["metadata"]["name"] for k in kymas} == set(sample_fleet.runtimes(60))


def test_most_are_well_and_some_are_not(living: Living) -> None:
    states = Counter(k["status"]["state"] for k in living.client.list(KYMAS, namespace=sample_fleet.CONTROL))
    assert states["Ready"] > 30
    assert len(states) >= 3


def test_status_and_manifests_tell_the_same(living: Living) -> None:
    manifests = {m["metadata"]["name"]: m for m in living.client.list(MANIFESTS, namespace=sample_fleet.CONTROL)}
    for kyma in living.client.list(KYMAS, namespace=sample_fleet.CONTROL):
        for module in kyma["status"]["modules"]:
            manifest = manifests[module["manifest"]["metadata"]["name"]]
            assert manifest["status"]["state"] == module["state"]
            assert manifest["spec"]["version"] == module["version"]


def test_the_api_would_have_taken_them(living: Living) -> None:
    """The same objects, sent as a client would, come back as they are."""
    for resource, kind in ((KYMAS, "Kyma"), (MANIFESTS, "Manifest")):
        for obj in living.client.list(resource, namespace=sample_fleet.CONTROL)[:20]:
            copied = {k: v for k, v in obj["metadata"].items() if k in ("labels", "annotations", "finalizers")}
            copied["name"] = f"copy-{obj['metadata']['name']}"[:63].rstrip("-")
            made = {"apiVersion": API_VERSION, "kind": kind, "metadata": copied, "spec": obj["spec"]}
            created = living.client.create(resource, made, namespace=sample_fleet.CONTROL)
            updated = living.client.update_status(resource, {**created, "status": obj["status"]})
            assert (updated["spec"], updated["status"]) == (obj["spec"], obj["status"])
            living.client.patch(
                resource, copied["name"], {"metadata": {"finalizers": None}}, namespace=sample_fleet.CONTROL
            )
            living.client.delete(resource, copied["name"], namespace=sample_fleet.CONTROL)


def test_a_fleet_is_the_same_each_time() -> None:
    draw = sample_fleet.Draw("fleet")
    [name] = sample_fleet.runtimes(1)
    assert sample_fleet.runtime(draw, name, 1_700_000_000.0, "r") == sample_fleet.runtime(
        draw, name, 1_700_000_000.0, "r"
    )
    assert next(sample_fleet.runtimes(1, "other")) != name


def contents(secret: Obj) -> dict[str, str]:
    return {k: base64.b64decode(v).decode() for k, v in secret["data"].items()}


def test_access_is_wrong_in_each_way() -> None:
    found = {how: [contents(s) for s in sample_fleet.wrong_secrets("k", how, KUBECONFIG)] for how in sample_fleet.WRONG}
    assert {how: len(secrets) for how, secrets in found.items()} == {
        "missing": 0,
        "doubled": 2,
        "no config": 1,
        "no kubeconfig": 1,
        "expired": 1,
        "plugin": 1,
        "file": 1,
        "another's": 1,
        "unreachable": 1,
    }
    assert "config" not in found["no config"][0]
    with pytest.raises(yaml.YAMLError):
        yaml.safe_load(found["no kubeconfig"][0]["config"])
    expired = yaml.safe_load(found["expired"][0]["config"])
    assert expired["users"][0]["user"]["token"] == "expired"
    unreachable = yaml.safe_load(found["unreachable"][0]["config"])
    assert unreachable["clusters"][0]["cluster"]["server"] == "https://127.0.0.1:9"
