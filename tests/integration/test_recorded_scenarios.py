"""`kymatui operator run` on two clusters, beside what the real lifecycle-manager did there.

The recordings and the program that plays them are reference data (../shared/klm), which not every checkout has.
`.ci/run klm` plays all scenarios and waits longer for late changes.
"""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from tests.sandboxes.starting import ready_sandbox

ROOT = Path(__file__).resolve().parents[2]
KLM = next((one / "shared" / "klm" for one in ROOT.parents if (one / "shared" / "klm" / "replay.py").is_file()), None)
SCENARIOS = (
    "first-sync",
    "spec-channel-none",
    "catalog-restricted",
    "enable-plain",
    "module-channels",
    "upgrade-release-meta",
    "catalog-lost-while-enabled",
    "disable",
    "unmanage",
    "mandatory",
    "downtime-closed-window",
    "manager-fails",
    "access-missing",
    "kyma-deletion",
)
PATIENCE = 40.0

pytestmark = [
    pytest.mark.skipif(KLM is None, reason="the recordings of lifecycle-manager are not here"),
    pytest.mark.xdist_group("recorded"),  # one pair of clusters for all scenarios
]


def load() -> ModuleType:
    assert KLM is not None
    if "klm_replay" not in sys.modules:
        spec = importlib.util.spec_from_file_location("klm_replay", KLM / "replay.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules["klm_replay"] = module
        spec.loader.exec_module(module)
    return sys.modules["klm_replay"]


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, Any, dict[str, Any]]]:
    """A player on an empty pair of clusters, its operator, and the scenarios by name."""
    assert KLM is not None
    replay, folder = load(), tmp_path_factory.mktemp("recorded")
    with ready_sandbox("kcp", "skr") as sandbox:
        config = yaml.safe_load(sandbox.kubeconfig.read_text())
        files = {name: folder / f"{name}.yaml" for name in ("kcp", "skr")}
        for name, path in files.items():
            path.write_text(yaml.safe_dump({**config, "current-context": name}))
        kcp, skr = (replay.Cluster(name, path) for name, path in files.items())
        fixtures = replay.load(KLM / "fixtures.json.gz")
        replay.publish(sandbox.registry, fixtures)
        create_crds(kcp)
        replay.prepare(kcp, None)
        command = (
            f"{sys.executable} -m kymatui operator run --kubeconfig {{kcp}} --registry http://{{registry}} "
            "--restricted-modules {restricted} --maintenance-policy {policy} --interval 300ms"
        )
        names = {"kcp": str(files["kcp"]), "skr": str(files["skr"]), "registry": sandbox.registry}
        with (folder / "operator.log").open("ab") as log:
            operator = replay.Operator(command, names, log)
            player = replay.Player(kcp, skr, sandbox.registry, operator, fixtures)
            player.patience = PATIENCE
            scenarios = {one["name"]: one for one in replay.load(KLM / "recordings.json.gz")["scenarios"]}
            yield player, operator, scenarios
            operator.stop()


def create_crds(kcp: Any) -> None:
    from kymatui.sandbox.world.modules.sample_crds import kyma_definitions

    for body in kyma_definitions():
        status, answer = kcp.call("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", body)
        assert status in (201, 409), answer


@pytest.mark.parametrize("name", SCENARIOS)
def test_both_clusters_end_as_the_real_one_left_them(
    stage: tuple[Any, Any, dict[str, Any]], name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    replay = load()
    player, operator, scenarios = stage
    player.scenario = scenarios[name]
    try:
        operator.stop()
        replay.reset(player.kcp, player.skr)
        player.act({"do": "start"})
        for step in player.scenario["steps"]:
            play(replay, player, step)
    finally:
        operator.stop()


def play(replay: ModuleType, player: Any, step: dict[str, Any]) -> None:
    """Do a step's actions, and wait until both clusters are in the recorded state, in the recorded order."""
    events = replay.Events([player.kcp, player.skr]) if step.get("before") else None
    try:
        for action in step["do"]:
            player.act(action)
        end = time.monotonic() + PATIENCE
        while wrong := replay.compare(step["state"], player.state(), step.get("loose", []))[0]:
            assert time.monotonic() < end, f"{step['name']}: {wrong[:5]}"
            time.sleep(0.1)
        if events is not None:
            late = [why for rule in step["before"] if (why := events.check(rule))]
            assert late == [], step["name"]
    finally:
        if events is not None:
            events.close()
