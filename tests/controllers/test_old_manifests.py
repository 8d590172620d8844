"""Manifests of the first generation end to end, on a server that knows no other: the published samples, and one with
everything that they may have."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from kymatui.adapters.kube.watch.kube_cluster import KubeCluster
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.sessions.cluster.cluster_access import open_cluster
from kymatui.sessions.cluster.session_options import SessionOptions
from tests.engine import walking
from tests.engine.places import Json, eventually
from tests.engine.samples import Repository, Samples
from tests.engine.walking import OWN, Desk
from tests.sandboxes.starting import ReadySandbox

pytestmark = pytest.mark.xdist_group("old-manifests")
CRDS = "kyma/crds/module-manager-v1alpha1"
MANIFEST = GroupVersionKind(OWN, "v1alpha1", "Manifest")
SAMPLE = ObjectRef(GroupVersionKind(OWN, "v1alpha1", "SampleCRD"), "default", "sample-crd-from-manifest")
DEFINITION = GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")


@pytest.fixture(scope="module")
def old(engine_sandbox: ReadySandbox, shared: Path) -> KubeCluster:
    cluster = open_cluster(SessionOptions(kubeconfig=str(engine_sandbox.kubeconfig), context="old"))
    for body in walking.definitions_in(shared / CRDS / "jan23-operator.kyma-project.io_manifests.yaml"):
        cluster.apply(body, manager="test")
    cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kyma-system"}}, manager="test")
    walking.wait_for(walking.served(cluster, MANIFEST), lambda: "Manifests are not served")
    return cluster


@pytest.fixture(scope="module")
def desk(old: KubeCluster, engine_sandbox: ReadySandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    with Desk(old, engine_sandbox.registry, tmp_path_factory.mktemp("blobs")) as found:
        yield found


@pytest.fixture(scope="module")
def samples(desk: Desk, shared: Path) -> Iterator[Samples]:
    with Repository() as repository:
        yield Samples(shared, desk, repository)


def replicas(cluster: KubeCluster) -> dict[str, int]:
    kind = GroupVersionKind("apps", "v1", "Deployment")
    return {
        f"{body['metadata']['namespace']}/{body['metadata']['name']}": body["spec"]["replicas"]
        for body in cluster.list(kind)
    }


def test_64_and_65_every_install_has_its_own_source_name_and_values(
    desk: Desk, samples: Samples, old: KubeCluster
) -> None:
    before = walking.holdings(old)
    for version in (0, 1):
        ref = desk.put(samples.everything(version))
        status = desk.settle(ref)
        found = replicas(old)
        assert found["elsewhere/from-repository-chart"] == 2 + version
        assert found["default/again-from-repository-chart"] == 1, "the values of the other install are not its own"
    assert status["state"] == "Ready"
    desk.gone(ref)
    assert walking.same_again(old, before) == set()


def test_the_published_sample_with_its_own_definition(
    desk: Desk, samples: Samples, old: KubeCluster, shared: Path
) -> None:
    for body in walking.definitions_in(shared / CRDS / "jan23-sample_crd.yaml"):
        old.apply(body, manager="test")
    before = walking.holdings(old)
    ref = desk.put(samples.module_manager())
    desk.settle(ref)
    assert old.get(SAMPLE) is not None
    desk.gone(ref)
    assert walking.same_again(old, before) == set()


def test_66_a_definition_that_was_there_is_neither_changed_nor_taken_away(
    desk: Desk, samples: Samples, old: KubeCluster, shared: Path
) -> None:
    definition = _sample_definition(old, shared)
    ref = desk.put(samples.everything(1))
    desk.settle(ref)
    now = old.get(ObjectRef(DEFINITION, "", definition["metadata"]["name"]))
    assert now is not None
    assert now["spec"] == definition["spec"]
    theirs = {**SAMPLE_BODY, "metadata": {"name": "theirs", "namespace": "default"}}
    old.apply(theirs, manager="user")
    old.delete(ref)
    eventually(lambda: "theirs" in str(desk.status(ref).get("conditions", "")) or _deleting(desk, ref), "it waits")
    old.delete(ObjectRef(SAMPLE.kind, "default", "theirs"))
    eventually(lambda: old.get(ref) is None, "it is gone", timeout=60.0)


SAMPLE_BODY: Json = {"apiVersion": f"{OWN}/v1alpha1", "kind": "SampleCRD", "spec": {"randomkey": "x"}}


def _deleting(desk: Desk, ref: ObjectRef) -> bool:
    return bool(desk.status(ref).get("state") == "Deleting")


def _sample_definition(old: KubeCluster, shared: Path) -> Json:
    for body in walking.definitions_in(shared / CRDS / "jan23-sample_crd.yaml"):
        if "samplecrds" in body["metadata"]["name"]:
            made = old.apply({**body, "metadata": {**body["metadata"], "labels": {"old": "yes"}}}, manager="test")
            walking.wait_for(walking.served(old, SAMPLE.kind), lambda: "not served")
            return made
    raise AssertionError("no definition of samples")


def test_one_for_a_runtime_is_installed_where_its_access_secret_leads(
    desk: Desk, samples: Samples, old: KubeCluster, engine_sandbox: ReadySandbox
) -> None:
    """Without `remote` it is for a runtime."""
    runtime = open_cluster(SessionOptions(kubeconfig=str(engine_sandbox.kubeconfig), context="new"))
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "far-away", "namespace": "default"}}
    there = ObjectRef(GroupVersionKind("", "v1", "ConfigMap"), "default", "far-away")
    source = samples.layer(yaml.safe_dump({**config, "data": {"v": "1"}}).encode())
    metadata = {"name": "far-away", "namespace": "default", "labels": {f"{OWN}/kyma-name": "far"}}
    spec = {"installs": [{"name": "raw", "source": source}]}
    ref = desk.put({"apiVersion": f"{OWN}/v1alpha1", "kind": "Manifest", "metadata": metadata, "spec": spec})
    eventually(lambda: desk.status(ref).get("state") == "Error", "nothing leads to its runtime")
    secret = access_secret(engine_sandbox, "new", metadata)
    old.apply(secret, manager="test")
    try:
        desk.settle(ref)
        assert (runtime.get(there) or {}).get("data") == {"v": "1"}
        assert old.get(there) is None
        desk.gone(ref)
        assert runtime.get(there) is None
    finally:
        old.delete(ObjectRef(GroupVersionKind("", "v1", "Secret"), "default", "far-away"))


def access_secret(sandbox: ReadySandbox, context: str, metadata: Json) -> Json:
    kubeconfig = {**yaml.safe_load(sandbox.kubeconfig.read_text()), "current-context": context}
    config = base64.b64encode(yaml.safe_dump(kubeconfig).encode()).decode()
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": {"config": config}}
