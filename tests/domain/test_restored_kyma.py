"""The spec of a runtime's Kyma that a user deleted: what is installed stays enabled."""

from __future__ import annotations

from typing import Any

from kymatui.domain.kyma.kymas import Kyma, read_kyma
from kymatui.domain.kyma.manifests import Manifest, read_manifest
from kymatui.domain.remote.kyma_sync import restored_spec
from tests.domain.builders import kyma, manifest, report, stamp

Json = dict[str, Any]


def read(*reports: Json, active: str = "regular") -> Kyma:
    """A control plane's Kyma whose stored spec has another channel and another module than its status."""
    raw = kyma([{"name": "stored"}], channel="fast", status=reports, namespace="kcp-system")
    raw["status"]["activeChannel"] = active
    found = read_kyma(raw)
    assert isinstance(found, Kyma)
    return found


def installed(module: str, policy: str = "CreateAndDelete", **metadata: str) -> Manifest:
    raw = manifest(module, "1.0.0", **metadata)
    raw["spec"]["customResourcePolicy"] = policy
    found = read_manifest(raw)
    assert isinstance(found, Manifest)
    return found


def test_a_kyma_that_was_never_usable_gets_the_stored_spec() -> None:
    found = restored_spec(read(report("keda", "1.0.0"), active=""), [])
    assert found == {"channel": "fast", "modules": [{"name": "stored"}]}


def test_reported_modules_stay_enabled_in_the_active_channel() -> None:
    found = restored_spec(read(report("keda", "1.0.0"), report("nats", "2.0.0", channel="beta")), [installed("keda")])
    assert found == {"channel": "regular", "modules": [{"name": "keda"}, {"name": "nats", "channel": "beta"}]}


def test_policy_and_unmanaged_modules_are_restored() -> None:
    reports = (report("keda", "1.0.0"), report("nats", "2.0.0", "Unmanaged"))
    found = restored_spec(read(*reports), [installed("keda", "Ignore")])
    assert found["modules"] == [{"name": "keda", "customResourcePolicy": "Ignore"}, {"name": "nats", "managed": False}]


def test_modules_that_are_being_deleted_are_left_out() -> None:
    reports = (report("keda", "1.0.0"), report("nats", "2.0.0", "Deleting"))
    assert restored_spec(read(*reports), [installed("keda", deletionTimestamp=stamp(5))])["modules"] == []


def test_the_stored_spec_stays_as_it_is() -> None:
    found = read(report("keda", "1.0.0"))
    restored_spec(found, [])
    assert found.raw["spec"] == {"channel": "fast", "modules": [{"name": "stored"}]}
