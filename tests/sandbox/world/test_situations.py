"""Every situation an operator meets is in the sample world."""

from __future__ import annotations

import pytest

from kymatui.sandbox.world.modules.module_announcement import MANIFESTS, RELEASES, TEMPLATES
from kymatui.sandbox.world.modules.sample_module import ModuleStyle, Packing
from kymatui.sandbox.world.modules.sample_modules import COMMUNITY, MANAGED, MODULES, module_named
from tests.sandbox.living import Obj, reasons
from tests.sandbox.world.conftest import SYSTEM, Sample

pytestmark = pytest.mark.xdist_group("sample")  # it is told once


def image(sample: Sample, name: str) -> str:
    module = module_named(name)
    resource = "statefulsets.apps" if module.stateful else "deployments.apps"
    manager = sample.living.get(resource, module.manager_name, module.namespace)
    found: str = manager["spec"]["template"]["spec"]["containers"][0]["image"]
    return found


def own(sample: Sample, name: str) -> Obj:
    module = module_named(name)
    return sample.living.get(module.resource.resource, "default", module.namespace)


def test_the_states_of_the_modules(sample: Sample) -> None:
    found = {m["name"]: (m.get("version", ""), m["state"]) for m in sample.kyma()["status"]["modules"]}
    assert found == {
        "serverless": ("1.5.1", "Ready"),
        "istio": ("1.11.0", "Ready"),
        "keda": ("1.5.0", "Ready"),
        "telemetry": ("1.24.0", "Warning"),
        "btp-operator": ("1.1.17", "Ready"),
        "api-gateway": ("2.6.0", "Deleting"),
        "nats": ("1.1.0", "Ready"),
        "eventing": ("1.3.0", "Error"),
        "application-connector": ("1.1.5", "Ready"),
        "cluster-ip": ("0.1.0", "Ready"),
        "cloud-manager": ("1.4.0", "Unmanaged"),
        "transparent-proxy": ("1.5.2", "Ready"),
    }
    assert sample.kyma()["status"]["state"] == "Error"


def test_behind_the_manager_is_older_than_what_the_channel_has(sample: Sample) -> None:
    assert sample.module("keda")["version"] == "1.5.0"
    assert image(sample, "keda").endswith(":1.4.0")


def test_ahead_the_manager_is_newer(sample: Sample) -> None:
    assert sample.module("application-connector")["version"] == "1.1.5"
    assert image(sample, "application-connector").endswith(":1.1.7")


def test_held_back_by_channel_skew(sample: Sample) -> None:
    module = sample.module("telemetry")
    assert module["message"] == "newer than channel regular (1.24.0 > 1.23.0), and never downgraded automatically"


def test_waiting_for_a_maintenance_window(sample: Sample) -> None:
    module = sample.module("nats")
    assert (module["version"], module["maintenance"]) == ("1.1.0", True)
    assert "maintenance window" in module["message"]


def test_a_warning_that_waits_for_the_user(sample: Sample) -> None:
    status = own(sample, "btp-operator")["status"]
    assert status["state"] == "Warning"
    assert reasons(status)["Ready"] == ("False", "MissingSecret")


def test_an_error_whose_image_cannot_be_pulled(sample: Sample) -> None:
    assert "broken" in image(sample, "eventing")
    conditions = reasons(sample.living.status("deployments.apps", "eventing-manager", SYSTEM))
    assert conditions["Progressing"] == ("False", "ProgressDeadlineExceeded")


def test_deleting_behind_a_finalizer_because_users_left_something(sample: Sample) -> None:
    resource = own(sample, "api-gateway")
    assert resource["metadata"]["deletionTimestamp"]
    assert resource["metadata"]["finalizers"] == ["api-gateway.operator.kyma-project.io/deletion-hook"]
    [ready] = resource["status"]["conditions"]
    assert ready["message"] == "cannot be deleted while these exist: 2 APIRule (billing/invoices, shop/orders)"
    assert all(m["name"] != "api-gateway" for m in sample.kyma()["spec"]["modules"])


def test_unmanaged_the_manifest_is_gone_and_the_module_runs_on(sample: Sample) -> None:
    names = sample.living.names(MANIFESTS, SYSTEM, "operator.kyma-project.io/module-name=cloud-manager")
    assert names == []
    manager = sample.living.get("deployments.apps", "cloud-manager-manager", SYSTEM)
    assert manager["status"]["availableReplicas"] == 1
    assert "operator.kyma-project.io/managed-by" not in manager["metadata"]["labels"]


def test_a_mandatory_module_is_installed_and_no_kyma_tells_of_it(sample: Sample) -> None:
    assert sample.module("warden") == {}
    [name] = sample.living.names(MANIFESTS, SYSTEM, "operator.kyma-project.io/mandatory-module=true")
    assert sample.living.status(MANIFESTS, name, SYSTEM)["state"] == "Ready"


def test_beta_and_internal_modules_are_marked(sample: Sample) -> None:
    for name, label in (("connectivity-proxy", "beta"), ("compass-manager", "internal")):
        metadata = sample.living.get(RELEASES, name, SYSTEM)["metadata"]
        assert metadata["labels"][f"operator.kyma-project.io/{label}"] == "true"


def test_a_resource_without_its_manager(sample: Sample) -> None:
    assert own(sample, "cap-operator")["metadata"]["name"] == "default"
    assert sample.living.names("deployments.apps", "cap-operator-system") == []


def test_installed_but_not_configured(sample: Sample) -> None:
    module = module_named("transparent-proxy")
    assert sample.living.client.list(module.resource.resource) == []
    assert image(sample, "transparent-proxy").endswith(":1.5.2")


def test_a_community_module_that_is_out_of_date(sample: Sample) -> None:
    assert image(sample, "docker-registry").endswith(":0.11.0")
    versions = [
        t["spec"]["version"]
        for t in sample.living.client.list(TEMPLATES, namespace="default")
        if t["spec"]["moduleName"] == "docker-registry"
    ]
    assert versions == ["0.11.0", "0.14.0"]


def test_checks_of_their_own_where_two_readings_differ(sample: Sample) -> None:
    template = sample.living.get(TEMPLATES, "cluster-ip-regular", SYSTEM)
    ready = [r for r in template["spec"]["customStateCheck"] if r["mappedState"] == "Ready"]
    status = own(sample, "cluster-ip")["status"]
    assert len(ready) == 2
    assert (status["phase"], "dataplane" in status, "state" in status) == ("Running", False, False)


def test_what_users_made_is_in_use(sample: Sample) -> None:
    functions = sample.living.client.list("functions.serverless.kyma-project.io")
    assert [f["status"]["state"] for f in functions] == ["Ready"] * 3


def test_the_catalog_is_large_enough() -> None:
    assert len(MANAGED) >= 12
    assert len(COMMUNITY) == 4
    assert {c for m in MANAGED for c in m.channels} == {"regular", "fast", "experimental"}
    assert {m.packing for m in MODULES} == set(Packing)
    assert {m.style for m in MODULES} == set(ModuleStyle)


def test_when_all_is_told_nothing_is_written_any_more(sample: Sample) -> None:
    sample.living.advance(5)
    before = sample.living.server.store.version
    sample.living.clock.advance(20)
    assert sample.living.server.store.version - before <= 1, "but for the heartbeat of the node"
