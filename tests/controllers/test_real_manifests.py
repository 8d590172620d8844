"""Real modules by a Manifest with a running controller and a real registry: to nothing again, and the whole cluster as
before. All of them are in tests/benchmarks/every_module.py; here are a few shapes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kymatui.adapters.kube.watch.kube_cluster import KubeCluster
from kymatui.crds import read_crds
from kymatui.domain.kubernetes.refs import GroupVersionKind
from kymatui.sessions.cluster.cluster_access import open_cluster
from kymatui.sessions.cluster.session_options import SessionOptions
from tests.benchmarks.every_module import raw_subject
from tests.engine import walking
from tests.engine.walking import OWN, Desk
from tests.sandboxes.starting import ReadySandbox

pytestmark = pytest.mark.xdist_group("real-manifests")
MODULES = (
    "kyma/catalog/derived/raw-manifests/docker-registry-0.2.0.yaml",
    "kyma/raw-manifests/manifest-contains-duplicate-resources.yaml",
)
MANIFEST = GroupVersionKind(OWN, "v1beta2", "Manifest")


@pytest.fixture(scope="module")
def new(engine_sandbox: ReadySandbox) -> KubeCluster:
    cluster = open_cluster(SessionOptions(kubeconfig=str(engine_sandbox.kubeconfig), context="new"))
    for body in read_crds():
        cluster.apply(body, manager="test")
    cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kyma-system"}}, manager="test")
    walking.wait_for(walking.served(cluster, MANIFEST), lambda: "Manifests are not served")
    return cluster


@pytest.fixture(scope="module")
def desk(new: KubeCluster, engine_sandbox: ReadySandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    with Desk(new, engine_sandbox.registry, tmp_path_factory.mktemp("blobs")) as found:
        yield found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: Path(path).stem)
def test_a_real_module_comes_is_upgraded_and_goes_by_a_manifest(
    desk: Desk, new: KubeCluster, shared: Path, path: str
) -> None:
    before = walking.holdings(new)
    walking.by_manifest(raw_subject(shared / path), desk)
    assert walking.same_again(new, before) == set()
