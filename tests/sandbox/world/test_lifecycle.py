"""lifecycle-manager of the sample world reacts to edits of the Kyma, each in a copy of the sample world."""

from __future__ import annotations

import pytest

from kymatui.sandbox.world.modules.module_announcement import KYMAS, MANIFESTS, RELEASES
from kymatui.sandbox.world.modules.sample_modules import module_named
from tests.sandbox.living import Obj
from tests.sandbox.world.conftest import SYSTEM, Sample
from tests.sandbox.world.separating import separate

pytestmark = pytest.mark.xdist_group("sample")  # it is told once

LABEL = "operator.kyma-project.io"


def manifest(sample: Sample, name: str) -> Obj | None:
    found = sample.living.client.list(MANIFESTS, namespace=SYSTEM, labels=f"{LABEL}/module-name={name}")
    return found[0] if found else None


@separate
def test_enabling_installs_and_becomes_ready(sample: Sample) -> None:
    sample.edit("connectivity-proxy", enabled=True)
    sample.living.advance(4)
    module = sample.module("connectivity-proxy")
    assert (module["state"], module["version"], module["channel"]) == ("Ready", "1.0.2", "regular")
    assert module["template"]["metadata"]["name"] == "connectivity-proxy-1.0.2"
    assert module["resource"]["kind"] == "ConnectivityProxy"
    found = manifest(sample, "connectivity-proxy")
    assert found is not None
    assert found["metadata"]["name"] == module["manifest"]["metadata"]["name"]
    assert found["metadata"]["ownerReferences"][0]["kind"] == "Kyma"
    assert found["spec"]["resource"]["metadata"] == {"name": "default", "namespace": SYSTEM}
    conditions = {c["type"]: c["status"] for c in found["status"]["conditions"]}
    assert conditions == {"Resources": "True", "Installation": "True", "ModuleCR": "True"}
    kinds = {s["kind"] for s in found["status"]["synced"]}
    assert {"CustomResourceDefinition", "Deployment", "ClusterRole", "ServiceAccount"} <= kinds


@separate
def test_20_a_changed_template_of_the_same_version_reaches_managed_modules_only(sample: Sample) -> None:
    version = sample.module("istio")["version"]
    tell_template(sample, f"istio-{version}", "new")
    found = manifest(sample, "istio")
    assert found is not None
    assert found["spec"]["resource"]["spec"]["told"] == "new"
    sample.edit("istio", managed=False)
    sample.living.advance(8)
    tell_template(sample, f"istio-{version}", "newer")
    assert manifest(sample, "istio") is None
    assert sample.module("istio")["state"] == "Unmanaged"


def tell_template(sample: Sample, name: str, word: str) -> None:
    client, templates = sample.living.client, "moduletemplates.operator.kyma-project.io"
    data = next(one for one in client.list(templates, namespace=SYSTEM) if one["metadata"]["name"] == name)["spec"][
        "data"
    ]
    client.patch(templates, name, {"spec": {"data": {**data, "spec": {"told": word}}}}, namespace=SYSTEM)
    sample.living.advance(4)


@separate
def test_what_is_installed_is_marked_and_applied_by_its_manager(sample: Sample) -> None:
    found = sample.living.get("deployments.apps", "istio-controller-manager", SYSTEM)
    labels, annotations = found["metadata"]["labels"], found["metadata"]["annotations"]
    assert labels[f"{LABEL}/managed-by"] == "kyma"
    assert annotations[f"deprecated-{LABEL}/owned-by"].startswith(f"{SYSTEM}/default-istio-")
    managers = {m["manager"] for m in found["metadata"]["managedFields"] if m["operation"] == "Apply"}
    assert managers == {"declarative.kyma-project.io/applier"}


@separate
def test_disabling_removes_everything(sample: Sample) -> None:
    sample.edit("istio")
    sample.living.advance(0.3)
    assert sample.module("istio")["state"] == "Deleting"
    sample.living.advance(8)
    assert sample.module("istio") == {}
    assert manifest(sample, "istio") is None
    assert sample.living.client.find("deployments.apps", "istiod", namespace=SYSTEM) is None
    assert sample.living.client.find("deployments.apps", "istio-controller-manager", namespace=SYSTEM) is None
    definitions = sample.living.names("customresourcedefinitions.apiextensions.k8s.io", "")
    assert "istios.operator.kyma-project.io" not in definitions


@separate
def test_a_higher_channel_upgrades_and_prunes_what_the_new_version_lacks(sample: Sample) -> None:
    assert "istio-controller-manager-migration" in sample.living.names("configmaps", SYSTEM)
    sample.edit("istio", channel="fast")
    sample.living.advance(6)
    module = sample.module("istio")
    assert (module["version"], module["channel"], module["state"]) == ("1.12.0", "fast", "Ready")
    assert "istio-controller-manager-migration" not in sample.living.names("configmaps", SYSTEM)
    istiod = sample.living.get("deployments.apps", "istiod", SYSTEM)
    assert istiod["spec"]["template"]["spec"]["containers"][0]["image"].endswith(":1.12.0")


@separate
def test_a_resource_that_was_deleted_by_hand_is_not_made_again(sample: Sample) -> None:
    kedas = module_named("istio").resource.resource
    sample.living.client.delete(kedas, "default", namespace=SYSTEM)
    sample.living.advance(8)
    assert sample.living.names(kedas, SYSTEM) == []


@separate
def test_the_missing_secret_ends_the_warning(sample: Sample) -> None:
    resource = module_named("btp-operator").resource.resource
    sample.living.create("secrets", {"metadata": {"name": "sap-btp-manager"}}, SYSTEM)
    sample.living.advance(3)
    assert sample.living.status(resource, "default", SYSTEM)["state"] == "Ready"


@separate
def test_the_deletion_goes_on_when_the_users_are_gone(sample: Sample) -> None:
    for name, place in (("orders", "shop"), ("invoices", "billing")):
        sample.living.client.delete("apirules.gateway.kyma-project.io", name, namespace=place)
        assert sample.module("api-gateway")["state"] == "Deleting"
    sample.living.advance(6)
    assert sample.module("api-gateway") == {}
    assert sample.living.client.find("deployments.apps", "api-gateway-controller-manager", namespace=SYSTEM) is None


@separate
def test_unmanaged_and_managed_again(sample: Sample) -> None:
    sample.edit("cloud-manager", managed=True)
    sample.living.advance(4)
    assert sample.module("cloud-manager")["state"] == "Ready"
    assert manifest(sample, "cloud-manager") is not None


@separate
def test_skipping_the_window_upgrades(sample: Sample) -> None:
    sample.living.client.patch(KYMAS, "default", {"spec": {"skipMaintenanceWindows": True}}, namespace=SYSTEM)
    sample.living.advance(6)
    module = sample.module("nats")
    assert (module["version"], module["maintenance"], module["state"]) == ("1.2.0", False, "Ready")


@separate
def test_without_the_beta_label_a_beta_module_goes(sample: Sample) -> None:
    sample.edit("connectivity-proxy", enabled=True)
    sample.living.advance(4)
    labels = {"metadata": {"labels": {f"{LABEL}/beta": None}}}
    sample.living.client.patch(KYMAS, "default", labels, namespace=SYSTEM)
    sample.living.advance(8)
    assert manifest(sample, "connectivity-proxy") is None
    assert sample.module("connectivity-proxy")["message"] == "it is a beta module, and the Kyma is not labelled beta"


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"channel": "slow"}, "channel slow has no version of the module (available in: regular, fast, experimental)"),
        ({"channel": "none"}, "spec.modules[].channel is none, which is not a channel"),
    ],
)
@separate
def test_a_channel_that_is_none_is_an_error(sample: Sample, entry: Obj, message: str) -> None:
    sample.edit("serverless", **entry)
    sample.living.advance(1)
    module = sample.module("serverless")
    assert (module["state"], module["message"]) == ("Error", message)


@separate
def test_an_unknown_module_is_an_error(sample: Sample) -> None:
    sample.edit("nothing", enabled=True)
    sample.living.advance(1)
    assert (
        sample.module("nothing")["message"]
        == "namespace kyma-system has no ModuleReleaseMeta or old-format ModuleTemplate of the module"
    )


@separate
def test_a_channel_that_goes_on_takes_its_modules_along(sample: Sample) -> None:
    channels = [{"channel": "regular", "version": "1.6.0"}, {"channel": "fast", "version": "1.6.0"}]
    sample.living.client.patch(RELEASES, "serverless", {"spec": {"channels": channels}}, namespace=SYSTEM)
    sample.living.advance(5)
    assert sample.module("serverless")["version"] == "1.6.0"


@separate
def test_deleting_the_kyma_waits_for_its_modules(sample: Sample) -> None:
    for name, place in (("orders", "shop"), ("invoices", "billing")):
        sample.living.client.delete("apirules.gateway.kyma-project.io", name, namespace=place)
    unskip = {"metadata": {"labels": {f"{LABEL}/skip-reconciliation": None}}}
    for name in ("keda", "application-connector"):
        skipped = manifest(sample, name)
        assert skipped is not None
        sample.living.client.patch(MANIFESTS, skipped["metadata"]["name"], unskip, namespace=SYSTEM)
    sample.living.client.delete(KYMAS, "default", namespace=SYSTEM)
    sample.living.advance(6)
    assert sample.kyma()["status"]["state"] == "Deleting"
    assert [m["metadata"]["labels"][f"{LABEL}/module-name"] for m in sample.living.client.list(MANIFESTS)] == [
        "serverless"
    ]
    for obj in sample.living.client.list("functions.serverless.kyma-project.io"):
        about = obj["metadata"]
        sample.living.client.delete("functions.serverless.kyma-project.io", about["name"], namespace=about["namespace"])
    sample.living.advance(6)
    assert sample.living.client.find(KYMAS, "default", namespace=SYSTEM) is None
    assert sample.living.names(MANIFESTS, SYSTEM) == []
