"""`kymatui operator run` on two clusters, beside what the real lifecycle-manager did there: one scenario a topic.

`python -m tests.benchmarks.recorded_operator` plays all of them, and waits longer for late changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.recorded import KLM, RecordedPair, recorded_pair

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
