"""Two clusters: the Manifests on the control plane, the modules in the runtime, one lifecycle-manager between them."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from kymatui.domain.kyma.maintenance_windows import WindowPolicy, read_policy
from kymatui.domain.modules.risks import NO_ACCESS
from kymatui.domain.remote.watcher_chains import ControlPlaneObjects, LinkHealth, RuntimeObjects, build_chains
from kymatui.sandbox.apimachinery.clock import ManualClock
from kymatui.sandbox.registry.registry_server import SandboxRegistry
from kymatui.sandbox.world.modules.module_announcement import KYMAS, MANIFESTS, RELEASES, TEMPLATES
from kymatui.sandbox.world.story import control_plane_objects, sample_fleet
from kymatui.sandbox.world.story.remote_world import RuntimeCluster, populate_remote
from tests.sandbox.living import Living

pytestmark = pytest.mark.xdist_group("remote-world")

NAME = "11111111-2222-4333-a444-555555555555"


@dataclass
class Two:
    control: Living
    runtime: Living


@pytest.fixture(scope="module")
def two() -> Two:
    """Both for all tests here: they look, and the one that edits takes out a module that no other asks for."""
    clock = ManualClock()
    control, runtime = Living(clock), Living(clock)
    runtimes = {NAME: RuntimeCluster(runtime.controllers, "apiVersion: v1\nkind: Config\n")}
    world = populate_remote(control.controllers, runtimes, SandboxRegistry(port=5000), others=8, overseen=True)
    control.advance(18)
    assert world.story.done, world.story.waiting_for
    return Two(control, runtime)


def states(living: Living, name: str, namespace: str) -> dict[str, str]:
    return {m["name"]: m["state"] for m in living.status(KYMAS, name, namespace)["modules"]}


def test_both_sides_tell_the_same_states_but_only_one_names_manifests(two: Two) -> None:
    control = states(two.control, NAME, sample_fleet.CONTROL)
    assert control == states(two.runtime, "default", "kyma-system")
    assert control["serverless"] == "Ready"
    assert control["api-gateway"] == "Deleting"
    here = two.control.status(KYMAS, NAME, sample_fleet.CONTROL)["modules"]
    there = two.runtime.status(KYMAS, "default", "kyma-system")["modules"]
    assert any("manifest" in m for m in here)
    assert not any("manifest" in m for m in there)
    assert {m["template"]["metadata"]["namespace"] for m in there if "template" in m} == {"kyma-system"}


def test_manifests_are_on_one_side_and_managers_on_the_other(two: Two) -> None:
    assert two.runtime.client.find("deployments.apps", "serverless-operator", namespace="kyma-system") is not None
    assert two.control.client.find("deployments.apps", "serverless-operator", namespace="kyma-system") is None
    labels = f"operator.kyma-project.io/kyma-name={NAME}"
    assert len(two.control.names(MANIFESTS, sample_fleet.CONTROL, labels)) >= 10
    assert two.runtime.client.find(MANIFESTS, "any", namespace="kyma-system") is None


def test_the_runtime_sees_the_catalog_without_mandatory_and_internal_modules(two: Two) -> None:
    here = set(two.control.names(RELEASES, sample_fleet.CONTROL))
    there = set(two.runtime.names(RELEASES, "kyma-system"))
    assert here - there == {"warden", "compass-manager"}
    template = two.runtime.get(TEMPLATES, "keda-1.5.0", "kyma-system")
    assert {m["manager"] for m in template["metadata"]["managedFields"]} == {"catalog-sync"}


def test_an_edit_in_the_runtime_reaches_the_control_plane(two: Two) -> None:
    kyma = two.runtime.get(KYMAS, "default", "kyma-system")
    modules = [m for m in kyma["spec"]["modules"] if m["name"] != "istio"]
    two.runtime.client.patch(KYMAS, "default", {"spec": {"modules": modules}}, namespace="kyma-system")
    two.control.advance(8)
    assert "istio" not in states(two.control, NAME, sample_fleet.CONTROL)
    assert two.runtime.client.find("deployments.apps", "istiod", namespace="kyma-system") is None


def test_the_rest_of_the_fleet_is_there_and_left_alone(two: Two) -> None:
    names = set(two.control.names(KYMAS, sample_fleet.CONTROL))
    assert names == {NAME, *sample_fleet.runtimes(8)}
    secrets = two.control.client.list(
        "secrets", namespace=sample_fleet.CONTROL, labels="operator.kyma-project.io/kyma-name"
    )
    by_kyma = [s["metadata"]["labels"]["operator.kyma-project.io/kyma-name"] for s in secrets]
    first, second, *_ = sample_fleet.runtimes(8)
    assert (by_kyma.count(first), by_kyma.count(second), by_kyma.count(NAME)) == (0, 2, 1)


def test_of_two_watchers_the_events_of_one_reach_nobody(two: Two) -> None:
    routes = f"virtualservices.{control_plane_objects.ISTIO}", f"gateways.{control_plane_objects.ISTIO}"
    kinds = (control_plane_objects.WATCHERS, "services", *routes)
    watchers, services, virtual, gateways = (
        [*two.control.controllers.context.observer.all(kind, sample_fleet.CONTROL)] for kind in kinds
    )
    configuration = two.runtime.get("validatingwebhookconfigurations.admissionregistration.k8s.io", "skr-webhook", "")
    deployment = two.runtime.get("deployments.apps", "skr-webhook", "kyma-system")
    runtime = RuntimeObjects(configuration, deployment, secret=True, why={})
    found = build_chains(ControlPlaneObjects(watchers, gateways, virtual, services, {}), runtime)
    broken = [
        (chain.watcher, link.object) for chain in found for link in chain.links if link.health is not LinkHealth.HEALTHY
    ]
    assert len(found) == 2
    assert broken == [("kcp-system/btp-watcher", "kcp-system/btp-events")]
    policy = two.control.get("configmaps", "klm-maintenance-config", sample_fleet.CONTROL)["data"]["policy.json"]
    assert isinstance(read_policy(policy), WindowPolicy)


def test_a_changed_catalog_reaches_the_runtime_and_no_other_kyma_of_the_fleet(two: Two) -> None:
    [other, *_] = sample_fleet.runtimes(8)
    before = two.control.get(KYMAS, other, sample_fleet.CONTROL)
    name, annotations = "keda-1.5.0", {"metadata": {"annotations": {"told": "again"}}}
    two.control.client.patch(TEMPLATES, name, annotations, namespace=sample_fleet.CONTROL)
    two.control.advance(2)
    copy = two.runtime.get(TEMPLATES, name, "kyma-system")
    assert copy["metadata"]["annotations"]["told"] == "again"
    assert two.control.get(KYMAS, other, sample_fleet.CONTROL) == before


def test_a_copy_that_was_edited_in_the_runtime_is_restored_with_the_next_change(two: Two) -> None:
    name = "serverless-1.5.1"
    original = two.runtime.get(TEMPLATES, name, "kyma-system")["spec"]
    two.runtime.client.patch(TEMPLATES, name, {"spec": {"requiresDowntime": True}}, namespace="kyma-system")
    kyma = {"metadata": {"annotations": {"touched": "yes"}}}
    two.control.client.patch(KYMAS, NAME, kyma, namespace=sample_fleet.CONTROL)
    two.control.advance(2)
    assert two.runtime.get(TEMPLATES, name, "kyma-system")["spec"] == original


def test_of_broken_accesses_two_were_noticed_and_only_their_manifests_say_why(two: Two) -> None:
    names = dict(zip(sample_fleet.WRONG, sample_fleet.runtimes(8), strict=False))
    for wrong, name in names.items():
        status = two.control.status(KYMAS, name, sample_fleet.CONTROL)
        known = sample_fleet.NOTICED.get(wrong)
        assert (status["lastOperation"]["operation"] == NO_ACCESS) is (known is not None), wrong
        if known is not None:
            assert (status["state"], {m["message"] for m in status["modules"]}) == ("Error", {NO_ACCESS})
            label = f"operator.kyma-project.io/kyma-name={name}"
            for manifest in two.control.client.list(MANIFESTS, namespace=sample_fleet.CONTROL, labels=label):
                assert manifest["status"]["lastOperation"]["operation"] == known


def test_a_slow_runtime_has_the_version_before_the_window_too() -> None:
    clocks = ManualClock(), ManualClock()
    control, quick, slow = Living(clocks[0]), Living(clocks[0]), Living(clocks[1])
    runtimes = {name: RuntimeCluster(living.controllers, "") for name, living in (("quick", quick), ("slow", slow))}
    world = populate_remote(control.controllers, runtimes, SandboxRegistry(port=5000))
    slow.advance(2)  # its CRDs are served
    control.advance(18)
    assert states(control, "quick", sample_fleet.CONTROL)["nats"] == "Ready"
    assert not world.story.done
    for _ in range(18):
        slow.advance(1)
        control.advance(1)
    assert world.story.done, world.story.waiting_for
