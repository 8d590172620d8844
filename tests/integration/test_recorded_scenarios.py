"""`kymatui operator run` on two clusters, beside what the real lifecycle-manager did there: one scenario a topic.

`python -m tests.benchmarks.recorded_operator` plays all of them, and waits longer for late changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kymatui.cli.main import main
from kymatui.operator.installation.deployment import DeploymentOptions, operator_objects
from tests.integration.real_lifecycle_manager import stopped_manager
from tests.integration.recorded import HOME, KLM, RecordedPair, created, recorded_pair
from tests.integration.used_permissions import granted_permissions

SCENARIOS = (
    "first-sync",
    "catalog-restricted",
    "enable-plain",
    "upgrade-release-meta",
    "disable",
    "unmanage",
    "mandatory",
    "skip-kyma",
    "downtime-closed-window",
    "manager-statefulset-broken",
    "drift",
    "access-missing",
    "watcher",
    "kyma-deletion",
)

pytestmark = [
    pytest.mark.skipif(KLM is None, reason="the recordings of lifecycle-manager are not here"),
    pytest.mark.xdist_group("recorded"),  # one pair of clusters for all scenarios
    # the program that plays recordings leaves the connections of its watches to the garbage collector
    pytest.mark.filterwarnings("ignore:unclosed <ssl.SSLSocket:ResourceWarning"),
]


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RecordedPair]:
    with recorded_pair(tmp_path_factory.mktemp("recorded")) as found:
        yield found


@pytest.mark.parametrize("name", SCENARIOS)
def test_both_clusters_end_as_the_real_one_left_them(
    pair: RecordedPair, name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    pair.play(name)
    said = pair.log.read_text()
    assert "Traceback" not in said
    assert "forbid" not in said.lower(), "it needs no permission that is not printed"


def test_what_it_does_is_written_as_events_of_kyma_and_manifest(
    pair: RecordedPair, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("disable", "access-missing", "kyma-deletion"):
        pair.play(name)
    found = {(one["involvedObject"]["kind"], one["type"], one["reason"]) for one in pair.events()}
    assert {
        ("Kyma", "Normal", "RemoteInstallation"),
        ("Kyma", "Normal", "ModuleInstall"),
        ("Kyma", "Normal", "ModuleReady"),
        ("Kyma", "Normal", "ModuleDeleted"),
        ("Kyma", "Normal", "Ready"),
        ("Kyma", "Warning", "Error"),
        ("Kyma", "Normal", "SetKcpKymaStateDeleting"),
        ("Kyma", "Normal", "DeleteSkrKyma"),
        ("Kyma", "Normal", "DropKymaFinalizer"),
        ("Manifest", "Normal", "Ready"),
        ("Manifest", "Warning", "ReconcileFailed"),
    } <= found
    assert {one["source"]["component"] for one in pair.events()} == {"kymatui-operator"}


MODULE_KINDS = ("ConfigMap", "Deployment", "ServiceAccount", "ClusterRoleBinding")
APPLIED = {("declarative.kyma-project.io/applier", "Apply", "")}
LEFT = {
    ("kcp", "Kyma"): {("lifecycle-manager", "Update", ""), ("lifecycle-manager", "Apply", "status")},
    ("kcp", "Manifest"): {
        *APPLIED,
        ("declarative.kyma-project.io/applier", "Apply", "status"),
        ("lifecycle-manager", "Update", ""),
    },
    ("skr", "Kyma"): {
        ("kyma-sync-context", "Apply", ""),
        ("lifecycle-manager", "Update", ""),
        ("lifecycle-manager", "Update", "status"),
    },
    ("skr", "Namespace"): {("kyma-sync-context", "Apply", "")},
    ("skr", "Alpha"): {("resource.kyma-project.io/finalizer", "Update", "")},
    ("skr", "ModuleTemplate"): {("catalog-sync", "Apply", "")},
    ("skr", "ModuleReleaseMeta"): {("catalog-sync", "Apply", "")},
    **{("skr", kind): APPLIED for kind in MODULE_KINDS},
}
"""The field managers that the real one leaves on an enabled module, by cluster and kind. It has two more on a Manifest:
each owns what the first of these owns as well."""


@pytest.mark.parametrize("is_handed_back", [True, False])
def test_lifecycle_manager_and_the_operator_take_over_what_the_other_one_wrote(
    pair: RecordedPair, is_handed_back: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    kubeconfig = ("--kubeconfig", pair.player.kcp.file)
    created(pair.player.kcp, f"/apis/apps/v1/namespaces/{HOME}/deployments", stopped_manager())

    def hand_over() -> None:
        assert main(["operator", "handover", "--to", "lifecycle-manager", "--yes", *kubeconfig]) == 0
        writers = pair.writers()
        assert {key: writers[key] for key in LEFT} == LEFT
        if is_handed_back:
            assert main(["operator", "handover", "--from", "lifecycle-manager", "--yes", *kubeconfig]) == 0

    pair.play("upgrade-release-meta", 1, hand_over)
    after = pair.writers()
    assert [after["skr", kind] for kind in MODULE_KINDS] == [{("kymatui-operator", "Apply", "")}] * len(MODULE_KINDS)


NOT_SEEN = {
    f"{HOME}: update kymas/finalizers.operator.kyma-project.io": "asked by the admission plugin "
    "OwnerReferencesPermissionEnforcement when a Manifest gets its owner",
    f"{HOME}: update watchers/finalizers.operator.kyma-project.io": "asked by the same plugin for a VirtualService",
    f"{HOME}: update manifests.operator.kyma-project.io": "a disabled module whose template was repaired",
    f"{HOME}: watch secrets": "access Secrets of Manifests that people create",
    f"{HOME}: list virtualservices.networking.istio.io": "watches of a server without streaming lists begin with it",
    f"{HOME}: list kymas.operator.kyma-project.io": "watches of a server without streaming lists begin with it",
    "kube-system: list leases.coordination.k8s.io": "replicas that share the work (--shards)",
    "kube-system: get leases.coordination.k8s.io": "another replica has the Lease; a renewal after 5 s",
    "kube-system: update leases.coordination.k8s.io": "a renewal after 5 s, and an expired Lease of another replica",
}
"""What the scenarios do not need, and what needs it."""


def test_the_printed_permissions_are_enough_and_not_more(
    pair: RecordedPair, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in SCENARIOS:
        if name not in pair.played:
            pair.play(name)
    granted = set(granted_permissions(operator_objects(DeploymentOptions("k:1", HOME))))
    assert [str(one) for one in pair.used if not one.is_granted(granted)] == []
    unused = {str(one) for one in granted if not one.is_used(pair.used)}
    assert unused <= set(NOT_SEEN)
    assert set(NOT_SEEN) <= {str(one) for one in granted}, "an exception of a permission that is not granted any more"
    narrow = {one for one in pair.used if one.namespace == HOME}
    wide = {one for one in granted - narrow if not one.namespace and not one.is_used(pair.used - narrow)}
    assert {str(one) for one in wide} <= set(NOT_SEEN), "a permission for the whole cluster that one namespace needs"
