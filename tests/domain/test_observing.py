"""A snapshot taken apart: which Kyma it is about, whose Manifests count, and what a kind's resources are called."""

from __future__ import annotations

import pytest

from kymatui.domain.kubernetes.refs import GroupVersionKind
from kymatui.domain.snapshot.cluster_index import choose_kyma, index_cluster
from kymatui.domain.snapshot.snapshots import Feed, FeedState
from tests.domain.builders import Json, kyma, manifest, meta, report, snapshot

GROUP = "operator.kyma-project.io"


def definition(kind: str, plural: str, group: str = GROUP) -> Json:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {"group": group, "names": {"kind": kind, "plural": plural}},
    }


@pytest.mark.parametrize(
    ("kind", "plural"),
    [
        ("Nats", "nats"),
        ("DockerRegistry", "dockerregistries"),
        ("Gateway", "gateways"),
        ("Telemetry", "telemetries"),
        ("Sheep", "flock"),
    ],
)
def test_53_the_plural_is_what_the_definition_says(kind: str, plural: str) -> None:
    world = index_cluster(snapshot(definitions=[definition(kind, plural), definition(kind, "others", "other.io")]))
    assert world.feed_of(GroupVersionKind(GROUP, "v1alpha1", kind)) == f"{plural}.{GROUP}"


def test_53_without_a_definition_only_a_feed_that_is_there_is_meant() -> None:
    world = index_cluster(snapshot(feeds={f"telemetries.{GROUP}": Feed(FeedState.FORBIDDEN)}))
    assert world.feed_of(GroupVersionKind(GROUP, "v1alpha1", "Telemetry")) == f"telemetries.{GROUP}"
    assert world.resources_of(GroupVersionKind(GROUP, "v1alpha1", "Telemetry")) is None
    assert world.feed_of(GroupVersionKind(GROUP, "v1alpha1", "Keda")) == ""
    assert world.resources_of(GroupVersionKind(GROUP, "v1alpha1", "Keda")) == ()


@pytest.mark.parametrize(
    ("kymas", "chosen"),
    [
        pytest.param([("a", "kcp-system", "Ready"), ("default", "kyma-system", "")], "default", id="the runtime's own"),
        pytest.param([("x", "kyma-system", "Ready"), ("default", "kyma-system", "")], "default", id="by its name"),
        pytest.param([("x", "kyma-system", ""), ("y", "kyma-system", "Ready")], "y", id="else one with a status"),
        pytest.param([("a", "kcp-system", ""), ("b", "kcp-system", "Error")], "b", id="in a control plane too"),
        pytest.param([("a", "kcp-system", ""), ("b", "kcp-system", "")], "a", id="else the first"),
    ],
)
def test_which_kyma(kymas: list[tuple[str, str, str]], chosen: str) -> None:
    raws = [kyma(name=name, namespace=namespace, state=state) for name, namespace, state in kymas]
    found = choose_kyma(["nonsense", *raws])
    assert isinstance(found, dict)
    assert found["metadata"]["name"] == chosen


def test_no_kyma_at_all() -> None:
    world = index_cluster(snapshot(release_metas=[meta("mod", {}, namespace="somewhere")]))
    assert (world.kyma, world.templates.namespace, world.is_runtime) == (None, "somewhere", True)
    assert index_cluster(snapshot()).templates.namespace == "kyma-system"


def test_manifests_are_found_by_label_else_by_the_name_that_they_must_have() -> None:
    component = "kyma-project.io/module/some-module"
    bare = {"kind": "Manifest", "metadata": {"name": "default-some-module-2", "namespace": "kyma-system"}}
    status = [report("mod", "1.0.0"), report("some", "1.0.0", ocmComponentName=component)]
    status[1]["manifest"] = {"kind": "Manifest", "metadata": {"name": "default-some-module-2"}}
    others = manifest("mod", "9.9.9", owner="somebody-else")
    world = index_cluster(snapshot(kymas=[kyma(status=status)], manifests=[others, manifest("mod", "1.0.0"), bare]))
    assert {module: found.meta.name for module, found in world.manifests.items()} == {
        "mod": "default-mod-1",
        "some": "default-some-module-2",
    }


def test_a_workload_counts_under_its_kind_and_name() -> None:
    raw = {"kind": "Deployment", "metadata": {"name": "m", "labels": {"kyma-project.io/module": "mod", "x": 3}}}
    world = index_cluster(snapshot(workloads=[raw, {"kind": "Deployment"}, {"metadata": {"name": "m"}}]))
    assert list(world.workloads) == [("Deployment", "m")]
    assert list(world.labelled) == [("kyma-project.io/module", "mod")]
